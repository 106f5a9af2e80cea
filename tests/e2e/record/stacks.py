#!/usr/bin/env python3
"""Last stacks: where a crash was, and where everybody was when a job was interrupted.

usage: stacks.py CASE
"""
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys

from recording import PROGRAMS, TOLLGATE, check, events, record, run, skip

ENDS = os.path.join(PROGRAMS, "ends")
SOURCE = os.path.join(os.environ["TG_SOURCE"], "tests/programs")


def line_of(mark, source="ends.c"):
    with open(os.path.join(SOURCE, source)) as file:
        return next(n for n, text in enumerate(file, 1) if f"/* {mark} */" in text)


def report(trace):
    told = run([TOLLGATE, "report", "--json", trace])
    check(told.status == 0, told)
    return json.loads(told.output)


def texts(told):
    return [finding["text"] for finding in told["post_mortem"]]


def stack_of(told, tid):
    """The calls of thread TID's last stack: (function, line) of those with a line, innermost first."""
    found = [stack for stack in told["stacks"] if stack["tid"] == tid]
    check(len(found) == 1, tid, told["stacks"])
    return found[0], [(call["function"], call["line"]) for call in found[0]["calls"] if call["line"]]


OVERFLOWED = re.compile(r", whose stack of [0-9.]+ [KMG]iB overflowed\b")


def record_in_time(trace, command):
    """A recording whose stacks are whole and named: a machine that does other things may need longer for that than there is
    time for stacks."""
    for _ in range(5):
        traced = record(trace, command, "--force")
        told = report(trace)
        calls = [call for stack in told["stacks"] for call in stack["calls"] if call["module"].endswith("/ends")]
        if all(stack["end"] != "no_time" for stack in told["stacks"]) and all(call["function"] for call in calls):
            break
    return traced, told


def crashes():
    """Each dies, or exits, as untraced; the stack has the line; other threads have stacks, too."""
    at = {mark: line_of(mark) for mark in ("WRITE", "FAULT", "MAIN", "NULL", "OVERFLOW", "ABORT", "JIT", "HANDLER",
                                           "ALARM", "EXIT")}
    main = ("main", at["MAIN"])
    cases = {
        "fault": [("write_nowhere", at["WRITE"]), ("end", at["FAULT"]), main],
        "null": [("end", at["NULL"]), main],
        "overflow": [("overflow", at["OVERFLOW"])] * 3,
        "smash": [],
        "abort": [("end", at["ABORT"]), main],
        "jit": [("call_code_of_ours", at["JIT"])],
        "again": [("write_nowhere", at["WRITE"])],
        "handler": [("fail_in_handler", at["HANDLER"]), ("end", at["ALARM"]), main],
    }
    for how, wanted in cases.items():
        natively = run([ENDS, how])
        traced, told = record_in_time(how, [ENDS, how])
        check(traced.status == natively.status < 0, how, natively, traced)
        [process] = told["processes"]
        stack, calls = stack_of(told, process["pid"])
        own = [call for call in calls if call[0] in ("main", "end") or call in wanted]
        check(own[:len(wanted)] == wanted, how, wanted, calls)
        check(stack["reason"] == "fatal_signal" and stack["signal"] == -natively.status, how, stack)
        others = [stack_of(told, other["tid"])[1] for other in told["stacks"] if other["tid"] != process["pid"]]
        check(len(others) == 2 and all("sleep_on" in dict(calls) for calls in others), how, others)
        [first, *_] = texts(told)
        check(bool(OVERFLOWED.search(first)) == (how == "overflow"), how, first)
        check("killed by" in first and (not wanted or f"ends.c:{wanted[0][1]}" in first), how, first)
        [look] = events(how, "stack_snapshot")
        check(look["threads"] == look["taken"] == 3 and look["took_ns"] < 1e9, look)
        check("exception" not in first, how, first)
    with open("thrown.cc", "w", encoding="utf-8") as file:
        file.write("#include <stdexcept>\nstatic void fail() { throw std::runtime_error(\"x\"); }\nint main() { fail(); }\n")
    subprocess.run(["g++", "-g", "-O0", "-o", "uncaught", "thrown.cc"], check=True)
    [first, *_] = texts(record_in_time("thrown", [os.path.abspath("uncaught")])[1])
    check("killed by SIGABRT (an exception that nobody caught)" in first and "thrown.cc:2" in first, first)
    [pc] = [event["pc"] for event in events("fault", "signal")]
    check(pc == events("fault", "stack")[0]["frames"][0]["pc"] != "0x0", pc)
    [first, *_] = texts(record_in_time("thread", [ENDS, "overflow of a thread"])[1])
    check(OVERFLOWED.search(first) and f"ends.c:{at['OVERFLOW']}" in first and "ulimit" not in first, first)
    # a handler that leaves, an exit: no process is killed, and the place is known all the same
    for how, wanted, reason in (("caught", ("write_nowhere", at["WRITE"]), "caught_signal"),
                                ("exit", ("end", at["EXIT"]), "exit")):
        traced = record(how, [ENDS, how])
        check(traced.status == run([ENDS, how]).status, how, traced)
        stacks = events(how, "stack")
        check(any(stack["reason"] == reason for stack in stacks), how, stacks)
    check(("end", at["EXIT"]) in stack_of(report("exit"), report("exit")["processes"][0]["pid"])[1])
    # a program that lives on faults: its handlers are not looked up at each of them, and its last one has a line
    check(record("often", [ENDS, "often"]).status == -signal.SIGSEGV)
    check(f"write_nowhere (ends.c:{at['WRITE']})" in texts(report("often"))[0], texts(report("often")))
    check(record("none", [ENDS, "fault"], "--no-stacks").status == -signal.SIGSEGV)
    check(not events("none", "stack", "stack_snapshot", "code_name"))


