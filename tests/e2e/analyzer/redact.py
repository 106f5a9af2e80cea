#!/usr/bin/env python3
"""`tollgate redact` and `record --redact`: a trace says the same with other names, and has none of the old ones.

usage: redact.py CASE
"""
import glob
import json
import os
import platform
import re
import subprocess
import sys

from recording import TOLLGATE, check, run, skip

SECRETS = ("alice", "topsecret", "hunter2", "xyzzy", "projectx", "solverbinary")
# Told relative to the files that are there: of the copy they are not.
NAMED_BY_FILES = ("where",)


def redact(trace, copy):
    done = run([TOLLGATE, "redact", "--force", "-o", copy, trace])
    check(done.status == 0, trace, done)


def lines(arguments):
    done = run([TOLLGATE, *arguments])
    check(done.status == 0, arguments, done)
    return [json.loads(line) for line in done.output.splitlines()]


def compare(a, b, where, names):
    """Equal but for strings. NAMES: what became of each string that stands for itself, by its key."""
    check(type(a) is type(b) or None in (a, b) and where[-1] in NAMED_BY_FILES, where, a, b)
    if isinstance(a, dict):
        check(list(a) == list(b), where, list(a), list(b))
        for key in a:
            compare(a[key], b[key], [*where, key], names)
    elif isinstance(a, list):
        check(len(a) == len(b), where, len(a), len(b))
        for index, (x, y) in enumerate(zip(a, b)):
            compare(x, y, [*where, index], names)
    elif isinstance(a, str):
        key = [part for part in where if isinstance(part, str)][-1]
        if key in ("host", "path", "library", "object", "module", "file", "executable", "job"):
            check(names.setdefault((key, a), b) == b, where, a, "became", names[key, a], "and", b)
            check((a == "") == (b == ""), where, a, b)
    else:
        check(a == b, where, a, b)


def list_is_unknown(trace, copy):
    """The list of a Medium recording is another one in the copy: nothing is held against that."""
    whole, redacted = (json.loads(run([TOLLGATE, "filter", "--json", of]).output)["recorded"] for of in (trace, copy))
    check(whole["agrees"] is not None and whole["match"] != "" and not whole["list_is_redacted"], whole)
    check(redacted["agrees"] is None and redacted["match"] == "" and redacted["list_is_redacted"], redacted)
    done = run([TOLLGATE, "filter", "--check", copy])
    check(done.status == 0 and "its glob-list is not known" in done.output, done)


def fixtures():
    """Every trace of the golden tests: events and reports differ in strings alone."""
    compared = 0
    for fixture in sorted(glob.glob(os.path.join(os.environ["TG_SOURCE"], "tests/golden/fixtures/*.jsonl"))):
        trace, copy = "whole.tgt", "copy.tgt"
        if run([os.environ["TG_TRACE_FROM_JSON"], fixture, trace]).status != 0:
            continue
        redact(trace, copy)
        names = {}
        events = [lines(["dump", "--json", "--symbols=off", of]) for of in (trace, copy)]
        check(len(events[0]) == len(events[1]), fixture)
        for a, b in zip(*events):
            compare(a, b, [os.path.basename(fixture), a["kind"]], names)
        reports = [json.loads(run([TOLLGATE, "report", "--json", "--symbols=off", of]).output) for of in (trace, copy)]
        for report in reports:
            report["trace"].pop("path")
            report.pop("meta")
            report.pop("libraries")  # by time and then by name
        if fixture.endswith("filter-medium.jsonl"):
            list_is_unknown(trace, copy)
        if "hostile" not in fixture:
            compare(*reports, [os.path.basename(fixture), "report"], {})
        compared += 1
        os.unlink(trace)
    check(compared > 30, compared)


PROGRAM = r"""
#include <dlfcn.h>
int innersolver(void) { return dlopen("/projectx/libxyzzy.so", RTLD_NOW) == 0; }
int main(void) { return innersolver() == 1 ? 7 : 0; }
"""


