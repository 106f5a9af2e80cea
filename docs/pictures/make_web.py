#!/usr/bin/env python3
"""Makes the six screenshots of docs/web.md again: jobs that hang, recorded here, on a laptop's and a wide screen, light and dark.

usage: make_web.py TOLLGATE     (needs mpirun, mpicc with -fopenmp, and a headless Chromium; about a minute)
"""
import base64
import os
import shutil
import signal
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
source = os.path.dirname(os.path.dirname(here))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(source, "tests/golden"))
from browser import Browser  # noqa: E402

# Picture, job (a way of tests/programs/hang.c), width and height of the window, dark, part that it begins at
PICTURES = [("web-verdict", "critical", 1366, 768, False, "verdict"), ("web-verdict-dark", "critical", 1366, 768, True, "verdict"),
            ("web-cycle", "deadlock", 1366, 768, False, "verdict"), ("web-stacks", "receive", 1366, 768, False, "strip"),
            ("web-diagram-dark", "critical", 1366, 768, True, "diagram"), ("web-wide", "critical", 2560, 1440, False, "verdict")]
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")


def record(tollgate, directory, program, way):
    """The page of a job of three ranks that has hung for three seconds; its path."""
    trace = f"{directory}/{way}.tgt"
    job = subprocess.Popen([tollgate, "record", "-q", "-o", trace, "--", "mpirun", "--oversubscribe", "-n", "3", program, way],
                           stdout=subprocess.PIPE, env=ENVIRONMENT, start_new_session=True)
    for _ in range(3):
        if b"is there" not in job.stdout.readline():
            raise SystemExit(f"{way}: a rank did not come to where it hangs")
    try:
        job.wait(3)
    except subprocess.TimeoutExpired:
        job.send_signal(signal.SIGTERM)
        job.wait()
    subprocess.run([tollgate, "report", "--html", f"{directory}/{way}.html", trace], check=True)
    return f"{directory}/{way}.html"


def main():
    tollgate = os.path.abspath(sys.argv[1])
    chromium = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        program = f"{directory}/hang"
        subprocess.run(["mpicc", "-g", "-O1", "-fopenmp", "-o", program, f"{source}/tests/programs/hang.c"], check=True)
        pages = {way: record(tollgate, directory, program, way) for way in sorted({picture[1] for picture in PICTURES})}
        browser = Browser(chromium, directory)
        try:
            for name, way, width, height, dark, part in PICTURES:
                browser.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
                browser.call("Emulation.setEmulatedMedia",
                             features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
                browser.open(f"file://{pages[way]}")
                browser.wait("document.body.dataset.ready === 'yes'")
                if part != "verdict":
                    browser.ask(f"document.getElementById('{part}').scrollIntoView({{behavior: 'instant'}})")
                browser.wait("true")
                picture = browser.call("Page.captureScreenshot", format="webp", quality=82)["data"]
                with open(f"{here}/{name}.webp", "wb") as file:
                    file.write(base64.b64decode(picture))
            if browser.problems:
                raise SystemExit("\n".join(browser.problems))
        finally:
            browser.close()


main()
