#!/usr/bin/env python3
"""dup and ddown: where dprint, dassign, dlist and dwhere look then, thread by thread, until the thread runs."""
import os
import pathlib
import re
import subprocess
import sys

TOLLGATE = os.environ["TG_TOLLGATE"]

PROGRAM = r"""#include <pthread.h>
#include <stdio.h>
__attribute__((noinline)) static int inner(int depth) { __asm__ volatile("" ::: "memory"); return depth; } /* inner */
__attribute__((noinline)) static int middle(int depth)
{
    int mine = depth * 10;
    int got = depth > 0 ? middle(depth - 1) : inner(depth); /* middle */
    return got + mine;
}
static void *work(void *number) { return (void *)(long)middle((int)(long)number); }
int main(void)
{
    pthread_t thread;
    void *one;
    pthread_create(&thread, NULL, work, (void *)2L);
    void *two = work((void *)1L);
    pthread_join(thread, &one);
    for (int i = 0; i < 2; i++)
        inner(i);
    printf("sums %ld %ld\n", (long)one, (long)two);
    return 0;
}
"""

SCRIPT = r"""
proc check {what pattern} {
    set got [uplevel 1 $what]
    if {![regexp -- $pattern $got]} {error "$what: '$got' has not '$pattern'"}
}
proc refused {what pattern} {
    if {![catch {uplevel 1 $what} message]} {error "$what: no error"}
    if {![regexp -- $pattern $message]} {error "$what: '$message' has not '$pattern'"}
}
refused {ddown} "frame 0 is the innermost"
dbreak frames.c#INNER -t
dfocus g dcont
dfocus t1.1
check {dup} {^frame 1: middle  frames.c#MIDDLE$}
check {dprint mine} {mine = 0}
check {dprint -frame 0 depth} {depth = 0}
check {dup} {^frame 2: middle  frames.c#MIDDLE$}
check {dprint mine} {mine = 10}
check {dlist -n 3} {>  MIDDLE }
check {dwhere} {(?n)^> 2 .* middle}
check {dprint} {mine = 10}
dassign mine {mine + 5}
# thread 2 has a frame of its own
check {dfocus t1.2 {dprint depth}} {depth = 0}
check {dfocus p1 {dup 2}} {(?n)^1\.1: frame 4: .*\n1\.2: frame 2: middle}
check {dfocus t1.2 {dprint mine}} {mine = 10}
refused {dup 100} "frame . is the outermost"
check {ddown 3} {^frame 1: middle}
check {down} {^frame 0: inner}
refused {ddown} "frame 0 is the innermost"
refused {dup 0} "from 1 to"
ddelete -a
dfocus t1.2 dgo
# to its end: it may not have left the place yet where the next breakpoint is made
catch {dfocus t1.2 dwait}
dbreak frames.c#INNER -t
# the same place again is another stop
dcont
check {dprint depth} {depth = 0}
check {up} {^frame 1: main}
dcont
check {dprint depth} {depth = 1}
check {dwhere} {^ *0 }
ddelete -a
dfocus g dcont
"""


def main():
    script = SCRIPT
    for word, mark in (("INNER", "/* inner */"), ("MIDDLE", "/* middle */")):
        script = script.replace(word, str(1 + PROGRAM[: PROGRAM.index(mark)].count("\n")))
    pathlib.Path("frames.c").write_text(PROGRAM, encoding="utf-8")
    pathlib.Path("script.tcl").write_text(script, encoding="utf-8")
    subprocess.run(["gcc", "-g", "-O0", "-pthread", "frames.c", "-o", "frames"], check=True)
    done = subprocess.run([TOLLGATE, "live", "-q", "-o", "trace.tgt", "-x", "script.tcl", "--", "./frames"], capture_output=True,
                          text=True, timeout=40)
    if done.returncode != 0 or not re.search(r"^sums 30 15$", done.stdout, re.M):
        sys.exit(f"status {done.returncode}: {done.stdout}{done.stderr}")


main()
