#!/usr/bin/env python3
"""Hostile programs under live control.

usage: hostile.py names   names, files, threads, functions and data would take over a terminal: what is said of them does not
       hostile.py ways    what programs do makes it hard to control them: the console is as usable, and the job as well
       hostile.py steps   a thread that is not the first executes another program in the middle of its step
       hostile.py waits   threads that wait are halted, stepped and let go: their waits go on
"""
import os
import re
import subprocess
import sys

from live_console import LiveConsole, await_true, fail, group_of, threads_of

TOLLGATE = os.environ["TG_TOLLGATE"]
ESCAPE = "\x1b[2J\x1b]0;owned\x07"

SOURCE = r"""
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#line 1 "/nowhere/\033[31m\n\r\342\200\256 .c"
struct { char text[64]; char *pointer; } data = {"\033[2J\033]0;owned\007\377\300\n", "\033c\r\b\b\b"};
void arrive(void) __asm__("arrive");
void arrive(void) { __asm__ volatile(""); }
__attribute__((noinline)) void strange(void) __asm__("\"\\033]0;owned\\007\\n strange\"");
__attribute__((noinline)) void strange(void) { arrive(); __asm__ volatile(""); }
__attribute__((noinline)) static void *run(void *argument)
{
    prctl(PR_SET_NAME, "\033[5m\nthread");
    memset(argument, 7, 1);
    strange();
    return argument;
}
int main(void)
{
    pthread_t thread;
    char byte;
    pthread_create(&thread, 0, run, &byte);
    pthread_join(thread, 0);
    return 4;
}
"""

COMMANDS = ["dbreak arrive -g", "dcont", "dfocus a dstatus -group_by function,line,hostname", "dfocus a dwhere", "dwhere", "dlist", "dlist main",
            "dprint data", "dprint *data.pointer", "dprint data.text", "dexamine -source", "dexamine -count 8", "dexamine /c &data", "dexamine /s &data",
            "dinfo libraries", "info processes", "info libraries", "dactions", "dactions 1", "dgroups", "dbreak no_such", "dset", "dstep", "dout"]


def names():
    os.mkdir(f"in {ESCAPE}".replace("/", "_"))
    program = os.path.abspath(f"in {ESCAPE}/prog {ESCAPE}")
    subprocess.run(["cc", "-g", "-O0", "-pthread", "-x", "c", "-", "-o", program], input=SOURCE.encode(), check=True)
    words = [word for command in COMMANDS for word in ("-e", f"catch {{puts [{command}]}} e; puts $e")]
    for mode in ([], ["--json"]):
        done = subprocess.run([TOLLGATE, "live", "--force", "-o", f"trace {ESCAPE}.tgt", *mode, *words, "--", program], check=False,
                              capture_output=True, timeout=100, stdin=subprocess.DEVNULL)
        text = done.stdout + done.stderr
        if done.returncode not in (0, 4, 137):
            sys.exit(f"FAILED: exit status {done.returncode}: {text[-400:]}")
        if found := re.search(rb"[\x00-\x08\x0b-\x1f\x7f]|\xe2\x80\xae", text):
            sys.exit(f"FAILED: a terminal is given {text[max(0, found.start() - 150):found.end() + 60]!r}")
        try:
            text.decode("utf-8")
        except UnicodeDecodeError as error:
            sys.exit(f"FAILED: {error}: {text[max(0, error.start - 100):error.end + 50]!r}")
        if mode == [] and b"action point 1" not in text:
            sys.exit(f"FAILED: the session was no session: {text[:2000]!r}")


WAYS = ["lines", "forks", "traces", "blocked", "executes", "vforks", "daemons", "closes", "another", "stops", "inherits", "waits"]


