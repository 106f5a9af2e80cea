#!/usr/bin/env python3
"""Steps where they are hard, on live programs. usage: stepping_corners.py CASE

CASE is one of exceptions, calls, threads, ranks. Each line that is come to is compared with the marks in the program's source.
"""
import os
import re
import shutil
import subprocess
import sys

PROGRAMS = os.path.join(os.environ["TG_SOURCE"], "tests", "programs")

HEAD = """
proc line {focus} {set number none; regexp {#(\\d+)} [lindex [split [dfocus $focus {dwhere 1}] \\n] 0] - number; return $number}
proc say {{focus t1.1}} {puts "AT [line $focus]"}
proc go {mark} {global MARKS FILE; dbreak $FILE#$MARKS($mark); dcont; ddelete -a}
"""

# the last step of each is to the line behind what is stepped over
EXCEPTIONS = """
# a function is found by the name that the source gives it, and shown so
dbreak middle; dbreak guard::~guard; ddelete -a
dbreak work; dcont
if {![string match {*work: *} [dstatus -group_by function]]} {error [dstatus -group_by function]}
ddelete -a
if {[line t1.1] != $MARKS(work 1)} {error "not at the first line of the function: [line t1.1]"}
for {set i 0} {$i < 9} {incr i} {dnext; say}
dstep; say
# out of a function that is left by an exception
dout; say
dkill
"""
EXCEPTIONS_PLACES = ["work 2", "work 3", "work 4", "work 5", "caught one", "work 6", "work 7", "caught two", "work 8",
                     "middle 1", "work 9"]

CALLS = """
go {work 1}
if {![string match {*<getpid@plt>*<sink>*} [dexamine -format instruction -count 3 pc]]} {error [dexamine -format instruction -count 3 pc]}
for {set i 0} {$i < 18} {incr i} {dfocus p1 dnext; say}
# into an indirect function, through its procedure linkage
dfocus p1 dstep; say
dfocus p1 dnext; say
dfocus p1 dout
dfocus p1 dnext; say
dfocus p1 dnext; say
# over what has no lines
dfocus p1 dstep; say
# recursion: to the same frame; then in and out
dfocus p1 dstep; say
dfocus p1 {dnext 2}; say
dfocus p1 dout
dfocus p1 dnext; say
# another program has none of its lines: it runs on
dfocus p1 dnext
"""
CALLS_PLACES = ["work 2", "work 3", "work 4", "work 5", "work 6", "work 7", "work 8", "work 9", "work 10", "work 11", "work 12", "work 13",
                "work 14", "work 13", "work 15", "work 16", "work 17", "work 18", "one 1", "one 2", "work 19", "work 20", "work 21", "fact 1", "fact 4",
                "work 22"]

THREADS = """
go {first 1}
# nobody else moves who is held
dfocus t1.2 dhold
dfocus p1.1 dnext; say
if {[line t1.2] == $MARKS(second 2)} {error "who is held has run"}
dfocus t1.2 dunhold
# a breakpoint of another thread ends the step where it is
dbreak $FILE#$MARKS(second 2)
dfocus p1.1 dnext; say t1.2
if {[string match "*#$MARKS(first 3)*" [dfocus t1.1 dwhere]]} {error "it was to be interrupted"}
ddelete -a
# on, until that is passed
dbreak $FILE#$MARKS(first 3)
dfocus p1 dcont
ddelete -a
say
# a handler runs meanwhile
for {set i 0} {$i < 4} {incr i} {dfocus p1.1 dnext; say}
dfocus p1 dcont
"""
THREADS_PLACES = ["first 2", "second 2", "first 3", "first 4", "first 5", "first 6", "first end"]

RANKS = """
dgo
dwait -ranks 2
dfocus gSr0
dbarrier $FILE#$MARKS(main 1) -stop_when_hit process
dcont
ddelete -a
# both ranks step, over the region and over a collective that no rank comes through alone
dfocus gr0 dnext; say tr0.1; say tr1.1
dfocus gr0 dnext; say tr0.1; say tr1.1
# and into a region
dfocus gr0 dnext; say tr0.1; say tr1.1
dfocus gr0 dstep; say tr0.1; say tr1.1
# in lockstep: the workers of all ranks that are at the same place, and nobody else
dfocus gWr0 {dbarrier *leaf -stop_when_hit none -stop_when_done process}
dcont
ddelete -a
puts "LOCKSTEP [lindex [split [dfocus gLr0 {dwhere 1}] \n] 0]"
dfocus gLr0 dnext; say tr0.1; say tr1.1
quit -kill 0
"""
RANKS_PLACES = ["main 2", "main 2", "main 3", "main 3", "main 4", "main 4", "work 1", "work 1", "leaf 1", "leaf 1"]

CASES = {
    "exceptions": ("stepped_exceptions.cc", ["g++", "-g", "-O0"], EXCEPTIONS, EXCEPTIONS_PLACES, []),
    "calls": ("stepped_calls.c", ["gcc", "-g", "-O0", "-pthread"], CALLS, CALLS_PLACES, []),
    "threads": ("stepped_threads.c", ["gcc", "-g", "-O0", "-pthread"], THREADS, THREADS_PLACES, []),
    "ranks": ("stepped_ranks.c", ["mpicc.openmpi", "-g", "-O0", "-fopenmp"], RANKS, RANKS_PLACES, ["mpirun.openmpi", "-n", "2"]),
}


def marks(source):
    lines = {}
    with open(source, encoding="utf-8") as text:
        for number, line in enumerate(text, 1):
            found = re.search(r"/\* (\w+ \w+) \*/$", line.rstrip())
            if found:
                lines[found.group(1)] = number
    return lines


def main():
    name, compiler, script, places, launcher = CASES[sys.argv[1]]
    source = os.path.join(PROGRAMS, name)
    lines = marks(source)
    if shutil.which(compiler[0]) is None:
        print(f"there is no {compiler[0]}")
        sys.exit(77)
    subprocess.run([*compiler, "-w", source, "-o", "stepped"], check=True)
    with open("script.tcl", "w", encoding="utf-8") as out:
        out.write(f"set FILE {name}\narray set MARKS {{{' '.join(f'{{{mark}}} {line}' for mark, line in lines.items())}}}\n" + HEAD + script)
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1")
    done = subprocess.run([os.environ["TG_TOLLGATE"], "live", "-o", "trace", "-x", "script.tcl", "--", *launcher, "./stepped"],
                          env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100, check=False)
    output = done.stdout + done.stderr
    names = {line: mark for mark, line in lines.items()}
    said = [names.get(int(line), line) for line in re.findall(r"^AT (\d+)$", done.stdout, re.MULTILINE)]
    if said != places:
        sys.exit(f"FAILED: it was at {said} instead of {places}, status {done.returncode}:\n{output}")
    if sys.argv[1] == "ranks" and not re.search(r"^LOCKSTEP 2:4\[", done.stdout, re.MULTILINE):
        sys.exit(f"FAILED: two workers of two ranks are at the same place:\n{output}")
    if sys.argv[1] in ("calls", "threads") and "process 1 exited with status 0" not in output:
        sys.exit(f"FAILED: the program did not end well:\n{output}")


main()
