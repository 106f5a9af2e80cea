#!/usr/bin/env python3
"""A page beside a console: both command, neither waits for the other; the server's death is harmless."""
import atexit
import os
import pathlib
import signal
import threading
import time

from live_console import LiveConsole, await_true
from web_page import Events, Page, check, server_of


def job_states(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0]


def stand_in_for_xdg_open():
    """Where a browser would be opened, the file with the link is copied."""
    script = pathlib.Path("bin/xdg-open")
    script.parent.mkdir(exist_ok=True)
    script.write_text('#!/bin/sh\ncat "$1" >opening && mv opening opened\n', encoding="utf-8")
    script.chmod(0o755)
    os.environ["DISPLAY"] = ":0"
    os.environ["PATH"] = f"{script.parent.resolve()}:{os.environ['PATH']}"


def main():
    stand_in_for_xdg_open()
    pathlib.Path("opened").unlink(missing_ok=True)
    console = LiveConsole("-o", "run.tgt", "--", "sleep", "1000")
    atexit.register(console.process.kill)
    check(not console.command("gui show")["ok"] and not console.command("gui quit")["ok"], "there is no page yet")
    started = console.command("gui start")
    page = Page(started["data"]["link"])
    check(started["ok"] and started["data"]["control"] and started["text"] == page.link, f"{started}")
    again = console.command("gui start")
    check(again["error"]["code"] == "EXISTS" and page.link in again["error"]["message"], f"{again}")
    page.enter()
    events = Events(page)
    check(events.wait(lambda news: news["busy"] is None), "no first news")

    # a command of the page, which the console is told of, with what it caused; and of the console, which the page is told of
    result = page.run("dgo; dfocus g dhalt; dfocus g dwait; puts printed; dfocus t1.1")
    check(result["ok"] and "printed" in result["text"], f"{result}")
    check(page.run("dfocus")["data"] == console.command("dfocus")["data"] == "t1.1", "the focus is not one")
    told = [event.get("text") for event in console.events if event["event"] == "note"]
    check(any(text.startswith("page: dgo; dfocus g dhalt") for text in told), f"the console was not told: {told}")
    check(console.command("puts mine")["text"] == "mine", "the console's output went elsewhere")
    console.do("dfocus p1")
    check(events.wait(lambda news: news["focus"].startswith("p1")), "the page is not told of the focus")
    check("workers" in page.post("complete", "info w")[1]["data"]["words"], "no completion")

    status, answer = page.post("command", "string repeat x 70000000")
    check(status == 400 and answer["error"]["code"] == "LIMIT" and page.run("dfocus")["ok"], f"too large: {status}")

    # the console waits: the page asks, and halts
    pid = console.command("info processes")["data"][0]["pid"]
    console.do("dgo")
    waiting = threading.Thread(target=lambda: answers.append(console.command("dwait")))
    answers = []
    waiting.start()
    check(events.wait(lambda news: news["busy"] == "dwait"), "the page is not told of the wait")
    begun = time.monotonic()
    check(page.get("/data/session")[1]["busy"] == "dwait" and page.get("/data/nothing")[0] == 404 and
          time.monotonic() - begun < 5, "a wait keeps the page waiting")
    check(page.post("interrupt", "")[1]["interrupted"], "nothing was interrupted")
    waiting.join(60)
    check(answers and answers[0]["error"]["message"].startswith("interrupted"), f"{answers}")
    check(job_states(pid) == "t", "the page's halt did not stop the job")
    # the console has its answer a moment before the wait is over
    await_true(lambda: page.get("/data/session")[1]["busy"] is None, "the wait does not end")
    check(not page.post("interrupt", "")[1]["interrupted"], "something was interrupted where nothing ran")
    check(console.do("dfocus") and page.run("dfocus")["ok"], "the interrupt was kept for later")
    page.run("dgo")

    # control taken away and given back; the end asked for by the page itself
    check(console.do("gui control off").startswith("off"), "gui control off")
    check(page.post("command", "dhalt")[0] == 403 and page.get("/data/session")[1]["view_only"], "the page still commands")
    console.do("gui control on")
    check(page.run("gui quit")["ok"], "the page cannot end itself")
    check(not console.command("gui show")["ok"], "the page has not ended")

    # the server is stopped, and killed: job and console go on
    page = Page(console.command("gui start --view-only")["data"]["link"])
    page.enter()
    server = server_of(console.process.pid)
    os.kill(server, signal.SIGSTOP)
    for _ in range(20):
        console.do("dfocus p1; dfocus t1.1")
    os.kill(server, signal.SIGKILL)
    until = time.monotonic() + 60
    while not any("page's server has ended" in (event.get("text") or "") for event in console.events):
        check(time.monotonic() < until, "nothing is said of the server's end")
        console.do("dstatus")
    check(job_states(pid) in "SR", "the job stopped with the server")
    page = Page(console.command(f"gui start --port {page.port} --connect")["data"]["link"])
    await_true(lambda: os.path.exists("opened"), "--connect opens no browser")
    check(page.link in pathlib.Path("opened").read_text(encoding="utf-8"), "the browser has another link")
    page.enter()
    check(page.run("dfocus")["ok"], "`gui start` again")
    server = server_of(console.process.pid)
    status = console.end("quit -kill 7")
    check(status == 7 and not os.path.exists(f"/proc/{server}"), f"the end: {status}")


main()
