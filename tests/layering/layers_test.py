#!/usr/bin/env python3
"""Proves that layers.py can fail: small trees with one fault each."""

import pathlib
import subprocess
import sys
import tempfile

SOUND = {
    "CMakeLists.txt": "add_executable(tollgate main.c)\n",
    "main.c": '#include "analyzer/report.h"\n#include "recorder/engine.h"\n#include <stdio.h>\n',
    "format/CMakeLists.txt": "add_library(f STATIC\n  event.c\n  glob_list.c)\n",
    "format/event.c": '#include "format/event.h"\n#include <zstd.h>\n',
    "format/event.h": "",
    "format/glob_list.c": '#include "format/glob_list.h"\n',
    "format/glob_list.h": "",
    "recorder/CMakeLists.txt": "set(S\n  engine.c\n  agent/agent.c)\n",
    "recorder/engine.c": '#include "recorder/engine.h"\n  #  include "format/event.h"\n#include <uthash.h>\n',
    "recorder/engine.h": '/* like\n#include "analyzer/report.h"\n*/\n// #include "live/console.h"\n',
    "recorder/agent/agent.c": '#include "recorder/agent/contract.h"\n#include "format/glob_list.h"\n#include <elf.h>\n',
    "recorder/agent/contract.h": "",
    "analyzer/CMakeLists.txt": "set(S report.c) # and not_this.c\n",
    "analyzer/report.c": '#include "analyzer/report.h"\n',
    "analyzer/report.h": '#include "format/event.h"\n',
    "live/CMakeLists.txt": "set(S console.c)\n",
    "live/console.c": '#include "analyzer/report.h"\n#include "recorder/engine.h"\n#include "format/event.h"\n',
    "live/inspect/CMakeLists.txt": "add_library(i STATIC frames.c)\n",
    "live/inspect/frames.c": '#include "live/inspect/frames.h"\n#include "recorder/image_cache.h"\n#include <dwarf.h>\n',
    "live/inspect/frames.h": '#include "format/error.h"\n',
    "recorder/image_cache.h": "",
    "format/error.h": "",
}

# name, files that replace or join the sound ones, what must be said
FAULTS = [
    ("format to recorder", {"format/event.h": '#include "recorder/engine.h"\n'}, 'format/event.h:1: "recorder/engine.h"'),
    ("recorder to analyzer", {"recorder/engine.h": '\n#include "analyzer/report.h"\n'}, "recorder/engine.h:2: "),
    ("analyzer to recorder", {"analyzer/report.c": '#include "recorder/engine.h"\n'}, "analyzer/report.c:1: "),
    ("analyzer to live", {"analyzer/report.c": '#include "live/console.h"\n'}, "analyzer/report.c:1: "),
    ("product to tests", {"live/console.c": '#include "tests/support/x.h"\n'}, "live/console.c:1: "),
    ("agent to engine", {"recorder/agent/agent.c": '#include "recorder/engine.h"\n'}, "recorder/agent/agent.c:1: "),
    ("agent to format", {"recorder/agent/agent.c": '#include "format/settings.h"\n'}, "recorder/agent/agent.c:1: "),
    ("agent to a library", {"recorder/agent/agent.c": "#include <zstd.h>\n"}, "the agent links libc alone"),
    ("agent to uthash", {"recorder/agent/agent.c": "#include <uthash.h>\n"}, "the agent links libc alone"),
    ("agent to libelf", {"recorder/agent/agent.c": "#include <elfutils/libdw.h>\n"}, "the agent links libc alone"),
    ("inspection to console", {"live/inspect/frames.h": '#include "live/console.h"\n', "live/console.h": ""}, "may include only live/inspect/"),
    ("inspection to engine", {"live/inspect/frames.h": '#include "recorder/engine.h"\n'}, "may include only live/inspect/"),
    ("inspection to ptrace", {"live/inspect/frames.c": "#include <sys/ptrace.h>\n"}, "does not control it"),
    ("not from the top", {"format/event.c": '#include "event.h"\n'}, "headers are named from the top folder on"),
    ("around the top", {"format/event.c": '#include "format/../live/x.h"\n'}, "headers are named from the top folder on"),
    ("no such header", {"format/event.c": '#include "format/none.h"\n'}, "there is no such file"),
    ("not built", {"analyzer/not_this.c": ""}, "analyzer/not_this.c: not in analyzer/CMakeLists.txt"),
    ("not built in a subfolder", {"recorder/agent/ring.c": ""}, "recorder/agent/ring.c: not in recorder/CMakeLists.txt"),
]


def run(checker, files):
    with tempfile.TemporaryDirectory() as root:
        for name, text in files.items():
            path = pathlib.Path(root, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return subprocess.run([sys.executable, checker, root], capture_output=True, text=True, check=False)


def main():
    checker = pathlib.Path(__file__).with_name("layers.py")
    failures = []
    result = run(checker, SOUND)
    if result.returncode != 0 or result.stdout:
        failures.append(f"the sound tree: {result.returncode} {result.stdout}{result.stderr}")
    result = run(checker, {})
    if result.returncode != 1:
        failures.append(f"an empty tree: {result.returncode}")
    for name, change, expected in FAULTS:
        result = run(checker, {**SOUND, **change})
        if result.returncode != 1 or expected not in result.stdout or len(result.stdout.splitlines()) != 1:
            failures.append(f"{name}: {result.returncode} {result.stdout}{result.stderr}")
    print("\n".join(failures) or f"{len(FAULTS)} faults found")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
