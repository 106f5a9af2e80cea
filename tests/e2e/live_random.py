#!/usr/bin/env python3
"""Starts, stops, holds, breakpoints, barriers at random on a job whose threads and processes come and go all the time.

usage: live_random.py SEED [OPERATIONS]

Nobody is lost: whenever all are told to stop, the threads that the kernel has are those that the console knows, and
stand; in the end the job is let go and finishes as if nobody had looked. The trace tells of the same decisions.
"""
import ctypes
import os
import random
import re
import signal
import subprocess
import sys

from live_console import LiveConsole, await_true, check_code, fail, group_of, threads_of

PR_SET_CHILD_SUBREAPER = 36

CHURN = os.path.join(os.environ["TG_PROGRAMS"], "churn")
FUNCTIONS = ["add_up", "begin_turn", "end_turn", "in_thread", "leaf_not_there"]
FOCI = ["a", "g1", "p1", "gW", "pW1", "t1.1", "t1.2", "1.3", "2", "p2", "p3", "2.2", "gS1", "a-g1", "{p1 p2}", "running(a)", "stopped(a)",
        "held(a)", "breakpoint(a)", "gL", "a.<", "{1.2 1.4}", "stopped(g1)|running(g1)", "9.9", "/few/"]


class Session:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.console = LiveConsole("-o", "random.tgt", "--", CHURN, "end", "ready", "begun", stderr=open("output", "wb"))
        self.refused = 0

    def focus(self):
        return self.random.choice(FOCI)

    def width(self):
        return self.random.choice(["group", "process", "none"])

    def number(self):
        points = [int(n) for n in re.findall(r"^ *(\d+) \[", self.console.do("dactions"), re.M)]
        return self.random.choice([*points[-6:], 999, "-a" if self.random.random() < 0.2 else 1])

    def operation(self):
        choose = self.random.random()
        focus = self.focus()
        if choose < 0.22:
            return f"dfocus {focus} dgo"
        if choose < 0.34:
            return f"dfocus {focus} dhalt"
        if choose < 0.42:
            return f"dfocus {focus} dhold {self.random.choice(['', '-thread', '-process'])}"
        if choose < 0.52:
            return f"dfocus {focus} dunhold {self.random.choice(['', '-thread', '-process'])}"
        if choose < 0.60:
            return (f"dfocus {focus} dbreak {self.random.choice(FUNCTIONS)} {self.random.choice(['-g', '-p', '-t'])} "
                    f"{self.random.choice(['', '-pending'])}")
        if choose < 0.70:
            return (f"dfocus {focus} dbarrier {self.random.choice(FUNCTIONS)} -stop_when_hit {self.width()} "
                    f"-stop_when_done {self.width()}")
        if choose < 0.78:
            return f"{self.random.choice(['ddelete', 'ddisable', 'denable'])} {self.number()}"
        if choose < 0.84:
            return f"dfocus {focus} dwait {self.random.choice(['', '-any'])} -timeout 0.01"
        if choose < 0.88:
            return f"dfocus {focus} dstatus -group_by {self.random.choice(['function', 'dpid,dtid', 'stop_reason,held', 'pc'])}"
        if choose < 0.92:
            return f"dfocus {focus} dptsets"
        if choose < 0.94:
            return f"dfocus {focus} dgroups {self.random.choice(['-new few', '-add few', '-remove few', '-list', ''])}"
        if choose < 0.96:
            return "dactions"
        if choose < 0.98:
            return f"dfocus {focus} where"
        return f"dfocus {focus}"

    def run(self, operations):
        for i in range(operations):
            if i % 100 == 99:
                self.check_all()
            answer = self.console.command(self.operation())
            if not answer["ok"]:
                self.refused += 1
                if answer["error"]["code"] in ("OS", "NO_MEMORY", "TCL"):
                    fail(f"{self.console.log[-1]}: {answer['error']}")
            if len(self.console.do("dactions")) > 1000:
                self.console.do("ddelete -a")

    def check_all(self):
        """Everybody stands, by the console's word and the kernel's, and they mean the same threads."""
        console = self.console
        console.do("dfocus a dhalt")
        console.do("dfocus a {dwait -timeout 50}")
        console.do("dfocus a dhalt")  # those that were begun while the others came to a stop
        console.do("dfocus a {dwait -timeout 50}")
        sets = console.do("dfocus a {dptsets existent(a)}")
        running = console.do("dfocus a {dptsets running(a)}")
        if not re.search(r"0:0", running):
            fail(f"told to stop, waited for, and still {running}")
        group = group_of(self.pid)
        n_threads = 0
        for pid in group:
            threads = threads_of(pid)
            n_threads += len(threads)
            for tid, (state, tracer) in threads.items():
                if tracer == 0:
                    fail(f"thread {tid} of process {pid} is not traced")
                if state != "t" and not is_in_vfork(pid, tid):
                    fail(f"thread {tid} of process {pid} is in state {state}; {sets}")
        told = re.search(r"(\d+):(\d+)\[", sets)
        if (int(told.group(1)), int(told.group(2))) != (len(group), n_threads):
            fail(f"the kernel has {n_threads} threads of {sorted(group)}, the console {sets}")

    def let_go(self):
        console = self.console
        console.do("ddelete -a")
        console.do("dfocus a {dunhold -process}")
        console.do("dfocus a {dunhold -thread}")
        console.do("dfocus a dgo")


def is_in_vfork(pid, tid):
    try:
        with open(f"/proc/{pid}/task/{tid}/wchan", encoding="utf-8") as file:
            return "vfork" in file.read() or "D" in threads_of(pid).get(tid, ("D",))[0]
    except (FileNotFoundError, ProcessLookupError):
        return True


def leave(session, asks_first):
    """Ends the console; of what was done nothing may be left in the job. Returns its wait status."""
    console = session.console
    if asks_first:
        session.let_go()
    status = console.end("quit -detach")
    if status not in (0, 1):
        fail(f"the console ended with {status}")
    for pid in group_of(session.pid):
        for tid, (state, tracer) in threads_of(pid).items():
            if tracer != 0 or state in "tT":
                fail(f"thread {tid} of process {pid} is left in state {state}, traced by {tracer}")
    check_code(session.pid)
    with open("end", "wb"):
        pass
    signal.alarm(60)  # a job that was left standing does not end
    return os.waitpid(session.pid, 0)[1]


def main(seed, operations):
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # the job outlives its parent
    session = Session(seed)
    console = session.console
    console.do("dfocus a dgo")
    await_true(lambda: os.path.exists("begun"), "the job does not begin")
    await_true(lambda: console.command("info processes")["data"], "the console takes no events")
    session.pid = console.command("info processes")["data"][0]["pid"]
    session.run(operations)
    if (status := leave(session, asks_first=seed % 2 == 0)) != 5 << 8:
        fail(f"the job ended with wait status {status}")
    with open("output", encoding="utf-8") as output:
        if (text := output.read()) != "churned\n":
            fail(f"the job said: {text}")
    subprocess.run([os.environ["TG_BARRIER_VERDICT"], "random.tgt"], check=True)
    print(f"{operations} operations, {session.refused} refused, told of {len(console.events)} events")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 150)
