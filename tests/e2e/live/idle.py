#!/usr/bin/env python3
"""Nothing is polled: while a job runs and the console waits, no thread of tollgate wakes up. A wait for a job that job control
has stopped says so.

usage: idle.py [SECONDS]
"""
import os
import signal
import sys
import time

from live_console import LiveConsole, await_true, fail

JOB = """
import threading, time
def nap():
    while True:
        time.sleep(0.001)
for _ in range(8):
    threading.Thread(target=nap, daemon=True).start()
open("begun", "w").close()
time.sleep(1000)
"""


def switches(pid):
    """How often each thread has gone to sleep, or was put aside."""
    counts = {}
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/status", encoding="utf-8") as lines:
            counts[tid] = [int(line.split()[1]) for line in lines if "ctxt_switches" in line]
    return counts


def main(seconds=0.3):
    console = LiveConsole("-o", "idle.tgt", "--", sys.executable, "-c", JOB, stderr=open("output", "wb"))
    console.do("dbreak sleep -g -pending -if {$rdi < 0}")
    console.do("dgo")
    await_true(lambda: os.path.exists("begun"), "the job does not begin")
    job = console.command("dfocus a dstatus")["data"][0]["pid"]
    rests = False
    until = time.monotonic() + 100
    while not rests:  # what was told last is written within a second
        before, of_job = switches(console.process.pid), switches(job)
        time.sleep(seconds)
        after = switches(console.process.pid)
        rests = after == before and switches(job) != of_job
        if not rests and time.monotonic() > until:
            fail(f"not at rest: {before}, then {after}")
    if len(console.command("dfocus a dstatus")["data"]) < 9:
        fail("there is no job")
    os.kill(job, signal.SIGSTOP)
    told = f"is stopped by SIGSTOP, not by this console, and continues when it gets SIGCONT (kill -CONT {job})"
    console.command("dfocus a dwait -timeout 3.5")  # a wait of three seconds says whom it is for
    if not any(told in (event.get("text") or "") for event in console.events):
        fail(f"who is stopped by SIGSTOP: {console.events}")
    console.end("quit -kill 0")


main(*map(float, sys.argv[1:]))
