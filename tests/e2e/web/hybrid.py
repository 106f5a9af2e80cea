#!/usr/bin/env python3
"""The page of a running job of MPI and OpenMP that comes to hang: each of its parts, its buttons, how soon it shows what
happened, its server killed, `drun`; the parts from the trace of the same job; and a moment of one's own on the page of a trace."""
import atexit
import glob
import sys
import time

from live_console import LiveConsole
from mpi_job import ENVIRONMENT, build, flavour_named, job
from page import CHROMIUM, await_text, button, check_clean, click, open_page, shown, type_line
from web_page import Page, Web, check, children_of, fixture, server_of

import os
import signal

ROUNDS = 4
PROGRAM = r"""
#include <dlfcn.h>
#include <mpi.h>
#include <omp.h>
#include <stdlib.h>
#include <unistd.h>
static int rank;
volatile int turn;
volatile char *kept;
__attribute__((noinline)) void meet(int i) { turn = i; }
__attribute__((noinline)) void stay(void) { for (;;) { turn++; usleep(1000); } }
static void work(void)
{
    int sum, token = 1;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Send(&token, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
    else
        MPI_Recv(&token, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
#pragma omp parallel num_threads(3)
    {
#pragma omp critical(count)
        turn++;
#pragma omp barrier
    }
}
static void hang(void)
{
#pragma omp parallel num_threads(3)
    {
        if (omp_get_thread_num() == 1)
            stay(); /* never comes to the barrier */
#pragma omp barrier
    }
}
int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    dlopen("libz.so.1", RTLD_NOW);
    kept = malloc(1 << 20);
    for (int i = 0; i < ROUNDS; i++)
        meet(i);
    for (int i = 0; i < 3; i++)
        work();
    if (rank == 1)
        hang();
    (void)!nice(19); /* who waits spins */
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
""".replace("ROUNDS", str(ROUNDS))


def see_parts(browser):
    """All seven parts of the job that hangs."""
    await_text(browser, "verdict", "rank 1")
    await_text(browser, "verdict", "Who waits for whom")
    await_text(browser, "board", "MPI_Barrier")
    await_text(browser, "board", "Barriers of OpenMP teams")
    await_text(browser, "stacks", "in MPI_Barrier")
    await_text(browser, "strip", "rank 0")
    check(browser.wait("document.querySelectorAll('#strip .strip-head.culprit').length > 0"), f"nobody is red: {shown(browser, 'strip')}")
    check(browser.wait("(document.getElementById('diagram-view') || {}).shadowRoot !== undefined && "
                       "document.getElementById('diagram-view').shadowRoot.querySelectorAll('g.r').length > 0"), "there is no diagram: " + str(browser.ask("[document.getElementById('diagram-view') && document.getElementById('diagram-view').shadowRoot.querySelectorAll('g.r').length, "
          "document.getElementById('diagram').className, document.getElementById('message').textContent, document.getElementById('diagram').hidden].join(';')")))
    await_text(browser, "filter", "Suggestion")
    await_text(browser, "heap", "peak")
    strip = browser.fetch("data/strip?columns=400&open=p0,p1,p2,p3")
    drawn = [row for row in strip["rows"] if row["runs"] and row["shown"]]
    check(len(drawn) >= 2, f"nothing is drawn: {strip['rows']}")
    check("MPI_Allreduce" in [one[4] for one in strip["collectives"]] and len(strip["messages"]) >= 3,
          f"collectives and messages: {strip['collectives']} {strip['messages']}")


def below(pid):
    """PID and the processes below it."""
    return [pid] + [one for child in children_of(pid) for one in below(child)]


def waits_for_a_processor(pids):
    """How long the threads of PIDS have waited for one, seconds: on a machine with other work that is no fault of the page."""
    waited = 0
    for pid in pids:
        for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
            try:
                with open(path, encoding="utf-8") as stat:
                    waited += int(stat.read().split()[1])
            except (FileNotFoundError, ProcessLookupError):
                pass
    return waited / 1e9


