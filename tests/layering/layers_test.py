#!/usr/bin/env python3
"""Proves that layers.py, symbols.py and comments.py can fail: small trees with one fault each."""

import contextlib
import io
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import comments  # noqa: E402 (beside this file)
import layers  # noqa: E402
import symbols  # noqa: E402

SOUND = {
    "cmake/folders.txt": """# the table
format/base:
format/event:         format/base
recorder/engine:      format/event
recorder/agent:       format/base/glob_list.h
recorder/agent/mpi:   recorder/agent
analyzer/report:      format/event
live/inspect/dwarf:   format/base recorder/engine
live/console:         analyzer/report format/event recorder/engine
main.c:               analyzer/report recorder/engine
""",
    "CMakeLists.txt": "add_executable(tollgate main.c)\n",
    "main.c": '#include "analyzer/report/report.h"\n#include "recorder/engine/engine.h"\n#include <stdio.h>\n',
    "format/base/CMakeLists.txt": "tg_folder(SOURCES\n  error.c\n  glob_list.c)\n",
    "format/base/error.c": '#include "format/base/error.h"\n#include <zstd.h>\n',
    "format/base/error.h": "",
    "format/base/glob_list.c": '#include "format/base/glob_list.h"\n',
    "format/base/glob_list.h": "",
    "format/event/CMakeLists.txt": "tg_folder(SOURCES event.c)\n",
    "format/event/event.c": '#include "format/event/event.h"\n',
    "format/event/event.h": '#include "format/base/error.h"\n',
    "recorder/engine/CMakeLists.txt": "tg_folder(SOURCES engine.c step.c)\n",
    "recorder/engine/engine.c": '#include "recorder/engine/engine_internal.h"\n  #  include "format/event/event.h"\n#include <uthash.h>\n',
    "recorder/engine/engine.h": '/* like\n#include "analyzer/report/report.h"\n*/\n// #include "live/console/console.h"\n',
    "recorder/engine/engine_internal.h": '#include "recorder/engine/engine.h"\n',
    "recorder/engine/step.c": '#include "recorder/engine/engine_internal.h"\n',
    "recorder/agent/CMakeLists.txt": "set(S\n  agent.c\n  mpi/calls.c)\n",
    "recorder/agent/agent.c": '#include "recorder/agent/contract.h"\n#include "format/base/glob_list.h"\n#include <elf.h>\n',
    "recorder/agent/contract.h": "",
    "recorder/agent/mpi/calls.c": '#include "recorder/agent/contract.h"\n',
    "analyzer/report/CMakeLists.txt": "set(S report.c) # and not_this.c\n",
    "analyzer/report/report.c": '#include "analyzer/report/report.h"\n',
    "analyzer/report/report.h": '#include "format/event/event.h"\n',
    "live/console/CMakeLists.txt": "set(S console.c)\n",
    "live/console/console.c": '#include "analyzer/report/report.h"\n#include "recorder/engine/engine.h"\n#include "format/event/event.h"\n',
    "live/inspect/dwarf/CMakeLists.txt": "tg_folder(SOURCES frames.c)\n",
    "live/inspect/dwarf/frames.c": '#include "live/inspect/dwarf/frames.h"\n#include "recorder/engine/engine.h"\n#include <dwarf.h>\n',
    "live/inspect/dwarf/frames.h": '#include "format/base/error.h"\n',
}
TABLE = SOUND["cmake/folders.txt"]
EVENT = "format/event/event.h"

