#!/usr/bin/env python3
"""`opm barrier pass` where one rank's team is at the end of its region, and that of another is inside of it still: both come out."""
import os
import pathlib
import re
import subprocess
import sys

PROGRAM = """#include <stdlib.h>
static void meet(void) { __asm__ volatile("" : : : "memory"); }
int main(void)
{
#pragma omp parallel num_threads(2)
    if (*getenv("PMI_RANK") == '1')
        meet();
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
if {$answer ne "2 of 2 workers are out and stopped behind it"} {error $answer}
if {[regexp {in main} [set answer [info workers]]]} {error "somebody is inside: $answer"}
quit -kill 0
"""


def main():
    pathlib.Path("team.c").write_text(PROGRAM, encoding="utf-8")
    pathlib.Path("script.tcl").write_text(SCRIPT, encoding="utf-8")
    for compiler in "gcc", "clang":
        subprocess.run([compiler, "-g", "-O0", "-fopenmp", "-o", "team", "team.c"], check=True)
        done = subprocess.run([os.environ["TG_TOLLGATE"], "live", "-q", "-o", "trace.tgt", "--force", "-x", "script.tcl", "--", "sh", "-c", JOB],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
        if done.returncode != 0:
            sys.exit(f"{compiler}: status {done.returncode}:\n{done.stdout}{done.stderr}")
        if re.search(r"^2 threads \(2:2\[0-1\.1\]\) stopped$", done.stdout, re.M):
            sys.exit(f"{compiler}: both ranks are at their first instruction, and that is not said:\n{done.stdout}")


main()
