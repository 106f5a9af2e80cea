#!/usr/bin/env python3
"""`tollgate where`: jobs that tollgate did not start are looked at while they hang, and are not harmed.

usage: where.py CASE
"""
import collections
import contextlib
import ctypes
import glob
import hashlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from random import Random

import machine
from mpi_job import ENVIRONMENT, build, flavour_named, job
from recording import PROGRAMS, TOLLGATE, check, run, skip
from slurm_job import NoSlurm, Slurm

SOURCE = os.path.join(os.environ["TG_SOURCE"], "tests/programs")
PTRACE_SEIZE, WALL = 0x4206, 0x40000000


def line_of(mark, name="hang.c"):
    with open(os.path.join(SOURCE, name)) as file:
        return next(n for n, text in enumerate(file, 1) if f"/* {mark} */" in text)


def where(*arguments):
    told = run([TOLLGATE, "where", *arguments])
    check(told.status == 0, told)
    return told.output


def tracers(pid):
    """The processes that trace the threads of PID."""
    found = set()
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/status") as status:
            found |= set(re.findall(r"^TracerPid:\t(\d+)", status.read(), re.M))
    return found


def is_child_of(pid, ancestor):
    """Whether process PID, a string, descends from ANCESTOR."""
    try:
        while pid != "0" and pid != str(ancestor):
            with open(f"/proc/{pid}/stat") as stat:
                pid = stat.read().rsplit(")", 1)[1].split()[1]
    except OSError:
        return False
    return pid == str(ancestor)


@contextlib.contextmanager
def hanging(flavour, how, calls=("MPI_Barrier", "")):
    """A job whose culprit has said that it is there, and whose ranks are in CALLS, in a session of its own."""
    process = subprocess.Popen(job(flavour, "./hang", how), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                               env={**os.environ, **ENVIRONMENT}, start_new_session=True)
    try:
        while "rank 1 is there" not in (line := process.stdout.readline()):
            check(line)
        for _ in range(60): # until the others are
            told = json.loads(where("--json", "--once", "-p", str(process.pid)))
            if [group["call"] for group in told["groups"]] == list(calls):
                break
            time.sleep(0.5)
        yield process
    finally:
        ranks = [entry for entry in os.listdir("/proc") if entry.isdigit() and is_child_of(entry, process.pid)]
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for pid in ranks:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)


def hung(name):
    """Who is outside MPI is named with its line, the others by their call; the same as JSON."""
    flavour = flavour_named(name)
    build(flavour.c, ["hang.c"], "hang", "-fopenmp")
    with hanging(flavour, "barrier") as process:
        text = where("-p", str(process.pid))
        told = json.loads(where("--json", "--once", "-p", str(process.pid)))
        ranks = {thread["pid"] for thread in told["threads"] if thread["rank"] is not None}
        check(len(ranks) == 4 and all(tracers(pid) == {"0"} for pid in ranks), told)
    line = line_of("culprit of barrier")
    check(text.startswith("The others wait for rank 1, which is outside MPI: in pause"), text)
    check(f"wait_in_vain (hang.c:{line})" in text and "ranks 0,2-3 are in MPI_Barrier" in text, text)
    check(told["verdict"] == "missing" and told["ranks"] == 4 and told["size"] == 4, told)
    check([(group["call"], group["ranks"]) for group in told["groups"]] == [("MPI_Barrier", [0, 2, 3]), ("", [1])], told)


def members():
    """Members of a communicator wait for its members alone, whoever else is outside MPI; ranks in it are those of the job."""
    for name in ("openmpi", "mpich"):
        flavour = flavour_named(name)
        build(flavour.c, ["communicators.c"], "hang", "-pthread")
        with hanging(flavour, "part", ("MPI_Recv", "", "MPI_Barrier", "")) as process:
            text = where("-p", str(process.pid))
        check(text.startswith("The others wait for rank 1, which is outside MPI: in pause"), text)
        check("\n  rank 2 is in MPI_Barrier of a communicator of ranks 0-2, called from wait_in_a_part" in text, text)
        check("\n  rank 0 is in MPI_Recv(source 1, tag 5, count 1) of a communicator of ranks 0-2, called from" in text, text)
        check("\n  rank 3 is outside MPI: in pause, called from wait_for_ever" in text, text)


def kinds():
    """Whom nonblocking collective calls, windows and intercommunicators wait for; and two communicators of the same members."""
    for name in ("openmpi", "mpich"):
        flavour = flavour_named(name)
        build(flavour.c, ["communicators.c"], "hang", "-pthread")
        with hanging(flavour, "kinds", ("MPI_Wait", "", "MPI_Win_fence", "MPI_Barrier")) as process:
            text = where("-p", str(process.pid))
            told = json.loads(where("--json", "--once", "-p", str(process.pid)))
        check(text.startswith("The others wait for rank 1, which is outside MPI: in pause"), text)
        check("\n    1 of 1 request of rank 0 is not complete: a collective call of a communicator of ranks 0-1\n" in text, text)
        check("\n  rank 2 is in MPI_Win_fence of a window of ranks 1-2, called from wait_in_several" in text, text)
        check("\n  rank 3 is in MPI_Barrier of an intercommunicator of ranks 0-3, called from wait_in_several" in text, text)
        check([thread["requests"]["collective"] for thread in told["threads"] if "requests" in thread] == [1], told)
        with hanging(flavour, "two", ("MPI_Barrier", "MPI_Barrier")) as process:
            text = where("-p", str(process.pid))
        if machine.counts_breakpoints():
            check(text.startswith("Deadlock: these ranks wait for each other in collective calls of different communicators"), text)
            check("\n  rank 1 waits for rank 0: it is in MPI_Barrier of a communicator of ranks 0-3, called from" in text, text)


    mpich = flavour_named("mpich")
    build(mpich.c, ["communicators.c"], "hang", "-pthread", "-O2")
    with hanging(mpich, "jump", ("", "MPI_Barrier", "")) as process:
        text = where("-p", str(process.pid))
    check(text.startswith("The others wait for rank 1, which is"), text)  # MPI_COMM_WORLD was passed to the function that jumped
    check("\n  rank 0 is in MPI_Barrier of a communicator of ranks 0-1, called from wait_behind_a_jump" in text, text)


def apart():
    """Processes that MPI has not joined, as the launcher is of another library, do not wait for each other."""
    mpich, openmpi = flavour_named("mpich"), flavour_named("openmpi")
    build(mpich.c, ["communicators.c"], "hang", "-pthread")
    with hanging(openmpi, "alone", ("MPI_Recv", "")) as process:
        text = where("-p", str(process.pid))
        ranks = [thread for thread in json.loads(where("--json", "--once", "-p", str(process.pid)))["threads"]
                 if thread["rank"] is not None]
    check(text.startswith("MPI has not joined the ranks that the launcher started: its ranks 0-3 of 4 (OMPI_COMM_WORLD_RANK) are "
                          "each rank 0 of an MPI_COMM_WORLD of their own. "), text)
    check({thread["rank"] for thread in ranks} == {0} and len({thread["pid"] for thread in ranks}) == 4, ranks)
    steps = re.findall(r"\n  process (\d+) (is|waits for)", text)
    check("waits for itself" in text and "thers wait" not in text and all(verb == "is" for _, verb in steps), text)
    check(re.search(r"\n  process \d+ is outside MPI: in pause", text), text)


