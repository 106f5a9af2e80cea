#!/usr/bin/env python3
"""`opm` in a live job: workers stop right behind what they were to do, and none runs further. The program counts for itself
what it does: these numbers, read while it is stopped, are what is compared. opm.py gcc | clang"""
import os
import pathlib
import re
import subprocess
import sys

TOLLGATE = os.environ["TG_TOLLGATE"]

PROGRAM = r"""#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static volatile int counted[16];
static void stage(int which) { __atomic_fetch_add(&counted[which], 1, __ATOMIC_RELAXED); }
static pthread_t first;
static volatile sig_atomic_t is_handled;
static void handle(int signal) { is_handled = signal; }
static void need_first(void) /* the last one in the critical section does not leave it before the first has handled a signal */
{
    if (counted[4] == 1)
        first = pthread_self();
    if (counted[4] != 4)
        return;
    usleep(20000);
    pthread_kill(first, SIGUSR2);
    while (!is_handled)
        usleep(1000);
}
int main(void)
{
    signal(SIGUSR2, handle);
    for (int round = 0; round < 3; round++) {
#pragma omp parallel num_threads(4)
        {
            stage(0);
#pragma omp barrier
            stage(1);
#pragma omp single
            stage(2);
            stage(3);
#pragma omp critical(name)
            {
                stage(4);
                need_first();
            }
            stage(5);
#pragma omp barrier
#pragma omp for schedule(dynamic) nowait
            for (int i = 0; i < 16; i++)
                stage(6);
            stage(7);
#pragma omp barrier
#pragma omp sections
            {
#pragma omp section
                stage(8);
#pragma omp section
                stage(9);
#pragma omp section
                stage(10);
            }
            stage(11);
        }
        stage(12);
    }
    for (int i = 0; i <= 12; i++)
        printf("%d ", counted[i]);
    printf("\n");
    return 0;
}
"""
END = "12 12 3 12 12 12 48 12 3 3 3 12 3"

