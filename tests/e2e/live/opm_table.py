#!/usr/bin/env python3
"""`opm next` to every kind of zone, in C, C++ and Fortran, with GCC and clang: it stops at the construct's line, before its work. And
a session that is killed while a worker waits at a gate: nothing is left, and what was recorded can be had."""
import os
import re
import signal
import subprocess

from live_console import TOLLGATE, LiveConsole, await_true, fail, status_of

# Marked lines are where the construct is. Nobody can be at the zone behind one, where the first is at that: barriers are between.
C = r"""
#include <stdio.h>
static volatile int done;
static volatile long bound = 8;
static void work(void) { __atomic_fetch_add(&done, 1, __ATOMIC_RELAXED); }
int main(void)
{
#pragma omp parallel num_threads(2) /* parallel */
    {
#pragma omp barrier /* barrier */
#pragma omp single /* single */
        work();
#pragma omp for schedule(dynamic) /* loop */
        for (long i = 0; i < bound; i++)
            work();
#pragma omp sections /* sections */
        {
#pragma omp section
            work();
#pragma omp section
            work();
        }
#pragma omp critical /* critical */
        work();
#pragma omp barrier
#pragma omp master /* master */
        work();
#pragma omp barrier
#pragma omp task /* task */
        work();
    }
    printf("%d\n", done);
    return 0;
}
"""
FORTRAN = r"""
program table
  implicit none
  integer :: done
  integer(8) :: i, bound
  volatile :: bound
  bound = 8
  done = 0
  !$omp parallel num_threads(2) private(i) ! parallel
  !$omp barrier ! barrier
  !$omp single ! single
  call work(done)
  !$omp end single
  !$omp do schedule(dynamic) ! loop
  do i = 1, bound
    call work(done)
  end do
  !$omp end do
  !$omp sections ! sections
  !$omp section
  call work(done)
  !$omp section
  call work(done)
  !$omp end sections
  !$omp critical ! critical
  call work(done)
  !$omp end critical
  !$omp barrier
  !$omp master ! master
  call work(done)
  !$omp end master
  !$omp barrier
  !$omp task ! task
  call work(done)
  !$omp end task
  !$omp end parallel
  print '(i0)', done
contains
  subroutine work(count)
    integer, intent(inout) :: count
    !$omp atomic
    count = count + 1
  end subroutine
end program
"""
# GCC asks for the thread's number once, and computes each loop's bounds before the rounds
HOISTED = r"""
static double a[1000], b[1000];
static volatile int behind;
int main(void)
{
#pragma omp parallel num_threads(2)
    {
        for (int round = 0; round < 3; round++) {
#pragma omp for schedule(static)
            for (int i = 1; i < 999; i++)
                b[i] = a[i - 1] + a[i + 1];
#pragma omp for \
    schedule(static)
            for (int i = 1; i < 999; i++)
                a[i] = b[i] * 0.5;
        }
    }
    behind = 1;
    return 0;
}
"""
# thread 0 executes the single; marked lines are where the masters are
MASTERS = r"""
#include <omp.h>
static volatile int done, single, behind;
static __thread int me;
int main(void)
{
#pragma omp parallel num_threads(2)
    me = omp_get_thread_num();
#pragma omp parallel num_threads(2)
    {
#pragma omp master /* 1 */
        done++;
        while (me == 1 && !single) { }
#pragma omp master /* 2 */
        done++;
#pragma omp single nowait
        single = 1;
#pragma omp master /* 3 */
        done++;
#pragma omp master /* 4 */
        done++;
#pragma omp barrier
        for (int round = 0; round < 600 && me == 0; round++) {
            behind = round;
#pragma omp master /* 5 */
            done++;
        }
    }
    return 0;
}
"""
# what begins later than where `opm next` stops, inside of a zone
WITHIN = r"""
static volatile int done;
int main(void)
{
#pragma omp parallel num_threads(1)
#pragma omp single
    {
#pragma omp task if (done != 0)
        done++;
#pragma omp parallel num_threads(1)
        done++;
    }
    return 0;
}
"""
# one thread is in an inner team, whose other threads end with the outer one
NESTED = r"""
#include <omp.h>
#include <unistd.h>
static volatile int done;
int main(void)
{
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 1) {
            usleep(700000); /* the other one comes to the outer barrier first */
#pragma omp parallel num_threads(2)
            {
#pragma omp barrier
                __atomic_fetch_add(&done, 1, __ATOMIC_RELAXED);
            }
        }
#pragma omp barrier
    }
    usleep(1500000);
#pragma omp parallel num_threads(2)
#pragma omp critical
    done++;
    return 0;
}
"""
ZONES = ["parallel", "barrier", "single", "loop", "sections", "critical", "master", "task"]
WORDS = {"critical": "critical section", "sections": "sections zone", "parallel": "parallel region", "task": "task construct"}
DONE = 1 + 1 + 8 + 2 + 2 + 2
PROGRAMS = {"c": ("table.c", C, ["gcc", "clang"]), "c++": ("table.cc", C, ["g++", "clang++"]), "fortran": ("table.f90", FORTRAN, ["gfortran"])}


