#!/usr/bin/env python3
"""What a page of a running job takes: 4,096 OpenMP workers that each meet a barrier ten times a second.

usage: page_live_bench.py BUILD [--processes N] [--threads N] [--nap-us N] [--seconds S]

Measured in a headless Chromium: from the link until its first paint, until the verdict is painted, and until all parts are
(data-ready); bytes per second that its documents and news are afterwards; how many rows and elements the page has; the memory of
the server, and of the session before the page and with it: its own, and what it shares with the job (rings).
"""
import argparse
import os
import queue
import re
import subprocess
import sys
import tempfile
import threading
import time

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = r"""
#include <omp.h>
#include <unistd.h>
int main(void)
{
    #pragma omp parallel
    for (int i = 0; i < 100000; i++) {
        usleep(NAP_US);
        #pragma omp barrier
    }
}
"""


VERDICT_PAINTED = """
new PerformanceObserver((list) => { for (const entry of list.getEntries()) window.firstPaint = window.firstPaint || entry.startTime; }).observe({type: 'paint', buffered: true});
window.verdictPaint = 0;
(function look() {
  if (document.querySelector('#verdict .finding')) requestAnimationFrame(() => setTimeout(() => { window.verdictPaint = performance.now(); }, 0));
  else requestAnimationFrame(look);
})();
"""


def read_links(stream, links):
    """Puts the links of `gui start` into LINKS, until the end of STREAM."""
    for line in stream:
        link = re.search(rb'"link": *"([^"]*)"', line)
        if link:
            links.put(link[1].decode())


def threads_of(pid):
    """How many threads the processes below PID have."""
    from web_page import children_of
    found = 0
    for child in children_of(pid):
        try:
            found += len(os.listdir(f"/proc/{child}/task")) + threads_of(child)
        except FileNotFoundError:
            pass
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build")
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--threads", type=int, default=512)
    parser.add_argument("--nap-us", type=int, default=100000)
    parser.add_argument("--seconds", type=float, default=20)
    options = parser.parse_args()
    os.environ["TG_TOLLGATE"] = os.path.abspath(os.path.join(options.build, "tollgate"))
    os.environ["TG_SOURCE"] = SOURCE
    sys.path[:0] = [os.path.join(SOURCE, "tests/e2e/support"), os.path.join(SOURCE, "tests/e2e/web")]
    from live_console import LiveConsole
    from page import OwnBrowser
    from web_page import memory_mb, server_of

    class Counted(OwnBrowser):
        """Counts what comes."""
        taken = 0

        def read(self):
            message = super().read()
            if message.get("method") == "Network.dataReceived":
                self.taken += message["params"]["dataLength"]
            return message

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        os.chdir(directory)
        with open("team.c", "w", encoding="utf-8") as file:
            file.write(PROGRAM.replace("NAP_US", str(options.nap_us)))
        subprocess.run(["gcc", "-g", "-O1", "-fopenmp", "-o", "team", "team.c"], check=True)
        starts = " ".join(["./team &"] * options.processes)
        console = LiveConsole("-o", "run.tgt", "--", "sh", "-c", f"{starts} wait", env={
            **os.environ, "OMP_NUM_THREADS": str(options.threads), "OMP_STACKSIZE": "64K", "OMP_DYNAMIC": "false"})
        try:
            console.do("dgo")
            links = queue.Queue()
            threading.Thread(target=read_links, args=(console.process.stdout, links), daemon=True).start()  # a console that nobody reads waits
            until = time.monotonic() + 60
            while threads_of(console.process.pid) < options.processes * options.threads and time.monotonic() < until:
                time.sleep(0.2)
            time.sleep(2)
            before = memory_mb(console.process.pid)
            console.process.stdin.write(b'{"id": 1, "command": "gui start"}\n')
            console.process.stdin.flush()
            link = links.get(timeout=60)
            browser = Counted()
            browser.call("Page.addScriptToEvaluateOnNewDocument", source=VERDICT_PAINTED)
            browser.call("Emulation.setDeviceMetricsOverride", width=1366, height=900, deviceScaleFactor=1, mobile=False)
            begun = time.monotonic()
            browser.open(link)
            painted = time.monotonic() - begun
            while not browser.wait("document.body.dataset.ready"):
                pass
            ready = time.monotonic() - begun
            first, begun = browser.taken, time.monotonic()
            while time.monotonic() < begun + options.seconds:
                browser.wait("false")
            spent = time.monotonic() - begun
            first_paint, verdict = (browser.ask(f"window.{one} / 1000") for one in ("firstPaint", "verdictPaint"))
            said = browser.ask("document.getElementById('message').textContent")
            facts = browser.ask("document.getElementById('job-facts').textContent")
            rows = browser.ask("document.querySelectorAll('.strip-head').length")
            elements = browser.ask("document.querySelectorAll('*').length")
            print(f"{facts}: first paint after {first_paint:.2f} s, the verdict after {verdict:.2f} s, loaded after {painted:.2f} s, all parts after {ready:.2f} s "
                  f"({first / 1000:.0f} KB); then {(browser.taken - first) / spent / 1000:.1f} KB/s over {spent:.0f} s; {rows} rows, {elements} elements; "
                  f"server {memory_mb(server_of(console.process.pid))}, session {memory_mb(console.process.pid)}, before the page {before}; load {os.getloadavg()[0]:.0f}")
            if said or browser.problems:
                print(f"message: {said}; problems: {browser.problems[:2]}")
            browser.close()
        finally:
            console.process.stdin.write(b'{"id": 0, "command": "quit -kill 0"}\n')
            console.process.stdin.flush()
            console.process.wait(60)


main()
