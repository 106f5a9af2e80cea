#!/usr/bin/env python3
"""What somebody does first with an MPI job under `tollgate live`: breakpoints and barriers before the launch, continue, step,
all with the focus that there is when nobody sets one; workers, helper threads, the launcher; attach and detach.

usage: first.py openmpi|mpich
"""
import os
import re
import subprocess
import sys
import time

from mpi_job import ENVIRONMENT, flavour_named, job, need_open_mpi_4
from recording import TOLLGATE, check, run

SOURCE = """\
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
int rank, steps = 3;
double total;
void special(void)
{
    total += rank;
}
void kernel(int step)
{
    double sum = step;
    total += 1; /* the line */
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < steps; i++) {
        if (argc > 1)
            usleep(20000);
        kernel(i);
        steps += argc > 1;
    }
    if (rank != 1)
        special();
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d of %s is through\\n", rank, argv[0]);
    MPI_Finalize();
    return 0;
}
"""
WHOLE = dict(os.environ, **ENVIRONMENT)
LINE = next(i for i, text in enumerate(SOURCE.splitlines(), 1) if "the line" in text)
FIRST = next(i for i, text in enumerate(SOURCE.splitlines(), 1) if "double sum" in text)

SPECIAL = next(i for i, text in enumerate(SOURCE.splitlines(), 1) if "total += rank" in text)

HEAD = """
proc is {what expected} {
    set got [uplevel 1 $what]
    if {$got ne $expected} {error "$what: '$got', not '$expected'"}
}
proc has {what pattern} {
    set got [uplevel 1 $what]
    if {![regexp -- $pattern $got]} {error "$what: '$got' has not '$pattern'"}
}
proc count {set} {regexp {(\\d+):(\\d+)} [dptsets $set] - processes threads; return $processes}
"""

# made before there are ranks: they reach them, and the ranks are in focus then
BEFORE = """
set break [dbreak kernel -pending]
set barrier [dbarrier first.c#LINE -stop_when_hit process -pending]
set never [dbreak nowhere_at_all -pending]
has {dactions $break} "pending"
dcont
is dfocus ranks
is {count stopped(gr0)} 2
has {dactions $break} {\\[.*first.c#FIRST\\]}
dcont
has {dstatus -group_by thread_state,line} {breakpoint: 2:2.*\\n *first.c#FIRST: 2:2}
has {dstatus -group_by thread_name} {(?w)^first: 2:}
has {dfocus a dstatus -group_by job} {(?w)^no job: [12]:[0-9]+\\[p1.*\\n^job [^:]+: 2:}
has {dprint step} {^step = 0}
# the first instruction of it is another place
set entry [dfocus pr0 {dbreak *kernel}]
set line [dfocus pr0 {dbreak kernel}]
regexp {addr=(\\S+)} [dactions $entry] - at
regexp {addr=(\\S+)} [dactions $line] - behind
is {expr {$at < $behind}} 1
ddelete $entry $line $break
# nobody but the ranks is stopped by them; the launcher has a group of its own
is {count stopped(g1)} 0
is {count {running(gC1)}} [count gC1]
dcont
is {dict get [lindex [info barrier -points -list] 0] satisfied} 1
has {info barrier -points} {satisfied 1 time\\n  arrived  none since then$}
has {dstatus} {stopped|breakpoint}
ddelete $barrier
# a barrier where they are stopped holds them: both, so it is satisfied
set barrier [dbarrier first.c#LINE]
is {dict get [lindex [info barrier -points -list] 0] satisfied} 1
ddelete $barrier
# a step of all ranks over a collective
dnext
dnext
is {count stopped(gWr0)} 2
puts "OVER"
dcont
is {info exists ::errors} 0
"""

# the first stop stops the ranks alone; the next ones come
DEFAULT = """
dgo
dwait -ranks 2
set barrier [dbarrier kernel]
while {[dict get [lindex [info barrier -points -list] 0] satisfied] == 0} {lappend told [dcont]}
is {count held(a)} 0
ddelete $barrier
# an address of one process means the same code in all of them
regexp {0x[0-9a-f]+} [dfocus tr1.1 {dwhere 1}] pc
set here [dfocus r1 [list dbarrier -address $pc]]
is {dict get [lindex [info barrier -points -list] 0] satisfied} 1
ddelete $here
# stopped workers alone: threads of the MPI library run with them
set break [dbreak first.c#LINE -if {step == 2 && rank >= 0}]
dfocus gWr0 {dgo; dwait}
has {dprint step} {^step = 2}
ddelete -a
dfocus gWr0 dgo
dwait -timeout 60
puts "OVER"
"""

# rank 1 never comes, and waits for who is held
HELD = """
dgo
dwait -ranks 2
dbarrier special
dcont
has {dstatus -group_by held} {process held at barrier 1: 1:}
if {![catch {dwait -timeout 0.1}]} dcont
"""


