#!/usr/bin/env python3
"""`tollgate where` against fifteen jobs that hang, started without tollgate, whose culprit is known: verdict, ranks and
line; and jobs that go on, which must never be told as hung. The jobs run on as if nothing had been: nobody traces them, and no byte
of their code has changed.

usage: where_truth.py BUILD [LOOKS [NAME]]      5 looks at each unless LOOKS says otherwise, or at those with NAME in theirs

Ends with 1 where an answer is wrong.
"""
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../programs")
LAUNCHERS = {"openmpi": ["mpirun.openmpi", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "-n"],
             "mpich": ["mpiexec.mpich", "-n"]}
ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "UCX_LOG_LEVEL": "fatal"}

FORTRAN = """program stuck
 use mpi
 integer :: rank, error, number, status(MPI_STATUS_SIZE)
 call mpi_init(error)
 call mpi_comm_rank(MPI_COMM_WORLD, rank, error)
 if (rank == 1) then
  call mpi_recv(number, 1, MPI_INTEGER, 0, 9, MPI_COMM_WORLD, status, error) ! culprit
 end if
 call mpi_barrier(MPI_COMM_WORLD, error)
 call mpi_finalize(error)
end program
"""
CPLUSPLUS = """#include <mpi.h>
#include <mutex>
#include <thread>
struct account { std::mutex lock; };
template <class T> void move(T &from, T &to)
{
    std::lock_guard<std::mutex> first(from.lock);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    std::lock_guard<std::mutex> second(to.lock); // culprit
}
int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    account a, b;
    if (rank == 2) {
        std::thread other([&] { move(b, a); });
        move(a, b);
        other.join();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
}
"""
PYTHON = """from mpi4py import MPI
import time
def wait_alone():
    while True:
        time.sleep(1000)  # culprit
if MPI.COMM_WORLD.rank == 1:
    wait_alone()
MPI.COMM_WORLD.Barrier()
"""
FUTURE = """#include <mpi.h>
#include <future>
#include <thread>
static int take(std::future<int> &answer)
{
    return answer.get(); // culprit
}
int main(int argc, char **argv)
{
    int rank, level, sum = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 3) {
        std::promise<int> promise;
        std::future<int> answer = promise.get_future();
        std::thread helper([&] {
            int word;
            MPI_Recv(&word, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE); // nobody sends
            promise.set_value(word);
        });
        sum = take(answer);
        helper.join();
    }
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
}
"""
CRITICAL = """program stuck
 use mpi
 use omp_lib
 implicit none
 integer :: rank, error
 call mpi_init(error)
 call mpi_comm_rank(MPI_COMM_WORLD, rank, error)
 if (rank == 2) call work()
 call mpi_barrier(MPI_COMM_WORLD, error)
 call mpi_finalize(error)
contains
 subroutine work()
  !$omp parallel num_threads(2)
  if (omp_get_thread_num() == 0) then
   !$omp critical (first)
   call sleep(1)
   !$omp critical (second) ! culprit
   print *, 'never'
   !$omp end critical (second)
   !$omp end critical (first)
  else
   !$omp critical (second)
   call sleep(1)
   !$omp critical (first)
   print *, 'never'
   !$omp end critical (first)
   !$omp end critical (second)
  end if
  !$omp end parallel
 end subroutine
end program
"""
QUEUE = """from mpi4py import MPI
import queue
jobs = queue.Queue()
def next_job():
    return jobs.get()  # culprit
comm = MPI.COMM_WORLD
if comm.rank == 2:
    next_job()
data = comm.bcast({"a": 1} if comm.rank == 0 else None, root=0)
comm.Barrier()
"""


class Case:
    """A job of RANKS, and what has to be said of it: verdict and words (regular expressions; LINE is the culprit's)."""

    def __init__(self, name, flavour, command, verdicts, words, ranks=4, source="hang.c", mark=None):
        self.name, self.flavour, self.command, self.verdicts = name, flavour, command, verdicts
        self.words, self.ranks, self.source, self.mark = words, ranks, source, mark


def hang(name, flavour, how, verdicts, words):
    return Case(name, flavour, [f"./hang.{flavour}", how], verdicts, words, mark=f"culprit of {how}")


