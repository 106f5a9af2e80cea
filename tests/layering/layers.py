#!/usr/bin/env python3
"""Checks that no #include crosses a forbidden edge, that nouns and folders have no circles, that no folder is a hall, and
that every source is in its folder's CMakeLists.txt.

usage: layers.py ROOT      prints one line per finding; exit 1 where there is any

cmake/folders.txt says which folder may include which. A noun is a .h/.c pair; NOUN_internal.h belongs to NOUN.
"""

import pathlib
import re
import sys

TABLE = "cmake/folders.txt"
# Top folder: the top folders whose headers it may include, whatever the table says.
TOP = {
    "format": {"format"},
    "recorder": {"recorder", "format"},
    "analyzer": {"analyzer", "format"},
    "live": {"live", "recorder", "analyzer", "format"},
    "main.c": {"live", "recorder", "analyzer", "format"},
}
MAX_SOURCES = 35  # .c files in one folder
AGENT = "recorder/agent"
INSPECT = ("live/inspect/", "recorder/dwarf/", "recorder/unwind/")
# Circles of nouns that are known, each with its reason. Aim at none.
KNOWN_CIRCLES = {}
THIRD_PARTY = re.compile(
    r"(elfutils|capstone|libsmartcols)/|"
    r"(zstd|zdict|xxhash|xxh3|libelf|gelf|dwarf|uthash|utlist|utarray|utstring|libsmartcols|jansson|tcl|histedit|microhttpd)\.h$"
)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]*)"|<([^>\n]*)>)', re.MULTILINE)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def blank_comments(text):
    """Comments without what they say; lines keep their numbers."""
    return COMMENT.sub(lambda match: "\n" * match.group().count("\n"), text)


def read_table(root):
    """{folder: [folders or single headers that it may include]}, in the order of the lines."""
    table = {}
    for line in (root / TABLE).read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            folder, _, below = line.partition(":")
            table[folder] = below.split()
    return table


def includes(path):
    """(line, header in quotes or None, header in angle brackets or None) of each #include."""
    text = blank_comments(path.read_text(encoding="utf-8", errors="surrogateescape"))
    for match in INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match.group(1), match.group(2)


def folder_of(name):
    return name.rpartition("/")[0] or name


def noun_of(name):
    return re.sub(r"_internal$", "", re.sub(r"\.[chS]$", "", name))


def circles(graph):
    """The groups of nodes that reach each other (Tarjan's algorithm), each sorted."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for below in graph.get(node, ()):
            if below not in index:
                visit(below)
                low[node] = min(low[node], low[below])
            elif below in stack:
                low[node] = min(low[node], index[below])
        if low[node] == index[node]:
            at = stack.index(node)
            group = stack[at:]
            del stack[at:]
            if len(group) > 1:
                found.append(sorted(group))

    sys.setrecursionlimit(10000)
    for node in sorted(graph):
        if node not in index:
            visit(node)
    return sorted(found)


def unknown_circles(graph):
    for group in circles(graph):
        if not any(set(group) <= set(known) for known in KNOWN_CIRCLES):
            yield f"a circle of nouns: {' '.join(group)}"


def check_file(root, table, path, nouns, used):
    source = path.relative_to(root).as_posix()
    folder = folder_of(source)
    if folder not in table:
        yield f"{source}: its folder has no line in {TABLE}"
        return
    for line, header, system in includes(path):
        where = f"{source}:{line}"
        if system is not None:
            if source.startswith(AGENT + "/") and THIRD_PARTY.match(system):
                yield f"{where}: <{system}>: the agent links libc alone"
            if source.startswith(INSPECT) and system == "sys/ptrace.h":
                yield f"{where}: <{system}>: what looks into a thread does not control it"
            continue
        if "/" not in header or ".." in header.split("/"):
            yield f'{where}: "{header}": headers are named from the top folder on'
            continue
        if folder_of(header) != folder:
            edge = header if header in table[folder] else folder_of(header)
            used.add((folder, edge))
            if edge not in table[folder]:
                yield f'{where}: "{header}": {folder} may include only {" ".join(table[folder]) or "its own"} ({TABLE})'
                continue
        if not (root / header).is_file():
            yield f'{where}: "{header}": there is no such file'
        elif noun_of(header) != noun_of(source):
            nouns.setdefault(noun_of(source), set()).add(noun_of(header))


def listed_sources(lists):
    """The names that LISTS, a CMakeLists.txt, mentions outside of comments."""
    text = re.sub(r"#[^\n]*", "", lists.read_text(encoding="utf-8"))
    return set(re.findall(r"[\w./+-]+\.c\b", text))


def check_listed(root, path):
    """Every source is named by the nearest CMakeLists.txt above it."""
    for folder in path.parents:
        lists = folder / "CMakeLists.txt"
        if lists.is_file():
            name = path.relative_to(folder).as_posix()
            if name not in listed_sources(lists):
                yield f"{path.relative_to(root).as_posix()}: not in {lists.relative_to(root).as_posix()}"
            return
        if folder == root:
            yield f"{path.relative_to(root).as_posix()}: no CMakeLists.txt above it"
            return


def check_table(root, table, used):
    for folder, below in table.items():
        if not (root / folder).exists():
            yield f"{TABLE}: {folder}: there is no such folder"
            continue
        for edge in below:
            top = folder.split("/")[0]
            if edge.split("/")[0] not in TOP[top]:
                yield f"{TABLE}: {folder}: {top} may include only {', '.join(sorted(TOP[top]))}, not {edge}"
            elif (folder, edge) not in used:
                yield f"{TABLE}: {folder} includes nothing of {edge}"
    graph = {folder: [folder_of(edge) if edge.endswith(".h") else edge for edge in below] for folder, below in table.items()}
    for group in circles(graph):
        yield f"{TABLE}: a circle of folders: {' '.join(group)}"


def check(root):
    table = read_table(root)
    nouns, used, sizes = {}, set(), {}
    for name in TOP:
        top = root / name
        paths = [top] if top.is_file() else sorted(p for p in top.rglob("*") if p.suffix in (".c", ".h"))
        for path in paths:
            yield from check_file(root, table, path, nouns, used)
            if path.suffix == ".c":
                yield from check_listed(root, path)
                sizes[path.parent] = sizes.get(path.parent, 0) + 1
    if not sizes:
        yield f"{root}: no sources found"
    for folder, count in sorted(sizes.items()):
        if count > MAX_SOURCES:
            yield f"{folder.relative_to(root).as_posix()}: {count} source files, more than {MAX_SOURCES}"
    yield from unknown_circles(nouns)
    yield from check_table(root, table, used)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    findings = list(check(pathlib.Path(sys.argv[1]).resolve()))
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
