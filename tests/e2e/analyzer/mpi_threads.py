#!/usr/bin/env python3
"""A thread that computes and never called MPI may yet end a wait, or may not: by the level of thread support.

usage: mpi_threads.py openmpi|mpich LEVEL...
"""
import json
import os
import signal
import subprocess
import sys
import time

from mpi_job import ENVIRONMENT, build, flavour_named, job
from recording import TIME_LIMIT_S, TOLLGATE, check, events, run

SINGLE, FUNNELED, SERIALIZED, MULTIPLE = range(4)
RANKS = 2


def record(flavour, program, level):
    """Interrupts the job when its ranks have waited for long. Returns the level that they have."""
    process = subprocess.Popen([TOLLGATE, "record", "-q", "-o", "trace", "--force", "--",
                                *job(flavour, program, str(level), ranks=RANKS)], stdout=subprocess.PIPE, text=True)
    signal.alarm(TIME_LIMIT_S)
    provided = []
    while len(provided) < RANKS:
        line = process.stdout.readline()
        check(line, "the job ended")
        if "is there" in line:
            provided.append(int(line.split()[-1]))
    time.sleep(2.5)  # a wait is told when it has lasted: no event says so
    process.send_signal(signal.SIGTERM)
    process.communicate()
    signal.alarm(0)
    return provided[0]


def main(name, *levels):
    flavour = flavour_named(name)
    os.environ.update(ENVIRONMENT)
    program = build(flavour.c, ["mpi_threads.c"], "threads", "-pthread")
    for level in map(int, levels):
        provided = record(flavour, program, level)
        told = [event["tag"] for event in events("trace", "mpi_leave") if event["call"] in ("MPI_Init", "MPI_Init_thread")]
        check(told == [provided] * RANKS, told, "are not", provided)
        report = run([TOLLGATE, "report", "--json", "trace"])
        check(report.status == 0, report)
        first = json.loads(report.output)["post_mortem"][0]
        if provided <= FUNNELED:
            check(first["kind"] == "deadlock" and [culprit["rank"] for culprit in first["culprits"]] == [0, 1], first)
        else:
            check(first["kind"] == "interruption", first)
            check("Other threads of rank 0 and rank 1 were at work, and may call MPI as well" in first["text"], first)


main(*sys.argv[1:])
