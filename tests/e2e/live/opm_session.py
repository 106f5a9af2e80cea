#!/usr/bin/env python3
"""The session of the OpenMP module's document, command by command: start, next, step, step out, critical next, all_out, barrier
pass, sections. Each answer is compared, and what the program's own counters say.

usage: opm_session.py process           with gcc, and with clang; also begun by a shell
       opm_session.py openmpi|mpich     4 ranks with 4 threads each, from the launcher's first instruction on
"""
import os
import re
import subprocess
import sys

from live_console import LiveConsole, await_true, fail
from mpi_job import ENVIRONMENT, flavour_named, job

PROGRAM = r"""
static volatile int counted[8];
static void stage(int which) { __atomic_fetch_add(&counted[which], 1, __ATOMIC_RELAXED); }
int main(void)
{
#pragma omp parallel num_threads(4)
    {
#pragma omp single
        stage(0);
#pragma omp critical
        stage(1);
#pragma omp barrier
        stage(2);
#pragma omp sections
        {
#pragma omp section
            stage(3);
#pragma omp section
            stage(4);
#pragma omp section
            stage(5);
        }
        stage(6);
    }
    return 0;
}
"""
MPI_PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
void work(void);
int main(int argc, char **argv)
{
    int rank, provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    work();
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d is through\n", rank);
    MPI_Finalize();
    return 0;
}
"""
# rank 1 begins MPI_Init, which the others wait in, when there is a file "go"; and it comes later to the region, as if there were
# no processor for it while it is inside of MPI
LATE_PROGRAM = r"""
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>
static int free_slowly(MPI_Comm comm, int key, void *value, void *state)
{
    (void)comm, (void)key, (void)value, (void)state;
    return usleep(1500000);
}
int main(int argc, char **argv)
{
    int provided, key;
    MPI_Comm self;
    const char *rank = getenv("PMI_RANK") != NULL ? getenv("PMI_RANK") : getenv("OMPI_COMM_WORLD_RANK");
    while (atoi(rank) == 1 && access("go", F_OK) != 0)
        usleep(1000);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    if (atoi(rank) == 1) {
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_slowly, &key, NULL);
        MPI_Comm_dup(MPI_COMM_SELF, &self);
        MPI_Comm_set_attr(self, key, NULL);
        MPI_Comm_free(&self);
    }
