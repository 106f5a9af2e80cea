#!/usr/bin/env python3
"""Checks that no #include crosses a forbidden edge and that every source is in its folder's CMakeLists.txt.

usage: layers.py ROOT      prints one line per finding; exit 1 where there is any
"""

import pathlib
import re
import sys

# folder: the folders whose headers it may include
EDGES = {
    "format": {"format"},
    "recorder": {"recorder", "format"},
    "analyzer": {"analyzer", "format"},
    "live": {"live", "recorder", "analyzer", "format"},
    "main.c": {"live", "recorder", "analyzer", "format"},
}
# The agent runs inside the traced program: libc, its own folder with the contract, and these of format.
AGENT = "recorder/agent"
AGENT_FORMAT = {"format/event.h", "format/glob_list.h", "format/tcl_match.h"}
# Looking into a thread that stands: of recorder what reads objects and memory; whoever stops threads uses it.
INSPECT = "live/inspect"
INSPECT_RECORDER = re.compile(r"recorder/(image|image_\w+|elf_\w+|debug_\w+|line_\w+|source_path|mangled_name|memory|insn)\.h$")
THIRD_PARTY = re.compile(
    r"(elfutils|capstone|libsmartcols)/|"
    r"(zstd|zdict|xxhash|xxh3|libelf|gelf|dwarf|uthash|utlist|utarray|utstring|libsmartcols|jansson|tcl|histedit|microhttpd)\.h$"
)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]*)"|<([^>\n]*)>)', re.MULTILINE)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def blank_comments(text):
    """Comments without what they say; lines keep their numbers."""
    return COMMENT.sub(lambda match: "\n" * match.group().count("\n"), text)


def forbidden(folder, source, header):
    """Why SOURCE of FOLDER may not include "HEADER", or None."""
    if source.startswith(AGENT + "/"):
        if header.startswith(AGENT + "/") or header in AGENT_FORMAT:
            return None
        return f"the agent may include only {AGENT}/ and {', '.join(sorted(AGENT_FORMAT))}"
    if source.startswith(INSPECT + "/"):
        if header.startswith((INSPECT + "/", "format/")) or INSPECT_RECORDER.match(header):
            return None
        return f"what looks into a thread may include only {INSPECT}/, format and recorder's images and memory"
    if header.split("/")[0] in EDGES[folder]:
        return None
    return f"{folder} may include only {', '.join(sorted(EDGES[folder]))}"


def check_includes(root, folder, path):
    source = path.relative_to(root).as_posix()
    text = blank_comments(path.read_text(encoding="utf-8", errors="surrogateescape"))
    for match in INCLUDE.finditer(text):
        where = f"{source}:{text.count(chr(10), 0, match.start()) + 1}"
        header, system = match.groups()
        if system is not None:
            if source.startswith(AGENT + "/") and THIRD_PARTY.match(system):
                yield f"{where}: <{system}>: the agent links libc alone"
            if source.startswith(INSPECT + "/") and system == "sys/ptrace.h":
                yield f"{where}: <{system}>: what looks into a thread does not control it"
            continue
        if "/" not in header or ".." in header.split("/"):
            yield f'{where}: "{header}": headers are named from the top folder on'
            continue
        reason = forbidden(folder, source, header)
        if reason is not None:
            yield f'{where}: "{header}": {reason}'
        elif not (root / header).is_file():
            yield f'{where}: "{header}": there is no such file'


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


def check(root):
    checked = 0
    for folder in EDGES:
        top = root / folder
        paths = [top] if top.is_file() else sorted(p for p in top.rglob("*") if p.suffix in (".c", ".h"))
        for path in paths:
            checked += 1
            yield from check_includes(root, folder, path)
            if path.suffix == ".c":
                yield from check_listed(root, path)
    if checked == 0:
        yield f"{root}: no sources found"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    findings = list(check(pathlib.Path(sys.argv[1]).resolve()))
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
