#!/usr/bin/env python3
"""`tollgate where` beside gdb and eu-stack: how long they take, how long the job stands still, and whether they see the same.

usage: where_bench.py BUILD time [RANKS]      16 ranks of 4 threads, 20 calls each, unless RANKS says otherwise
       where_bench.py BUILD merge [RANKS]     made-up stacks of 10,000 ranks of 3 threads, 20 calls each: how long the tree takes
       where_bench.py BUILD frames [STOPS [NAME]]
                                              real programs (those with NAME in theirs), stopped at random, 200 times in all
                                              unless STOPS says otherwise

The pause is what the job itself sees: one thread of each rank notes the longest time for which it did not run. Frames are
compared by their addresses, of the same stop (SIGSTOP), with inlined calls counted; what gdb deduces of tail calls, which
have no frame, is left out and counted. Left out are the words of the command line that it takes for callers of ld.so's _start.
Where gdb names callers at addresses without code, which it does behind code that a program makes as it runs (node), and the other
stack is whole and has none, that is counted as gdb's mistake. Programs that are not installed are named.
"""
import collections
import contextlib
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

GDB = ["gdb", "-nx", "-batch", "-ex", "set debuginfod enabled off", "-ex", "set backtrace past-main on"]
MAX_FRAMES = 500  # that are compared: where records 512

GDB_SCRIPT = '''
import gdb
kinds = {gdb.INLINE_FRAME: "inlined", gdb.TAILCALL_FRAME: "tail"}
for thread in gdb.selected_inferior().threads():
    thread.switch()
    print("thread", thread.ptid[1])
    try:
        frame, n = gdb.newest_frame(), 0
        while frame is not None and n < 520:
            print("frame", kinds.get(frame.type(), "call"), hex(frame.pc()), (frame.name() or "?").replace(" ", ""))
            frame, n = frame.older(), n + 1
    except gdb.error as error:
        print("error", error)
'''

SOURCES = {
    "team.c": """
#include <math.h>
#include <stdlib.h>
static double work(int n) { double s = 0; for (int i = 0; i < n; i++) s += sin(i) * sqrt(i); return s; }
static int compare(const void *a, const void *b) { double x = *(double *)a, y = *(double *)b; return (x > y) - (x < y); }
int main(void)
{
    double s = 0, *v = malloc(8 * 200000);
    for (int k = 0; k < 1000000; k++) {
#pragma omp parallel for reduction(+ : s) schedule(dynamic, 16) num_threads(4)
        for (int i = 0; i < 400; i++)
            s += work(i * 10);
        for (int i = 0; i < 200000; i++)
            v[i] = rand();
        qsort(v, 200000, 8, compare);
    }
    return s > 0;
}
""",
    "maps.cc": """
#include <algorithm>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>
template <class T> void work(int seed)
{
    std::map<std::string, std::vector<T>> m;
    for (int i = 0;; i++) {
        std::ostringstream o;
        o << i % 1000 << "k";
        auto &v = m[o.str()];
        v.push_back((T)(i * seed % 977));
        if (v.size() > 100) {
            std::sort(v.begin(), v.end(), [](T a, T b) { return a > b; });
            v.clear();
        }
        if (i % 5000 == 0) {
            std::regex r("([0-9]+)k(.*)");
            std::smatch s;
            std::string t = o.str();
            try {
                if (!std::regex_match(t, s, r) || i % 3 == 0)
                    throw 1;
            } catch (int) {
            }
        }
    }
}
int main() { std::thread a(work<int>, 3), b(work<double>, 5); work<long>(7); }
""",
    "heavy.f90": """
module m
contains
recursive function fibonacci(n) result(r)
 integer, intent(in) :: n
 integer :: r
 if (n < 2) then
  r = n
 else
  r = fibonacci(n - 1) + fibonacci(n - 2)
 end if
end function
subroutine heavy(a, n)
 integer :: n
 real(8) :: a(n, n), b(n, n)
 b = matmul(a, a)
 a = b / maxval(abs(b))
end subroutine
end module
program p
 use m
 real(8) :: a(300, 300)
 integer :: i
 character(100) :: s
 call random_number(a)
 do i = 1, 1000000
  call heavy(a, 300)
  write(s, *) a(1, 1), fibonacci(27)
 end do
end program
""",
    "halo.f90": """
module heat
contains
subroutine sweep(a, b, change)
 real(8), intent(in) :: a(0:, 0:)
 real(8), intent(out) :: b(0:, 0:)
 real(8), intent(out) :: change
 integer :: i, j
 change = 0
 do j = 1, ubound(a, 2) - 1
  do i = 1, ubound(a, 1) - 1
   b(i, j) = 0.25d0 * (a(i - 1, j) + a(i + 1, j) + a(i, j - 1) + a(i, j + 1))
   change = max(change, abs(b(i, j) - a(i, j)))
  end do
 end do
end subroutine
subroutine exchange(a, up, down)
 use mpi
 real(8), intent(inout) :: a(0:, 0:)
 integer, intent(in) :: up, down
 integer :: n, m, error, status(MPI_STATUS_SIZE)
 n = size(a, 1)
 m = ubound(a, 2)
 call mpi_sendrecv(a(0, m - 1), n, MPI_DOUBLE_PRECISION, up, 1, &
  a(0, 0), n, MPI_DOUBLE_PRECISION, down, 1, MPI_COMM_WORLD, status, error)
 call mpi_sendrecv(a(0, 1), n, MPI_DOUBLE_PRECISION, down, 2, &
  a(0, m), n, MPI_DOUBLE_PRECISION, up, 2, MPI_COMM_WORLD, status, error)
end subroutine
end module
program halo
 use mpi
 use heat
 real(8), allocatable :: a(:, :), b(:, :)
 real(8) :: change, most
 integer :: rank, ranks, error, k
 call mpi_init(error)
 call mpi_comm_rank(MPI_COMM_WORLD, rank, error)
 call mpi_comm_size(MPI_COMM_WORLD, ranks, error)
 allocate(a(0:201, 0:101), b(0:201, 0:101))
 call random_number(a)
 b = a
 do k = 1, 100000000
  call exchange(a, mod(rank + 1, ranks), mod(rank + ranks - 1, ranks))
  call sweep(a, b, change)
  a(1:200, 1:100) = b(1:200, 1:100)
  call mpi_allreduce(change, most, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, error)
  if (mod(k, 1000) == 0 .and. rank == 0) print *, k, most
 end do
 call mpi_finalize(error)
end program
""",
}

