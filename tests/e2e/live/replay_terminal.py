#!/usr/bin/env python3
"""The replay console on a terminal: prompt, completion, history, interrupt; and through a pipe."""
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time

TOLLGATE = os.environ["TG_TOLLGATE"]
FIXTURE = os.path.join(os.environ["TG_SOURCE"], "tests/golden/fixtures/hung.jsonl")
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\r")


class Terminal:
    """A console on a pseudo-terminal; what it writes is collected."""

    def __init__(self, *arguments, **environment):
        self.text = ""
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            variables = {**os.environ, "TERM": "xterm", "TOLLGATE_HISTORY": os.path.abspath("history"), **environment}
            os.execve(TOLLGATE, ["tollgate", *self.line(arguments)], variables)

    def line(self, arguments):
        return ["replay", *arguments, "hung.tgt"]

    def expect(self, pattern):
        """Waits until what was written since the last expect matches PATTERN."""
        deadline = time.monotonic() + 100
        while True:
            match = re.search(pattern, ESCAPES.sub("", self.text))
            if match:
                self.text = ""
                return match
            if not select.select([self.master], [], [], max(0, deadline - time.monotonic()))[0]:
                sys.exit(f"no {pattern!r} in {self.text!r}")
            try:
                self.text += os.read(self.master, 4096).decode(errors="replace")
            except OSError:
                sys.exit(f"ended without {pattern!r}: {self.text!r}")

    def type(self, text):
        os.write(self.master, text.encode())

    def end(self):
        """The exit status, after everything that was still written."""
        while True:
            try:
                piece = os.read(self.master, 4096)
            except OSError:
                piece = b""
            if not piece:
                break
            self.text += piece.decode(errors="replace")
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


PROMPT = r"\((\d\.\d+) s, ([^)]+)\) $"


def check(condition, what):
    if not condition:
        sys.exit(what)


def commands_and_completion():
    terminal = Terminal()
    terminal.expect(PROMPT)
    terminal.type("goto 45\n")
    terminal.expect(r"event 45 of 51[^\n]*MPI_Recv.*\n.*" + PROMPT)
    terminal.type("info wor\t")  # one way to go on, and a blank
    terminal.expect(r"info workers $")
    terminal.type("\n")
    terminal.expect(r"waiting for the named critical section(.|\n)*" + PROMPT)
    terminal.type("opm n\tbar\t\n")
    terminal.expect(r"no barrier zone from here to the end of the trace(.|\n)*" + PROMPT)
    terminal.type("opm next s\t")  # single and sections begin alike
    terminal.expect(r"opm next s")
    terminal.type("\t")
    terminal.expect(r"single  sections")
    terminal.type("\x15")  # the line is dropped
    terminal.type("find mpi_en\tcall=MPI_Init\n")
    terminal.expect(r"no such event(.|\n)*" + PROMPT)
    terminal.type("foreach n {1 2} {\n")
    terminal.expect(r"\.\.\. $")
    terminal.type("back\n}\n")
    terminal.expect(PROMPT)
    terminal.type("info event\n")
    terminal.expect(r"event 43 of 51(.|\n)*" + PROMPT)
    terminal.type("dfocus r1.2\n")
    check(terminal.expect(PROMPT).group(2) == "r1.2", "the prompt does not show the focus")
    terminal.type("quit 4\n")
    check(terminal.end() == 4, "quit 4 is not the exit status")


def history():
    terminal = Terminal()
    terminal.expect(PROMPT)
    terminal.type("\x1b[A\x1b[A")  # twice up: what the session before typed last but one
    terminal.expect(r"dfocus r1\.2$")
    terminal.type("\x15goto 40\n")
    terminal.expect(r"event 40 of 51(.|\n)*" + PROMPT)
    terminal.type("\x1b[A\n")
    terminal.expect(r"event 40 of 51(.|\n)*" + PROMPT)
    terminal.type("\x04")
    check(terminal.end() == 0, "the end of the input is no failure")
    check("goto 40" in open("history", encoding="utf-8").read().replace("\\040", " "), "the history is not kept")


def interrupt():
    terminal = Terminal(TOLLGATE_HISTORY="")
    terminal.expect(PROMPT)
    terminal.type("half a li")
    terminal.expect("half a li")
    terminal.type("\x03")
    terminal.expect(r"\^C\n.*" + PROMPT)
    terminal.type("puts begun; while 1 {catch {next}}\n")
    terminal.expect("begun\n")
    terminal.type("\x03")
    terminal.expect(r"interrupted\n(.|\n)*" + PROMPT)
    terminal.type("puts begun; while 1 {goto start; goto end}\n")
    terminal.expect("begun\n")
    terminal.type("\x03")
    terminal.expect(r"interrupted\n(.|\n)*" + PROMPT)
    for loop in ("while 1 {}", "proc forever {} {while 1 {}}; forever", "foreach x [lrepeat 100000000 1] {incr y}",
                 "while 1 {catch {while 1 {}}}", "proc again {} {catch again; again}; again"):
        terminal.type(f"puts begun; flush stdout; {loop}\n")
        terminal.expect("begun\n")
        terminal.type("\x03")
        terminal.expect(r"interrupted\n(.|\n)*" + PROMPT)
        terminal.type("\x03")  # once more, where there is nothing to end
        terminal.expect(r"\^C\n.*" + PROMPT)
    terminal.type("goto 5\n")
    terminal.expect(r"event 5 of 51(.|\n)*" + PROMPT)
    terminal.type("quit\n")
    check(terminal.end() == 0, "quit on a terminal is no failure")


