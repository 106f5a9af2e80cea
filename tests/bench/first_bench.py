#!/usr/bin/env python3
"""How long the first commands of a live session take, from sending to the answer: what a person waits for.

usage: first_bench.py BUILD[,BUILD...] [SESSIONS]      BUILD: a build directory; several are measured in turn

Each session is `tollgate live --json` with a program in C of a few lines, which is stopped at a breakpoint: ready for
commands, `drun` to the stop, the first `dprint` of a variable and the first `dwhere` (libc's frames need libc's debug
information where that is installed). Medians, and in parentheses the fastest and the slowest of the sessions (11 unless given).
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

PROGRAM = "int add(int a, int b) { return a + b; }\nint main(int c, char **v) { (void)v; int sum = add(c, 1);\n    return sum - 2; }\n"


def session(build, program, samples):
    start = time.monotonic()
    console = subprocess.Popen([os.path.join(build, "tollgate"), "live", "--json", "-q", "--force", "-o", "T", "--", program],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def until(found):
        while True:
            line = console.stdout.readline()
            if not line:
                sys.exit(f"{build}: the session ended")
            answer = json.loads(line)
            if found(answer):
                return answer

    def do(command, number):
        console.stdin.write(json.dumps({"id": number, "command": command}) + "\n")
        console.stdin.flush()
        return until(lambda answer: answer.get("id") == number)

    def took(what, begin):
        samples.setdefault(what, []).append((time.monotonic() - begin) * 1e3)

    do("dbreak add", 1)
    took("ready", start)
    for number, command in enumerate(("drun; dwait", "dprint a", "dwhere"), 2):
        begin = time.monotonic()
        answer = do(command, number)
        if "error" in answer:
            sys.exit(f"{command}: {answer['error']}")
        took(command, begin)
    console.stdin.close()
    console.kill()
    console.wait()


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    builds = [os.path.abspath(build) for build in sys.argv[1].split(",")]
    samples = {build: {} for build in builds}
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        subprocess.run(["cc", "-g", "-O0", "-x", "c", "-", "-o", "program"], input=PROGRAM, text=True, check=True)
        for _ in range(int(sys.argv[2]) if len(sys.argv) > 2 else 11):
            for build in builds:
                session(build, "./program", samples[build])
    for what in samples[builds[0]]:
        for build in builds:
            times = samples[build][what]
            print(f"{what:12s} {statistics.median(times):7.1f} ms  ({min(times):.1f} to {max(times):.1f})  {build}")
    print("load: " + " ".join(f"{load:.1f}" for load in os.getloadavg()))


if __name__ == "__main__":
    main()
