#!/usr/bin/env python3
"""Time and memory of the commands that read a trace, on a trace of many events.

usage: analyze_bench.py TOLLGATE TRACE [--runs N]
   or: analyze_bench.py --make TRACE_FROM_JSON TRACE [--events N]
   or: analyze_bench.py --report TOLLGATE BUILD [--events N] [--runs N]

--make writes a job of 64 ranks whose threads and library loads make up about N events (default a million).
--report makes a trace of N events (default 100 million) of 16 ranks with 4 OpenMP threads each, in a temporary directory, and
prints what reading it costs, by the programs in BUILD/tests/bench, and what the commands cost.
Prints, for each command, the best wall time of N runs, events a second, and a bound on the peak resident memory (that of the interpreter counts: it was there before the exec).
"""
import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

COMMANDS = (
    ("report",),
    ("report", "--json"),
    ("dump", "--json"),
    ("dump",),
    ("dump", "--chrome"),
    ("dump", "--json", "--kind", "signal"),
)


def events(count):
    """A few kinds in the proportion of a job that loads plug-ins: per round a load, a null event, a decision, a thread."""
    start, ranks = 10**12, 64
    yield {"meta": {"tool.version": "bench", "command.0": "bench", "start.monotonic_ns": str(start)}}

    def event(t_ns, pid, kind, tid=None, stop_ns=0, **fields):
        line = {"t_ns": start + t_ns}
        if stop_ns:
            line["stop_ns"] = stop_ns
        line.update({"pid": pid, "tid": tid or pid, "kind": kind, **fields})
        return line

    for rank in range(ranks):
        pid = 1000 + rank
        yield event(rank, pid, "process_start", origin="fork", parent_pid=999)
        yield event(rank, pid, "exec", path="/home/user/app", former_tid=pid)
        yield event(rank, pid, "identity", host="node", job="1", source="PMI_RANK", rank=rank, size=ranks)
    for i in range(count // 5):
        pid, t_ns, tid = 1000 + i % ranks, 1000000 + i * 10000, 100000 + i
        library = {"path": f"/opt/app/lib/plugins/libplugin{i // ranks % 400:04d}.so",
                   "build_id": f"{i // ranks % 400:040x}", "base": hex(0x7f0000000000 + i * 0x1000), "size_bytes": 16384,
                   "link_map": hex(0x555500000000 + i * 1200), "dependency": False}
        yield event(t_ns, pid, "library_null", stop_ns=9000 + i % 1000, state=1)
        yield event(t_ns + 20, pid, "library_load", stop_ns=40000 + i % 9000, found="loader", namespace=0, state=0,
                    read_ns=12000 + i % 700, handle_ns=9000, libraries=[library])
        yield event(t_ns + 20, pid, "filter_decision", decision="reported", rule="always_recalculate", pattern="",
                    library="")
        yield event(t_ns + 40, pid, "thread_start", tid=tid, parent_tid=pid)
        yield event(t_ns + 60, pid, "thread_exit", tid=tid, status=0)
    for rank in range(ranks):
        yield event(10**10 * 3, 1000 + rank, "process_exit", how="exited", status=0, core_dumped=False)


def make(trace_from_json, trace, count):
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as text:
        for line in events(count):
            text.write(json.dumps(line) + "\n")
        text.flush()
        subprocess.run([trace_from_json, text.name, trace], check=True)


def measure(command):
    """Wall time in s and peak resident memory in KiB of one run, output thrown away."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        begin = time.monotonic()
        with open(os.devnull, "wb") as nowhere:
            done = subprocess.run(command, stdout=nowhere)
        wall = time.monotonic() - begin
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        os.write(writer, f"{wall} {peak} {done.returncode}".encode())
        os._exit(0)
    os.close(writer)
    wall, peak, status = os.read(reader, 100).split()
    os.close(reader)
    os.waitpid(child, 0)
    if int(status) != 0:
        sys.exit(f"{command}: exit status {int(status)}")
    return float(wall), int(peak)


def measure_report(tollgate, build, count, runs):
    bench = os.path.join(build, "tests/bench")
    with tempfile.TemporaryDirectory() as directory:
        trace = os.path.join(directory, "many.tgt")
        subprocess.run([os.path.join(bench, "make_openmp_trace"), trace, str(count), "4", "16", "mpi"], check=True)
        subprocess.run([os.path.join(bench, "trace_bench"), "--read", trace], check=True)
        diagram = os.path.join(directory, "diagram.svg")
        for words in (["filter"], ["report"], ["sequence", "--force", "-o", diagram], ["dump"], ["dump", "--json"],
                      ["dump", "--kind", "note"]):
            best, peak = None, 0
            for _ in range(runs):
                child = subprocess.Popen([tollgate, *words, trace], stdout=subprocess.DEVNULL)
                _, status, usage = os.wait4(child.pid, 0)
                if status != 0:
                    sys.exit(f"{words}: wait status {status}")
                spent = usage.ru_utime + usage.ru_stime
                best, peak = spent if best is None else min(best, spent), max(peak, usage.ru_maxrss)
            print(f"{' '.join(words[:2]):30} {best:8.2f} s of a core {count / best / 1e6:8.2f} M events/s {peak / 1024:.0f} MiB")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--make", action="store_true")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--events", type=int)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("tool")
    parser.add_argument("trace")
    arguments = parser.parse_args()
    if arguments.make:
        make(arguments.tool, arguments.trace, arguments.events or 1000000)
        return
    if arguments.report:
        measure_report(arguments.tool, arguments.trace, arguments.events or 100000000, arguments.runs)
        return
    report = subprocess.run([arguments.tool, "report", "--json", arguments.trace], capture_output=True, check=True)
    count = json.loads(report.stdout)["trace"]["events"]
    print(f"{count} events, {os.path.getsize(arguments.trace)} bytes")
    for words in COMMANDS:
        runs = [measure([arguments.tool, *words, arguments.trace]) for _ in range(arguments.runs)]
        wall, peak = min(run[0] for run in runs), max(run[1] for run in runs)
        print(f"{' '.join(words):30} {wall:8.2f} s {count / wall / 1e6:8.2f} M events/s <= {peak / 1024:.0f} MiB")


main()
