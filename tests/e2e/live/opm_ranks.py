#!/usr/bin/env python3
"""`opm barrier pass` where one rank's team is at the end of its region, and that of another is inside of it still: both come out."""
import os
import pathlib
import re
import subprocess
import sys

PROGRAM = """#include <stdlib.h>
static double a[1000], b[1000];
static __attribute__((noinline)) void meet(void) { __asm__ volatile("" : : : "memory"); }
int main(void)
{
#pragma omp parallel num_threads(2)
    if (*getenv("PMI_RANK") == '1')
        meet();
#pragma omp parallel num_threads(2)
        for (int round = 0; round < 3; round++) {
#pragma omp for schedule(static)
            for (int i = 1; i < 999; i++)
                b[i] = a[i - 1] + a[i + 1];
#pragma omp for schedule(static)
            for (int i = 1; i < 999; i++)
                a[i] = b[i] * 0.5;
        }
    return 0;
}
"""
# by what their launchers give them, these are two ranks
JOB = "PMI_RANK=0 PMI_SIZE=2 ./team & PMI_RANK=1 PMI_SIZE=2 ./team; wait"
SCRIPT = r"""
dgo
dwait -ranks 2
dfocus r1 {dbreak meet -g; dcont}
dfocus r0 {opm next barrier}
if {![string match {*waiting*} [dfocus r0 {info barrier}]]} {error "rank 0 is not at its barrier"}
ddelete -a
set answer [dfocus gSr0 {opm barrier pass}]
if {$answer ne "2 of 2 workers are out and stopped behind it\na region's end releases only the worker that began it:\
                the 2 others of the teams wait for the next region"} {error $answer}
if {[regexp {in main} [set answer [info workers]]]} {error "somebody is inside: $answer"}
REFUSED
quit -kill 0
"""


# GCC's code calls nothing for the second loop: nothing runs, and the focus stays what it was
REFUSED = """opm next loop
dfocus ranks
if {![catch {opm next loop} answer]} {error $answer}
if {[dfocus] ne "ranks"} {error "the focus is [dfocus] behind: $answer"}"""


def main():
    pathlib.Path("team.c").write_text(PROGRAM, encoding="utf-8")
    for compiler in "gcc", "clang":
        pathlib.Path("script.tcl").write_text(SCRIPT.replace("REFUSED", REFUSED if compiler == "gcc" else ""), encoding="utf-8")
        subprocess.run([compiler, "-g", "-O2", "-fopenmp", "-o", "team", "team.c"], check=True)
        done = subprocess.run([os.environ["TG_TOLLGATE"], "live", "-q", "-o", "trace.tgt", "--force", "-x", "script.tcl", "--", "sh", "-c", JOB],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
        if done.returncode != 0:
            sys.exit(f"{compiler}: status {done.returncode}:\n{done.stdout}{done.stderr}")
        if re.search(r"^2 threads \(2:2\[0-1\.1\]\) stopped$", done.stdout, re.M):
            sys.exit(f"{compiler}: both ranks are at their first instruction, and that is not said:\n{done.stdout}")


main()