# name, files that replace or join the sound ones, what must be said
FAULTS = [
    ("format to recorder", {EVENT: '#include "format/base/error.h"\n#include "recorder/engine/engine.h"\n'}, f'{EVENT}:2: "recorder/engine/engine.h"'),
    ("recorder to analyzer", {"recorder/engine/engine.h": '\n#include "analyzer/report/report.h"\n'}, "recorder/engine/engine.h:2: "),
    ("analyzer to live", {"analyzer/report/report.c": '#include "live/console/console.h"\n'}, "analyzer/report/report.c:1: "),
    ("between two folders", {"live/inspect/dwarf/frames.c": '#include "recorder/engine/engine.h"\n#include "format/event/event.h"\n'}, "live/inspect/dwarf/frames.c:2: "),
    ("product to tests", {"live/console/console.c": SOUND["live/console/console.c"] + '#include "tests/support/x.h"\n'}, "live/console/console.c:4: "),
    ("agent to engine", {"recorder/agent/mpi/calls.c": '#include "recorder/agent/contract.h"\n#include "recorder/engine/engine.h"\n'}, "recorder/agent/mpi/calls.c:2: "),
    ("agent to another header", {"recorder/agent/agent.c": SOUND["recorder/agent/agent.c"] + '#include "format/base/error.h"\n'}, "recorder/agent/agent.c:4: "),
    ("agent to a library", {"recorder/agent/mpi/calls.c": '#include "recorder/agent/contract.h"\n#include <zstd.h>\n'}, "the agent links libc alone"),
    ("agent to uthash", {"recorder/agent/mpi/calls.c": '#include "recorder/agent/contract.h"\n#include <uthash.h>\n'}, "the agent links libc alone"),
    ("agent to libelf", {"recorder/agent/mpi/calls.c": '#include "recorder/agent/contract.h"\n#include <elfutils/libdw.h>\n'}, "the agent links libc alone"),
    ("inspection to ptrace", {"live/inspect/dwarf/frames.h": '#include "format/base/error.h"\n#include <sys/ptrace.h>\n'}, "does not control it"),
    ("not from the top", {"format/event/event.c": '#include "event.h"\n'}, "headers are named from the top folder on"),
    ("around the top", {"format/event/event.c": '#include "format/../live/x.h"\n'}, "headers are named from the top folder on"),
    ("no such header", {"format/event/event.c": '#include "format/event/none.h"\n'}, "there is no such file"),
    ("not built", {"analyzer/report/not_this.c": ""}, "analyzer/report/not_this.c: not in analyzer/report/CMakeLists.txt"),
    ("not built in a subfolder", {"recorder/agent/mpi/ring.c": ""}, "recorder/agent/mpi/ring.c: not in recorder/agent/CMakeLists.txt"),
    ("a folder outside of the table", {"analyzer/new/CMakeLists.txt": "a.c", "analyzer/new/a.c": ""}, "analyzer/new/a.c: its folder has no line"),
    ("a circle of two nouns", {"recorder/engine/engine.h": '#include "recorder/engine/step.h"\n', "recorder/engine/step.h": ""},
     "a circle of nouns: recorder/engine/engine recorder/engine/step"),
    ("a circle of folders", {"cmake/folders.txt": TABLE.replace("format/base:\n", "format/base:  format/event\n"),
                             "format/base/glob_list.c": '#include "format/base/glob_list.h"\n#include "format/event/event.h"\n'},
     "a circle of folders: format/base format/event"),
    ("upwards by the table", {"cmake/folders.txt": TABLE.replace("format/base:\n", "format/base:  recorder/engine\n"),
                              "format/base/glob_list.h": '#include "recorder/engine/engine.h"\n'}, "format may include only format, not recorder/engine"),
    ("an edge that nothing needs", {"cmake/folders.txt": TABLE.replace("analyzer/report:  ", "analyzer/report: format/base ")}, "analyzer/report includes nothing of format/base"),
    ("a folder that is gone", {"cmake/folders.txt": TABLE + "live/gone:\n"}, "live/gone: there is no such folder"),
    ("a hall", {**{f"format/event/e{i}.c": "" for i in range(35)},
                "format/event/CMakeLists.txt": "event.c " + " ".join(f"e{i}.c" for i in range(35))}, "format/event: 36 source files"),
]

# The same for calls: what is built from two files in two folders.
SYMBOL_TABLE = "format/base:\nformat/event: format/base\nformat/trace: format/base\n"
SYMBOL_SOUND = {"format/base/a.c": "int a(void) { return 1; }\n", "format/event/b.c": "int a(void);\nint b(void) { return a(); }\n",
                "format/trace/c.c": "int a(void);\nint c(void) { return a(); }\n"}