def messages():
    """Ranks that wait for each other's messages: partner, tag and communicator are those of the caller's code."""
    line = line_of("culprit of receive")
    call = "MPI_Recv(source 2, tag 77, count 1, MPI_COMM_WORLD), called from receive_what_nobody_sends"
    begin = ("Deadlock: these ranks wait for each other, and none came back from its call between the looks"
             if machine.counts_breakpoints() else
             "These ranks wait for each other, and nothing on their callers' stacks changed between the looks")
    for name, level in (("mpich", "-O0"), ("openmpi", "-O2")):
        flavour = flavour_named(name)
        build(flavour.c, ["hang.c"], "hang", "-fopenmp", level)
        with hanging(flavour, "receive", ("MPI_Barrier", "MPI_Recv")) as process:
            text = where("-p", str(process.pid))
            told = json.loads(where("--json", "--no-args", "-p", str(process.pid)))
        check(text.startswith(f"{begin}:\n"
                              f"  rank 1 waits for rank 2: it is in {call} (hang.c:{line})\n"
                              "  rank 2 waits for rank 1: it is in MPI_Barrier(MPI_COMM_WORLD), called from main"), level, text)
        check(told["verdict"] == "unknown", told)
    # the partner is computed, and only the library's own frames still have it; the message is large
    begin = begin.replace("Deadlock: these", "These")
    line = line_of("culprit of send")
    with hanging(flavour, "send", ("MPI_Send", "MPI_Barrier")) as process:
        text = where("-p", str(process.pid))
    steps = [f"  rank {a} waits for rank {b}: it is in MPI_Send(dest {b}, tag 5, count 4194304, MPI_COMM_WORLD), called from "
             f"send_both (hang.c:{line})\n" for a, b in ((0, 1), (1, 0))]
    check(text.startswith(f"{begin}:\n{''.join(steps)}That is a deadlock, unless "), text)


def requests(name):
    """Who waits for requests waits for the ranks of those that are not complete."""
    flavour, line = flavour_named(name), line_of("culprit of halo", "halo.c")
    build(flavour.c, ["halo.c"], "hang", "-pthread", "-O2")
    lacks = "1 of 4 requests of rank {} is not complete: receive from rank 1, tag {}\n"
    with hanging(flavour, "halo", ("MPI_Waitall", "")) as process:
        text = where("-p", str(process.pid))
        told = json.loads(where("--json", "--once", "-p", str(process.pid)))
    check(text.startswith("The others wait for rank 1, which is outside MPI: in pause"), text)
    check(f"  ranks 0,2-3 are in MPI_Waitall(count 4), called from exchange (halo.c:{line})\n" in text, text)
    check(lacks.format(0, 17) in text and lacks.format(2, 16) in text, text)
    check(told["verdict"] == "missing", told)
    waits = {thread["rank"]: thread["requests"] for thread in told["threads"] if "requests" in thread}
    wanted = {"count": 4, "pending": 1, "collective": 0, "messages": [{"what": "receive", "rank": 1, "peer": 1, "tag": 17, "world": True}]}
    check(waits[0] == wanted and sorted(waits) == [0, 2, 3], waits)
    build(flavour.fortran, ["halo.f90"], "hang")
    with hanging(flavour, "", ("MPI_Waitall", "")) as process:
        text = where("-p", str(process.pid))
    check(text.startswith("The others wait for rank 1, which is outside MPI: in sleep") and lacks.format(0, 23) in text and
          lacks.format(2, 13) in text, text)
    build(flavour.c, ["halo.c"], "hang", "-pthread", "-O2")
    if name == "mpich":  # from which its library jumps to another function
        with hanging(flavour, "any", ("MPI_Waitany", "")) as process:
            text = where("-p", str(process.pid))
        check("are in MPI_Waitany(count 4)" in text and lacks.format(2, 16) in text, text)
    with hanging(flavour, "tags", ("MPI_Waitall",)) as process:
        text = where("-p", str(process.pid))
    # of MPICH it is not known how large a message is
    who = "Deadlock: these ranks wait" if name == "openmpi" and machine.counts_breakpoints() else "These ranks wait"
    unmoved = ("none came back from its call" if machine.counts_breakpoints() else "nothing on their callers' stacks changed")
    begin = f"{who} for each other, and {unmoved} between the looks:\n"
    check(text.startswith(begin) and
          f"  rank 2 waits for rank 1: it is in MPI_Waitall(count 4), called from exchange (halo.c:{line})\n" in text and
          lacks.format(2, 16) in text, text)


@contextlib.contextmanager
def moving(flavour, how):
    """A job of two ranks that goes on, and the ids of its ranks."""
    build(flavour.c, ["moving.c"], "moving", "-O2")
    process = subprocess.Popen(job(flavour, "./moving", how, ranks=2), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                               env={**os.environ, **ENVIRONMENT}, start_new_session=True)
    ranks = {}
    try:
        lines = {process.stdout.readline() for _ in range(2)}
        check(lines == {"rank 0 is there\n", "rank 1 is there\n"}, lines)
        told = json.loads(where("--json", "--once", "-p", str(process.pid)))
        ranks = {thread["rank"]: thread["pid"] for thread in told["threads"] if thread["rank"] is not None}
        check(sorted(ranks) == [0, 1], told)
        yield process, ranks
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pid in ranks.values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def goes_on(name):
    """A loop of messages that leaves no mark on its stacks is no deadlock; a rank that is stopped by a signal is told."""
    going_on = ("runs", "busy", "runs" if machine.counts_breakpoints() else "cycle")  # busy: both were between their calls
    with moving(flavour_named(name), "halo") as (process, _):
        for _ in range(3):
            text = where("--interval", "0.2", "-p", str(process.pid))
            told = json.loads(where("--json", "--interval", "0.2", "-p", str(process.pid)))
            check("Deadlock" not in text and told["verdict"] in going_on, told, text)
    with moving(flavour_named(name), "pingpong") as (process, ranks):
        for _ in range(3):
            text = where("--interval", "0.2", "-p", str(process.pid))
            told = json.loads(where("--json", "--interval", "0.2", "-p", str(process.pid)))
            check("Deadlock" not in text and told["verdict"] in going_on, told, text)
        os.kill(ranks[1], signal.SIGSTOP)
        text = where("--interval", "0.1", "-p", str(process.pid))
        told = json.loads(where("--json", "--interval", "0.1", "-p", str(process.pid)))
        check(f"Rank 1 is stopped by a signal, and continues when it gets SIGCONT: kill -CONT {ranks[1]}\n" in text, text)
        check(told["verdict"] in ("suspended", "missing"), told)  # missing: it was stopped between two calls
        os.kill(ranks[1], signal.SIGCONT)
        told = json.loads(where("--json", "--interval", "0.2", "-p", str(process.pid)))
        check(told["verdict"] in going_on, told)


def moves(name):
    """A rank that runs at one place is not told to be there unmoved, one that polls neither as running nor as hung, and one in a callback of
    MPI not as outside of it."""
    lines, flavour = {}, flavour_named(name)
    with open(os.path.join(SOURCE, "moving.c")) as file:
        for n, text in enumerate(file, 1):
            lines.update({mark: n for mark in re.findall(r"/\* culprit of (\w+) \*/", text)})
    waits = "The others wait for rank 1, which is "
    for how, verdict, begin in (("naps", "moves", waits + f"outside MPI: in usleep, called from take_naps (moving.c:{lines['naps']}); that runs.\n"),
                                ("spins", "moves", waits + f"outside MPI: in spin (moving.c:{lines['spins']}); that runs.\n"),
                                ("polls", "polls", waits + f"polling: in MPI_Test, called from ask_in_vain (moving.c:{lines['polls']})")):
        with moving(flavour, how) as (process, _):
            for _ in range(40):  # until the other one waits, and rank 1 is looked at within its call
                text = where("--interval", "0.2", "-p", str(process.pid))
                if text.startswith(begin) or "polling with MPI_Test: in ask_in_vain" in text:
                    break
            check(re.match(re.escape(begin) + "|" + re.escape(waits) + "polling with MPI_Test: in ask_in_vain", text) and "same place" not in text, begin, text)
            for _ in range(3):
                told = json.loads(where("--json", "--interval", "0.2", "-p", str(process.pid)))
                check(told["verdict"] in (verdict, "moves"), how, told)  # it polls, and may be between two calls in both looks
    with moving(flavour, "reduces") as (process, _):
        wanted = f"in spin (moving.c:{lines['spins']}), in the callback add_for_ever of MPI_Allreduce"
        for _ in range(40):
            text = where("--interval", "0.2", "-p", str(process.pid))
            if wanted in text:
                break
        check(wanted in text and "outside MPI" not in text and "is in MPI.\n" not in text and "same place" not in text, text)
        told = json.loads(where("--json", "-p", str(process.pid)))
        check(told["verdict"] in ("busy", "moves", "outside") and "MPI_Allreduce" in {group["callback_of"] for group in told["groups"]}, told)


