#!/usr/bin/env python3
"""record --heap where it is hard: programs see what they see without, nothing is lost in silence, nothing is left over.

usage: hardship.py CASE [MODE...]     (MODE: all by default)
"""
import json
import os
import re
import signal
import subprocess
import sys
import time

from agent import build
from recording import TOLLGATE, build_library, check, run, skip

MODES = tuple(sys.argv[2:]) or ("--heap", "--heap=sample:4K", "--heap=check")


def dump(trace, kind):
    got = run([TOLLGATE, "dump", "--kind", kind, trace])
    check(got.status == 0, got)
    return got.output


def same(command, mode, trace="trace", options=("--quiet",), environment=None):
    """COMMAND says and does the same natively and recorded."""
    native = run(command, environment)
    got = run([TOLLGATE, "record", "--force", "-o", trace, mode, *options, "--", *command], environment)
    check((got.output, got.status) == (native.output, native.status), command, mode, "natively", native, "recorded", got)
    return got


# May be called by signal handlers; no address is given out twice.
SAFE = """
#include <stddef.h>
#include <string.h>
static char room[1 << 30] __attribute__((aligned(16)));
static size_t used;
static char *take(size_t n) { size_t size = (n + 47) & ~(size_t)15, at = __atomic_fetch_add(&used, size, __ATOMIC_RELAXED);
    return at + size <= sizeof room ? room + at : NULL; }
static void *get(size_t n) { char *block = take(n); if (block == NULL) return NULL; *(size_t *)block = n; return block + 16; }
void *malloc(size_t n) { return get(n); }
void free(void *p) { (void)p; }
void *calloc(size_t a, size_t b) { void *p = get(a * b); return p != NULL ? memset(p, 0, a * b) : NULL; }
void *realloc(void *p, size_t n) { void *q = get(n); if (p != NULL && q != NULL) { size_t old = *((size_t *)p - 2);
    memcpy(q, p, old < n ? old : n); } return q; }
"""


def test_handlers():
    """Allocations in handlers of a fast timer beside others: on the same stack, another one, one that a handler changes to."""
    library = build_library("safe", source=SAFE, flags=["-fno-builtin"])
    program = build("heap_hardship.c", "-fno-builtin", "-Wl,--no-as-needed", library, "-Wl,-rpath," + os.getcwd())
    for action in ("handlers", "contexts", "alternate"):
        for mode in MODES:
            got = same([program, action], mode)
            if "sample" in mode:
                continue
            pairs, handled = map(int, got.errors.splitlines()[-1].split())
            calls = json.loads(run([TOLLGATE, "heap", "--json", "trace"]).output)["allocated"]["blocks"]
            lost = sum(map(int, re.findall(r"count=(\d+)", dump("trace", "loss")))) # handlers that recorded too much within a record
            check(-lost <= calls - pairs - 3 * handled <= 4, action, mode, calls, "calls of", pairs, "and 3 times", handled, lost)
            check(not re.search("double|not_alloc|corruption", dump("trace", "heap_error")), action, mode, dump("trace", "heap_error"))


def test_processes():
    """pthread_atfork, fork beside threads that allocate, vfork, posix_spawn, resolvers of functions, threads that come and go."""
    program = build("heap_hardship.c")
    for action, sizes in {"atfork": {4000: 20, 4010: 40, 4020: 2000}, "spawn": {5000: 20}, "threads": {6000: 1000, 6010: 1000, 6020: 50000},
                          "resolver": {7000: 1}}.items():
        for mode in MODES:
            same([program, action], mode)
            check(dump("trace", "loss") == "", action, mode, "lost", dump("trace", "loss"))
            errors = [line for line in dump("trace", "heap_error").splitlines() if "alloc_null" not in line]
            check(not errors, action, mode, errors)
            if "sample" in mode:
                continue
            allocations = dump("trace", "heap_alloc")
            for size, count in sizes.items():
                got = len(re.findall(rf"\bsize_bytes={size}\b", allocations))
                check(got == count, action, mode, size, "bytes:", got, "expected", count)


def in_a_namespace(case):
    """Runs CASE again where it may mount, with a /dev/shm of its own."""
    if os.environ.get("TG_HARDSHIP") == "mounted":
        return False
    script = "mount -t tmpfs -o size=32m none /dev/shm && mkdir disk && mount -t tmpfs -o size=64k none disk && TG_HARDSHIP=mounted exec \"$@\""
    made = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", sys.executable, sys.argv[0], case, *MODES])
    if made.returncode != 0 and not os.path.exists("began"):
        skip("mounts are not allowed here")
    sys.exit(made.returncode)


def nothing_is_left(*where):
    check(os.listdir("/dev/shm") == [], where, "left in /dev/shm:", os.listdir("/dev/shm"))