CASES = [
    hang("C, a rank stays away", "openmpi", "barrier", ["missing"], r"wait for rank 1, which is outside MPI: in pause(.*\n)*?.*hang\.c:LINE"),
    hang("C, a rank stays away", "mpich", "barrier", ["missing"], r"wait for rank 1, which is outside MPI: in pause(.*\n)*?.*hang\.c:LINE"),
    hang("C, nobody sends", "openmpi", "receive", ["deadlock"], r"rank 1 waits for rank 2: .*hang\.c:LINE"),
    hang("C, nobody sends", "mpich", "receive", ["deadlock"], r"rank 1 waits for rank 2: .*hang\.c:LINE"),
    Case("C + OpenMP, a critical section is kept", "openmpi", ["./hang.openmpi", "critical"], ["missing"],
         r"wait for rank 1, .*\nThere, thread \d+ is in pause", mark="culprit"),
    # libgomp's locks have no owner
    Case("C + OpenMP, locks crosswise", "mpich", ["./hang.mpich", "deadlock"], ["missing"],
         r"wait for rank 1, which is outside MPI: .*called from lock_crosswise"),
    Case("C, different collectives", "mpich", ["./hang.mpich", "mismatch"], ["different", "unknown", "deadlock", "cycle"],
         r"rank 1 is in MPI_\w+|rank 1 waits"),
    Case("C, both send", "mpich", ["./hang.mpich", "send"], ["cycle", "unknown"], r"ranks 0-1 are in MPI_Send|rank 1 waits for rank 0: it is in MPI_Send"),
    # the communicator of the barrier is in a register that several ways set: unknown
    Case("Fortran, nobody sends", "openmpi", ["./fortran.openmpi"], ["deadlock", "unknown"],
         r"rank 1 (waits for rank 0: it )?is in MPI_Recv\(source 0, tag 9.*fortran\.f90:LINE",
         source="fortran.f90", mark="culprit"),
    Case("Fortran, nobody sends", "mpich", ["./fortran.mpich"], ["deadlock"], r"rank 1 waits for rank 0: .*fortran\.f90:LINE",
         source="fortran.f90", mark="culprit"),
    Case("C++ + threads, mutexes crosswise", "openmpi", ["./cplusplus.openmpi"], ["missing", "deadlock"],
         r"Deadlock in rank 2:\n(.*\n)*?.*cplusplus\.cc:LINE", source="cplusplus.cc", mark="culprit"),
    Case("Python, a rank stays away", "openmpi", ["/usr/bin/python3", "stuck.py"], ["missing"], r"wait for rank 1, .*wait_alone.*stuck\.py:LINE",
         source="stuck.py", mark="culprit"),
    Case("C++, a future that nobody sets", "openmpi", ["./future.openmpi"], ["missing"],
         r"wait for rank 3, which is outside MPI: in std::future.*called from take \(future\.cc:LINE\)", source="future.cc", mark="culprit"),
    Case("Fortran + OpenMP, criticals crosswise", "mpich", ["./critical.mpich"], ["missing"],
         r"wait for rank 2, which is outside MPI: in .*called from work.*\(critical\.f90:LINE\)", source="critical.f90", mark="culprit"),
    Case("Python, a broadcast that a rank does not come to", "openmpi", ["/usr/bin/python3", "queue_of.py"], ["missing"],
         r"wait for rank 2, which is outside MPI: in Queue\.get, called from next_job \(queue_of\.py:LINE\)", source="queue_of.py", mark="culprit"),
    Case("goes on: a loop of messages", "openmpi", ["./moving.openmpi", "pingpong"], ["runs"], "", ranks=2),
    Case("goes on: a loop of messages", "mpich", ["./moving.mpich", "pingpong"], ["runs"], "", ranks=2),
    Case("goes on: rounds of collectives", "openmpi", ["./moving.openmpi", "rounds"], ["runs"], ""),
    Case("goes on: rounds of collectives", "mpich", ["./moving.mpich", "rounds"], ["runs"], ""),
]


