#!/usr/bin/env python3
"""Writes the seeds of corpus/core_file: small core files, whole and damaged.

usage: make_core_seeds.py FOLDER
"""
import os
import struct
import sys

STACK, STACK_BYTES = 0x7ffd0000, 0x1000


def note(kind, content):
    return struct.pack("<III", 5, len(content), kind) + b"CORE\0\0\0\0" + content + b"\0" * (-len(content) % 4)


def thread(tid, rip, rsp, rbp=0):
    registers = [0] * 27
    registers[4], registers[15], registers[16], registers[19] = rbp, 0xca, rip, rsp
    registers[10] = 2**64 - 512
    return note(1, struct.pack("<iiihxxQQ", 11, 0, 0, 11, 0, 0) + struct.pack("<iiii", tid, 1, 1, 1) + b"\0" * 64 +
                struct.pack("<27Q", *registers) + b"\0" * 8)


def core(threads, files, stack=b"", segments=None, auxiliary=b"", count=2):
    process = note(3, b"\0" * 24 + struct.pack("<iiii", 77, 1, 77, 77) + b"solve".ljust(16, b"\0") + b"./solve 7".ljust(80, b"\0"))
    names = b"".join(name + b"\0" for _, _, _, name in files)
    table = struct.pack("<QQ", len(files), 4096) + b"".join(struct.pack("<QQQ", *entry[:3]) for entry in files)
    notes = threads[0] + process + note(6, auxiliary) + note(0x46494c45, table + names) + b"".join(threads[1:])
    stack = stack.ljust(STACK_BYTES, b"\0")
    at = 64 + 2 * 56
    segments = segments or (struct.pack("<IIQQQQQQ", 4, 4, at, 0, 0, len(notes), 0, 4) +
                            struct.pack("<IIQQQQQQ", 1, 6, at + len(notes), STACK, 0, STACK_BYTES, STACK_BYTES, 4096))
    header = b"\x7fELF\2\1\1".ljust(16, b"\0") + struct.pack("<HHIQQQIHHHHHH", 4, 62, 1, 0, 64, 0, 0, 64, 56, count, 64, 0, 0)
    return header + segments + notes + stack


def chain(addresses):
    """Frames by frame pointers: each pair of words is the next frame and a return address."""
    return b"".join(struct.pack("<QQ", address, 0x400010) for address in addresses)


FILES = [(0x400000, 0x401000, 0, b"/usr/bin/true"), (0x7f0000000000, 0x7f0000001000, 0, b"/no/such/library.so")]
WHOLE = core([thread(77, 0x400100, STACK, STACK), thread(78, 0x7f0000000010, STACK + 64)], FILES, chain([STACK + 16, STACK + 32, 0]))
SEEDS = {
    "whole": WHOLE,
    "cut_in_the_stack": WHOLE[:-3000],
    "cut_in_the_notes": WHOLE[:700],
    "circular_frames": core([thread(77, 0x400100, STACK, STACK)], FILES, chain([STACK + 16, STACK])),
    "no_files": core([thread(77, 0x400100, STACK, STACK)], []),
    "files_backwards": core([thread(77, 0x400100, STACK)], FILES[::-1]),
    "files_overlap": core([thread(77, 0x400100, STACK)], [(0x1000, 2**64 - 1, 0, b"/a"), (0x2000, 0x3000, 0, b"/b")]),
    "file_at_the_end": core([thread(77, 2**64 - 16, 2**64 - 8)], [(2**64 - 4096, 2**64 - 1, 0, b"/usr/bin/true")]),
    "too_many_segments": core([thread(77, 0x400100, STACK)], FILES, count=0xffff),
    "many_threads": core([thread(1000 + n, 0x400100, STACK + 16 * n, STACK) for n in range(40)], FILES, chain([0] * 40)),
    "negative_ids": core([thread(-77, 0x400100, STACK), thread(-77, 0, 0)], FILES),
    "vector": core([thread(77, 0x400100, STACK)], FILES, struct.pack("<QQQQ", 1, STACK + 128, 0, STACK + 136) + struct.pack("<QQ", 0, 0),
                   auxiliary=struct.pack("<QQQQ", 25, STACK + 256, 31, STACK + 200)),
    "vdso_in_the_stack": core([thread(77, STACK + 8, STACK)], FILES, WHOLE[:176], auxiliary=struct.pack("<QQ", 33, STACK)),
    "empty": b"",
    "header_only": WHOLE[:64],
}

for name, content in SEEDS.items():
    with open(os.path.join(sys.argv[1], name), "wb") as file:
        file.write(content)