def ways():
    """The same end as without a tracer, somebody seen at the breakpoint on the way, and nothing left in the end."""
    program = os.path.join(os.environ["TG_PROGRAMS"], "hostile")
    for way in WAYS:
        with open(f"{way}.out", "wb") as output:
            console = LiveConsole("-o", f"{way}.tgt", "--", program, way, stderr=output)
        console.do("dfocus g1 {dbreak arrive -g}")
        console.do("dfocus g1 {dbarrier fail -stop_when_hit none}")  # where nobody comes
        pid = console.do("dfocus a dstatus") and console.command("dfocus a dstatus")["data"][0]["pid"]
        n_stops = 0
        while console.command("dfocus a dcont")["ok"]:
            standing = console.command("dfocus a dstatus")["data"] or []
            n_stops += sum(thread.get("function") == "arrive" for thread in standing)
            for command in ("dfocus a dwhere", "dfocus a dlist", "dfocus a {dprint arguments}", "dfocus a dexamine", "dinfo libraries",
                            "info processes", "dptsets"):
                console.command(command)
            if not standing:
                break
        if n_stops < (2 if way == "vforks" else 1):
            fail(f"{way}: {n_stops} stops")
        console.do("ddelete -a")  # when the trace is closed
        console.end("quit")
        ends = [(event["how"], event["status"]) for event in console.events
                if event.get("event") == "exited" and event["pid"] == pid and "dtid" not in event]
        if ends != [("status", 9)]:
            fail(f"{way}: {ends}")
        if left := group_of(pid):
            fail(f"{way}: {left} are left")
        natively = subprocess.run([program, way], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        with open(f"{way}.out", "rb") as output:
            said = output.read()
        if (natively.returncode, natively.stdout) != (9, said):
            fail(f"{way}: natively {natively.returncode}, {natively.stdout[:500]!r}, under control {said[:500]!r}")


def steps():
    console = LiveConsole("-o", "steps.tgt", "--", os.path.join(os.environ["TG_PROGRAMS"], "hostile"), "executes")
    console.do("dfocus g1 {dbreak execute -g}")
    console.do("dfocus g1 {dbreak arrive -g}")
    console.do("dfocus a dcont")
    executing = [thread["dtid"] for thread in console.command("dfocus a dstatus")["data"] if thread.get("function") == "execute"]
    if len(executing) != 1 or executing == [1]:
        fail(f"threads {executing} execute")
    while console.command(f"dfocus t1.{executing[0]} dnext")["ok"]:
        pass
    console.do("dfocus a {dwait}")
    functions = [thread.get("function") for thread in console.command("dfocus a dstatus")["data"]]
    if functions != ["arrive"]:
        fail(f"in the other program: {functions}")
    for command in ("dout", "dnext", "dcont"):
        console.do(f"dfocus a {command}")
    console.end("quit")
    ends = [event["status"] for event in console.events if event.get("event") == "exited" and "dtid" not in event]
    if ends != [9]:
        fail(f"the job ended with {ends}")


def waits():
    console = LiveConsole("-o", "waits.tgt", "--", os.path.join(os.environ["TG_PROGRAMS"], "hostile"), "waits")
    console.do("dbreak arrive -t")
    console.do("dfocus t1.1 dcont")
    threads = [(f"t{thread['dpid']}.{thread['dtid']}", thread["pid"], thread["tid"]) for thread in console.command("dfocus a dstatus")["data"]
               if thread["dtid"] > 1]
    if len(threads) != 2:
        fail(f"threads {threads} wait")
    for _ in range(3):
        for focus, pid, tid in threads:
            def sleeps(focus=focus, pid=pid, tid=tid):
                if tid not in threads_of(pid):
                    fail(f"{focus} has ended")
                return threads_of(pid)[tid][0] == "S"
            await_true(sleeps, f"{focus} does not wait")
            console.do(f"dfocus {focus} dhalt")
            console.do(f"dfocus {focus} dwait")
            console.command(f"dfocus {focus} dstepi", interrupt_when=sleeps)
            console.do(f"dfocus {focus} dgo")
    console.do("dfocus a dcont")
    console.end("quit")
    ends = [event["status"] for event in console.events if event.get("event") == "exited" and "dtid" not in event]
    if ends != [9]:
        fail(f"the job ended with {ends}")


if __name__ == "__main__":
    globals()[sys.argv[1]]()
