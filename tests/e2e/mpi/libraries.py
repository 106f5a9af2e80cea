#!/usr/bin/env python3
"""A hybrid MPI + OpenMP job under a real mpirun: every rank's libraries against the loader's own word.

usage: libraries.py openmpi|mpich [agent|stops]     how libraries are observed; default: stops
"""
import json
import os
import shutil
import subprocess
import sys

from recording import TOLLGATE, check, check_complete, events, record, run, skip, witness_environment

RANKS = 4
FLAVOURS = {
    "openmpi": ("mpicc.openmpi", ["mpirun.openmpi", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1"], "OMPI_COMM_WORLD_RANK"),
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


def decisions_by_rank(happenings, ranks):
    """Which libraries were decided how, for every rank; the order between threads of a rank is its own."""
    decided = {rank: [] for rank in ranks.values()}
    for pid, decision, pattern, libraries in happenings:
        if pid in ranks:
            decided[ranks[pid]].append((decision, pattern, tuple(libraries)))
    return {rank: sorted(list_) for rank, list_ in decided.items()}


def recorded_decisions(trace_events):
    load = {}
    for event in trace_events:
        if event["kind"] == "library_load":
            load[event["pid"]] = [library["path"] for library in event["libraries"]]
        elif event["kind"] == "filter_decision":
            yield event["pid"], event["decision"], event["pattern"], load[event["pid"]]


def ranks_of(trace_events, source):
    return {event["pid"]: event["rank"] for event in trace_events
            if event["kind"] == "identity" and event["source"] == source}


def compare_modes(job, environment, native, source):
    """Recorded under each mode, the decisions are the model's, and for medium those predicted from the slow run."""
    match = "*/libhybrid*:!*/openmpi/*"
    for mode, options in (("slow", ["--mode", "slow"]), ("medium", ["--match", match]), ("fast", ["--mode", "fast"])):
        traced = record(mode, job, *options, environment=environment)
        check((traced.output, traced.status) == (native.output, 0), mode, native, traced)
        checked = run([TOLLGATE, "filter", "--check", mode])
        check(checked.status == 0, mode, checked)
    slow, medium = events("slow"), events("medium")
    said = run([TOLLGATE, "filter", "--decisions", "--json", "--mode", "medium", "--match", match, "slow"])
    check(said.status == 0, said)
    predictions = [json.loads(line) for line in said.output.splitlines()]
    predicted = decisions_by_rank([(p["pid"], p["decision"], p["pattern"], p["libraries"]) for p in predictions
                                   if p["kind"] == "filter_decision"], ranks_of(slow, source))
    happened = decisions_by_rank(recorded_decisions(medium), ranks_of(medium, source))
    for rank in range(RANKS):
        check(predicted[rank] == happened[rank], "rank", rank, "predicted", predicted[rank], "recorded", happened[rank])
        check(any(decision == "reported" for decision, _, _ in happened[rank]), happened[rank])


def main(flavour, how="stops"):
    how = f"--dlopen={how}"
    compiler, launcher, source = FLAVOURS[flavour]
    if shutil.which(compiler) is None or shutil.which(launcher[0]) is None:
        skip(f"{compiler} or {launcher[0]} is not installed")
    build(compiler)
    job = [*launcher, "-n", str(RANKS), "./hybrid", "./libhybrid_material.so", "3"]
    quiet = {"OMP_NUM_THREADS": "2", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
             "UCX_LOG_LEVEL": "fatal"}  # what UCX says of a sparse /sys holds times and pids
    native = run(job, quiet)
    if native.status != 0:
        skip(f"{launcher[0]} does not work here: {native.errors}")
    traced = record("trace", job, how, environment=quiet)
    check((traced.output, traced.status) == (native.output, 0), native, traced)
    watched = record("witnessed", job, how, environment={**quiet, **witness_environment("witness")})
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
    if how == "--dlopen=stops":
        compare_modes(job, quiet, native, source)
    print(f"{flavour}: {len(starts)} processes, {libraries} library loads, all of them in the trace")


if __name__ == "__main__":
    main(*sys.argv[1:])