def undisturbed():
    """System calls that a tracer can interrupt go on as if nothing had been; a stopped program stays stopped."""
    process = subprocess.Popen([os.path.join(PROGRAMS, "waits"), "4"], stdout=subprocess.PIPE, text=True)
    check(process.stdout.readline() == "ready\n")
    begun = time.monotonic()
    while time.monotonic() < begun + 1:  # of the program's four seconds, however long a look takes here
        text = where("--once", "-p", str(process.pid))
        check("wait_by_epoll" in text and "sleep_for" in text, text)
    check(process.communicate()[0] == "disturbed 0\n" and process.returncode == 0, process.returncode)
    natively, looked_at = stopped(False), stopped(True)
    check(natively == looked_at, natively, looked_at)


def stopped(is_looked_at):
    """What a program says that was stopped for a while: some calls return EINTR when it continues, also natively."""
    process = subprocess.Popen([os.path.join(PROGRAMS, "waits"), "2"], stdout=subprocess.PIPE, text=True)
    check(process.stdout.readline() == "ready\n")
    time.sleep(0.5)  # both of its threads wait
    os.kill(process.pid, signal.SIGSTOP)
    while state_of(process.pid) != "T":
        time.sleep(0.01)
    if is_looked_at:
        where("--once", "-p", str(process.pid))
    check(state_of(process.pid) == "T", state_of(process.pid))
    os.kill(process.pid, signal.SIGCONT)
    return process.communicate()[0], process.returncode


def state_of(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0]


