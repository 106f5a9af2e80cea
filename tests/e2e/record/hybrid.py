#!/usr/bin/env python3
"""MPI and OpenMP events of real hybrid jobs, by the agent: against what the program tells of itself.

usage: hybrid.py openmpi_libgomp|mpich_libomp|srun|late_openmp|numpy
"""
import collections
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as tree

from recording import build_library, check, events, record, run, skip
from slurm_job import NoSlurm, Slurm

sys.path.insert(0, os.path.join(os.environ["TG_SOURCE"], "tests/golden"))
from diagram_texts import check_mermaid, check_plantuml, check_seqdiag  # noqa: E402

RANKS, THREADS, ROUNDS = 4, 2, 3
SOURCE = os.environ["TG_SOURCE"]


def build(command, environment=None):
    if shutil.which(command[0]) is None:
        skip(f"{command[0]} is not installed")
    made = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ, **(environment or {})))
    if made.returncode != 0:
        skip("cannot be built here: " + made.stderr)


def count(trace, pid, kind, **fields):
    return sum(1 for event in trace if event["pid"] == pid and event["kind"] == kind and
               all(event[name] == value for name, value in fields.items()))


def check_rank(trace, pid, entries):
    check(count(trace, pid, "omp_parallel_begin") == ROUNDS, pid, "regions")
    check(count(trace, pid, "omp_implicit_begin") == ROUNDS * THREADS, pid, "bodies")
    check(count(trace, pid, "omp_implicit_end") == ROUNDS * THREADS, pid, "ends of bodies")
    check(count(trace, pid, "omp_mutex_enter") >= entries, pid, "critical entries, told:", entries)
    check(count(trace, pid, "omp_mutex_enter") == count(trace, pid, "omp_mutex_leave"), pid, "critical")
    check(count(trace, pid, "omp_sync_begin", sync="barrier") >= ROUNDS * THREADS, pid, "barriers")
    for call, times in (("MPI_Init_thread", 1), ("MPI_Sendrecv", ROUNDS), ("MPI_Allreduce", ROUNDS),
                        ("MPI_Barrier", ROUNDS), ("MPI_Finalize", 1)):
        check(count(trace, pid, "mpi_enter", call=call) == times, pid, call, "entered")
        check(count(trace, pid, "mpi_leave", call=call) == times, pid, call, "left")


def check_collectives(trace, pids):
    """Nobody leaves an instance of a collective before the last one came to it."""
    entered, left = collections.defaultdict(dict), collections.defaultdict(dict)
    inside = {}
    for event in trace:
        if event["kind"] == "mpi_enter" and event["instance"] > 0:
            key = (event["comm"], event["instance"])
            entered[key][event["pid"]] = event["t_ns"]
            inside[event["tid"]] = key
        elif event["kind"] == "mpi_leave" and event["tid"] in inside:
            left[inside.pop(event["tid"])][event["pid"]] = event["t_ns"]
    check(len(entered) == 2 * ROUNDS + 1, entered)  # MPI_Finalize is one too
    for key, when in entered.items():
        check(set(when) == set(pids), key, "is met by", when)
        check(max(when.values()) <= min(left[key].values()), key, "left before all had come:", when, left[key])


def check_order(trace):
    """Each thread's own events come in the order of its clock."""
    last = {}
    for event in trace:
        if event["kind"].startswith(("omp_", "mpi_")):
            check(event["t_ns"] >= last.get(event["tid"], 0), "goes back:", event)
            last[event["tid"]] = event["t_ns"]


def check_diagrams():
    """By rank and by worker, in every format; the texts keep to their grammar, and tell of regions and collectives."""
    for by in ("rank", "worker"):
        drawn = {}
        for form in ("svg", "html", "seqdiag", "mermaid", "plantuml"):
            result = run([os.environ["TG_TOLLGATE"], "sequence", "--all", "--by", by, "--print", "--format", form, "trace"])
            check(result.status == 0, by, form, result.errors)
            drawn[form] = result.output
        tree.fromstring(drawn["svg"].encode())
        check(not check_mermaid(drawn["mermaid"]), check_mermaid(drawn["mermaid"]))
        check(not check_plantuml(drawn["plantuml"]), check_plantuml(drawn["plantuml"]))
        problems = check_seqdiag(drawn["seqdiag"])
        check(not problems, problems)
        for form in ("svg", "html", "seqdiag"):
            for what in ("parallel hybrid_zones.c", "MPI_Allreduce"):
                check(what in drawn[form], what, "is not in", by, form, drawn[form])