def typed_ahead():
    """What is typed before there is a prompt for it is kept, the key that ends the input included."""
    for first, ahead in (("", "puts [expr 6*7]\ndfocus\n\x04"), ("after 300\n", "puts [expr 6*7]\ndfocus\n\x04"),
                         ("after 300\n", "puts [expr 6*7]; dfocus; q\x7f\x04\nquit\n")):
        terminal = Terminal(TOLLGATE_HISTORY="")
        if first:
            terminal.expect(PROMPT)
            terminal.type(first)
            terminal.expect(r"after 300\n")
        terminal.type(ahead)
        check(terminal.end() == 0, f"what was typed ahead does not end it: {terminal.text!r}")
        check(re.search(r"\n42\n(.|\n)*all\n", ESCAPES.sub("", terminal.text)), f"lost: {terminal.text!r}")


def left_for_the_shell():
    """What is typed behind `quit` is for who reads the terminal next, who finds it as it was."""
    master, slave = pty.openpty()
    modes = termios.tcgetattr(slave)
    process = subprocess.Popen([TOLLGATE, "replay", "hung.tgt"], stdin=slave, stdout=slave, stderr=slave,
                               env={**os.environ, "TOLLGATE_HISTORY": "", "TERM": "xterm"})
    text = b""
    os.write(master, b"puts begun; flush stdout; exec cat >@stdout; quit\n")
    while b"\nbegun" not in text:
        text += os.read(master, 4096)
    os.write(master, b"\x04for the shell\n")
    while process.poll() is None:
        if select.select([master], [], [], 0.1)[0]:
            os.read(master, 4096)
    check(process.returncode == 0 and termios.tcgetattr(slave) == modes, "the terminal is not what it was")
    check(select.select([slave], [], [], 0)[0] and os.read(slave, 99) == b"for the shell\n", "typed for nobody")


def interactive_after_script():
    terminal = Terminal("-i", "-e", "goto 7", TOLLGATE_HISTORY="")
    terminal.expect(r"event 7 of 51(.|\n)*" + PROMPT)
    terminal.type("exit\n")
    check(terminal.end() == 0, "exit is no failure")


def piped():
    lines = "goto 45\nset x 5\nforeach n {1 2} {\n  back\n}\nnosuchword\ninfo event\n"
    run = subprocess.run([TOLLGATE, "replay", "hung.tgt"], input=lines, capture_output=True, text=True, check=False)
    check(run.returncode == 1, f"a failed command gives exit status {run.returncode}")
    check(run.stderr == 'invalid command name "nosuchword"\n', run.stderr)
    out = run.stdout.splitlines()
    check(out[0].startswith("event 45 of 51") and out[1] == "5" and out[2].startswith("event 43 of 51"), run.stdout)
    check("\x1b" not in run.stdout and "(" + "0." not in out[0], "a pipe is written to as if it were a terminal")
    for lines, status in (("bogus\nquit\n", 1), ("bogus\nquit 0\n", 0), ("next\nquit\n", 0), ("exit 9\n", 9)):
        run = subprocess.run([TOLLGATE, "replay", "hung.tgt"], input=lines, capture_output=True, text=True, check=False)
        check(run.returncode == status, f"{lines!r} gives exit status {run.returncode}")
    run = subprocess.run([TOLLGATE, "replay", "hung.tgt"], input="next", capture_output=True, text=True, check=False)
    check(run.returncode == 0 and run.stdout.startswith("event 1 "), "a last line without a line end is lost")


def interrupted_while_piped():
    """Waiting for input it ends, as programs do."""
    process = subprocess.Popen([TOLLGATE, "replay", "hung.tgt"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdin.write(b"next\n")
    process.stdin.flush()
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    check(process.wait(100) == -signal.SIGINT, "it does not end by the signal")
    process.stdin.close()


if __name__ == "__main__":
    subprocess.run([os.environ["TG_TRACE_FROM_JSON"], FIXTURE, "hung.tgt"], check=True)
    for case in (commands_and_completion, history, interrupt, typed_ahead, left_for_the_shell, interactive_after_script, piped, interrupted_while_piped):
        print(case.__name__, flush=True)
        case()
