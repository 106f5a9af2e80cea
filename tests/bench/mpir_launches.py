#!/usr/bin/env python3
"""Many launches in a row with tollgate: none may hang, end otherwise, miss a rank, or leave a process behind.

usage: mpir_launches.py BUILD [COUNT] [LAUNCHER...]      COUNT: of each launcher, 200 unless given; as in mpir_bench.py
"""
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../e2e/support"))
from servants import adopt_orphans, children_of  # noqa: E402
from slurm_job import NoSlurm, Slurm  # noqa: E402

RANKS = 2
LIMIT_S = 60
ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "UCX_LOG_LEVEL": "fatal"}
PROGRAM = os.path.join(HERE, "../programs/launched_rank.c")
COMMANDS = {"openmpi": ["mpirun.openmpi", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1"], "mpich": ["mpiexec.mpich"]}


def ranks_in(tollgate, trace):
    told = json.loads(subprocess.run([tollgate, "report", "--json", "--symbols=off", trace], capture_output=True,
                                     check=True).stdout)["mpir"]
    return sum(starter["acquired"] for starter in told["starters"]) + sum(
        len(group["rank_numbers"]) for group in told["without_table"])


def leftovers(servants):
    """What a launch left: its orphans come to this process. Those that have ended are waited for."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    return [pid for pid in children_of(os.getpid()) if pid != servants]


def launch(tollgate, job, environment, trace, servants):
    """What is wrong with one launch, "" nothing."""
    process = subprocess.Popen([tollgate, "record", "-q", "--force", "-o", trace, "--", *job], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
                               env=dict(os.environ, **ENVIRONMENT, **environment))
    try:
        output, errors = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return f"hangs after {LIMIT_S} s"
    if process.returncode != 0 or errors:
        return f"exit {process.returncode}: {errors}"
    if sorted(line.partition(":")[0] for line in output.splitlines()) != [f"rank {i} of {RANKS}" for i in range(RANKS)]:
        return f"the job says {output!r}"
    if ranks_in(tollgate, trace) != RANKS:
        return f"the trace has {ranks_in(tollgate, trace)} ranks"
    left = leftovers(servants)
    return f"left {left}" if left else ""


def run(name, job, environment, tollgate, folder, count, servants):
    begun, wrong = time.monotonic(), 0
    for i in range(count):
        problem = launch(tollgate, job, environment, os.path.join(folder, "trace"), servants)
        if problem:
            wrong += 1
            print(f"{name}, launch {i + 1}: {problem}", flush=True)
    print(f"{name}: {count} launches, {wrong} of them wrong, {(time.monotonic() - begun) / count * 1e3:.0f} ms each", flush=True)
    return wrong


def main():
    tollgate, rest = os.path.join(os.path.abspath(sys.argv[1]), "tollgate"), sys.argv[2:]
    count = int(rest.pop(0)) if rest and rest[0].isdigit() else 200
    wrong = 0
    adopt_orphans()
    with tempfile.TemporaryDirectory() as folder:
        for name in rest or [*COMMANDS, "slurm"]:
            program = os.path.join(folder, "rank_" + name)
            compiler = ["cc"] if name == "slurm" else [f"mpicc.{name}", "-DWITH_MPI"]
            if shutil.which(compiler[0]) is None:
                print(f"{name}: no {compiler[0]} here")
                continue
            subprocess.run([*compiler, "-O2", "-D_GNU_SOURCE", PROGRAM, "-o", program], check=True)
            if name != "slurm":
                job = [*COMMANDS[name], "-n", str(RANKS), program]
                wrong += run(name, job, {}, tollgate, folder, count, None)
                continue
            try:
                with Slurm(os.path.join(folder, "slurm")) as slurm:
                    wrong += run(name, slurm.srun("-n", str(RANKS), program), slurm.environment, tollgate, folder, count,
                                 slurm.servants.pid)
            except NoSlurm as reason:
                print(f"no Slurm: {reason}")
    sys.exit(wrong > 0)


main()
