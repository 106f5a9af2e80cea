#!/usr/bin/env python3
"""Words of gdb do what they mean there, or say what to type; mistyped words get the nearest one named. Tcl's `break` and
`continue` stay Tcl's in loops."""
import os
import re
import subprocess

from live_console import TOLLGATE, LiveConsole, fail

CODE = """
#include <stdio.h>
int turn;
int add(int a)
{
    return a + 1;
}
int main(void)
{
    for (turn = 0; turn < 3; turn++)
        turn = add(turn) - 1;
    puts("done");
    return 0;
}
"""
# A mistyped word, or one of gdb's that there is no command for, and what the answer has to name.
HINTS = {
    "dstats": "did you mean 'dstatus'?",
    "backtrce": "did you mean 'backtrace'?",
    "info wrokers": "did you mean 'workers'?",
    "info thread_": "did you mean 'threads'?",
    "inof threads": "did you mean 'info'?",
    "omp next": "did you mean 'opm'?",
    "opm strat": "did you mean 'start'?",
    "dset MAX_LSIT": "did you mean 'MAX_LIST'?",
    "dbreak -pendign main": "did you mean '-pending'?",
    "dbreak main -pendign": "did you mean '-pending'?",
    "help dbrek": "did you mean 'dbreak'?",
    "help info wrokers": "did you mean 'workers'?",
    "frame 1": "dprint -frame",
    "thread 2": "dfocus",
    "rwatch turn": "dwatch",
    "tbreak main": "break LOCATION",
    "info registers": "dprint",
    "break": "usage: dbreak LOCATION",
    "continue 3": "usage: dcont",
    "back": "needs a recorded trace",
    "ptype turn": "`dprint {&EXPRESSION}`",
    "call add(1)": "cannot be called",
    "set var turn = 1": "dassign VARIABLE VALUE",
    "set var turn=1": "dassign VARIABLE VALUE",
    "x/4x $rsp": "put the expression in braces, as in {$rsp}",
    "thread apply all bt": "`dfocus a dwhere`",
    "break add if": "usage: dbreak",
    "break add -if 2 if a == 1": "usage: dbreak",
}


# The same in a trace.
OF_TRACE = {
    "continue": "event 51 of 51",
    "bt": "here use `where`",
    "info threads": "here use `info workers`",
    "run": "needs a live job",
    "break main": "needs a live job",
    "next": "event 1 of 51",
    "start": "in a live job (tollgate live), `break main`",
}


def build():
    with open("add.c", "w", encoding="utf-8") as source:
        source.write(CODE)
    subprocess.run(["gcc", "-g", "-O0", "-o", "add", "add.c"], check=True)


def check(holds, what):
    if not holds:
        fail(what)


def text(console, command):
    return console.do(command)