def refused():
    """Who cannot be looked at is named, with the reason; words that are no processes are refused."""
    traced = subprocess.Popen([TOLLGATE, "record", "-o", "run", "--", "sleep", "30"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    pid = None
    while pid is None:
        found = run(["pgrep", "-f", "-x", "sleep 30", "-g", str(os.getpgid(traced.pid))]).output.split()
        pid = found[0] if found and tracers(found[0]) != {"0"} else None
    told = run([TOLLGATE, "where", "-p", pid])
    check(told.status == 3 and "already traced by process" in told.errors, told)
    traced.terminate()
    traced.wait()
    for word, reason in (("0", "takes the id of a process"), ("x", "takes the id of a process"),
                         ("4194304", "no such process")):
        told = run([TOLLGATE, "where", "-p", word])
        check(told.status in (2, 3) and reason in told.errors, word, told)
    told = run([TOLLGATE, "where", "4194304"])
    check(told.status == 3 and "process 4194304 cannot be looked at: no such process" in told.errors, told)
    told = run([TOLLGATE, "where", "run.tgt"])
    check(told.status in (0, 2), told)
    refused_by_state()
    refused_by_rights()


def says(reason, *command, status=3):
    """COMMAND fails with one line, which has REASON; a sanitizer's search for leaks would need ptrace, too."""
    told = run(["env", "ASAN_OPTIONS=detect_leaks=0", *command])
    check(told.status == status and reason in told.errors and told.errors.count("\n") == 1 and not told.output, reason, command, told)


@contextlib.contextmanager
def sleeping(*before):
    """A process that sleeps, started by BEFORE."""
    process = subprocess.Popen([*before, "sleep", "60"], start_new_session=True, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def refused_by_state():
    """Threads, kernel threads, tollgate itself and what traces it: why, and what to do."""
    with awkward("leader") as process:
        thread = next(tid for tid in os.listdir(f"/proc/{process.pid}/task") if tid != str(process.pid))
        says(f"process {thread} cannot be looked at: it is a thread of process {process.pid} (awkward): give {process.pid}",
             TOLLGATE, "where", "-p", thread)
    with open("/proc/2/stat", encoding="ascii") as file:
        if "(kthreadd)" in file.read():
            says("process 2 cannot be looked at: it is a kernel thread, which no program can trace; root reads in /proc/2/stack",
                 TOLLGATE, "where", "-p", "2")
    says("it is tollgate itself: give the id of a launcher (mpirun), of a rank, or of another program", "sh", "-c", 'exec "$0" where -p $$', TOLLGATE)
    # who traces tollgate waits for it, and would be waited for
    command = 'exec "$0" -o events -- "$1" where --once --all -p $$ -p "$2"'
    with sleeping() as process:
        told = run(["env", "ASAN_OPTIONS=detect_leaks=0", "sh", "-c", command, os.environ["TG_ENGINE_DRIVER"], TOLLGATE, str(process.pid)])
        check(told.status == 0 and "was not looked at: it traces tollgate itself; run tollgate without it\n" in told.output, told)
    # one thread that somebody else has
    with awkward("smashed") as process:
        thread = max(os.listdir(f"/proc/{process.pid}/task"), key=int)
        if ctypes.CDLL(None).ptrace(PTRACE_SEIZE, int(thread), None, None) == 0:
            text = where("--once", "-p", str(process.pid))
            check(f"process {process.pid}: 1 of its 3 threads was not looked at: thread {thread}: already traced by process {os.getpid()} (python3" in text, text)
            process.kill()
            os.waitpid(int(thread), WALL)


def id_inside(pid):
    """The id that process PID has in its own namespace; None where that is this one."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as status:
        found = re.search(r"^NSpid:\t\d+\t.*?(\d+)$", status.read(), re.M)
        return int(found[1]) if found else None
    return None


def refused_by_rights():
    """What the kernel forbids, by the reason that one has to know to get it."""
    here = [TOLLGATE, "where", "-p"]
    without_ptrace = [sys.executable, "-c", WITHOUT_PTRACE]
    with sleeping() as process:
        says("ptrace is not permitted here (a container needs", *without_ptrace, *here, str(process.pid))
        as_root = os.geteuid() == 0
        if not as_root or subprocess.run(["unshare", "-m", "true"], check=False).returncode != 0:
            return
        nobody = ["setpriv", "--reuid", "65534", "--clear-groups"]
        says("it belongs to user 0; run tollgate as that user or as root", *nobody, *here, str(process.pid))
        for scope, is_root, reason in (
                (1, False, "is 1: only root may trace what it did not start; run tollgate as root, or write 0 there as root"),
                (2, False, "is 2: only root may trace; run tollgate as root"),
                (3, True, "is 3: nobody may trace until the machine is booted anew; start the job with `tollgate record --no-ptrace'"),
                (1, True, "ptrace is not permitted here (a container needs")):
            yama = f"mount -t tmpfs none /proc/sys/kernel && mkdir /proc/sys/kernel/yama && echo {scope} > /proc/sys/kernel/yama/ptrace_scope"
            user = [] if is_root else nobody
            own = "is 2: only root may trace, also what it started itself" if scope == 2 else reason if scope == 3 else "ptrace is not permitted here"
            says(own, "unshare", "-m", "sh", "-c", yama + ' && exec "$@"', "sh", *user, *without_ptrace, TOLLGATE, "record", "--no-rc", "-o", f"/dev/shm/{os.getpid()}.tgt", "true")
            with sleeping(*user) as other:
                says(reason, "unshare", "-m", "sh", "-c", yama + ' && exec "$@"', "sh", *user, *without_ptrace, *here, str(other.pid))
    with open("/proc/sys/kernel/pid_max", encoding="ascii") as file:
        inside = int(file.read()) - 7
    set_next = f"echo {inside - 1} > /proc/sys/kernel/ns_last_pid; sleep 60; :"
    with sleeping("unshare", "-p", "-f", "--kill-child", "sh", "-c", set_next):
        outside = None
        while outside is None:
            outside = next((pid for pid in os.listdir("/proc") if pid.isdigit() and id_inside(pid) == inside), None)
        says(f"no such process; process {outside} (sleep) has that id inside its container: give {outside}", *here, str(inside))
    with sleeping(*nobody) as process: # tollgate is in one that gives it no rights
        says("it is in another user namespace (a container)", *nobody, "unshare", "-U", *here, str(process.pid))
    with sleeping(*nobody, "unshare", "-U") as process:
        while os.readlink(f"/proc/{process.pid}/ns/user") == os.readlink("/proc/self/ns/user"):
            time.sleep(0.01)
        says("it is in another user namespace (a container); run tollgate in there, or as root outside",
             "setpriv", "--bounding-set", "-sys_ptrace", "--inh-caps", "-sys_ptrace", *here, str(process.pid))


# runs a command under a filter of system calls that refuses ptrace (101), as a container does
WITHOUT_PTRACE = """
import ctypes, os, struct, sys
libc = ctypes.CDLL(None)
filter = b"".join(struct.pack("HBBI", *word) for word in
                  ((0x20, 0, 0, 0), (0x15, 0, 1, 101), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7fff0000)))
code = ctypes.create_string_buffer(filter)
program = struct.pack("HxxxxxxP", 4, ctypes.addressof(code))
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0
os.execvp(sys.argv[1], sys.argv[1:])
"""


# what is said of each way; N is the process, and the second thread M
OWNERS = {
    "crosswise": "Deadlock in owners \\(process N\\):\n  thread N waits for a mutex that thread M holds; it is in pthread_mutex_lock, "
                 "called from lock_both \\(owners.c:AT\\)\n  thread M waits for a mutex that thread N holds; it is in",
    "robust": "Deadlock in owners \\(process N\\):\n  thread N waits for a mutex that thread M holds",
    "inherits": "thread N waits for a mutex that thread M holds|thread M waits for a mutex that thread N holds",
    "held": "In owners \\(process N\\), thread N waits for a mutex that thread M holds, which is in pause, called from "
            "sleep_with_lock \\(owners.c:AT\\).\n",
    "ended": "In owners \\(process N\\), thread N waits for a mutex that thread M held when it ended.\n",
    "stream": "thread N waits for the lock of a stream that thread M holds, which is in pause, called from print_for_ever "
              "\\(owners.c:AT\\).\n",
    "join": "Deadlock in owners \\(process N\\):\n  thread N waits for a mutex that it holds itself; it is in .*\n"
            "In owners \\(process N\\), thread M waits for the end of thread N, ",
    "processes": "In owners \\(process N\\), thread N waits for a mutex that thread (M) of owners \\(process \\1\\) holds, which is in pause, "
                 "called from pause_with_shared \\(owners.c:AT\\).\n",
    "crossed": "Deadlock between processes:\n  thread N of owners \\(process N\\) waits for a mutex that thread (M) of owners \\(process \\1\\) "
               "holds; it is in .*called from lock_shared \\(owners.c:AT\\)\n  thread \\1 of owners \\(process \\1\\) waits for a mutex that thread N ",
    "copied": "main \\(owners.c:\\d+\\)\n    pthread_mutex_lock\n",
    "shelves": "Deadlock in owners \\(process N\\):\n  thread N waits for a read-write lock that thread M holds; it is in .*rwlock.*called from "
               "write_both \\(owners.c:AT\\)\n  thread M waits for a read-write lock that thread N holds",
    "readers": "main \\(owners.c:\\d+\\)\n    .*rwlock",
    "condition": "In owners \\(process N\\), thread N and 1 more wait at the same futex, in .*cond_wait.*, called from wait_for_signal "
                 "\\(owners.c:AT\\); who wakes them is not known",
    "meeting": "thread N and 1 more wait at the same futex, in .*barrier_wait.*, called from meet \\(owners.c:AT\\)",
    "socket": "thread N waits for data from the socket of owners \\(process M\\).\n",
    "network": "thread N waits for data from the socket of owners \\(process M\\).\n",
    "polled": "thread N waits for data from the socket of owners \\(process M\\).\n",
    "pipe": "thread N waits for data from the pipe of owners \\(process M\\).\n",
}


def owners():
    """Whoever has what a thread waits for is named, and threads that wait for each other as a deadlock."""
    program = build("gcc", ["owners.c"], "owners", "-pthread")
    for way, said in OWNERS.items():
        process = subprocess.Popen([program, way], stdout=subprocess.PIPE, text=True, start_new_session=True)
        try:
            check(process.stdout.readline() == "ready\n")
            with open(os.path.join(SOURCE, "owners.c")) as file:
                lines = [n for n, text in enumerate(file, 1) if f"/* culprit of {way} */" in text]
            pattern = said.replace("AT", str((lines or [0])[0])).replace("N", str(process.pid)).replace("M", r"\d+")
            for _ in range(40): # until all of them wait
                text = where("--once", "-p", str(process.pid))
                if re.search(pattern, text):
                    break
                time.sleep(0.2)
            check(re.search(pattern, text), way, pattern, text)
            told = json.loads(where("--once", "--json", "-p", str(process.pid)))
            check(told["verdict"] == ("deadlock" if "Deadlock" in said else "unknown"), way, told)
            check(way not in ("copied", "readers") or ("holds" not in text and "held" not in text), text)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    in_child(program)


def in_child(program):
    """Of a mutex that a process had before it went on in its child, nobody is said to have ended with it."""
    process = subprocess.Popen([program, "goes_on"], stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        check(process.stdout.readline() == "ready\n")
        process.wait()  # its id is nobody's from now on
        child, = run(["pgrep", "-g", str(process.pid)]).output.split()
        for _ in range(40):  # until the thread waits
            text = where("--once", "-p", child)
            if "pthread_mutex_lock" in text:
                break
            time.sleep(0.2)
        check("pthread_mutex_lock" in text and "held" not in text and "holds" not in text, text)
    finally:
        os.killpg(process.pid, signal.SIGKILL)


# the same of locks of OpenMP, which a task has in libgomp, and a thread in LLVM's runtime: there "task" is another thread's all the same
NEST_LOCKS = {
    "crosswise": "Deadlock in nest_locks\\S* \\(process N\\):\n  thread N waits for a nest lock that thread (M) holds; it is in omp_set_nest_lock, "
                 "called from lock_both \\(nest_locks.c:AT\\).*\n  thread \\1 waits for a nest lock that thread N holds; it is in omp_set_nest_lock",
    "held": "In nest_locks\\S* \\(process N\\), thread N waits for a nest lock that thread M holds, which is in pause, called from "
            "sleep_with_lock \\(nest_locks.c:AT\\)",
    "task": "\n *omp_set_nest_lock\n",
    "plain": "Deadlock in nest_locks\\S* \\(process N\\):\n  thread N waits for a lock that thread (M) holds; it is in omp_set_lock, "
             "called from lock_plain \\(nest_locks.c:AT\\).*\n  thread \\1 waits for a lock that thread N holds; it is in omp_set_lock",
    "critical": "In nest_locks\\S* \\(process N\\), thread N waits for a critical section that thread M holds, which is in pause, called from "
                "sleep_in_critical \\(nest_locks.c:AT\\)",
    "apart": "In nest_locks\\S* \\(process N\\), thread N waits for a critical section that thread M holds, which is in pause, called from "
             "keep_apart \\(nest_locks.c:AT\\)",
}
# the runtime, its kind of lock, and where its locks have owners
LOCK_KINDS = (("gcc", "", "crosswise held task critical apart"), ("clang", "queuing", "crosswise held critical apart"), ("clang", "tas", "crosswise plain critical"),
              ("clang", "futex", "crosswise plain critical"), ("clang", "drdpa", "crosswise"), ("clang", "ticket", "held"))


def nest_locks():
    """The owner of a lock of OpenMP is named, where the runtime keeps it: in libgomp, where it runs the task that locked it."""
    with open(os.path.join(SOURCE, "nest_locks.c"), encoding="utf-8") as file:
        text_lines = list(enumerate(file, 1))
    programs = {compiler: build(compiler, ["nest_locks.c"], "nest_locks." + compiler, "-fopenmp")
                for compiler in ("gcc", "clang") if shutil.which(compiler)}
    for compiler, kind, ways in LOCK_KINDS:
        for way in ways.split() if compiler in programs else []:
            process = subprocess.Popen([programs[compiler], way], stdout=subprocess.PIPE, text=True, env={**os.environ, "KMP_LOCK_KIND": kind or "tas"})
            try:
                check(process.stdout.readline() == "ready\n")
                lines = [n for n, text in text_lines if f"culprit of {way} " in text]
                pattern = NEST_LOCKS[way].replace("AT", str((lines or [0])[0])).replace("N", str(process.pid)).replace("M", r"\d+")
                for _ in range(40): # until all of them wait
                    text = where("--once", "-p", str(process.pid))
                    if re.search(pattern, text):
                        break
                    time.sleep(0.2)
                if kind == "futex" and "is not known" in text: # the code of this kind is another one in libomp 19
                    continue
                check(re.search(pattern, text) and (way != "task" or "holds" not in text), compiler, kind, way, pattern, text)
                # what clang makes a function of its own of goes by the function that the user wrote
                check(compiler == "gcc" or (".omp" not in text and "main (nest_locks.c:" in text), text)
            finally:
                process.kill()
                process.wait()
    if "gcc" in programs:
        functions_of_libgomp(programs["gcc"], text_lines)


def functions_of_libgomp(program, text_lines):
    """Functions of libgomp that jump to others of it, which have no names and return in their place, are named by the calls."""
    for way, pattern in (("plain", r"In nest_locks\.gcc \(process \d+\), (thread \d+ is in omp_set_lock, called from lock_plain \(nest_locks\.c:AT\)(; |\. )){2}"
                                   r"Who has these locks is not known: the OpenMP runtime keeps no owner"),):
        lines = [n for n, text in text_lines if f"culprit of {way} " in text]
        with ready(program, way) as process:
            for _ in range(40): # until all of them wait
                text = where("--once", "-p", str(process.pid))
                if re.search(pattern.replace("AT", str(lines[0])), text):
                    break
                time.sleep(0.2)
            check(re.search(pattern.replace("AT", str(lines[0])), text), way, text)


@contextlib.contextmanager
def ready(*command):
    """A process that runs COMMAND, and has said that it is ready."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        check(process.stdout.readline() == "ready\n")
        yield process
    finally:
        process.kill()
        process.wait()


def await_sleep(process):
    """It may still be in the call by which it says that it is ready."""
    while True:
        with open(f"/proc/{process.pid}/stat", encoding="ascii") as file:
            if file.read().rpartition(")")[2].split()[0] == "S":
                return
        time.sleep(0.01)


def awkward(*how):
    return ready(os.path.join(PROGRAMS, "awkward"), *how)


def prepared():
    """What stacks need of files, and the libraries that read them, is opened before the process is stopped."""
    if shutil.which("strace") is None:
        skip("strace is not installed")
    with sleeping() as process:
        told = run(["env", "ASAN_OPTIONS=detect_leaks=0", "strace", "-o", "calls", "-e", "trace=ptrace,openat,pread64", TOLLGATE, "where", "--once", "-p",
                    str(process.pid)])
        check(told.status == 0, told)
    with open("calls", encoding="utf-8") as file:
        calls = file.read()
    halted = calls[calls.index("PTRACE_INTERRUPT"):calls.rindex("PTRACE_DETACH")]
    check(not re.search(r"^openat\(.*\.so|^pread64", halted, re.M), halted)
    prepared_together()


def prepared_together():
    """Where processors are scarce and processes stop together, all of that is read before the first of them is stopped."""
    busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(2 * os.cpu_count() + 2)]
    try:
        told = run(["env", "ASAN_OPTIONS=detect_leaks=0", "strace", "-o", "calls", "-e", "trace=ptrace,openat,pread64", TOLLGATE, "where", "--once",
                    *(f"-p{process.pid}" for process in busy)])
        check(told.status == 0, told)
    finally:
        for process in busy:
            process.kill()
            process.wait()
    with open("calls", encoding="utf-8") as file:
        calls = file.read()
    starts = [calls.rindex(f"PTRACE_INTERRUPT, {process.pid}") for process in busy]
    halted = calls[min(starts):calls.rindex("PTRACE_DETACH")]
    check(halted.count("PTRACE_DETACH") == len(busy) - 1 and not re.search(r"^openat\(.*(\.so|/maps)|^pread64", halted, re.M), halted)


def spins():
    """Who waits for a lock by running, with a library's function that comes back each time, is not at work."""
    if shutil.which("clang") is None:
        skip("clang is not installed")
    program = build("clang", ["spinning_lock.c"], "spinning", "-fopenmp")
    with ready("env", "OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE=1", program) as process:
        time.sleep(0.6)  # until the first thread waits
        for _ in range(5):
            text = where("-p", str(process.pid))
            check(re.search("rank 0 is outside MPI: in (omp_set_lock|kmpc_critical), called from main .spinning_lock.c:2[0-9].", text), text)
            check("moves" not in text and "at the same place in both looks" in text, text)


def imports():
    """A program that hangs in a module, which others import: all of them are on its stack, six calls of the interpreter each."""
    for n in range(20):
        with open(f"module_{n}.py", "w") as file:
            file.write(f"import module_{n + 1}\n")
    with open("module_20.py", "w") as file:
        file.write("import time\nprint('ready', flush=True)\ntime.sleep(60)\n")
    with ready("/usr/bin/python3", "-c", "import module_0") as process:
        await_sleep(process)
        text = where("--once", "-p", str(process.pid))
        names = ["<string>:1", *(f"module_{n}.py:1" for n in range(20)), "module_20.py:3"]
        check(re.findall(r"<module> \((.*)\)", text) == names, text)


@contextlib.contextmanager
def interpreting(name, lines):
    """A Python program, of LINES that end with a wait, whose interpreter's file is called NAME."""
    with open("program.py", "w", encoding="utf-8") as file:
        file.write("import time\n" + lines.replace("wait()", "print('ready', flush=True); time.sleep(60)"))
    shutil.copy(os.path.realpath("/usr/bin/python3"), name)
    with ready(f"./{name}", "program.py") as process:
        await_sleep(process)
        yield process


def python():
    """Where functions of Python are unknown, or more than are read, that is said; the interpreter may have any name."""
    release = os.path.basename(os.path.realpath("/usr/bin/python3"))
    if not re.fullmatch(r"python3\.(9|1[0-3])", release):
        skip(f"{release} is not one of those that are understood")
    in_turn = "def a(n):\n if n == 0: wait()\n b(n - 1)\ndef b(n):\n a(n)\ndef outermost():\n a(450)\noutermost()\n"
    with interpreting(release, "import sys; sys.setrecursionlimit(2000)\n" + in_turn) as process:
        told = json.loads(where("--once", "--json", "--threads", "-p", str(process.pid)))["threads"][0]
        check(told["path"][0] == "..." and told["end"] == "cut" and len(told["path"]) > 400, told["path"][:3], told["end"])
    name = "f" * 300
    with interpreting(release, f"def {name}():\n wait()\n{name}()\n") as process:
        text = where("--once", "-p", str(process.pid))
        check(re.search(r"^  f{100,}\.\.\. \(program\.py:3\)$", text, re.M), text)
    with interpreting("python", "import _ctypes\nwait()\n") as process:
        text = where("--once", "-p", str(process.pid))
        check(text.endswith("\npython (process %d)\n  <module> (program.py:3)\n  clock_nanosleep\n" % process.pid), text)
    with interpreting("python3.99", "import threading\nthreading.Thread(target=time.sleep, args=[60]).start()\nwait()\n") as process:
        text = where("--once", "-p", str(process.pid))
        said = f"process {process.pid}: its Python functions are unknown: python3.99 is not known to be a release from 3.9 to 3.13\n"
        check(said in text and text.count("_PyEval_EvalFrameDefault") >= 2 and "helper thread" not in text, text)


def bounded():
    """Processes that are hard to look at, or change meanwhile: answers are printable, and nothing is harmed."""
    with awkward("names") as process:
        text = where("--once", "--threads", "-p", str(process.pid))
        check("\033" not in text and "rename_and_wait (awkward.c:" in text, text)
        json.loads(where("--once", "--json", "-p", str(process.pid)))
    with awkward("leader") as process:
        text = where("--once", "-p", str(process.pid))
        check("wait_alone (awkward.c:" in text, text)
    with awkward("deep") as process:
        text = where("--once", "-p", str(process.pid))
        told = json.loads(where("--once", "--json", "--threads", "-p", str(process.pid)))["threads"][0]
        check("go_deep (awkward.c:" in text and len(told["frames"]) == 512 and told["end"], text, told)
    with awkward("crowd", "600") as process:
        for _ in range(60): # until all of them wait
            told = json.loads(where("--once", "--json", "-p", str(process.pid)))
            steps = collections.Counter(step.split(" ")[0] for thread in told["threads"] for step in thread["path"])
            if steps["wait_in_crowd"] == steps["pause_in_crowd"] == steps["join_in_crowd"] == 200:
                break
        joined = [thread for thread in told["threads"] if thread.get("waits_for", {}).get("what") == "thread"]
        check(len(told["threads"]) == 601 and steps["main"] == 1 and len(joined) == 200, steps, len(joined))
        check(tracers(process.pid) == {"0"})
    with awkward("smashed") as process:
        told = json.loads(where("--once", "--json", "--threads", "-p", str(process.pid)))
        check(len(told["threads"]) == 3 and all(len(thread["frames"]) <= 512 for thread in told["threads"]), told)
    with awkward("made") as process:
        text = where("--once", "-p", str(process.pid))
        check(re.search(r"main \(awkward\.c:\d+\)\n  run_made_code \(awkward\.c:\d+\)\n", text), text)
    with awkward("bare") as process:
        await_sleep(process)
        text = where("--once", "-p", str(process.pid))
        check(re.search(r"main \(awkward\.c:\d+\)\n  run_bare \(awkward\.c:\d+\)\n  wait_bare", text), text)
    with awkward("vfork") as process:
        text = where("--once", "--all", "-p", str(process.pid))
        check(f"process {process.pid}: 1 of its 1 threads was not looked at: 1 could not be stopped (in the kernel: a vfork, a file system)" in text, text)
        child = re.search(r"process (?!%d)(\d+)" % process.pid, text)
        os.kill(int(child[1]), signal.SIGKILL)
    starved()
    zombie = subprocess.Popen(["true"])
    os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
    told = run([TOLLGATE, "where", "-p", str(zombie.pid)])
    check(told.status == 3 and "it has already ended" in told.errors, told)
    zombie.wait()
    storm = subprocess.Popen([os.path.join(PROGRAMS, "awkward"), "storm", "60"])
    looks = 0
    while storm.poll() is None: # threads that are killed by an exec while they are looked at
        told = run([TOLLGATE, "where", "--once", "-p", str(storm.pid)])
        check(told.status in (0, 3), told)
        looks += 1
    check(storm.returncode == 7 and looks > 0, storm.returncode, looks)


def starved():
    """A thread that gets no processor is missing in every look, and each of them says so, and why."""
    process = subprocess.Popen([os.path.join(PROGRAMS, "awkward"), "starved"], stdout=subprocess.PIPE, text=True)
    if process.stdout.readline() == "ready\n": # else the kernel does not give processors by time here, or not to us
        text = where("--interval", "0.1", "-p", str(process.pid))
        check(f"process {process.pid}: 1 of its 2 threads was not looked at: 1 could not be stopped (waits for a processor)" in text, text)
    process.kill()
    process.wait()


def at_once():
    """Processes that take long to stop are waited for together: twenty that cannot be stopped, for half a second each."""
    with contextlib.ExitStack() as stack:
        parents = [stack.enter_context(awkward("vfork")).pid for _ in range(20)]
        children = run(["pgrep", "-P", ",".join(map(str, parents))]).output.split()
        start = time.monotonic()
        text = where("--once", "--all", *(f"-p{pid}" for pid in parents))
        took = time.monotonic() - start
        for child in children:
            os.kill(int(child), signal.SIGKILL)
        check(text.count("1 of its 1 threads was not looked at: 1 could not be stopped") == 20 and took < 7, took, text)


def killed():
    """Whenever tollgate is killed in the middle of a look, the process goes on, untraced and not stopped."""
    process = subprocess.Popen([os.path.join(PROGRAMS, "waits"), "60"], stdout=subprocess.PIPE, text=True)
    check(process.stdout.readline() == "ready\n")
    for n in range(30):
        look = subprocess.Popen([TOLLGATE, "where", "--interval", "0.02", "-p", str(process.pid)], stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)
        time.sleep(n * 0.004)
        look.kill()
        look.wait()
    check(tracers(process.pid) == {"0"})
    for tid in os.listdir(f"/proc/{process.pid}/task"):
        with open(f"/proc/{process.pid}/task/{tid}/stat") as stat:
            check(stat.read().rsplit(")", 1)[1].split()[0] in "RS")
    process.kill()
    process.wait()


def make_core(name, how, signal_sent=None, environment=None):
    """The core file NAME of the program cores, by the kernel where it writes such files here, else by gdb."""
    os.mkdir(name)
    to_file = not open("/proc/sys/kernel/core_pattern").read().startswith(("|", "/"))
    process = subprocess.Popen([os.path.abspath("cores"), how], cwd=name, stdout=subprocess.PIPE, text=True,
                               env={**os.environ, **(environment or {})},
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2))
    check(process.stdout.readline() == "ready\n" or not to_file)
    if signal_sent is not None:
        for _ in range(100): # until both wait
            if "\nDeadlock in" in where("--once", "-p", str(process.pid)):
                break
            time.sleep(0.1)
        else:
            raise SystemExit("the threads do not wait for each other")
        process.send_signal(signal_sent)
    process.wait()
    files = glob.glob(f"{name}/core*")
    if not files:
        skip("the kernel writes no core files into working directories here (/proc/sys/kernel/core_pattern)")
    os.rename(files[0], f"core.{name}")
    return f"core.{name}"


