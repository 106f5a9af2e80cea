#!/usr/bin/env python3
"""A trace of several chunks that is cut anywhere is reported and dumped as far as it reads, and both say so; both see
the same events; a flipped byte inside is an error that names the file, behind everything that was read before it.

usage: interrupted.py TRACE_FROM_JSON
"""
import json
import os
import random
import subprocess
import sys

EVENTS = 90000
TOLLGATE = os.environ["TG_TOLLGATE"]


def tollgate(*arguments):
    return subprocess.run([TOLLGATE, *arguments], capture_output=True)


def make(trace_from_json, path):
    with open("lines", "w") as lines:
        lines.write('{"meta": {"start.monotonic_ns": "1000"}}\n')
        lines.write('{"t_ns": 1000, "pid": 7, "tid": 7, "kind": "process_start"}\n')
        for i in range(EVENTS - 2):
            # Bytes that do not compress away, so that a cut hits every chunk.
            lines.write('{"t_ns": %d, "pid": 7, "tid": 7, "kind": "signal", "signal": 10, "address": "0x%x"}\n'
                        % (2000 + 1000 * i, random.getrandbits(64)))
        lines.write('{"t_ns": %d, "pid": 7, "tid": 7, "kind": "process_exit"}\n' % (2000 + 1000 * EVENTS))
    subprocess.run([trace_from_json, "lines", path], check=True)


def count_dumped(path):
    dumped = tollgate("dump", "--json", path)
    lines = dumped.stdout.decode().splitlines()
    for line in lines[:1] + lines[-1:]:
        json.loads(line)
    return dumped, len(lines)


def is_trace(content):
    with open("cut", "wb") as cut:
        cut.write(content)
    return tollgate("dump", "cut").returncode == 0


def main():
    random.seed(1)
    make(sys.argv[1], "whole")
    content = open("whole", "rb").read()
    _, count = count_dumped("whole")
    assert count == EVENTS, count
    counts = set()
    meta_end = 16  # of the first section: something of it must be there
    while not is_trace(content[:meta_end]):
        meta_end += 1
    # Every byte of the next section's header, then all over the file.
    sizes = list(range(meta_end, meta_end + 80)) + [len(content) * part // 12 for part in range(1, 12)]
    for size in sizes + [len(content) - 1]:
        with open("cut", "wb") as cut:
            cut.write(content[:size])
        dumped, count = count_dumped("cut")
        assert dumped.returncode == 0 and b"interrupted" in dumped.stderr, (size, dumped.stderr)
        counts.add(count)
        if size < meta_end + 80 and size != meta_end + 32:
            continue
        text = tollgate("report", "cut")
        assert text.returncode == 0 and b"INTERRUPTED" in text.stdout, (size, text)
        assert b"nothing lost" not in text.stdout and b"the trace is incomplete" in text.stdout, text.stdout
        report = json.loads(tollgate("report", "--json", "cut").stdout)
        assert report["trace"]["events"] == count, (report["trace"], count)
        assert report["trace"]["nothing_lost"] is False and report["trace"]["complete"] is False, report["trace"]
        assert sum(kind["events"] for kind in report["kinds"]) == count
        if count < EVENTS and count > 0:
            assert b"still running" in text.stdout, text.stdout
    assert len(counts) >= 3, f"cuts left {counts} events: not several chunks"

    broken = bytearray(content)
    broken[len(content) * 3 // 4] ^= 0x40
    with open("broken", "wb") as file:
        file.write(broken)
    dumped, count = count_dumped("broken")
    assert dumped.returncode == 2 and dumped.stderr.startswith(b"tollgate: broken: "), dumped.stderr
    assert 0 < count < EVENTS, count
    text = tollgate("report", "broken")
    assert text.returncode == 2 and b"DAMAGED" in text.stdout and b"nothing lost" not in text.stdout, text
    assert text.stderr.startswith(b"tollgate: broken: "), text.stderr
    json.loads(tollgate("report", "--json", "broken").stdout)
    json.loads(tollgate("dump", "--chrome", "broken").stdout)

    # The index and a scan lead to the same events.
    middle = "%dns" % (1000 * (EVENTS // 2) + 1000)
    indexed = tollgate("dump", "--json", "--from", middle, "whole").stdout
    scanned = tollgate("dump", "--json", "--from", middle, "--pid", "7", "whole").stdout
    everything = tollgate("dump", "--json", "whole").stdout.splitlines(keepends=True)
    start = 1000 + 1000 * (EVENTS // 2) + 1000
    expected = b"".join(line for line in everything if int(line.split(b",")[0].split(b" ")[1]) >= start)
    assert indexed == scanned == expected, (len(indexed), len(scanned), len(expected))


main()
