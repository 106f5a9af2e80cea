#!/usr/bin/env python3
"""Compares the costs that `tollgate filter` predicts with those of jobs that really run under the modes.

Usage: filter_truth.py BUILD [--live] [--rounds N] [--minutes N] [--libraries N] [--jobs NAME,...] [--check] [--json FILE]

The truth of a mode is the time from the entry points of the job's processes to their ends under `record --mode MODE`, less that
under `record --dlopen=none`, where nothing is done about libraries; runs are interleaved, and the medians of the differences are
compared. A claim is a figure, or the middle of a range. With --live jobs run under `tollgate live`, with a pending breakpoint that nothing has. On a busy machine, as root: `chrt -r 5 filter_truth.py ...`. Predictions are made from a
recording of each kind: default, slow, medium (by stops), in-process (Medium decided in the process) and fast. The error is that of the figure or of the middle.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import make_libraries

LIST = "*/libnothing*"
MODES = {"none": ["--dlopen=none"], "slow": ["--mode=slow"], "medium": [f"--match={LIST}", "--dlopen=stops"],
         "in-process": [f"--match={LIST}"], "fast": ["--mode=fast"], "default": []}
PREDICTED = ("slow", "medium", "in-process", "fast")
PYTHON = """
import importlib, sys
sys.path.insert(0, sys.argv[1])
for i in range(int(sys.argv[2])):
    importlib.import_module("tgm%d" % i)
"""


def make_modules(directory, count):
    """COUNT extension modules: one library with the entry points of all, and a copy of it for each name."""
    os.makedirs(directory, exist_ok=True)
    source = """typedef struct object PyObject;