def check_job(job, environment=None):
    """Each rank's calls and zones are in the trace. Returns how often each one entered its critical section."""
    native = run(job, environment)
    check(native.status == 0, native)
    traced = record("trace", job, environment=environment)
    check(traced.status == 0 and sorted(traced.output.splitlines()) == sorted(native.output.splitlines()), traced, native)
    trace = events("trace")
    check(not [event for event in trace if event["kind"] == "loss"], "lost", [e for e in trace if e["kind"] == "loss"])
    ranks = {event["rank"]: event["pid"] for event in trace if event["kind"] == "mpi_comm" and event["origin"] == "world"}
    check(sorted(ranks) == list(range(RANKS)), ranks)
    told = {int(line.split()[1]): int(line.split()[3]) for line in traced.output.splitlines() if line.startswith("rank")}
    for rank, pid in ranks.items():
        check_rank(trace, pid, told[rank])
    check_collectives(trace, ranks.values())
    check_order(trace)
    return told


def hybrid(job):
    told = check_job(job)
    report = run([os.environ["TG_TOLLGATE"], "report", "trace"])
    check_diagrams()
    check(report.status == 0 and "hybrid_zones.c" in report.output and "Post-mortem" not in report.output, report.output)
    ask_console(told)


def openmpi_libgomp():
    build(["mpicc.openmpi", "-O2", "-g", "-fopenmp", f"{SOURCE}/tests/programs/hybrid_zones.c", "-o", "hybrid_zones"])
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    hybrid(["mpirun.openmpi", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "-n", str(RANKS), "./hybrid_zones",
            str(THREADS), str(ROUNDS)])


def mpich_libomp():
    if shutil.which("clang") is None:
        skip("clang is not installed")
    build(["mpicc.mpich", "-O2", "-g", "-fopenmp", f"{SOURCE}/tests/programs/hybrid_zones.c", "-o", "hybrid_zones"],
          {"MPICH_CC": "clang"})
    hybrid(["mpiexec.mpich", "-n", str(RANKS), "./hybrid_zones", str(THREADS), str(ROUNDS)])


def srun():
    """Ranks that slurmstepd starts, nobody's that is traced: they have the agent like others, and every call and zone."""
    compilers = {"pmix": "mpicc.openmpi", "pmi2": "mpicc.mpich"}
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", UCX_LOG_LEVEL="fatal")
    try:
        with Slurm() as slurm:
            for kind, compiler in compilers.items():
                build([compiler, "-O2", "-g", "-fopenmp", f"{SOURCE}/tests/programs/hybrid_zones.c", "-o", "hybrid_zones"])
                check_job(slurm.srun(f"--mpi={kind}", "-n", str(RANKS), "./hybrid_zones", str(THREADS), str(ROUNDS)),
                          slurm.environment)
                os.unlink("trace")
    except NoSlurm as reason:
        skip(str(reason))


def ask_console(entries):
    """The replay console finds every barrier and critical section of every rank, forward and back."""
    settings = (f"set ranks {RANKS}; set rounds {ROUNDS}; set threads {THREADS}; set entries "
                "{" + " ".join(f"{rank} {count}" for rank, count in sorted(entries.items())) + "}")
    asked = run([os.environ["TG_TOLLGATE"], "replay", "-e", settings, "-x", f"{SOURCE}/tests/e2e/record/hybrid.tcl", "trace"])
    check(asked.status == 0 and asked.output.endswith("fine\n"), asked)


def late_openmp():
    """A library that comes by dlopen and brings OpenMP with it."""
    library = build_library("late", source="int late_value(void) { int n = 0;\n#pragma omp parallel num_threads(2)\n{\n"
                            "#pragma omp critical\n n++;\n}\n return n; }\n", flags=["-fopenmp"])
    loads = os.path.join(os.environ["TG_PROGRAMS"], "loads")
    native = run([loads, "open", library, "call", "0", "late_value"])
    traced = record("trace", [loads, "open", library, "call", "0", "late_value"])
    check((traced.output, traced.status) == (native.output, native.status), native, traced)
    trace = events("trace")
    pids = {event["pid"] for event in trace if event["kind"] == "library_call"}
    check(len(pids) == 1, trace)
    pid = pids.pop()
    check(count(trace, pid, "omp_implicit_begin") == 2 == count(trace, pid, "omp_mutex_enter"), trace)


def numpy():
    python = "/usr/bin/python3"  # Debian's, which numpy is packaged for
    script = ("import numpy, threading\n"
              "a = numpy.arange(10000.0).reshape(100, 100)\n"
              "print(float(numpy.dot(a, a).sum()))\n")
    if run([python, "-c", "import numpy"]).status != 0:
        skip("numpy is not installed")
    native, traced = run([python, "-c", script]), record("trace", [python, "-c", script])
    check((traced.output, traced.status) == (native.output, 0), native, traced)
    loaded = {os.path.basename(library["path"]) for event in events("trace") if event["kind"] == "library_load"
              for library in event["libraries"]}
    check(any(name.startswith("_multiarray_umath") for name in loaded), sorted(loaded))


{"openmpi_libgomp": openmpi_libgomp, "mpich_libomp": mpich_libomp, "srun": srun, "late_openmp": late_openmp, "numpy": numpy}[sys.argv[1]]()