def measure(console, browser):
    """In every round, from the moment when the console knows that all have come until the page shows it: seconds, and how long
    of it those who take part waited for a processor."""
    console.do("dfocus gSr0 {dbarrier meet}")
    took, pids = [], [console.process.pid, server_of(console.process.pid), *below(browser.process.pid)]
    for i in range(1, ROUNDS + 1):
        text = "satisfied 1 time" if i == 1 else f"satisfied {i} times"
        browser.ask(f"window.seen = new Promise((done) => {{ const end = Date.now() + 60000, look = () => {{ if (document.getElementById('board').innerText.includes({text!r})) "
                    "done(Date.now()); else if (Date.now() > end) done(0); else setTimeout(look, 2); }; look(); })")
        for _ in range(4): # one may be told to stop before the other comes
            console.do("dfocus gSr0 dgo")
            console.do("dfocus gSr0 dwait")
            told, before = time.time(), waits_for_a_processor(pids)
            if text in console.command("info barrier")["text"]:
                break
        seen = browser.call("Runtime.evaluate", expression="window.seen", awaitPromise=True, returnByValue=True)["result"]["value"]
        check(seen != 0, f"the page does not show '{text}' but: {shown(browser, 'board')}\n{shown(browser, 'control')}\n{console.command('info barrier')['text']}")
        took.append((seen / 1000 - told, waits_for_a_processor(pids) - before))
    print("a barrier's satisfaction is seen after", " ".join(f"{seen * 1000:.0f} ms ({waited * 1000:.0f} for a processor)" for seen, waited in took))
    check(all(seen - waited < 0.2 for seen, waited in took), f"the page is late: {took}")


def use_buttons(console, browser):
    def press(text, line):
        before = browser.ask("document.querySelectorAll('#console .log .line').length")
        button(browser, text)
        check(browser.wait(f"document.querySelectorAll('#console .log .line').length > {before} && "
                           f"document.querySelector('#console .log').lastElementChild.innerText.length > 0"), f"{text}: no answer")
        lines = shown(browser, "console")
        check(f"> {line}" in lines, f"{text}: {lines}")

    rank = console.command("dfocus r1 {dfocus}")["data"].split(".")[0]
    number = [process["dpid"] for process in browser.fetch("data/threads")["processes"] if process["rank"] == 1][0]
    button(browser, "Halt")
    await_text(browser, "control", "stopped")
    await_text(browser, "stacks", "callers first")  # their stacks as one tree, and the source where the missing one is
    await_text(browser, "stacks", "stay (web_job.c")
    await_text(browser, "stacks", "turn++; usleep(1000)")
    open_threads = f"(function () {{ const line = Array.from(document.querySelectorAll('.who-line')).find((one) => one.querySelector('[data-set=p{number}]'));" \
                   "line.querySelector('.fold').click(); return true; })()"
    check(browser.ask(open_threads), "no threads to see")
    check(browser.wait(f"document.querySelector('[data-set=\"t{number}.1\"]') !== null"), "no workers to click")
    click(browser, f'[data-set="t{number}.1"]')
    await_text(browser, "control", f"Focus t{number}.1")
    check(console.command("dfocus")["data"] == f"t{number}.1", "the click did not reach the console")
    press("Hold", "dhold -thread")
    await_text(browser, "board", "Held by a command")
    press("Unhold", "dunhold -thread")
    check(browser.wait("!document.getElementById('board').innerText.includes('Held by a command')"), "the hold stays on the board")
    browser.ask("document.querySelector('#control input').value = 'stay'")
    press("Barrier here", "dbarrier stay")
    await_text(browser, "board", "Barriers of the debugger")
    return rank


