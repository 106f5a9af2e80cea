#!/usr/bin/env python3
"""One of two processes of a job is killed while its workers wait at gates for those of the other: `opm barrier pass` does not count
them, waits for the others alone, and names the dead; their slots are given back, and further commands are about the living."""
import os
import pathlib
import re
import struct
import subprocess
import threading
import time

from live_console import LiveConsole, fail, threads_of

PROGRAM = r"""
#include <omp.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile int rounds;
int main(void)
{
    pid_t child = fork();
    while (child == 0 && access("begin", F_OK) != 0)
        usleep(1000);
#pragma omp parallel num_threads(3)
    for (int round = 0; round < 3; round++) {
#pragma omp barrier
        if (child != 0 && round == 0 && omp_get_thread_num() == 2)
            while (access("go", F_OK) != 0)
                usleep(1000);
#pragma omp barrier
#pragma omp masked
        rounds++;
    }
    return child == 0 || wait(NULL) == child ? 0 : 1;
}
"""
GATES_END, SLOT = 4096 + 512 * 128, struct.Struct("<QiI")  # recorder/agent/contract.h
LIMIT_S = 30


def control_of(pid):
    """What agents and controller share, as the program of PID has it."""
    with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as maps:
        return next(words[5] for line in maps if len(words := line.split()) > 5 and words[5].endswith("/control"))


def slots(path):
    """The threads that have a slot, and the gates where they wait; 0: they were let go."""
    with open(path, "rb") as control:
        control.seek(GATES_END)
        return {tid: gate for _, tid, gate in (SLOT.unpack(control.read(SLOT.size)) for _ in range(16)) if tid != 0}


def kill_at_gate(pid, control, log):
    """Kills PID when its three threads wait; then the other process goes on."""
    until = time.monotonic() + LIMIT_S
    while time.monotonic() < until:
        waiting = slots(control)
        if len(threads := threads_of(pid)) == 3 and all(waiting.get(thread, 0) != 0 for thread in threads):
            break
        time.sleep(0.001)
    log.append(waiting)
    os.kill(pid, 9)
    while time.monotonic() < until and threads_of(pid):
        time.sleep(0.001)
    pathlib.Path("go").touch()


def main():
    pathlib.Path("killed.c").write_text(PROGRAM, encoding="utf-8")
    for name in ("go", "begin"):
        pathlib.Path(name).unlink(missing_ok=True)
    subprocess.run(["gcc", "-g", "-O1", "-fopenmp", "-o", "killed", "killed.c"], check=True)
    console = LiveConsole("-o", "killed.tgt", "--force", "--", "./killed")
    console.do("dfocus a {opm next -each barrier}")  # the only process; then both
    pathlib.Path("begin").touch()
    console.do("dfocus a {opm next -each barrier}")
    first, second = sorted({thread["pid"] for thread in console.command("dfocus a dstatus")["data"]})
    log, control = [], control_of(first)
    killer = threading.Thread(target=kill_at_gate, args=(second, control, log))
    killer.start()
    answer = console.command("dfocus a {opm barrier pass}", interrupt_s=LIMIT_S)
    killer.join()
    text = answer["text"]
    if not answer["ok"] or not text.startswith("3 of 6 workers are out and stopped behind it\n"):
        fail(f"opm barrier pass: {answer}; slots when killed: {log}")
    ended = re.findall(rf"^worker \d of process {second} \(killed\) has ended$", text, re.M)
    late = re.search(r"^(\d) had not begun with", text, re.M)  # its threads, when the command began
    if len(ended) + (int(late[1]) if late else 0) != 3 or not ended:
        fail(f"opm barrier pass: {text}")
    if not set(slots(control)) <= set(threads_of(first)):
        fail(f"slots are left: {slots(control)} of {first} and {second}")
    console.do("dfocus a {opm next barrier}")
    text = console.do("dfocus a {opm barrier pass}")
    if text != "3 of 3 workers are out and stopped behind it":
        fail(f"opm barrier pass of those who are left: {text}")
    console.do("dfocus a {dcont}")
    if console.end("quit") != 0:
        fail("the session's status")


main()
