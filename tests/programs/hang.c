/*
 * An MPI + OpenMP program that never ends, or crashes. usage: hang barrier|receive|critical|crash
 * Rank 1 is the culprit; every rank says "rank R is there" when it is where it stays. Lines with "culprit"
 * are what a post-mortem has to name.
 */
#include <mpi.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int rank;

static void say_there(void)
{
    char line[64];
    int length = snprintf(line, sizeof line, "rank %d is there\n", rank);
    if (write(STDOUT_FILENO, line, (size_t)length) < 0)
        _exit(9);
}

static void *say_there_later(void *unused)
{
    usleep(300000); /* the thread that blocks cannot say that it does */
    say_there();
    return unused;
}

static void announce(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, say_there_later, NULL);
    pthread_detach(thread);
}

static __attribute__((noinline)) void wait_for_ever(void)
{
    for (;;)
        pause();
}

static void stay_in_critical(void)
{
#pragma omp parallel num_threads(3)
    {
        if (omp_get_thread_num() == 1) {
#pragma omp critical(stuck)
            {
                announce();
                wait_for_ever(); /* culprit */
            }
        }
#pragma omp barrier
    }
}

static void crash_in_a_thread(void)
{
#pragma omp parallel num_threads(3)
    {
#pragma omp barrier
        if (omp_get_thread_num() == 2) {
#pragma omp critical(dangerous)
            raise(SIGSEGV); /* culprit */
        }
#pragma omp barrier
    }
}

int main(int argc, char **argv)
{
    int number = 0, provided;
    const char *how = argc > 1 ? argv[1] : "barrier";
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1 && strcmp(how, "receive") == 0) {
        announce();
        MPI_Recv(&number, 1, MPI_INT, 2, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* culprit */
    } else if (rank == 1 && strcmp(how, "critical") == 0) {
        stay_in_critical();
    } else if (rank == 1 && strcmp(how, "crash") == 0) {
        crash_in_a_thread();
    } else if (rank == 1) {
        announce();
        wait_for_ever(); /* culprit of barrier */
    }
    announce();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
