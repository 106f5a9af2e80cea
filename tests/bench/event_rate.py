#!/usr/bin/env python3
"""How many events a second `tollgate record` takes without losing one, and what a trace of them takes.

usage: event_rate.py BUILD [SECONDS [THREADS [RATE...]]]     BUILD: a build directory; 5 seconds, 2 threads, and 0.5, 1,
                                                             2, 3 and 1000 million events a second unless given

For each rate: what the program made, what is in the trace, what the trace says was lost; with the default, where a full
ring makes its thread wait, and with --lossy, where it does not. A rate that cannot be kept shows in what was made. Ends
with exit status 1 where events are missing that the trace does not count as lost.
"""
import json
import os
import subprocess
import sys
import tempfile

KINDS = {"omp_mutex_wait", "omp_mutex_enter", "omp_mutex_leave"}


def measure(build, rate, seconds, threads, options, folder):
    """(events made, ns they took, events in the trace, events lost, bytes of the trace)"""
    trace = os.path.join(folder, "trace")
    command = [os.path.join(build, "tollgate"), "record", "--quiet", "--force", "-o", trace, *options, "--",
               os.path.join(build, "tests/bench/event_rate"), str(rate), str(seconds), str(threads)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit status {done.returncode}: {done.stderr}")
    made, ns = map(int, done.stdout.split())
    report = subprocess.run([os.path.join(build, "tollgate"), "dump", "--json", "--kind", "omp_mutex_wait", "--kind",
                             "omp_mutex_enter", "--kind", "omp_mutex_leave", "--kind", "loss", trace],
                            stdout=subprocess.PIPE, text=True)
    kept = lost = 0
    for line in report.stdout.splitlines():
        event = json.loads(line) if '"loss"' in line else None
        kept += event is None
        lost += event["count"] if event is not None else 0
    return made, ns, kept, lost, os.path.getsize(trace)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    build = os.path.abspath(sys.argv[1])
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 5
    threads = int(sys.argv[3]) if len(sys.argv) > 3 else 2
    rates = [float(rate) * 1e6 for rate in sys.argv[4:]] or [0.5e6, 1e6, 2e6, 3e6, 1e9]
    missing = 0
    print(f"{'asked for':>10} {'mode':>8} {'made':>11} {'million/s':>10} {'in trace':>11} {'lost':>11} {'unsaid':>7} {'bytes each':>10}")
    with tempfile.TemporaryDirectory() as folder:
        for rate in rates:
            for mode, options in (("waits", []), ("lossy", ["--lossy"])):
                made, ns, kept, lost, size = measure(build, rate, seconds, threads, options, folder)
                unsaid = made - kept - lost
                missing += unsaid > 0
                print(f"{rate / 1e6:10.1f} {mode:>8} {made:11d} {made / ns * 1e3:10.2f} {kept:11d} {lost:11d} {unsaid:7d} "
                      f"{size / max(kept, 1):10.2f}", flush=True)
    return missing > 0


if __name__ == "__main__":
    sys.exit(main())