#pragma omp parallel num_threads(4)
    {
#pragma omp barrier
    }
    MPI_Finalize();
    return 0;
}
"""
# two regions with no barrier but their ends; the third one goes on when there is a file "go", and ends the program
ENDS_PROGRAM = r"""
#include <stdlib.h>
#include <unistd.h>
static volatile int counted[1];
int main(void)
{
#pragma omp parallel num_threads(4)
#pragma omp critical
    counted[0]++;
#pragma omp parallel num_threads(4)
#pragma omp critical
    counted[0]++;
#pragma omp parallel num_threads(4)
    {
        while (access("go", F_OK) != 0)
            usleep(1000);
#pragma omp sections
        {
#pragma omp section
            __atomic_fetch_add(&counted[0], 1, __ATOMIC_RELAXED);
#pragma omp section
            __atomic_fetch_add(&counted[0], 1, __ATOMIC_RELAXED);
        }
#pragma omp single
        exit(counted[0] == 10 ? 7 : 1);
    }
    return 1;
}
"""
ALL = r"^4 of 4 workers are out and stopped behind it$"
# a command, and what its answer has to match; then the counters that are known
SESSION = [
    ("opm start", r"^thread 1\.1 reaches a parallel region$", {}),
    ("info workers", r"^ > worker 1 \(thread \d+\) outside parallel regions$", {}),
    ("opm next single", r"^thread 1\.\d reaches a single in ", {0: 0}),
    ("opm step", r"^worker \d: in a single since ", {0: 0}),
    ("opm all_out", ALL, {0: 1, 1: 0}),
    ("opm next critical", r"^thread 1\.\d reaches a critical section in ", {1: 0}),
    ("opm critical next", r"^worker \d: inside the critical section since ", {1: 0}),
    ("opm critical next", r"^worker \d: inside the critical section since ", {1: 1}),
    ("opm critical next", r"^worker \d: inside the critical section since ", {1: 2}),
    ("opm all_out", ALL, {1: 4, 2: 0}),
    ("info barrier", r"^  barrier 2 in .*: explicit, closed.*\n  passed   none\n  waiting  \S+", {}),
    ("opm barrier pass", ALL, {1: 4, 2: 0, 3: 0}),
    ("info barrier", r"^no team is at a barrier$", {}),
    ("opm sections new", r"^`dcont` will stop at the start of each sections zone$", {}),
    ("dcont", r"^thread 1\.\d reaches a sections zone in ", {2: None, 3: 0}),
    ("opm sections step-by-step", r"^SectionJob #1 has 3 sections, 0 already completed\.\n"
                                  r"Section zone breakpoint enabled on SectionJob #1\.$", {3: 0, 4: 0, 5: 0}),
    ("info workers", r"^ > worker \d \(thread \d+\) !$", {}),
    ("dcont", r"^\[Starting execution of Section 1\.\]$", {3: 0, 4: 0, 5: 0}),
    ("dcont", r"^\[Starting execution of Section 2\.\]$", {3: 1, 4: 0, 5: 0}),
    ("dcont", r"^\[Starting execution of Section 3\.\]$", {3: 1, 4: 1, 5: 0}),
    ("opm sequence --print", r"\"section 3\"", {}),
    ("dcont", r"^\[SectionJob #1 finished\.\]$", {3: 1, 4: 1, 5: 1, 6: 0}),
]
EACH = r"^4 of 4 processes are there\nthread \d+\.\d+ reaches a "
ALL_RANKS = r"^16 of 16 workers are out and stopped behind it$"
# the same in all ranks: the counters are those of each
RANKS_SESSION = [
    ("opm start -each", EACH + "parallel region$", {0: 0}),
    ("opm next -each single", EACH + "single in ", {0: 0}),
    ("opm step", r"^worker \d: in a single since ", {0: 0}),
    ("opm all_out", ALL_RANKS, {0: 1, 1: 0}),
    ("opm next -each critical", EACH + "critical section in ", {1: 0}),
    ("opm critical next", r"^worker \d: inside the critical section since ", {1: 0}),
    ("opm all_out", ALL_RANKS, {1: 4, 2: 0}),
    ("opm next -each barrier", EACH + "barrier in ", {1: 4, 2: 0}),
    ("opm barrier pass", ALL_RANKS, {1: 4, 2: 0, 3: 0}),
    ("info barrier", r"^no team is at a barrier$", {}),
    ("opm next -each sections", EACH + "sections zone in ", {2: None, 3: 0}),
    ("opm sections step-by-step", r"^SectionJob #1 has 3 sections, 0 already completed\.$", {3: 0}),
    ("dcont", r"^\[Starting execution of Section 1\.\]$", {3: 0, 4: 0, 5: 0}),
    ("dcont", r"^\[Starting execution of Section 2\.\]$", {4: 0, 5: 0}),
    ("dcont", r"^\[Starting execution of Section 3\.\]$", {5: 0}),
    ("dcont", r"^\[SectionJob #1 finished\.\]$", {6: 0}),
    # the ranks whose teams have not begun it are still before it: all of them go behind its barrier
    ("opm next -each barrier", EACH + "barrier in ", {3: 1, 4: 1, 5: 1}),
    ("opm barrier pass", ALL_RANKS, {3: 1, 4: 1, 5: 1, 6: 0}),
]


def counters(console, ranks):
    """Of the process in focus, or of each rank."""
    found = []
    for focus in [f"dfocus r{rank} " for rank in range(ranks)] or [""]:
        numbers = []
        for part in re.search(r"\{(.*)\}", console.do(f"{focus}{{dprint counted}}" if focus else "dprint counted"))[1].split(","):
            each = re.fullmatch(r"\s*(\d+)(?: <repeats (\d+) times>)?\s*", part)
            numbers += [int(each[1])] * int(each[2] or 1)
        found.append(numbers)
    return found


def play(console, what, session, ranks=0):
    for command, pattern, counted in session:
        answer = console.do(command)
        if not re.search(pattern, answer, re.M):
            fail(f"{what}: {command}: no {pattern!r} in\n{answer}")
        found = counters(console, ranks) if counted else []
        for which, value in counted.items():
            if value is not None and any(numbers[which] != value for numbers in found):
                fail(f"{what}: {command}: counted {which} is not {value} in {found}")


def process(compiler):
    subprocess.run([compiler, "-g", "-O1", "-fopenmp", "-o", f"doc.{compiler}", "doc.c"], check=True)
    console = LiveConsole("-o", "trace.tgt", "--force", "--", f"./doc.{compiler}", stderr=subprocess.DEVNULL)
    play(console, compiler, SESSION)
    console.do("opm sections new off")
    answer = console.command("opm critical next")  # there is none around: refused, nobody moves
    if answer["ok"] or "is not inside a critical section" not in answer["error"]["message"]:
        fail(f"{compiler}: {answer}")
    console.do("dcont")
    console.end("quit")


def ends(compiler):
    """The end of a region is a barrier, also where the runtime does not call it one. And `dcont` to a gate that nobody comes to in
    time: the threads go on, and nobody waits at the gate that is away."""
    with open("ends.c", "w", encoding="utf-8") as file:
        file.write(ENDS_PROGRAM)
    subprocess.run([compiler, "-g", "-O1", "-fopenmp", "-o", "ends", "ends.c"], check=True)
    console = LiveConsole("-o", "ends.tgt", "--force", "--", "./ends", stderr=subprocess.DEVNULL)
    at_end = r"^thread 1\.\d reaches a barrier, the end of the region in main "
    second = r"parallel region 2 .*\n  the end of the region in main .*: implicit, closed"
    play(console, compiler, [("opm start", r"reaches a parallel region$", {})])
    for command, who in (("opm start", "worker 1"), ("opm start -each", "worker 1 of process 1")):
        refused = console.command(command)
        if refused["ok"] or f"{who} is already at the beginning of parallel region 1; `opm start --force`" not in refused["error"]["message"]:
            fail(f"{compiler}: {refused}")
    # the end of the region is a step of its own, once, also where it is two events
    steps = [console.do("opm step") for _ in range(3)]
    if "waiting at the end of the parallel region" not in steps[2]:
        fail(f"{compiler}: the third step is not at the end of the region: {steps}")
    play(console, compiler, [("opm next barrier", at_end, {}),
                             ("info barrier", second, {}),
                             ("opm barrier pass", r"^1 of 1 worker is out and stopped behind it\na region's end releases only the worker that began it: "
                                                  r"the 3 others of the team wait for the next region$", {0: 8}),
                             ("opm start", r"reaches a parallel region$", {}),
                             ("opm sections new", r"^`dcont` will stop", {})])
    for command, message in (("dcont -timeout 1", "still running after 1 seconds"), ("dcont -any", "-any cannot be combined with")):
        answer = console.command(command)
        if answer["ok"] or message not in answer["error"]["message"]:
            fail(f"{compiler}: {command}: {answer}")
    console.do("dfocus p1 dhalt")
    console.do("dfocus p1 {dwait -timeout 30}")
    with open("go", "w", encoding="utf-8"):
        pass
    # `exit` within a single: nobody of the team leaves it
    play(console, compiler, [("opm next single", r"reaches a single in ", {}),
                             ("opm all_out", r"^0 of 4 workers are out and stopped behind it\n(worker \d has ended\n){3}worker \d has ended", {})])
    console.end("quit")
    steps_on_trace(compiler, steps)
    if not any(event.get("event") == "exited" and event.get("status") == 7 for event in console.events):
        fail(f"{compiler}: the program did not end well: {console.events[-8:]}")
    os.unlink("go")
    told = subprocess.run([os.environ["TG_TOLLGATE"], "replay", "-e", "opm next barrier", "-e", "opm next barrier", "-e", "info barrier",
                           "ends.tgt"], capture_output=True, text=True, check=True).stdout
    if not re.search(second, told):
        fail(f"{compiler}: replay:\n{told}")


def steps_on_trace(compiler, steps):
    """The same steps on the trace are at the same moments, but for the microsecond between two events that come together."""
    told = subprocess.run([os.environ["TG_TOLLGATE"], "replay", "-e", "opm start", "-e", "puts [catch {opm start}]",
                           *["-e", "opm step"] * len(steps), "ends.tgt"], capture_output=True, text=True, check=True).stdout
    live = [float(re.search(r"since ([0-9.]+) s", step)[1]) for step in steps]
    found = [float(moment) for moment in re.findall(r", ([0-9.]+) s: ", told)]
    if len(found) != 1 + len(live) or any(abs(a - b) > 20e-6 for a, b in zip(found[1:], live)) or "\n1\n" not in told:
        fail(f"{compiler}: live at {live}, but on the trace:\n{told}")


def shell():
    """The program is a child of what was started: `opm start` finds it, and stops nobody else."""
    console = LiveConsole("-o", "trace.tgt", "--force", "--", "sh", "-c", "true; ./doc.gcc; true", stderr=subprocess.DEVNULL)
    play(console, "shell", [("opm start", r"^thread 2\.1 reaches a parallel region$", {0: 0}),
                            ("opm next barrier", r"^thread 2\.\d reaches a barrier in ", {}),
                            ("opm barrier pass", ALL, {0: 1})])
    console.do("dcont")
    console.end("quit")


def ranks(flavour):
    os.environ.update(ENVIRONMENT)
    with open("ranks.c", "w", encoding="utf-8") as file:
        file.write(MPI_PROGRAM)
    with open("work.c", "w", encoding="utf-8") as file:
        file.write(PROGRAM.replace("int main(void)", "int work(void)"))
    subprocess.run([flavour.c, "-g", "-O1", "-fopenmp", "-o", "ranks", "ranks.c", "work.c"], check=True)
    with open("result", "wb") as result:
        console = LiveConsole("-o", "trace.tgt", "--force", "--", *job(flavour, os.path.abspath("ranks")), stderr=result)
    play(console, flavour.name, RANKS_SESSION, 4)
    # a rank whose barrier of MPI waits for others that are stopped: it is said for whom, and the interrupt key ends it
    answer = console.command("dfocus pr1 {opm next single}", interrupt_when=lambda: told(console))
    if answer["ok"] or "interrupted" not in answer["error"]["message"]:
        fail(f"{flavour.name}: {answer}")
    # and where nobody presses it, the command ends by itself
    answer = console.command("dfocus pr1 {opm next single}", interrupt_s=60)
    if answer["ok"] or "all that run wait in MPI, but rank 0 is stopped and not in focus" not in answer["error"]["message"]:
        fail(f"{flavour.name}: {answer}")
    console.command("dfocus a dgo")
    console.command("dfocus a dwait")
    console.end("quit")
    with open("result", encoding="utf-8") as file:
        said = file.read()
    if said.count("is through") != 4:
        fail(f"{flavour.name}: the job did not end well: {said}")
    late_rank(flavour)
    scripted_ranks(flavour)
    stopped_launcher(flavour)


def begun_ranks(console, n):
    """Goes on until N ranks stop at their first instruction."""
    console.do("dfocus a dgo")
    await_true(lambda: len([thread for thread in console.command("dfocus a dstatus").get("data") or []
                            if thread.get("rank") is not None and thread["state"] == "stopped"]) == n, f"no {n} ranks stop")


def stopped_launcher(flavour):
    """While the ranks are in MPI_Init the launcher is stopped, without which nobody leaves it: it is resumed with them."""
    with open("late.c", "w", encoding="utf-8") as file:
        file.write(LATE_PROGRAM)
    subprocess.run([flavour.c, "-g", "-O1", "-fopenmp", "-o", "late", "late.c"], check=True)
    console = LiveConsole("-o", "trace.tgt", "--force", "--", *job(flavour, os.path.abspath("late"), ranks=2),
                          stderr=subprocess.DEVNULL)
    begun_ranks(console, 2)
    console.do("dfocus ranks dgo")
    await_true(lambda: "MPI_Init" in console.do("info mpi"), "rank 0 does not come to MPI_Init")
    console.do("dfocus a dhalt")
    console.do("dfocus a {dwait -timeout 20}")
    with open("go", "w", encoding="utf-8"):
        pass
    # both spellings of the option, as elsewhere
    play(console, flavour.name, [("dfocus ranks {opm start --each}", r"^2 of 2 processes are there$", {}),
                                 ("opm next --each barrier", r"^2 of 2 processes are there$", {})])
    console.end("quit")


def scripted_ranks(flavour):
    """A script does not wait until the trace's events say who is a rank: all of them are waited for all the same."""
    with open("begin.tcl", "w", encoding="utf-8") as file:
        file.write("dgo\ndwait -ranks 2 -timeout 60\nputs [opm start -each]\nquit\n")
    told = subprocess.run([os.environ["TG_TOLLGATE"], "live", "--quiet", "--no-rc", "--force", "-o", "trace.tgt", "-x", "begin.tcl", "--",
                           *job(flavour, os.path.abspath("ranks"), ranks=2)], env=os.environ | ENVIRONMENT, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False, timeout=120)
    if "2 of 2 processes are there" not in told.stdout:
        fail(f"{flavour.name}: {told}")