def recorded():
    """A real program: nothing of its names is left in the copy, in whatever it is told."""
    where = os.path.abspath("home/alice/topsecret")
    os.makedirs(where)
    with open(f"{where}/solverbinary.c", "w") as file:
        file.write(PROGRAM)
    if subprocess.run(["cc", "-g", f"{where}/solverbinary.c", "-o", f"{where}/solverbinary", "-ldl"], check=False).returncode != 0:
        skip("cannot build a program here")
    os.chdir(where)
    arguments = ("-o whole.tgt -b solverbinary`main --match */libprojectx* -- ./solverbinary --password=hunter2 token=xyzzy "
                 "alice 12")
    environment = {"OMP_TOOL_LIBRARIES": "/projectx/tool.so", "OMP_NUM_THREADS": "3"}
    made = run([TOLLGATE, "record", *arguments.split()], environment)
    check(made.status == 7, made)
    whole = run([TOLLGATE, "dump", "--meta", "whole.tgt"]).output
    for secret in (*SECRETS, platform.node()):
        check(re.search(rf"\b{re.escape(secret)}", whole), secret, "is not even in the whole trace")
    redact("whole.tgt", "copy.tgt")
    made = run([TOLLGATE, "record", "--redact", *arguments.replace("whole", "at-once").split()], environment)
    check(made.status == 7, made)
    for trace in ("copy.tgt", "at-once.tgt"):
        nothing_is_left(trace)
    lines_are_there(arguments.split(" -- ")[1].split(), environment)


def lines_are_there(command, environment):
    """The copy has the lines of calls that the trace has by their addresses alone."""
    made = run([TOLLGATE, "record", "-o", "calls.tgt", "--", *command], environment)
    check(made.status == 7, made)
    redact("calls.tgt", "copy.tgt")
    calls = run([TOLLGATE, "dump", "--kind", "library_call", "copy.tgt"]).output
    check(re.search(r"innersolver\+0x[0-9a-f]+, name\d+\.c:3>", calls), "the line of the call is not in the copy", calls)
    nothing_is_left("copy.tgt")


def nothing_is_left(trace):
    with open(trace, "rb") as file:
        raw = file.read()
    told = "".join(run([TOLLGATE, *arguments, trace]).output for arguments in (
        ["dump", "--meta"], ["dump", "--json", "--meta"], ["dump", "--chrome"], ["report", "--all"], ["report", "--json"], ["filter"]))
    for secret in (*SECRETS, platform.node()):
        check(secret.encode() not in raw or len(secret) < 5, secret, "is in the bytes of", trace)
        check(not re.search(rf"(?<![\w.]){re.escape(secret)}\b", told), secret, "is still told of", trace)
    check("user1" in told and "host1" in told and "OMP_NUM_THREADS=3" in told and " 12" in told, "what may stay is gone", trace)
    check(json.loads(run([TOLLGATE, "report", "--json", trace]).output)["meta"]["redacted"] == "on")


def refused():
    """What is not whole is not copied; nothing is left."""
    check(run([TOLLGATE, "record", "--quiet", "-o", "whole.tgt", "true"]).status == 0)
    with open("whole.tgt", "rb") as file:
        whole = file.read()
    with open("cut.tgt", "wb") as file:
        file.write(whole[:-20])
    for trace, words in (("cut.tgt", "recover"), ("none.tgt", "no such file")):
        done = run([TOLLGATE, "redact", "-o", "copy.tgt", trace])
        check(done.status == 2 and words in done.errors, done)
    check(run([TOLLGATE, "redact", "whole.tgt"]).status == 0 and os.path.exists("whole-redacted.tgt"))
    check(run([TOLLGATE, "redact", "whole.tgt"]).status == 2, "an existing file is replaced")
    check(sorted(os.listdir()) == ["cut.tgt", "whole-redacted.tgt", "whole.tgt"], os.listdir())


if __name__ == "__main__":
    {"fixtures": fixtures, "recorded": recorded, "refused": refused}[sys.argv[1]]()
