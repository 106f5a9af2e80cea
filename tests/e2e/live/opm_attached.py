#!/usr/bin/env python3
"""`opm` in a process that was attached while it ran: what needs its zones says that they are unknown, and why; `opm start` and `opm
next` stop at breakpoints. A script that ends with ddetach leaves no breakpoint, no gate and no thread stopped, there and in a job that
it began, whose workers are at gates.

usage: opm_attached.py gcc|clang
"""
import os
import pathlib
import re
import subprocess
import sys
import time

from live_console import threads_of

TOLLGATE = os.environ["TG_TOLLGATE"]
PROGRAM = r"""#include <stdio.h>
#include <unistd.h>
static volatile long counted;
int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("pid %d\n", (int)getpid());
    for (;;) {
#pragma omp parallel num_threads(4)
        {
            __atomic_fetch_add(&counted, 1, __ATOMIC_RELAXED);
            usleep(1000);
#pragma omp barrier
#pragma omp critical
            usleep(100);
        }
        if (access("end", F_OK) == 0)
            break;
    }
    FILE *result = fopen("result.new", "w");
    fprintf(result, "%ld\n", counted % 4);
    fclose(result);
    return rename("result.new", "result");
}
"""
SCRIPT = r"""
proc refused {what} {
    if {![catch {uplevel 1 $what} message]} {error "$what: no error, but '$message'"}
    if {![regexp {^unknown: attached at [0-9.]+ s; .*not recorded} $message]} {error "$what: '$message'"}
}
foreach command {{opm barrier pass} {opm step} {opm step out} {opm all_out} {opm critical next} {opm sections finish}
        {opm sections step-by-step} {opm sequence --print}} {refused $command}
if {![regexp {reaches a parallel region} [set answer [opm start]]]} {error "opm start: $answer"}
if {![regexp {reaches a barrier} [set answer [opm next barrier]]]} {error "opm next barrier: $answer"}
refused {opm barrier pass}
if {![regexp {^unknown: attached at} [set answer [info workers]]]} {error "info workers: $answer"}
ddetach
puts over
"""


LAUNCHED = r"""
opm start
foreach command {{opm next barrier} {opm barrier pass} {opm next critical} {opm critical next} {opm next barrier}} {
    if {[catch $command message]} {error "$command: $message"}
}
ddetach
puts over
"""


def check_code(pid):
    """The code of process PID is that of its files."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps, open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in maps:
            fields = line.split()
            if "x" not in fields[1] or len(fields) < 6 or not re.search(r"/(program|libgomp|libomp|libc|ld-linux)[^/]*$", fields[5]):
                continue
            start, end = (int(part, 16) for part in fields[0].split("-"))
            memory.seek(start)
            with open(fields[5], "rb") as file:
                file.seek(int(fields[2], 16))
                wanted = file.read(end - start)
            if memory.read(len(wanted)) != wanted:
                sys.exit(f"{fields[5]}: its code is not what it was: a breakpoint is left")


def run(script, *arguments):
    pathlib.Path("script.tcl").write_text(script, encoding="utf-8")
    with open("said", "w+", encoding="utf-8") as said: # what goes on keeps it open
        done = subprocess.run([TOLLGATE, "live", "-q", "-o", "trace.tgt", "--force", "-x", "script.tcl", *arguments], stdout=said,
                              stderr=said, timeout=100)
        said.seek(0)
        text = said.read()
    if done.returncode != 0 or "over" not in text or "error" in text.lower():
        sys.exit(f"status {done.returncode}:\n{text}")
    return text


def check_left(pid):
    """Process PID goes on to its end as if nobody had been there."""
    check_code(pid)
    traced = {tid: tracer for tid, (_, tracer) in threads_of(pid).items() if tracer != 0}
    if traced:
        sys.exit(f"still traced: {traced}")
    pathlib.Path("end").touch()
    until = time.monotonic() + 30
    while not os.path.exists("result"):
        if time.monotonic() > until:
            sys.exit(f"process {pid} does not end: {threads_of(pid)}")
        time.sleep(0.01)
    if (found := pathlib.Path("result").read_text(encoding="utf-8")) != "0\n":
        sys.exit(f"a worker is missing: {found}")
    os.unlink("result")
    os.unlink("end")


def main():
    compiler = sys.argv[1]
    pathlib.Path("program.c").write_text(PROGRAM, encoding="utf-8")
    subprocess.run([compiler, "-g", "-O1", "-fopenmp", "-o", "program", "program.c"], check=True)
    process = subprocess.Popen(["./program"], stdout=subprocess.PIPE, text=True)
    try:
        process.stdout.readline()
        while len(threads_of(process.pid)) < 4:
            time.sleep(0.01)
        run(SCRIPT, "-p", str(process.pid))
        check_left(process.pid)
    finally:
        process.kill()
    with subprocess.Popen(["sleep", "60"]) as other:
        told = subprocess.run([TOLLGATE, "live", "-q", "--force", "-o", "trace", "-p", str(other.pid), "-e", "puts [info workers]", "-e", "quit -detach"],
                              capture_output=True, text=True, timeout=60)
        other.kill()
        if not re.search(r"^unknown: attached at [0-9.]+ s; .*no stack of then has OpenMP in it$", told.stdout, re.M):
            sys.exit(f"a process without OpenMP: {told}")
    launched = int(re.search(r"^pid (\d+)$", run(LAUNCHED, "--", "./program"), re.M)[1])
    try:
        check_left(launched)
    finally:
        subprocess.run(["kill", "-9", str(launched)], capture_output=True)


main()
