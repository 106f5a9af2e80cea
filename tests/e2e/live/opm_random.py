#!/usr/bin/env python3
"""Random `opm` commands, with holds, interrupts and detaching in between, on a program that uses every construct of OpenMP,
nested, with tasks and cancellation. Nobody hangs or is lost, nobody stays in a gate, and the program's output is as natively.
The recorded trace, gone to the moment of each stop, says the same of every worker and barrier as the live job did. Some sessions end by
a SIGKILL of the console in the middle of a command: nothing of the job is left then, and its trace can be recovered.

usage: opm_random.py gcc|clang|g++|clang++ SEED COMMANDS      g++, clang++: the program as C++
The campaign: for s in $(seq 20); do opm_random.py gcc $s 1000; done, with $TG_TOLLGATE, $TG_SOURCE, and support/ in $PYTHONPATH.
"""
import json
import os
import random
import re
import subprocess
import sys
import time

from live_console import LiveConsole, fail, status_of

TOLLGATE = os.environ["TG_TOLLGATE"]
SOURCE = os.path.join(os.environ["TG_SOURCE"], "tests/programs/opm_all.c")
ROUNDS, THREADS = "40", "4"
BUILD = {"gcc": ["gcc", "-DCANCEL_PARALLEL"], "clang": ["clang"],  # LLVM's cancel parallel hangs by itself
         "g++": ["g++", "-x", "c++", "-DCANCEL_PARALLEL"], "clang++": ["clang++", "-x", "c++"]}
ZONES = ["parallel", "single", "critical", "task", "sections", "barrier", "master", "loop"]
SLOWNESS = float(os.environ.get("TG_SLOWNESS", "1"))  # of a campaign at nice 19
COMMAND_S = 20 * SLOWNESS  # no command takes longer
END_S = 90 * SLOWNESS  # nor the program once it is let go, on a busy machine
REFUSALS = r"""no\ team\ is\ at\ a\ barrier|no\ team\ of\ worker|is\ not\ inside|already\ in\ parallel|without\ (reaching|entering)|no\ other\ worker\ enters
|does\ not\ tell\ where\ a\ section|is\ held\ and\ cannot\ arrive|no\ current\ worker|not\ (running|stopped)|has\ ended|have\ ended
|up\ to\ the\ end\ of\ the\ region|nothing\ was\ run|there\ is\ no\ thread|all\ workers\ in\ focus\ are|there\ is\ no\ agent|stopped\ or\ ended|no\ thread\ can\ arrive|has\ no\ thread|still\ running\ after|interrupted"""


