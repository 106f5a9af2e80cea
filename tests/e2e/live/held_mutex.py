#!/usr/bin/env python3
"""A member of a barrier that waits for a mutex whose owner is held at that barrier: a wait that lasts says so, for mutexes of
pthreads (by memory) and OpenMP's critical sections and locks (by events). And one that waits for work, which only a thread that is
held there could give it, with both runtimes."""
import os
import re
import shutil
import subprocess

from recording import TOLLGATE, check

SOURCE = """\
#include <omp.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static omp_lock_t lock;
static volatile int is_in, total;
void ready(void)
{
    total++;
}
void meet(int who)
{
    total += who;
}
static void await(void)
{
    while (!is_in)
        usleep(1000);
}
static void *other(void *context)
{
    await();
    pthread_mutex_lock(&mutex);
    meet(2);
    pthread_mutex_unlock(&mutex);
    return context;
}
static void by_mutex(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, other, NULL);
    ready();
    pthread_mutex_lock(&mutex);
    is_in = 1;
    meet(1);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
}
static void by_critical(int me)
{
    if (me == 1)
        await();
#pragma omp critical(update)
    {
        is_in = 1;
        meet(me);
    }
}
static void by_lock(int me)
{
    if (me == 1)
        await();
    omp_set_lock(&lock);
    is_in = 1;
    meet(me);
    omp_unset_lock(&lock);
}
static void by_work(void)
{
#pragma omp parallel num_threads(2)
    {
#pragma omp atomic
        total++;
    }
    ready();
    meet(1);
}
int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "work") == 0) {
        by_work();
        return 0;
    }
    if (argc < 2 || strcmp(argv[1], "mutex") == 0) {
        by_mutex();
        return 0;
    }
    omp_init_lock(&lock);
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 0)
            ready();
#pragma omp barrier
        if (strcmp(argv[1], "critical") == 0)
            by_critical(omp_get_thread_num());
        else
            by_lock(omp_get_thread_num());
    }
    return 0;
}
"""
SCRIPT = """
dbreak ready
dfocus a {dgo; dwait}
dfocus gW1 {dbarrier meet -stop_when_hit none}
dfocus a {dgo; dwait -timeout 100}
"""


def begin(how):
    program = "held_clang" if how == "work_clang" else "held"
    return subprocess.Popen([TOLLGATE, "live", "-o", f"{how}.tgt", "-x", "held.tcl", "--", os.path.abspath(program), how.split("_")[0]],
                            text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def main():
    with open("held.c", "w", encoding="utf-8") as file:
        file.write(SOURCE)
    with open("held.tcl", "w", encoding="utf-8") as file:
        file.write(SCRIPT)
    subprocess.run(["gcc", "-g", "-O0", "-fopenmp", "-pthread", "held.c", "-o", "held"], check=True)
    expected = {
        "mutex": r"thread 2 runs.*; it waits for the mutex at 0x[0-9a-f]+, whose owner is thread 1; thread 1, held at this barrier, owns it",
        "critical": r"waiting to enter the critical section update.*; worker 1, held at this barrier, is inside it",
        "work": r"thread 2 runs; it waits for work, and worker 1, held at this barrier, has begun no region",
        "lock": r"waiting to enter the lock lock.*; worker 1, held at this barrier, is inside it",
    }
    if shutil.which("clang") is not None:
        subprocess.run(["clang", "-g", "-O0", "-fopenmp", "-pthread", "held.c", "-o", "held_clang"], check=True)
        expected["work_clang"] = expected["work"]
    sessions = {how: begin(how) for how in expected}
    for how, session in sessions.items():
        said = ""
        told = expected[how] + r".*as long as it is held there the barrier may never be satisfied, `ddelete 2` releases all"
        while not re.search(told, said):  # what is not in the trace yet, on a busy machine, is told later
            line = session.stdout.readline()
            check(line != "", how, said)
            said += line
        session.terminate()
        session.communicate(timeout=60)


main()
