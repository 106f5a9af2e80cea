#!/usr/bin/env python3
"""`tollgate calibrate`: prices of stops, and what a debugger takes for a dlopen event.

usage: calibrate.py
"""
import json
import os
import shutil

from recording import TOLLGATE, check, run

# A debugger that takes 20 ms of every dlopen, as far as the program can see, and does nothing else.
SLOW = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
void *dlopen(const char *path, int flags)
{
    void *(*own)(const char *, int) = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, 0);
    return own(path, flags);
}
"""


def script(name, text):
    with open(name, "w") as file:
        file.write("#!/bin/bash\n" + text)
    os.chmod(name, 0o755)
    return os.path.abspath(name)


def calibrate(*options):
    return run([TOLLGATE, "calibrate", *options], environment={"TMPDIR": os.path.abspath("tmp")})


def main():
    os.mkdir("tmp")
    plain = json.loads(calibrate("--json").output)
    for name in ("stop_ns", "sparse_stop_ns", "hidden_ns", "sparse_hidden_ns"):
        check(plain[name] == sorted(plain[name]) and len(plain[name]) == 3, name, plain)
    check(all(part <= whole for part, whole in zip(plain["hidden_ns"], plain["stop_ns"])) and plain["samples"] > 64, plain)
    made = run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", "slow.so"], standard_input=SLOW.encode())
    check(made.status == 0, made)
    after_args = 'while [ "$1" != --args ]; do shift; done; shift\n'
    slow = script("gdb-slow", after_args + f'LD_PRELOAD={os.path.abspath("slow.so")} "$@"\n')
    measured = calibrate("--debugger", slow, "--libraries", "5", "--json")
    check(measured.status == 0, measured)
    found = json.loads(measured.output)
    check(found["libraries"] == 5 and found["event_ns"][0] > 15e6, found)
    text = calibrate("--debugger", slow, "--libraries", "5").output
    check(" a dlopen event, in a program that loads 5 libraries" in text and "--round-trip-us " in text, text)
    broken = calibrate("--debugger", script("gdb-broken", "echo no such thing >&2\n"), "--libraries", "2")
    check(broken.status != 0 and "no such thing" in broken.errors, broken)
    other = calibrate("--debugger", "ddd")
    check(other.status == 2 and "neither gdb nor lldb" in other.errors, other)
    if shutil.which("gdb") is not None:
        real = calibrate("--debugger", "gdb", "--libraries", "3", "--json")
        check(real.status != 0 or json.loads(real.output)["event_ns"][1] > 0, real)  # a machine may forbid ptrace to gdb
    check(os.listdir("tmp") == [], "left behind:", os.listdir("tmp"))


if __name__ == "__main__":
    main()
