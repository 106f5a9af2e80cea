/* A ring of ranks that exchange messages with both neighbours. usage: halo HOW. Rank 1 says that it is there, and stops doing so
 * (halo; any: of the others, each request is waited for by itself), or sends one message with another tag (tags). */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void *say_there_later(void *unused)
{
    static const char line[] = "rank 1 is there\n";
    usleep(300000); /* the thread that blocks cannot say that it does */
    if (write(STDOUT_FILENO, line, sizeof line - 1) < 0)
        _exit(9);
    return unused;
}

static void announce(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, say_there_later, NULL);
    pthread_detach(thread);
}

static __attribute__((noinline)) void exchange(int rank, const char *how)
{
    enum { LAST = 3 };
    int size, sent[2] = {rank, rank}, received[2];
    MPI_Request requests[4];
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    for (int round = 0;; round++) {
        int is_culprit = rank == 1 && round == LAST, to_right = 10 + 2 * round, to_left = to_right + 1;
        if (is_culprit)
            announce();
        while (is_culprit && strcmp(how, "tags") != 0)
            pause();
        MPI_Irecv(&received[0], 1, MPI_INT, left, to_right, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(&received[1], 1, MPI_INT, right, to_left, MPI_COMM_WORLD, &requests[1]);
        MPI_Isend(&sent[0], 1, MPI_INT, right, is_culprit ? 99 : to_right, MPI_COMM_WORLD, &requests[2]);
        MPI_Isend(&sent[1], 1, MPI_INT, left, to_left, MPI_COMM_WORLD, &requests[3]);
        for (int i = 0, which; strcmp(how, "any") == 0 && i < 4; i++)
            MPI_Waitany(4, requests, &which, MPI_STATUS_IGNORE); /* culprit of any */
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);           /* culprit of halo */
    }
}

int main(int argc, char **argv)
{
    int rank, provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    exchange(rank, argc > 1 ? argv[1] : "halo");
    return 0;
}
