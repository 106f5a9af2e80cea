#!/usr/bin/env python3
"""What recording costs each call of MPI: the same job of two ranks without and with the agent in turn.

usage: mpi_bench.py BUILD [ROUNDS] [NAME...]      BUILD: a build directory; NAME: kinds of call, all without

Under each implementation that is installed. The recorder is ring_sink, which counts what is recorded and keeps
nothing; "record" is `tollgate record` with all that it does, on the same two cores as the ranks. Each figure is the
median of all rounds, 5 unless given.
"""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

LAUNCHERS = {"openmpi": ["mpirun.openmpi", "--oversubscribe"], "mpich": ["mpiexec.mpich"]}
ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "UCX_LOG_LEVEL": "fatal"}
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mpi_bench.c")


def measure(command):
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=dict(os.environ, **ENVIRONMENT))
    lines = [line.split() for line in done.stdout.splitlines()]
    return {name: (float(ns), int(calls)) for name, ns, calls in lines}


def bench(flavour, build, rounds, names, folder):
    program = os.path.join(folder, flavour)
    subprocess.run([f"mpicc.{flavour}", "-O2", "-w", SOURCE, "-o", program], check=True)
    job = [*LAUNCHERS[flavour], "-n", "2", program]
    sink = [os.path.join(build, "tests/bench/ring_sink"), os.path.join(build, "agent/tollgate-agent.so")]
    record = [os.path.join(build, "tollgate"), "record", "-q", "--force", "-o", os.path.join(folder, "trace"), "--"]
    print(f"{flavour:27}{'alone ns':>10}{'agent ns':>10}{'more/call':>11}{'record ns':>11}")
    for name in names or list(measure(job)):
        times = {"alone": [], "agent": [], "record": []}
        for _ in range(rounds):
            for how, prefix in (("alone", []), ("agent", sink), ("record", record)):
                ns, calls = measure([*prefix, *job, name])[name]
                times[how].append(ns)
        alone, agent, recorded = (statistics.median(times[how]) for how in ("alone", "agent", "record"))
        print(f"{name:27}{alone:10.1f}{agent:10.1f}{(agent - alone) / calls:11.1f}{recorded:11.1f}", flush=True)


def main():
    build, rest = os.path.abspath(sys.argv[1]), sys.argv[2:]
    rounds = int(rest.pop(0)) if rest and rest[0].isdigit() else 5
    with tempfile.TemporaryDirectory() as folder:
        for flavour, launcher in LAUNCHERS.items():
            if shutil.which(launcher[0]) is not None:
                bench(flavour, build, rounds, rest, folder)


main()