def build():
    for flavour in LAUNCHERS:
        for program in ("hang", "moving"):
            subprocess.run([f"mpicc.{flavour}", "-O2", "-g", "-fopenmp", os.path.join(SOURCE, program + ".c"), "-o",
                            f"{program}.{flavour}"], check=True)
        subprocess.run([f"mpif90.{flavour}", "-O2", "-g", "fortran.f90", "-o", f"fortran.{flavour}"], check=True, capture_output=True)
        subprocess.run([f"mpicxx.{flavour}", "-O1", "-g", "-pthread", "cplusplus.cc", "-o", f"cplusplus.{flavour}"], check=True)
        subprocess.run([f"mpicxx.{flavour}", "-O1", "-g", "-pthread", "future.cc", "-o", f"future.{flavour}"], check=True)
        subprocess.run([f"mpif90.{flavour}", "-O1", "-g", "-fopenmp", "critical.f90", "-o", f"critical.{flavour}"], check=True,
                       capture_output=True)


def line_of(case):
    path = case.source if os.path.exists(case.source) else os.path.join(SOURCE, case.source)
    with open(path) as file:
        return next((n for n, text in enumerate(file, 1) if case.mark is not None and case.mark in text), 0)


def code_of(pid):
    """A sum of the code that the process has mapped."""
    sums = hashlib.sha256()
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb") as memory:
        for line in maps:
            where, access, *_ = line.split()
            if "x" in access and not line.rstrip().endswith("[vsyscall]"):
                start, end = (int(word, 16) for word in where.split("-"))
                memory.seek(start)
                sums.update(memory.read(end - start))
    return sums.digest()


def is_untouched(pid):
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/status") as status:
            if not re.search(r"^TracerPid:\t0$", status.read(), re.M):
                return False
    return True


def judge(tollgate, case, looks):
    """Wrong answers of LOOKS."""
    job = subprocess.Popen([*LAUNCHERS[case.flavour], str(case.ranks), *case.command], stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, env={**os.environ, **ENVIRONMENT}, start_new_session=True)
    pids, wrong = [], 0
    try:
        for _ in range(60): # until all ranks are there
            time.sleep(0.5)
            told = subprocess.run([tollgate, "where", "--once", "--json", "-p", str(job.pid)], capture_output=True, text=True)
            pids = sorted({thread["pid"] for thread in json.loads(told.stdout or '{"threads":[]}')["threads"] if thread["rank"] is not None})
            if len(pids) == case.ranks:
                break
        time.sleep(2)
        sums = {pid: code_of(pid) for pid in pids}
        pattern = case.words.replace("LINE", str(line_of(case)))
        for _ in range(looks):
            text = subprocess.run([tollgate, "where", "-p", str(job.pid)], capture_output=True, text=True).stdout
            told = subprocess.run([tollgate, "where", "--json", "-p", str(job.pid)], capture_output=True, text=True)
            verdict = json.loads(told.stdout)["verdict"] if told.stdout else told.stderr
            if verdict not in case.verdicts or not re.search(pattern, text):
                wrong += 1
                print(f"  {verdict}, wanted {case.verdicts} and {pattern}:\n    " + text.replace("\n", "\n    "))
        if not all(is_untouched(pid) and code_of(pid) == sums[pid] for pid in pids) or len(pids) != case.ranks:
            wrong += 1
            print("  the job is not as it was before")
    finally:
        os.killpg(job.pid, signal.SIGKILL)
        job.wait()
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
    return wrong


def main():
    tollgate = os.path.join(os.path.abspath(sys.argv[1]), "tollgate")
    looks = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    os.chdir(tempfile.mkdtemp(prefix="where-truth-"))
    for name, text in (("fortran.f90", FORTRAN), ("cplusplus.cc", CPLUSPLUS), ("stuck.py", PYTHON), ("future.cc", FUTURE),
                       ("critical.f90", CRITICAL), ("queue_of.py", QUEUE)):
        with open(name, "w") as file:
            file.write(text)
    build()
    total = 0
    cases = [case for case in CASES if len(sys.argv) < 4 or sys.argv[3] in case.name]
    for case in cases:
        wrong = judge(tollgate, case, looks)
        total += wrong
        print(f"{case.name} ({case.flavour}): {looks} looks, {wrong} wrong", flush=True)
    print(f"all: {len(cases)} jobs, {total} wrong")
    return total > 0


sys.exit(main())
