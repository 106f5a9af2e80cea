#!/usr/bin/env python3
"""Checks who calls whom in what was built: no circle between files, no call into a folder that cmake/folders.txt does not
let the caller's folder reach, and nothing exported that no other file needs. #includes do not show these.

usage: symbols.py ROOT BUILD      prints one line per finding; exit 1 where there is any, 77 without nm
"""

import pathlib
import re
import shutil
import subprocess
import sys

import layers


def folder_libraries(build, table):
    """(folder, its archive) of each folder of TABLE that was built."""
    for folder in table:
        for library in (build / folder).glob("libtg_*.a"):
            yield folder, library


def read_symbols(build, table):
    """({(world, symbol): file that defines it}, {file: (world, symbol)s that it needs}).

    The agent is a world of its own: it may define names that the recorder has too, and those of functions of libc.
    """
    defined, needed = {}, {}
    for folder, library in folder_libraries(build, table):
        output = subprocess.run(["nm", "-A", "-P", library], capture_output=True, text=True, check=True).stdout
        for line in output.splitlines():
            match = re.match(r".*\[(.*)\.c\.o\]: (\S+) (\w)", line)
            if match is None:
                continue
            name = f"{folder}/{match.group(1)}"
            symbol = (folder.startswith(layers.AGENT), match.group(2))
            if symbol[0] and not symbol[1].startswith("tg_"):
                continue
            if match.group(3) in "TDBRVW":
                defined[symbol] = name
            elif match.group(3) == "U":
                needed.setdefault(name, set()).add(symbol)
    return defined, needed


def reachable(table, folder):
    """The folders that FOLDER may include, directly or by what it includes, and itself."""
    seen, waiting = {folder}, [folder]
    while waiting:
        for edge in table.get(waiting.pop(), ()):
            below = layers.folder_of(edge) if edge.endswith(".h") else edge
            if below not in seen:
                seen.add(below)
                waiting.append(below)
    return seen


def needed_anywhere(build):
    """{symbol: objects that need it} of all that was built, main.c and tests too."""
    objects = [str(path) for path in build.rglob("*.o")]
    users = {}
    for at in range(0, len(objects), 500):
        output = subprocess.run(["nm", "-A", "-P", "-u", *objects[at : at + 500]], capture_output=True, text=True, check=True).stdout
        for line in output.splitlines():
            name, _, symbol = line.partition(": ")
            users.setdefault(symbol.split()[0], set()).add(name)
    return users


# Called by assembly in the file that defines it, which nm does not show.
CALLED_BY_ASSEMBLY = {"tg_on_demand_find"}


def unneeded_exports(build, defined):
    users = needed_anywhere(build)
    for (agent, symbol), name in sorted(defined.items(), key=lambda item: (item[1], item[0])):
        if not agent and symbol.startswith("tg_") and symbol not in users and symbol not in CALLED_BY_ASSEMBLY:
            yield f"{name}.c: no other file needs {symbol}: make it static, or delete it"


def check(root, build):
    table = layers.read_table(root)
    defined, needed = read_symbols(build, table)
    if not defined:
        yield f"{build}: no libraries found"
    graph = {}
    for name, symbols in sorted(needed.items()):
        allowed = reachable(table, layers.folder_of(name))
        for symbol in sorted(symbols & defined.keys()):
            target = defined[symbol]
            if target != name:
                graph.setdefault(name, set()).add(target)
            if layers.folder_of(target) not in allowed:
                yield f"{name}.c calls {symbol[1]} of {target}.c: its folder may not reach {layers.folder_of(target)} ({layers.TABLE})"
    yield from layers.unknown_circles(graph)
    yield from unneeded_exports(build, defined)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    if shutil.which("nm") is None:
        print("skipped: no nm (binutils)")
        return 77
    findings = list(check(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()))
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
