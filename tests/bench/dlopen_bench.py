#!/usr/bin/env python3
"""What does a debugger's look at every dlopen cost? Measures tollgate beside gdb, lldb and two floors in one run.

A program dlopens N generated libraries; it times its own loop. It runs natively, under a tracer that does no more
than it must at a loader stop, under one that only follows forks, under `tollgate record` in slow and fast mode and
with the agent in place of stops, and under gdb and lldb; the debuggers and tollgate have one pending breakpoint that no library has (tollgate slow also
runs without, as the minimal tracer does). Runs are interleaved; the figures are medians. Nothing fails here on
timing: ratios are printed beside the aims.

    dlopen_bench.py BUILD-DIRECTORY [--sizes 100,400,1600] [--rounds N] [--json FILE] ...
"""
import argparse
import json
import os
import platform
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import make_libraries  # noqa: E402 (beside this file)

BREAKPOINT = "no_library_has_this_function"


class Tool:
    """One way to run the program: COMMAND(program's argument list, scratch directory) -> argument list."""

    def __init__(self, name, needs, command, max_size=None, rounds=None):
        self.name = name
        self.needs = needs
        self.command = command
        self.max_size = max_size
        self.rounds = rounds

    def missing(self):
        return shutil.which(self.needs) is None


def make_tools(build, arguments):
    tollgate = os.path.join(build, "tollgate")
    floor = os.path.join(build, "tests/bench/floor_tracer")

    def record(mode, *options):
        # no agent for OpenMP and MPI: the tools beside look at libraries alone
        return lambda program, work: [tollgate, "record", "--quiet", "-o", os.path.join(work, "trace.tgt"),
                                      "--openmp=off", "--mpi=off", "--mode", mode, *options, "--"] + program

    def by_agent(program, work):
        return [tollgate, "record", "--quiet", "-o", os.path.join(work, "trace.tgt"), "--dlopen=agent", "--"] + program

    def gdb(program, _):
        return ["gdb", "-nx", "-q", "-batch", "-ex", "set breakpoint pending on", "-ex", "set debuginfod enabled off",
                "-ex", "break " + BREAKPOINT, "-ex", "run", "--args"] + program

    def lldb(program, _):
        return ["lldb", "--no-lldbinit", "--batch", "-o", "breakpoint set --name " + BREAKPOINT, "-o", "run",
                "--"] + program

    return [
        Tool("native", "true", lambda program, _: program),
        Tool("minimal tracer", floor, lambda program, _: [floor, "--stops"] + program),
        Tool("fork-only tracer", floor, lambda program, _: [floor, "--forks"] + program),
        Tool("tollgate slow", tollgate, record("slow", "--break", BREAKPOINT)),
        Tool("  no breakpoint", tollgate, record("slow")),
        Tool("tollgate fast", tollgate, record("fast", "--break", BREAKPOINT)),
        Tool("tollgate agent", tollgate, by_agent),
        Tool("gdb", "gdb", gdb, arguments.gdb_max, arguments.debugger_rounds),
        Tool("lldb", "lldb", lldb, arguments.lldb_max, arguments.debugger_rounds),
    ]


def children_cpu_ms():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) * 1e3


def run_once(tool, storm, libraries, size, timeout_s):
    """Milliseconds of the program's loop, of the whole command, and of processor time of all that it ran; or a
    reason why there are none."""
    with tempfile.TemporaryDirectory() as work:
        result = os.path.join(work, "result")
        command = tool.command([storm, libraries, str(size), result], work)
        start, start_cpu_ms = time.monotonic(), children_cpu_ms()
        with open(os.path.join(work, "output"), "wb") as output:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=work,
                                       start_new_session=True)
            try:
                status = process.wait(timeout_s)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                return None, "took longer than %d s" % timeout_s
        total_ms = (time.monotonic() - start) * 1e3
        try:
            with open(result, encoding="ascii") as file:
                return (float(file.read()), total_ms, children_cpu_ms() - start_cpu_ms), None
        except (OSError, ValueError):
            with open(os.path.join(work, "output"), encoding="utf-8", errors="replace") as output:
                last = (output.read().strip().splitlines() or [""])[-1]
            return None, "gave no result (status %d): %s" % (status, last[:120])


def measure(tools, storm, libraries, size, arguments):
    """{tool name: {"loop_ms": ..., "total_ms": ..., "cpu_ms": ..., "runs": ...}}; tools that fail or are too slow are left out."""
    samples = {tool.name: [] for tool in tools}
    given_up = set()
    for number in range(arguments.rounds):
        for tool in tools:
            if tool.name in given_up or (tool.max_size is not None and size > tool.max_size):
                continue
            if tool.rounds is not None and number >= tool.rounds:
                continue
            sample, why = run_once(tool, storm, libraries, size, arguments.timeout)
            if sample is None:
                print("note: %s at %d libraries %s" % (tool.name, size, why), file=sys.stderr)
                given_up.add(tool.name)
            else:
                samples[tool.name].append(sample)
    names = ("loop_ms", "total_ms", "cpu_ms")
    return {name: {"runs": len(runs), **{what: statistics.median(run[i] for run in runs)
                                         for i, what in enumerate(names)}}
            for name, runs in samples.items() if runs}


def print_table(results):
    print("%-18s %6s %5s %12s %12s %14s %12s" % ("", "N", "runs", "loop ms", "added ms", "added us/open", "CPU ms"))
    for size, row in results.items():
        for name, figures in row.items():
            added = figures["loop_ms"] - row["native"]["loop_ms"]
            print("%-18s %6d %5d %12.2f %12.2f %14.1f %12.2f" % (name, size, figures["runs"], figures["loop_ms"],
                                                                 added, added * 1e3 / size, figures["cpu_ms"]))


