#!/usr/bin/env python3
"""Workers at gates: how long from the last arrival until all are stopped, and what the longest commands were spent on.

usage: gates_bench.py BUILD gcc|clang [WORKERS [TIMES]]      BUILD: a build directory; 64 workers, 100 times unless given

`opm barrier pass` and `opm all_out`, TIMES times each, as in tests/e2e/live/opm_many.py, which also checks that all workers are stopped
behind the zone. With the right to trace what Linux schedules (/sys/kernel/tracing) each of the longest commands is taken apart:
ours     some thread of tollgate or of the job had a processor
others   none had one, but some was ready: other programs, or the kernel, had all of them
nobody   none of them could run: they waited for something else
What the host of a virtual machine takes away (steal) is not seen there, and part of the other columns; its sum over the run is told.
"""
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TRACING = "/sys/kernel/tracing/instances/tollgate_gates_bench"
EVENTS = ["sched_switch", "sched_wakeup", "sched_wakeup_new", "sched_process_fork"]
LONGEST = 5
EVENT = re.compile(r".{17,}?\[(\d+)\] \S+ +(\d+\.\d+): (\w+): (.*)")
SWITCH = re.compile(r"prev_comm=.* prev_pid=(\d+) prev_prio=\S+ prev_state=(\S+) ==> next_comm=.* next_pid=(\d+)")
FORK = re.compile(r"comm=.* pid=(\d+) child_comm=.* child_pid=(\d+)")
WAKEUP = re.compile(r"comm=.* pid=(\d+) prio")


class Scheduling:
    """What Linux schedules from now on, where that may be traced."""

    def __init__(self):
        self.is_known = True
        try:
            os.makedirs(TRACING, exist_ok=True)
            self.set("tracing_on", "0")
            self.set("trace_clock", "mono")
            self.set("buffer_size_kb", "65536")
            for event in EVENTS:
                self.set(f"events/sched/{event}/enable", "1")
            self.set("tracing_on", "1")
        except OSError as error:
            print(f"what the longest were spent on is not known: {error}")
            self.is_known = False

    @staticmethod
    def set(name, value):
        with open(f"{TRACING}/{name}", "w", encoding="utf-8") as file:
            file.write(value)

    def end(self):
        """The events: ns, processor, kind, the rest of the line."""
        if not self.is_known:
            return []
        self.set("tracing_on", "0")
        events = []
        with open(f"{TRACING}/trace", encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if (found := EVENT.match(line)) is not None:
                    events.append((round(float(found[2]) * 1e6) * 1000, int(found[1]), found[3], found[4]))
        os.rmdir(TRACING)
        return sorted(events, key=lambda event: event[0])


def spent(events, pid, windows):
    """For each of the windows (begin, end) ns of [ours, others, nobody]: PID and what it has forked are ours."""
    ours, ready, running = {pid}, set(), {}
    sums, last_ns = [[0, 0, 0] for _ in windows], 0
    for ns, processor, kind, text in events:
        state = 0 if any(tid in ours for tid in running.values()) else 1 if ready else 2
        for (begin, end), each in zip(windows, sums):
            each[state] += max(0, min(ns, end) - max(last_ns, begin))
        last_ns = ns
        if kind == "sched_process_fork" and (found := FORK.match(text)):
            if int(found[1]) in ours:
                ours.add(int(found[2]))
        elif kind == "sched_switch" and (found := SWITCH.match(text)):
            former, tid = int(found[1]), int(found[3])
            running[processor] = tid
            ready.discard(tid)
            if former in ours and found[2][0] == "R":
                ready.add(former)
        elif (found := WAKEUP.match(text)) and int(found[1]) in ours and int(found[1]) not in running.values():
            ready.add(int(found[1]))
    return sums


def steal_ms():
    with open("/proc/stat", encoding="utf-8") as file:
        return int(file.readline().split()[8]) * 1000 / os.sysconf("SC_CLK_TCK")


def commands(tollgate, trace):
    """The commands that were measured: name, last arrival, all stopped (ns of the clock that Linux traces with)."""
    kinds = "control_command,control_stopped,omp_sync_end,omp_mutex_leave"
    done = subprocess.run([tollgate, "dump", "--json", "--kind", kinds, trace], capture_output=True, text=True, check=True)
    found, arrival, stopped = [], 0, 0
    for event in map(json.loads, done.stdout.splitlines()):
        if event["kind"] == "control_stopped":
            stopped = event["t_ns"]
        elif event["kind"] != "control_command":
            arrival = event["t_ns"]
        elif event["command"] in ("opm barrier pass", "opm all_out"):
            found.append((event["command"], arrival, stopped))
    return found


def main():
    build, compiler, workers, times = (sys.argv[1:] + ["64", "100"][len(sys.argv) - 3:])[:4]
    os.environ["TG_TOLLGATE"] = tollgate = os.path.join(os.path.abspath(build), "tollgate")
    scenario = os.path.join(HERE, "../e2e/live/opm_many.py")
    with tempfile.TemporaryDirectory() as folder:
        before, load, scheduling = steal_ms(), os.getloadavg()[0], Scheduling()
        job = subprocess.Popen([sys.executable, os.path.abspath(scenario), compiler, workers, times], cwd=folder)
        if job.wait() != 0:
            sys.exit("the scenario failed")
        events = scheduling.end()
        stolen = steal_ms() - before
        found = commands(tollgate, os.path.join(folder, "trace.tgt"))
    took = [(stopped - arrival) / 1e6 for _, arrival, stopped in found]
    print(f"{compiler}, {workers} workers, {len(took)} commands, load {load:.1f}: median {statistics.median(took):.2f} ms, "
          f"99 of 100 {sorted(took)[len(took) * 99 // 100]:.2f}, most {max(took):.2f}; steal in the whole run {stolen:.0f} ms")
    longest = sorted(found, key=lambda command: command[1] - command[2])[:LONGEST]
    if not events:
        return
    print(f"{'the longest':18}{'ms':>8}{'ours':>8}{'others':>8}{'nobody':>8}")
    for (name, arrival, stopped), parts in zip(longest, spent(events, job.pid, [command[1:] for command in longest])):
        print(f"{name:18}{(stopped - arrival) / 1e6:8.2f}" + "".join(f"{part / 1e6:8.2f}" for part in parts))


main()
