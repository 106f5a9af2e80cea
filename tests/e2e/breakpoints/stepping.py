#!/usr/bin/env python3
"""stepping.py engine|record CASE FUNCTION...: runs programs/stepping natively, and under the engine alone or recorded,
with a breakpoint on each FUNCTION.

The output and exit status must be the same, and the hits must be exactly the calls that the traced program counted
itself.
"""
import collections
import json
import os
import subprocess
import sys

PROGRAM = os.path.join(os.environ["TG_PROGRAMS"], "stepping")


def run(command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


def run_under_engine(case, functions):
    """The finished run and {"all": hits}."""
    symbols = {words[2]: words[0] for words in map(str.split, run(["nm", PROGRAM]).stdout.splitlines())
               if len(words) == 3}
    breaks = [word for function in functions for word in ("-b", symbols[function])]
    traced = run([os.environ["TG_ENGINE_DRIVER"], "-o", "engine.txt"] + breaks + ["--", PROGRAM, case])
    with open("engine.txt", encoding="utf-8") as told:
        return traced, {"all": int(told.read().split()[-1])}


def run_recorded(case, functions):
    """The finished run and {function: hits}."""
    tollgate = os.environ["TG_TOLLGATE"]
    breaks = [word for function in functions for word in ("--break", function)]
    traced = run([tollgate, "record", "-o", "stepping.tgt", "--mode", "slow"] + breaks + ["--", PROGRAM, case])
    hits = collections.Counter()
    for line in run([tollgate, "dump", "--json", "stepping.tgt"]).stdout.splitlines():
        event = json.loads(line)
        if event["kind"] == "breakpoint_hit":
            hits[functions[event["breakpoint"] - 1]] += 1
    return traced, hits


def main():
    how, case, functions = sys.argv[1], sys.argv[2], sys.argv[3:]
    native = run([PROGRAM, case])
    traced, hits = (run_recorded if how == "record" else run_under_engine)(case, functions)
    calls = {words[1]: int(words[2]) for words in map(str.split, traced.stderr.splitlines())
             if len(words) == 3 and words[0] == "calls"}
    wrong = []
    if (traced.stdout, traced.returncode) != (native.stdout, native.returncode):
        wrong.append("natively: status %d\n%s\ntraced: status %d\n%s" % (native.returncode, native.stdout,
                                                                        traced.returncode, traced.stdout))
    if "all" in hits:
        if calls and hits["all"] != sum(calls[function] for function in functions):
            wrong.append("%d hits: %s" % (hits["all"], calls))
    for function in functions if how == "record" else []:
        if function in calls and hits[function] != calls[function]:
            wrong.append("%s: %d hits of %d calls" % (function, hits[function], calls[function]))
    if not any(hits.values()):
        wrong.append("no hits")
    if wrong:
        sys.exit("\n".join(wrong + [traced.stderr]))


main()
