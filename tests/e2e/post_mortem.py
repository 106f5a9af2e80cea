#!/usr/bin/env python3
"""Jobs that hang or crash: the report names the culprit and its line.

usage: post_mortem.py openmpi|mpich barrier|receive|critical|crash
"""
import json
import os
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
from recording import TIME_LIMIT_S, TOLLGATE, check, run, skip  # noqa: E402

SOURCE = os.path.join(os.environ["TG_SOURCE"], "tests/programs/hang.c")
LAUNCHERS = {"openmpi": ("mpicc.openmpi", ["mpirun.openmpi", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]),
             "mpich": ("mpicc.mpich", ["mpiexec.mpich"])}
RANKS = 3


def line_of(text):
    return next(number for number, line in enumerate(open(SOURCE, encoding="utf-8"), 1) if text in line)


def record_until_stuck(job, crashes):
    """Lets the job come to where it stays, then ends it as a person would."""
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    process = subprocess.Popen([TOLLGATE, "record", "-q", "-o", "trace", "--", *job], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    signal.alarm(TIME_LIMIT_S)
    if not crashes:
        there = 0
        while there < RANKS:
            line = process.stdout.readline()
            check(line, "the job ended:", process.stderr.read() if process.poll() is not None else "")
            there += "is there" in line
        process.send_signal(signal.SIGTERM)
    process.communicate()
    signal.alarm(0)


def findings():
    report = run([TOLLGATE, "report", "--json", "trace"])
    check(report.status == 0, report)
    return json.loads(report.output)["post_mortem"]


def find(found, kind, *words):
    texts = [finding["text"] for finding in found if finding["kind"] == kind]
    check(any(all(word in text for word in words) for text in texts), kind, words, "is not in", found)


def main(flavour, how):
    compiler, launcher = LAUNCHERS[flavour]
    if shutil.which(compiler) is None or shutil.which(launcher[0]) is None:
        skip(f"{compiler} or {launcher[0]} is not installed")
    made = subprocess.run([compiler, "-O1", "-g", "-fopenmp", "-pthread", SOURCE, "-o", "hang"], capture_output=True,
                          text=True)
    check(made.returncode == 0, made.stderr)
    record_until_stuck([*launcher, "-n", str(RANKS), "./hang", how], how == "crash")
    found = findings()
    if how != "crash":
        find(found, "mpi_collective", "Ranks 0 and 2 wait in MPI_Barrier", "Missing is rank 1")
    if how == "barrier":
        find(found, "mpi_collective", "its last call was MPI_Barrier")
    elif how == "receive":
        find(found, "mpi_receive", "Rank 1 waits for a message", "MPI_Recv from rank 2 (tag 77)",
             f"hang.c:{line_of('MPI_Recv(')}")
    elif how == "critical":
        find(found, "omp_barrier", "Missing is worker", "inside of the named critical section", "hang.c:")
    else:
        find(found, "crash", "Rank 1 was killed by SIGSEGV", "critical section", "hang.c:")


main(*sys.argv[1:])
