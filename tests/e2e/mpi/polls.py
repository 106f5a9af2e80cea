#!/usr/bin/env python3
"""Polls that are not recorded one by one: their numbers are those that the program counted, and their times fit.

usage: polls.py FLAVOUR
"""
import collections
import json
import re
import sys

from mpi_job import ENVIRONMENT, build, flavour_named, job
from recording import TOLLGATE, check, events, record, run


def check_sums(trace, counted):
    """Of a recording without --every."""
    sums, recorded = [], collections.Counter()
    for event in events(trace):
        recorded[event.get("call")] += event["kind"] == "mpi_leave"
        if event["kind"] == "mpi_poll_sum":
            sums.append(event)
    # times are in units of 16 ns
    check(all(one["longest_ns"] <= one["inside_ns"] <= one["first_ago_ns"] - one["last_ago_ns"] + 100 and one["polls"] > 0
              for one in sums), sums)
    check(all(one["inside_ns"] > 0 for one in sums if one["polls"] > 100), sums)
    check(any(one["first_ago_ns"] - one["last_ago_ns"] > 50_000_000 for one in sums), "no long row", sums)
    for call, calls in counted.items():
        check(recorded[call] + sum(one["polls"] for one in sums if one["call"] == call) == calls, call, calls, recorded, sums)


def main(flavour):
    program = build(flavour.c, ["polls.c"], "polls", "-w", "-pthread")
    for option in ("--mpi=on", "--every"):
        made = record("polls.tgt", job(flavour, program, ranks=2), "--force", option, environment=ENVIRONMENT)
        counted = {call: int(calls) for call, calls in re.findall(r"^(MPI_\w+) (\d+)$", made.output, re.M)}
        check(len(counted) == 3 and made.status == 0, made)
        told = json.loads(run([TOLLGATE, "report", "--json", "polls.tgt"]).output)
        found = collections.Counter()
        for place in told["mpi"]["places"]:
            found[place["call"]] += place["calls"]
        check({call: found[call] for call in counted} == counted, option, counted, found)
        calls = sum(thread["calls"] for thread in told["mpi"]["threads"] if thread["rank"] == 0)
        check(calls > sum(counted.values()), calls, counted)
        sums, returns = (run([TOLLGATE, "dump", "--kind", kind, "polls.tgt"]).output.count("\n") for kind in ("mpi_poll_sum", "mpi_leave"))
        check((sums == 0 and returns > sum(counted.values())) == (option == "--every"), option, sums, returns)
        if option != "--every":
            check_sums("polls.tgt", counted)
    refused = run([TOLLGATE, "record", "--every", "--mpi=off", "--", "true"])
    check(refused.status == 2 and "--every" in refused.errors, refused)


if __name__ == "__main__":
    main(flavour_named(sys.argv[1]))
