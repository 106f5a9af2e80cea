#!/usr/bin/env python3
"""Stepping and stacks of a live OpenMP program. usage: stepping.py"""
import os
import re
import subprocess
import sys

SOURCE = os.path.join(os.environ["TG_SOURCE"], "tests", "programs", "stepped.c")
SCRIPT = os.path.join(os.environ["TG_SOURCE"], "tests", "e2e", "live", "stepping.tcl")

# what the script says, and the marks of the lines where that may be
PLACES = {
    "work": ["work begin", "work 1"],
    "step": ["work 1"],
    "region": ["region"],
    "body": ["region", "body 1"],
    "all": ["leaf begin", "leaf 1"],
    "lockstep": ["leaf 1", "leaf 2"],
    "one": ["leaf 2", "leaf end"],
    "others": ["leaf 1", "leaf 2"],
    "out": ["body 2", "body 4"],
    "hit": ["leaf begin", "leaf 1"],
}


def check(condition, message):
    if not condition:
        sys.exit(f"FAILED: {message}")


def marks():
    lines = {}
    with open(SOURCE, encoding="utf-8") as source:
        for number, line in enumerate(source, 1):
            found = re.search(r"/\* (.*) \*/$", line.rstrip())
            if found:
                lines[found.group(1)] = number
    return lines


def main():
    built = subprocess.run(["gcc", "-g", "-O0", "-fopenmp", SOURCE, "-o", "stepped"], capture_output=True, text=True, check=False)
    if built.returncode != 0:
        print(f"gcc cannot build programs with OpenMP: {built.stderr}")
        sys.exit(77)
    done = subprocess.run([os.environ["TG_TOLLGATE"], "live", "-o", "trace", "-x", SCRIPT, "--", "./stepped"],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100, check=False)
    output = done.stdout + done.stderr
    check(done.returncode == 0, f"exit status {done.returncode}:\n{output}")
    said = {what: places.split() for what, places in re.findall(r"^AT (\w+): (.*)$", done.stdout, re.MULTILINE)}
    check(said.keys() == PLACES.keys(), f"places told: {said}\n{output}")
    lines = marks()
    for what, names in PLACES.items():
        check(len(said[what]) == 1, f"{what}: in several lines: {said[what]}\n{output}")
        wanted = [lines[name] for name in names]
        check(int(said[what][0]) in wanted, f"{what}: line {said[what][0]}, expected {wanted}\n{output}")
    check("exited with status 0" in output, f"the program did not end well:\n{output}")
    check(re.search(r"^132$", output, re.MULTILINE), f"its sum is wrong:\n{output}")


main()