def check_session(console):
    """A session in gdb's words alone."""
    check(text(console, "break main") == "1", "break")
    check(text(console, "b add") == "2", "b")
    told = "the wait is for processes that may still begin; the interrupt key ends it, `dgo` then resumes"
    console.command("dwait -ranks 2", interrupt_s=60, interrupt_when=lambda: told in str(console.events))
    check(told in str(console.events), console.events)
    console.do("run")
    console.do("dwait")
    check("main" in text(console, "bt"), "bt")
    console.do("continue")
    check(re.search(r"^ *0 .*add", text(console, "backtrace"), re.M), "continue, backtrace")
    check("2 " in text(console, "info breakpoints"), "info breakpoints")
    check(re.match(r" *0 .*add\(a=0\)", text(console, "bt full")) and text(console, "bt full") == text(console, "dwhere -args -locals"), "bt full")
    check("breakpoint" in text(console, "info threads"), "info threads")
    check(text(console, "print a") == "a = 0", "print")
    check(text(console, "p/x a + 255") == text(console, "dprint /x {a + 255}") == "a + 255 = 0xff", text(console, "p/x a + 255"))
    check(re.fullmatch(r" *0 .*add\(a=0\).*", text(console, "info args")), "info args")
    console.do("up")
    check("main()" in text(console, "info frame") and re.fullmatch(r"> 1 .*main.*\n +no local variables", text(console, "info locals")),
          "the chosen frame")
    check("main()" in text(console, "dfocus 1.1 {info frame}") and "main()" in text(console, "dfocus 1.1 info args"), "in another focus")
    console.do("down")
    check("return a + 1" in text(console, "list"), "list")
    check(text(console, "break 6 if a == 7 || a > 9") == "3" and "a == 7 || a > 9" in text(console, "ac 3"), "break if")
    check(text(console, "break 3") == "4", "a line without code")
    check([event for event in console.events if event.get("text") == "line 3 has no code: action point 4 is at line 5"], console.events[-3:])
    check(not any("action point 3" in event.get("text", "") for event in console.events), "a line with code")
    console.do("delete 4")
    check("0x" in text(console, "x/2xg rsp"), "x/")
    console.do("delete 2")
    console.do("finish")
    check(re.search(r"^ *0 .*main", text(console, "bt"), re.M), "finish")
    at = text(console, "bt")
    console.do("next")
    check(text(console, "bt") != at, "next")
    console.do("step; stepi; nexti; si; ni")


def check_tcl(console):
    check(text(console, "set n 0; while 1 {if {[incr n] == 4} break}; set n").endswith("4"), "Tcl's break")
    check(text(console, "set n 0; foreach i {1 2 3} {if {$i == 2} continue; incr n $i}; set n").endswith("4"), "Tcl's continue")
    check(text(console, "set l [list a b]; lindex $l 1").endswith("b"), "Tcl's list")
    check(text(console, "proc names {} {set own 1; info locals}; names") == "own", "Tcl's info locals")
    check(text(console, "proc names {} {info args names}; names") == "", "Tcl's info args")
    check(text(console, "proc first {} {foreach i {7 8} {break}; return $i}; first") == "7", "Tcl's break in a procedure")
    check(text(console, "proc bt {} {return mine}; bt") == "mine", "a procedure of one's own")


def check_help(console):
    """Every command, alias and word has help."""
    names = re.findall(r"^((?:\w+ )?\w+)  +\S", text(console, "help").split("\n\n")[0], re.M)
    console.process.stdin.write(b'{"id": 0, "complete": "help "}\n')
    console.process.stdin.flush()
    offered = console.read_line()["data"]["words"]
    check(set(offered) == set(names), f"what is completed is no command here: {set(offered) ^ set(names)}")
    aliases = list(console.command("alias")["data"])
    check(len(names) > 40 and {"bt", "run", "c", "continue", "break", "info threads", "finish"} <= set(aliases), aliases)
    for name in names + aliases + ["frame", "watch", "foreach"]:
        check(text(console, f"help {name}"), name)
    check("dwhere" in text(console, "help bt") and "dprint -frame" in text(console, "help frame"), "help of a word")


def check_trace():
    subprocess.run([os.environ["TG_TRACE_FROM_JSON"], os.path.join(os.environ["TG_SOURCE"], "tests/golden/fixtures/hung.jsonl"),
                    "hung.tgt"], check=True)
    for typed, answer in OF_TRACE.items():
        run = subprocess.run([TOLLGATE, "replay", "--symbols=off", "-e", typed, "hung.tgt"], capture_output=True, text=True, check=False)
        check(answer in run.stdout + run.stderr, f"{typed}: {run}")


build()
live = LiveConsole("-o", "run.tgt", "--", "./add", stderr=open("output", "wb"))
check_session(live)
for typed, named in HINTS.items():
    result = live.command(typed)
    check(not result["ok"] and named in result["error"]["message"], f"{typed}: {result}")
check_help(live)
check_tcl(live)
live.end("quit -kill 0")
check_trace()
