#!/usr/bin/env python3
"""What recording adds to a program's own loop, beside EZTrace (Debian's) in the same run.

usage: price_bench.py BUILD[,BUILD...] [--rounds N] [--option WORD]... [ROW...]

BUILD: build directories whose `tollgate` is measured, in turn; ROW: openmpi/pingpong and so on, all without; --rounds: of each,
5 unless given; --option: a further option of `record`.
For each row: medians of the loop's seconds, natively, under `eztrace -t MODULE` (where it has one for that runtime) and under
`record`; of the whole command's wall time; the recorder's own processor time an event, start and end of the recording included, and
that of a further event (the difference to a run of a quarter of the work); events, lost ones, bytes of the files.
Needs the packages of `cmake/install-packages bench`.
"""
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
# name: how it is built, EZTrace's module, the launcher
KINDS = {
    "openmpi": (["mpicc.openmpi", "-DWITH_MPI"], "openmpi", ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", "2"]),
    "mpich": (["mpicc.mpich", "-DWITH_MPI"], "mpich", ["mpiexec.mpich", "-n", "2"]),
    "gcc": (["gcc", "-fopenmp"], None, []),
    "clang": (["clang", "-fopenmp"], "ompt", []),
}
PATTERNS = {
    "openmpi": {"pingpong": 500000, "collectives": 200000, "halo": 100000},
    "mpich": {"pingpong": 500000, "collectives": 200000, "halo": 100000},
    "gcc": {"criticals": 200000, "barriers": 200000, "regions": 100000, "loops": 20000, "fib": 24, "tree": 12, "sort": 2000000},
    "clang": {"criticals": 200000, "barriers": 200000, "regions": 100000, "loops": 20000, "fib": 24, "tree": 12, "sort": 2000000},
}

RECURSIONS = ["fib", "tree"]  # whose work is exponential in their number


def size(path):
    if os.path.isfile(path):
        return os.path.getsize(path)
    return sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(path) for name in names)


def run(command, folder):
    """(the loop's seconds, the command's)"""
    began = time.monotonic()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    took = time.monotonic() - began
    found = re.findall(r"^(\d+\.\d+)$", done.stdout, re.M)
    if done.returncode != 0 or len(found) != 1:
        sys.exit(f"{' '.join(command)}: exit status {done.returncode}: {done.stdout}{done.stderr}")
    return float(found[0]), took


def record(tollgate, options, command, folder):
    """run's, and the recorder's own processor seconds"""
    trace = os.path.join(folder, "trace")
    whole = [tollgate, "record", "--quiet", "--force", "-o", trace, *options, "--", *command]
    began = time.monotonic()
    child = subprocess.Popen(whole, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    output = child.stdout.read()
    errors = child.stderr.read()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    took = time.monotonic() - began
    with open(f"/proc/{child.pid}/stat", encoding="ascii", errors="replace") as stat:
        fields = stat.read().rpartition(")")[2].split()
    cpu = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    found = re.findall(r"^(\d+\.\d+)$", output, re.M)
    if child.wait() != 0 or len(found) != 1:
        sys.exit(f"{' '.join(whole)}: exit status {child.returncode}: {output}{errors}")
    return float(found[0]), took, cpu


def counts(tollgate, trace):
    """(events, lost ones)"""
    report = json.loads(subprocess.run([tollgate, "report", "--json", trace], capture_output=True, text=True, check=True).stdout)
    return report["trace"]["events"], sum(loss["count"] for loss in report["losses"])


def main():
    rest, builds, rounds, options, rows = sys.argv[1:], None, 5, [], []
    while rest:
        word = rest.pop(0)
        if word == "--rounds":
            rounds = int(rest.pop(0))
        elif word == "--option":
            options.append(rest.pop(0))
        elif builds is None:
            builds = [os.path.join(os.path.abspath(build), "tollgate") for build in word.split(",")]
        else:
            rows.append(word)
    if builds is None:
        sys.exit(__doc__)
    rows = rows or [f"{kind}/{name}" for kind, patterns in PATTERNS.items() for name in patterns]
    with tempfile.TemporaryDirectory() as folder:
        for kind in {row.split("/")[0] for row in rows}:
            compiler = KINDS[kind][0]
            subprocess.run([*compiler, "-O2", "-o", os.path.join(folder, kind), os.path.join(HERE, "price_load.c")], check=True)
        print(f"{'row':22}{'':8}{'loop s':>9}{'added':>8}{'whole s':>9}{'CPU ns/ev':>11}{'further':>9}{'events':>10}{'lost':>6}{'bytes':>12}")
        for row in rows:
            kind, name = row.split("/")
            _, module, launcher = KINDS[kind]
            program = [os.path.join(folder, kind), name, str(PATTERNS[kind][name])]
            small = [*program[:2], str(PATTERNS[kind][name] - 3 if name in RECURSIONS else PATTERNS[kind][name] // 4)]
            further = {build: [] for build in builds}
            seen = {"native": [], "eztrace": [], **{build: [] for build in builds}}
            sizes = {}
            for _ in range(rounds):
                seen["native"].append(run([*launcher, *program], folder))
                if module is not None and shutil.which("eztrace"):
                    shutil.rmtree(os.path.join(folder, "ez"), ignore_errors=True)
                    seen["eztrace"].append(run([*launcher, "eztrace", "-t", module, "-o", os.path.join(folder, "ez"), *program], folder))
                    sizes["eztrace"] = size(os.path.join(folder, "ez"))
                for build in builds:
                    cpu = record(build, options, [*launcher, *small], folder)[2]
                    events = counts(build, os.path.join(folder, "trace"))[0]
                    seen[build].append(record(build, options, [*launcher, *program], folder))
                    sizes[build] = size(os.path.join(folder, "trace"))
                    seen[build][-1] += counts(build, os.path.join(folder, "trace"))
                    further[build].append((seen[build][-1][2] - cpu) / (seen[build][-1][3] - events) * 1e9)
            native = statistics.median(loop for loop, *_ in seen["native"])
            for which, found in seen.items():
                if not found:
                    continue
                loop, whole = [statistics.median(column) for column in list(zip(*found))[:2]]
                line = f"{row if which == 'native' else '':22}{which if '/' not in which else 'record':8}{loop:9.3f}{loop - native:8.3f}{whole:9.2f}"
                if which in builds:
                    cpu = statistics.median(each[2] / each[3] * 1e9 for each in found)
                    line += f"{cpu:11.0f}{statistics.median(further[which]):9.0f}{found[-1][3]:10d}{sum(each[4] for each in found):6d}"
                else:
                    line += f"{'':36}"
                print(f"{line}{sizes.get(which, ''):>12}".rstrip(), flush=True)


if __name__ == "__main__":
    main()