BUILDS = [["gcc", "-O2", "-g", "-fopenmp", "team.c", "-o", "team-gcc", "-lm"],
          ["clang-14", "-O3", "-g", "-fopenmp", "team.c", "-o", "team-clang", "-lm"],
          ["g++", "-O2", "-g", "-pthread", "maps.cc", "-o", "maps"], ["gfortran", "-O2", "-g", "heavy.f90", "-o", "heavy"],
          *(["mpif90." + flavour, "-O3", "-g", "halo.f90", "-o", "halo." + flavour] for flavour in ("openmpi", "mpich"))]

PROGRAMS = {
    "C, libgomp": "./team-gcc", "C, libomp": "./team-clang", "C++": "./maps", "Fortran": "./heavy",
    "sort": "sort numbers", "xz": "xz -9 -T2 -c numbers",
    "perl": """perl -e 'for(my $i=0;;$i++){my @a=sort{$a<=>$b} map{$_*3%101}1..500;$_=join(",",@a);s/([0-9]+),/<$1>/g}'""",
    "sqlite3": "sqlite3 :memory: 'create table t(a,b); with recursive c(x) as (select 1 union all select x+1 from c where "
               "x<900000) insert into t select x%977,hex(randomblob(8)) from c; select count(*),a from t group by a order by b; "
               "select * from t x, t y where x.b=y.b order by x.a'",
    "cc1plus": "$(g++ -print-prog-name=cc1plus) -quiet -O2 -g maps.cc -o /dev/null",
    "python3": "/usr/bin/python3 -c 'import re\nwhile 1: re.sub(\"[0-9]+\", lambda m: m.group()+\"x\", \"a1b2c3\"*500)'",
    "gnuplot": "gnuplot -e 'set term svg; set samples 20000; do for [i=1:100000] {set output \"/dev/null\"; plot sin(x*i)}'",
    "openssl": "openssl speed -seconds 60 rsa4096",
    "git": "git -C repository repack -a -d -f --depth=250 --window=250 --threads=2",
    "gdb": """gdb -nx -batch -ex 'python
while True: gdb.execute("info types a", to_string=True); gdb.execute("maint flush symbol-cache")' ./maps""",
    "clang": "$(readlink -f $(which clang-14)) -x c++ -O3 -g -c maps.cc -o /dev/null",
    "numpy": "/usr/bin/python3 -c 'import numpy\na = numpy.random.rand(400, 400)\nwhile 1: b = a @ a; numpy.linalg.svd(a[:120, :120]); numpy.sort(b)'",
    "node": """node -e 'while (true) { let m = new Map(); for (let i = 0; i < 1e5; i++) m.set("k" + i % 997, [i]); JSON.stringify([...m]); }'""",
    "Fortran, Open MPI": "mpirun.openmpi --allow-run-as-root --oversubscribe -n 2 ./halo.openmpi",
    "Fortran, MPICH": "mpiexec.mpich -n 2 ./halo.mpich",
}
NEEDS = {"C, libgomp": "gcc", "C, libomp": "clang-14", "C++": "g++", "Fortran": "gfortran", "cc1plus": "g++", "clang": "clang-14", "python3": "/usr/bin/python3",
         "numpy": "/usr/bin/python3", "Fortran, Open MPI": "mpirun.openmpi", "Fortran, MPICH": "mpiexec.mpich"}
