#!/usr/bin/env python3
"""Every family of MPI calls, under a real launcher: what is recorded against what the program says that it does.

usage: calls.py openmpi|mpich rings|trace FAMILY...
"""
import os
import re
import subprocess
import sys

from mpi_job import RANKS, Job, RecordedJob, build, flavour_named, functions_at, job, ranks_of, run_natively
from recording import check, skip

NUMBERS = ("instance", "peer", "tag", "root", "bytes", "rank", "size", "cancelled", "poll")


def logged(rank):
    """What the program says, line by line, as fields."""
    with open(f"calls.{rank}") as file:
        for line in file:
            kind, *pairs = line.split()
            fields = dict(pair.split("=", 1) for pair in pairs)
            for name in NUMBERS:
                if name in fields:
                    fields[name] = int(fields[name])
            yield kind, fields


class Names:
    """Names that the program gives communicators against the ids that they have in all processes."""

    def __init__(self):
        self.ids = {"-": 0}
        self.members = {}

    def born(self, name, event, said):
        check(event["comm"] not in (0,) and self.ids.setdefault(name, event["comm"]) == event["comm"],
              name, "has two ids", event, self.ids)
        check(list(self.ids.values()).count(event["comm"]) == 1, "two have one id", self.ids)
        check(event["rank"] == said["rank"] and event["size"] == said["size"] and event["origin"] == said["origin"],
              event, said)
        check(event["parent"] == self.ids[said["parent"]], "parent", event, said)
        members = [int(rank) for rank in said["members"].split(",")]
        check(event["members"] == (members if said["rank"] == 0 else []), event, said)


def check_rank(rank, events, names, program):
    """One process's events are exactly those that it logged."""
    # the first: see check_requests; the second: on a busy machine a poll takes long
    partitions = [event for event in events if event["kind"] == "mpi_partitions"]
    events = [event for event in events if event["kind"] not in ("mpi_requests", "mpi_poll", "mpi_poll_sum", "mpi_group", "mpi_partitions")]
    lines = list(logged(rank))
    check([",".join(f"{one['first']}-{one['last']}" for one in event["ranges"]) for event in partitions] ==
          [said["ranges"] for kind, said in lines if kind == "partitions"], "rank", rank, "partitions", partitions)
    base = int(lines[0][1]["base"], 16)
    at, codes, functions = 0, [], []

    def next_event(kind, said):
        nonlocal at
        check(at < len(events), "rank", rank, "nothing recorded for", kind, said)
        event = events[at]
        check(event["kind"] == kind, "rank", rank, "recorded", event, "instead of", kind, said)
        at += 1
        return event

    for i in range(1, len(lines)):
        kind, said = lines[i]
        if kind == "enter":
            is_poll = next(fields for later, fields in lines[i:] if later == "leave")["poll"]
            event = next_event("mpi_enter", said)
            if is_poll and events[at]["kind"] == "mpi_leave" and events[at]["peer"] == -3 and events[at + 1]["kind"] == \
                    "mpi_enter" and events[at + 1]["code"] == event["code"]:  # the first one that found nothing
                at += 1
                event = next_event("mpi_enter", said)
            for name in ("call", "instance", "peer", "tag", "root", "bytes"):
                check(event[name] == said[name], "rank", rank, name, event, said)
            check(event["comm"] == names.ids[said["comm"]], "rank", rank, "comm", event, said, names.ids)
            codes.append(event["code"] - 1 - base)
            functions.append(said["function"])
            call = said["call"]
        elif kind == "complete":
            event = next_event("mpi_complete", said)
            for name in ("peer", "tag", "bytes", "cancelled"):
                check(event[name] == said[name], "rank", rank, call, name, event, said)
        elif kind == "leave":
            if events[at]["kind"] == "mpi_comm" and lines[i + 1][0] == "comm":  # made by a request: told inside of a wait
                names.born(lines[i + 1][1]["name"], next_event("mpi_comm", said), lines[i + 1][1])
                lines[i + 1] = ("told", {})
            event = next_event("mpi_leave", said)
            check(event["call"] == call and event["result"] == 0, "rank", rank, event, said)
            for name in ("peer", "tag", "bytes"):
                check(event[name] == said[name], "rank", rank, call, name, event, said)
        elif kind == "comm":
            name = said["name"] if said["name"] != "self" else f"self{rank}"
            names.born(name, next_event("mpi_comm", said), said)
        elif kind == "free":
            event = next_event("mpi_comm", said)
            check(event["origin"] == "freed" and event["comm"] == names.ids[said["name"]], event, said)
    check(at == len(events), "rank", rank, "recorded beyond the log:", events[at:at + 3])
    check(functions_at(program, codes) == functions, "rank", rank, "places of the calls",
          [pair for pair in zip(functions_at(program, codes), functions) if pair[0] != pair[1]])
    return len(events)


def check_requests(events):
    """Every completion is of a request that was started before and not complete since."""
    active, call = {}, None
    for event in events:
        call = event["call"] if event["kind"] == "mpi_enter" else call
        call = event["call"] if event["kind"] == "mpi_poll" else call
        if event["kind"] == "mpi_requests":  # those that a call waits for
            waited = [int(one["request"], 16) for one in event["requests"]]
            check(waited and (call == "MPI_Startall" or all(active.get(one, 0) > 0 for one in waited)), call, event, active)
        if event["kind"] == "mpi_leave" and event["request"] != 0:
            if re.fullmatch(r"MPI_(Request_free|Cancel|Request_get_status|Parrived|.*_init)", event["call"]) is None:
                active[event["request"]] = active.get(event["request"], 0) + 1
        elif event["kind"] == "mpi_complete":
            check(active.get(event["request"], 0) > 0, "not active:", event)
            active[event["request"]] -= 1
    check(not any(active.values()), "never complete:", active)


def has_partitions(flavour):
    header = subprocess.run([flavour.c, "-E", "-dM", "-include", "mpi.h", "-x", "c", os.devnull], capture_output=True, text=True)
    return re.search(r"#define MPI_VERSION\s+[4-9]", header.stdout) is not None


def main(name, how, *families):
    flavour = flavour_named(name)
    if "partitioned" in families and not has_partitions(flavour):
        skip(f"{flavour.c} is of an MPI without partitioned communication")
    program = build(flavour.c, ["mpi_calls.c"], "mpi_calls", "-D_GNU_SOURCE")
    command = job(flavour, program, *families)
    native = run_natively(command)
    if native.status != 0:
        skip(f"{flavour.launcher[0]} does not work here: {native.errors}")
    recorded = Job(command) if how == "rings" else RecordedJob(command)
    made = recorded.run()
    check((made.output, made.status) == (native.output, native.status), native, made)
    ranks = ranks_of(recorded)
    check(sorted(ranks) == list(range(RANKS)) and len(recorded.pids()) == RANKS, ranks, recorded.pids())
    notes = [note for note in recorded.said("note") if "late and are out of order" not in note]  # on a busy machine
    check(not recorded.said("aside") and not notes, recorded.said("aside"), notes)
    names, count = Names(), 0
    for rank, pid in sorted(ranks.items()):
        check(len(recorded.threads(pid)) == 1, "rank", rank, "has used MPI in", len(recorded.threads(pid)), "threads")
        count += check_rank(rank, recorded.threads(pid)[0], names, program)
        check_requests(recorded.threads(pid)[0])
    print(f"{name}: {count} events of {' '.join(families)}, {len(names.ids) - 1} communicators: as the program says")


if __name__ == "__main__":
    main(*sys.argv[1:])
