#!/usr/bin/env python3
"""A hybrid MPI + OpenMP job under a real mpirun: every rank's libraries against the loader's own word.

usage: record_mpi.py openmpi|mpich
"""
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
from recording import check, check_complete, events, record, run, skip, witness_environment  # noqa: E402

RANKS = 4
FLAVOURS = {
    "openmpi": ("mpicc.openmpi", ["mpirun.openmpi", "--oversubscribe"], "OMPI_COMM_WORLD_RANK"),
    "mpich": ("mpicc.mpich", ["mpiexec.mpich"], "PMI_RANK"),
}


def build(compiler):
    programs = os.path.join(os.environ["TG_SOURCE"], "tests/programs")
    for command in ([compiler, "-O1", "-g", "-fopenmp", os.path.join(programs, "hybrid.c"), "-o", "hybrid", "-ldl",
                     "-lm"],
                    ["cc", "-O1", "-g", "-shared", "-fPIC", os.path.join(programs, "hybrid_material.c"), "-o",
                     "libhybrid_material.so", "-lm"]):
        made = subprocess.run(command, capture_output=True, text=True)
        check(made.returncode == 0, made.stderr)


def main(flavour):
    compiler, launcher, source = FLAVOURS[flavour]
    if shutil.which(compiler) is None or shutil.which(launcher[0]) is None:
        skip(f"{compiler} or {launcher[0]} is not installed")
    build(compiler)
    job = [*launcher, "-n", str(RANKS), "./hybrid"]
    quiet = {"OMP_NUM_THREADS": "2", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    native = run(job, quiet)
    if native.status != 0:
        skip(f"{launcher[0]} does not work here: {native.errors}")
    traced = record("trace", job, environment=quiet)
    check((traced.output, traced.status) == (native.output, 0), native, traced)
    watched = record("witnessed", job, environment={**quiet, **witness_environment("witness")})
    check(watched.status == 0, watched)
    trace = events("witnessed")
    identities = [event for event in trace if event["kind"] == "identity" and event["source"] == source]
    ranks = {event["rank"]: event["pid"] for event in identities}
    check(sorted(ranks) == list(range(RANKS)), identities)
    check(all(event["size"] == RANKS for event in identities), identities)
    check(len({event["job"] for event in identities}) == 1, identities)
    libraries = check_complete(trace, "witness")
    for rank, pid in ranks.items():
        loaded = [library["path"] for event in trace if event["kind"] == "library_load" and event["pid"] == pid
                  for library in event["libraries"]]
        check(any(path.endswith("libhybrid_material.so") for path in loaded), "rank", rank, loaded)
    check(not [event for event in trace if event["kind"] == "loss"], "losses")
    ends = [event for event in trace if event["kind"] == "process_exit"]
    starts = [event for event in trace if event["kind"] == "process_start"]
    check(len(ends) == len(starts), len(starts), len(ends))
    secrets = [variable for event in trace if event["kind"] == "environment" for variable in event["variables"]
               if "URI" in variable or "MCA" in variable]
    check(not secrets, secrets)
    print(f"{flavour}: {len(starts)} processes, {libraries} library loads, all of them in the trace")


if __name__ == "__main__":
    main(sys.argv[1])
