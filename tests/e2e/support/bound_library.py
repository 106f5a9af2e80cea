"""Libraries whose own functions nobody gets in front of, as where all are linked with -Bsymbolic-functions (Ubuntu's): made from those
of this system."""
import os
import re
import shutil
import struct
import subprocess

from recording import check, skip

LOAD, DYNAMIC = 1, 2  # segments
STRTAB, SYMTAB, PLTRELSZ, JMPREL = 5, 6, 2, 23  # tags
RELATIVE = 8  # kind of relocation


def bind(path, function):
    """In the library at PATH, the reference to its own FUNCTION is bound as if by the linker; how many there were."""
    with open(path, "rb") as file:
        image = bytearray(file.read())
    headers, = struct.unpack_from("<Q", image, 32)
    segments = [struct.unpack_from("<IIQQQQQQ", image, headers + i * 56) for i in range(struct.unpack_from("<H", image, 56)[0])]

    def offset_of(address):
        return next(address - at + offset for kind, _, offset, at, _, size, _, _ in segments
                    if kind == LOAD and at <= address < at + size)

    at = next(offset for kind, _, offset, *_ in segments if kind == DYNAMIC)
    tags = {}
    while (entry := struct.unpack_from("<QQ", image, at))[0] != 0:
        tags[entry[0]], at = entry[1], at + 16
    names, symbols, table = (offset_of(tags[tag]) for tag in (STRTAB, SYMTAB, JMPREL))
    bound = 0
    for entry in range(table, table + tags[PLTRELSZ], 24):
        symbol = symbols + 24 * struct.unpack_from("<I", image, entry + 12)[0]
        name = names + struct.unpack_from("<I", image, symbol)[0]
        if image[name:name + len(function) + 1] == function.encode() + b"\0":
            struct.pack_into("<QQ", image, entry + 8, RELATIVE, struct.unpack_from("<Q", image, symbol + 8)[0])
            bound += 1
    with open(path, "wb") as file:
        file.write(image)
    return bound


def environment(program, library, function):
    """What PROGRAM is to be run with so that its LIBRARY ("libomp") is such, as far as FUNCTION goes."""
    libraries = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    found = re.search(rf"({library}\.so\S*) => (\S+)", libraries)
    check(found is not None, libraries)
    os.makedirs("bound", exist_ok=True)
    if bind(shutil.copy(found[2], os.path.join("bound", found[1])), function) == 0:
        skip(f"{library} has no reference to its own {function}")
    return {"LD_LIBRARY_PATH": os.path.abspath("bound"), "LD_BIND_NOW": "1"}
