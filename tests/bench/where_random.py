#!/usr/bin/env python3
"""`tollgate where` at random moments of random jobs (where_random.c): one that goes on must never be told as hung, and one that hangs never as
going on, and the rank that left it has to be named.

usage: where_random.py BUILD [JOBS [SEED [uncounted]]]      40 jobs unless JOBS says otherwise: half of them go on, under Open MPI and
                                                           MPICH; uncounted: perf_event_open is not permitted to tollgate

Ends with 1 where an answer is wrong, and shows it.
"""
import collections
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
LAUNCHERS = {"openmpi": ["mpirun.openmpi", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "-n"],
             "mpich": ["mpiexec.mpich", "-n"]}
ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "UCX_LOG_LEVEL": "fatal", "OMP_WAIT_POLICY": "passive"}
WAYS = ["pause", "spin", "lock", "receive", "poll", "probe", "join", "clock", "reduce", "yield", "finalize"]
HUNG, GOES_ON = {"deadlock", "missing", "cycle", "different"}, {"runs"}
# runs a command under a filter of system calls that refuses perf_event_open (298)
UNCOUNTED = """
import ctypes, os, struct, sys
libc = ctypes.CDLL(None)
filter = b"".join(struct.pack("HBBI", *word) for word in
                  ((0x20, 0, 0, 0), (0x15, 0, 1, 298), (0x06, 0, 0, 0x0005000d), (0x06, 0, 0, 0x7fff0000)))
code = ctypes.create_string_buffer(filter)
program = struct.pack("HxxxxxxP", 4, ctypes.addressof(code))
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0
os.execvp(sys.argv[1], sys.argv[1:])
"""
PYTHON = """from mpi4py import MPI
import random, sys, time
comm = MPI.COMM_WORLD
choose = random.Random(int(sys.argv[1]))
way, who, when = (sys.argv[2], int(sys.argv[3]), int(sys.argv[4])) if len(sys.argv) > 2 else ("", -1, -1)
def hang():
    if way == "spin":
        while True:
            pass
    if way in ("poll", "probe"):
        while not comm.iprobe(tag=77):
            pass
    if way == "receive":
        comm.recv(source=(comm.rank + 1) % comm.size, tag=77)
    time.sleep(100000)
def exchange(wait):
    request = comm.irecv(source=(comm.rank - 1) % comm.size, tag=1)
    sent = comm.isend(comm.rank, dest=(comm.rank + 1) % comm.size, tag=1)
    if wait:
        request.wait()
    else:
        while not request.test()[0]:
            time.sleep(0.0002)
    sent.wait()
n = 0
while True:
    if n == 20 and way == "" and comm.rank == 0:
        print("goes on", flush=True)
    if n == when and comm.rank == who:
        print("hung", flush=True)
        hang()
    late, pause, what = choose.randrange(comm.size), choose.random() * 0.08, choose.randrange(5)
    if comm.rank == late:
        if what % 2:
            time.sleep(pause)
        else:
            end = time.time() + pause
            while time.time() < end:
                pass
    if what == 0:
        comm.Barrier()
    elif what == 1:
        comm.allreduce(comm.rank)
    elif what == 2:
        comm.bcast(n, root=late)
    else:
        exchange(what == 3)
    n += 1
"""


def looks_at(tollgate, job, choose, culprit, tally):
    """Wrong answers, shown."""
    wrong, is_uncounted = 0, len(tollgate) > 1
    for _ in range(3):
        time.sleep(choose.random() * 0.3)
        text = subprocess.run([*tollgate, "where", "-p", str(job)], capture_output=True, text=True).stdout
        time.sleep(choose.random() * 0.3)
        told = json.loads(subprocess.run([*tollgate, "where", "--json", "-p", str(job)], capture_output=True, text=True).stdout)
        verdict, answer = told["verdict"], text.split("\n\n")[0]
        tally[verdict] += 1
        if culprit is None:
            is_open = is_uncounted and ("came back from these calls meanwhile is unknown" in answer or "nobody comes back from them" in answer)
            bad = (verdict in HUNG and not is_open) or re.search("Deadlock|at the same place", answer)
        else:
            named = re.search(rf"ranks? (\d+[-,])*{culprit}\b", answer) or f"Deadlock in rank {culprit}" in answer
            bad = verdict in GOES_ON or not named or "the job goes on" in answer
        if bad:
            wrong += 1
            print(f"  {verdict}:\n    " + answer.replace("\n", "\n    "), flush=True)
    return wrong


def judge(tollgate, flavour, program, arguments, choose, tally):
    job = subprocess.Popen([*LAUNCHERS[flavour], "4", *program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                           env={**os.environ, **ENVIRONMENT}, start_new_session=True)
    try:
        if job.stdout.readline() not in ("hung\n", "goes on\n"):
            return 1
        hangs = len(arguments) > 1
        time.sleep(2 if hangs else choose.random())  # until the others have come to rest
        return looks_at(tollgate, job.pid, choose, int(arguments[2]) if hangs else None, tally)
    finally:
        told = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True).stdout.split()
        parents = dict(zip(told[::2], told[1::2]))
        ranks = [pid for pid in parents if str(job.pid) in (parents.get(pid), parents.get(parents.get(pid)), parents.get(parents.get(parents.get(pid))))]
        for pid in ranks:
            try:
                os.kill(int(pid), signal.SIGKILL)
            except ProcessLookupError:
                pass
        os.killpg(job.pid, signal.SIGKILL)
        job.wait()


def main():
    tollgate = [os.path.join(os.path.abspath(sys.argv[1]), "tollgate")]
    if len(sys.argv) > 4:
        tollgate = [sys.executable, "-c", UNCOUNTED, *tollgate]
    jobs, seed = (int(word) for word in (sys.argv[2:] + ["40", "18"][len(sys.argv[2:]):])[:2])
    os.chdir(tempfile.mkdtemp(prefix="where-random-"))
    with open("rounds.py", "w") as file:
        file.write(PYTHON)
    for flavour in LAUNCHERS:
        for level in ("-O0", "-O2"):
            subprocess.run([f"mpicc.{flavour}", level, "-g", "-fopenmp", os.path.join(HERE, "where_random.c"), "-o", f"random{level}.{flavour}"], check=True,
                           capture_output=True)
    choose, total, tallies = random.Random(seed), 0, {True: collections.Counter(), False: collections.Counter()}
    for n in range(jobs):
        flavour, hangs = choose.choice(list(LAUNCHERS)), n % 2 == 1
        arguments = [str(choose.randrange(1 << 30))]
        program = ["/usr/bin/python3", "rounds.py"] if choose.random() < 0.2 else [f"./random{choose.choice(['-O0', '-O2'])}.{flavour}"]
        flavour = "openmpi" if program[-1] == "rounds.py" else flavour  # what Debian's mpi4py is built with
        if hangs:
            arguments += [choose.choice(WAYS), str(choose.randrange(4)), str(choose.randrange(5, 40))]
        wrong = judge(tollgate, flavour, program, arguments, choose, tallies[hangs])
        total += wrong
        print(f"{flavour} {' '.join(program + arguments)}: {wrong} wrong", flush=True)
    print(f"all: {jobs} jobs, {total} answers wrong; that go on: {dict(tallies[False])}; that hang: {dict(tallies[True])}")
    return total > 0


sys.exit(main())