def ratios(results):
    """[(what, value, aim)]; value and aim are upper bounds read alike."""
    found = []

    def added(size, name):
        row = results.get(size, {})
        if name not in row or "native" not in row:
            return None
        return row[name]["loop_ms"] - row["native"]["loop_ms"]

    def ratio(what, numerator, denominator, aim):
        if numerator is not None and denominator is not None and denominator > 0:
            found.append((what, numerator / denominator, aim))

    for size in results:
        aim = {400: 1 / 40, 1600: 1 / 100}.get(size)
        ratio("added by tollgate slow / by gdb, N=%d" % size, added(size, "tollgate slow"), added(size, "gdb"), aim)
        ratio("added by tollgate slow / by lldb, N=%d" % size, added(size, "tollgate slow"), added(size, "lldb"), None)
        ratio("added by tollgate slow / by minimal tracer, N=%d" % size, added(size, "tollgate slow"),
              added(size, "minimal tracer"), 1.5)
        ratio("  the same without a breakpoint to look for, N=%d" % size, added(size, "  no breakpoint"),
              added(size, "minimal tracer"), 1.5)
        row = results[size]
        if "tollgate agent" in row:
            ratio("loop under the agent / native, N=%d" % size, row["tollgate agent"]["loop_ms"],
                  row["native"]["loop_ms"], None)
            ratio("added by the agent / by tollgate slow, no breakpoint, N=%d" % size, added(size, "tollgate agent"),
                  added(size, "  no breakpoint"), None)
        if "tollgate fast" in row and "fork-only tracer" in row:
            ratio("loop under tollgate fast / fork-only tracer, N=%d" % size, row["tollgate fast"]["loop_ms"],
                  row["fork-only tracer"]["loop_ms"], 1.05)
    sizes = sorted(results)

    def cpu_growth(name):
        """Processor time added by each dlopen beyond the smallest size: what a busy machine does not blur."""
        first, last = results[sizes[0]], results[sizes[-1]]
        if any(one not in row for one in (name, "native") for row in (first, last)):
            return None
        return last[name]["cpu_ms"] - last["native"]["cpu_ms"] - first[name]["cpu_ms"] + first["native"]["cpu_ms"]

    if len(sizes) > 1:
        for name in ("tollgate slow", "  no breakpoint", "gdb"):
            ratio("processor time added per dlopen, %s / minimal tracer" % name.strip(), cpu_growth(name),
                  cpu_growth("minimal tracer"), None)
        for name in ("tollgate slow", "minimal tracer", "gdb", "lldb"):
            first, last = added(sizes[0], name), added(sizes[-1], name)
            if first is not None and last is not None:
                ratio("added per dlopen by %s, N=%d / N=%d" % (name, sizes[-1], sizes[0]), last / sizes[-1],
                      first / sizes[0], 1.5 if name == "tollgate slow" else None)
    return found


def print_ratios(found):
    print()
    for what, value, aim in found:
        shown = "1/%.0f" % (1 / value) if 0 < value < 0.5 else "%.2f" % value
        wanted = "" if aim is None else "aim <= " + ("1/%.0f" % (1 / aim) if aim < 0.5 else "%.2f" % aim)
        verdict = "" if aim is None else "lost in noise" if value < 0 else "met" if value <= aim else "MISSED"
        print("%-62s %8s   %-13s %s" % (what, shown, wanted, verdict))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", help="build directory with tollgate and tests/bench/")
    parser.add_argument("--sizes", default="100,400,1600", help="numbers of libraries (default %(default)s)")
    parser.add_argument("--rounds", type=int, default=9, help="runs of each tool (default %(default)s)")
    parser.add_argument("--debugger-rounds", type=int, default=1, help="runs of gdb and lldb (default %(default)s)")
    parser.add_argument("--gdb-max", type=int, default=1600, help="most libraries for gdb (default %(default)s)")
    parser.add_argument("--lldb-max", type=int, default=400, help="most libraries for lldb (default %(default)s)")
    parser.add_argument("--without", default="", help="tools to leave out, e.g. gdb,lldb")
    parser.add_argument("--timeout", type=int, default=180, help="seconds for one run (default %(default)s)")
    parser.add_argument("--json", help="also write the figures to this file")
    arguments = parser.parse_args()
    build = os.path.abspath(arguments.build)
    sizes = sorted(int(size) for size in arguments.sizes.split(","))
    tools = []
    for tool in make_tools(build, arguments):
        if tool.name in arguments.without.split(","):
            continue
        if tool.missing():
            print("note: %s is missing and left out" % tool.needs, file=sys.stderr)
        else:
            tools.append(tool)
    storm = os.path.join(build, "tests/bench/dlopen_storm")
    with tempfile.TemporaryDirectory() as libraries:
        make_libraries.make(libraries, sizes[-1])
        results = {size: measure(tools, storm, libraries, size, arguments) for size in sizes}
    print_table(results)
    found = ratios(results)
    print_ratios(found)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as out:
            json.dump({"machine": platform.machine(), "kernel": platform.release(), "cpus": os.cpu_count(),
                       "results": [{"libraries": size, "tool": name, **figures}
                                   for size, row in results.items() for name, figures in row.items()],
                       "ratios": [{"what": what, "value": value, "aim": aim} for what, value, aim in found]}, out,
                      indent=2)
            out.write("\n")


if __name__ == "__main__":
    main()