RUINS = """
#include <execinfo.h>
#include <signal.h>
#include <unistd.h>
static void handle(int number)
{
    void *calls[32];
    (void)number;
    write(1, "", backtrace(calls, 32) < 0);
}
void install(void)
{
    void *calls[4];
    backtrace(calls, 4);
    signal(SIGSEGV, handle);
}
"""


def ruins():
    """A handler of an MPI library's goes wrong itself where it unwinds a stack that leads nowhere: the program's line counts."""
    for name, source, flags in (("libucs.so", RUINS, ["-shared", "-fPIC"]),
                                ("jumps", "void install(void); int main(void) { install(); ((void (*)(void))0x1234)(); return 0; }\n", ["libucs.so", "-Wl,-rpath,."])):
        subprocess.run(["gcc", "-g", "-O0", "-x", "c", "-", "-o", name, "-x", "none", *flags], input=source, text=True, check=True)
    traced = record("ruins", ["./jumps"])
    check(traced.status == -signal.SIGSEGV, traced)
    text = texts(report("ruins"))[0]
    check("fault address 0x1234, in 0x1234 (in no known object), called from main (<stdin>:1)" in text, text)


def cores():
    """A core is dumped as it would be untraced."""
    with open("/proc/sys/kernel/core_pattern") as file:
        if file.read().strip() != "core":
            skip("cores go elsewhere here")
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    check(record("a", [ENDS, "fault"]).status == -signal.SIGSEGV)
    check(report("a")["processes"][0]["core_dumped"] and [name for name in os.listdir() if name.startswith("core")])


