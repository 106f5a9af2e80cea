#!/usr/bin/env python3
"""Many events of heaps from several ranks: are all in the trace, and what does `report` take of them?

usage: heap_ranks.py BUILD [EVENTS]      BUILD: a build directory; 10 million events of 4 ranks unless given

Fails where one of the ranks' calls is missing, where the trace tells of a loss, where `report` takes 10 s or more, or where
it takes half as much memory again as for a tenth of the events.
"""
import os
import re
import subprocess
import sys
import tempfile
import time

RANKS = 4
OURS = re.compile(r" size_bytes=50[0-5]\d\d\b")  # heap_ranks.c


def measured(command):
    """Seconds and the most memory, MiB, of COMMAND, and what it says."""
    start = time.monotonic()
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, stdout=output)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            sys.exit(f"{command}: status {process.returncode}")
        output.seek(0)
        return time.monotonic() - start, usage.ru_maxrss / 1024, output.read()


def told(tollgate, kind, which=re.compile("")):
    with subprocess.Popen([tollgate, "dump", "-k", kind, "trace"], stdout=subprocess.PIPE, text=True) as dump:
        return sum(1 for line in dump.stdout if which.search(line))


def main():
    build = os.path.abspath(sys.argv[1])
    most = int(sys.argv[2]) if len(sys.argv) > 2 else 10000000
    tollgate, source = os.path.join(build, "tollgate"), os.path.join(os.path.dirname(os.path.abspath(__file__)), "heap_ranks.c")
    os.chdir(tempfile.mkdtemp(prefix="heap-ranks-"))
    subprocess.run(["mpicc", "-O2", "-fomit-frame-pointer", "-g", source, "-o", "heap_ranks"], check=True)
    memory, wrong = [], []
    for events in (most // 10, most):
        pairs = events // 2 // RANKS
        took, _, _ = measured([tollgate, "record", "-q", "--force", "-o", "trace", "--heap", "--", "mpirun", "--oversubscribe",
                               "--allow-run-as-root", "-n", str(RANKS), "./heap_ranks", str(pairs)])
        seconds, mib, _ = measured([tollgate, "report", "trace"])
        ours, losses = told(tollgate, "heap_alloc", OURS), told(tollgate, "loss")
        size = os.path.getsize("trace") / (told(tollgate, "heap_alloc") + told(tollgate, "heap_free"))
        print(f"{events} events: recorded in {took:.2f} s, {size:.2f} bytes each; report {seconds:.2f} s, {mib:.0f} MiB; "
              f"{ours} of {RANKS * pairs} allocations, {losses} losses")
        memory.append(mib)
        if ours != RANKS * pairs or losses > 0:
            wrong.append("events are missing")
        if seconds >= 10:
            wrong.append("report takes too long")
    if memory[1] > memory[0] * 1.5:
        wrong.append("report's memory grows with the events")
    sys.exit(", ".join(wrong) or 0)


if __name__ == "__main__":
    main()