LAUNCHED = "halo."  # how processes are named that others start, and that are stopped in place of these


def run(command, **more):
    return subprocess.run(command, capture_output=True, text=True, **more)


# ---- frames

def frames_of_gdb(pid):
    threads, tails = {}, 0
    for line in run([*GDB, "-p", str(pid), "-ex", "source frames.py"]).stdout.splitlines():
        words = line.split(" ", 3)
        if words[0] == "thread":
            frames = threads.setdefault(int(words[1]), [])
        elif words[0] == "frame" and words[1] == "tail":
            tails += 1
        elif words[0] == "frame" and not (frames and frames[-1][2] in ("_start", "_dl_start_user")):
            frames.append((words[1], int(words[2], 16), words[3]))
    return threads, tails


def frames_of_where(tollgate, pid):
    """Of each thread its frames, and why there are no more."""
    told = run([tollgate, "where", "--once", "--json", "--threads", "--all", "-p", str(pid)])
    if told.returncode != 0:
        return {}
    return {thread["tid"]: ([("inlined" if frame["inlined"] else "call", int(frame["pc"], 16), frame["function"])
                             for frame in thread["frames"] if frame["pc"] != "0x0"], thread["end"])
            for thread in json.loads(told.stdout)["threads"] if thread["pid"] == pid}


def addresses(frames):
    return [pc for kind, pc, _ in frames if kind == "call"][:MAX_FRAMES]


def code_of(pid):
    """Where process PID has code."""
    with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as maps:
        return [tuple(int(end, 16) for end in line.split()[0].split("-")) for line in maps if "x" in line.split()[1]]


def is_in(code, frames):
    """Whether all of FRAMES are in CODE; a caller may end with its call."""
    return all(any(start <= pc <= end for start, end in code) for pc in addresses(frames))


def compare(name, pid, tollgate, counts):
    os.kill(pid, signal.SIGSTOP)
    time.sleep(0.02)
    code = code_of(pid)
    ours, (theirs, tails) = frames_of_where(tollgate, pid), frames_of_gdb(pid)
    os.kill(pid, signal.SIGCONT)
    counts["stops"] += 1
    counts["tail calls that gdb deduces"] += tails
    for tid, frames in theirs.items():
        if tid not in ours:
            counts["threads without a stack"] += 1
            continue
        counts["threads"] += 1
        own, end = ours[tid]
        if addresses(own) != addresses(frames) and end == "whole" and is_in(code, own) and not is_in(code, frames):
            counts["gdb names callers where there is no code"] += 1
        elif addresses(own) != addresses(frames):
            counts["different"] += 1
            print(f"{name}, thread {tid}:\n  where {[(hex(pc), what) for _, pc, what in own]} {end}\n"
                  f"  gdb   {[(hex(pc), what) for _, pc, what in frames]}")
        elif [kind for kind, *_ in own] != [kind for kind, *_ in frames] and len(frames) < MAX_FRAMES:
            counts["other inlined calls"] += 1
        else:
            counts["equal"] += 1


