#!/usr/bin/env python3
"""What recording costs each OpenMP construct: the same program without and with the agent in turn.

usage: openmp_bench.py [--fifo] [--gates] BUILD [ROUNDS] [NAME...]      BUILD: a build directory; NAME: constructs, all without

--gates: not beside the program without the agent, but beside the agent without gates, of which none is used
(cmake --build BUILD --target agent_without_gates)
--fifo: the program before all others of the machine, the recorder before it (needs the right to do that)

The recorder is ring_sink, which counts what is recorded and keeps nothing; it also runs, with nothing to do, beside the
program without the agent: the figures are what the program itself pays.
Of all rounds, 5 unless given, the fastest counts, by the clock and by the processor time of all threads together.
Noise: by how much the fastest of every other round alone, by the clock, differs from that of the others.
"""
import os
import subprocess
import sys


def measure(command):
    """(ns of one by the clock, by processor time, how many, records of all)"""
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    _, n, wall, cpu = done.stdout.split()
    return float(wall), float(cpu), int(n), int(done.stderr.split()[0]) if done.stderr else 0


def noise(rounds):
    """Of the fastest one, in percent."""
    walls = [wall for wall, *_ in rounds]
    halves = min(walls[::2]), min(walls[1::2] or walls)
    return (max(halves) / min(halves) - 1) * 100


def main():
    rest = sys.argv[1:]
    fifo, gates = "--fifo" in rest, "--gates" in rest
    build, *rest = [word for word in rest if not word.startswith("--")]
    build = os.path.abspath(build)
    rounds = int(rest.pop(0)) if rest and rest[0].isdigit() else 5
    program = [*(["chrt", "-f", "10"] if fifo else []), os.path.join(build, "tests/bench/openmp_bench")]
    sink = [*(["chrt", "-f", "11"] if fifo else []), os.path.join(build, "tests/bench/ring_sink")]
    agent = os.path.join(build, "agent/tollgate-agent.so")
    base = os.path.join(build, "tests/bench/agent_without_gates.so") if gates else ""
    names = rest or ["stamp", "critical", "lock", "stamped_lock", "barrier", "single", "region", "dynamic_loop",
                     "thread_num", "static_loop", "master", "task", "fibonacci", "stencil", "small_stencil",
                     "hydro"]
    print(f"{'':14}{'-------- clock, ns -------':>30}{'--- processor time, ns ---':>30}")
    beside = "no gates" if gates else "alone"
    print(f"{'construct':14}{beside:>10}{'recorded':>10}{'more':>10}{beside:>10}{'recorded':>10}{'more':>10}"
          f"{'records':>9}{'ns each':>9}{'clock':>9}{'noise':>8}")
    for name in names:
        alone, recorded = [], []
        for _ in range(rounds):
            alone.append(measure([*sink, base, *program, name]))
            recorded.append(measure([*sink, agent, *program, name]))
        wall, cpu = [min(column) for column in list(zip(*alone))[:2]]
        recorded_wall, recorded_cpu, n, records = [min(column) for column in zip(*recorded)]
        # once to warm up, a twentieth; fibonacci does all of it each time
        each = records / (2 * n if name == "fibonacci" else n + n // 20 + 1)
        more = recorded_cpu - cpu
        print(f"{name:14}{wall:10.1f}{recorded_wall:10.1f}{recorded_wall - wall:10.1f}{cpu:10.1f}{recorded_cpu:10.1f}"
              f"{more:10.1f}{each:9.2f}{more / each if each >= 0.5 else 0:9.2f}"
              f"{(recorded_wall / wall - 1) * 100:+8.1f}%{noise(alone):7.1f}%", flush=True)


main()
