#!/usr/bin/env python3
"""Programs with the address sanitizer: what `record` says of their heap, of their end, and of a mistake; a console that quits.

usage: sanitized.py
"""
import os
import subprocess
import sys
import time

from recording import TOLLGATE, check, events, record, run, skip

SOURCE = """#include <sanitizer/lsan_interface.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
static void fill(char *block, int n) { memset(block, 1, n); }
int main(int argc, char **argv)
{
    if (strcmp(argv[1], "overrun") == 0)
        fill(malloc(10), 11);
    if (strcmp(argv[1], "stay") == 0) {
        __lsan_do_recoverable_leak_check();
        write(1, "searched\\n", 9);
        pause();
    }
    char *volatile lost = malloc(100);
    lost = NULL;
    return 3;
}
"""


def console_that_quits(program):
    """A program for which way was made ends with the session, as any that it started."""
    live = subprocess.Popen([TOLLGATE, "live", "--force", "-o", "live", "--", program, "stay"], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    live.stdin.write("dgo\n")
    live.stdin.flush()
    for line in live.stdout:
        if "searched" in line:
            break
    began = time.monotonic()
    live.stdin.write("quit\n")
    live.stdin.close()
    rest = live.stdout.read()
    live.wait(timeout=50)
    check(time.monotonic() - began < 30, rest)
    ends = events("live", "process_exit")
    check([end["how"] for end in ends] == ["signaled"], ends, rest)


def main():
    program = os.path.abspath("sanitized")
    made = subprocess.run(["cc", "-g", "-O0", "-w", "-x", "c", "-", "-fsanitize=address", "-o", program], input=SOURCE, text=True,
                          capture_output=True)
    if made.returncode != 0:
        skip("no address sanitizer here: " + made.stderr)
    console_that_quits(program)
    traced = record("leak", [program, "leak"], "--heap", environment={"ASAN_OPTIONS": "exitcode=7"})
    check(traced.status == 7 and "100 byte(s) leaked" in traced.errors, traced)
    told = events("leak", "heap_unseen", "agent", "process_exit")
    check([event["kind"] for event in told] == ["heap_unseen", "agent", "process_exit"], told)
    check(told[0]["reason"].startswith("the address sanitizer has an allocator"), told)
    check(told[1]["state"] == "watching" and told[2]["status"] == 7, told)
    traced = record("overrun", [program, "overrun"])
    verdict = run([TOLLGATE, "report", "overrun"]).output.splitlines()[1]
    check(traced.status == 1 and "was ended by AddressSanitizer" in verdict and "mistake in fill (<stdin>:7)" in verdict, verdict)


if __name__ == "__main__":
    sys.exit(main())
