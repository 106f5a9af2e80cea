#!/usr/bin/env python3
"""The report on a terminal: one screen as wide as the terminal, a pager as git has it, --all; elsewhere the whole report."""
import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios

TOLLGATE = os.environ["TG_TOLLGATE"]
FIXTURES = os.path.join(os.environ["TG_SOURCE"], "tests/golden/fixtures")


def check(condition, *what):
    if not condition:
        sys.exit(" ".join(map(str, what)))


def on_terminal(*arguments, command="report", rows=24, columns=80, typed=b"", **environment):
    """What `tollgate COMMAND ARGUMENTS` shows on a terminal of that size, as (exit status, lines)."""
    pid, master = pty.fork()
    if pid == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        variables = {key: value for key, value in os.environ.items()
                     if key not in ("COLUMNS", "LINES", "PAGER", "TOLLGATE_PAGER", "LESS", "NO_COLOR")}
        variables.update({"TERM": "xterm", "NO_COLOR": "1"}, **environment)
        os.execve(TOLLGATE, ["tollgate", command, *arguments], variables)
    output = b""
    os.write(master, typed)
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:
            break
        if not piece:
            break
        output += piece
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return status, output.decode().replace("\r", "").splitlines()


def heap():
    for columns in (80, 100):
        status, lines = on_terminal("heap.tgt", command="heap", columns=columns)
        check(status == 0 and lines[0].startswith("Heap at"), lines)
        check(max(map(len, lines)) <= columns, "the heap is too wide for", columns, "\n".join(lines))


def summary():
    whole = subprocess.run([TOLLGATE, "report", "ranks.tgt"], capture_output=True, text=True, check=True).stdout.splitlines()
    for name in ("hung", "hybrid", "ranks", "mpir-aborted", "losses", "empty", "hostile"):
        for rows, columns in ((24, 80), (40, 100), (50, 60)):
            status, lines = on_terminal("--no-pager", f"{name}.tgt", rows=rows, columns=columns)
            check(status == 0 and lines[0] == "Verdict" and "--all" in lines[-1], name, lines)
            check(len(lines) < rows, name, "does not fit", rows, "lines:", "\n".join(lines))
            check(max(map(len, lines)) <= columns, name, "is too wide for", columns, "\n".join(lines))
    _, lines = on_terminal("--no-pager", "hung.tgt", rows=40, columns=100)
    check(any(line.startswith("OpenMP     3 workers (3 inside); in regions ") for line in lines), "who is still inside is not said:", lines)
    _, wide = on_terminal("--no-pager", "hung.tgt", columns=80, COLUMNS="200")
    check(max(map(len, wide)) > 100, "COLUMNS does not count", wide)
    _, wide = on_terminal("--no-pager", "hung.tgt", columns=0, rows=0)
    check(80 >= max(map(len, wide)) > 70, "not 80 columns where the terminal does not say", wide)
    _, everything = on_terminal("--no-pager", "--all", "ranks.tgt")
    check("Events and stops" in everything and len(everything) > len(whole), everything)
    check("Events and stops" in whole and "Job" in whole, whole)


def pager():
    status, lines = on_terminal("hung.tgt", TOLLGATE_PAGER="sed 's/^/paged: /'", PAGER="false")
    check(status == 0 and all(line.startswith("paged: ") for line in lines), lines)
    status, lines = on_terminal("hung.tgt", PAGER='echo "$LESS"; cat >/dev/null')
    check(status == 0 and lines == ["FRX"], lines)
    for no_pager in ({"TOLLGATE_PAGER": ""}, {"PAGER": "cat"}, {"TERM": "dumb"}):
        status, lines = on_terminal("hung.tgt", **no_pager)
        check(status == 0 and lines[0] == "Verdict", no_pager, lines)
    status, lines = on_terminal("--no-pager", "hung.tgt", TOLLGATE_PAGER="false")
    check(lines[0] == "Verdict", lines)
    for early in ("true", "head -1"):  # a pager that quits early is no error
        status, lines = on_terminal("--all", "ranks.tgt", PAGER=early)
        check(status == 0 and len(lines) <= 1, early, status, lines)
    status, lines = on_terminal("hung.tgt", PAGER="no-such-pager")
    check(status != 0 and "--no-pager" in lines[-1], status, lines)
    # neither files nor programs are paged
    status, lines = on_terminal("-o", "report.txt", "hung.tgt", PAGER="echo paged")
    check(status == 0 and not lines and "Events and stops" in open("report.txt", encoding="utf-8").read(), lines)
    status, lines = on_terminal("--json", "hung.tgt", PAGER="echo paged")
    check(status == 0 and lines[0] == "{", lines[:3])
    piped = subprocess.run([TOLLGATE, "report", "hung.tgt"], capture_output=True, text=True, check=True,
                           env={**os.environ, "PAGER": "echo paged"})
    check(piped.stdout.startswith("Verdict"), piped.stdout)


if __name__ == "__main__":
    signal.alarm(250)
    for fixture in ("hung", "hybrid", "ranks", "mpir-aborted", "losses", "empty", "hostile", "heap"):
        subprocess.run([os.environ["TG_TRACE_FROM_JSON"], f"{FIXTURES}/{fixture}.jsonl", f"{fixture}.tgt"], check=True)
    summary()
    heap()
    pager()
