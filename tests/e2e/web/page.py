#!/usr/bin/env python3
"""The page in a browser, of a trace and of a running job: what it shows, what a click does, and what other pages cannot do;
what those have of it who do not see it.
usage: page.py trace|live|still"""
import atexit
import os
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["TG_SOURCE"], "tests/golden"))
from browser import Browser  # noqa: E402
from live_console import LiveConsole  # noqa: E402
from web_page import Page, Web, check, fixture  # noqa: E402

CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")


class OwnBrowser(Browser):
    """One with a profile of its own, all of whose processes have ended with it."""
    count = 0

    def __init__(self, *options):
        OwnBrowser.count += 1
        os.mkdir(f"browser{OwnBrowser.count}")
        super().__init__(CHROMIUM, f"browser{OwnBrowser.count}", *options)
        atexit.register(self.close)

    def fetch(self, path):
        """The JSON document at PATH."""
        return self.call("Runtime.evaluate", awaitPromise=True, returnByValue=True,
                         expression=f"fetch({path!r}).then((answer) => answer.json())")["result"]["value"]

    def close(self):
        try:
            self.call("Browser.close")
            self.process.wait(10)
        except (EOFError, OSError, RuntimeError, subprocess.TimeoutExpired):
            pass
        super().close()


def open_page(link, *options):
    browser = OwnBrowser(*options)
    browser.open(link)
    check(browser.wait("document.body.dataset.ready"), f"the page does not come: {browser.problems}")
    check(browser.ask("location.search") == "", "the token stays in the address")
    return browser


def shown(browser, section):
    return browser.ask(f"document.getElementById('{section}').hidden ? '' : document.getElementById('{section}').innerText") or ""


def await_text(browser, section, text):
    check(browser.wait(f"document.getElementById('{section}').innerText.includes({text!r})"),
          f"{section} does not come to say '{text}' but: {shown(browser, section)}")


def click(browser, selector):
    """When it is there: the page may be drawing it anew."""
    check(browser.wait(f"(function () {{ const button = document.querySelector({selector!r}); if (!button || button.disabled)"
                      " return false; button.click(); return true; })()"), f"there is no {selector} to click")


def button(browser, text):
    check(browser.wait(f"(function () {{ const button = Array.from(document.querySelectorAll('#control button')).find((one) => "
                      f"one.textContent === {text!r} && !one.disabled); if (!button) return false; button.click(); return true; "
                      "})()"), f"there is no button {text}")


def type_line(browser, line, key="Enter"):
    browser.ask(f"(function () {{ const input = document.querySelector('#console input'); input.focus(); input.value = {line!r}; "
                f"input.dispatchEvent(new KeyboardEvent('keydown', {{key: '{key}', bubbles: true, cancelable: true}})); }})()")


def check_clean(browser, page):
    foreign = [url for url in browser.requests if not url.startswith((f"http://127.0.0.1:{page.port}/", "data:", "about:"))]
    check(not foreign, f"the page asks others: {foreign}")
    check(not browser.problems, f"problems: {browser.problems}")


def check_names_of_controls(browser):
    """Whatever can be focused says what it is, and the verdict is told."""
    browser.call("Accessibility.enable")
    nodes = browser.call("Accessibility.getFullAXTree")["nodes"]
    nameless = []
    for node in nodes:
        facts = {one["name"]: one["value"].get("value") for one in node.get("properties", [])}
        role = node.get("role", {}).get("value")
        if facts.get("focusable") and role != "RootWebArea" and not node.get("name", {}).get("value"):
            nameless.append((role, browser.call("DOM.describeNode", backendNodeId=node["backendDOMNodeId"])["node"].get("attributes")))
    check(not nameless, f"controls without a name: {nameless}")
    check(browser.ask("document.getElementById('announced').textContent"), "nobody is told the verdict who does not see it")
    check(browser.ask("document.getElementById('announced').getAttribute('aria-live')") == "polite", "the verdict is not told when it changes")


