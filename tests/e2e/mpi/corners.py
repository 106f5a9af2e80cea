#!/usr/bin/env python3
"""Where a wrapper of MPI could show: the program behaves as without it, and what it did is recorded.

usage: corners.py openmpi|mpich errors|bound|fatal|leave|threads|spawn|abort|local|mpi4py
"""
import os
import sys

import bound_library
from mpi_job import Job, build, flavour_named, job, ranks_of, run_natively
from recording import check, skip

PYTHON = "/usr/bin/python3"  # Debian's, which its mpi4py is for
THREADS, ROUNDS = 4, 200
MPI_ERR_RANK = 6  # Open MPI's
MPI4PY = """
from mpi4py import MPI
import numpy
comm = MPI.COMM_WORLD.Dup()
rank, size = comm.Get_rank(), comm.Get_size()
values, total = numpy.full(1000, rank, dtype='d'), numpy.empty(1000, dtype='d')
comm.Allreduce(values, total)
comm.Barrier()
got = comm.sendrecv({'rank': rank}, dest=(rank + 1) % size, source=(rank - 1) % size)
assert got['rank'] == (rank - 1) % size
if rank == 0:
    print(int(total.sum()))
comm.Free()
"""


def entered(events, *calls):
    return [event for event in events if event["kind"] == "mpi_enter" and (not calls or event["call"] in calls)]


def check_errors(recorded, ranks):
    """Every call that failed has its error; none that was asked for on the way."""
    for pid in ranks.values():
        events = recorded.threads(pid)[0]
        failed = [event["call"] for event in events if event["kind"] == "mpi_leave" and event["result"] != 0]
        expected = ["MPI_Send"] * 3 + ["MPI_Bcast", "MPI_Barrier", "MPI_Allreduce"] + ["MPI_Recv"] * 2 + \
            ["MPI_Waitall"] * 2 + ["MPI_Waitsome"]
        check(failed == expected, failed)
        raised = [event for event in events if event["kind"] == "mpi_error"]
        alone = raised.pop(8)  # in a call that is not recorded: of no request, not of that of the wait before
        check((alone["call"], alone["error_class"], alone["request"]) == ("MPI_Comm_rank", "MPI_ERR_COMM", 0), alone)
        check([event["call"] for event in raised] == expected, raised)
        classes = [event["error_class"] for event in raised]
        check(classes[0] == "MPI_ERR_RANK" and classes[6:10] == ["MPI_ERR_TRUNCATE"] * 4 and
              classes[10] in ("MPI_ERR_TRUNCATE", "MPI_ERR_IN_STATUS"), classes)


def check_bound(recorded, ranks):
    """The same where nobody gets in front of the function that raises errors."""
    check_errors(recorded, ranks)


def check_fatal(recorded, ranks):
    """Where nobody gets in front of that function, and the library's own handler ends the job."""
    events = recorded.threads(ranks[0])[0]
    raised = [(event["call"], event["error_class"]) for event in events if event["kind"] == "mpi_error"]
    check(raised == [("MPI_Send", "MPI_ERR_RANK")], raised)


def check_leave(recorded, ranks):
    for pid in ranks.values():
        events = recorded.threads(pid)[0]
        calls = [event["call"] for event in entered(events)]
        check(calls == ["MPI_Init_thread", "MPI_Comm_dup"] + ["MPI_Send"] * 3 + ["MPI_Barrier"] * 2 + ["MPI_Finalize"],
              calls)
        check(not [event for event in events if event["kind"] == "mpi_leave" and event["call"] == "MPI_Send"], events)