def fill(directory):
    with open(os.path.join(directory, "filler"), "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass


def test_full():
    """No room for the trace, for temporary files, for the rings: each by itself."""
    in_a_namespace("full")
    open("began", "w").close()
    program = build("heap_hardship.c")
    for mode in MODES:
        got = same([program, "many"], mode, "disk/trace", options=())
        check("sample" in mode or ("cut off" in got.errors and "events LOST" in got.errors and "disk/trace.incomplete" in got.errors), got)
        kept = [name for name in os.listdir("disk") if name.startswith("trace")]
        check(len(kept) == 1 and run([TOLLGATE, "report", "--no-pager", "disk/" + kept[0]]).status == 0, mode, kept)
        os.unlink("disk/" + kept[0])
        nothing_is_left(mode, "full disk")
    fill("disk")
    for mode in MODES:
        same([program, "few"], mode, environment={"TMPDIR": os.path.abspath("disk")})
        check(dump("trace", "loss") == "", mode, "full TMPDIR", dump("trace", "loss"))
        check(os.listdir("disk") == ["filler"], os.listdir("disk"))
        nothing_is_left(mode, "full TMPDIR")
    fill("/dev/shm")
    for temporary, modes in (("disk", MODES), (".", MODES[:1])):
        for mode in modes:
            got = same([program, "few"], mode, environment={"TMPDIR": os.path.abspath(temporary)}, options=())
            text = run([TOLLGATE, "report", "--no-pager", "trace"]).output + got.errors
            heap = run([TOLLGATE, "heap", "trace"]).output
            check("20,00" in heap or "sample" in mode or re.search("lost|LOST|agent", text), mode, "nothing is said", text, heap)
            check(os.listdir("/dev/shm") == ["filler"] and os.listdir("disk") == ["filler"], os.listdir("/dev/shm"), os.listdir("disk"))
            check(not [name for name in os.listdir(temporary) if name.startswith("tollgate")], "left in", temporary)


def wait_for(what, condition):
    for _ in range(1000):
        if condition():
            return
        time.sleep(0.01)
    check(False, what, "does not come")


def test_cgroup():
    """A program whose memory is limited by its control group, which the recorder is not in: killed, or not, as natively."""
    group = f"/sys/fs/cgroup/memory/tollgate-test-{os.getpid()}"
    try:
        os.mkdir(group)
    except OSError as reason:
        skip(f"no control group for memory (version 1) can be made: {reason}")
    try:
        command = ["sh", "-c", f"echo $$ > {group}/cgroup.procs; exec {build('heap_hardship.c')} fill"]
        for limit, killed in ((64 << 20, True), (400 << 20, False)):
            with open(group + "/memory.limit_in_bytes", "w") as file:
                file.write(str(limit))
            if run(command).status != (-signal.SIGKILL if killed else 5):
                skip("control groups do not limit memory here")
            for mode in MODES:
                same(command, mode)
                report = run([TOLLGATE, "report", "--no-pager", "trace"]).output
                check(dump("trace", "loss") == "" and ("killed by SIGKILL" in report) == killed, mode, limit, report)
    finally:
        os.rmdir(group)


def is_gone(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_killed():
    """The program, or the recorder, is killed: the trace has what was, and says what it has not; no process and no file is left."""
    in_a_namespace("killed")
    open("began", "w").close()
    program = build("heap_hardship.c")
    for mode in MODES:
        for victim in ("program", "recorder"):
            recorder = subprocess.Popen([TOLLGATE, "record", "--force", "-o", "trace", mode, "--", program, "ever"], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
            check(recorder.stdout.readline() == b"ready\n", "not started")
            pid = int(subprocess.run(["pgrep", "-P", str(recorder.pid), "-f", "ever"], capture_output=True, text=True).stdout.split()[0])
            time.sleep(0.3)
            os.kill(pid if victim == "program" else recorder.pid, signal.SIGKILL)
            recorder.communicate(timeout=60)
            check(recorder.returncode == -signal.SIGKILL, victim, recorder.returncode)
            wait_for("the end of the program", lambda: is_gone(pid))
            if victim == "recorder":
                got = run([TOLLGATE, "recover", "--force", "-o", "trace", "trace.incomplete"])
                check(got.status == 0, mode, got)
            nothing_is_left(mode, victim)
            got = run([TOLLGATE, "heap", "--json", "trace"])
            check(got.status == 0 and ("sample" in mode or json.loads(got.output)["allocated"]["blocks"] > 0), mode, victim, got)
            for name in ("trace", "trace.incomplete"):
                if os.path.exists(name):
                    os.unlink(name)


if __name__ == "__main__":
    globals()["test_" + sys.argv[1]]()
