#!/usr/bin/env python3
"""Barriers, holds and action points of `tollgate live` on jobs that run: scripts of the console check what they see;
afterwards the models decide from the trace as the session did.

usage: barriers.py team|openmpi|mpich
"""
import json
import os
import re
import sys

from recording import PROGRAMS, TOLLGATE, build_library, check, events, run

SOURCE = os.environ["TG_SOURCE"]
SCRIPTS = os.path.join(SOURCE, "tests/e2e/live/barriers")
TEAM = os.path.join(PROGRAMS, "live_team")

LISTINGS = """\
1
1 shared action point for group 3:
1 addr=ADDRESS [PATH/live_team.c#LINE]
Enabled (barrier)
Share in group: true
Stop when hit: process
Stop when done: process
process barrier; satisfaction set = group 1
2
1 unshared action point for process 1:
2 addr=ADDRESS [PATH/live_team.c#LINE]
Enabled (barrier)
Share in group: false
Stop when hit: thread
Stop when done: process
thread barrier; satisfaction set = group 2
"""


def control(trace):
    report = run([TOLLGATE, "report", "--json", trace])
    check(report.status == 0, report.errors)
    return json.loads(report.output)["control"]


def session(script, command, *settings, environment=None, name=None):
    """Runs SCRIPT on COMMAND; what it prints, and what its trace says of barriers."""
    trace = (name or script) + ".tgt"
    options = [part for setting in settings for part in ("-e", setting)]
    done = run([TOLLGATE, "live", "-q", "-o", trace, *options, "-x", f"{SCRIPTS}/common.tcl",
                "-x", f"{SCRIPTS}/{script}.tcl", "--", *command], environment)
    check(done.status == 0, script, settings, "ends with", done.status, done.output, done.errors)
    said = control(trace)
    check(said["differences"] == 0 and said["senseless"] == 0, trace, said)
    return done.output, said


def check_numbers(trace):
    """A replay calls processes and threads what the session called them."""
    numbers = [(event["dpid"], event["dtid"]) for event in events(trace, "control_thread")]
    check(len(numbers) > 3 and max(dtid for _, dtid in numbers) > 1, trace, numbers)
    options = [part for dpid, dtid in numbers for part in ("-e", f"dfocus {dpid}.{dtid}")]
    shown = run([TOLLGATE, "replay", "-e", "goto end", *options, trace])
    check(shown.status == 0, trace, shown.errors, shown.output)
    beyond = run([TOLLGATE, "replay", "-e", "goto end", "-e", f"dfocus 1.{max(numbers)[1] + 100}", trace])
    check(beyond.status != 0, trace, beyond.output)


def literal():
    with open(os.path.join(SOURCE, "tests/programs/live_team.c"), encoding="utf-8") as file:
        lines = file.read().splitlines()
    line = next(i for i, text in enumerate(lines, 1) if "line of work" in text)
    output, _ = session("literal", [TEAM, "1", "2"], f"set line {line}")
    shown = re.sub(r"0x[0-9a-f]+", "ADDRESS", output).replace(f"{SOURCE}/tests/programs", "PATH")
    check(LISTINGS.replace("LINE", str(line)) in shown, shown)


