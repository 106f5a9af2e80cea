#!/usr/bin/env python3
"""Ends tollgate at random moments while it has breakpoints in processes that it attached to: they work on as if nobody had
looked, and nothing is left of it, no process, no file of the rings, no byte of code.

usage: attach_killed.py HOW SIGNAL ROUNDS [SEED]

HOW is record (--break), condition (dbreak -if, never true), held (threads held at a barrier) or continuing (dbreak, and
who has come to it goes on); SIGNAL is KILL, TERM or none (the end that is meant).
"""
import os
import random
import re
import select
import signal
import subprocess
import sys
import time

from live_console import LiveConsole, await_true, code_of, fail, threads_of

TOLLGATE = os.environ["TG_TOLLGATE"]
WORKER = os.path.join(os.environ["TG_PROGRAMS"], "worker")
TIME_LIMIT_S = 60
LONGEST_S = 0.15  # from the first hits on


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
    if worker.returncode != 0 or output != "worked\nfaults 0\n":
        fail(f"{what}: the worker ended with {worker.returncode}: {output}")


def record(worker, _):
    return subprocess.Popen([TOLLGATE, "record", "-q", "-f", "-o", "trace", "--break", "work", "-p", str(worker.pid)],
                            stdin=subprocess.DEVNULL, stderr=open("errors", "wb"))


def live(worker, how):
    console = LiveConsole("-f", "-o", "trace", "-p", str(worker.pid), stderr=open("errors", "wb"))
    if how == "condition":
        console.do("dbreak work -if {$rdi == 123456789}")
    elif how == "held":
        console.do("dfocus g dbarrier work -stop_when_hit none -stop_when_done none")
    else:
        console.do("dbreak work -t")
    console.do("dfocus a dgo")
    return console


def descendants(pid):
    """The processes below PID, and itself."""
    found = [pid]
    for parent in found:
        try:
            for tid in os.listdir(f"/proc/{parent}/task"):
                with open(f"/proc/{parent}/task/{tid}/children", encoding="ascii") as file:
                    found += [int(word) for word in file.read().split()]
        except (FileNotFoundError, ProcessLookupError):
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


def check_clean(worker, code, tools, what):
    """TOOLS are pidfds of tollgate's processes."""
    for pid, pidfd in tools:
        if not select.select([pidfd], [], [], TIME_LIMIT_S)[0]:
            fail(f"{what}: process {pid} of tollgate's is left")
        os.close(pidfd)
    for tid, (state, tracer) in threads_of(worker.pid).items():
        if tracer != 0 or state in "tT":
            fail(f"{what}: thread {tid} is left in state {state}, traced by {tracer}")
    if worker.poll() is not None:
        fail(f"{what}: the worker has ended with {worker.returncode}")
    now = code_of(worker.pid)
    for name, before in code.items():
        different = [i for i in range(len(before)) if before[i] != now[name][i]]
        if different:
            fail(f"{what}: {name}: the code differs at {[hex(i) for i in different]}")


def play(how, end, chance, what):
    worker = start_worker()
    code = code_of(worker.pid)
    session = record(worker, how) if how == "record" else live(worker, how)
    process = session if how == "record" else session.process
    await_planted(worker.pid, code)
    tools = [(pid, os.pidfd_open(pid)) for pid in descendants(process.pid)]
    let_run(session, how, time.monotonic() + chance.random() * LONGEST_S)
    if end is not None:
        process.send_signal(end)
    elif how == "record":
        process.send_signal(signal.SIGINT)
    else:
        session.end("quit")
    status = process.wait(TIME_LIMIT_S)
    if status != (0 if end is None or (how == "record" and end == signal.SIGTERM) else -end):
        fail(f"{what}: tollgate ended with {status}: {open('errors').read()}")
    check_clean(worker, code, tools, what)
    finish_worker(worker, what)


def main(how, name, rounds, seed=1):
    chance = random.Random(int(seed))
    end = None if name == "none" else signal.Signals["SIG" + name]
    for i in range(int(rounds)):
        play(how, end, chance, f"{how}, {name}, seed {seed}, round {i}")


if __name__ == "__main__":
    main(*sys.argv[1:])
