#!/usr/bin/env python3
"""Conditions of breakpoints: what C calls a variable is one, and a name that is not known is told when it is set."""
import os
import pathlib
import subprocess
import sys

TOLLGATE = os.environ["TG_TOLLGATE"]

PROGRAM = """#include <stdbool.h>
struct pair { int left, right; };
static int total;
__attribute__((noinline)) static int f(int n, struct pair *p, bool done)
{
    int no = n + 1;
    total += no;
    p->left = n;
    return done ? total : -total; /* HERE */
}
int main(void)
{
    struct pair pair = {0};
    for (int i = 0; i < 10; i++)
        f(i, &pair, i == 5);
    return 0;
}
"""
HERE = next(number for number, line in enumerate(PROGRAM.splitlines(), 1) if "HERE" in line)

# what Tcl would take for a truth value, too, and the first n for which it holds; None: it is refused
CONDITIONS = [("n == 3", 3), ("no == 3", 2), ("done == true", 5), ("$done == true", 5), ("done", 5), ("!done && n > 5", 6), ("true", 0),
              ("done == false && p->left == 4", 4), ("[string length abc] == 3 && $n == 2", 2), ("n eq {7}", 7),
              ("nosuch == 3", None), ("n == 3 && totl > 1", None), ("yes == 1", None), ("((struct pair *)p)->left == 8", 8),
              ("sizeof(int) == 4 && n == 3", 3), ("n * sizeof(int) == 12", 3), ("sizeof(struct pair) == 8 && n == 2", 2),
              ("sizeof(n) == 4 && n == 2", 2), ("((int *)p)[0] == 3", 3), ("nosuch(n) == 3", None)]


def session(program, condition):
    done = subprocess.run([TOLLGATE, "live", "-q", "--force", "-o", "c.tgt", "-e", f"puts [catch {{dbreak c.c#{HERE} -if {{{condition}}}}} said]:$said",
                           "-e", "puts [llength [dactions]]", "-e", "dcont", "-e", "puts [catch {dprint n} said]:$said", "-e", "dkill", program],
                          capture_output=True, text=True, timeout=100)
    return done.stdout


def check(condition, *what):
    if not condition:
        sys.exit(f"FAILED: {what}")


def main():
    pathlib.Path("c.c").write_text(PROGRAM)
    for options, program in ((["-g"], "./named"), ([], "./bare")):
        subprocess.run(["cc", "-O0", *options, "c.c", "-o", program], check=True)
    for condition, stops_at in CONDITIONS:
        output = session("./named", condition)
        if stops_at is None:
            check("1:condition {" in output and ": no variable or function '" in output, condition, output)
            check("stopped at action point" not in output, condition, output)
        else:
            check("0:1\n" in output and f"0:n = {stops_at}\n" in output, condition, output)
    # nothing is known of names without debug information, and nothing is planted yet of what is pending
    for location in ("f -if {nosuch == 3}", "later -pending -if {nosuch == 3}"):
        program = "./bare" if location.startswith("f") else "./named"
        done = subprocess.run([TOLLGATE, "live", "-q", "--force", "-o", "c.tgt", "-e", f"puts [catch {{dbreak {location}}} said]:$said", "-e", "dkill", program],
                              capture_output=True, text=True, timeout=100)
        check("0:1\n" in done.stdout, location, done.stdout)


main()