def team():
    literal()
    session("examples", [TEAM, "3", "2"])
    session("workers", [TEAM, "2", "3"])
    check_numbers("workers.tgt")
    for hit, done in (("none", "none"), ("none", "process"), ("none", "group"), ("process", "none"),
                      ("group", "group")):
        session("widths", [TEAM, "3", "3"], f"set hit {hit}; set done {done}", name=f"widths-{hit}-{done}")
    session("holds", [TEAM, "1", "4"])
    session("continues", [TEAM, "1", "3"])
    session("late", [TEAM, "1", "3", "late"])
    session("errors", [TEAM, "2", "2"])
    session("lists", [TEAM, "2", "3"])
    output, _ = session("unshared", [TEAM, "2", "1"])
    check(output.count("action point 2: condition") == 1, output)

    _, said = session("many", [TEAM, "3", "3"])
    check(len(said["barriers"]) == 27 and all(barrier["satisfied"] > 0 for barrier in said["barriers"]), said)

    output, said = session("lonely", [TEAM, "1", "3", "lonely"])
    check("thread 1.3 will not arrive at barrier 2 (exited)" in output, output)
    check(said["barriers"][1]["satisfied"] == 1, said)
    check([unit["dtid"] for unit in said["barriers"][1]["never_came"]] == [3], said)
    session("headless", [TEAM, "1", "3", "headless"])
    session("spawns", [TEAM, "1", "2", "spawns"])
    output, said = session("ends", [TEAM, "3", "2"])
    check("barrier 2 is satisfied by the remaining 2; 1 never arrived" in output, output)
    output, said = session("executes", [TEAM, "2", "1", "exec"])
    check("is satisfied by the remaining 1" in output, output)

    output, said = session("deadlock", [TEAM, "2", "1"], "set leave 0")
    for told in ("barrier 2 can no longer be satisfied: process 2 is held at barrier 3",
                 "barrier 3 can no longer be satisfied: process 1 is held at barrier 2"):
        check(told in output, told, output)
    output, said = session("deadlock", [TEAM, "2", "1"], "set leave 1", name="dead-end")
    work = said["barriers"][1]
    check(work["stuck"] and work["holder"] == 3, work)
    check([unit["dpid"] for unit in work["waited"]] == [1], work)
    check([unit["dpid"] for unit in work["never_came"]] == [2], work)
    report = run([TOLLGATE, "report", "dead-end.tgt"]).output
    check("can no longer be satisfied: 2 is held at barrier 3, which is waiting too" in report, report)


def documented(command, environment):
    """The example of docs/live.md does what is said there."""
    with open(os.path.join(SOURCE, "docs/live.md"), encoding="utf-8") as file:
        text = file.read()
    script = re.search(r"```tcl\n(.*?)```", text, re.S).group(1)
    said = re.search(r"```\n(.*?)```", text.split("it prints among other", 1)[1], re.S).group(1).splitlines()
    with open("example.tcl", "w", encoding="utf-8") as file:
        file.write(script)
    done = run([TOLLGATE, "live", "-q", "-o", "example.tgt", "-x", "example.tcl", "--", *command], environment)
    check(done.status == 0, done.output, done.errors)
    missing = [line for line in said if line not in done.output.splitlines()]
    check(len(said) > 3 and not missing, missing, done.output)
    report = run([TOLLGATE, "report", "example.tgt"]).output
    check(re.search(r"^  2 work: over threads, .* satisfied 1 time$", report, re.M), report)


STUCK = """\
barrier FIRST at PATH/live_ranks.c#LINE: over processes, satisfaction set = SET, satisfied 0 times
  arrived  SET, held
  missing  SET, held at barrier SECOND
  can no longer be satisfied: process P (rank 1) is held at barrier SECOND, which is waiting too
barrier SECOND at PATH/live_ranks.c#LINE: over processes, satisfaction set = SET, satisfied 0 times
  arrived  SET, held
  missing  SET, held at barrier FIRST
  can no longer be satisfied: process P (rank 0) is held at barrier FIRST, which is waiting too
"""


def plain(text):
    """Without what differs from job to job: addresses, places, numbers of groups and processes."""
    for pattern, word in ((r"0x[0-9a-f]+", "ADDRESS"), (r"#\d+", "#LINE"), (r"(for group|for process) \d+:", r"\1 N:"),
                          (r"= group \d+", "= group N"),
                          (r"^\d+ addr", "ID addr"), (r"process \d+ \(", "process P ("), (r"\d+:\d+\[[^]]*\]", "SET")):
        text = re.sub(pattern, word, text, flags=re.M)
    return re.sub(r"[^\s[]*/tests/programs", "PATH", text)


