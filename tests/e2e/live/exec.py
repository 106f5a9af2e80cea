#!/usr/bin/env python3
"""Action points are made and deleted while the process executes its program anew all the time, always at the same addresses:
none of them may be left in a program that nobody planted it in.

usage: exec.py TURNS
"""
import os
import sys
import time

from live_console import TIME_LIMIT_S, LiveConsole, await_true, fail


def lives(console):
    return any(process["alive"] for process in console.command("dfocus a {info processes}")["data"] or [])


def main(turns):
    program = os.path.join(os.environ["TG_PROGRAMS"], "threads")
    console = LiveConsole("-f", "-o", "trace", "--", "setarch", "-R", program, "exec-loop", turns)
    console.do("dfocus a dgo")
    await_true(lambda: lives(console), "the console takes no events")
    made, until = 0, time.monotonic() + TIME_LIMIT_S
    while lives(console):
        if time.monotonic() > until:
            fail(f"the job does not end: {console.do('dfocus a dstatus')}")
        for location in ("turn", "exec_loop", "main"):
            console.do(f"dbreak {location} -pending -if {{0}}")
        console.do("ddelete -a")
        made += 1
    status = console.end("quit")
    if status != 9:
        fail(f"the job ended with {status}, after {made} times")
    print(f"made and deleted {made} times")


if __name__ == "__main__":
    main(*sys.argv[1:])
