#!/usr/bin/env python3
"""What recording costs each OpenMP construct: the same program without and with the agent in turn.

usage: openmp_bench.py BUILD [ROUNDS] [NAME...]      BUILD: a build directory; NAME: constructs, all without

The recorder is ring_sink, which counts what is recorded and keeps nothing: the figures are the program's side.
Each figure is the median of all rounds, 5 unless given.
"""
import os
import statistics
import subprocess
import sys


def measure(command):
    """(construct -> ns of one, records of all)"""
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [line.split() for line in done.stdout.splitlines()]
    records = int(done.stderr.split()[0]) if done.stderr else 0
    return {name: float(ns) for name, ns, _ in lines}, {name: int(n) for name, _, n in lines}, records


def main():
    build, rest = os.path.abspath(sys.argv[1]), sys.argv[2:]
    rounds = int(rest.pop(0)) if rest and rest[0].isdigit() else 5
    program = os.path.join(build, "tests/bench/openmp_bench")
    sink = [os.path.join(build, "tests/bench/ring_sink"), os.path.join(build, "agent/tollgate-agent.so")]
    names = rest or list(measure([program])[0])
    print(f"{'construct':15}{'alone ns':>12}{'recorded ns':>12}{'more ns':>10}{'records':>10}{'ns each':>9}")
    for name in names:
        alone, recorded = [], []
        for _ in range(rounds):
            times, units, _ = measure([program, name])
            alone.append(times[name])
            times, _, records = measure([*sink, program, name])
            recorded.append(times[name])
        each = records / (units[name] + units[name] // 20 + 1)
        if name == "fibonacci":  # of which every run is a whole one
            each = records / (2 * units[name])
        a, b = statistics.median(alone), statistics.median(recorded)
        print(f"{name:15}{a:12.1f}{b:12.1f}{b - a:10.1f}{each:10.2f}{(b - a) / each:9.2f}", flush=True)


main()