def cores():
    """Core files of a job: who crashed and at which line, who held which mutex; what is missing is said, and nothing is made up."""
    with open(os.path.join(SOURCE, "cores.c")) as file:
        lines = {mark: n for n, text in enumerate(file, 1) for mark in re.findall(r"/\* culprit of (\w+) \*/", text)}
    build("gcc", ["cores.c"], "cores", "-pthread")
    crashed = make_core("crashed", "crash", environment={"PMI_RANK": "1", "PMI_SIZE": "3"})
    hung = make_core("hung", "mutex", signal.SIGABRT, environment={"PMI_RANK": "0", "PMI_SIZE": "3"})
    text = where(crashed, hung)
    check(text.startswith(f"SIGSEGV ended 1 thread of rank 1: in write_to (cores.c:{lines['crash']}).\n"
                          "SIGABRT from elsewhere ended rank 0.\n"), text)
    check("2 ranks of 3, 2 processes, 4 threads\n" in text, text)
    check(re.search("Deadlock in rank 0:\n  thread (\\d+) waits for a mutex that thread (\\d+) holds; it is in pthread_mutex_lock, called from "
                    f"lock_both .cores.c:{lines['mutex']}.\n  thread \\2 waits for a mutex that thread \\1 holds", text), text)
    told = json.loads(where("--json", hung))
    check(told["verdict"] == "deadlock" and json.loads(where("--json", crashed))["verdict"] == "crashed", told)
    with open(hung, "rb") as whole, open("core.cut", "wb") as cut:
        cut.write(whole.read()[:200000])
    with open("core.empty", "wb"):
        pass
    text = where(hung, "core.cut", "core.empty")
    check("Deadlock in" in text and "core.cut is truncated: 200000 bytes are there" in text and "core.empty is not a core file\n" in text, text)
    os.rename("cores", "moved")
    text = where(crashed)
    check("cores was not found: its calls have no names; expected build-id " in text and "in cores+0x" in text, text)
    build("gcc", ["cores.c"], "cores", "-pthread", "-O2")
    text = where(crashed)
    check("cores is not the file that ran" in text and "cores.c" not in text, text)
    none = run([TOLLGATE, "where", "core.empty"])
    check(none.status == 2, none)
    with awkward("names") as process:
        if shutil.which("gcore") is not None and run(["gcore", "-o", "core.living", str(process.pid)]).status == 0:
            text = where(f"core.living.{process.pid}")
            check("ended" not in text and "rename_and_wait (awkward.c:" in text, text)
    size = os.path.getsize(hung)
    told = run([TOLLGATE, "where", "--force", "--dot", hung, hung])
    check(told.status == 2 and "is the input itself; choose another name for the output" in told.errors and os.path.getsize(hung) == size, told)
    told = run([TOLLGATE, "where", "--repeat", "3", hung])
    check(told.status == 2 and "--interval and --repeat are for processes that run" in told.errors, told)


