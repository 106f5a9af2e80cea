#!/usr/bin/env python3
"""`opm` commands whose zone nobody can come to any more, as threads or ranks wait for each other: each ends by itself and says who
waits for whom, also where another thread of the program sleeps, or others compute; also as the first command, at a program, a shell or a
launcher that has not begun, and where a parent waits for its child. opm_deadlock.py gcc|clang|openmpi|mpich"""
import os
import subprocess
import sys

from live_console import LiveConsole, fail
from mpi_job import ENVIRONMENT, flavour_named, job

PROGRAM = r"""
#include <omp.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static omp_lock_t locks[4];
static volatile double sum;
static void *sleeper(void *none) { pause(); return none; }
int main(int argc, char **argv)
{
    int way = argc > 1 ? atoi(argv[1]) : 0;
    pthread_t thread;
    pthread_create(&thread, NULL, sleeper, NULL);
    for (int i = 0; i < 4; i++)
        omp_init_lock(&locks[i]);
#pragma omp parallel num_threads(6) /* two of them are in the runtime's pool afterwards */
    sum = 0;
#pragma omp parallel num_threads(4)
    {
        int me = omp_get_thread_num();
        (void)!nice(19); /* who computes, or spins, takes nothing from others */
        if (way == 0) { /* all in a ring */
            omp_set_lock(&locks[me]);
#pragma omp barrier
            omp_set_lock(&locks[(me + 1) % 4]);
        } else if (way == 1) { /* a lock over a barrier */
            if (me == 0)
                omp_set_lock(&locks[0]);
#pragma omp barrier
            if (me == 1)
                omp_set_lock(&locks[0]);
#pragma omp barrier
        } else if (way == 2) { /* a task that waits for who waits for it */
#pragma omp single
            {
                omp_set_lock(&locks[0]);
#pragma omp task
                omp_set_lock(&locks[0]);
#pragma omp taskwait
            }
        } else { /* a ring of two, and the others compute */
            if (me < 2)
                omp_set_lock(&locks[me]);
#pragma omp barrier
            if (me < 2)
                omp_set_lock(&locks[1 - me]);
            else
                for (;;)
                    sum += 1;
        }
#pragma omp critical
        sum += 1;
    }
    return 0;
}
"""
SELF_PROGRAM = r"""
#include <omp.h>
int main(void)
{
    omp_lock_t lock;
    omp_init_lock(&lock);
    omp_set_lock(&lock);
    omp_set_lock(&lock);
#pragma omp parallel num_threads(2)
    omp_destroy_lock(&lock);
    return 0;
}
"""
PARENT_PROGRAM = r"""
#include <sys/wait.h>
#include <unistd.h>
static volatile int sum;
static void begin(void) { sum++; }
int main(void)
{
#pragma omp parallel num_threads(1)
    sum++;
    pid_t child = fork();
    if (child == 0) {
        begin();
#pragma omp parallel num_threads(2)
#pragma omp critical
        sum++;
        _exit(0);
    }
    waitpid(child, NULL, 0);
#pragma omp parallel num_threads(2)
#pragma omp critical
    sum++;
    return 0;
}
"""
EARLY_PROGRAM = r"""
#include <mpi.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    int rank, size, value = 0;
    MPI_Init(&argc, &argv);
    (void)!nice(19); /* as above */
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank < size - atoi(argv[1]))
        MPI_Recv(&value, 1, MPI_INT, size == 1 ? 0 : rank ^ 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (time_t end = time(NULL) + 3; time(NULL) < end;) /* a wait is told when it has lasted a second */
        ;
#pragma omp parallel num_threads(2)
    value++;
    MPI_Finalize();
    return 0;
}
"""
MPI_PROGRAM = r"""
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    int rank, size, provided, value = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    (void)!nice(19); /* as above */
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
#pragma omp parallel num_threads(2)
    {
#pragma omp master
        {
            if (atoi(argv[1]) == 0) /* a ring */
                MPI_Recv(&value, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            else if (rank == 0) /* one in another collective */
                MPI_Bcast(&value, 1, MPI_INT, 1, MPI_COMM_WORLD);
            MPI_Barrier(MPI_COMM_WORLD);
        }
#pragma omp barrier
#pragma omp critical
        value++;
    }
    MPI_Finalize();
    return 0;
}
"""


def refused(console, command, *words):
    """COMMAND ends by itself, with an error that has WORDS."""
    answer = console.command(command, interrupt_s=60)
    message = answer["text"] if answer["ok"] else answer["error"]["message"]
    if answer["ok"] or "interrupted" in message or any(word not in message for word in words):
        fail(f"{command}: {answer}")


def refused_first(command, job_command, *words, stderr=subprocess.DEVNULL):
    """COMMAND, as the first of a session, ends by itself: the job deadlocks before any region."""
    console = LiveConsole("-o", "trace.tgt", "--force", "--", *job_command, stderr=stderr)
    refused(console, command, *words)
    console.end("quit")


def in_team(way):
    """A console whose second team is stopped at its first barrier, or at its single."""
    console = LiveConsole("-o", "trace.tgt", "--force", "--", "./program", str(way), stderr=subprocess.DEVNULL)
    console.do("opm start")
    console.do("opm start --force")
    return console