def of_job(program, flavour):
    console = LiveConsole("--heap", "-o", "run.tgt", "--", *job(flavour, program, ranks=2), env={**os.environ, **ENVIRONMENT})
    atexit.register(console.process.kill)
    page = Page(console.command("gui start")["data"]["link"])
    browser = open_page(page.link)
    console.do("dgo; dwait -ranks 2")
    measure(console, browser)
    console.do("ddelete 1; dfocus r0 dgo; dfocus r1 {opm start}")
    click_set = f"[data-set=p{[one['dpid'] for one in browser.fetch('data/threads')['processes'] if one['rank'] == 1][0]}]"
    check(browser.wait(f"document.querySelector('{click_set}') !== null"), "no rank to click")
    click(browser, click_set)
    for text in ("opm next", "Step"):
        before = shown(browser, "console").count("> ")
        button(browser, text)
        check(browser.wait(f"(document.getElementById('console').innerText.match(/> /g) || []).length > {before}"), f"{text}: no answer")
        check("which zone" not in shown(browser, "control"), f"{text}: it does not say which construct is meant")
    console.do("dfocus r1 {opm quit}") if console.command("dfocus r1 {opm quit}")["ok"] else None
    console.do("dfocus g dgo")
    see_parts(browser)
    use_buttons(console, browser)
    check_clean(browser, page)
    os.kill(server_of(console.process.pid), signal.SIGKILL)
    await_text(browser, "control", "does not answer")
    console.do("dstatus")
    until = time.monotonic() + 20
    while not (started := console.command("gui start"))["ok"]:  # the browser may know of the end before the console does
        check(time.monotonic() < until, f"`gui start` again: {started}")
    page = Page(started["data"]["link"])
    browser.open("about:blank")
    browser.requests.clear()
    browser.problems.clear()
    browser.open(page.link)
    check(browser.wait("document.body.dataset.ready"), "`gui start` again")
    check(browser.fetch("data/strip")["end"] > 0 and "rank 1" in shown(browser, "strip"), "what was before `gui start` is not on the strip")
    console.do("drun")
    console.do("dwait -ranks 2")
    await_text(browser, "strip", "rank 1")
    check("MPI_Barrier" not in shown(browser, "board"), "the board shows the run before")
    check_clean(browser, page)
    browser.close()
    console.end("quit -kill 0")


def of_recorded(trace):
    """The job that hung, from its trace: the same parts, and a moment before it hung."""
    web = Web(trace)
    web.page.enter()
    browser = open_page(web.page.link)
    see_parts(browser)
    web.page.run("goto start")
    check(browser.wait("!document.getElementById('board').innerText.includes('MPI_Barrier')"), f"at the start: {shown(browser, 'board')}")
    button(browser, "End")
    await_text(browser, "board", "MPI_Barrier")
    check_clean(browser, web.page)
    browser.close()
    check(web.end() == 0, "the end")


def of_trace(trace):
    web = Web(trace, "--view-only")
    web.page.enter()
    browser = open_page(web.page.link)
    await_text(browser, "board", "MPI_Barrier")
    before = web.page.get("/data/session")[1]["moment"]
    place = browser.ask("(function () { const edge = document.querySelector('#strip canvas').getBoundingClientRect();"
                        " scrollTo({top: edge.top + scrollY - 200, behavior: 'instant'}); const now = document.querySelector('#strip canvas').getBoundingClientRect();"
                        " return [now.left + now.width / 50, now.top + 40]; })()")
    browser.mouse("mousePressed", *place, button="left", clickCount=1)
    browser.mouse("mouseReleased", *place, button="left", clickCount=1)
    check(browser.wait("document.getElementById('moment').textContent.startsWith('You look at')"), "a click chooses no moment")
    until = time.monotonic() + 20
    while (early := web.page.get("/data/board?at=1000000")[1]).get("pending"):
        check(time.monotonic() < until, "the moment does not come")
        time.sleep(0.02)
    now = web.page.get("/data/board")[1]
    check([one["name"] for one in now["collectives"]] == ["MPI_Barrier"] and early["collectives"] == [], f"{early} {now}")
    check(web.page.get("/data/session")[1]["moment"] == before, "who only looks has moved the session")
    other = open_page(web.page.link)
    await_text(other, "board", "MPI_Barrier")
    other.close()
    click(browser, "#follow")
    await_text(browser, "board", "MPI_Barrier")
    check_clean(browser, web.page)
    browser.close()
    check(web.end() == 0, "the end")


def main():
    if CHROMIUM is None:
        print("there is no Chromium")
        sys.exit(77)
    flavour = flavour_named("openmpi")
    with open("web_job.c", "w", encoding="utf-8") as source:
        source.write(PROGRAM)
    program = build(flavour.c, [os.path.abspath("web_job.c")], "web_job", "-fopenmp", "-ldl")
    of_job(program, flavour)
    of_recorded("run.tgt")
    of_trace(fixture("hung"))


main()
