#!/usr/bin/env python3
"""Jobs that hang or crash: the report names the culprit and its line.

usage: post_mortem.py openmpi|mpich HOW...
HOW is one of the ways of tests/programs/hang.c.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import time

from recording import TIME_LIMIT_S, TOLLGATE, check, run, skip

SOURCE = os.path.join(os.environ["TG_SOURCE"], "tests/programs/hang.c")
LAUNCHERS = {"openmpi": ("mpicc.openmpi", ["mpirun.openmpi", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]),
             "mpich": ("mpicc.mpich", ["mpiexec.mpich"])}
RANKS = 3


def line_of(text):
    return next(number for number, line in enumerate(open(SOURCE, encoding="utf-8"), 1) if text in line)


# Of each way: whether the ranks stay where they are until they are ended, the kind of the finding that names the culprit,
# what its text has, and what is on the source line that it names.
WAYS = {
    "barrier": (True, "mpi_collective", ("Ranks 0 and 2 have been waiting in MPI_Barrier", "Rank 1 is missing", "last call MPI_Barrier"), None),
    "receive": (True, "deadlock", ("rank 1 has been in MPI_Recv from rank 2 (tag 77)",), "culprit of receive"),
    "critical": (True, "omp_barrier", ("Worker ", "is missing: inside the", "critical section"), "critical(stuck)"),
    "crash": (False, "crash", ("Rank 1 was killed by SIGSEGV", "critical section"), "critical(dangerous)"),
    "deadlock": (True, "deadlock", ("Deadlock in rank 1", "held by worker 2", "held by worker 1"), "culprit of deadlock"),
    "taskwait": (True, "omp_task", ("waiting at the taskwait", "is waiting for an event that has not been fulfilled"), "culprit of taskwait"),
    "send": (True, "deadlock", ("rank 0 has been in MPI_Send to rank 1", "rank 1 has been in MPI_Send to rank 0"), "culprit of send"),
    "mismatch": (True, "mpi_mismatch", ("ranks 0 and 2 called MPI_Barrier", "rank 1 called MPI_Bcast with root 1"), "culprit of mismatch"),
    "abort": (False, "crash", ("Rank 1 called MPI_Abort with error code 7",), "culprit of abort"),
    "exit": (False, "early_exit", ("Rank 1 exited with status 3", "calling _exit, called from ", ", without calling MPI_Finalize", "MPI_Barrier"), "culprit of exit"),
    "exit_0": (False, "early_exit", ("Rank 1 exited with status 0", "without calling MPI_Finalize", "MPI_Barrier"), "culprit of exit"),
    "kill": (False, "killed", ("Rank 1 was killed by SIGKILL", "before any other rank ended"), None),
}


def record(job, stays):
    """Lets the job come to where it stays, then ends it as a person would."""
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    process = subprocess.Popen([TOLLGATE, "record", "-q", "-o", "trace", "--force", "--", *job], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    signal.alarm(TIME_LIMIT_S)
    if stays:
        there = 0
        while there < RANKS:
            line = process.stdout.readline()
            check(line, "the job ended:", process.stderr.read() if process.poll() is not None else "")
            there += "is there" in line
        time.sleep(2.5)  # a wait is told when it has lasted: no event says so
        process.send_signal(signal.SIGTERM)
    process.communicate()
    signal.alarm(0)


def findings():
    report = run([TOLLGATE, "report", "--json", "trace"])
    check(report.status == 0, report)
    return json.loads(report.output)["post_mortem"]


def ask_console(found):
    """The console says at the end what the report says, and that nobody is alive."""
    asked = run([TOLLGATE, "replay", "-e", "goto end", "-e", "where", "-e", "info workers", "-e", "info barrier", "-e",
                 "foreach w [info workers -list] {if {[dict get $w alive]} {error alive}}", "trace"])
    check(asked.status == 0, asked)
    for finding in found:
        check(finding["text"] in asked.output, finding["text"], "is not in", asked.output)


def find(found, kind, words):
    texts = [finding["text"] for finding in found if finding["kind"] == kind]
    check(any(all(word in text for word in words) for text in texts), kind, words, "is not in", found)


def someone_waits():
    """A rank came to the barrier that rank 1 never comes to; where rank 1 ends the job, it may be in time for that."""
    dump = run([TOLLGATE, "dump", "--json", "--kind", "mpi_enter", "trace"])
    check(dump.status == 0, dump)
    entered = [json.loads(line) for line in dump.output.splitlines()]
    return any(event["call"] == "MPI_Barrier" and event["instance"] == 2 for event in entered)


def test(launcher, how):
    stays, kind, words, on_line = WAYS[how]
    job = [*launcher, "-n", str(RANKS), "./hang"]
    record(["env", "HANG_STATUS_0=1", *job, "exit"] if how == "exit_0" else [*job, how], stays)
    found = findings()
    ask_console(found)
    find(found, kind, [*words, "hang.c:" if on_line is None else f"hang.c:{line_of(on_line)}"])
    if how != "mismatch" and (stays or someone_waits()):
        find(found, "mpi_collective", ["Rank 1 is missing"])


def main(flavour, *ways):
    compiler, launcher = LAUNCHERS[flavour]
    if shutil.which(compiler) is None or shutil.which(launcher[0]) is None:
        skip(f"{compiler} or {launcher[0]} is not installed")
    if flavour == "mpich" and shutil.which("clang") is not None:
        os.environ["MPICH_CC"] = "clang"  # and with it another OpenMP runtime
    made = subprocess.run([compiler, "-O1", "-g", "-fopenmp", "-pthread", SOURCE, "-o", "hang"], capture_output=True,
                          text=True)
    check(made.returncode == 0, made.stderr)
    for how in ways:
        test(launcher, how)


main(*sys.argv[1:])
