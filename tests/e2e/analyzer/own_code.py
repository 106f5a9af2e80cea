#!/usr/bin/env python3
"""Verdicts have the program's own line, where a library or libc is in between.

usage: own_code.py openmpi|mpich WAY...
"""
import json
import os
import signal
import subprocess
import sys
import time

from mpi_job import ENVIRONMENT, build, flavour_named, job
from recording import TIME_LIMIT_S, TOLLGATE, check, run

SOURCE = os.path.join(os.environ["TG_SOURCE"], "tests/programs/own_code.c")
RANKS = 2

# Of each way: kind, culprits, what is on the line, function, and words; whether the job stays until it is interrupted.
WAYS = {
    "receive": ("deadlock", [0, 1], "the receive", "main", "in wrapped_receive+0x", True),
    "leave": ("mpi_collective", [1], "the pause", "leave", "in wrapped_barrier+0x", True),
    "crash": ("crash", [1], "the crash", "measure", "calling strlen, called from main (own_code.c:", False),
}


def line_of(text):
    return next(number for number, line in enumerate(open(SOURCE, encoding="utf-8"), 1) if text in line)


def record(flavour, program, way):
    process = subprocess.Popen([TOLLGATE, "record", "-q", "-o", "trace", "--force", "--",
                                *job(flavour, program, way, ranks=RANKS)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               text=True)
    signal.alarm(TIME_LIMIT_S)
    if WAYS[way][-1]:
        there = 0
        while there < RANKS:
            line = process.stdout.readline()
            check(line, "the job ended")
            there += "is there" in line
        time.sleep(2.5)  # a wait is told when it has lasted: no event says so
        process.send_signal(signal.SIGTERM)
    process.communicate()
    signal.alarm(0)


def main(name, *ways):
    flavour = flavour_named(name)
    os.environ.update(ENVIRONMENT)
    library = build(flavour.c, ["own_code_library.c"], "libown.so", "-shared", "-fPIC", "-O2", "-s")
    program = build(flavour.c, ["own_code.c"], "own_code", library, f"-Wl,-rpath,{os.path.dirname(library)}")
    for way in ways:
        kind, ranks, on_line, function, words, _ = WAYS[way]
        record(flavour, program, way)
        report = run([TOLLGATE, "report", "--json", "trace"])
        check(report.status == 0, report)
        first = json.loads(report.output)["post_mortem"][0]
        place = {"function": function, "line": line_of(on_line)}
        check(first["kind"] == kind and [culprit["rank"] for culprit in first["culprits"]] == ranks, way, first)
        for one in (first, *first["culprits"]):
            check({key: one[key] for key in place} == place and os.path.basename(one["file"]) == "own_code.c", way, one, place)
        check(words in first["text"] and f"own_code.c:{place['line']}" in first["text"], way, first["text"])


main(*sys.argv[1:])
