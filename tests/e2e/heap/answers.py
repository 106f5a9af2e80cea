#!/usr/bin/env python3
"""tollgate heap and report on a program whose heap is known by arithmetic, and what other tools read of it.

usage: answers.py
"""
import gzip
import json
import os
import shutil
import subprocess

from recording import TOLLGATE, check, skip

SOURCE = os.path.join(os.environ["TG_SOURCE"], "tests/programs/heap_truth.c")
N, NODE, LARGE, LEAK = 1000, 48, 8 << 20, 777


def heap(*arguments):
    return subprocess.run([TOLLGATE, "heap", *arguments, "trace"], check=True, capture_output=True).stdout


def function_of(row):
    return next((call["function"] for call in row["calls"] if call["file"].endswith("heap_truth.c")), "")


def fields(data):
    """(number, value) of a protobuf message."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, varint()
        else:
            check(tag & 7 == 2, "wire type", tag)
            size = varint()
            check(at + size <= len(data), "message cut")
            yield tag >> 3, data[at:at + size]
            at += size


def numbers(packed):
    value = shift = 0
    for byte in packed:
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            yield value
            value = shift = 0


def check_profile(expected_peak):
    """profile.proto: every number in it leads somewhere, and the sum of peak_space is the peak."""
    message = list(fields(gzip.decompress(heap("--format", "pprof"))))
    strings = [value.decode() for number, value in message if number == 6]
    types = [strings[dict(fields(value))[1]] for number, value in message if number == 1]
    functions = {dict(fields(value))[1]: strings[dict(fields(value))[2]] for number, value in message if number == 5}
    locations = {}
    for number, value in message:
        if number == 4:
            location = list(fields(value))
            line = dict(fields(next(v for n, v in location if n == 4)))
            locations[dict(location)[1]] = functions[line[1]]
    check(strings[0] == "" and "peak_space" in types, types)
    peak, names = 0, set()
    for number, value in message:
        if number == 2:
            sample = dict(fields(value))
            names |= {locations[location] for location in numbers(sample[1])}
            peak += list(numbers(sample[2]))[types.index("peak_space")]
    check(peak == expected_peak, "pprof has another peak", peak, expected_peak)
    check({"build", "main", "leak"} <= names, names)
    programs = [strings[dict(fields(value))[5]] for number, value in message if number == 3]
    check(len(programs) == 1 and programs[0].endswith("/truth"), "pprof's first mapping", programs)


def main():
    if subprocess.run(["cc", "-g", "-O1", "-fno-inline", SOURCE, "-o", "truth"]).returncode != 0:
        skip("cannot build a program here")
    subprocess.run([TOLLGATE, "record", "--quiet", "--force", "-o", "trace", "--heap", "--", "./truth"], check=True)
    os.rename("truth", "elsewhere")  # the trace has the names
    answer = json.loads(heap("--json"))
    rows = {}
    for row in answer["rows"]:
        sums = rows.setdefault(function_of(row), {"calls": 0, "peak": 0, "live": 0, "temporary": 0})
        sums["calls"] += row["allocated"]["blocks"]
        sums["peak"] += row["peak"]["bytes"]
        sums["live"] += row["live"]["bytes"]
        sums["temporary"] += row["temporary"]
    check(rows["temporary"] == {"calls": N, "peak": 0, "live": 0, "temporary": N}, rows)
    check(rows["build"] == {"calls": N, "peak": N * NODE, "live": 0, "temporary": 0}, rows)
    check(rows["leak"]["live"] == LEAK and rows["leak"]["calls"] == 1, rows)
    check(rows["main"]["calls"] == 2 and rows["main"]["peak"] == LARGE and rows["main"]["live"] == 0, rows)
    peak = answer["peak"]["bytes"]
    check(peak == sum(row["peak"] for row in rows.values()), peak, rows)
    check_profile(peak)

    lines = [line.rsplit(" ", 1) for line in heap("--format", "collapsed").decode().splitlines()]
    check(sum(int(line[1]) for line in lines) == peak, lines)
    check(any(line[0].split(";")[-1].startswith("build (heap_truth.c:") for line in lines), lines)

    with open("truth.massif", "wb") as massif:
        massif.write(heap("--format", "massif"))
    if shutil.which("ms_print"):
        shown = subprocess.run(["ms_print", "--threshold=0.1", "truth.massif"], capture_output=True, text=True)
        check(shown.returncode == 0 and "build (heap_truth.c:" in shown.stdout and "(peak)" in shown.stdout, shown)

    text = subprocess.run([TOLLGATE, "report", "--no-pager", "trace"], check=True, capture_output=True,
                          text=True).stdout
    check("\nHeap\n" in text and "build (heap_truth.c:" in text, text)
    if shutil.which("valgrind"):
        told = subprocess.run(["valgrind", "./elsewhere"], capture_output=True, text=True).stderr
        usage = next(line for line in told.splitlines() if "total heap usage" in line).replace(",", "").split()
        check(int(usage[4]) == answer["allocated"]["blocks"], usage, answer["allocated"])
        check(int(usage[8]) == answer["allocated"]["bytes"], usage, answer["allocated"])


main()
