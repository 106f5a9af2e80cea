#!/usr/bin/env python3
"""Runs a program natively and under the engine: output and wait status must be the same.

usage: transparent.py [--agent [--aside REASON]] [--break SYMBOL | --break-each PREFIX | --hits N | --count KIND=N | --user | \
--repeat N]... PROGRAM ARG...

--agent        `tollgate record --dlopen=agent` instead of the bare engine, without breakpoints
--aside        a reason for which the agent may step aside

--break        plants a breakpoint at the function SYMBOL of PROGRAM
--break-each   plants one on every instruction of every function whose name begins with PREFIX
--hits         the breakpoints were hit exactly N times
--count        the engine told of exactly N events of KIND
--repeat       under the engine N times (races show up)
"""
import argparse
import collections
import json
import os
import re
import signal
import subprocess
import sys

TIME_LIMIT_S = 100


def run(command):
    """stdout + stderr, wait status in Popen's convention; leftovers of the run are an error."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               start_new_session=True)
    try:
        output, _ = process.communicate(timeout=TIME_LIMIT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        sys.exit(f"{' '.join(command)}: still running after {TIME_LIMIT_S} s")
    return output, process.returncode


def function_offsets(program, symbol):
    for line in subprocess.run(["nm", program], check=True, capture_output=True, text=True).stdout.splitlines():
        fields = line.split()
        if len(fields) == 3 and fields[2] == symbol and fields[1] in "tT":
            return [fields[0]]
    sys.exit(f"{program} has no function {symbol}")


def instruction_offsets(program, prefix):
    offsets, inside = [], False
    listing = subprocess.run(["objdump", "-d", "--no-show-raw-insn", program], check=True, capture_output=True, text=True)
    for line in listing.stdout.splitlines():
        header = re.match(r"[0-9a-f]+ <(.*)>:$", line)
        if header:
            inside = header.group(1).startswith(prefix)
        instruction = re.match(r"\s+([0-9a-f]+):\s", line)
        if inside and instruction:
            offsets.append(instruction.group(1))
    if not offsets:
        sys.exit(f"{program} has no function {prefix}*")
    return offsets


def check_log(path, arguments):
    """What the engine told must be consistent in itself."""
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = file.read().splitlines()
    kinds = collections.Counter()
    live = set()
    complaints = []
    for line in lines:
        if line.startswith("breakpoint:"):
            complaints.append(line)
        event = re.match(r"(\d+)/(\d+) (\S+)", line)
        if not event:
            continue
        pid, kind = event.group(1), event.group(3)
        kinds[kind] += 1
        if kind == "process_start":
            live.add(pid)
        elif pid != "0" and pid not in live:
            sys.exit(f"an event of a process that does not live: {line}")
        if kind in ("process_exit", "detach"):
            live.discard(pid)
    for complaint in complaints:  # a process that is killed in that moment has no memory any more
        pid = re.search(r"process (\d+)", complaint)
        if not pid or not any(line.startswith(f"{pid[1]}/{pid[1]} process_exit how=signaled status=9") for line in lines):
            sys.exit(f"the engine said: {complaint}")
    if live:
        sys.exit(f"no end was told of {sorted(live)}")
    hits = int(lines[-1].split()[1])
    if arguments.hits is not None and hits != arguments.hits:
        sys.exit(f"{hits} hits instead of {arguments.hits}")
    for wish in arguments.count:
        kind, number = wish.split("=")
        if kinds[kind] != int(number):
            sys.exit(f"{kinds[kind]} events {kind} instead of {number}")
    return hits


def check_trace(path, arguments):
    """The same of a trace, which also says that the agent was in every program that it can be in."""
    dump = subprocess.run([os.environ["TG_TOLLGATE"], "dump", "--json", path], check=True, capture_output=True, text=True)
    events = [json.loads(line) for line in dump.stdout.splitlines()]
    kinds = collections.Counter(event["kind"] for event in events)
    killed = {event["pid"] for event in events if event["kind"] == "process_exit" and event["status"] == 9}
    live, watching = set(), False
    for event in events:
        pid = event.get("pid", 0)
        if event["kind"] == "process_start":
            live.add(pid)
        elif pid != 0 and pid not in live:
            sys.exit(f"an event of a process that does not live: {event}")
        if event["kind"] in ("process_exit", "detach"):
            live.discard(pid)
        if event["kind"] == "agent":
            watching = watching or event["state"] == "watching"
            if event["state"] == "aside" and pid not in killed and event["reason"] not in arguments.aside:
                sys.exit(f"the agent stepped aside: {event}")
        if event["kind"] == "loss" and "killed" not in event["reason"]:
            sys.exit(f"lost: {event}")
    if live:
        sys.exit(f"no end was told of {sorted(live)}")
    if not watching:
        sys.exit("the agent watched nothing")
    for wish in arguments.count:
        kind, number = wish.split("=")
        if kinds[kind] != int(number):
            sys.exit(f"{kinds[kind]} events {kind} instead of {number}")
    report = subprocess.run([os.environ["TG_TOLLGATE"], "report", "--json", path], check=True, capture_output=True)
    if os.path.exists(json.loads(report.stdout)["meta"]["agent.directory"]):
        sys.exit("the directory of the rings is left behind")
    return 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--agent", action="store_true")
    parser.add_argument("--aside", action="append", default=[])
    parser.add_argument("--break", dest="symbols", action="append", default=[])
    parser.add_argument("--break-each", dest="prefixes", action="append", default=[])
    parser.add_argument("--hits", type=int)
    parser.add_argument("--count", action="append", default=[])
    parser.add_argument("--user", action="store_true")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--meddle", type=int, help="halt, step and let go threads at random, with this seed")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    program = os.path.join(os.environ["TG_PROGRAMS"], arguments.command[0])
    command = [program] + arguments.command[1:]
    offsets = [o for symbol in arguments.symbols for o in function_offsets(program, symbol)]
    offsets += [o for prefix in arguments.prefixes for o in instruction_offsets(program, prefix)]
    driver = [os.environ["TG_ENGINE_DRIVER"], "-o", "events", "-k"]
    if arguments.meddle is not None:
        driver += ["-c", str(arguments.meddle)]
    for offset in offsets:
        driver += ["-b", offset + (",user" if arguments.user else "")]
    if arguments.agent:
        driver = [os.environ["TG_TOLLGATE"], "record", "--quiet", "--force", "--dlopen=agent", "-o", "trace", "--"]
        offsets = []
    expected = run(command)
    for _ in range(arguments.repeat):
        got = run(driver + command)
        if got != expected:
            sys.stdout.buffer.write(b"natively:\n" + expected[0] + b"under the engine:\n" + got[0])
            sys.exit(f"wait status {expected[1]} natively, {got[1]} under the engine")
        hits = check_trace("trace", arguments) if arguments.agent else check_log("events", arguments)
    print(f"same output ({len(expected[0])} bytes) and status {expected[1]}; {hits} hits of {len(offsets)} breakpoints")


if __name__ == "__main__":
    main()
