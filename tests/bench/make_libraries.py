#!/usr/bin/env python3
"""Makes N small shared libraries quickly: one is linked, the others are copies with their own soname, symbol and
build-id.

Usage: make_libraries.py DIRECTORY N     writes DIRECTORY/libbench_00000.so and so on

A copy's name in .dynstr changes the hash under which the loader looks its symbol up, so .gnu.hash is rewritten too.
"""
import os
import struct
import subprocess
import sys
import tempfile

DIGITS = 5
MARK = b"bench_00000"
SOURCE = """
static int calls;
int bench_00000_function(int argument)
{
    calls += argument;
    return calls;
}
"""


def gnu_hash(name):
    value = 5381
    for byte in name:
        value = (value * 33 + byte) & 0xFFFFFFFF
    return value


def link_template():
    with tempfile.TemporaryDirectory() as work:
        source, library = os.path.join(work, "bench.c"), os.path.join(work, "bench.so")
        with open(source, "w", encoding="ascii") as out:
            out.write(SOURCE)
        build_id = MARK.ljust(20, b".").hex()
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-Wl,--hash-style=gnu", "-Wl,-soname,libbench_00000.so",
                        "-Wl,--build-id=0x" + build_id, source, "-o", library], check=True)
        with open(library, "rb") as file:
            return file.read()


def find_gnu_hash(image):
    """File offset of .gnu.hash, which holds a single symbol (one bloom word, one chain value)."""
    section_at, = struct.unpack_from("<Q", image, 0x28)
    size, count = struct.unpack_from("<HH", image, 0x3A)
    for i in range(count):
        kind, = struct.unpack_from("<I", image, section_at + i * size + 4)
        if kind == 0x6FFFFFF6:
            offset, = struct.unpack_from("<Q", image, section_at + i * size + 0x18)
            length, = struct.unpack_from("<Q", image, section_at + i * size + 0x20)
            buckets, _, bloom_words, _ = struct.unpack_from("<IIII", image, offset)
            if bloom_words != 1 or length != 16 + 8 + 4 * buckets + 4:
                sys.exit("make_libraries.py: the linker made a hash table of another shape than expected")
            return offset
    sys.exit("make_libraries.py: no .gnu.hash")


def patched(template, hash_at, number):
    name = b"bench_%05d" % number
    image = bytearray(template.replace(MARK, name))
    value = gnu_hash(name + b"_function")
    buckets, symbol, _, shift = struct.unpack_from("<IIII", image, hash_at)
    bloom = 1 << (value % 64) | 1 << ((value >> shift) % 64)
    struct.pack_into("<Q", image, hash_at + 16, bloom)
    for bucket in range(buckets):
        struct.pack_into("<I", image, hash_at + 24 + 4 * bucket, symbol if bucket == value % buckets else 0)
    struct.pack_into("<I", image, hash_at + 24 + 4 * buckets, value | 1)  # the chain's only and last
    return image


def make(directory, count):
    """Writes what is missing of COUNT libraries to DIRECTORY."""
    if count > 10**DIGITS:
        sys.exit("make_libraries.py: too many")
    os.makedirs(directory, exist_ok=True)
    template = None
    for number in range(count):
        path = os.path.join(directory, "libbench_%05d.so" % number)
        if os.path.exists(path):
            continue
        if template is None:
            template = link_template()
            hash_at = find_gnu_hash(template)
        with open(path, "wb") as out:
            out.write(patched(template, hash_at, number))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    make(sys.argv[1], int(sys.argv[2]))
