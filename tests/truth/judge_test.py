#!/usr/bin/env python3
"""The judge tells right answers from wrong ones; programs are the same for the same seed, and truths are complete."""
import collections
import sys

from board import Culprit, Place
from case import CORRECT, Case, is_mpi
from fault import FAULTS
from judge import FALSE, INVALID, NO_LINE, NO_REASON, NO_THREAD, PARTIAL, RIGHT, SILENT, WRONG, judge
from toolchain import TOOLCHAINS, has_function, parts_of

Trial = collections.namedtuple("Trial", "case report culprits places problem status signal")


def finding(kind, ranks, text, tid=None, where=None):
    return {"kind": kind, "severity": "error", "process": ranks[0] if ranks else None, "where": where, "text": text,
            "culprits": [{"process": rank, "rank": rank, "tid": tid, "line": None, "file": None} for rank in ranks]}


def outcome(case, *findings, places=(), problem=None, status=0):
    processes = [{"pid": 100 + rank, "rank": rank if case.has_mpi else None} for rank in range(max(case.size, 1))]
    culprits = [Culprit(rank, 1, 100 + rank, 100 + rank, 7, 6) for rank in sorted(case.truth.ranks)[:1]]
    report = {"processes": processes, "post_mortem": list(findings)}
    return judge(Trial(case, report, culprits, places, problem, status, "SIGTERM")).outcome


def check(is_so, *what):
    if not is_so:
        sys.exit("FAILED: " + " ".join(map(str, what)))


def first_case(kind, toolchain, is_wanted=lambda case: True):
    return next(case for case in (Case(kind, toolchain, seed) for seed in range(100)) if is_wanted(case))


def test_correct():
    for toolchain in TOOLCHAINS:
        case = Case(CORRECT, toolchain, 1)
        check(outcome(case) == RIGHT, "nothing is said")
        check(outcome(case, finding("starter", [0], "The job launcher exited")) == RIGHT, "the interruption")
        check(outcome(case, finding("interruption", [0], "SIGTERM from process 7")) == RIGHT, "who asked")
        check(outcome(case, finding("interruption", [0], "SIGINT from process 7")) == FALSE, "another signal")
        for kind in ("deadlock", "mpi_receive", "omp_barrier", "early_exit", "a kind that comes some day"):
            check(outcome(case, finding(kind, [0], "Rank 0")) == FALSE, toolchain, kind)
        check(outcome(case, problem="no trace") == INVALID, "no trace")


def test_collective():
    case = first_case("collective_skipped", "openmpi-gcc", lambda case: case.size == 4)
    (rank,) = case.truth.ranks
    others = [other for other in range(4) if other != rank]
    line = f"program.c:{case.truth.lines[0].number}"
    check(outcome(case, finding("mpi_collective", [rank], f"is missing in {line}")) == RIGHT, "culprit and line")
    check(outcome(case, finding("starter", [0], "ended"), finding("mpi_collective", [rank], line)) == RIGHT, "behind the launcher")
    check(outcome(case, finding("mpi_collective", [rank], "program.c:1")) == NO_LINE, "another line")
    check(outcome(case, finding("mpi_collective", [others[0]], line)) == WRONG, "another rank")
    check(outcome(case, finding("mpi_collective", [rank, others[0]], line)) == PARTIAL, "an innocent one too")
    check(outcome(case, finding("deadlock", [rank, others[0]], line)) == RIGHT, "all of a cycle are in it")
    check(outcome(case, finding("deadlock", others, line)) == WRONG, "a cycle without the culprit")
    check(outcome(case, finding("mpi_send", [others[0]], line), finding("mpi_collective", [rank], line)) == WRONG, "second")
    check(outcome(case) == SILENT, "nothing is said")
    waiter = Place(others[0], 0, 100 + others[0], 100 + others[0], 999, True, 5)
    check(outcome(case, finding("mpi_collective", [rank], "program.c:999"), places=[waiter]) == RIGHT, "where the others wait")
    check(outcome(case, finding("mpi_collective", [rank], "program.c:999"), places=[waiter._replace(is_inside=False)]) == NO_LINE,
          "where one had been")


def test_thread():
    case = first_case("lock_twice", "gcc")
    line = f"program.c:{case.truth.lines[1].number}"
    check(outcome(case, finding("deadlock", [0], line, tid=100)) == RIGHT, "the thread")
    check(outcome(case, finding("deadlock", [0], line, tid=101)) == WRONG, "another thread")
    check(outcome(case, finding("deadlock", [0], line)) == NO_THREAD, "no thread")
    check(outcome(case, finding("deadlock", [0], "", tid=100)) == NO_LINE, "no line")


def test_reason():
    case = first_case("stopped", "mpich-gcc")
    (rank,) = case.truth.ranks
    check(outcome(case, finding("stopped", [rank], "was stopped by SIGSTOP")) == RIGHT, "stopped")
    check(outcome(case, finding("mpi_collective", [rank], "is missing")) == NO_REASON, "not that it was stopped")


def test_cases():
    """Each kind makes programs for its toolchains: the same ones each time, with a truth inside of the program."""
    for kind, fault in FAULTS.items():
        for toolchain in TOOLCHAINS:
            if (fault.compiler not in (None, parts_of(toolchain)[1]) or not (fault.is_openmp or is_mpi(toolchain)) or
                    not has_function(toolchain, fault.needs)):
                continue
            for seed in range(3):
                case, again = Case(kind, toolchain, seed), Case(kind, toolchain, seed)
                check(case.text == again.text, kind, "differs from time to time")
                check(case.truth.ranks and case.truth.ranks <= set(range(case.size)), kind, case.truth)
                numbers = [line.number for line in case.truth.lines]
                check(0 < max(numbers) <= case.text.count("\n"), kind, numbers)
                check("FAULTY" in case.text.split("#define FAULTY", 1)[1], kind, "has no fault")


for test in (test_correct, test_collective, test_thread, test_reason, test_cases):
    test()
