#!/usr/bin/env python3
"""dbreak -e: its script runs at every hit with the thread that hit it in focus, and decides whether that goes on."""
import os
import pathlib
import re
import subprocess
import sys

TOLLGATE = os.environ["TG_TOLLGATE"]

PROGRAM = r"""#include <pthread.h>
#include <stdio.h>
static int sum;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
__attribute__((noinline)) static void add(int number)
{
    pthread_mutex_lock(&lock);
    sum += number;
    pthread_mutex_unlock(&lock);
}
static void *work(void *first)
{
    for (int i = 0; i < 5; i++)
        add((int)(long)first + i);
    return NULL;
}
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, work, (void *)100L);
    work((void *)10L);
    pthread_join(thread, NULL);
    add(0);
    printf("sum %d\n", sum);
    return 0;
}
"""

SCRIPT = r"""
proc refused {what pattern} {
    if {![catch {uplevel 1 $what} message]} {error "$what: no error"}
    if {![regexp -- $pattern $message]} {error "$what: '$message' has not '$pattern'"}
}
set seen {}
# every call is seen, in both threads; one of them is changed
dbreak add -t -e {
    regexp {number = (\d+)} [dprint number] whole number
    lappend ::seen $number
    if {$number == 12} {dassign number 1012}
    if {$number > 0} dgo
}
if {![regexp {Script: .*lappend} [ac 1]]} {error "not shown: [ac 1]"}
dactions -save points
refused {dactions -load points} "scripts \\(-e\\) are not loaded"
dcont
puts "seen [lsort -integer $seen]"
# the last one was left where it is; an error of a script is told, and the thread stays
ddelete 1
dbreak hit_scripts.c#MARK -e {error "a script's own"}
dcont
puts "at [regexp -inline {main} [dwhere]]"
dfocus g dgo
dwait
"""

MORE = r"""
dbreak add -t -if {$number == 13} -e {puts "only [dprint number] in [focus]"; dgo}
dcont
drun
dcont
"""


def run(script, *options):
    pathlib.Path("script.tcl").write_text(script, encoding="utf-8")
    done = subprocess.run([TOLLGATE, "live", "-q", "-o", "trace.tgt", "--force", *options, "-x", "script.tcl", "--", "./hit_scripts"],
                          capture_output=True, text=True, timeout=60)
    return done


def expect(done, *patterns):
    for pattern in patterns:
        if not re.search(pattern, done.stdout + done.stderr, re.M):
            sys.exit(f"no {pattern} in:\n{done.stdout}\n{done.stderr}")
    if done.returncode != 0:
        sys.exit(f"status {done.returncode}: {done.stdout}{done.stderr}")


def main():
    pathlib.Path("hit_scripts.c").write_text(PROGRAM, encoding="utf-8")
    subprocess.run(["gcc", "-g", "-O0", "-pthread", "hit_scripts.c", "-o", "hit_scripts"], check=True)
    mark = 1 + PROGRAM[: PROGRAM.index("    printf")].count("\n")
    done = run(SCRIPT.replace("MARK", str(mark)))
    expect(done, r"^seen 0 10 11 12 13 14 100 101 102 103 104$", r"script of action point 2: a script's own", r"^at main$", r"^sum 1570$")
    done = run(MORE)
    expect(done, r"^only 1:1\S* ?number = 13 in |^only number = 13 in ", r"^sum 570$")
    if len(re.findall(r"^only ", done.stdout, re.M)) != 2:
        sys.exit(f"not once in each run: {done.stdout}{done.stderr}")


main()
