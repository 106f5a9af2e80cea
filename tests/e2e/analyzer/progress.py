#!/usr/bin/env python3
"""A long reading says on a terminal how far it is, and takes the line away; elsewhere, and where the result would be in the way, it says
nothing.
"""
import os
import pty
import re
import signal
import subprocess
import sys

from interrupt_key import TOLLGATE, make

LINE = re.compile(r"\r\x1b\[Ktollgate: reading the trace: (\d+) %[^\r]*")
WIPE = "\r\x1b[K"


def read_some(fd):
    try:
        return os.read(fd, 65536).decode()
    except OSError:
        return ""


def on_terminal(words, output=None, number=None, **environment):
    """What `tollgate WORDS` shows on a terminal, while time flies; OUTPUT: standard output, where it is not the terminal; NUMBER: of a signal
    that it gets when something is shown; nothing where it was faster than that."""
    pid, master = pty.fork()
    if pid == 0:
        if output is not None:
            os.dup2(output, 1)
        os.execve(TOLLGATE, ["tollgate", *words],
                  {**os.environ, "TERM": "xterm", "PAGER": "cat", "LD_PRELOAD": sys.argv[1], **environment})
    shown = read_some(master)
    if number is not None:
        os.kill(pid, number)
    while piece := read_some(master):
        shown += piece
    os.close(master)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    for name in os.listdir("there"):
        os.unlink("there/" + name)
    return shown if number is None or status == -number else ""


def is_shown(words, tries=1, **how):
    """Whether a line came in one of several tries; it must have gone."""
    for _ in range(tries):
        shown = on_terminal(words, **how)
        lines = list(LINE.finditer(shown))
        if not lines:
            continue
        percent = [int(line.group(1)) for line in lines]
        assert percent == sorted(percent) and percent[-1] <= 100, (words, percent)
        rest = shown[lines[-1].end():]
        assert rest.startswith(WIPE) and "%" not in rest.split("\n")[0], (words, shown)
        return True
    return False


def is_never_shown(words, **how):
    shown = on_terminal(words, **how)
    assert not LINE.search(shown), (words, how, shown)


def main():
    make()
    os.mkdir("there")
    for words in (("report",), ("sequence",), ("dump", "--json"), ("heap",)):
        assert is_shown((*words, "-o", "there/result", "many.tgt")), (words, "no line")
    assert is_shown(("redact", "many.tgt", "--output=there/result")), "no line of redact"
    assert is_shown(("report", "--html=there/result", "many.tgt")), "no line while the page is made, behind the report"
    assert is_shown(("report", "many.tgt")), "no line where the report goes to the terminal"
    for motion in ("goto end", "find note text=none", "next 100000000", "step 100000000", "opm next sections"):
        assert is_shown(("replay", "-e", motion, "many.tgt")), (motion, "no line where the console goes far")
    assert is_shown(("dump", "-o", "there/result", "many.tgt"), tries=20, number=signal.SIGINT), "no line before the interrupt"
    # what is written line by line to the terminal, a terminal that cannot rewrite a line, a pipe, whose reader may be on the terminal
    is_never_shown(("dump", "many.tgt"))
    is_never_shown(("report", "-o", "there/result", "many.tgt"), TERM="dumb")
    sink = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    for words in (("report", "--json", "many.tgt"), ("report", "many.tgt"), ("dump", "--json", "many.tgt"),
                  ("replay", "-e", "goto end", "many.tgt")):
        is_never_shown(words, output=sink.stdin.fileno())
    sink.stdin.close()
    sink.wait()
    piped = subprocess.run([TOLLGATE, "report", "-o", "there/result", "many.tgt"], stderr=subprocess.PIPE, check=True,
                           env={**os.environ, "LD_PRELOAD": sys.argv[1]})
    assert piped.stderr == b""


if __name__ == "__main__":
    signal.alarm(250)
    sys.exit(main())