def check_stuck(output):
    """A dead end is told as it comes, and when one asks."""
    first, second, shown = re.search(r"^STUCK (\d+) (\d+)\n(.*?)^END$", output, re.M | re.S).groups()
    check(plain(shown) == STUCK.replace("FIRST", first).replace("SECOND", second), shown)
    for barrier, rank, holder in ((first, 1, second), (second, 0, first)):
        told = rf"barrier {barrier} can no longer be satisfied: process \d+ \S*.*is held at barrier {holder}, which is waiting too"
        check(re.search(told, output), told, output)
    return shown


def check_replay(trace, live):
    """A replay says of a dead end what the live console said."""
    done = run([TOLLGATE, "replay", "-e", "goto end", "-e", "find -back barrier_stuck", "-e", "info barrier -points", trace])
    check(done.status == 0, done.errors)
    shown = done.output[done.output.index("\nbarrier ") + 1:]
    places = re.compile(r" at \S+: ")
    check(plain(places.sub(" ", shown)) == plain(places.sub(" ", live)), shown, live)


def mpi(flavour_name):
    from mpi_job import ENVIRONMENT, build, flavour_named, job
    flavour = flavour_named(flavour_name)
    environment = {**ENVIRONMENT, "OMP_WAIT_POLICY": "passive"}
    program = build(flavour.c, ["live_ranks.c"], "live_ranks", "-fopenmp", "-ldl")
    with open(os.path.join(SOURCE, "tests/programs/live_ranks.c"), encoding="utf-8") as file:
        line = next(i for i, text in enumerate(file.read().splitlines(), 1) if "line of work" in text)
    output, said = session("mpi", job(flavour, program, "1000000"), f"set line {line}", environment=environment)
    check([barrier["satisfied"] for barrier in said["barriers"][:3]] == [1, 1, 1], said)
    check_numbers("mpi.tgt")
    expected = re.sub(r"^\d+\n", "", LISTINGS, flags=re.M).replace("live_team", "live_ranks")
    check(plain(expected) in plain(output), output)
    check_replay("mpi.tgt", check_stuck(output))

    output, said = session("mpi_ends", job(flavour, program, "4", "ends"), environment=environment)
    check("is satisfied by the remaining 1; 1 never arrived" in output, output)
    check("is satisfied by the remaining 4; 8 never arrived" in output, output)
    for rank in (1, 2):  # in few lines, of four threads each
        told = re.findall(rf"^(?:(\d+) threads of process \d+|thread \S+) \(rank {rank}\) will not arrive at barrier", output, re.M)
        check(sum(int(count or 1) for count in told) == 4, rank, output)
    check([len(barrier["never_came"]) for barrier in said["barriers"]] == [0, 0, 8], said)
    output, _ = session("mpi_grows", job(flavour, program, "4", "grows"), environment=environment)
    check("is satisfied: all 18 arrived" in output, output)
    if flavour_name == "openmpi":  # MPICH's launcher, as it is packaged, cannot spawn
        output, _ = session("mpi_spawns", job(flavour, program, "1", "spawns"), environment=environment)
        check("is satisfied: all 5 arrived" in output, output)
    loads(job(flavour, program, "1", "loads", *(build_library(name, source=PLUG) for name in ("slow", "medium", "fast"))),
          environment)
    documented(job(flavour, program), environment)


PLUG = "int plug(int number) { return number; }"


def loads(command, environment):
    """Planted in time where libraries are reported, and late where they are found at a stop for another reason."""
    session("mpi_loads", command, environment=environment)
    planted = [(os.path.basename(event["library"]), bool(event["late"])) for event in events("mpi_loads.tgt", "breakpoint_planted")]
    for library, late in (("slow", False), ("medium", False), ("fast", True)):
        check(planted.count((f"lib{library}.so", late)) == 4, library, planted)
    checked = run([TOLLGATE, "filter", "--check", "mpi_loads.tgt"])
    check(checked.status == 0, checked.output, checked.errors)


if sys.argv[1] == "team":
    team()
else:
    mpi(sys.argv[1])