def repeated():
    """What moves between any two looks runs; tree and page are written to files, which are not overwritten unasked."""
    process = subprocess.Popen(["/bin/bash", "-c", "while :; do :; done"])
    try:
        for words, reason in ((("--json", "--dot", "-"), "only one of --json, --dot - and --html - can go to standard output"),
                              (("--dot", "a", "--html", "a"), "--dot and --html need a file each")):
            told = run([TOLLGATE, "where", "-p", str(process.pid), *words])
            check(told.status == 2 and reason in told.errors and not told.output, told)
        command = ("--repeat", "4", "--interval", "50ms", "--html", "page.html", "-p", str(process.pid))
        told = json.loads(where("--json", "--dot", "tree.dot", *command))
        check([thread["moves"] for thread in told["threads"]] == [True], told)
        with open("page.html") as page, open("tree.dot") as tree:
            check(page.read().startswith("<!DOCTYPE html>") and tree.read().startswith("digraph"))
        again = run([TOLLGATE, "where", *command])
        check(again.status == 2 and "page.html" in again.errors, again)
        # no process is looked at for an answer that cannot be written
        told = run([TOLLGATE, "where", "--once", "--html", "page.html", "-p", str(1 << 22)])
        check(told.status == 2 and "page.html" in told.errors, told)
        where("--force", *command)
    finally:
        process.kill()
        process.wait()


