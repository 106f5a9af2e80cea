#!/usr/bin/env python3
"""What a long live session keeps: the console's memory when half of a job has passed, and when all has.

usage: memory.py [THREADS FALSE_HITS [PROCESSES PROGRAMS TOLD_HITS]]

Of hits it is so many by each of four threads.

What has ended is not kept but for a few lines' worth of each process; the part of the trace that is not compressed
yet is.
"""
import os
import sys

from live_console import LiveConsole, fail

PROGRAM = os.path.join(os.environ["TG_PROGRAMS"], "many")
NOISE_KIB = 8192  # what allocators keep, and what waits to be compressed and written, which a busy machine makes more


def memory_of(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


def measure(name, kind, count, before, bytes_each, reads=None):
    """BEFORE: commands; READS: what is done until half of it and the end, None: it runs."""
    console = LiveConsole("-o", f"{name.replace(' ', '_')}.tgt", "--", PROGRAM, kind, str(count), "4", stderr=open("output", "wb"))
    for command in ["dbreak half_way", "dbreak done", *before]:
        console.do(command)
    rss = []
    for _ in range(2):
        console.do(reads or "dfocus p1 dcont")
        console.do("dfocus a dstatus")
        console.events.clear()
        rss.append(memory_of(console.process.pid))
    if console.do("dfocus p1 {dstatus -group_by function}").count("done") == 0:
        fail(f"{name}: the job is not where it should be")
    console.do("ddelete -a")
    console.do("dfocus p1 dcont")
    if (status := console.end("quit")) != 7:
        fail(f"{name}: ended with {status}")
    grown = rss[1] - rss[0]
    print(f"{count:8d} {name:32s} {rss[0]:7d} KiB at half time, {rss[1]:7d} at the end: {grown * 1024 * 2 / count:8.1f} bytes each")
    if grown > NOISE_KIB + count // 2 * bytes_each / 1024:
        fail(f"{name}: {grown} KiB more for {count // 2} of them")


def main(threads=4000, false_hits=16000, processes=0, programs=0, told_hits=0):
    measure("threads", "threads", threads, [], 0)
    measure("hits with a false condition", "calls", false_hits, ["dbreak come_by -g -if {$rdi < 0}"], 25 * 4)
    if processes > 0:
        measure("processes", "processes", processes, [], 2500)
        measure("programs", "programs", programs, [], 5000)
        measure("hits that are told", "calls", told_hits, ["dbreak come_by -t"], 100 * 4,
                "while 1 {dfocus a dgo; dfocus a {dwait -any}; if {[regexp {half_way|done} [dstatus -group_by function]]} break}")


main(*map(int, sys.argv[1:]))