# a job of two programs, both with a function of this name
PROGRAMS = """
dgo
dwait -ranks 2
has {catch {dwait -ranks 3} message; set message} {^rank 2 will not arrive: the job was started with 2 ranks on this host}
dbreak special
dbreak other
has dactions {(?n)^  1 [[][^ ]*first[.]c#SPECIAL, [^ ]*second[.]c#2[]] Enabled$}
has dactions {(?n)^  2 [[][^ ]*second[.]c#5[]] Enabled$}
has {dfocus r1 {dlist other}} {5 +special}
has {catch {dfocus r0 {dlist other}} message; set message} {^no function 'other' in process [0-9]+$}
ddelete -a
dcont
puts "OVER"
"""
SECOND = """\
int puts(const char *);
void special(void) {}
void other(void)
{
    special();
}
#include <mpi.h>
int main(int argc, char **argv)
{
    double sum = 1;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 3; i++)
        MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    other();
    MPI_Barrier(MPI_COMM_WORLD);
    puts("the other is through");
    MPI_Finalize();
    return 0;
}
"""


def live(name, script, command, *options):
    with open(f"{name}.tcl", "w", encoding="utf-8") as file:
        file.write(HEAD + script.replace("LINE", str(LINE)).replace("FIRST", str(FIRST)).replace("SPECIAL", str(SPECIAL)))
    return run([TOLLGATE, "live", "-o", f"{name}.tgt", *options, "-x", f"{name}.tcl", "--", *command], ENVIRONMENT)


def check_script(name, script, command):
    done = live(name, script, command)
    check(done.status == 0, name, done.status, done.output, done.errors)
    check("OVER" in done.output and done.output.count(" is through") == 2, name, done.output, done.errors)
    check("killed" not in done.output + done.errors, name, done.output, done.errors)
    return done.output


def check_wait(command):
    """A wait that lasts says for whom, and why that may not end; the end of the session satisfies no barrier."""
    with open("held.tcl", "w", encoding="utf-8") as file:
        file.write(HEAD + HELD)
    session = subprocess.Popen([TOLLGATE, "live", "-o", "held.tgt", "-x", "held.tcl", "--", *command], env=WHOLE, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    said = ""
    while "releases all" not in said:
        line = session.stdout.readline()
        check(line != "", said)
        said += line
    session.terminate()
    said += session.communicate(timeout=60)[0]
    check(re.search(r"^waiting for \d+ s: 1:\d+\[1\.[^]]*\] still runs?; 1:\d+\[0\.[^]]*\] (is|are) stopped", said, re.M), said)
    check(re.search(r"^barrier 1: 1 of 2 have arrived; rank 1 runs: in MPI_Barrier.*rank 0, held at this barrier, has not reached that MPI_Barrier", said, re.M), said)
    check("is satisfied" not in said, said)
    report = run([TOLLGATE, "report", "held.tgt"]).output
    check(re.search(r"special: over processes, .*satisfied 0 times\n +arrived 1: rank 0\n +never arrived 1: rank 1", report), report)


def tracer_of(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        return int(re.search(r"TracerPid:\s+(\d+)", status.read()).group(1))


def ranks_of(program):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{pid}/exe") == program:
                found.append(int(pid))
        except OSError:
            pass
    return sorted(found)


ATTACHED = """
is dfocus ranks
is {count gSr0} 2
is {count gWr0} 2
# one may have passed it, and wait for the other
set break [dbreak first.c#LINE -g]
dcont
is {count stopped(gr0)} 2
has {count breakpoint(gr0)} {^[12]$}
ddelete $break
dgo
"""


def check_attached(command):
    """Ranks that were attached are one group; afterwards nothing of us is left in them."""
    program = command[-1]
    running = subprocess.Popen([*command, "long"], env=WHOLE, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 60
        while len(ranks_of(program)) < 2 and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(0.5)  # into the loop; before it the script waits longer
        pids = ranks_of(program)
        with open("attached.tcl", "w", encoding="utf-8") as file:
            file.write(HEAD + ATTACHED.replace("LINE", str(LINE)))
        done = run([TOLLGATE, "live", "-q", "-o", "attached.tgt", "-x", "attached.tcl", *(part for pid in pids for part in ("-p", str(pid)))], ENVIRONMENT)
        check(done.status == 0, done.output, done.errors)
        check([tracer_of(pid) for pid in pids] == [0, 0] and running.poll() is None, done.output)
    finally:
        running.terminate()
        running.wait(60)


def check_programs(flavour, first):
    with open("second.c", "w", encoding="utf-8") as file:
        file.write(SECOND)
    second = os.path.abspath("second")
    subprocess.run([flavour.c, "-g", "-O0", "second.c", "-o", second], env=WHOLE, check=True)
    check_script("programs", PROGRAMS, [*job(flavour, first, ranks=1), ":", "-n", "1", second])


def main():
    flavour = flavour_named(sys.argv[1])
    with open("first.c", "w", encoding="utf-8") as file:
        file.write(SOURCE)
    program = os.path.abspath("first")
    subprocess.run([flavour.c, "-g", "-O0", "first.c", "-o", program], env=WHOLE, check=True)
    command = job(flavour, program, ranks=2)
    said = check_script("before", BEFORE, command)
    check(re.search(r"^never planted, because no process had such a place: action point 3 \(nowhere_at_all\)$", said, re.M), said)
    check_script("default", DEFAULT, command)
    check_wait(command)
    check_attached(command)
    if flavour.name == "openmpi":
        need_open_mpi_4()
    check_programs(flavour, program)


main()
