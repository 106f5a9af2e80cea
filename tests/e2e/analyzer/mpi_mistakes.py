#!/usr/bin/env python3
"""Mistakes in MPI calls lead the verdict, with rank and line, however the job ended; correct calls of every family have none.

usage: mpi_mistakes.py openmpi|mpich WAY...
"""
import json
import os
import signal
import subprocess
import sys

from mpi_job import ENVIRONMENT, build, flavour_named, job
from recording import TOLLGATE, check, run

LAUNCHER_LIMIT_S = 30
SOURCE = os.path.join(os.environ["TG_SOURCE"], "tests/programs/mpi_mistakes.c")


def line_of(text):
    return next(number for number, line in enumerate(open(SOURCE, encoding="utf-8"), 1) if text in line)


# Of each way: kind of the leading finding, its first culprit, what is on the line that it names, and what it says.
TRUNCATED = ("MPI_ERR_TRUNCATE", "rank 0 receives at most 40 bytes", "where rank 1 sends 80 in truncate_message")
WAYS = {
    "receive": ("mpi_error", 0, "the short receive", (*TRUNCATED, "ended the program")),
    "wait": ("mpi_error", 0, "the wait", (*TRUNCATED, "ended the program")),
    "wait returned": ("mpi_error", 0, "the wait", (*TRUNCATED, "returned the error")),
    "rank": ("mpi_error", 0, "to nobody", ("MPI_ERR_RANK", "there is no rank 9 in MPI_COMM_WORLD, which has 4 ranks")),
    "bytes": ("mpi_mismatch", 2, "the usual call", ("number 8 on MPI_COMM_WORLD", "rank 2 called MPI_Allreduce of 72 bytes",
                                                    "ranks 0-1 and 3 called MPI_Allreduce of 16 bytes")),
    "skip": ("mpi_mismatch", 2, "the other call", ("out of step (number 13 on MPI_COMM_WORLD)", "rank 2 called",
                                                   "7 times, rank 0 8 times")),
    "extra": ("mpi_mismatch", 2, "the extra call", ("number 9 on MPI_COMM_WORLD", "rank 2 called MPI_Bcast with root 2",
                                                    "once, rank 0 never")),
    "datatypes": ("mpi_mismatch", 2, "MPI_DOUBLE : MPI_INT", ("different datatypes", "rank 2 called MPI_Bcast with root 0 of MPI_DOUBLE",
                                                   "ranks 0-1 and 3 called MPI_Bcast with root 0 of MPI_INT")),
    "operators": ("mpi_mismatch", 2, "MPI_MAX : MPI_SUM", ("different operators", "rank 2 called MPI_Allreduce with MPI_MAX",
                                                       "ranks 0-1 and 3 called MPI_Allreduce with MPI_SUM")),
    "retyped": ("mpi_mismatch", 0, "the other type", ("as MPI_DOUBLE", "rank 1 sent as MPI_INT", "do not match")),
    "marked": ("mpi_misuse", 0, "the partition", ("Rank 0 marked partition 1 of 4 as ready (MPI_Pready) a second time in mark_twice",
                                                 "MPI_Psend_init to rank 1 (tag 5)")),
    "left": ("mpi_unreceived", 1, "the lost message", ("1 message was never received: rank 1 sent 1 to rank 0 (MPI_Send, tag 5)",)),
    "begun": ("mpi_request", 0, "the lost request", ("1 request was never completed: rank 0 started 1 from rank 1",)),
    "signal": ("killed", 1, "the signal", ("Rank 1 was killed by SIGUSR2, which it sent to itself",)),
    "named": ("mpi_mismatch", 2, "the roots", (r'communicator "rows\tof\x1b[31m"', "with root 1", "with root 0")),
}


def record_to_end(command):
    """COMMAND under record. Open MPI's launcher, where a rank dies by a signal and it ends the others, natively stays for ever, or crashes, in 6 of 45
    runs on busy processors: then once more, twice at most."""
    for _ in range(3):
        process = subprocess.Popen([TOLLGATE, "record", "-q", "-o", "trace", "--force", "--", *command], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True, text=True)
        try:
            said, _ = process.communicate(timeout=LAUNCHER_LIMIT_S)
            if process.returncode not in (-signal.SIGSEGV, 128 + signal.SIGSEGV):
                return process.returncode, said
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    sys.exit(f"FAILED: {command}: the launcher stayed or crashed three times")


def findings(flavour, program, *arguments):
    os.environ.update(ENVIRONMENT)
    recorded, said = record_to_end(job(flavour, program, *arguments))
    report = run([TOLLGATE, "report", "--json", "trace"])
    check(report.status == 0, report, recorded, said)
    return recorded, json.loads(report.output)["post_mortem"]


def check_way(flavour, program, way):
    status, found = findings(flavour, program, *way.split())
    kind, rank, line, words = WAYS[way]
    check(found, way, "has no findings")
    first = found[0]
    check(first["kind"] == kind and first["culprits"][0]["rank"] == rank, way, first)
    check(way == "signal" or first["line"] == line_of(line), way, first)
    check(way == "signal" or os.path.basename(first["culprits"][0]["file"]) == "mpi_mistakes.c", first)
    check(all(word in first["text"] for word in words), words, "is not in", first["text"])
    check((first["severity"] == "warning") == (status == 0), status, first)
    if way == "retyped":
        check([culprit["rank"] for culprit in first["culprits"]] == [0, 1], first)
    elif kind == "mpi_mismatch":
        check([culprit["rank"] for culprit in first["culprits"]] == [rank], first)


def main(name, *ways):
    flavour = flavour_named(name)
    program = build(flavour.c, ["mpi_mistakes.c"], "mistakes")
    for way in ways:
        if way == "correct":
            calls = build(flavour.c, ["mpi_calls.c"], "calls")
            for families in ("collective", "nonblocking", "communicators", "topologies"):
                status, found = findings(flavour, calls, families)
                check(status == 0 and not found, families, status, found)
        else:
            check_way(flavour, program, way)


main(*sys.argv[1:])