def build(source, text, compiler):
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    subprocess.run([compiler, "-g", "-O0", "-fopenmp", "-o", "table", source], check=True)


def table(source, text, compiler):
    build(source, text, compiler)
    with open("result", "wb") as result:
        console = LiveConsole("-o", "trace.tgt", "--force", "--", "./table", stderr=result)
    lines = {zone: next(i for i, line in enumerate(text.splitlines(), 1) if re.search(rf"(/\*|!) {zone}\b", line)) for zone in ZONES}
    for zone in ZONES:
        answer = console.do(f"opm next {zone}")
        if f" reaches a {WORDS.get(zone, zone)}" not in answer:
            fail(f"{compiler}, {zone}: {answer}")
        where = re.search(r":(\d+)\)", answer)
        # of some constructs the call is in the line behind, and with gfortran in the loop before
        if where and abs(int(where[1]) - lines[zone]) > (3 if compiler == "gfortran" else 1):
            fail(f"{compiler}, {zone}: not line {lines[zone]}: {answer}")
        if zone not in ("parallel", "task") and not where:
            fail(f"{compiler}, {zone}: no line: {answer}")
        # libgomp gives a section to who asks: others, who run on, took them all, and more
        if zone == "sections" and "clang" not in compiler and "in sections (section 1)" not in (answer := console.do("opm step")):
            fail(f"{compiler}: step into the sections: {answer}")
    console.do("dcont")
    console.end("quit")
    with open("result", encoding="utf-8") as file:
        if file.read() != f"{DONE}\n":
            fail(f"{compiler}: the program's result is not {DONE}")


def hoisted():
    """Where a loop that is not seen may come first, nothing runs; who goes on nevertheless ends with the region at the latest."""
    with open("hoisted.c", "w", encoding="utf-8") as file:
        file.write(HOISTED)
    subprocess.run(["gcc", "-g", "-O2", "-fopenmp", "-o", "hoisted", "hoisted.c"], check=True)
    console = LiveConsole("-o", "trace.tgt", "--force", "--", "./hoisted", stderr=subprocess.DEVNULL)
    first = console.do("opm next loop")
    if not re.search(r"reaches a loop in main\._omp_fn\.0 \(hoisted\.c:\d+\)", first) or "passed" in first:
        fail(f"the first loop: {first}")
    before = console.command("dfocus g1 {dwhere}")["text"]
    answer = console.command("opm next loop")
    if answer["ok"] or not re.search(r"nothing was run: a loop that cannot be seen may come first, .*: hoisted\.c:9\b.*; "
                                     r"`dbreak hoisted\.c#10` stops there, and --force", answer["error"]["message"]):
        fail(f"loops that GCC hoists: {answer}")
    if (after := console.command("dfocus g1 {dwhere}")["text"]) != before:
        fail(f"something ran: {before}, {after}")
    answer = console.command("opm next --force loop")
    if answer["ok"] or not re.search(r"no loop was seen up to the end of the region in main\._omp_fn\.0 .*as in hoisted\.c:9, "
                                     r"hoisted\.c:12; `dbreak hoisted\.c#10` stops at one", answer["error"]["message"]):
        fail(f"loops that GCC hoists: {answer}")
    if "behind = 0" not in console.do("dprint behind"):
        fail("past the region")
    console.end("quit")


