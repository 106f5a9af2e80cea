/* Ranks whose first threads wait for each other's message, each with a second thread that computes, and then sends what the other
 * rank waits for where it may.
 *
 * usage: mpi_threads LEVEL: 0 MPI_THREAD_SINGLE (by MPI_Init) to 3 MPI_THREAD_MULTIPLE */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { COMPUTES_S = 100, TAG = 5 };

static int rank, level;

static void *compute(void *unused)
{
    volatile double sum = 0;
    for (time_t begun = time(NULL); time(NULL) < begun + COMPUTES_S;)
        for (int i = 1; i < 1000000; i++)
            sum += 1.0 / i; /* the work */
    if (level >= MPI_THREAD_SERIALIZED)
        MPI_Send(&rank, 1, MPI_INT, 1 - rank, TAG, MPI_COMM_WORLD);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    int other, required = argc > 1 ? atoi(argv[1]) : 0;
    if (required == 0)
        MPI_Init(&argc, &argv);
    else
        MPI_Init_thread(&argc, &argv, required, &level);
    MPI_Query_thread(&level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    pthread_create(&thread, NULL, compute, NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d is there, level %d\n", rank, level);
    fflush(stdout);
    MPI_Recv(&other, 1, MPI_INT, 1 - rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* the wait */
    pthread_join(thread, NULL);
    MPI_Finalize();
    return 0;
}
