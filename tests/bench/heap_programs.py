#!/usr/bin/env python3
"""What observing the heap costs a real program: natively, with --heap, with a sample, and under heaptrack.

usage: heap_programs.py [--counts] BUILD ROUNDS COMMAND...      BUILD: a build directory; heaptrack is left out where there is none

In turn; of all rounds the fastest counts. "program" is the time of COMMAND alone, "whole" with the observer's start and end.
COMMAND's output and status must be what they are natively. --counts: also numbers of allocations and peaks, beside heaptrack's and
valgrind's (which takes long).
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

TIMED = ["bash", "-c", 'took=$1; shift; TIMEFORMAT=%R; { time "$@" 2>&3; } 3>&2 2>"$took"', "bash"]


def run(before, command, scratch):
    took = os.path.join(scratch, "took")
    start = time.monotonic()
    done = subprocess.run([*before, *TIMED, took, *command], capture_output=True, text=True)
    whole = time.monotonic() - start
    with open(took) as file:
        return whole, float(file.read()), (done.returncode, done.stdout)


def main():
    rest = sys.argv[1:]
    counts = rest[:1] == ["--counts"]
    build, rounds, command = os.path.abspath(rest[counts]), int(rest[counts + 1]), rest[counts + 2:]
    scratch = tempfile.mkdtemp(prefix="heap-programs-")
    tollgate, trace = os.path.join(build, "tollgate"), os.path.join(scratch, "trace")
    record = [tollgate, "record", "-q", "--force", "-o", trace]
    ways = {"native": [], "record": [*record, "--"], "--heap": [*record, "--heap", "--"], "--heap=sample:512K": [*record, "--heap=sample:512K", "--"]}
    if shutil.which("heaptrack"):
        ways["heaptrack"] = ["heaptrack", "-o", os.path.join(scratch, "heaptrack")]
    best, outputs = {}, {}
    for _ in range(rounds):
        for way, before in ways.items():
            whole, own, outputs[way] = run(before, command, scratch)
            best[way] = tuple(map(min, best.get(way, (whole, own)), (whole, own)))
    print(" ".join(command))
    for way, (whole, own) in best.items():
        same = outputs[way] == outputs["native"] or (way == "heaptrack" and outputs[way][0] == outputs["native"][0])
        print(f"  {way:20} program {own * 1000:8.0f} ms {own / best['native'][1] * 100 - 100:+6.1f} %   whole {whole * 1000:8.0f} ms"
              f" {(whole - best['native'][0]) * 1000:+8.0f}   {'' if same else 'ANOTHER OUTPUT OR STATUS'}")
    if counts:
        subprocess.run([*ways["--heap"], *command], capture_output=True, check=False)
        heap = json.loads(subprocess.run([tollgate, "heap", "--json", trace], capture_output=True, text=True, check=True).stdout)
        print(f"  tollgate: {heap['allocated']['blocks']:,} allocations, peak {heap['peak']['bytes']:,} bytes; {os.path.getsize(trace):,} bytes of trace")
        if "heaptrack" in ways:
            done = subprocess.run([*ways["heaptrack"], *command], capture_output=True, text=True)
            with_names = re.search(r'heaptrack --analyze "?([^"\n]+)"?', done.stdout)
            said = subprocess.run(["heaptrack_print", "-f", with_names[1]], capture_output=True, text=True).stdout if with_names else done.stdout
            print("  heaptrack: " + "; ".join(re.findall(r"^(calls to allocation functions: \d+|peak heap memory consumption: \S+)", said, re.M)))
        if shutil.which("valgrind"):
            done = subprocess.run(["valgrind", "--tool=memcheck", "--undef-value-errors=no", *command], capture_output=True, text=True)
            print("  valgrind: " + "; ".join(re.findall(r"total heap usage: ([\d,]+ allocs)", done.stderr)))
    shutil.rmtree(scratch)


main()
