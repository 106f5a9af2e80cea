#!/usr/bin/env python3
"""What the page of a trace takes, in a headless Chromium (traces of any size: make_openmp_trace).

usage: page_trace_bench.py BUILD TRACE [--moves N]

Measured: from the link until the first paint, until the verdict is painted and until the strip has all of the trace; then the
answers to N zooms and pans by keys, in the browser's own time from the question until the answer is there; the memory of server and
session.
"""
import argparse
import os
import random
import statistics
import sys
import tempfile
import time

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

WATCH = """
new PerformanceObserver((list) => { for (const entry of list.getEntries()) window.firstPaint = window.firstPaint || entry.startTime; }).observe({type: 'paint', buffered: true});
window.asked = [];
new PerformanceObserver((list) => { for (const entry of list.getEntries()) if (entry.name.includes('/data/strip')) window.asked.push(entry.duration); }).observe({type: 'resource', buffered: true});
window.verdictPaint = 0;
(function look() {
  if (document.querySelector('#verdict .finding')) requestAnimationFrame(() => setTimeout(() => { window.verdictPaint = performance.now(); }, 0));
  else requestAnimationFrame(look);
})();
"""
KEYS = ["+", "+", "+", "-", "ArrowLeft", "ArrowRight", "Home", "End"]


def press(browser, key):
    browser.ask(f"document.querySelector('#strip canvas').dispatchEvent(new KeyboardEvent('keydown', {{key: '{key}', bubbles: true, cancelable: true}}))")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build")
    parser.add_argument("trace")
    parser.add_argument("--moves", type=int, default=60)
    options = parser.parse_args()
    os.environ["TG_TOLLGATE"] = os.path.abspath(os.path.join(options.build, "tollgate"))
    os.environ["TG_SOURCE"] = SOURCE
    sys.path[:0] = [os.path.join(SOURCE, "tests/e2e/support"), os.path.join(SOURCE, "tests/e2e/web")]
    from page import OwnBrowser
    from web_page import Web, memory_mb, server_of

    trace = os.path.abspath(options.trace)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        os.chdir(directory)
        browser = OwnBrowser()
        browser.call("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
        browser.call("Emulation.setDeviceMetricsOverride", width=1366, height=900, deviceScaleFactor=1, mobile=False)
        web = Web(trace)
        begun = time.monotonic()
        browser.open(web.page.link)
        while not browser.wait("document.body.dataset.ready"):
            pass
        ready = time.monotonic() - begun
        while browser.fetch("data/strip?columns=200").get("progress", 1) < 1:
            time.sleep(0.2)
        whole = time.monotonic() - begun
        first_paint, verdict = (browser.ask(f"window.{one} / 1000") for one in ("firstPaint", "verdictPaint"))
        browser.ask("window.asked = []")
        keys = random.Random(1)
        for _ in range(options.moves):
            press(browser, keys.choice(KEYS))
            time.sleep(0.15)
        time.sleep(1)
        took = sorted(browser.ask("window.asked"))
        session, server = memory_mb(web.process.pid), memory_mb(server_of(web.process.pid))
        print(f"first paint after {first_paint:.2f} s, the verdict after {verdict:.2f} s, ready after {ready:.2f} s, the whole strip after {whole:.1f} s; "
              f"{len(took)} zooms and pans: median {statistics.median(took):.0f} ms, at most {took[-1]:.0f} ms; "
              f"session {session}, server {server}; load {os.getloadavg()[0]:.0f}")
        if browser.problems:
            print(f"problems: {browser.problems[:2]}")
        browser.close()
        web.end()


main()