def live_answers(pid, script, trace):
    """What a live session that attaches to PID answers to SCRIPT; it must end by itself."""
    lines = "\n".join([*script, "detach", "quit", ""])
    told = run([TOLLGATE, "live", "--force", "-o", trace, "-p", str(pid)], standard_input=lines.encode())
    check(told.status == 0 and "the job continues" in told.output, script, told)
    return told.output


TEAM = """#include <stdio.h>
#include <unistd.h>
int main(void)
{
#pragma omp parallel num_threads(2)
    for (;;) {
#pragma omp barrier
#pragma omp master
        puts("ready"), fflush(stdout), sleep(1);
    }
}
"""


def attached_team():
    """The teams of an attached process are unknown: it is not said that none is at a barrier."""
    with open("team.c", "w") as file:
        file.write(TEAM)
    process = subprocess.Popen([build("gcc", [os.path.abspath("team.c")], "team", "-fopenmp")], stdout=subprocess.PIPE, text=True)
    try:
        check(process.stdout.readline() == "ready\n")
        text = live_answers(process.pid, ["info barrier"], "team.tgt")
        check("unknown: attached at " in text and "no team is at a barrier" not in text, text)
    finally:
        process.kill()
        process.wait()


def attached():
    """Attaching takes a look at the stacks: models begin with it, and what it cannot give is said to be unknown."""
    attached_team()
    flavour = flavour_named("openmpi")
    build(flavour.c, ["hang.c"], "hang", "-fopenmp")
    with hanging(flavour, "barrier") as process:
        text = live_answers(process.pid, ["info mpi", "info workers", "dfocus gSr0 dstatus", "where", "dhalt", "dwhere -all -merge", "dgo"],
                            "hung.tgt")
        # the look of `where` and stops that are asked for right behind it: the job stood still for ever, and could not be detached
        for _ in range(5):
            live_answers(process.pid, ["where", "dhalt", "dgo"], "more.tgt")
        told = json.loads(where("--json", "--once", "-p", str(process.pid)))
        ranks = {thread["pid"] for thread in told["threads"] if thread["rank"] is not None}
        check(len(ranks) == 4 and all(tracers(pid) == {"0"} for pid in ranks), told)
    call, outside = "MPI_Barrier(MPI_COMM_WORLD), called from main (hang.c:", "outside MPI: in pause, called from wait_for_ever (hang.c:"
    check(f"  ranks 0,2-3: in {call}" in text and f"  rank 1: {outside}" in text, text)
    check(re.search(r"^unknown: attached at \d+\.\d+ s; calls, messages and collectives before that were not recorded", text, re.M), text)
    check("the others wait for rank 1, which is " + outside in text and "What was called before is unknown: attached at " in text, text)
    check(re.search(r"share group \d+: 4:\d+\[0-3\.", text), text)  # all ranks are of one
    check(re.search(r"main hang.c#\d+: 3:3\[0,2-3\.1\]\n +(P?)MPI_Barrier", text), text)
    for command in (["report"], ["replay", "-e", "goto end", "-e", "where"]):
        told = run([TOLLGATE, *command, "hung.tgt"])
        check(told.status == 0 and "the others wait for rank 1, which is " + outside in " ".join(told.output.split()), told)
    told = run([TOLLGATE, "sequence", "--format", "mermaid", "-o", "-", "hung.tgt"])
    check(told.status == 0 and "unknown: attached at " in told.errors and told.output.count("is in MPI_Barrier") == 3, told)
    told = json.loads(run([TOLLGATE, "where", "--json", "hung.tgt"]).output)
    check(told["verdict"] == "missing" and [group["ranks"] for group in told["groups"]] == [[0, 2, 3], [1]], told)


def code_of(pid):
    """A sum of the code that a process has mapped."""
    sums = hashlib.sha256()
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb") as memory:
        for line in maps:
            place, access, *_ = line.split()
            if "x" in access and not line.rstrip().endswith("[vsyscall]"):
                start, end = (int(word, 16) for word in place.split("-"))
                memory.seek(start)
                sums.update(memory.read(end - start))
    return sums.digest()


