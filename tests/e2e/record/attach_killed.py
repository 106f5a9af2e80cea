#!/usr/bin/env python3
"""Ends tollgate at random moments while it has breakpoints in processes that it attached to: they work on as if nobody had
looked, and nothing is left of it, no process, no file of the rings, no byte of code.

usage: attach_killed.py HOW SIGNAL ROUNDS [SEED]

HOW is record (--break), condition (dbreak -if, never true), held (threads held at a barrier) or continuing (dbreak, and
who has come to it goes on); SIGNAL is KILL, TERM, QUIT, USR1 or none (the end that is meant). Or HOW is engine or dattach: the process
that traces is killed itself, of `record -p` or of a console that has launched something else; there breakpoints are where
nobody comes.
"""
import os
import re
import random
import signal
import subprocess
import sys
import time

from live_console import LiveConsole, await_true, code_of, fail, status_of, threads_of

TOLLGATE = os.environ["TG_TOLLGATE"]
WORKER = os.path.join(os.environ["TG_PROGRAMS"], "worker")
TIME_LIMIT_S = 100
LONGEST_S = 0.15  # from the first hits on
MARK = f"TG_TEST_MARK={os.getpid()}"  # in the environment of all that tollgate starts
ENVIRONMENT = dict(os.environ, TG_TEST_MARK=str(os.getpid()))


def start_worker():
    worker = subprocess.Popen([WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    if worker.stdout.readline() != f"ready {worker.pid}\n":
        fail("the worker does not begin")
    return worker


def finish_worker(worker, what):
    try:
        output, _ = worker.communicate(timeout=TIME_LIMIT_S)
    except subprocess.TimeoutExpired:
        states = threads_of(worker.pid)
        worker.kill()
        fail(f"{what}: the worker does not end: {states}")
    # calls that the look at the attach had interrupted when tg-engine was killed: nobody is left to make them again (the man page)
    interrupted = re.findall(r"^\w+: Interrupted system call$", output, re.M) if what.startswith("engine, KILL") else []
    is_fine = worker.returncode == 0 and output == "worked\nfaults 0\n"
    if not is_fine and (not interrupted or not output.endswith(f"\nworked\nfaults {len(interrupted)}\n")):
        fail(f"{what}: the worker ended with {worker.returncode}: {output}")


def record(worker, how):
    place = "complain" if how == "engine" else "work"
    return subprocess.Popen([TOLLGATE, "record", "-q", "-f", "-o", "trace", "--break", place, "-p", str(worker.pid)],
                            stdin=subprocess.DEVNULL, stderr=open("errors", "wb"), env=ENVIRONMENT)


def dattach(worker):
    console = LiveConsole("-f", "-o", "trace", "--", "sleep", "1000", stderr=open("errors", "wb"), env=ENVIRONMENT)
    console.do(f"dattach {worker.pid}")
    console.do("dfocus 2 {dwait -timeout 50}")
    console.do("dfocus 2 {dbreak complain}")
    console.do("dfocus a dgo")
    return console


def live(worker, how):
    if how == "dattach":
        return dattach(worker)
    console = LiveConsole("-f", "-o", "trace", "-p", str(worker.pid), stderr=open("errors", "wb"), env=ENVIRONMENT)
    if how == "condition":
        console.do("dbreak work -if {$rdi == 123456789}")
    elif how == "held":
        console.do("dfocus g dbarrier work -stop_when_hit none -stop_when_done none")
    else:
        console.do("dbreak work -t")
    console.do("dfocus a dgo")
    return console


def marked():
    """Whatever lives of tollgate and what it has started: command lines by process."""
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/environ", "rb") as environment, open(f"/proc/{name}/cmdline", "rb") as line:
                if MARK.encode() in environment.read().split(b"\0"):
                    found[int(name)] = line.read()
        except OSError:
            continue
    return found


def await_planted(pid, code):
    await_true(lambda: code_of(pid) != code, "nothing was planted")


def let_run(console, how, until):
    while time.monotonic() < until:  # the moment itself is what is random
        if how == "continuing":
            console.do("dfocus a dgo")
        else:
            time.sleep(0.001)


def is_second_ret(before, now, i):
    """The loader's `ret` once more, in filling that is never run; a thread may be in it, so the guard leaves it there."""
    return i > 0 and now[i] == before[i - 1] == 0xc3


def check_clean(worker, code, what, by_guard):
    await_true(lambda: not marked(), f"{what}: something of tollgate's is left")
    for tid, (state, tracer) in threads_of(worker.pid).items():
        if tracer != 0 or state in "tT":
            fail(f"{what}: thread {tid} is left in state {state}, traced by {tracer}")
    if worker.poll() is not None:
        fail(f"{what}: the worker has ended with {worker.returncode}")
    now = code_of(worker.pid)
    for name, before in code.items():
        different = [i for i in range(len(before)) if before[i] != now[name][i]
                     and not (by_guard and is_second_ret(before, now[name], i))]
        if different:
            fail(f"{what}: {name}: the code differs at {[hex(i) for i in different]}")


def play(how, end, chance, what):
    worker = start_worker()
    code = code_of(worker.pid)
    session = record(worker, how) if how in ("record", "engine") else live(worker, how)
    process = session if isinstance(session, subprocess.Popen) else session.process
    await_planted(worker.pid, code)
    if len(marked()) < 3:
        fail(f"no guard, or nobody in front: {marked()}")
    let_run(session, how, time.monotonic() + chance.random() * LONGEST_S)
    if how in ("engine", "dattach"):
        os.kill(int(status_of(worker.pid, worker.pid)["TracerPid"]), end)
    elif end is not None:
        process.send_signal(end)
    elif how == "record":
        process.send_signal(signal.SIGINT)
    else:
        session.end("quit")
    status = process.wait(TIME_LIMIT_S)
    if status != (0 if end is None or (how == "record" and end == signal.SIGTERM) else -end):
        fail(f"{what}: tollgate ended with {status}: {open('errors').read()}")
    check_clean(worker, code, what, how in ("engine", "dattach"))
    finish_worker(worker, what)


def main(how, name, rounds, seed=1):
    chance = random.Random(int(seed))
    end = None if name == "none" else signal.Signals["SIG" + name]
    for i in range(int(rounds)):
        play(how, end, chance, f"{how}, {name}, seed {seed}, round {i}")


if __name__ == "__main__":
    main(*sys.argv[1:])
