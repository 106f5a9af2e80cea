#!/usr/bin/env python3
"""A program that is watched by a PMPI tool: the tool sees what it sees natively, and the trace has each call once.

usage: tool.py openmpi|mpich linked|library|preloaded_behind|preloaded_before|recorded
"""
import collections
import os
import sys

from mpi_job import RANKS, Job, RecordedJob, build, flavour_named, job, ranks_of, run_natively
from recording import check, skip

ROUNDS = 5


def build_program(flavour, how):
    """The program, and the tool where that is to be preloaded."""
    if how == "linked":
        return build(flavour.c, ["mpi_ring.c", "mpi_tool.c"], "ring"), ""
    tool = build(flavour.c, ["mpi_tool.c"], "libtool.so", "-shared", "-fPIC")
    if how in ("library", "recorded"):
        here = os.path.dirname(tool)
        return build(flavour.c, ["mpi_ring.c"], "ring", "-Wl,--no-as-needed", tool, "-Wl,-rpath," + here), ""
    return build(flavour.c, ["mpi_ring.c"], "ring"), tool


def check_calls(events, tool_is_first):
    """Where the tool comes before the agent, its own calls are those that are seen."""
    entered = collections.Counter(event["call"] for event in events if event["kind"] == "mpi_enter")
    left = collections.Counter(event["call"] for event in events if event["kind"] == "mpi_leave")
    expected = {"MPI_Init": 1, "MPI_Send": ROUNDS, "MPI_Recv": ROUNDS, "MPI_Barrier": ROUNDS,
                "MPI_Allreduce": ROUNDS * (2 if tool_is_first else 1), "MPI_Finalize": 1}
    if tool_is_first:
        expected["MPI_Gather"] = 1
    check(entered == left == expected, entered, left, expected)
    instances = [event["instance"] for event in events if event["kind"] == "mpi_enter" and event["instance"] > 0]
    check(instances == list(range(1, len(instances) + 1)), instances)


def main(name, how):
    flavour = flavour_named(name)
    program, tool = build_program(flavour, how)
    command = job(flavour, program)
    native = run_natively(command, {"LD_PRELOAD": tool} if tool else {})
    if native.status != 0:
        skip(f"{flavour.launcher[0]} does not work here: {native.errors}")
    check(f"rank {RANKS - 1}: {ROUNDS} sends, {ROUNDS} receives" in native.output, native)
    if how == "recorded":
        recorded = RecordedJob(command)
    else:
        recorded = Job(command, preload=tool, is_first=how != "preloaded_before")
    made = recorded.run()
    check((made.output, made.status) == (native.output, native.status), native, made)
    ranks = ranks_of(recorded)
    check(len(ranks) == RANKS, ranks)
    for pid in ranks.values():
        check_calls(recorded.threads(pid)[0], how in ("linked", "preloaded_before"))
    print(f"{name}, {how}: the tool says the same, and every call is recorded once")


if __name__ == "__main__":
    main(*sys.argv[1:])
