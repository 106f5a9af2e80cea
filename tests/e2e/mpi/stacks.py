#!/usr/bin/env python3
"""A job in which one rank loops while the others wait, interrupted: the line of the loop is in the verdict.

usage: stacks.py FLAVOUR
"""
import json
import os
import signal
import subprocess
import sys
import time

from mpi_job import ENVIRONMENT, build, flavour_named, job
from recording import TOLLGATE, check, run

flavour = flavour_named(sys.argv[1])
source = os.path.join(os.environ["TG_SOURCE"], "tests/programs/rank_loop.c")
with open(source) as file:
    lines = {mark: n for n, text in enumerate(file, 1) for mark in ("SPIN", "BARRIER") if f"/* {mark} */" in text}
program = build(flavour.c, ["rank_loop.c"], "rank_loop")
recorder = subprocess.Popen([TOLLGATE, "record", "-q", "-o", "a", "--", *job(flavour, program)],
                            stdout=subprocess.PIPE, env=dict(os.environ, **ENVIRONMENT), start_new_session=True)
check(recorder.stdout.readline() == b"ready\n")


def waiting():
    """Ranks whose processor time is spent in the last barrier cannot be told from here: they are given a moment."""
    return time.monotonic() > start + 0.5


start = time.monotonic()
while not waiting():
    time.sleep(0.05)
recorder.send_signal(signal.SIGTERM)
recorder.wait()
told = json.loads(run([TOLLGATE, "report", "--json", "a"]).output)
ranks = {process["index"]: process["rank"] for process in told["processes"] if process["rank"] is not None}
places = {}
for stack in told["stacks"]:
    own = [(call["function"], call["line"]) for call in stack["calls"] if call["file"].endswith("rank_loop.c")]
    if stack["process"] in ranks and own:
        places[ranks[stack["process"]]] = own[0]
check(sorted(places) == [0, 1, 2, 3], places, told["stacks"])
check(places.pop(2)[0] == "spin" and set(places.values()) == {("main", lines["BARRIER"])}, places)
[note] = [finding for finding in told["post_mortem"] if finding["kind"] == "interruption"]
check("rank 2 was in spin (rank_loop.c:" in note["text"] and "in MPI_Barrier, called from main (rank_loop.c:" in note["text"], note)
[culprit] = note["culprits"]
check(culprit["rank"] == 2 and culprit["function"] == "spin" and culprit["file"].endswith("rank_loop.c"), culprit)
looks = [json.loads(line) for line in run([TOLLGATE, "dump", "--json", "--kind", "stack_snapshot", "a"]).output.splitlines()]
check(looks and sum(look["took_ns"] for look in looks) < 1e9, looks)