def one_team(compiler):
    with open("program.c", "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    subprocess.run([compiler, "-g", "-O1", "-fopenmp", "-pthread", "-o", "program", "program.c"], check=True)
    nobody = "no thread can arrive. Deadlock in process"
    with open("self.c", "w", encoding="utf-8") as file:
        file.write(SELF_PROGRAM)
    subprocess.run([compiler, "-g", "-O1", "-fopenmp", "-o", "self", "self.c"], check=True)
    refused_first("opm start", ["./self"], nobody, "which it already holds")
    refused_first("opm next barrier", ["sh", "-c", "./self; true"], nobody, "which it already holds")
    ring = in_team(0)
    refused(ring, "opm next single", nobody, "waiting for the lock locks")
    refused(ring, "opm next critical", nobody)  # and once more, where all stand in it
    answer = ring.do("opm all_out")
    if "cannot arrive: it is in a deadlock, or waits for one who is\n" not in answer or "Deadlock in process" not in answer:
        fail(f"all_out: {answer}")
    ring.end("quit")
    over_barrier = in_team(1)
    refused(over_barrier, "opm next task", nobody, "waiting at the barrier", "2 more are waiting for them")
    answer = over_barrier.do("opm barrier pass")
    if answer.count("cannot arrive: it is in a deadlock, or waits for one who is") != 4:
        fail(f"barrier pass: {answer}")
    over_barrier.end("quit")
    task = in_team(2)
    refused(task, "opm next sections", nobody, "waiting for the lock locks")  # whoever runs the task
    task.end("quit")
    two = in_team(3)
    two.do("opm next barrier")
    two.do("opm barrier pass")
    two.do("dfocus d1.1")
    refused(two, "opm step", nobody)
    # the others may still come, for all that is known: that is said, and the wait is the user's
    told = "2 threads cannot arrive, and others may. Deadlock in process"
    answer = two.command("dfocus g1 {opm next critical}", interrupt_s=60, interrupt_when=lambda: told in str(two.events))
    if told not in str(two.events) or "interrupted" not in str(answer):
        fail(f"what cannot come is not told: {answer} {two.events}")
    two.end("quit")


def parent(compiler):
    """A parent that waits for its child to end comes nowhere while that one waits for it."""
    with open("parent.c", "w", encoding="utf-8") as file:
        file.write(PARENT_PROGRAM)
    subprocess.run([compiler, "-g", "-O0", "-fopenmp", "-o", "parent", "parent.c"], check=True)
    console = LiveConsole("-o", "trace.tgt", "--force", "--", "./parent", stderr=subprocess.DEVNULL)
    console.do("dbreak begin -stop_when_hit group")
    console.do("dfocus p1 dcont")
    console.do("ddelete -a")
    console.do("dfocus a")
    answer = console.command("opm next -each critical", interrupt_s=60)
    if not answer["ok"] or "1 of 2 processes are there\n" not in answer["text"]:
        fail(f"parent: {answer}")
    console.end("quit")


def ranks(flavour):
    os.environ.update(ENVIRONMENT)
    with open("ranks.c", "w", encoding="utf-8") as file:
        file.write(MPI_PROGRAM)
    subprocess.run([flavour.c, "-g", "-O1", "-fopenmp", "-o", "ranks", "ranks.c"], check=True)
    for way, words in (("0", "Deadlock in a cycle of rank"), ("1", "Mismatched collective calls")):
        console = LiveConsole("-o", "trace.tgt", "--force", "--", *job(flavour, os.path.abspath("ranks"), way, ranks=3),
                              stderr=subprocess.DEVNULL)
        console.do("opm start -each")
        refused(console, "opm next critical", "no thread can arrive. " + words)
        console.end("quit")


def before_regions(flavour):
    """Ranks of which all, or all but one, wait for each other before any of them comes to a region."""
    with open("early.c", "w", encoding="utf-8") as file:
        file.write(EARLY_PROGRAM)
    subprocess.run([flavour.c, "-g", "-O1", "-fopenmp", "-o", "early", "early.c"], check=True)
    early = os.path.abspath("early")
    two = "no thread can arrive. Deadlock between rank 0 and rank 1"
    refused_first("opm start", job(flavour, early, "0", ranks=2), two)
    refused_first("opm start", job(flavour, "env", early, "0", ranks=2), two)
    refused_first("opm step", job(flavour, early, "0", ranks=2), two)
    refused_first("opm start", [early, "0"], "no thread can arrive. Deadlock of one with itself")
    for command, words in (("opm start", "reaches a parallel region"), ("opm step", "in the body of a parallel region")):
        # the third one is outside MPI, and comes
        console = LiveConsole("-o", "trace.tgt", "--force", "--", *job(flavour, early, "1", ranks=3), stderr=subprocess.DEVNULL)
        answer = console.command(command, interrupt_s=60)
        if not answer["ok"] or words not in answer["text"]:
            fail(f"{command}: {answer}")
        console.end("quit")


def main():
    os.environ.update(OMP_WAIT_POLICY="passive", KMP_BLOCKTIME="0")
    if sys.argv[1] in ("gcc", "clang"):
        one_team(sys.argv[1])
        parent(sys.argv[1])
    else:
        ranks(flavour_named(sys.argv[1]))
        before_regions(flavour_named(sys.argv[1]))


main()
