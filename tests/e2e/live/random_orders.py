#!/usr/bin/env python3
"""Starts, stops, holds, breakpoints, barriers at random on a job whose threads and processes come and go all the time.

usage: random_orders.py SEED [OPERATIONS]

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
import time

from live_console import LiveConsole, await_true, check_code, fail, group_of, threads_of

PR_SET_CHILD_SUBREAPER = 36

CHURN = os.path.join(os.environ["TG_PROGRAMS"], "churn")
FUNCTIONS = ["add_up", "begin_turn", "end_turn", "in_thread", "leaf_not_there"]
FOCI = ["a", "g1", "p1", "gW", "pW1", "t1.1", "t1.2", "1.3", "2", "p2", "p3", "2.2", "gS1", "a-g1", "{p1 p2}", "running(a)", "stopped(a)",
        "held(a)", "breakpoint(a)", "gL", "a.<", "{1.2 1.4}", "stopped(g1)|running(g1)", "9.9", "/few/"]


CONDITIONS = ["$rdi < 0", "$count == 5 && $sum >= 0", "$lane == 1 && $turn % 2 == 0", "[string length $rip] > 3 && 1 << $lane > 1",
              "$no_such == 1"]
STANDING = {"stopped", "breakpoint", "watchpoint", "error"}


class Session:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.console = LiveConsole("-o", "random.tgt", "--", CHURN, "end", "ready", "begun", stderr=open("output", "wb"))
        self.refused = 0
        self.pid = 0
        self.runs_again = seed % 5 == 1
        self.released = set()  # processes that were let go
        self.operations = [
            (22, lambda: f"dfocus {self.focus()} dgo"),
            (12, lambda: f"dfocus {self.focus()} dhalt"),
            (8, lambda: f"dfocus {self.focus()} dhold {self.one('', '-thread', '-process')}"),
            (10, lambda: f"dfocus {self.focus()} dunhold {self.one('', '-thread', '-process')}"),
            (8, lambda: f"dfocus {self.focus()} dbreak {self.one(*FUNCTIONS)} {self.one('-g', '-p', '-t')} {self.one('', '-pending')} "
                        + self.one("", f"-if {{{self.one(*CONDITIONS)}}}")),
            (10, lambda: f"dfocus {self.focus()} dbarrier {self.one(*FUNCTIONS)} -stop_when_hit {self.width()} "
                         f"-stop_when_done {self.width()}"),
            (8, lambda: f"{self.one('ddelete', 'ddisable', 'denable')} {self.number()}"),
            (1, lambda: f"dactions {self.one('-suppress', '-unsuppress')}"),
            (6, lambda: f"dfocus {self.focus()} dwait {self.one('', '-any')} -timeout 0.01"),
            (5, lambda: f"dfocus {self.focus()} {self.one('dstep', 'dnext', 'dstepi 20', 'dnexti', 'dout', 'duntil begin_turn')}"),
            (4, lambda: f"dfocus {self.focus()} dstatus -group_by {self.one('function', 'dpid,dtid', 'stop_reason,held', 'pc')}"),
            (4, lambda: f"dfocus {self.focus()} " + self.one("dptsets", "dlist", "dprint", "dprint {n_wrong + *end}", "dwhere", "dexamine -source",
                                                            "dinfo libraries", "info workers", "info barrier")),
            (2, lambda: f"dfocus {self.focus()} dgroups {self.one('-new few', '-add few', '-remove few', '-list', '')}"),
            (2, lambda: "dset TV::dlopen_" + self.one("always_recalculate true", "always_recalculate false",
                                                      "recalculate_on_match *libc*", "recalculate_on_match {}")),
            (2, lambda: "dactions"),
            (2, lambda: f"dfocus {self.focus()} where"),
            (1, lambda: f"dfocus {self.focus()}"),
            (2, self.release_or_take),
        ]

    def one(self, *choices):
        return self.random.choice(choices)

    def focus(self):
        return self.one(*FOCI)

    def width(self):
        return self.one("group", "process", "none")

    def number(self):
        points = [int(n) for n in re.findall(r"^ *(\d+) \[", self.console.do("dactions"), re.M)]
        return self.one(*points[-6:], 999, "-a" if self.random.random() < 0.2 else 1)

    def release_or_take(self):
        """Lets a child go, or takes one that was detached under control again."""
        if (alone := [pid for pid in self.released if pid in group_of(self.pid)]) and self.random.random() < 0.7:
            pid = self.one(*sorted(alone))
            self.released.discard(pid)  # where it fails, see run()
            return f"dattach {pid}"
        children = {thread["dpid"]: thread["pid"] for thread in self.threads() if thread["pid"] != self.pid}
        if not children:
            return "dfocus a dgo"
        dpid = self.one(*sorted(children))
        self.released.add(children[dpid])
        return f"dfocus p{dpid} ddetach"

    def threads(self):
        answer = self.console.command("dfocus a dstatus")
        return answer.get("data") or []

    def run(self, operations):
        weights = [weight for weight, _ in self.operations]
        for i in range(operations):
            if i % 50 == 49:
                self.compare()
            if i % 100 == 99:
                self.check_all()
            if self.runs_again and i == operations // 2:
                self.console.do("drun")
                self.meet()
            operation = self.random.choices(self.operations, weights)[0][1]()
            is_step = re.search(r" (d(step|next)i?|dout|duntil)\b", operation) is not None
            answer = self.console.command(operation, interrupt_s=0.3 if is_step else None)
            if not answer["ok"]:
                self.refused += 1
                if answer["error"]["code"] in ("OS", "NO_MEMORY", "TCL"):
                    fail(f"{self.console.log[-1]}: {answer['error']}")
                if operation.startswith("dattach"):
                    self.released.add(int(operation.split()[1]))
            if len(self.console.do("dactions")) > 1000:
                self.console.do("ddelete -a")

    def meet(self):
        """The job's first process."""
        await_true(lambda: self.console.command("info processes")["data"], "the console takes no events")
        self.pid = self.console.command("info processes")["data"][0]["pid"]
        self.released.clear()

    def kernel(self):
        """State and tracer of each thread of the job, by process and thread, without those that were let go."""
        group = group_of(self.pid)
        self.released &= set(group)
        return {(pid, tid): of for pid in group if pid not in self.released for tid, of in threads_of(pid).items()}

    def differences(self):
        """Where the console and the kernel do not say the same of who there is, and who is stopped."""
        told = {(thread["pid"], thread["tid"]): thread["state"] for thread in self.threads() if thread["pid"] not in self.released}
        kernel = self.kernel()
        wrong = [f"{who} is not known, {of}" for who, of in kernel.items() if who not in told]
        wrong += [f"{who} is {state}, but is not there" for who, state in told.items() if who not in kernel]
        wrong += [f"{who} is not traced" for who, (_, tracer) in kernel.items() if tracer == 0]
        return wrong + [f"{who} is {told[who]}, but {state}" for who, (state, _) in kernel.items()
                        if who in told and (told[who] in STANDING) != (state == "t")]

    def compare(self):
        """Nobody is lost, while they run: what ends, begins or stops just now is told soon. On a busy machine somebody always does;
        a difference is one that is there at each look."""
        until = time.monotonic() + 100
        lasting = set(self.differences())
        while lasting:
            lasting &= set(self.differences())
            if time.monotonic() > until:
                fail(f"the console and the kernel differ: {lasting}")

    def check_all(self):
        """Everybody is stopped, by the console's word and the kernel's, and they mean the same threads."""
        console = self.console
        for _ in range(100):  # those that are begun while others come to a stop run until they are told
            console.do("dfocus a dhalt")
            if console.command("dfocus a {dwait -timeout 0.5}")["ok"]:
                break
        running = console.do("dfocus a {dptsets running(a)}")
        if not re.search(r"0:0", running):
            fail(f"told to stop, waited for, and still {running}")
        wrong = [f"{who} is {state}" for who, (state, _) in self.kernel().items() if state != "t" and not is_in_vfork(*who)]
        if wrong := wrong + self.differences():
            fail(f"all were told to stop: {wrong}")

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
    signal.alarm(100)  # a job that was left standing does not end
    return os.waitpid(session.pid, 0)[1]


def main(seed, operations):
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # the job outlives its parent
    session = Session(seed)
    console = session.console
    console.do("dfocus a dgo")
    await_true(lambda: os.path.exists("begun"), "the job does not begin")
    session.meet()
    session.run(operations)
    if (status := leave(session, asks_first=seed % 2 == 0)) != 5 << 8:
        fail(f"the job ended with wait status {status}")
    with open("output", encoding="utf-8") as output:
        if (text := output.read()) != "churned\n":
            fail(f"the job said: {text}")
    for trace in ["random.tgt", "random-2.tgt"][:1 + session.runs_again]:
        subprocess.run([os.environ["TG_BARRIER_VERDICT"], trace], check=True)
    print(f"{operations} operations, {session.refused} refused, told of {len(console.events)} events")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 150)