COMMON = r"""
proc counts {} {
    regexp {counted = \{(.*)\}} [dprint counted] whole list
    set numbers {}
    foreach part [split $list ,] {
        if {[regexp {^ *(\d+) <repeats (\d+) times>} $part whole value times]} {
            for {set i 0} {$i < $times} {incr i} {lappend numbers $value}
        } else {
            lappend numbers [string trim $part]
        }
    }
    return $numbers
}
proc expect {what args} {
    set numbers [counts]
    foreach {index value} $args {
        if {[lindex $numbers $index] != $value} {error "$what: counted $index is [lindex $numbers $index], not $value: $numbers"}
    }
}
proc all {answer} {
    if {![regexp {4 of 4 workers are out and stopped behind it} $answer]} {error "not all: $answer"}
}
proc refused {what pattern} {
    if {![catch {uplevel 1 $what} message]} {error "$what: no error"}
    if {![regexp -- $pattern $message]} {error "$what: '$message' has not '$pattern'"}
}
# at the first instruction: the agent is still to come
if {![regexp {parallel region} [opm step]]} {error "the first step does not end in the region"}
refused {opm barrier pass} "no team is at a barrier"
opm next barrier
set worker [focus]
all [opm barrier pass]
expect "behind the barrier" 0 4 1 0
if {[focus] ne $worker} {error "the focus was $worker, and is [focus]"}
# nobody who comes to the same single later makes it another one
opm next single
all [opm all_out]
expect "behind the single" 1 4 2 1 3 0
opm next critical
refused {opm sections finish} "is not inside a sections zone"
all [opm all_out]
expect "behind the critical section" 3 4 4 4 5 0
opm next barrier
all [opm barrier pass]
expect "behind the second barrier" 5 4 6 0
# behind a loop without a barrier: at its end
opm next loop
all [opm step out]
expect "behind the loop" 6 16 7 0
opm next barrier
all [opm barrier pass]
expect "behind the third barrier" 7 4
opm sections new
dcont
opm sections new off
"""
SECTIONS = r"""
set answer [opm sections step-by-step]
foreach line {{SectionJob #1 has 3 sections, 0 already completed.} {Section zone breakpoint enabled on SectionJob #1.}} {
    if {[string first $line $answer] < 0} {error "no '$line' in: $answer"}
}
if {![regexp {> worker [^\n]* !\n} [info workers]]} {error "no ! while one runs alone: [info workers]"}
foreach {section done} {1 {0 0 0} 2 {1 0 0} 3 {1 1 0}} {
    set answer [dcont]
    if {[string first "\[Starting execution of Section $section.\]" $answer] < 0} {error "section $section: $answer"}
    expect "before section $section" 8 [lindex $done 0] 9 [lindex $done 1] 10 [lindex $done 2]
}
if {[string first {[SectionJob #1 finished.]} [set answer [dcont]]] < 0} {error "no end of the sections: $answer"}
if {[regexp { !\n} [info workers]]} {error "still alone: [info workers]"}
expect "behind the sections" 8 1 9 1 10 1 11 0
"""
REST = r"""
opm start --force
expect "at the second region" 11 4 12 1
set entered [opm step]
if {![regexp {parallel region} $entered]} {error "step: $entered"}
# nobody comes past the single whose thread has stopped in it: where, and not that it were out of focus
set in_single [dbreak opm.c#LINE -stop_when_hit none]
refused {opm next critical} {no thread can arrive: 3 threads run and wait for others, but thread \d+\.\d+ is stopped at an action point}
ddelete $in_single
opm next critical
opm step
if {![regexp {critical} [info workers]]} {error [info workers]}
# who is behind everybody else there is the last: nobody runs on to look for another
catch {opm critical next}
if {[lindex [counts] 6] > 16} {error "past the barrier: [counts]"}
# who is held cannot arrive, which is said at once
opm next barrier
regexp {^d?(\d+)\.(\d+)} [focus] whole process thread
set other [expr {$thread == 1 ? 2 : 1}]
dfocus t$process.$other dhold -thread
if {![regexp "worker \[0-9\]+ \\(thread \[0-9\]+\\), held" [info workers]]} {error "nobody is held: [info workers]"}
refused {opm barrier pass} "is held and cannot arrive"
refused {opm next parallel} "no thread can arrive: .* for others, but thread $process\\.$other is held; `dunhold` releases it"
refused {dfocus t$process.$other opm step} "thread $process\\.$other is held and cannot arrive; `dunhold` releases it"
refused {dfocus t$process.$other opm next task} "no thread can arrive: all in focus are held"
dfocus t$process.$other dunhold -thread
all [opm barrier pass]
# up to the end of the job, with which the thread in focus is gone
dfocus d$process.2
refused {opm next task} "the threads in focus stopped or ended without reaching a task"
"""

def run(script, command):
    pathlib.Path("script.tcl").write_text(script, encoding="utf-8")
    done = subprocess.run([TOLLGATE, "live", "-q", "-o", "trace.tgt", "--force", "-x", "script.tcl", "--", *command],
                          capture_output=True, text=True, timeout=100)
    if done.returncode != 0 or "error" in done.stderr.lower():
        sys.exit(f"status {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return done.stdout


def main():
    compiler = sys.argv[1]
    pathlib.Path("opm.c").write_text(PROGRAM, encoding="utf-8")
    build = {"gcc": ["gcc"], "clang": ["clang"]}[compiler]
    subprocess.run([*build, "-g", "-O1", "-fopenmp", "-o", "opm", "opm.c"], check=True)
    in_single = next(i for i, text in enumerate(PROGRAM.splitlines(), 1) if "stage(2)" in text)
    out = run(COMMON + SECTIONS + REST.replace("LINE", str(in_single)), ["./opm"])
    if not re.search(rf"^{END} $", out, re.M):
        sys.exit(f"the program's own result is not {END}:\n{out}")
    commands = subprocess.run([TOLLGATE, "dump", "--json", "--kind", "control_command", "trace.tgt"], capture_output=True,
                              text=True, check=True).stdout
    if commands.count("opm barrier pass") != 4 or "opm all_out" not in commands:
        sys.exit(f"not recorded:\n{commands}")


main()