def check_threads(recorded, ranks):
    """Each thread's calls are its own, and all processes agree on every communicator."""
    made = []
    for pid in ranks.values():
        rings = recorded.threads(pid)
        check(len(rings) == THREADS + 1, len(rings))
        talks = [events for events in rings if entered(events, "MPI_Irecv")]
        check(len(talks) == THREADS, len(talks))
        for events in talks:
            check(len(entered(events, "MPI_Waitall")) == ROUNDS, len(events))
            check(len([event for event in events if event["kind"] == "mpi_complete"]) == 2 * ROUNDS, pid)
            check(len({event["comm"] for event in entered(events, "MPI_Irecv", "MPI_Isend")}) == 1, pid)
            instances = [event["instance"] for event in entered(events, "MPI_Allreduce", "MPI_Comm_dup")]
            check(instances == list(range(1, len(instances) + 1)), instances)
        made.append({event["comm"] for events in rings for event in events
                     if event["kind"] == "mpi_comm" and event["origin"] == "dup"})
        check(len(made[-1]) == THREADS * (1 + ROUNDS // 20), len(made[-1]))
    check(all(ids == made[0] for ids in made), made)


def check_spawn(recorded, ranks):
    del ranks  # there are two MPI_COMM_WORLDs
    sides = {"MPI_Comm_spawn": set(), "MPI_Comm_get_parent": set()}
    links = {"MPI_Comm_spawn": set(), "MPI_Comm_get_parent": set()}
    for pid in recorded.pids():
        events = recorded.threads(pid)[0]
        born = {event["origin"]: event["comm"] for event in events if event["kind"] == "mpi_comm"}
        check("spawn" in born and "merge" in born, born)
        who = "MPI_Comm_spawn" if entered(events, "MPI_Comm_spawn") else "MPI_Comm_get_parent"
        sides[who].add(born["spawn"])
        links[who] |= {(event["remote_size"], event["link"]) for event in events
                       if event["kind"] == "mpi_comm" and event["origin"] == "spawn"}
        check([event["comm"] for event in entered(events, "MPI_Comm_disconnect")] == [born["spawn"]], events)
    check(len(recorded.pids()) == 4 and all(len(ids) == 1 for ids in sides.values()), sides)
    # the children know the job of their parents, which these do not tell of themselves
    check(links["MPI_Comm_spawn"] == {(2, 1)} and len(links["MPI_Comm_get_parent"]) == 1, links)
    check(all(size == 2 and link > 1 for size, link in links["MPI_Comm_get_parent"]), links)


def check_polls(recorded, ranks):
    """Of a row of polls in vain the first is recorded, and now and then that they go on, for which requests."""
    events = recorded.threads(ranks[0])[0]
    check(len(entered(events, "MPI_Testall")) == 1, entered(events, "MPI_Testall"))
    told = [at for at, event in enumerate(events) if event["kind"] == "mpi_poll"]
    check(1 <= len(told) <= 20, told)
    posted = [event["request"] for event in events if event["kind"] == "mpi_leave" and event["call"] == "MPI_Irecv"]
    for at in told:
        check((events[at]["call"], events[at]["various"]) == ("MPI_Testall", 0) and events[at]["permille"] <= 1000, events[at])
        check([int(one["request"], 16) for one in events[at + 1]["requests"]] == posted, events[at + 1], posted)
    counts = [events[at]["polls"] for at in told]
    check(counts == sorted(counts) and counts[0] > 1, counts)


def check_abort(recorded, ranks):
    """The last words of who aborts, and who is left waiting for it."""
    # MPICH 4.2 comes back from MPI_Abort now and then, before its process is killed
    last = [event for event in recorded.threads(ranks[1])[0] if event["kind"] != "mpi_leave" and event.get("call") != "MPI_Finalize"][-1]
    check(last["kind"] == "mpi_enter" and last["call"] == "MPI_Abort" and last["tag"] == 7 and last["comm"] == 1, last)
    if 0 not in ranks:
        return  # killed before it came out of MPI_Init
    waiting = entered(recorded.threads(ranks[0])[0], "MPI_Barrier")
    check(not waiting or recorded.threads(ranks[0])[0][-1] == waiting[0], waiting)


def check_local(recorded, ranks):
    for pid in ranks.values():
        check(len(entered(recorded.threads(pid)[0], "MPI_Barrier")) == 5, pid)


def check_mpi4py(recorded, ranks):
    for pid in ranks.values():
        events = recorded.threads(pid)[0]
        check([event["bytes"] for event in entered(events, "MPI_Allreduce")] == [8000], events)
        born = [event["comm"] for event in events if event["kind"] == "mpi_comm" and event["origin"] == "dup"]
        on_dup = entered(events, "MPI_Allreduce", "MPI_Barrier")
        check(len(born) == 1 and [event["comm"] for event in on_dup] == born * 2, on_dup)
        check(len(entered(events, "MPI_Finalize")) == 1 and events[-1]["call"] == "MPI_Finalize", events[-3:])


def command_for(flavour, case):
    if case == "local":  # MPI comes with a library that a host opens for itself alone
        library = build(flavour.c, ["mpi_ring.c"], "libring.so", "-shared", "-fPIC", "-Dmain=ring")
        return [PYTHON, "-c", f"import ctypes, os; ctypes.CDLL({library!r}, mode=os.RTLD_LOCAL | os.RTLD_NOW).ring(0, None)"]
    if case == "mpi4py":
        made = run_natively([PYTHON, "-c", "import numpy; from mpi4py import MPI; print(MPI.get_vendor()[0])"])
        if made.status != 0 or made.output.strip().lower().replace(" ", "") != flavour.name:
            skip(f"there is no mpi4py for {flavour.name} here")
        return [PYTHON, "-c", MPI4PY]
    program = build(flavour.c, ["mpi_corners.c"], "corners", "-D_GNU_SOURCE", "-pthread")
    if case in ("bound", "fatal"):
        os.environ.update(bound_library.environment(program, "libmpi", "ompi_errhandler_invoke"))
    return [program, "errors" if case == "bound" else case]


def main(name, case):
    flavour = flavour_named(name)
    command = job(flavour, *command_for(flavour, case), ranks=2)
    native = run_natively(command)
    if native.status != {"abort": 7, "fatal": MPI_ERR_RANK}.get(case, 0):
        skip(f"does not work here: {native.errors}")
    recorded = Job(command)
    made = recorded.run()
    check((sorted(made.output.splitlines()), made.status) ==
          (sorted(native.output.splitlines()), native.status), native, made)
    check(not recorded.said("aside") and not recorded.said("note"), recorded.said("aside"), recorded.said("note"))
    ranks = ranks_of(recorded)
    check(sorted(ranks) == [0, 1] or (case == "abort" and sorted(ranks) == [1]), ranks)
    globals()["check_" + case](recorded, ranks)
    print(f"{name}, {case}: as without the agent, and recorded")


if __name__ == "__main__":
    main(*sys.argv[1:])
