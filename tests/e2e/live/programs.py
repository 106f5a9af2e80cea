#!/usr/bin/env python3
"""The ranks of a job run two programs: a breakpoint is planted in those that have its place, a barrier is over one of
them, and that is said.

usage: programs.py
"""
import os
import re
import shutil
import subprocess
import sys

FIRST = """
#include <mpi.h>
int both(int x)
{
    return x + 1;
}
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    return both(MPI_Finalize()) - 1;
}
"""
SECOND = FIRST.replace("int both", "int alone(int x)\n{\n    return x;\n}\nint both").replace("both(MPI", "alone(0) + both(MPI")

SCRIPT = """
dbreak main -pending
dbarrier both -pending
dgo
dwait
foreach place {both alone both#9 both#5} {puts "$place: [dbreak $place]"}
catch {dbreak alone#9} message
puts "REFUSED $message"
ddelete -a
dbarrier both
dfocus gr0 {puts "WIDE [dactions [dbarrier both]]"}
dfocus {r0 r1} {puts "LIST [dactions [dbreak both]]"}
catch {dfocus {r0 r1} {dbarrier both}} message
puts "REFUSED $message"
ddelete -a
dbreak alone
dcont -any
catch {dwhere} message
puts "STACK $message"
dfocus r1
puts [dwhere]
dfocus ranks
ddelete -a
dcont
"""

EXPECTED = (
    r"planted in process \d+ \(rank 0\): \S*first\.c#9$", r"planted in process \d+ \(rank 1\): \S*second\.c#13$",
    # of the barrier made before the launch, whose program is that of the rank that comes first
    r"^barrier 2 is over one program, and rank ([01]) runs another one that has its place as well: `dfocus gSr\1 ",
    r"point 3 is planted in rank 0: \S*first\.c#5$", r"point 3 is planted in rank 1: \S*second\.c#9$",
    r"point 4 is planted in rank 1: \S*second\.c#5$", r"point 5 is planted in rank 1: \S*second\.c#9$",
    r"point 6 is planted in rank 0: \S*first\.c#5$", r"^REFUSED line 9 of \S*second\.c is in 'both', not in 'alone'",
    # of those made later
    r"point 7 is planted in rank 0: \S*first\.c#5$",
    r"^barrier 7 is over one program, and rank 1 runs another one that has its place as well: `dfocus gSr1 ",
    r"^WIDE (?:.*\n){6}process barrier; satisfaction set = group \d+ in group \d+$",
    r"point 9 is planted in rank 0: \S*first\.c#5$", r"point 9 is planted in rank 1: \S*second\.c#9$",
    r"^LIST 1 shared action point for groups \d+ and \d+:$",
    r"^9 addr=0x[0-9a-f]+ \[\S*first\.c#5, \S*second\.c#9\]$", r"^REFUSED .*a barrier cannot span two",
    r"\(rank 1\) stopped at action point 10: alone",
    # rank 0 is in MPI_Finalize: the stack is of the rank that stopped
    r"^STACK thread 4\.1 \(rank 1\):\n  0  0x\w+  alone ",
    r"^  0  0x\w+  alone ",
)


def main():
    if shutil.which("mpicc.mpich") is None or shutil.which("mpiexec.hydra") is None:
        print("there is no MPICH")
        sys.exit(77)
    for name, source in (("first", FIRST), ("second", SECOND)):
        with open(name + ".c", "w", encoding="utf-8") as file:
            file.write(source)
        subprocess.run(["mpicc.mpich", "-g", "-O0", name + ".c", "-o", name], check=True)
    with open("script.tcl", "w", encoding="utf-8") as file:
        file.write(SCRIPT)
    done = subprocess.run([os.environ["TG_TOLLGATE"], "live", "-o", "trace.tgt", "-x", "script.tcl", "--", "mpiexec.hydra", "-n", "1", "./first", ":",
                           "-n", "1", "./second"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
    output = done.stdout + done.stderr
    for pattern in EXPECTED:
        if not re.search(pattern, output, re.MULTILINE):
            sys.exit(f"FAILED: {pattern} is not in, status {done.returncode}:\n{output}")
    if done.returncode != 0:
        sys.exit(f"FAILED: status {done.returncode}:\n{output}")


main()
