#!/usr/bin/env python3
"""Sequence diagrams of 10 to a million events by 4 to 1,000 workers: time, memory, sizes; with a Chromium, how long until
the page is open and has answered a search.

usage: sequence_bench.py TOLLGATE MAKE_OPENMP_TRACE [--chromium PROGRAM] [--runs N] [--events N,N...] [--workers N,N...]
                         [--keep DIRECTORY]

Each line is one trace, drawn with --all, as svg and as html; beside it the floor: decoding alone (`dump` of a kind that is
not there). Times are the best of N runs.
"""
import argparse
import os
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "golden"))
from browser import Browser  # noqa: E402


def measure(command, runs):
    """Wall time in s, the best of RUNS, and peak resident memory in KiB, the largest. Without GNU time the memory is a
    bound: that of the interpreter counts, because it was there before the exec."""
    best, peak = float("inf"), 0
    with_time = ["/usr/bin/time", "-f", "%M"] if os.path.exists("/usr/bin/time") else []
    for _ in range(runs):
        begin = time.monotonic()
        child = subprocess.Popen([*with_time, *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        errors = child.stderr.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = status
        best = min(best, time.monotonic() - begin)
        if status != 0:
            sys.exit(f"{command}: wait status {status}: {errors}")
        peak = max(peak, int(errors.split()[-1]) if with_time else usage.ru_maxrss)
    return best, peak


def open_page(browser, page):
    """Seconds until PAGE is loaded, and until a search in it has been answered; how many rows it has."""
    begin = time.monotonic()
    browser.open(f"file://{page}")
    rows = browser.ask("document.querySelectorAll('g.r').length")
    opened = time.monotonic() - begin
    begin = time.monotonic()
    browser.ask("document.getElementById('query').focus()")
    browser.call("Input.insertText", text="barrier")
    browser.ask("document.getElementById('count').textContent")
    return opened, time.monotonic() - begin, rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tollgate")
    parser.add_argument("make_openmp_trace")
    parser.add_argument("--chromium")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--events", default="10,1000,100000,1000000")
    parser.add_argument("--workers", default="4,64,1000")
    parser.add_argument("--keep")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        directory = os.path.abspath(arguments.keep or temporary)
        browser = Browser(arguments.chromium, temporary) if arguments.chromium else None
        print(f"{'events':>9} {'workers':>7} {'decode':>9} {'svg':>9} {'memory':>8} {'svg':>9} {'html':>9}"
              + (f" {'opened':>9} {'searched':>9} {'rows':>6}" if browser else ""))
        for events in (int(word) for word in arguments.events.split(",")):
            for workers in (int(word) for word in arguments.workers.split(",")):
                name = os.path.join(directory, f"{events}-{workers}")
                subprocess.run([arguments.make_openmp_trace, name + ".tgt", str(events), str(workers)], check=True,
                               stdout=subprocess.DEVNULL)
                decode, _ = measure([arguments.tollgate, "dump", "--kind", "note", name + ".tgt"], arguments.runs)
                draw = [arguments.tollgate, "sequence", "--all", "--force", "--symbols", "off"]
                drawn, peak = measure([*draw, "-o", name + ".svg", name + ".tgt"], arguments.runs)
                measure([*draw, "--format", "html", "-o", name + ".html", name + ".tgt"], 1)
                line = (f"{events:9} {workers:7} {decode * 1e3:6.0f} ms {drawn * 1e3:6.0f} ms {peak / 1024:4.0f} MiB "
                        f"{os.path.getsize(name + '.svg') / 1e3:6.0f} kB {os.path.getsize(name + '.html') / 1e3:6.0f} kB")
                if browser:
                    opened, searched, rows = open_page(browser, name + ".html")
                    line += f" {opened * 1e3:6.0f} ms {searched * 1e3:6.0f} ms {rows:6}"
                print(line, flush=True)
        if browser:
            browser.close()


main()
