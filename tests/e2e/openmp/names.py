#!/usr/bin/env python3
"""Names that programs have for critical sections, locks and threads; and a runtime that is not seen, which is said.

usage: names.py gcc|clang
"""
import json
import os
import re
import shutil
import subprocess
import sys

from recording import TOLLGATE, check, events, record, run, skip

SOURCE = os.path.join(os.environ["TG_SOURCE"], "tests/programs/openmp/names.c")


def build(path, *command):
    made = subprocess.run([*command, "-o", path], capture_output=True, text=True)
    if made.returncode != 0:
        skip("cannot build such a program here: " + made.stderr)
    return os.path.abspath(path)


def names(compiler):
    program = build("names", compiler, "-fopenmp", "-O1", "-D_GNU_SOURCE", SOURCE)
    check(record("trace", [program], "--force").status == 0)
    report = json.loads(run([TOLLGATE, "report", "--json", "trace"]).output)
    locks = {lock["lock"] for lock in report["openmp"]["locks"]}
    wanted = {"critical section update", "critical section log_file", "critical section", "lock queue_lock"}
    check(wanted < locks and any(re.fullmatch(r"lock locks\+\d+", name) for name in locks), locks)
    named = [event for event in events("trace", "thread_name")]
    check([event["name"] for event in named] == ["writer"], named)
    told = run([TOLLGATE, "replay", "-e", "goto end", "-e", "info workers -all", "trace"]).output
    check(f"(thread {named[0]['tid']} \"writer\")" in told, told)


def unseen(compiler):
    """A stand-in for LLVM's runtime in a static program: what counts is that it is told."""
    with open("unseen.c", "w", encoding="utf-8") as file:
        file.write("void __kmpc_fork_call(void) {}\nint main(void) { __kmpc_fork_call(); return 0; }\n")
    program = build("unseen", compiler, "-static", "unseen.c")
    check(record("trace", [program], "--force").status == 0)
    notes = [event["text"] for event in events("trace", "note")]
    check(any("OpenMP is not recorded in this program: LLVM's runtime, which it is linked with statically" in note
              for note in notes), notes)


compiler = sys.argv[1]
if shutil.which(compiler) is None:
    skip(compiler + " is not installed")
names(compiler)
if compiler == "gcc":
    unseen(compiler)