class Session:
    def __init__(self, compiler, rng, wanted):
        self.random, self.wanted = rng, wanted
        self.console = LiveConsole("-o", "random.tgt", "--force", "--", "./all", ROUNDS, THREADS, stderr=open("result", "wb"))
        self.held = set()
        self.moments = []  # event, workers and barriers at each stop
        self.trace = "random.tgt"  # where the same is to be found

    def one(self, *choices):
        return self.random.choice(choices)

    def threads(self):
        return self.console.command("dfocus a dstatus").get("data") or []

    def choose(self):
        what = self.random.random()
        if what < 0.30:
            return f"opm next {self.one('', '--force ')}{self.one(*ZONES)}"
        if what < 0.42:
            return "opm all_out"
        if what < 0.54:
            return "opm barrier pass"
        if what < 0.62:
            return "opm step out"
        if what < 0.72:
            return "opm step"
        if what < 0.77:
            return "opm critical next"
        if what < 0.82:
            return "opm sections " + self.one("finish", "step-by-step", "new", "new off")
        if what < 0.85:
            return "opm start --force"
        if what < 0.88:
            return f"dfocus d1.{self.random.randint(1, 6)}"
        if what < 0.91:
            self.held.add(thread := self.random.randint(1, 4))
            return f"dfocus t1.{thread} dhold -thread"
        if what < 0.95:
            self.held.clear()
            return "dfocus a dunhold -thread"
        if what < 0.97:
            return "dgo"
        return "dhalt"

    def run(self, n):
        """At most N commands; how many there were."""
        for i in range(n):
            text = self.choose()
            began = time.monotonic()
            # with somebody held the others may wait for him for ever, which is no fault of the command
            answer = self.console.command(text, interrupt_s=1 if self.held else COMMAND_S)
            if (took := time.monotonic() - began) >= COMMAND_S:
                fail(f"{text} took {took:.1f} s; before: {self.console.log[-12:]}")
            if not answer["ok"]:
                message = answer["error"].get("message", str(answer["error"]))
                if "job has ended" in message or "no process" in message or "have ended" in message:
                    return i + 1
                if not re.search(REFUSALS, message, re.X):
                    fail(f"{text}: {answer['error']}; before: {self.console.log[-12:]}")
            elif text.startswith("opm ") and "could not be made to wait" in answer["text"]:
                fail(f"{text}: {answer['text']}")
            if text.startswith("opm ") and all(thread["state"] not in ("running", "stopping") for thread in self.threads()):
                self.note()
            if any(event.get("type") == "ended" for event in self.console.events):
                return i + 1
        return n

    def state(self):
        """What is said of every worker and barrier, without what tells live jobs from traces."""
        workers = self.console.command("info workers -list")
        return workers.get("data"), self.console.command("info barrier -list").get("data"), self.console.command("info event").get("data")

    def note(self):
        workers, barriers, event = self.state()
        if event is not None and workers:
            self.moments.append((event["number"], workers, barriers))

    def kill(self):
        """The console is killed while it is at a command: the job goes with it, also who waits at a gate."""
        pids = {thread["pid"] for thread in self.threads()} - {self.console.process.pid}
        self.console.process.stdin.write(json.dumps({"id": 0, "command": self.choose()}).encode() + b"\n")
        self.console.process.stdin.flush()
        time.sleep(self.random.random() * 0.2)
        self.console.process.kill()
        self.console.process.communicate()
        until = time.monotonic() + COMMAND_S
        while any((status := status_of(pid, pid)) is not None and status["State"][0] not in "ZX" for pid in pids):
            if time.monotonic() > until:
                fail(f"kill: the program is left; before: {self.console.log[-15:]}")
            time.sleep(0.01)
        if os.path.exists("random.tgt.incomplete"):  # else the program had ended before, and the trace is whole
            done = subprocess.run([TOLLGATE, "recover", "--force", "-o", "recovered.tgt", "random.tgt.incomplete"], capture_output=True, text=True)
            self.trace = "recovered.tgt"
        else:
            done = subprocess.run([TOLLGATE, "dump", "random.tgt", "-o", "/dev/null"], capture_output=True, text=True)
        if done.returncode != 0:
            fail(f"kill: the trace cannot be read: {done}")
        # behind what had got to the file when the console was killed there is only what agents recorded
        if (whole := re.search(r"kept, ([\d,]+) events", done.stdout)) is not None:
            n_whole = int(whole[1].replace(",", ""))
            self.moments = [moment for moment in self.moments if moment[0] <= n_whole]
        return "kill"

    def finish(self):
        console = self.console
        console.command("dfocus a")
        console.command("dfocus a dhalt")
        console.command("dfocus a dwait -timeout 10")
        self.note()
        way = self.one("detach", "end", "kill")
        if way == "kill":
            return self.kill()
        console.command("dfocus a dunhold -thread")
        if way == "end":
            console.command("opm sections new off")
            for _ in range(10):
                answer = console.command("dfocus g1 dcont", interrupt_s=END_S)
                if not answer["ok"] and "stepping through it is over" in str(answer["error"]):
                    continue
                if not answer["ok"] or "data" not in answer:
                    break
        else:
            pids = {thread["pid"] for thread in self.threads()}
            console.command("dfocus a ddetach")
            until = time.monotonic() + END_S
            while any((status := status_of(pid, pid)) is not None and status["State"][0] not in "ZX" for pid in pids):
                if time.monotonic() > until:
                    fail(f"{way}: the program does not end; before: {console.log[-15:]}")
                time.sleep(0.01)
        console.end("quit")
        found = open("result", encoding="utf-8").read()
        if found != self.wanted:
            fail(f"{way}: the program's output is {found!r} and not {self.wanted!r}; commands: {console.log[-25:]}")
        return way


def replay(trace, commands):
    """The data that each of the commands gives in TRACE."""
    done = subprocess.run([TOLLGATE, "replay", "--json", trace], capture_output=True, text=True, timeout=60 * SLOWNESS,
                          input="".join(json.dumps({"id": i, "command": command}) + "\n" for i, command in enumerate(commands)))
    answers = {answer["id"]: answer for answer in map(json.loads, done.stdout.splitlines()) if answer["type"] == "result"}
    return [answers[i].get("data") for i in range(len(commands))]


def replayed(trace, numbers):
    """Workers and barriers at each of the events."""
    data = replay(trace, [command for number in numbers for command in (f"goto {number}", "info workers -list", "info barrier -list")])
    return list(zip(data[1::3], data[2::3]))


def alike(found):
    """What a live job and its trace have in common: which worker is current is the session's own; traces round times."""
    if isinstance(found, list):
        return [alike(each) for each in found]
    if isinstance(found, dict):
        return {key: alike(value) for key, value in found.items() if key not in ("current", "since_ns")}
    return found


def main():
    compiler, seed, n = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    os.environ["OMP_CANCELLATION"] = "true"
    subprocess.run([*BUILD[compiler], "-g", "-O1", "-fopenmp", "-o", "all", SOURCE], check=True)
    # natively, without us: on a busy machine LLVM's runtime takes its time with nested teams
    wanted = subprocess.run(["./all", ROUNDS, THREADS], capture_output=True, text=True, check=True, timeout=2 * END_S).stdout
    rng = random.Random(seed)
    left, sessions, moments = n, 0, 0
    while left > 0:
        session = Session(compiler, rng, wanted)
        left -= session.run(min(left, rng.randint(20, 120)))
        session.finish()
        sessions += 1
        moments += len(session.moments)
        numbers = [number for number, _, _ in session.moments]
        for (number, workers, barriers), (then, then_barriers) in zip(session.moments, replayed(session.trace, numbers), strict=True):
            if alike(then) != alike(workers) or alike(then_barriers) != alike(barriers):
                fail(f"event {number}, live:\n{json.dumps(workers)}\n{json.dumps(barriers)}\nthe trace:\n{json.dumps(then)}\n"
                     f"{json.dumps(then_barriers)}")
    if moments == 0:
        fail(f"in {n} commands, {sessions} sessions, no moment was compared with a trace: the last is {session.console.log}")
    print(f"{compiler}, seed {seed}: {n} commands in {sessions} sessions, {moments} moments as in their traces")


main()
