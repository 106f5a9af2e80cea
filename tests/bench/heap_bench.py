#!/usr/bin/env python3
"""What observing the heap costs: pairs of malloc and free and of operator new and delete, and a real program, natively, recorded and under heaptrack.

usage: heap_bench.py [--fifo] BUILD [ROUNDS]      BUILD: a build directory; heaptrack is left out where there is none

--fifo: all of it before all others of the machine (needs the right to do that)

In turn, 5 rounds unless given; of all rounds the fastest counts. The stack of 20 calls is that of the program alone,
which is compiled without frame pointers. The real program makes a dictionary of texts in Python (PYTHONMALLOC=malloc:
each object is an allocation); its figures are of the whole run, and recorded ones of the recorder's too.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

PAIRS = "100000"
SCRIPT = "d = {i: str(i) * 3 for i in range(300000)}; e = sorted(d.values()); print(len(e))"


def main():
    rest = sys.argv[1:]
    fifo = rest[:1] == ["--fifo"]
    build = os.path.abspath(rest[fifo])
    rounds = int(rest[fifo + 1]) if len(rest) > fifo + 1 else 5
    before = ["chrt", "-f", "10"] if fifo else []
    tollgate, pair = os.path.join(build, "tollgate"), os.path.join(build, "tests/bench/heap_pair")
    operators = pair + "_operators"
    os.chdir(tempfile.mkdtemp(prefix="heap-bench-"))
    record = [*before, tollgate, "record", "-q", "--force", "--ring-size", "16M", "-o", "trace"]
    ways = {"native": before, "events, no stacks": [*record, "--heap", "--heap-depth=0", "--"],
            "events": [*record, "--heap", "--"], "sample:512K": [*record, "--heap=sample:512K", "--"],
            "check": [*record, "--heap=check", "--"]}
    if shutil.which("heaptrack"):
        ways["heaptrack"] = [*before, "heaptrack", "-o", "heaptrack"]
    program = ["/usr/bin/python3", "-c", SCRIPT]
    environment = dict(os.environ, PYTHONMALLOC="malloc")
    columns = {"pair, ns": [pair, "0", PAIRS], "pair below 20 calls, ns": [pair, "16", PAIRS],
               **({"new and delete, ns": [operators, "0", PAIRS]} if os.path.exists(operators) else {}), "python, ms": program}
    best, events, size = {}, {}, {}
    for _ in range(rounds):
        for way, command in ways.items():
            for column, what in columns.items():
                start = time.monotonic()
                done = subprocess.run([*command, *what], capture_output=True, text=True, check=True, env=environment)
                took = (time.monotonic() - start) * 1000
                if what != program:
                    took = float(re.findall(r"^(\d+\.\d)$", done.stderr + "\n" + done.stdout, re.M)[-1])
                best[way, column] = min(took, best.get((way, column), took))
                if command[len(before):len(before) + 1] == [tollgate]:
                    size[way, column] = os.path.getsize("trace")
                    if (way, column) not in events:
                        dump = subprocess.run([tollgate, "dump", "trace"], capture_output=True, text=True, check=True)
                        events[way, column] = len(re.findall(r" heap_(?:alloc|free|resize) ", dump.stdout))
    print(f"{'':18}" + "".join(f"{column:>24}{'more':>8}" for column in columns) + f"{'bytes an event':>16}")
    for way in ways:
        line = f"{way:18}"
        for column in columns:
            line += f"{best[way, column]:24.1f}{best[way, column] - best['native', column]:8.1f}"
        n = events.get((way, "python, ms"), 0)
        print(line + (f"{size[way, 'python, ms'] / n:16.2f}" if n else ""))


main()