def masters():
    """GCC's optimised code: each master is stopped at before its work, or nothing runs. And one behind a single without a barrier,
    which thread 0 has executed; one that is met again and again."""
    with open("masters.c", "w", encoding="utf-8") as file:
        file.write(MASTERS)
    lines = {int(mark[1]): i for i, line in enumerate(MASTERS.splitlines(), 1) if (mark := re.search(r"/\* (\d) \*/", line))}
    for level, n_stops in (("-O0", 5), ("-O1", 1)):
        subprocess.run(["gcc", "-g", level, "-fopenmp", "-o", "masters", "masters.c"], check=True)
        console = LiveConsole("-o", "trace.tgt", "--force", "--", "./masters", stderr=subprocess.DEVNULL)
        for number in range(1, n_stops + 1):
            answer, done = console.do("opm next master"), console.do("dprint done")
            if f"(masters.c:{lines[number]})" not in answer or done != f"done = {number - 1}":
                fail(f"{level}: master {number}: {answer}, {done}")
        if level == "-O0":
            console.do(f"dbreak masters.c#{lines[5] - 1} -if {{round == 400}}")
            console.do("dcont")
            answer, done = console.do("opm next master"), console.do("dprint done")
            if f"(masters.c:{lines[5]})" not in answer or done != "done = 404":
                fail(f"a master that was met often: {answer}, {done}")
        else:
            answer = console.command("opm next master")
            if answer["ok"] or f"masters.c:{lines[2]}" not in answer["error"]["message"]:
                fail(f"{level}: not refused: {answer}")
        console.end("quit")
    # one for another thread
    with open("masked.c", "w", encoding="utf-8") as file:
        file.write("int main(void)\n{\n#pragma omp parallel num_threads(2)\n#pragma omp masked filter(1)\n    __asm__ volatile(\"\");\n}\n")
    subprocess.run(["gcc", "-g", "-O0", "-fopenmp", "-o", "masked", "masked.c"], check=True)
    console = LiveConsole("-o", "trace.tgt", "--force", "--", "./masked", stderr=subprocess.DEVNULL)
    answer = console.do("opm next master")
    if not re.search(r"thread 1\.2 reaches a master in main\._omp_fn\.0 \(masked\.c:[45]\)", answer):
        fail(f"masked for another thread: {answer}")
    console.end("quit")
    # nothing is known of it
    subprocess.run(["gcc", "-O1", "-fopenmp", "-o", "masters", "masters.c"], check=True)
    console = LiveConsole("-o", "trace.tgt", "--force", "--", "./masters", stderr=subprocess.DEVNULL)
    answer = console.command("opm next master")
    if answer["ok"] or "nothing was run: masters has no debug information" not in answer["error"]["message"]:
        fail(f"without debug information: {answer}")
    console.do("opm next --force master")
    console.end("quit")


def within(compiler):
    """`opm step` goes into the task, or the nested region, that `opm next` has come to: the single around was entered before."""
    build("table.c", WITHIN, compiler)
    console = LiveConsole("-o", "trace.tgt", "--force", "--", "./table", stderr=subprocess.DEVNULL)
    console.do("opm start")
    if compiler == "gcc" and not re.search(r"^> +\d+  (#pragma omp parallel|\{)", listed := console.do("dlist"), re.M):
        fail(f"dlist of a thread that waits in the agent: {listed}")
    for zone, words in (("task", r"worker 1: in task 1"), ("parallel", r"worker 1: in the body of a parallel region")):
        console.do(f"opm next {zone}")
        answer = console.do("opm step")
        if not re.search(words, answer):
            fail(f"{compiler}: step into a {zone} within a single: {answer}")
    console.end("quit")