def interrupted():
    """The line of an endless loop, whoever asks for the end: of the recorder, or of the program."""
    spin = ("spin", line_of("SPIN"))
    for number, to_recorder in ((signal.SIGTERM, True), (signal.SIGINT, False)):
        trace = f"spin{int(number)}"
        recorder = subprocess.Popen([TOLLGATE, "record", "-q", "-o", trace, "--", ENDS, "spin"],
                                    stdout=subprocess.PIPE, start_new_session=True)
        check(recorder.stdout.readline() == b"ready\n")
        if to_recorder:
            recorder.send_signal(number)
        else:
            children = open(f"/proc/{recorder.pid}/task/{recorder.pid}/children").read().split()
            os.kill([int(child) for child in children if os.readlink(f"/proc/{child}/exe") == ENDS][0], number)
        check(recorder.wait() == -number, recorder.returncode)
        told = report(trace)
        [process] = told["processes"]
        stack, calls = stack_of(told, process["pid"])
        check(calls[0][0] == "spin" and abs(calls[0][1] - spin[1]) <= 1, calls)
        check("interruption" in [finding["kind"] for finding in told["post_mortem"]], texts(told))
        check(any("in spin (ends.c:" in text for text in texts(told)), texts(told))


def attached():
    """The last stacks of a process whose recording ends; it lives on."""
    program = subprocess.Popen([ENDS, "spin"], stdout=subprocess.PIPE)
    check(program.stdout.readline() == b"ready\n")
    recorder = subprocess.Popen([TOLLGATE, "record", "-o", "a", "-p", str(program.pid)], stderr=subprocess.PIPE)
    while not any(line.startswith("TracerPid:\t") and line.split()[1] != "0"
                  for line in open(f"/proc/{program.pid}/status")):
        check(recorder.poll() is None, "the recorder has ended")
    recorder.send_signal(signal.SIGINT)
    check(recorder.wait() == 0)
    check(program.poll() is None, "the program has ended")
    program.kill()
    program.wait()
    told = report("a")
    stack, calls = stack_of(told, program.pid)
    check(stack["reason"] == "detach" and calls[0][0] == "spin" and len(told["stacks"]) == 3, told["stacks"])


PYTHON = """
import os, sys
class Solver:
    def step(self, n):
        if n:
            return self.step(n - 1)  # STEP
        values = [i for i in range(3)]
        os.write(1, b"ready\\n")
        while True:
            pass  # SPIN
def über():
    list(map(lambda x: Solver().step(x),  # LAMBDA
             [2]))
über()  # TOP
"""


def python():
    """Functions, files and lines of Python beside the frames of the interpreter; every version that is here."""
    with open("über.py", "w") as file:
        file.write(PYTHON)
    lines = {mark: next(n for n, text in enumerate(PYTHON.splitlines(), 1) if f"# {mark}" in text)
             for mark in ("STEP", "SPIN", "LAMBDA", "TOP")}
    found = [path for path in (shutil.which(f"python3.{minor}", path="/usr/bin:/usr/local/bin") for minor in range(9, 14))
             if path is not None]
    if not found:
        skip("no Python of a version that is known")
    for interpreter in found:
        trace = os.path.basename(interpreter)
        recorder = subprocess.Popen([TOLLGATE, "record", "-q", "-o", trace, "--", interpreter, "über.py"],
                                    stdout=subprocess.PIPE, start_new_session=True)
        check(recorder.stdout.readline() == b"ready\n")
        recorder.send_signal(signal.SIGTERM)
        check(recorder.wait() == -signal.SIGTERM, recorder.returncode)
        told = report(trace)
        [stack] = told["stacks"]
        calls = [(call["function"].split(".")[-1], call["line"]) for call in stack["calls"] if call["python"]]
        check(calls[0][0] == "step" and lines["SPIN"] - 2 <= calls[0][1] <= lines["SPIN"], trace, calls)
        check(calls[1:] == [("step", lines["STEP"])] * 2 + [("<lambda>", lines["LAMBDA"]), ("über", lines["LAMBDA"]),
                                                          ("<module>", lines["TOP"])], trace, calls)
        check(all(call["file"].endswith("über.py") for call in stack["calls"] if call["python"]), stack)
        check(any("_PyEval_EvalFrame" in call["function"] for call in stack["calls"]), stack)
        check(any("in Solver.step (über.py:" in text or "in step (über.py:" in text for text in texts(told)), texts(told))


CASES = {case.__name__: case for case in (crashes, ruins, cores, interrupted, attached, python)}
CASES[sys.argv[1]]()
