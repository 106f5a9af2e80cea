#!/usr/bin/env python3
"""A trace that is being recorded is called so by everything that reads it, and recover refuses it; when its recorder was
killed, with its program still running or not, it is an interrupted one."""
import json
import os
import signal
import subprocess
import sys

TOLLGATE = os.environ["TG_TOLLGATE"]
TRACE = "job.tgt.incomplete"


def check(condition, *what):
    if not condition:
        sys.exit(" ".join(map(str, what)))


def tollgate(*arguments):
    run = subprocess.run([TOLLGATE, *arguments], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    return run.returncode, run.stdout, run.stderr


def record(*options):
    """A recorder whose program waits for its input to end."""
    recorder = subprocess.Popen([TOLLGATE, "record", "-q", "--force", "-o", "job.tgt", *options, "--", "sh", "-c",
                                 "echo here; read line; echo there"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    check(recorder.stdout.readline() == b"here\n", "the program does not run")
    return recorder


def still_recording():
    recorder = record()
    status, out, _ = tollgate("report", TRACE)
    check(status == 0 and "STILL RECORDING: events up to " in out and "INTERRUPTED" not in out, out)
    check("Still recording: this is the state at " in out and "tollgate recover" not in out, out)
    trace = json.loads(tollgate("report", "--json", TRACE)[1])["trace"]
    check(trace["recording"] is True and trace["complete"] is False, trace)
    status, _, errors = tollgate("dump", TRACE)
    check(status == 0 and "still recording" in errors and "interrupted" not in errors, errors)
    status, _, errors = tollgate("replay", "-e", "next", TRACE)
    check("still recording" in errors, errors)
    status, out, errors = tollgate("recover", TRACE)
    check(status != 0 and "still being recorded" in errors and not os.path.exists("job.tgt"), status, out, errors)
    status, out, errors = tollgate("recover", "job.tgt")
    check(status != 0 and f"`tollgate recover {TRACE}` repairs it" in errors, errors)
    status, out, errors = tollgate("recover", "--dry-run", TRACE)
    check(status == 0 and "still recording" in out and " -" not in out, out, errors)
    status, _, errors = tollgate("record", "-o", "job.tgt", "--", "true")
    check(status != 0 and "still being recorded" in errors, errors)
    recorder.communicate(b"\n")
    check(recorder.returncode == 0, recorder.returncode)
    trace = json.loads(tollgate("report", "--json", "job.tgt")[1])["trace"]
    check(trace["recording"] is False and trace["complete"] is True, trace)


def killed(*options):
    """The lock ends with the recorder, though its program and its helpers may live on."""
    recorder = record(*options)
    recorder.kill()
    recorder.wait()
    status, out, _ = tollgate("report", TRACE)
    check(status == 0 and "INTERRUPTED" in out and "STILL RECORDING" not in out, out)
    status, out, errors = tollgate("recover", "--dry-run", TRACE)
    check(status == 0 and "interrupted" in out and " -" not in out, out, errors)
    recorder.stdin.close()
    status, out, errors = tollgate("recover", "--force", TRACE)
    check(status == 0 and os.path.exists("job.tgt"), out, errors)
    os.unlink("job.tgt")
    os.unlink(TRACE)


if __name__ == "__main__":
    signal.alarm(250)
    still_recording()
    killed()
    killed("--no-ptrace")