def check_keyboard(browser, last):
    """Tab goes through all of the page, never twice to the same place, and one sees where it is."""
    browser.ask("document.activeElement.blur(); scrollTo(0, 0)")
    seen = []
    for _ in range(400):
        for kind in ("rawKeyDown", "keyUp"):
            browser.call("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
        is_at = browser.ask("(function () { let one = document.activeElement; while (one.shadowRoot && one.shadowRoot.activeElement) one = one.shadowRoot.activeElement;"
                            " if (!window.marks) window.marks = new Map(); if (!window.marks.has(one)) window.marks.set(one, window.marks.size);"
                            " const style = getComputedStyle(one); return [window.marks.get(one), one.tagName, style.outlineStyle, one.matches(" + repr(last) + ")].join(' '); })()").split()
        check(is_at[0] not in seen, f"Tab is caught at {is_at}")
        seen.append(is_at[0])
        check(is_at[2] != "none", f"one does not see that the focus is at {is_at}")
        if is_at[3] == "true":
            return
    check(False, f"Tab does not come to {last}")


def check_evil(link, page):
    """A page of another name, that by now is this address, and one of this browser that posts a command."""
    browser = OwnBrowser("--host-resolver-rules=MAP evil.test 127.0.0.1")
    browser.open(link)
    check(browser.wait("document.body.dataset.ready"), "the page beside which the other one is opened")
    browser.open(link.replace("127.0.0.1", "evil.test"))
    check("another name" in browser.ask("document.body.innerText"), "DNS rebinding is not refused")
    before = page.get("/data/session")[1]
    for kind in ("application/json", "text/plain"):
        answer = browser.call("Runtime.evaluate", awaitPromise=True, returnByValue=True, expression=(
            f"fetch('http://127.0.0.1:{page.port}/command', {{method: 'POST', mode: '{'cors' if kind[0] == 'a' else 'no-cors'}',"
            f" credentials: 'include', headers: {{'Content-Type': '{kind}'}}, body: '{{\"line\": \"focus rank 2\"}}'}})"
            ".then((got) => `${got.type} ${got.status}`, (error) => 'refused')"))["result"]["value"]
        check(answer in ("refused", "opaque 0"), f"a POST of another page: {answer}")
    check(page.get("/data/session")[1]["focus"] == before["focus"], "another page has run a command")
    browser.close()


def check_sources(page):
    """Files are read where a call of the job names them, and no others."""
    for query in ("name=passwd&line=1", "name=..%2Fpasswd&line=1", "name=a.c", "name=a.c&line=0", "line=1", f"name={'a' * 300}.c&line=1"):
        status, is_there = page.get(f"/data/source?{query}")
        check(status == 400, f"{query}: {status} {is_there}")
    status, is_there = page.get("/data/source?name=other.c&line=1")
    check(status == 200 and not is_there["there"] and "no call" in is_there["why"], f"{status} {is_there}")


def check_earlier_moment(browser, page):
    """That one looks at an earlier moment is told on top and at the strip, with a way back; one zooms about it."""
    seen = "getComputedStyle(document.querySelector('{0}')).display !== 'none'"
    ways = ("#follow", "#strip .back")
    for selector in ways:
        check(browser.wait(f"!({seen.format(selector)})"), f"at the end there is a way to it: {selector}")
        page.run("goto 1.0")
        check(browser.wait("document.getElementById('moment').textContent.includes('an earlier moment')"), "it is not told that the moment is earlier")
        for way in ways:
            check(browser.wait(seen.format(way)), f"no way back: {way}")
        click(browser, "#strip [aria-label='Zoom in']")
        check(browser.wait("parseFloat(document.querySelector('#strip .window').textContent) < 0.9"), "'+' does not zoom about the chosen moment")
        click(browser, "#strip [aria-label='Show all of the time']")
        click(browser, selector)
        check(browser.wait("document.getElementById('moment').textContent.startsWith('at its end')"), f"{selector} does not lead to the end")


def of_trace():
    web = Web(fixture("hung"))
    page = web.page
    page.enter()
    check_evil(page.link, page)
    browser = open_page(page.link)
    for section, text in (("verdict", "Deadlock between rank 1 and rank 2"), ("board", "MPI_Barrier"), ("board", "rank 1"),
                          ("stacks", "MPI_Recv"), ("strip", "Click a moment"), ("diagram", "")):
        await_text(browser, section, text)
    check_names_of_controls(browser)
    check_keyboard(browser, "#console input")
    check_sources(page)
    click(browser, "[data-set=p2]")
    await_text(browser, "control", "Focus pr1")
    check(page.run("dfocus")["data"] == "pr1", "a click does not set the focus")
    click(browser, "#strip [data-key='rank 0'].link")
    check(browser.wait("document.getElementById('focus').textContent === 'pr0'"), "a click on a row's name does not set the focus")
    check(browser.wait("document.getElementById('diagram').innerText.includes('rank 0') || document.getElementById('diagram-view').shadowRoot.querySelector('h3').textContent.includes('rank 0')"),
          "the diagram is not that of the rank that was chosen")
    check(browser.ask("document.querySelector('#diagram input').value") == "0", "the diagram does not say whose it is")
    page.run("goto start")
    check(browser.wait("document.getElementById('moment').textContent.includes('0.000')"), "the page does not follow a goto")
    button(browser, "End")
    check(browser.wait("document.getElementById('moment').textContent.startsWith('at its end, 5.005')"), "the button End")
    check_earlier_moment(browser, page)
    type_line(browser, "focus nobody")
    await_text(browser, "console", "focus")
    type_line(browser, "info proce", "Tab")
    check(browser.wait("document.querySelector('#console input').value === 'info processes '"), "no completion")
    check_clean(browser, page)
    browser.close()
    check(web.end() == 0, "the end")
    web = Web(fixture("hostile"))
    browser = open_page(web.page.link)
    check(browser.ask("document.querySelectorAll('main script, main img, main iframe').length") == 0, "names became markup")
    check_clean(browser, web.page)
    browser.close()
    web.end()


PROGRAM = r"""
#include <unistd.h>
volatile int turn;
void work(void) { for (;;) { turn++; usleep(1000); } }
int main(void)
{
    #pragma omp parallel num_threads(2)
    work();
}
"""


def of_job():
    with open("team.c", "w", encoding="utf-8") as source:
        source.write(PROGRAM)
    check(os.system("gcc -g -O0 -fopenmp -o team team.c") == 0, "the program")
    console = LiveConsole("-o", "run.tgt", "--", "./team")
    atexit.register(console.process.kill)
    page = Page(console.command("gui start")["data"]["link"])
    browser = open_page(page.link)
    console.do("dbarrier work")
    console.do("dgo")
    begun = time.monotonic()
    console.do("dfocus g dwait")
    await_text(browser, "board", "satisfied 1 time")
    print(f"a barrier's satisfaction is seen {time.monotonic() - begun:.2f} s after the wait began")
    click(browser, "#control .fold")
    check(browser.wait("document.querySelector('[data-set=\"t1.2\"]') !== null"), "no workers to click")
    click(browser, '[data-set="t1.2"]')
    await_text(browser, "control", "Focus t1.2")
    check(console.command("dfocus")["data"] == "t1.2", "the click did not reach the console")
    console.do("ddelete 1")
    button(browser, "Go")
    check(browser.wait("document.getElementById('control').innerText.includes('running')"), "Go")
    type_line(browser, "dwait")
    await_text(browser, "control", "running: dwait")
    button(browser, "Halt")
    check(browser.wait("!document.querySelector('#control .busy')"), "Halt does not end the wait")
    await_text(browser, "console", "interrupted")
    check(all(thread["state"] != "running" for thread in console.command("dfocus t1.2 dstatus")["data"]), "Halt does not halt")
    check_clean(browser, page)
    console.do("gui quit")
    await_text(browser, "control", "does not answer")
    browser.close()
    console.end("quit -kill 0")


STILL = r"""
#include <omp.h>
#include <pthread.h>
#include <unistd.h>
static void stay(void) { for (;;) pause(); }
static void *help(void *unused) { for (;;) pause(); return unused; }
int main(void)
{
    pthread_t helper; /* its number is between those of the workers */
    pthread_create(&helper, NULL, help, NULL);
    #pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 1)
            stay(); /* never comes */
        #pragma omp barrier
    }
}
"""


def of_still_job():
    """A job that says nothing any more: the verdict comes with time; what was closed, and where the focus is, stays."""
    with open("still.c", "w", encoding="utf-8") as source:
        source.write(STILL)
    check(os.system("gcc -g -O0 -fopenmp -o still still.c") == 0, "the program")
    console = LiveConsole("-o", "still.tgt", "--", "./still")
    atexit.register(console.process.kill)
    page = Page(console.command("gui start")["data"]["link"])
    page.enter()
    browser = open_page(page.link)
    console.do("dgo")
    await_text(browser, "board", "barrier")
    check(any(browser.wait("document.getElementById('verdict').innerText.includes('is missing')") for _ in range(5)), f"the verdict does not come: {shown(browser, 'verdict')}")
    check("is missing" in browser.ask("document.getElementById('announced').textContent"), "the verdict is not told")
    # time goes on, for the page's head and for the strip, to its right edge
    check(browser.wait("document.getElementById('moment').textContent.includes('; the last event came at ')"),
          f"it is not told that nothing happens: {browser.ask('document.getElementById(`moment`).textContent')}")
    before = browser.fetch("data/strip?columns=200")
    time.sleep(1)
    strip = browser.fetch("data/strip?columns=200")
    check(strip["end"] >= before["end"] + 0.9e9, f"the strip ends at {before['end']} and, a second later, at {strip['end']}")
    last = max(run[0] + run[1] for row in strip["rows"] for run in row["runs"])
    check(last >= strip["columns"] - 1, f"what was done last is drawn up to column {last} of {strip['columns']}")
    # who stays where, in the source
    await_text(browser, "stacks", "still.c, line")
    await_text(browser, "stacks", "#pragma omp barrier")
    click(browser, "#verdict summary")
    browser.ask("document.querySelector('#verdict summary').focus()")
    console.do("dhalt")
    await_text(browser, "stacks", "callers first")
    await_text(browser, "stacks", "stay (still.c:5)")
    check(not browser.ask("document.querySelector('#verdict details').open"), "evidence that was closed opens by itself")
    check(browser.ask("document.activeElement === document.querySelector('#verdict summary')"), "the focus is lost")
    browser.ask("Array.from(document.querySelectorAll('#stacks .stack-tree button')).find((one) => one.textContent === 'still.c:5').click()")
    await_text(browser, "stacks", "still.c, line 5")
    check("stay(void)" in browser.ask("document.querySelector('#stacks tr.here').innerText"), "another line is marked")
    check_control_of_still_job(browser, console)
    check_names_of_controls(browser)
    check_keyboard(browser, "#console input")
    check_clean(browser, page)
    browser.close()
    console.end("quit -kill 0")


def check_control_of_still_job(browser, console):
    """The thread that the verdict names is the one that is acted on; who is where covers no source; buttons are answered beside them."""
    click(browser, "#verdict summary")
    await_text(browser, "verdict", "Stack now")
    check(browser.ask("document.querySelector('#verdict summary button.link') !== null"), "places in sentences lead nowhere")
    click(browser, "#verdict .proof dt button")
    await_text(browser, "control", "Focus")
    click(browser, "#control .fold")
    pressed = "Array.from(document.querySelectorAll('#control .threads [aria-pressed=true]'), (one) => one.innerText).join()"
    check(browser.wait(f"{pressed}.includes('worker 2 (OpenMP thread 1)')"), f"in focus is {browser.ask(pressed)}: {shown(browser, 'control')}")
    where = console.command("dwhere")
    check("stay" in str(where), f"the thread in focus is another one: {where}")
    covered = """(function () {
      const texts = Array.from(document.querySelectorAll('.source td.text'), (one) => one.getBoundingClientRect());
      const marks = Array.from(document.querySelectorAll('.source div.who'), (one) => one.getBoundingClientRect());
      return marks.length === 0 ? 'no marks' : marks.some((mark) => texts.some((text) => text.top < mark.bottom - 1 && mark.top < text.bottom - 1)) ? 'covered' : ''; })()"""
    for width in (1366, 800):
        browser.call("Emulation.setDeviceMetricsOverride", width=width, height=768, deviceScaleFactor=1, mobile=False)
        check(browser.ask(covered) == "", f"the source at {width} pixels: {browser.ask(covered)}")
    button(browser, "Set focus")
    await_text(browser, "control", "Type a set of threads")
    button(browser, "Barrier here")
    await_text(browser, "control", "dbarrier still.c#5")


if __name__ == "__main__":
    if CHROMIUM is None:
        print("there is no Chromium")
        sys.exit(77)
    {"trace": of_trace, "live": of_job, "still": of_still_job}[sys.argv[1]]()
