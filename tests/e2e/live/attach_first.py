#!/usr/bin/env python3
"""The first command of `tollgate live --pid` finds the process, though that takes a while to come to its first stop."""
import os
import signal
import subprocess
import sys

TOLLGATE = os.environ["TG_TOLLGATE"]
ROUNDS = 5


def only_here():
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def idle():
    only_here()
    os.nice(10)


def main():
    signal.alarm(200)
    busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"], preexec_fn=only_here) for _ in range(3)]
    target = subprocess.Popen(["sh", "-c", "while :; do :; done"], preexec_fn=idle)
    try:
        for i in range(ROUNDS):
            run = subprocess.run([TOLLGATE, "live", "-q", "--force", "-o", "job.tgt", "--pid", str(target.pid), "-e",
                                  "ddetach"], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
            if run.returncode != 0:
                sys.exit(f"round {i}: status {run.returncode}: {run.stdout}{run.stderr}")
    finally:
        for process in [target, *busy]:
            process.kill()
            process.wait()


if __name__ == "__main__":
    main()
