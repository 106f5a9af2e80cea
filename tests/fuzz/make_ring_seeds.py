#!/usr/bin/env python3
"""Seeds for ring_fuzz.c, with the numbers of recorder/agent/contract.h.

usage: make_ring_seeds.py FOLDER
"""
import os
import re
import struct
import sys

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
with open(os.path.join(TOP, "recorder", "agent", "contract.h"), encoding="utf-8") as contract:
    KINDS = re.findall(r"^    X\((\w+), (\d+)\)", contract.read(), re.MULTILINE)
NUMBER = {name: i + 1 for i, (name, _) in enumerate(KINDS)}
LEAST = {name: int(least) for name, least in KINDS}
RAW_HEADER, LOADER, SECOND_RING, CLOSED, AT_END, TWICE = 1, 2, 4, 8, 16, 32
FROM_END = 512  # as in ring_fuzz.c


def text(value):
    padded = value + b"\0" * (8 - len(value) % 8)
    return list(struct.unpack(f"<{len(padded) // 8}Q", padded))


def record(name, arguments, ticks=1, team=0, thread=0):
    words = (len(arguments) + 3) & ~1
    second = NUMBER[name] | words << 8 | thread << 20 | team << 36
    body = [ticks, second] + [value & (1 << 64) - 1 for value in arguments]
    return struct.pack(f"<{words}Q", *(body + [0] * (words - len(body))))


def place(code, seen, which):
    return code | seen << 48 | which << 56


def seed(name, mode, content):
    with open(os.path.join(sys.argv[1], name), "wb") as target:
        target.write(bytes([mode]) + content)


os.makedirs(sys.argv[1], exist_ok=True)
note = text(b"something to know")
samples = {
    "THREAD": [77], "LOST": [5], "NOTE": note, "ASIDE": text(b"no room"),
    "LIBRARY_CALL": [0, 2, 0, 0, 0x401000] + text(b"./plugin.so"),
    "LIBRARY_RETURN": [0, 0x7000] + text(b""),
    "LOADER_ACTIVITY": [77, 0, 1],
    "LOADER_OPEN": [77, 0, 0x1000, 0x7f0000, 0x5000, 20, 1, 2, 3] + text(b"/usr/lib/libm.so.6"),
    "LOADER_CLOSE": [77, 0, 0x1000], "LOADER_PREINIT": [77], "LOADER_DECISION": [77, 0, 0, 0, 1, 0x1000] + text(b"*/libm.so*"),
    "OMP_RUNTIME": [1] + text(b"LLVM OMP") + text(b"5.0"),
    "OMP_TASK_CREATE": [place(1, 0, 0), 1, 0, 2, 0, 2, 0x10, 0, 0x20, 1],
    "MPI_COMM": [1, 0, 2, 0, 0, 3, 3, 0, 1, 2],
}
everything = b""
for kind, least in LEAST.items():
    if kind == "PAD":
        continue
    one = record(kind, samples.get(kind, [place(0x401000, 0, 1)] + [i + 1 for i in range(least - 1)]), team=1)
    everything += one
    seed(f"kind-{kind.lower()}", 0, record("THREAD", [77]) + one)
seed("everything", 0, everything)
seed("everything-twice", TWICE | SECOND_RING | CLOSED, everything)
nested = record("THREAD", [77])
for team in range(1, 6):
    nested += record("OMP_PARALLEL_BEGIN", [place(0x401000, 0, 0), team, 2, 0x402000], team=team - 1)
    nested += record("OMP_IMPLICIT_BEGIN", [0, team, team - 1, 2, team], team=team)
for team in range(5, 0, -1):
    nested += record("OMP_IMPLICIT_END", [0], team=team)
    nested += record("OMP_PARALLEL_END", [0, team], team=team - 1)
seed("nested-regions", 0, nested)
loads = record("LOADER_ACTIVITY", [77, 0, 1]) + record("LOADER_OPEN", samples["LOADER_OPEN"])
loads += record("LOADER_PREINIT", [77]) + record("LOADER_ACTIVITY", [77, 0, 0])
loads += record("LOADER_ACTIVITY", [77, 0, 2]) + record("LOADER_CLOSE", [77, 0, 0x1000])
seed("loads", LOADER | SECOND_RING, loads + record("LOADER_ACTIVITY", [77, 0, 0]))
front = record("THREAD", [77]) * 15
gap = FROM_END - len(front)
seed("around-the-end", AT_END, front + struct.pack("<QQ", 0, NUMBER["PAD"] | gap // 8 << 8) + b"\0" * (gap - 16)
     + everything)
header = struct.pack("<QIIQiIQ16x", 0x31474E4952544754, 1, 0, 1 << 16, 1, 0, 9) + b"\0" * 8
header = header.ljust(64, b"\0") + struct.pack("<QQI", len(nested), 0, 1).ljust(64, b"\0")
seed("raw-header", RAW_HEADER, header.ljust(192, b"\0") + nested)
seed("raw-header-far-head", RAW_HEADER, header[:64] + b"\xf0" * 8 + header[72:].ljust(120, b"\0") + nested)