def late_rank(flavour):
    """A rank that is held at its first instruction: the others are not waited for in MPI_Init, which nobody leaves."""
    console = LiveConsole("-o", "trace.tgt", "--force", "--", *job(flavour, os.path.abspath("ranks"), ranks=2),
                          stderr=subprocess.DEVNULL)
    begun_ranks(console, 2)
    console.do("dfocus r1 dhold")
    answer = console.command("dfocus ranks {opm start -each}")
    if answer["ok"] or "rank 1 is held before its program begins, and cannot arrive" not in answer["error"]["message"]:
        fail(f"{flavour.name}: {answer}")
    answer = console.command("dfocus ranks {opm start}")
    if answer["ok"] or not re.search(r"no thread can arrive: .* is held", answer["error"]["message"]):
        fail(f"{flavour.name}: {answer}")
    console.do("dfocus r1 dunhold")
    play(console, flavour.name, [("dfocus ranks {opm start -each}", r"^2 of 2 processes are there$", {})])
    console.end("quit")


def told(console):
    """Whether the note that a wait lasts has named the rank that is waited for."""
    return any(re.search(r"rank 1 runs: in MPI_Barrier .*; rank [023], which is stopped, has not reached that MPI_Barrier",
                         str(event)) for event in console.events)


def main():
    os.environ.update(OMP_WAIT_POLICY="passive", KMP_BLOCKTIME="0")
    if sys.argv[1] != "process":
        ranks(flavour_named(sys.argv[1]))
        return
    with open("doc.c", "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    process("gcc")
    process("clang")
    ends("gcc")
    ends("clang")
    shell()


main()
