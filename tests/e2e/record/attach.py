#!/usr/bin/env python3
"""Attaches to running processes and lets them go again: nothing may be left in them.

usage: attach.py SCENARIO
"""
import os
import re
import select
import signal
import subprocess
import sys
import time

DRIVER = os.environ["TG_ENGINE_DRIVER"]
WORKER = os.path.join(os.environ["TG_PROGRAMS"], "worker")
TIME_LIMIT_S = 100


def fail(text):
    sys.exit(f"FAILED: {text}")


def start_worker(prefix=(), arguments=()):
    process = subprocess.Popen([*prefix, WORKER, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    line = process.stdout.readline().split()
    if len(line) != 2 or line[0] != "ready":
        fail(f"the worker said {line}")
    return process, int(line[1])


def finish_worker(process):
    try:
        output, _ = process.communicate(timeout=TIME_LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        fail("the worker does not end")
    print(output, end="")
    if process.returncode != 0 or "worked\n" not in output:
        fail(f"the worker ended with {process.returncode}")


def instructions_of(symbol):
    listing = subprocess.run(["objdump", "-d", "--no-show-raw-insn", f"--disassemble={symbol}", WORKER], check=True,
                             capture_output=True, text=True).stdout
    return re.findall(r"^\s+([0-9a-f]+):\s", listing, re.M)


def code_of(pid):
    """The bytes of all executable mappings that come from files."""
    code = {}
    with open(f"/proc/{pid}/maps", encoding="ascii") as maps, open(f"/proc/{pid}/mem", "rb") as memory:
        for line in maps:
            fields = line.split()
            if "x" in fields[1] and len(fields) > 5 and fields[5].startswith("/"):
                start, end = (int(part, 16) for part in fields[0].split("-"))
                memory.seek(start)
                code[start] = memory.read(end - start)
    return code


def status_of(pid, tid):
    with open(f"/proc/{pid}/task/{tid}/status", encoding="ascii", errors="replace") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def threads_of(pid):
    """The tid and status of every thread; those that end meanwhile are left out."""
    for tid in os.listdir(f"/proc/{pid}/task"):
        try:
            yield tid, status_of(pid, tid)
        except (FileNotFoundError, ProcessLookupError):
            continue


def check_untouched(pid, code):
    for tid, status in threads_of(pid):
        if status["TracerPid"] != "0":
            fail(f"thread {tid} is still traced: {status['TracerPid']}")
    now = code_of(pid)
    for start, before in code.items():
        if now[start] != before:
            where = next(i for i, (a, b) in enumerate(zip(before, now[start])) if a != b)
            fail(f"code differs at {start + where:#x}: {before[where]:#x} became {now[start][where]:#x}")


def drive(*arguments):
    result = subprocess.run([DRIVER, "-o", "events", *arguments], capture_output=True, text=True, timeout=TIME_LIMIT_S)
    if result.returncode != 0:
        fail(f"the driver ended with {result.returncode}: {result.stderr}")
    with open("events", encoding="utf-8", errors="replace") as file:
        return file.read().splitlines()


def scenario_loop():
    """Attach and detach again and again at once, without and with breakpoints that are being hit."""
    worker, pid = start_worker()
    code = code_of(pid)
    drive("-r", "100", "-p", str(pid))
    check_untouched(pid, code)
    offsets = instructions_of("work")
    breakpoints = [argument for offset in offsets for argument in ("-b", offset)]
    for hits in ("1", "7", "100"):
        lines = drive("-r", "25", "-n", hits, *breakpoints, "-p", str(pid))
        if int(lines[-1].split()[1]) < 25 * int(hits):
            fail(f"too few hits: {lines[-1]}")
        check_untouched(pid, code)
    finish_worker(worker)


def scenario_stopped():
    """A process that is stopped by job control stays so, and goes on when told."""
    worker, pid = start_worker(arguments=["stoppable"])
    code = code_of(pid)
    os.kill(pid, signal.SIGSTOP)
    os.waitid(os.P_PID, pid, os.WSTOPPED)
    drive("-r", "20", "-p", str(pid))
    check_untouched(pid, code)
    # The kernel wakes a thread that is detached from, so that it stops again by itself: for a moment it runs.
    deadline = time.monotonic() + 10
    while running := [(tid, status["State"]) for tid, status in threads_of(pid) if not status["State"].startswith("T")]:
        if time.monotonic() > deadline:
            worker.kill()
            fail(f"no longer stopped: {running}")
        time.sleep(0.001)
    os.kill(pid, signal.SIGCONT)
    finish_worker(worker)


def scenario_exec_storm():
    """A process whose threads execute programs all the time: every attempt ends, and does no harm."""
    program = subprocess.Popen([os.path.join(os.environ["TG_PROGRAMS"], "threads"), "exec-storm", "60"],
                               stdout=subprocess.PIPE, text=True)
    attached = 0
    while program.poll() is None:
        result = subprocess.run([DRIVER, "-o", "events", "-r", "3", "-p", str(program.pid)], capture_output=True,
                                text=True, timeout=TIME_LIMIT_S)
        attached += result.returncode == 0
        if result.returncode not in (0, 3):
            fail(f"the driver ended with {result.returncode}: {result.stderr}")
    if program.returncode != 8 or program.stdout.read() != "the storm is over\n":
        fail(f"the program ended with {program.returncode}")
    print(f"attached {attached} times")


def scenario_launched():
    """A launched program runs on unharmed when the recorder is asked to stop."""
    breakpoints = [argument for offset in instructions_of("work") for argument in ("-b", offset)]
    worker, pid = start_worker([DRIVER, "-o", "events", *breakpoints])
    program = os.pidfd_open(pid)
    os.kill(worker.pid, signal.SIGUSR2)
    if worker.wait(timeout=TIME_LIMIT_S) != 0:
        fail(f"the driver ended with {worker.returncode}")
    for _, status in threads_of(pid):
        if status["TracerPid"] != "0":
            fail("it is still traced")
    worker.stdin.close()
    output = worker.stdout.read()
    if not select.select([program], [], [], TIME_LIMIT_S)[0]:
        fail("the program does not end")
    if "worked\nfaults 0\n" not in output:
        fail(output)


def scenario_tracer_killed():
    """With EXITKILL the whole job ends with its recorder, at once."""
    driver = subprocess.Popen([DRIVER, "-o", "events", "-k", "sh", "-c",
                               "sleep 1000 & sh -c 'sleep 1000 & echo $! $$; exec sleep 1000' & wait"],
                              stdout=subprocess.PIPE, text=True)
    pids = [int(word) for word in driver.stdout.readline().split()]
    with open(f"/proc/{driver.pid}/task/{driver.pid}/children", encoding="ascii") as file:
        pids += [int(word) for word in file.read().split()]
    if len(pids) < 3:
        fail(f"only {pids} were started")
    watched = [os.pidfd_open(pid) for pid in pids]
    driver.kill()
    driver.wait()
    for pid, fd in zip(pids, watched):
        if not select.select([fd], [], [], TIME_LIMIT_S)[0]:
            os.kill(pid, signal.SIGKILL)
            fail(f"process {pid} outlives the recorder")


def scenario_job_killed():
    """SIGKILL to the job at any time: its end is told, whatever it was doing."""
    breakpoints = [argument for offset in instructions_of("work") for argument in ("-b", offset)]
    for _ in range(10):
        driver, pid = start_worker([DRIVER, "-o", "events", "-k", *breakpoints])
        os.kill(pid, signal.SIGKILL)
        if driver.wait(timeout=TIME_LIMIT_S) != -signal.SIGKILL:
            fail(f"the driver ended with {driver.returncode}")
        with open("events", encoding="utf-8") as file:
            if f"{pid}/{pid} process_exit how=signaled status=9" not in file.read():
                fail("the end was not told")


def scenario_errors():
    """What cannot be attached is refused with the reason."""
    worker, pid = start_worker()
    zombie = subprocess.Popen(["true"])
    os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
    thread = next(tid for tid in os.listdir(f"/proc/{pid}/task") if tid != str(pid))
    tracer = subprocess.Popen([DRIVER, "-o", "events-other", "sh", "-c", "echo $$; read line"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    traced = tracer.stdout.readline().strip()
    expectations = [("999999999", "no such process"), (str(zombie.pid), "it has already ended"),
                    (thread, f"it is a thread of process {pid}"), (traced, f"process {tracer.pid} (engine_driver)")]
    with open("/proc/2/stat", encoding="ascii") as file:
        if "(kthreadd)" in file.read():
            expectations.append(("2", "it is a kernel thread"))
    for target, reason in expectations:
        result = subprocess.run([DRIVER, "-o", "events", "-p", target], capture_output=True, text=True,
                                timeout=TIME_LIMIT_S)
        if result.returncode != 3 or reason not in result.stderr:
            fail(f"attaching to {target}: status {result.returncode}, {result.stderr}")
    tracer.communicate("\n", timeout=TIME_LIMIT_S)
    zombie.wait()
    finish_worker(worker)


globals()["scenario_" + sys.argv[1]]()
