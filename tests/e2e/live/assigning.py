#!/usr/bin/env python3
"""dassign: values of every type, as the program itself then sees them, in one thread and in several; what cannot be assigned."""
import os
import pathlib
import re
import subprocess
import sys

TOLLGATE = os.environ["TG_TOLLGATE"]

PROGRAM = r"""
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
enum colour { RED, GREEN = 7 };
struct fields { unsigned low : 3; int middle : 5; unsigned high : 24; };
static struct fields fields = {1, -2, 77};
static signed char c = 1; static unsigned char uc = 2; static short s = 3; static int i = 4; static long l = 5;
static unsigned long long ull = 6; static float f = 1; static double d = 2; static long double ld = 3;
static bool b; static enum colour colour; static int array[3] = {1, 2, 3}; static int *p = array; static const int constant = 1;
static __thread int own;
static long kept;
__attribute__((noinline)) static void stop(int round)
{
    register long here __asm__("rbx") = round;
    __asm__ volatile("" : "+r"(here));
    __asm__ volatile("" : "+r"(here)); /* stop here */
    if (round == 0)
        kept = here;
}
static void *work(void *number)
{
    own = (int)(long)number;
    stop(own);
    printf("own %ld %d\n", (long)number, own);
    return NULL;
}
int main(void)
{
    pthread_t thread;
    int local = 1;
    register long outer __asm__("rbx") = 5;
    __asm__ volatile("" : "+r"(outer));
    stop(0);
    printf("%d %u %d %d %ld %llu %.3f %.3f %.3Lf %d %d %d %d %d\n", c, uc, s, i, l, ull, f, d, ld, b, colour, array[1], *p, local);
    printf("%u %d %u %ld\n", fields.low, fields.middle, fields.high, kept);
    pthread_create(&thread, NULL, work, (void *)1);
    work((void *)2);
    pthread_join(thread, NULL);
    return constant;
}
"""

SCRIPT = r"""
proc refused {what pattern} {
    if {![catch {uplevel 1 $what} message]} {error "$what: no error"}
    if {![regexp -- $pattern $message]} {error "$what: '$message' has not '$pattern'"}
}
dbreak assigning.c#LINE
dcont
foreach {target value} {c -5 uc 300 s {-1 - 1} i {array[2] * 10} l -1 ull {~0} f 1.5 d {f + 0.25} ld {1.0 / 8} b 5
    colour GREEN {array[1]} 42 p {&array[2]} {fields.low} 6 {fields.middle} -9 {fields.high} 0xabcdef} {
    dassign $target $value
}
dassign here {1L << 40}
refused {dassign -frame 1 outer 6} "innermost frame"
dassign -frame 1 local {local + 8}
refused {dassign array 1} "element or a member"
refused {dassign fields 1} "element or a member"
refused {dassign {i + 1} 1} "nothing to assign to"
refused {dassign i} "usage: dassign"
refused {dassign i fields} "number"
refused {dassign nowhere 1} "no variable or function 'nowhere'"
refused {dassign {*(int *)8} 1} "0x8"
refused {dassign {*(char *)$rip} 1} "cannot be written"
puts [dprint {fields}]
ddelete -a
dbreak assigning.c#LINE -t
dcont
dfocus g {dassign own {own * 100}}
puts [dfocus g {dprint own}]
ddelete -a
dcont
"""


def main():
    pathlib.Path("assigning.c").write_text(PROGRAM, encoding="utf-8")
    line = 1 + PROGRAM[: PROGRAM.index("/* stop here")].count("\n")
    pathlib.Path("script.tcl").write_text(SCRIPT.replace("LINE", str(line)), encoding="utf-8")
    subprocess.run(["gcc", "-g", "-O0", "-pthread", "assigning.c", "-o", "assigning"], check=True)
    done = subprocess.run([TOLLGATE, "live", "-q", "-o", "trace.tgt", "-x", "script.tcl", "--", "./assigning"], capture_output=True,
                          text=True, timeout=100)
    for expected in (r"^-5 44 -2 30 -1 18446744073709551615 1\.500 1\.750 0\.125 1 7 42 3 9$", r"^6 -9 11259375 1099511627776$",
                     r"fields = \{low = 6, middle = -9, high = 11259375\}", r"^own 1 100$", r"^own 2 200$"):
        if not re.search(expected, done.stdout, re.M):
            sys.exit(f"no {expected} in:\n{done.stdout}\n{done.stderr}")
    if done.returncode != 1 or "exited with status 1" not in done.stdout:
        sys.exit(f"status {done.returncode}: {done.stdout}{done.stderr}")


main()
