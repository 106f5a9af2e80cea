#!/usr/bin/env python3
"""Checks who calls whom in what was built: no circle between files, and no call into a folder that cmake/folders.txt does not
let the caller's folder reach. A declaration in one header and its definition in another file hide both from #includes.

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
