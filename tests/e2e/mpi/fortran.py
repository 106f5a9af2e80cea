#!/usr/bin/env python3
"""MPI from Fortran: every call once, and where the program made it.

usage: fortran.py openmpi|mpich old|module|modern
"""
import shutil
import sys

from mpi_job import RANKS, Job, build, flavour_named, functions_at, job, ranks_of, run_natively
from recording import check, skip

DEFINITIONS = {"old": ["-DOLD", "-fallow-argument-mismatch"], "module": [], "modern": ["-DMODERN"]}


def expected(rank):
    """Call, function, peer, tag, root, bytes."""
    following = (rank + 1) % RANKS
    return [
        ("MPI_Init", "main", -3, -3, -3, 0),
        ("MPI_Comm_split", "main", -3, -3, -3, 0),
        ("MPI_Irecv", "exchange", -1, 3, -3, 12),
        ("MPI_Isend", "exchange", following, 3, -3, 12),
        ("MPI_Waitall", "exchange", -3, -3, -3, 0),
        ("MPI_Send", "exchange", -2, 4, -3, 4),
        ("MPI_Barrier", "collect", -3, -3, -3, 0),
        ("MPI_Bcast", "collect", -3, -3, 1, 16),
        ("MPI_Allreduce", "collect", -3, -3, -3, 16),
        ("MPI_Allreduce", "collect", -3, -3, -3, 16),
        ("MPI_Comm_free", "main", -3, -3, -3, 0),
        ("MPI_Finalize", "main", -3, -3, -3, 0),
    ]


def main(name, how):
    flavour = flavour_named(name)
    if shutil.which(flavour.fortran) is None or shutil.which("gfortran") is None:
        skip(flavour.fortran + " is not installed")
    # at a fixed place, so that addresses are those in the file
    program = build(flavour.fortran, ["mpi_fortran.F90"], "mpi_fortran", "-no-pie", *DEFINITIONS[how])
    command = job(flavour, program)
    native = run_natively(command)
    if native.status != 0:
        skip(f"{flavour.launcher[0]} does not work here: {native.errors}")
    recorded = Job(command)
    made = recorded.run()
    check((made.output, made.status) == (native.output, 0), native, made)
    ranks = ranks_of(recorded)
    check(sorted(ranks) == list(range(RANKS)), ranks)
    for rank, pid in ranks.items():
        events = recorded.threads(pid)[0]
        entered = [event for event in events if event["kind"] == "mpi_enter"]
        # addr2line names Fortran's functions with their module
        functions = [function.rsplit("_MOD_")[-1].replace("MAIN__", "main")
                     for function in functions_at(program, [event["code"] - 1 for event in entered])]
        told = [(event["call"], function, event["peer"], event["tag"], event["root"], event["bytes"])
                for event, function in zip(entered, functions)]
        check(told == expected(rank), "rank", rank, told, expected(rank))
        complete = [(event["peer"], event["tag"], event["bytes"]) for event in events if event["kind"] == "mpi_complete"]
        check(complete == [((rank - 1) % RANKS, 3, 12), (-3, -3, 0)], "rank", rank, complete)
        split = [event for event in events if event["kind"] == "mpi_comm" and event["origin"] == "split"]
        check(len(split) == 1 and split[0]["rank"] == RANKS - 1 - rank, split)
        check(split[0]["members"] == (list(reversed(range(RANKS))) if rank == RANKS - 1 else []), split)
    print(f"{name}, {how}: as the program is written")


if __name__ == "__main__":
    main(*sys.argv[1:])