def whom_to_stop(pid):
    """PID, or the first process below it that it was started for."""
    children = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
            comm, rest = file.read().split("(", 1)[1].rsplit(")", 1)
            children.setdefault(int(rest.split()[1]), []).append((int(name), comm))
    below = [(pid, "")]
    for one, comm in below:
        if comm.startswith(LAUNCHED):
            return one
        below += sorted(children.get(one, []))
    return pid


def end(process):
    """Whatever was started in its session ends with it."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(2)  # a launcher ends its ranks
    except subprocess.TimeoutExpired:
        pass
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def frames(tollgate, stops, wanted):
    with open("frames.py", "w") as file:
        file.write(GDB_SCRIPT)
    for name, text in SOURCES.items():
        with open(name, "w") as file:
            file.write(text)
    for command in BUILDS:
        if shutil.which(command[0]) is not None:
            subprocess.run(command, check=True)
    with open("numbers", "w") as file:
        file.writelines(f"{random.random()}\n" for _ in range(1000000))
    subprocess.run(["git", "clone", "-q", "--no-local", os.path.dirname(os.path.abspath(__file__)) + "/../..", "repository"], check=True)
    total, programs = collections.Counter(), {name: command for name, command in PROGRAMS.items() if wanted in name}
    missing = [name for name, command in programs.items() if shutil.which(NEEDS.get(name, command.split()[0])) is None]
    for name in missing:
        print(f"{name:12} not installed", flush=True)
        del programs[name]
    for name, command in programs.items():
        counts, process = collections.Counter(), None
        for _ in range(-(-stops // len(programs))):
            if process is None or process.poll() is not None:
                process = subprocess.Popen("exec " + command, shell=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                           stderr=subprocess.DEVNULL, start_new_session=True)
                time.sleep(0.15)
            time.sleep(0.15 * random.random())
            if process.poll() is None:
                compare(name, whom_to_stop(process.pid), tollgate, counts)
        end(process)
        print(f"{name:12} " + ", ".join(f"{what} {n}" for what, n in counts.items()), flush=True)
        total += counts
    print(f"{'all':12} " + ", ".join(f"{what} {n}" for what, n in total.items()) + f"; {len(programs)} programs"
          + (f", not installed: {', '.join(missing)}" if missing else ""))


# ---- time

def start_ranks(build, count):
    ranks = []
    for rank in range(count):
        with open(f"gap.{rank}", "wb") as file:
            file.write(bytes(8))
        environment = dict(os.environ, OMPI_COMM_WORLD_RANK=str(rank), OMPI_COMM_WORLD_SIZE=str(count))
        ranks.append(subprocess.Popen([os.path.join(build, "tests/bench/where_rank"), f"gap.{rank}"], env=environment))
    time.sleep(1)
    return ranks


def measure(ranks, look):
    for rank in range(len(ranks)):
        with open(f"gap.{rank}", "r+b") as file:
            file.write(bytes(8))
    start = time.monotonic()
    look()
    took = time.monotonic() - start
    time.sleep(0.05)
    gaps = []
    for rank in range(len(ranks)):
        with open(f"gap.{rank}", "rb") as file:
            gaps.append(struct.unpack("Q", file.read())[0] / 1e6)
    return took, sorted(gaps)[len(gaps) // 2], max(gaps)


def timing(tollgate, build, count):
    ranks = start_ranks(build, count)
    pids = [str(rank.pid) for rank in ranks]
    ways = {"nobody looks": lambda: time.sleep(0.2),
            "tollgate where": lambda: run([tollgate, "where", "--once", *[word for pid in pids for word in ("-p", pid)]]),
            "eu-stack": lambda: [run(["eu-stack", "-p", pid]) for pid in pids],
            "gdb": lambda: [run([*GDB, "-p", pid, "-ex", "thread apply all bt"]) for pid in pids]}
    for name in ("eu-stack", "gdb"):
        if shutil.which(name) is None:
            print(f"{name:16} not installed")
            del ways[name]
    try:
        results = {}
        for name, look in ways.items():
            results[name] = measure(ranks, look)
            print("{:16} {:8.2f} s   pause {:9.2f} ms (median of the ranks) {:9.2f} ms (longest)".format(name, *results[name]))
        for name in (name for name in ("eu-stack", "gdb") if name in results):
            print(f"where beside {name}: " + ", ".join(
                f"{what} 1/{theirs / ours:.0f}" for what, ours, theirs in
                zip(("time", "pause", "longest pause"), results["tollgate where"], results[name])))
    finally:
        for rank in ranks:
            rank.kill()


# ---- merging

def make_ranks(build, count):
    """A trace with the stacks of COUNT ranks: rank 7 is outside MPI, the workers of one rank in a hundred are elsewhere."""
    frame = {"module": "/job/solver", "build_id": "01", "guessed": False, "function": "", "file": "", "line": 0}
    calls = [f"step_{n}" for n in range(18)]
    lines = [{"meta": {"tool.version": "0.1.0", "host.name": "node", "start.monotonic_ns": "1000"}}]
    def emit(pid, tid, kind, **more):
        lines.append({"t_ns": 1000 + len(lines), "pid": pid, "tid": tid, "kind": kind, **more})
    def stack(pid, tid, innermost):
        frames = [{"kind": "code", **frame, "pc": hex(0x400000 + address), "address": hex(address)} for address in
                  (innermost, *range(len(calls), 0, -1))]
        frames[0]["module"] = "/usr/lib/libmpi.so.40" if innermost == 0x900 else "/job/solver"
        emit(pid, tid, "stack", snapshot=1, reason="look", signal=0, end="whole", frames=frames)
    for rank in range(count):
        pid = 100000 + 4 * rank
        emit(pid, pid, "process_start", origin="attached", parent_pid=1)
        emit(pid, pid, "identity", host="node", job="1", source="OMPI_COMM_WORLD_RANK", rank=rank, size=count)
        stack(pid, pid, 0x800 if rank == 7 else 0x900)
        for worker in range(2):
            emit(pid, pid + 1 + worker, "thread_start", parent_tid=pid)
            stack(pid, pid + 1 + worker, 0x700 + (rank // 100 if rank % 100 == 0 else 0))
    def name(module, address, function, line):
        emit(0, 0, "code_name", module=module, build_id="01", address=hex(address), calls=[
            {"function": function, "offset": 4, "file": "solver.c" if line else "", "line": line, "inlined": False}])
    for n, call in enumerate(calls, 1):
        name("/job/solver", n, call, 100 - n)
    for address in (0x800, *(0x700 + n for n in range(count // 100 + 1))):
        name("/job/solver", address, f"work_{address:x}", address)
    name("/usr/lib/libmpi.so.40", 0x900, "MPI_Barrier", 0)
    with open("ranks.jsonl", "w") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    made = run([os.path.join(build, "tests/support/trace_from_json"), "ranks.jsonl", "ranks.tgt"])
    if made.returncode != 0:
        sys.exit(made.stderr)


def merging(tollgate, build, count):
    make_ranks(build, count)
    times = []
    for _ in range(5):
        start = os.times()
        begun = time.monotonic()
        told = run([tollgate, "where", "ranks.tgt"])
        end = os.times()
        times.append((time.monotonic() - begun, end.children_user + end.children_system - start.children_user - start.children_system))
        if told.returncode != 0 or "rank 7" not in told.stdout.splitlines()[0]:
            sys.exit(told.stdout[:1000] + told.stderr)
    took, ran = sorted(times)[2]
    print(f"{count} ranks, {3 * count} threads: {took:.2f} s, {ran:.2f} s of processor time (medians of 5); "
          f"{len(told.stdout.splitlines())} lines: {told.stdout.splitlines()[0]}")


def main():
    build, what, *more = sys.argv[1:]
    build = os.path.abspath(build)
    tollgate = os.path.join(build, "tollgate")
    os.chdir(tempfile.mkdtemp(prefix="where-bench-"))
    if what == "frames":
        frames(tollgate, int(more[0]) if more else 200, more[1] if len(more) > 1 else "")
    elif what == "merge":
        merging(tollgate, build, int(more[0]) if more else 10000)
    else:
        timing(tollgate, build, int(more[0]) if more else 16)


main()
