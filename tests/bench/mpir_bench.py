#!/usr/bin/env python3
"""What finding a job's ranks costs: a trivial program launched alone, recorded without MPIR, and recorded with it, in turn.

usage: mpir_bench.py BUILD [ROUNDS] [LAUNCHER...]      BUILD: a build directory; LAUNCHER: openmpi, mpich, slurm; all without

At 2, 8 and 32 ranks, which share the cores. Each figure is the median of all rounds, 5 unless given; ratios are to the job
alone. "acquired" is the time from the starter's call of MPIR_Breakpoint to the last rank that was acquired, or how long the starter
stood still for its ranks where that is longer, of each rank, as the trace has it; "table" is what reading the table took.
"""
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../e2e/support"))
from slurm_job import NoSlurm, Slurm  # noqa: E402

SIZES = (2, 8, 32)
ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "UCX_LOG_LEVEL": "fatal"}
PROGRAM = os.path.join(HERE, "../programs/launched_rank.c")


def seconds(command, environment):
    begun = time.monotonic()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                          env=dict(os.environ, **ENVIRONMENT, **environment))
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}: {done.stderr}")
    return time.monotonic() - begun


def acquisition(tollgate, trace, ranks):
    """Nanoseconds from MPIR_Breakpoint to the last rank for each of RANKS, and what reading the table took; None without MPIR."""
    told = json.loads(subprocess.run([tollgate, "report", "--json", "--symbols=off", trace], capture_output=True,
                                     check=True).stdout)
    for starter in told["mpir"]["starters"]:
        if starter["acquired"] == 0:
            continue
        if starter["acquired"] != ranks:
            sys.exit(f"{starter['acquired']} of {ranks} ranks were acquired: {starter['steps']}")
        begun = min(step["t_ns"] for step in starter["steps"] if step["step"] == "state")
        ended = max(step["last_ns"] for step in starter["steps"] if step["step"] == "ranks")
        # Ranks that are traced already are told of in the starter's own stop.
        stopped = sum(kind["stop_ns"] for kind in told["kinds"] if kind["kind"] in ("mpir_job", "mpir_state", "mpir_table"))
        return max(ended - begun, stopped) / ranks, starter["read_ns"]
    return None


def bench(name, command, environment, tollgate, folder, rounds):
    trace = os.path.join(folder, "trace")
    record = [tollgate, "record", "-q", "--force", "-o", trace]
    for ranks in SIZES:
        job = command(ranks)
        times = {"alone": [], "plain": [], "mpir": []}
        costs = []
        for _ in range(rounds):
            times["alone"].append(seconds(job, environment))
            times["plain"].append(seconds([*record, "--no-mpir", "--", *job], environment))
            times["mpir"].append(seconds([*record, "--", *job], environment))
            costs.append(acquisition(tollgate, trace, ranks))
        alone, plain, mpir = (statistics.median(times[how]) for how in ("alone", "plain", "mpir"))
        line = f"{name:9}{ranks:6}{alone * 1e3:10.0f}{plain * 1e3:10.0f}{plain / alone:7.2f}{mpir * 1e3:10.0f}{mpir / alone:7.2f}"
        costs = [cost for cost in costs if cost is not None]
        if costs:
            line += f"{statistics.median(cost[0] for cost in costs) / 1e3:14.0f}{statistics.median(cost[1] for cost in costs) / 1e3:10.0f}"
        else:
            line += f"{'no MPIR':>14}"
        print(line, flush=True)


def build(compiler, folder, *options):
    program = os.path.join(folder, "rank_" + os.path.basename(compiler))
    subprocess.run([compiler, "-O2", "-D_GNU_SOURCE", *options, PROGRAM, "-o", program], check=True)
    return program


def launchers(folder, wanted, held):
    """(name, ranks to command, environment) of those that are there."""
    if "openmpi" in wanted and shutil.which("mpirun.openmpi"):
        program = build("mpicc.openmpi", folder, "-DWITH_MPI")
        yield ("openmpi", lambda n: ["mpirun.openmpi", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "-n", str(n),
                                     program], {})
    if "mpich" in wanted and shutil.which("mpiexec.mpich"):
        program_mpich = build("mpicc.mpich", folder, "-DWITH_MPI")
        yield "mpich", lambda n: ["mpiexec.mpich", "-n", str(n), program_mpich], {}
    if "slurm" in wanted:
        try:
            slurm = held.enter_context(Slurm(os.path.join(folder, "slurm")))
            plain = build("cc", folder)
            yield "slurm", lambda n: slurm.srun("-n", str(n), plain), slurm.environment
        except NoSlurm as reason:
            print(f"no Slurm: {reason}", file=sys.stderr)


def main():
    tollgate, rest = os.path.join(os.path.abspath(sys.argv[1]), "tollgate"), sys.argv[2:]
    rounds = int(rest.pop(0)) if rest and rest[0].isdigit() else 5
    print(f"{'launcher':9}{'ranks':>6}{'alone ms':>10}{'plain ms':>10}{'ratio':>7}{'MPIR ms':>10}{'ratio':>7}{'acquired us/r':>14}"
          f"{'table us':>10}")
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as held:
        for name, command, environment in launchers(folder, rest or ["openmpi", "mpich", "slurm"], held):
            bench(name, command, environment, tollgate, folder, rounds)


main()