SYMBOL_FAULTS = [
    ("an export for nobody", {"format/base/d.c": "int tg_d(void) { return 1; }\n"}, "format/base/d.c: no other file needs tg_d"),
    ("a call upwards", {"format/base/a.c": "int b(void);\nint a(void) { return b(); }\n"}, "its folder may not reach format/event"),
    ("a call aside", {"format/trace/c.c": "int b(void);\nint c(void) { return b(); }\n"}, "format/trace/c.c calls b of format/event/b.c"),
    ("a circle of calls", {"format/base/d.c": "int a(void);\nint d(void) { return a(); }\n",
                           "format/base/a.c": "int d(void);\nint a(void) { return d(); }\n"}, "a circle of nouns: format/base/a format/base/d"),
]

# The same for the first words of comments.
COMMENT_SOUND = {
    "main.c": 'const char *text = "/* it is text */"; /* no comment is in the string */\n',
    "format/base/a.h": "/* Items of the list, which it frees. */\nint whole; /* italics, theirs or not */\n// Thatched.\n",
}
COMMENT_FAULTS = [
    ("a trailing comment", {"live/web/a.h": "int size; /* its size */\n"}, 'live/web/a.h:1: a comment begins with a pronoun: "its size"'),
    ("a capital letter", {"analyzer/a.c": "\n/* Whoever waits\n * is stuck. */\nint a;\n"}, 'analyzer/a.c:2: a comment begins with a pronoun: "Whoever waits is stuck."'),
    ("a heading", {"recorder/rings/a.c": "/* ---- who waits */\n"}, "recorder/rings/a.c:1: "),
    ("an empty first line", {"format/event/a.def": "/*\n * They are read. */\n"}, "format/event/a.def:1: "),
    ("behind a string", {"main.c": 'f("\\"/*"); /* that is it */\n'}, "main.c:1: "),
    ("behind a character", {"main.c": "f('\"'); /* that is it */\n"}, "main.c:1: "),
    ("to the end of the line", {"main.c": "int a; // those\n"}, "main.c:1: "),
]


def write(root, files):
    for name, text in files.items():
        path = pathlib.Path(root, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def outcome(checker, *arguments):
    """(status, what it says) of a checker, a module: Python is begun once, not for each fault."""
    sys.argv[1:] = arguments
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        status = checker.main()
    return status, said.getvalue()


def run(checker, files):
    with tempfile.TemporaryDirectory() as root:
        write(root, files)
        return outcome(checker, root)


def run_symbols(checker, files):
    with tempfile.TemporaryDirectory() as root:
        write(root, {"cmake/folders.txt": SYMBOL_TABLE, **files})
        for folder in ("format/base", "format/event", "format/trace"):
            objects = []
            for source in sorted(pathlib.Path(root, folder).glob("*.c")):
                objects.append(f"{source}.o")
                subprocess.run(["cc", "-w", "-c", source, "-o", objects[-1]], check=True)
            if objects:
                subprocess.run(["ar", "qc", pathlib.Path(root, folder, "libtg_x.a"), *objects], check=True)
        return outcome(checker, root, root)


def check(name, result, expected):
    """What is wrong with RESULT, where EXPECTED must be said; None: nothing may be said."""
    status, said = result
    sound = status == 0 and not said if expected is None else status == 1 and expected in said
    return [] if sound else [f"{name}: {status} {said}"]


def main():
    failures = check("the sound tree", run(layers, SOUND), None)
    failures += check("an empty tree", run(layers, {"cmake/folders.txt": ""}), "no sources found")
    for name, change, expected in FAULTS:
        failures += check(name, run(layers, {**SOUND, **change}), expected)
    count = len(FAULTS) + len(COMMENT_FAULTS)
    failures += check("sound comments", run(comments, COMMENT_SOUND), None)
    failures += check("no comments", run(comments, {}), "no sources found")
    for name, change, expected in COMMENT_FAULTS:
        failures += check(name, run(comments, {**COMMENT_SOUND, **change}), expected)
    if shutil.which("cc") and shutil.which("ar") and shutil.which("nm"):
        failures += check("sound calls", run_symbols(symbols, SYMBOL_SOUND), None)
        failures += check("nothing built", run_symbols(symbols, {}), "no libraries found")
        for name, change, expected in SYMBOL_FAULTS:
            failures += check(name, run_symbols(symbols, {**SYMBOL_SOUND, **change}), expected)
        count += len(SYMBOL_FAULTS)
    print("\n".join(failures) or f"{count} faults found")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
