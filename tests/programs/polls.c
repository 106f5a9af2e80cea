/* Rank 0 polls for what rank 1 sends, by three functions from five places, and says how often it called each. One row of polls
 * takes longer than it takes the agent to tell that a row goes on; one is the last that its thread does. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { ROUNDS = 5, LONG_ROUND = 2 };

static void answer(int round)
{
    int number = round;
    usleep(2000);
    MPI_Send(&number, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    usleep(round == LONG_ROUND ? 300000 : 1000);
    MPI_Send(&number, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
    usleep(500);
    MPI_Send(&number, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void *poll_and_end(void *probes)
{
    for (int i = 0, found; i < 1000; i++, ++*(long *)probes)
        MPI_Iprobe(1, 99, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    return NULL;
}

int main(int argc, char **argv)
{
    int rank, found, number, provided;
    long tests = 0, probes = 0, all = 0;
    pthread_t thread;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        if (rank == 1) {
            answer(round);
            continue;
        }
        MPI_Irecv(&number, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &requests[0]);
        for (found = 0; !found; tests++)
            MPI_Test(&requests[0], &found, MPI_STATUS_IGNORE);
        for (found = 0; !found; probes++) {
            MPI_Iprobe(1, 99, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE); /* never there */
            probes++;
            MPI_Iprobe(1, 2, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
        }
        MPI_Recv(&number, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Irecv(&number, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, &requests[0]);
        for (found = 0; !found; all++)
            MPI_Testall(2, requests, &found, MPI_STATUSES_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (rank == 0 && provided == MPI_THREAD_MULTIPLE &&
        pthread_create(&thread, NULL, poll_and_end, &probes) == 0)
        pthread_join(thread, NULL);
    if (rank == 0)
        printf("MPI_Test %ld\nMPI_Iprobe %ld\nMPI_Testall %ld\n", tests, probes, all);
    MPI_Finalize();
    return 0;
}
