#!/usr/bin/env python3
"""A script of nonsense: every command of the live console with words that are none of its.

usage: nonsense.py SEED [COMMANDS]

Each is answered, an error has one message, what a terminal would be given harms none, and the console and its job are as
well as before: it ends as it is told to.
"""
import os
import random
import re
import subprocess
import sys

from live_console import TIME_LIMIT_S, TOLLGATE, LiveConsole, fail

CHURN = os.path.join(os.environ["TG_PROGRAMS"], "churn")
# They end the console or the job, or may wait for it, where a word happens to make sense.
LEFT_OUT = {"quit", "exit", "drun", "dwait", "dcont", "dstep", "dnext", "dstepi", "dnexti", "dout", "duntil", "goto"}
WORDS = ["{}", "{", "}", "[", "]", '"', "$nothing", "-1", "-", "--", "-no_such_option", "*", "#", "#0", "a#b#c#d#e", "`", "x`y`z",
         "99999999999999999999", "0x", "1e400", "{p1 p2", "r1.", ".0", "g/", "//", "pQ", "<>", "a|", "(", "-timeout", "-group_by",
         "-address", "-save", "-load", "{no such file}", "/", "..", "\\x1b\\[2J", "\\u202e", "\\x00", "é", "a" * 5000, "{a b c d}", "-if", "-g",
         "TV::no_such_setting", "-rank", "{%s%n}", "main", "-pending", "1.<", "-frame", "-elements", "**", "a[b", "(int)", "\\n", "{\n}"]


def nonsense(source, commands):
    command = source.choice(commands)
    words = " ".join(source.choice(WORDS) for _ in range(source.randint(1, 4)))
    prefix = f"dfocus {source.choice(WORDS + ['a', 'p1', 'gW'])} " if source.random() < 0.2 else ""
    return f"{prefix}{command} {words}"


def check_text(commands):
    """The same for people: what is printed."""
    script = "".join(f"catch {{{command}}}\n{command}\n" if is_balanced(command) else f"{command}\n" for command in commands)
    done = subprocess.run([TOLLGATE, "live", "-q", "-o", "text.tgt", "--", CHURN, "end", "ready", "begun"], check=False,
                          input=script.encode() + b"}\n\"\n]\nquit -kill 7\n", capture_output=True, timeout=TIME_LIMIT_S)
    if done.returncode < 0 or done.returncode > 7:
        fail(f"the console of people ended with {done.returncode}: {done.stderr[-500:]}")
    text = (done.stdout + done.stderr).decode("utf-8")
    if found := re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202e]", text):
        fail(f"a terminal would be given {found.group(0)!r}: {text[max(0, found.start() - 200):found.end() + 100]!r}")


def is_balanced(command):
    return command.count("{") == command.count("}") and not re.search(r'[]["\\]', command)


def main():
    source = random.Random(int(sys.argv[1]))
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 300
    console = LiveConsole("-o", "nonsense.tgt", "--", CHURN, "end", "ready", "begun", stderr=open("output", "wb"))
    listed = re.findall(r"^((?:\w+ )?\w+)  ", console.do("help"), re.M)
    commands = [command for command in listed if command not in LEFT_OUT]
    if len(commands) < 30:
        fail(f"`help` was not understood: {listed}")
    n_errors, given = 0, []
    for _ in range(count):
        command = nonsense(source, commands)
        given.append(command)
        answer = console.command(command)
        if not answer["ok"] and not answer["error"]["message"].strip():
            fail(f"{command!r}: an error without a message")
        n_errors += not answer["ok"]
    if n_errors < count / 3:
        fail(f"{n_errors} of {count} were refused: this is no nonsense")
    for endless in ("while 1 {}", "proc again {} {again2}; proc again2 {} {while 1 {catch {error x}}}; again", "while 1 {catch {dfocus a dgo; dwait -any}}",
                    "dfocus a dgo; while 1 {dfocus a dptsets; dfocus a dhalt; dfocus a dgo}", "for {set i 0} {1} {incr i} {set all($i) $i}"):
        answer = console.command(endless, interrupt_s=0.2)
        if answer["ok"] or answer["error"]["code"] != "INTERRUPTED":
            fail(f"{endless!r} is not ended by the interrupt key: {answer}")
    console.do("dfocus a dstatus")
    status = console.end("quit -kill 7")
    if status != 7:
        fail(f"quit 7 gave {status}")
    check_text(given)
    print(f"{n_errors} of {count} refused")


main()
