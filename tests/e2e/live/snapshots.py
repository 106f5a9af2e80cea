#!/usr/bin/env python3
"""The text and the data of one answer are of one moment, also while threads come and go: 100 times for `dfocus a dstatus`, and
some times for every command that `help` lists. A command with both that this test has no rule for is a failure, so that no new
one is forgotten."""
import os
import re
import time

from live_console import LiveConsole, await_true, fail

PROGRAM = os.path.join(os.environ["TG_PROGRAMS"], "coming")
SOURCE = os.path.join(os.environ["TG_SOURCE"], "tests/programs/coming.c")
MARK = "        turn++;"
# Commands that resume, wait, or end what the others need: their answer is one of the tracer's, looked at once.
MOVING = {"dcont", "dgo", "dwait", "dhalt", "dstep", "dnext", "dstepi", "dnexti", "dout", "duntil", "opm start", "opm next", "opm step",
          "opm all_out", "opm barrier", "opm critical", "opm sections", "drun", "dkill", "ddetach", "dattach", "dhold", "dunhold", "gui start", "gui show", "gui control", "gui quit", "quit", "exit"}
TIMES = 3
COMING_TIME_LIMIT_S = 60


def threads_in(text):
    """How many threads the innermost lines of a tree of dstatus have."""
    lines = [(len(line) - len(line.lstrip()), int(line.rsplit(": ", 1)[1].split("[")[0].split(":")[1]))
             for line in text.splitlines()]
    return sum(n for i, (depth, n) in enumerate(lines) if i + 1 == len(lines) or lines[i + 1][0] <= depth)


def rows(text, n_headings=1):
    return len(text.splitlines()) - n_headings


def is_same_workers(text, data):
    return sum(int(n) for n in re.findall(r"\((\d+) threads\)", text)) + len(re.findall(r"\(thread \d+\)$", text, re.M)) == len(data)


def is_same_barriers(text, data):
    found = re.findall(r"^  waiting  (\S+)", text, re.M)
    waiting = sum(int(b or a) - int(a) + 1 for each in found for a, b in re.findall(r"(\d+)(?:-(\d+))?", each))
    return len(found) == len(data) and waiting == sum(len(barrier.get("waiting", barrier.get("held", []))) for barrier in data)


def is_same_processes(text, data):
    return rows(text) == len(data) and all(process["last"] in text and f"  {process['threads']}  " in text for process in data)


def is_same_place(text, data):
    return text.startswith(f"event {data['number']},") and data["words"] in text


def is_same_findings(text, data):
    return all(f"{i + 1}. {finding['text']}" in text for i, finding in enumerate(data)) and f"{len(data) + 1}. " not in text


def is_same_stack(text, data):
    return "threads" in data[0] or rows(text, 0) == len(data) and data[0]["function"] in text


def is_same_points(text, data):
    return [int(n) for n in re.findall(r"^ *(\d+) (?:\[|addr=)", text, re.M)] == [point["id"] for point in data]


def is_same_frames(text, data):
    return all(f"frame {each['level']}: {each['function']}" in text for each in data)


# The command to whether its text tells what its data tells.
RULES = {
    "dstatus": lambda text, data: threads_in(text) == len(data),
    "info workers": is_same_workers,
    "info barrier": is_same_barriers,
    "info processes": is_same_processes,
    "info libraries": lambda text, data: rows(text) == len(data) or not data,
    "info dlopen": lambda text, data: all(f" {n} " in text for n in (data["events"], data["unloads"], data["null_events"])),
    "dinfo dlopen": lambda text, data: all(f" {n} " in text for n in (data["events"], data["unloads"], data["null_events"])),
    "dinfo libraries": lambda text, data: rows(text) == len(data),
    "info event": lambda text, data: is_same_place(text, data) if isinstance(data, dict) and "words" in data
    else all(str(value) in text for value in (data["number"], data["time_ns"])),
    "where": is_same_findings,
    "dactions": is_same_points,
    "dwhere": is_same_stack,
    "dlist": lambda text, data: all(f"{line['number']}  {line['text']}".rstrip() in text for line in data["lines"]),
    "dexamine": lambda text, data: all(value in text for value in data["values"]) if isinstance(data, dict)
    else all(line["text"] in text for line in data),
    # a value of several lines is indented
    "dprint": lambda text, data: all(line in text for each in data
                                     for line in each.get("text", each.get("error")).splitlines()),
    "dup": is_same_frames,
    "ddown": is_same_frames,
    "dset": lambda text, data: all(setting["name"] in text for setting in data),
    "alias": lambda text, data: dict(re.split(r"  +", line, maxsplit=1) if "  " in line else line.split(" ", 1)
                                     for line in text.splitlines()) == data,
}


def is_same(name, text, data):
    if name == "dfocus":
        return not isinstance(data, str) or data == text
    if isinstance(data, (str, int)):
        return str(data) == text
    if name not in RULES:
        fail(f"{name} has text and data, and this test no rule for them: add one\n{text}\n{data}")
    return bool(RULES[name](text, data))


def stop_one(console):
    """One thread is stopped where the source is known; the others run on."""
    console.do(f"dset SEARCH_PATH {os.path.dirname(SOURCE)}")
    line = open(SOURCE, encoding="utf-8").read().splitlines().index(MARK) + 1
    console.do(f"dbreak {os.path.basename(SOURCE)}#{line} -t")
    console.do("dgo")
    stopped = []
    await_true(lambda: stopped.extend(thread for thread in console.command("dfocus a dstatus")["data"]
                                      if thread["state"] == "breakpoint") or stopped, "no thread comes to the breakpoint")
    console.do(f"dfocus t1.{stopped[0]['dtid']}")


def check(console, name, text):
    answer = console.command(text)
    if answer["ok"] and "data" in answer and not is_same(name, answer["text"], answer["data"]):
        fail(f"{text}: text and data differ:\n{answer['text']}\n{answer['data']}")
    return answer["ok"] and "data" in answer


def main():
    console = LiveConsole("-o", "snapshots.tgt", "--", PROGRAM, stderr=open("output", "wb"))
    stop_one(console)
    await_true(lambda: len(console.command("dfocus a dstatus")["data"]) > 30, "the steady threads do not come")
    counts = set()
    until = time.monotonic() + COMING_TIME_LIMIT_S
    looks = 0
    while looks < 100 or (len(counts) == 1 and time.monotonic() < until):  # on a loaded machine threads come late
        looks += 1
        answer = console.command("dfocus a dstatus")
        counts.add(len(answer["data"]))
        if threads_in(answer["text"]) != len(answer["data"]):
            fail(f"{threads_in(answer['text'])} threads in the text, {len(answer['data'])} in the data:\n{answer['text']}")
    if len(counts) == 1:
        fail(f"no thread came or went: always {counts}")
    names = re.findall(r"^((?:\w+ )?\w+)  +\S", console.do("help").split("\n\n")[0], re.M)
    seen = set()
    for name in names:
        example = re.search(r"^Example: (.*)$", console.do(f"help {name}"), re.M).group(1)
        for text in {name, f"dfocus a {{{name}}}", example if example.startswith(name) and ";" not in example else name}:
            for _ in range(TIMES if name not in MOVING else 0):
                seen |= {name} if check(console, name, text) else set()
    missing = set(RULES) - seen
    if missing:
        fail(f"without data in this test: {[(name, console.command(name)) for name in missing]}")
    console.end("quit -kill 0")


main()