def nested(compiler):
    """`barrier pass` of everybody goes past the inner team's barrier, and leaves the outer one's, which waits for it. A run whose
    current thread ends, as an inner team's do, goes on to where somebody comes."""
    build("table.c", NESTED, compiler)
    console = LiveConsole("-o", "trace.tgt", "--force", "--", "./table", stderr=subprocess.DEVNULL)
    console.do("opm start")
    console.do("dfocus g1 {opm next barrier}")
    console.do("dfocus g1 {opm next barrier}")  # the outer team's, and then the inner one's
    outer = [worker["tid"] for worker in console.command("info workers -list")["data"] if len(worker["places"]) == 2][0]
    dtid = [thread["dtid"] for thread in console.command("dfocus a dstatus")["data"] if thread["tid"] == outer][0]
    answer = console.command(f"dfocus d1.{dtid} {{opm barrier pass}}")
    if answer["ok"] or "is at a barrier, but another one is" not in answer["error"]["message"]:
        fail(f"{compiler}: barrier pass of who waits for an inner team: {answer}")
    answer = console.do("dfocus g1 {opm barrier pass}")
    if "2 of 2 workers are out" not in answer or "1 outer team, which waits for workers of these, was left at the barrier" not in answer:
        fail(f"{compiler}: barrier pass of nested teams: {answer}")
    console.do("dfocus g1.3")
    answer = console.do("opm next critical")
    if "reaches a critical section" not in answer:
        fail(f"{compiler}: the current thread has ended: {answer}")
    # a focus that is a set has the current worker of before, where that is in it
    answer = console.do("dfocus a {opm all_out}")
    if "2 of 2 workers are out" not in answer:
        fail(f"{compiler}: all_out of everybody: {answer}")
    console.end("quit")


def kept():
    """What is not found for another reason does not end the thread that is the focus."""
    build("table.c", C, "gcc")
    console = LiveConsole("-o", "trace.tgt", "--force", "--", "./table", stderr=subprocess.DEVNULL)
    console.do("opm next barrier")
    console.do("dfocus d1.2")
    answer = console.command("dprint nosuch")
    if answer["ok"] or "nosuch" not in answer["error"]["message"]:
        fail(f"a variable that there is not: {answer}")
    if (focus := console.do("dfocus")) != "d1.2":
        fail(f"the focus is {focus} because a variable was not found")
    console.end("quit")


def killed():
    """SIGKILL comes while a worker waits at a gate, for another one that is stopped."""
    build("table.c", C, "gcc")
    with open("result", "wb") as result:
        console = LiveConsole("-o", "killed.tgt", "--force", "--", "./table", stderr=result)
    console.do("opm next barrier")
    pid = console.command("dfocus a dstatus")["data"][0]["pid"]
    console.process.stdin.write(b'{"id": 99, "command": "dfocus t1.1 {opm next task}"}\n')
    console.process.stdin.flush()
    await_true(lambda: "S" in (status_of(pid, pid) or {"State": "-"})["State"], "nobody runs")
    console.process.send_signal(signal.SIGKILL)
    console.process.wait()
    await_true(lambda: (status := status_of(pid, pid)) is None or status["State"][0] in "ZX", "the program is left", 20)
    done = subprocess.run([TOLLGATE, "recover", "-o", "saved.tgt", "killed.tgt.incomplete"], capture_output=True, text=True, check=False)
    said = subprocess.run([TOLLGATE, "dump", "--kind", "omp_sync_begin", "saved.tgt"], capture_output=True, text=True, check=False)
    if "sync=barrier instance=1" not in said.stdout:
        fail(f"killed: {done.stdout} {done.stderr} {said.stdout} {said.stderr}")


def main():
    os.environ.update(OMP_WAIT_POLICY="passive", KMP_BLOCKTIME="0")
    for source, text, compilers in PROGRAMS.values():
        for compiler in compilers:
            table(source, text, compiler)
    hoisted()
    masters()
    within("gcc")
    within("clang")
    nested("gcc")
    nested("clang")
    kept()
    killed()


main()
