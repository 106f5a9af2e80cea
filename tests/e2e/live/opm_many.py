#!/usr/bin/env python3
"""Many workers at gates: `opm barrier pass` and `opm all_out` again and again. All are stopped behind the zone, and none has run
further, which the program's own counters say. Prints how long it took from the last arrival until all were stopped, and until
the answer, by the trace's times. usage: opm_many.py gcc|clang WORKERS TIMES"""
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys

TOLLGATE = os.environ["TG_TOLLGATE"]

PROGRAM = r"""#include <stdio.h>
static volatile int counted[4];
static void stage(int which) { __atomic_fetch_add(&counted[which], 1, __ATOMIC_RELAXED); }
int main(void)
{
#pragma omp parallel num_threads(WORKERS)
    for (int round = 0; round < TIMES; round++) {
        stage(0);
#pragma omp barrier
        stage(1);
#pragma omp critical(name)
        stage(2);
        stage(3);
    }
    printf("%d %d %d %d\n", counted[0], counted[1], counted[2], counted[3]);
    return 0;
}
"""

SCRIPT = r"""
proc expect {what wanted} {
    if {![regexp {counted = \{(.*)\}} [dprint counted] whole list]} {error "no counters"}
    set numbers {}
    foreach part [split $list ,] {
        if {[regexp {^ *(\d+) <repeats (\d+) times>} $part whole value times]} {
            for {set i 0} {$i < $times} {incr i} {lappend numbers $value}
        } else {lappend numbers [string trim $part]}
    }
    if {$numbers ne $wanted} {error "$what: $numbers, not $wanted"}
}
set n WORKERS
opm start
for {set i 1} {$i <= TIMES} {incr i} {
    opm next barrier
    set answer [opm barrier pass]
    if {![regexp "$n of $n workers are out and stopped behind it" $answer]} {error "round $i: $answer"}
    set before [expr {($i - 1) * $n}]
    set now [expr {$i * $n}]
    expect "barrier $i" [list $now $before $before $before]
    opm next critical
    set answer [opm all_out]
    if {![regexp "$n of $n workers are out and stopped behind it" $answer]} {error "round $i: $answer"}
    expect "critical $i" [list $now $now $now $before]
}
dcont
"""


def times_ms(workers):
    """From the last arrival at each gate until everybody was stopped, and until the command was over."""
    done = subprocess.run([TOLLGATE, "dump", "--json", "--kind", "control_command,control_stopped,omp_sync_end,omp_mutex_leave",
                           "trace.tgt"], capture_output=True, text=True, check=True)
    stopped, over, last, stops = [], [], 0, []
    for line in done.stdout.splitlines():
        event = json.loads(line)
        if event["kind"] == "control_stopped":
            stops.append(event["t_ns"])
        elif event["kind"] != "control_command":
            last = event["t_ns"]
        else:
            if event["command"] in ("opm barrier pass", "opm all_out"):
                if len(stops) < workers:
                    sys.exit(f"{event['command']}: {len(stops)} stops of {workers} workers")
                stopped.append((stops[-1] - last) / 1e6)
                over.append((event["t_ns"] - last) / 1e6)
            stops = []
    return stopped, over


def main():
    compiler, workers, times = sys.argv[1], sys.argv[2], sys.argv[3]
    os.environ.update(OMP_WAIT_POLICY="passive", KMP_BLOCKTIME="0")
    texts = {name: re.sub("TIMES", times, re.sub("WORKERS", workers, text)) for name, text in (("many.c", PROGRAM), ("script.tcl", SCRIPT))}
    for name, text in texts.items():
        pathlib.Path(name).write_text(text, encoding="utf-8")
    subprocess.run([compiler, "-g", "-O1", "-fopenmp", "-o", "many", "many.c"], check=True)
    done = subprocess.run([TOLLGATE, "live", "-q", "-o", "trace.tgt", "--force", "-x", "script.tcl", "--", "./many"],
                          capture_output=True, text=True, timeout=1000)
    total = int(workers) * int(times)
    if done.returncode != 0 or f"{total} {total} {total} {total}" not in done.stdout:
        sys.exit(f"status {done.returncode}:\n{done.stdout[-3000:]}\n{done.stderr[-2000:]}")
    stopped, over = times_ms(int(workers))
    if len(stopped) != 2 * int(times):
        sys.exit(f"{len(stopped)} times for {2 * int(times)} commands")
    print(f"{compiler}, {workers} workers, {len(stopped)} commands: from the last arrival until all are stopped "
          f"{statistics.median(stopped):.2f} ms (median), {max(stopped):.2f} ms (most); until the answer "
          f"{statistics.median(over):.2f} ms")


main()
