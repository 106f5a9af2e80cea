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
            ("web-cycle", "deadlock", 1366, 768, False, "verdict"), ("web-stacks", "critical", 1366, 768, False, "stacks"),
            ("web-diagram-dark", "critical", 1366, 768, True, "diagram"), ("web-wide", "critical", 2560, 1440, False, "verdict")]
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")


def record(tollgate, directory, program, way):
    """The trace of a job of three ranks that has hung for three seconds."""
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
    return trace


def serve(tollgate, trace):
    """`tollgate web` of TRACE, and its link."""
    web = subprocess.Popen([tollgate, "web", os.path.basename(trace)], stdout=subprocess.PIPE, text=True, cwd=os.path.dirname(trace))
    return web, web.stdout.readline().strip()


def main():
    tollgate = os.path.abspath(sys.argv[1])
    chromium = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        program = f"{directory}/hang"
        shutil.copy(f"{source}/tests/programs/hang.c", directory)
        subprocess.run(["mpicc", "-g", "-O1", "-fopenmp", f"-ffile-prefix-map={directory}=.", "-o", program, "hang.c"], check=True, cwd=directory)
        pages = {way: serve(tollgate, record(tollgate, directory, program, way)) for way in sorted({picture[1] for picture in PICTURES})}
        browser = Browser(chromium, directory)
        try:
            for name, way, width, height, dark, part in PICTURES:
                browser.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
                browser.call("Emulation.setEmulatedMedia",
                             features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
                browser.open(pages[way][1])
                settled = ("document.body.dataset.ready === 'yes' && document.querySelector('.awaited') === null && document.querySelector('#stacks .source tr.here') !== null"
                           " && document.getElementById('diagram-view') !== null")
                if not any(browser.wait(settled) for _ in range(20)):
                    raise SystemExit(f"{name}: the page does not come")
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
            for web, _ in pages.values():
                web.terminate()
                web.wait()


main()