PyObject *PyModule_Create2(void *definition, int version);
struct definition { long head[5]; const char *name, *doc; long size; void *rest[5]; };
"""
    for i in range(count):
        source += '''static struct definition d%d = {.head = {1}, .name = "tgm%d", .size = -1};
PyObject *PyInit_tgm%d(void) { return PyModule_Create2(&d%d, 1013); }
''' % (i, i, i, i)
    first = os.path.join(directory, "tgm0.so")
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-x", "c", "-", "-o", first], input=source, text=True, check=True)
    for i in range(1, count):
        shutil.copyfile(first, os.path.join(directory, "tgm%d.so" % i))


class Job:
    """A program that loads libraries; of an MPI job the launcher counts while it runs without its ranks."""

    def __init__(self, name, command, launcher=()):
        self.name, self.command, self.needs, self.has_ranks = name, [*launcher, *command], launcher[:1], bool(launcher)

    def missing(self):
        return next((tool for tool in self.needs if shutil.which(tool) is None), None)


def make_jobs(build, work, count):
    libraries, modules, script = (os.path.join(work, name) for name in ("libraries", "modules", "load.py"))
    make_libraries.make(libraries, count)
    make_modules(modules, count)
    with open(script, "w", encoding="ascii") as out:
        out.write(PYTHON)
    python = [sys.executable, script, modules, str(count)]
    storm = [os.path.join(build, "tests/bench/dlopen_storm"), libraries, str(count)]
    mpirun = ["mpirun", "--oversubscribe", "--allow-run-as-root", "-n"]
    return [Job("libraries", storm), Job("python", python), Job("python x 4", python, (*mpirun, "4")),
            Job("open mpi x 2", storm, (*mpirun, "2"))]


def run_once(tollgate, job, mode, work, is_live):
    """Milliseconds of the processes that count, together."""
    trace = os.path.join(work, mode + ".tgt")
    live = ["-e", "dbreak -pending no_library_has_this", "-e", "dgo", "-e", "dwait"] if is_live else []
    subprocess.run([tollgate, "live" if is_live else "record", "--quiet", "--no-rc", "--force", "-o", trace, *MODES[mode], *live,
                    "--", *job.command],
                   check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    dump = subprocess.run([tollgate, "dump", "--json", "--kind", "entry,process_exit,identity", trace], check=True,
                          capture_output=True)
    entries, exits, ranks = {}, {}, set()
    for event in map(json.loads, dump.stdout.splitlines()):
        pid = event.get("pid")
        if event.get("kind") == "entry":
            entries[pid] = event["t_ns"]
        elif event.get("kind") == "identity" and event["rank"] >= 0:
            ranks.add(pid)
        elif event.get("kind") == "process_exit" and pid in entries:
            exits[pid] = event["t_ns"]
    if not job.has_ranks:
        return sum(exits[pid] - entries[pid] for pid in exits) / 1e6
    launcher = min(entries, key=entries.get)  # it loads libraries before its ranks begin, and closes them when they have ended
    ranks &= set(exits)
    around = min(entries[pid] for pid in ranks) - entries[launcher] + exits[launcher] - max(exits[pid] for pid in ranks)
    return (around + sum(exits[pid] - entries[pid] for pid in ranks)) / 1e6


def predict(tollgate, trace):
    """{mode: (low, middle, high)} in ms; None: not claimed."""
    modes = [word for mode in PREDICTED for word in ("--mode", mode)]
    run = subprocess.run([tollgate, "filter", "--json", "--match", LIST, *modes, trace], check=True, capture_output=True)
    found = {}
    for column in json.loads(run.stdout)["modes"]:
        low, high = column.get("cost_low_ms", column["cost_ms"]), column.get("cost_high_ms", column["cost_ms"])
        found[column["mode"]] = None if low is None or high is None else (low, column["cost_about_ms"], high)
    return found


def counts(tollgate, trace, mode):
    """What the mode does, as far as it can be counted: of a recording of the mode itself, or of another one."""
    match = ["--match", LIST] if mode in ("medium", "in-process") else []
    run = subprocess.run([tollgate, "filter", "--json", "--mode", mode, *match, trace], check=True, capture_output=True)
    column = json.loads(run.stdout)["modes"][0]
    return {name: column[name] for name in ("stops", "reported", "round_trips", "libraries_handled", "late", "never")}


def check_counts(tollgate, job, work):
    """Differences between what a slow recording says of the other modes and what they did. For one process: the order in
    which several ones are stopped is another one in each run."""
    differences = []
    for mode in PREDICTED:
        said, done = (counts(tollgate, os.path.join(work, kind + ".tgt"), mode) for kind in ("slow", mode))
        differences += ["%s, %s: %s predicted %d, really %d" % (job.name, mode, name, said[name], done[name])
                        for name in said if said[name] != done[name]]
    return differences


def spread(values):
    return statistics.quantiles(values, n=4)[::2] if len(values) > 1 else (values[0], values[0])


def measure(tollgate, job, rounds, until, work, is_live):
    """ROUNDS of them; but after UNTIL (time.monotonic) none but the first three."""
    modes = [mode for mode in MODES if mode != "default" or not is_live]  # live jobs have Slow by default
    times = {mode: [] for mode in modes}
    predictions = {mode: [] for mode in modes if mode != "none"}
    for done in range(rounds):
        if done >= 3 and time.monotonic() > until:
            break
        for mode in modes:
            times[mode].append(run_once(tollgate, job, mode, work, is_live))
            if mode != "none":
                predictions[mode].append(predict(tollgate, os.path.join(work, mode + ".tgt")))
    return times, predictions


def verdicts(job, times, predictions):
    """One row for each kind of recording and each mode predicted."""
    rows = []
    for mode in PREDICTED:
        pairs = [under - none for under, none in zip(times[mode], times["none"])]
        truth, (lower, upper) = statistics.median(pairs), spread(pairs)
        for kind, made in predictions.items():
            claims = [prediction[mode] for prediction in made if prediction.get(mode) is not None]
            row = {"job": job.name, "from": kind, "mode": mode, "truth_ms": truth, "truth_quartiles_ms": (lower, upper)}
            if claims:
                low, middle, high = (statistics.median(claim[i] for claim in claims) for i in range(3))
                row.update(low_ms=low, claim_ms=middle, high_ms=high, claims=len(claims),
                           error=middle / truth - 1 if truth > 0 else None)
            rows.append(row)
    return rows


def print_rows(rows):
    print("%-12s %-10s %-10s %22s %22s %12s" % ("job", "from", "mode", "truth, ms (quartiles)", "predicted, ms", "error"))
    for row in rows:
        truth = "%.1f (%.1f-%.1f)" % (row["truth_ms"], *row["truth_quartiles_ms"])
        if "low_ms" not in row:
            claim, error = "not claimed", ""
        else:
            claim = "%.1f (%.1f to %.1f)" % (row["claim_ms"], row["low_ms"], row["high_ms"])
            error = "%+.0f %%" % (100 * row["error"]) if row["error"] is not None else ""
        print("%-12s %-10s %-10s %22s %22s %12s" % (row["job"], row["from"], row["mode"], truth, claim, error))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", help="build directory with tollgate and tests/bench/")
    parser.add_argument("--rounds", type=int, default=7, help="runs of each mode (default %(default)s)")
    parser.add_argument("--minutes", type=float, default=1e6, help="end after so long, with fewer rounds, but at least three")
    parser.add_argument("--libraries", type=int, default=200, help="libraries that a process loads (default %(default)s)")
    parser.add_argument("--live", action="store_true", help="under `tollgate live` in place of `tollgate record`")
    parser.add_argument("--jobs", default="", help="only these, separated by commas")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a count was predicted wrongly")
    parser.add_argument("--json", help="also write the figures to this file")
    arguments = parser.parse_args()
    build = os.path.abspath(arguments.build)
    tollgate, rows, differences = os.path.join(build, "tollgate"), [], []
    print("load at the beginning: %.1f %.1f %.1f" % os.getloadavg())
    with tempfile.TemporaryDirectory() as work:
        jobs = [job for job in make_jobs(build, work, arguments.libraries)
                if not arguments.jobs or job.name in arguments.jobs.split(",")]
        begun = time.monotonic()
        for i, job in enumerate(jobs, 1):
            if job.missing():
                print("note: %s is missing; left out: %s" % (job.missing(), job.name), file=sys.stderr)
                continue
            rows += verdicts(job, *measure(tollgate, job, arguments.rounds,
                                         begun + 60 * arguments.minutes * i / len(jobs), work, arguments.live))
            if not job.has_ranks and not arguments.live:
                differences += check_counts(tollgate, job, work)
    print_rows(rows)
    print("load at the end: %.1f %.1f %.1f" % os.getloadavg())
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as out:
            json.dump(rows, out, indent=2)
            out.write("\n")
    for difference in differences:
        print("DIFFERENT: " + difference)
    if arguments.check and differences:
        sys.exit(1)
    priced = {(row["from"], row["mode"]) for row in rows if "low_ms" in row}
    wanted = {("default", mode) for mode in PREDICTED}
    if arguments.check and not arguments.live and not wanted <= priced:
        sys.exit("nothing is said of the cost from a default recording")


if __name__ == "__main__":
    main()
