#!/usr/bin/env python3
"""How fast does the live console control many threads? Measures tollgate beside gdb (MI) in one run.

usage: live_bench.py BUILD [--rounds N] [--threads N] [--fifo] [--without gdb]

Both debuggers are driven through a pipe, each on a job of its own that is the same program (tests/bench/live_load.c):
stop-all and go-all of many threads, a line that 64 threads come to, and, tollgate alone, a barrier of 256 threads and
the time that the prompt takes while many threads run. What is measured is from a command's sending to the answer that it
is done, but for the barrier, of which the trace tells. The commands at the prompt are dptsets, dbreak (with its delete not
counted), and the halt of one thread up to the moment when it is stopped.
"""
import argparse
import json
import os
import re
import select
import statistics
import subprocess
import sys
import tempfile
import time

TIME_LIMIT_S = 120


class Peer:
    """A program that is talked to in lines."""

    def __init__(self, command, **options):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options)
        self.pending = b""

    def send(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def line(self):
        until = time.monotonic() + TIME_LIMIT_S
        while b"\n" not in self.pending:
            if not select.select([self.process.stdout], [], [], max(0, until - time.monotonic()))[0]:
                raise TimeoutError(f"no answer of {self.process.args[0]}")
            more = os.read(self.process.stdout.fileno(), 1 << 20)
            if not more:
                raise EOFError(f"{self.process.args[0]} ended")
            self.pending += more
        line, self.pending = self.pending.split(b"\n", 1)
        return line.decode("utf-8", "replace")


class Tollgate(Peer):
    def __init__(self, build, work, pid):
        super().__init__([os.path.join(build, "tollgate"), "live", "--json", "-q", "--run", "--force", "-o",
                          os.path.join(work, "bench.tgt"), "-p", str(pid)])
        self.line()
        self.events = []

    def do(self, command):
        self.send(json.dumps({"id": 1, "command": command}))
        while True:
            answer = json.loads(self.line())
            if answer["type"] == "result":
                if not answer["ok"]:
                    raise ValueError(f"{command}: {answer['error']}")
                return answer["text"]
            self.events.append((time.monotonic_ns(), answer))

    def stop_all(self):
        self.do("dfocus a {dhalt; dwait}")

    def go_all(self):
        self.do("dfocus a dgo")

    def come_to_line(self, n_threads):
        """All of them are stopped at the line, each for its own."""
        number = self.do("dfocus g1 {dbreak come_by -t}").strip()
        self.do("dfocus a dwait")
        shown = self.do("dptsets breakpoint(a)")
        if not re.search(rf"\d+:{n_threads}\[", shown):
            raise ValueError(f"not all of {n_threads} came to the line: {shown}")
        return number

    def leave_line(self, number):
        self.do(f"ddelete {number}")
        self.go_all()

    def leave(self):
        self.send("quit -detach")
        self.process.stdin.close()
        while json.loads(self.line())["type"] != "bye":
            pass
        self.process.wait()


class Gdb(Peer):
    def __init__(self, pid, non_stop):
        super().__init__(["gdb", "-nx", "-q", "--interpreter=mi3", "-iex", "set debuginfod enabled off"],
                         stderr=subprocess.DEVNULL)
        self.non_stop = non_stop
        self.number = 0
        self.stopped = 0
        for command in ("-gdb-set mi-async on", f"-gdb-set non-stop {'on' if non_stop else 'off'}", "-gdb-set pagination off",
                        f"-target-attach {pid}"):
            self.do(command)
        self.await_stops(self.n_threads() if non_stop else 1)

    def do(self, command):
        self.number += 1
        self.send(f"{self.number}{command}")
        while True:
            line = self.line()
            self.stopped += line.startswith("*stopped")
            if line.startswith(f"{self.number}^"):
                if "^error" in line:
                    raise ValueError(f"{command}: {line}")
                return line

    def n_threads(self):
        return int(re.search(r"number-of-threads=\"(\d+)\"", self.do("-thread-list-ids")).group(1))

    def await_stops(self, count):
        while self.stopped < count:
            self.stopped += self.line().startswith("*stopped")

    def stop_all(self):
        self.stopped = 0
        self.do("-exec-interrupt --all")
        self.await_stops(1)

    def go_all(self):
        self.do("-exec-continue --all")

    def come_to_line(self, n_threads):
        self.stopped = 0
        self.do("-break-insert come_by")
        self.await_stops(n_threads)

    def leave_line(self, _):
        self.do("-break-delete")
        self.go_all()

    def leave(self):
        self.send("-gdb-exit")
        self.process.wait()


def timed(what):
    start = time.monotonic_ns()
    what()
    return (time.monotonic_ns() - start) / 1e6


def start_load(build, n_threads):
    nap_us = 1000 if n_threads <= 64 else 20000  # the machine is not to be busy with the naps' ends alone
    load = subprocess.Popen([os.path.join(build, "tests/bench/live_load"), str(n_threads), str(nap_us)], stdout=subprocess.PIPE)
    load.stdout.readline()
    return load


def measure_all(peer, rounds):
    """Milliseconds of stop-all and go-all."""
    stops, goes = [], []
    for _ in range(rounds):
        stops.append(timed(peer.stop_all))
        goes.append(timed(peer.go_all))
        time.sleep(0.05)  # they run a while
    return statistics.median(stops), statistics.median(goes)


def measure_line(peer, n_threads, rounds):
    samples = []
    for _ in range(rounds):
        place = []
        samples.append(timed(lambda: place.append(peer.come_to_line(n_threads))))
        peer.leave_line(place[0])
        time.sleep(0.05)
    return statistics.median(samples)


def measure_prompt(peer, rounds):
    """Medians and worst times of commands while the threads run."""
    samples = {"dptsets": [], "dbreak": [], "dhalt of one": []}
    for _ in range(rounds):
        samples["dptsets"].append(timed(lambda: peer.do("dptsets")))
        place = []
        samples["dbreak"].append(timed(lambda: place.append(peer.do("dfocus g1 {dbreak main -t}").strip())))
        peer.do(f"ddelete {place[0]}")
        samples["dhalt of one"].append(timed(lambda: peer.do("dfocus t1.5 {dhalt; dwait}")))
        peer.do("dfocus t1.5 dgo")
    return {name: (statistics.median(times), max(times)) for name, times in samples.items()}


def measure_barrier(build, work, n_threads, rounds):
    """What the trace and the console tell of a barrier of N_THREADS, satisfied again and again: microseconds by what."""
    load = start_load(build, n_threads)
    peer = Tollgate(build, work, load.pid)
    try:
        peer.do("dfocus gW {dbarrier come_by -stop_when_hit none -stop_when_done none}")
        for left in reversed(range(rounds)):
            peer.do("dfocus a dwait")
            if left:
                peer.do("dfocus a dgo")
        peer.do("expr 1")
        peer.leave()
    finally:
        load.kill()
        load.wait()
    dump = subprocess.run([os.path.join(build, "tollgate"), "dump", "--json", os.path.join(work, "bench.tgt")], check=True,
                          capture_output=True, text=True).stdout
    events = [json.loads(line) for line in dump.splitlines()]
    stops = {event["t_ns"]: event["stop_ns"] / 1e3 for event in events if event.get("stop_ns")}
    satisfied = [event["t_ns"] for event in events if event.get("kind") == "barrier_satisfied"]
    arrivals = [event["t_ns"] for event in events if event.get("kind") == "barrier_arrival"]
    last = [stops[at] for at in satisfied]
    told = [at for at, event in peer.events if "satisfied" in json.dumps(event)]
    return {"last arrival to satisfied and all released, us": statistics.median(last),
            "  the first time": last[0],
            "  a stop of an arrival that is not the last": statistics.median(stops[at] for at in arrivals if at not in satisfied),
            "last arrival to the console's news, us": statistics.median((b - a) / 1e3 for a, b in zip(satisfied, told)),
            "times satisfied": len(satisfied)}


def with_peer(build, make, n_threads, measure):
    load = start_load(build, n_threads)
    peer = None
    try:
        peer = make(load.pid)
        result = measure(peer)
        peer.leave()
        return result
    finally:
        if peer is not None:
            peer.process.kill()  # whoever traces the load would keep it
        load.kill()
        load.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", help="build directory with tollgate and tests/bench/")
    parser.add_argument("--rounds", type=int, default=7, help="of each measurement (default %(default)s)")
    parser.add_argument("--threads", type=int, default=500, help="for stop-all and go-all (default %(default)s)")
    parser.add_argument("--line-threads", type=int, default=64, help="that come to the line (default %(default)s)")
    parser.add_argument("--barrier-threads", type=int, default=256, help="of the barrier (default %(default)s)")
    parser.add_argument("--without", default="", help="gdb: leave it out")
    parser.add_argument("--fifo", action="store_true", help="run with real-time priority, against a busy machine's noise")
    arguments = parser.parse_args()
    build = os.path.abspath(arguments.build)
    if arguments.fifo:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    rows = {}
    with tempfile.TemporaryDirectory() as work:
        def tollgate(pid):
            return Tollgate(build, work, pid)

        def add(name, make, non_stop_make):
            stop, go = with_peer(build, make, arguments.threads, lambda peer: (peer.go_all(), measure_all(peer, arguments.rounds))[1])
            line = with_peer(build, non_stop_make, arguments.line_threads,
                             lambda peer: (peer.go_all(), measure_line(peer, arguments.line_threads, arguments.rounds))[1])
            rows[name] = {"stop all": stop, "go all": go, "line": line}

        add("tollgate", tollgate, tollgate)
        if "gdb" not in arguments.without:
            add("gdb", lambda pid: Gdb(pid, False), lambda pid: Gdb(pid, True))
        def busy(peer):
            peer.do("dfocus g1 {dbreak come_by -t -if {$rdi < 0}}")
            return measure_prompt(peer, arguments.rounds * 5)

        prompts = {f"{arguments.threads} threads run": with_peer(build, tollgate, arguments.threads,
                                                                 lambda peer: measure_prompt(peer, arguments.rounds * 5))}
        for n_threads in (arguments.line_threads, arguments.threads):
            prompts[f"{n_threads} hit a false condition"] = with_peer(build, tollgate, n_threads, busy)
        barrier = measure_barrier(build, work, arguments.barrier_threads, arguments.rounds)
    print(f"{'milliseconds, median of ' + str(arguments.rounds):34s} {f'stop {arguments.threads}':>10s} "
          f"{f'go {arguments.threads}':>10s} {f'line, {arguments.line_threads}':>10s}")
    for name, row in rows.items():
        print(f"{name:34s} {row['stop all']:10.2f} {row['go all']:10.2f} {row['line']:10.2f}")
    if "gdb" in rows:
        for what, aim in (("stop all", 5), ("go all", None), ("line", None)):
            ratio = rows["gdb"][what] / rows["tollgate"][what]
            verdict = "" if aim is None else f"   aim >= {aim}: {'met' if ratio >= aim else 'MISSED'}"
            print(f"{what + ', gdb / tollgate':34s} {ratio:10.1f}{verdict}")
    print(f"{'milliseconds, median (worst)':34s}" + "".join(f"{what:>22s}" for what in ("dptsets", "dbreak", "dhalt of one")))
    for name, row in prompts.items():
        print(f"{name:34s}" + "".join(f"{f'{median:.2f} ({worst:.2f})':>22s}" for median, worst in row.values()))
    for what, value in barrier.items():
        print(f"{f'barrier of {arguments.barrier_threads}: {what}':60s} {value:10.1f}")


if __name__ == "__main__":
    main()