def switches(pid):
    """How often a process has waited."""
    with open(f"/proc/{pid}/status") as status:
        return int(re.search(r"^voluntary_ctxt_switches:\t(\d+)", status.read(), re.M)[1])


def late(name):
    """--late: calls of MPI are seen from the attach on, and nothing of it is left behind."""
    with moving(flavour_named(name), "rounds") as (_, ranks):
        before = {rank: code_of(pid) for rank, pid in ranks.items()}
        pids = [word for pid in ranks.values() for word in ("-p", str(pid))]
        recorder = subprocess.Popen([TOLLGATE, "record", "--late", "--force", "-o", "late.tgt", *pids],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while recorder.poll() is None and any(tracers(pid) == {"0"} for pid in ranks.values()):
            time.sleep(0.05)
        turns = switches(ranks[1])
        while recorder.poll() is None and switches(ranks[1]) < turns + 200: # each round is a sleep and four stops
            time.sleep(0.05)
        recorder.send_signal(signal.SIGINT)
        recorder.wait()
        dump = run([TOLLGATE, "dump", "--json", "late.tgt"])
        enters = [event for event in map(json.loads, dump.output.splitlines()) if event["kind"] == "mpi_enter"]
        check(all(tracers(pid) == {"0"} and code_of(pid) == before[rank] for rank, pid in ranks.items()))
        for pid in ranks.values():
            calls = [event["call"] for event in enters if event["pid"] == pid]
            check(len(calls) >= 6 and all({a, b} == {"MPI_Barrier", "MPI_Allreduce"} for a, b in zip(calls, calls[1:])), calls)
        check(all(event["comm"] == "0x1" for event in enters), enters)
        told = run([TOLLGATE, "replay", "-e", "goto end", "-e", "info mpi", "late.tgt"])
        check(re.search(r"MPI_(Barrier|Allreduce) in go_round \(moving\.c:\d+\)", told.output), told)
        told = json.loads(run([TOLLGATE, "report", "--json", "late.tgt"]).output)
        kinds = {finding["kind"] for finding in told["post_mortem"]}
        check(not kinds & {"deadlock", "mismatch", "receive", "send"}, told["post_mortem"])


def hangs_under(slurm):
    """A job of MPI that Slurm started: culprit and line are right."""
    flavour = flavour_named("mpich")
    build(flavour.c, ["hang.c"], "hang", "-fopenmp")
    step = subprocess.Popen(slurm.srun("--mpi=pmi2", "-n", "3", "./hang", "barrier"), stdout=subprocess.PIPE, text=True,
                            env={**os.environ, **ENVIRONMENT, **slurm.environment})
    try:
        while "rank 1 is there" not in (line := step.stdout.readline()):
            check(line, "no MPI job of Slurm")
        for _ in range(60): # until the others are
            text = where("--once", "-p", str(step.pid))
            if "ranks 0,2 are in MPI_Barrier" in text:
                break
            time.sleep(0.5)
        check(text.startswith("The others wait for rank 1, which is outside MPI: in pause") and
              f"wait_in_vain (hang.c:{line_of('culprit of barrier')})" in text, text)
    finally:
        step.terminate()
        step.wait()


def slurm():
    """The ranks of one step of Slurm, among several."""
    try:
        with Slurm() as slurm:
            steps = [subprocess.Popen(slurm.srun("-n", str(n), "sleep", "300"), env={**os.environ, **slurm.environment})
                     for n in (2, 3)]
            for _ in range(50):
                told = [run([TOLLGATE, "where", "--once", "--json", "--all", "--slurm-step", f"1.{n}"]) for n in (1, 2, 0)]
                told += [run([TOLLGATE, "where", "--once", "--json", "--all", "--slurm-step", f"{n}.0"]) for n in (2, 3)]
                sizes = sorted(json.loads(one.output)["ranks"] for one in told if one.status == 0)
                if sizes == [2, 3]:
                    break
                time.sleep(0.1)
            check(sizes == [2, 3], told)
            # ranks are no descendants of srun: its table has them
            told = [json.loads(where("--once", "--json", "-p", str(step.pid))) for step in steps]
            check([one["ranks"] for one in told] == [2, 3], told)
            hangs_under(slurm)
            none = run([TOLLGATE, "where", "--slurm-step", "77.0"])
            check(none.status == 2 and re.search(r"no rank of step 77\.0 that you may look at runs here; ranks of \d\.\d, \d\.\d do\n", none.errors), none)
            none = run([TOLLGATE, "where", "--slurm-step", "77"])
            check(none.status == 2 and "takes a job and its step, like 4711.0, not '77'" in none.errors, none)
            for step in steps:
                step.terminate()
                step.wait()
    except NoSlurm as reason:
        skip(str(reason))


def random_words(random, pid, files):
    """A command line of the options in any order, some without their value, or with one that is not theirs."""
    values = ["", "0", "1", "2", "-1", "x", "99999999999999999999", "1ms", "0.001", "nan", "--", "-", "=", "\033[31m", str(pid), *files]
    own = {"--pid": [str(pid)] * 4, "-p": [str(pid)] * 4, "--slurm-step": ["77.0"], "--repeat": ["2", "3"], "--interval": ["1ms"],
           "--dot": ["tree.dot", "-"], "--html": ["page.html", "-"]}
    bare = ["--once", "--all", "-a", "--args", "--no-args", "--threads", "-t", "--force", "--json", "-j", "-jat"]
    words = []
    for _ in range(random.randrange(6)):
        option = random.choice([*own, *bare])
        value = random.choice(own.get(option, values) if random.random() < 0.7 else values)
        form = random.random()
        if option in bare and form < 0.9:
            words.append(option)
        elif form < 0.2:
            words.append(f"{option}={value}")
        elif form < 0.9:
            words += [option, value]
        else:
            words.append(random.choice([option, option[:-2], option + "s"]))
    return [random.choice([str(pid), f"-p{pid}", *files]), *words]  # first: where no option takes it for its value


def command_line():
    """Whatever is on the command line: an answer, or one error that says what is wrong; never both, and no crash."""
    random = Random(18)
    with open("empty", "w"), open("text", "w") as text:
        text.write("no trace\n")
    os.mkdir("folder")
    with sleeping() as process:
        for _ in range(120):
            words = random_words(random, process.pid, ["empty", "text", "folder", "missing", "/dev/null"])
            told = run([TOLLGATE, "where", *words])
            lines = told.errors.splitlines()
            has_help = len(lines) == 2 and lines[1].startswith("Try ")
            check(told.status in (0, 2, 3) and (told.status == 0) == (not lines) and (len(lines) < 2 or has_help), words, told)
            check("\033" not in told.output + told.errors and (told.status == 0 or not told.output), words, told)
            if told.status == 0 and {"--json", "-j", "-jat"} & set(words):
                json.loads(told.output)


CASES = {"attached": attached, "spins": spins, "command_line": command_line, "imports": imports, "python": python, "prepared": prepared, "messages": messages, "members": members, "kinds": kinds, "apart": apart, "openmpi": lambda: hung("openmpi"), "mpich": lambda: hung("mpich"), "undisturbed": undisturbed,
         "refused": refused, "owners": owners, "cores": cores, "bounded": bounded, "killed": killed, "nest_locks": nest_locks, "at_once": at_once, "goes_on_openmpi": lambda: goes_on("openmpi"), "goes_on_mpich": lambda: goes_on("mpich"), "moves_openmpi": lambda: moves("openmpi"),
         "moves_mpich": lambda: moves("mpich"), "late_openmpi": lambda: late("openmpi"), "late_mpich": lambda: late("mpich"), "repeated": repeated, "slurm": slurm,
         "requests_openmpi": lambda: requests("openmpi"), "requests_mpich": lambda: requests("mpich")}
CASES[sys.argv[1]]()
