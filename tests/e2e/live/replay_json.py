#!/usr/bin/env python3
"""A program drives the console: lines of JSON on a recorded trace, as docs/json-console.md describes them."""
import json
import os
import re
import signal
import subprocess

from json_driver import DOCUMENT, SOURCE, Console, check


def trace(fixture):
    path = f"{fixture}.tgt"
    subprocess.run([os.environ["TG_TRACE_FROM_JSON"], os.path.join(SOURCE, f"tests/golden/fixtures/{fixture}.jsonl"),
                    path], check=True)
    return path


def check_commands():
    console = Console("replay", "--symbols=off", trace("hung"))
    check(console.hello["protocol"] == 1 and console.hello["mode"] == "replay", console.hello)
    check(console.ask("goto end")["data"]["number"] > 0, "goto")
    here = console.ask("where")
    check(here["data"] and all(finding["text"] in here["text"] for finding in here["data"]), here)
    workers = console.ask("info workers")["data"]
    check(workers and isinstance(workers[0]["places"], list), workers)
    check(console.ask("info workers -list")["data"] == workers, "the list is the data")
    check(isinstance(console.ask("info barrier")["data"], list), "barriers")
    processes = console.ask("info processes")["data"]
    check([process["dpid"] for process in processes] == list(range(1, len(processes) + 1)), processes)
    check(isinstance(console.ask("info libraries")["data"], list), "libraries")
    event = console.ask("info event -dict")["data"]
    check(isinstance(event["t_ns"], int) and isinstance(event["kind"], str), event)
    # what Tcl makes of an answer is text; what dfocus hands through is data
    check("data" not in console.ask("dict get [info event -dict] kind"), "dict get")
    check("data" not in console.ask("info processes; set x 1"), "the last command counts")
    check(console.ask("dfocus 1 {info processes}")["data"] == processes[:1], "dfocus")
    focused = console.ask("dfocus 1")
    check(focused["data"] == focused["text"] == focused["at"]["focus"] != "all", focused)
    console.ask("dfocus all")
    # both forms, several lines, output of Tcl's own
    console.send("expr 6*7")
    check(console.read("result")["text"] == "42", "plain text")
    check(console.ask("foreach i {1 2} {\n puts $i\n}\nexpr 3")["text"] == "1\n2\n3", "puts")
    check(console.ask("set e \"\\u001b\\u202e\"")["text"] == "\\u{1b}\\u{202e}", "what deceives is shown")
    console.send(json.dumps({"id": 5, "complete": "info work"}))
    result = console.read("result")
    check(result["id"] == 5 and result["data"] == {"start": 5, "words": ["workers"]}, result)
    console.end()


def check_errors():
    console = Console("replay", "--symbols=off", trace("hung"))
    error = console.fails("dfocus {1 r0.x}", "USAGE")
    check(error["in"] == "1 r0.x" and error["offset"] == 5, error)
    check(console.fails("set x 1\nset y 2\nbogus", "TCL")["line"] == 3, "line")
    check("nowhere" in console.fails("dfocus all goto nowhere", "USAGE")["message"], "of a command in dfocus")
    check("offset" not in console.fails("goto nowhere", "USAGE"), "no position")
    console.fails("set x {", "TCL")
    for line in ["{", "{}", '{"command": 1}', '{"command": "x", "complete": "y"}', '{"id": [], "command": "x"}',
                 '{"id": 1, "id": 2, "command": "x"}', '{"command": "a\\u0000b"}', '{"command": "\\ud800"}', '{"id": 1e999}']:
        console.send(line)
        result = console.read("result")
        check(not result["ok"] and result["error"]["code"] == "INPUT" and result["id"] is None, f"{line}: {result}")
    console.send(b"set x \xff\xfe\n")
    check(console.read("result")["ok"], "any bytes")
    console.send(b"\0\n")
    check(console.read("result")["error"]["code"] == "INPUT", "NUL")
    console.send(b"\n  \r\nexpr 1\r\n")  # empty lines are passed over
    check(console.read("result")["text"] == "1", "CRLF")
    console.send(b"set x " + b"y" * (3 << 20) + b"\n")
    check(console.read("result")["error"]["code"] == "LIMIT", "too long a line")
    check(console.ask("expr 2")["text"] == "2", "behind too long a line")
    console.end(1)


def check_streams():
    """What others write to standard output comes out of standard error; files and -e are results."""
    with open("script.tcl", "w", encoding="utf-8") as script:
        script.write("proc fail {} {\n  goto nowhere\n}\ninfo processes\nfail\n")
    console = Console("replay", "--symbols=off", "-i", "-e", "info processes", trace("hung"))
    first = console.read("result")
    check(first["id"] is None and first["ok"] and "data" in first, first)
    console.ask("exec echo loud >/proc/self/fd/1")
    check(console.ask("gets stdin")["text"] in ("", "-1"), "commands are not the script's input")
    console.send("quit 4")
    check(console.read("result")["ok"], "quit")
    check(console.end(4) == b"loud\n", "what others write")
    console = Console("replay", "--symbols=off", "-x", "script.tcl", "-e", "never", trace("hung"))
    error = console.read("result")["error"]
    check((error["file"], error["line"]) == ("script.tcl", 2), error)
    console.end(1)


def check_hostile():
    """Whatever a trace calls things, lines are JSON and its strings keep every byte."""
    for fixture in "hostile", "hostile-tcl", "mpir-hostile":
        console = Console("replay", "--symbols=off", trace(fixture))
        for command in "goto end", "info processes", "info libraries", "info workers", "info mpi", "where", "info event -dict":
            result = console.ask(command)
            check(not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", result["text"]), result)
        console.end()


def check_interrupt():
    """SIGINT ends the command that runs, and only that one."""
    console = Console("replay", "--symbols=off", trace("hung"))
    reading, writing = os.pipe()
    console.send(f"set f [open /proc/{os.getpid()}/fd/{writing} w]; puts $f x; flush $f; while 1 {{}}")
    os.read(reading, 1)  # it runs
    console.process.send_signal(signal.SIGINT)
    check(console.read("result")["error"]["code"] == "INTERRUPTED", "interrupt")
    check(console.ask("expr 1")["text"] == "1", "it goes on")
    console.end(1)


def check_document():
    """The events of the document are those of the program, and so are their members."""
    header = open(os.path.join(SOURCE, "live/source/news.h"), encoding="utf-8").read()
    kinds = set(re.findall(r'^    X\(\w+, "(\w+)"\)', header, re.M))
    source = open(os.path.join(SOURCE, "live/source/news.c"), encoding="utf-8").read()
    members = set(re.findall(r'\b(?:put_\w+|tg_json_\w+)\(json, "(\w+)"', source)) | {"event"}
    section = DOCUMENT.split("### `event`\n")[1].split("\n### ")[0]
    table = section.split("| common")[0]
    rows = set(re.findall(r"^\| `(\w+)` \|", table, re.M)) - {"event"}
    check(len(kinds) > 8 and kinds == rows, f"events: {kinds ^ rows}")
    names = set(re.findall(r"`(\w+)`", section))
    check(members <= names, f"members: {members - names}")


check_commands()
check_errors()
check_streams()
check_hostile()
check_interrupt()
check_document()
