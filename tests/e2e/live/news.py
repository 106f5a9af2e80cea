#!/usr/bin/env python3
"""What several processes do alike is told in one line: stops at one source line of programs that lie elsewhere in each process, and ends.

Nothing is told while one command of Tcl's waits, so that all of it is there when the next one begins, however long it takes.
"""
import os
import re
import subprocess
import sys

SOURCE = """
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
static void *stay(void *unused)
{
    pause();
    return unused;
}
int main(int argc, char **argv)
{
    if (argc > 1) {
        pthread_t other;
        if (argc > 2 && !pthread_create(&other, 0, stay, 0))
            *(volatile int *)0 = 0; /* in code that has lines wherever this runs */
        return 0;
    }
    char *arguments[][4] = {{argv[0], "calm"}, {argv[0], "calm"}, {argv[0], "ill", "so"}, {argv[0], "ill", "so"}};
    for (int i = 0; i < 4; i++)
        posix_spawn(&(pid_t){0}, argv[0], 0, 0, arguments[i], (char *[]){0});
    while (wait(0) > 0)
        ;
    return 3;
}
"""

SCRIPT = """
proc until {state whom} {while {[join [lrange [dptsets ${state}(a)] 1 end]] ne $whom} {after 5}}
if 1 {dgo; until stopped {2:4[p4-5.1-2]}; until existent {3:5[p1.1, p4-5.1-2]}}
puts BETWEEN
if 1 {dfocus a dgo; until existent {0:0[]}}
puts BEHIND
"""

WANTED = [
    r"^2 threads \(2:2\[p4-5\.1\]\) stopped by SIGSEGV: main \(.*$",
    r"^processes 2-3 exited with status 0$",
    r"^BETWEEN$",
    r"^processes 4-5 were killed by SIGSEGV$",
    r"^process 1 exited with status 3$",
    r"^BEHIND$",
]


def main():
    subprocess.run(["gcc", "-g", "-fPIE", "-pie", "-x", "c", "-", "-o", "several", "-pthread"], input=SOURCE, text=True, check=True)
    with open("script.tcl", "w", encoding="utf-8") as script:
        script.write(SCRIPT)
    done = subprocess.run([os.environ["TG_TOLLGATE"], "live", "-o", "trace", "-x", "script.tcl", "--", "./several"], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60, check=False)
    for pattern in WANTED:
        if len(re.findall(pattern, done.stdout, re.MULTILINE)) != 1:
            sys.exit(f"FAILED: {pattern} is not one line, status {done.returncode}:\n{done.stdout}{done.stderr}")


main()
