#!/usr/bin/env python3
"""The live console on a terminal: keys are the console's, news do not spoil the line that is typed, and it is left in every
way without leaving anything behind."""
import os
import signal
import subprocess
import termios

from replay_terminal import Terminal, check

PROGRAM = """
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static void *tick(void *loud)
{
    for (;; usleep(20000))
        if (loud != NULL && puts("tick") >= 0)
            fflush(stdout);
    return loud;
}
int main(int argc, char **argv)
{
    char line[80];
    (void)argc;
    pthread_t thread;
    printf("pid %d reads %s\\n", (int)getpid(), fgets(line, sizeof line, stdin) ? line : "nothing");
    fflush(stdout);
    pthread_create(&thread, NULL, tick, argv[1]);
    return pthread_join(thread, NULL);
}
"""


class LiveTerminal(Terminal):
    def line(self, arguments):
        return ["live", "-q", "--force", "-o", "terminal.tgt", "--", "./ticks", *arguments]

    def status(self):
        """The exit status; a job that was detached has the terminal still."""
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


PROMPT = r"d1\.<> $"


def build():
    with open("ticks.c", "w", encoding="utf-8") as source:
        source.write(PROGRAM)
    subprocess.run(["gcc", "-g", "-o", "ticks", "ticks.c", "-lpthread"], check=True)


def begin(*arguments):
    """A console on a job, at its first prompt."""
    terminal = LiveTerminal(*arguments)
    terminal.expect(r"stopped: \S+\n.*" + PROMPT)  # ld.so has names where its debug information is installed
    return terminal


def run(terminal, command="dgo"):
    """The job's pid: it runs, and has read nothing, as the terminal is the console's."""
    terminal.type(command + "\n")
    return int(terminal.expect(r"pid (\d+) reads nothing").group(1))


def is_there(pid):
    return os.path.exists(f"/proc/{pid}")


def pending():
    """A place that no process has is asked about at the terminal; every answer but yes is no, and scripts are not asked."""
    terminal = begin()
    terminal.type("dbreak nowhere\n")
    terminal.expect(r"'nowhere' not found in any process\. Make it pending\? \(y or \[n\]\) $")
    terminal.type("\n")
    terminal.expect(r"use -pending to plant it once it is loaded\n" + PROMPT)
    terminal.type("dbarrier nowhere\n")
    terminal.expect(r"Make it pending\? \(y or \[n\]\) $")
    terminal.type("y\n")
    terminal.expect(r"\n1\n" + PROMPT)
    terminal.type("eval [list dbreak nowhere -p]; dactions\n")
    terminal.expect(r"Make it pending\? \(y or \[n\]\) $")
    terminal.type("\x03")
    terminal.expect(PROMPT)
    terminal.type("dactions\n")
    terminal.expect(r"  1 \[nowhere\] Enabled \(barrier\) \(pending\)\n" + PROMPT)
    terminal.type("quit -kill 0\n")
    check(terminal.status() == 0, "the end")


def keys():
    terminal = begin("loud")
    pid = run(terminal)
    terminal.expect(r"tick\n")  # both threads are there
    terminal.type("\x03")  # stops those in focus; what was typed is given up
    terminal.expect(r"stopped")
    terminal.type("dwait; dstatus -group_by thread_state\n")
    terminal.expect(r"\nstopped: 1:2\[p1\.1-2\]\n(.|\n)*" + PROMPT)
    terminal.type("dcont\n")
    terminal.expect(r"tick\n")  # it runs, so the command waits
    terminal.type("\x03")
    terminal.expect(r"interrupted(.|\n)*" + PROMPT)
    terminal.type("\x04")
    terminal.expect(r"kill it or detach from it\? \[kill\] $")
    terminal.type("k\n")
    terminal.expect(r"was killed by SIGKILL")
    check(terminal.status() == 0 and not is_there(pid), "the job is there still")


def leaving():
    terminal = begin()
    pid = run(terminal)
    terminal.type("quit\n")
    terminal.expect(r"\[kill\] $")
    terminal.type("detach\n")
    terminal.expect(r"detached; the job continues")
    check(terminal.status() == 0 and is_there(pid), "it was detached")
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        check("TracerPid:\t0" in status.read(), "it is traced still")
    os.kill(pid, signal.SIGKILL)


def signals():
    for number in signal.SIGTERM, signal.SIGHUP:
        terminal = begin()
        pid = run(terminal)
        os.kill(terminal.pid, number)
        check(terminal.status() == -number and not is_there(pid), f"{number}: the job is there still")
        modes = termios.tcgetattr(terminal.master)[3]
        check(modes & termios.ICANON and modes & termios.ECHO, "the terminal is left as lines are edited")


build()
keys()
pending()
leaving()
signals()
