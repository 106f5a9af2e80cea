/* Ranks that wait in communicators other than the whole job's. usage: communicators HOW. Rank 1 says that it is there, and stays
 * outside MPI: of a part of the ranks (part), of several kinds (kinds), two of the same ranks (two), or of processes that MPI has
 * not joined (alone, where Open MPI's launcher counts). */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
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

static __attribute__((noinline)) void wait_for_ever(void)
{
    for (;;)
        pause();
}

static void wait_in_vain(void)
{
    announce();
    wait_for_ever();
}

/* Ranks 0 to 2 have a communicator of their own, in which they are counted from the last one on; the others are elsewhere. */
static void wait_in_a_part(int rank)
{
    MPI_Comm part;
    MPI_Comm_split(MPI_COMM_WORLD, rank < 3 ? 0 : MPI_UNDEFINED, -rank, &part);
    if (rank == 1)
        wait_in_vain();
    if (rank == 0)
        MPI_Recv(&rank, 1, MPI_INT, 1, 5, part, MPI_STATUS_IGNORE);
    if (rank < 3)
        MPI_Barrier(part);
    wait_for_ever();
}

/* All wait for rank 1, each in a communicator of another kind: by a request in a part, in a window, in one of two groups. The
 * calls have their line with a branch, and communicators that the program has in variables of its own. */
static MPI_Comm pair, both;
static MPI_Win window;
static int shared[4];

static void wait_in_several(int rank)
{
    MPI_Request request;
    MPI_Comm half, middle;
    MPI_Comm_split(MPI_COMM_WORLD, rank < 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank < 2 ? 2 : 0, 3, &both);
    MPI_Comm_dup(half, &pair);
    MPI_Comm_split(MPI_COMM_WORLD, rank == 1 || rank == 2, rank, &middle);
    MPI_Win_create(shared, sizeof shared, sizeof *shared, MPI_INFO_NULL, middle, &window);
    if (rank == 1)
        wait_in_vain();
    int failed = rank == 0 ? MPI_Ibarrier(pair, &request) : rank == 2 ? MPI_Win_fence(0, window) : 0;
    failed |= rank == 0 ? MPI_Wait(&request, MPI_STATUS_IGNORE) : 0;
    if (failed == 0)
        MPI_Barrier(both);
}

/* Two communicators have the same members, who call them in another order: rank 1 is in the other one. */
static void wait_in_two(int rank)
{
    MPI_Comm first, second;
    MPI_Comm_dup(MPI_COMM_WORLD, &first);
    MPI_Comm_dup(MPI_COMM_WORLD, &second);
    if (rank == 1)
        announce();
    MPI_Barrier(rank == 1 ? second : first);
    MPI_Barrier(rank == 1 ? first : second);
}

/* Optimised, the first function ends with a jump: what it is passed itself is not what the call of MPI is. */
static __attribute__((noipa)) void meet(MPI_Comm other)
{
    (void)other;
    MPI_Barrier(pair);
}

static void wait_behind_a_jump(int rank)
{
    MPI_Comm_split(MPI_COMM_WORLD, rank < 2, rank, &pair);
    if (rank == 1)
        wait_in_vain();
    meet(rank == 0 ? MPI_COMM_WORLD : MPI_COMM_SELF);
    wait_for_ever();
}

/* Each process is rank 0. */
static void wait_alone(void)
{
    const char *number = getenv("OMPI_COMM_WORLD_RANK");
    int unsent;
    if (number != NULL && strcmp(number, "0") == 0)
        wait_for_ever();
    if (number != NULL && strcmp(number, "1") == 0)
        announce();
    MPI_Recv(&unsent, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int rank, provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (argc > 1 && strcmp(argv[1], "part") == 0)
        wait_in_a_part(rank);
    if (argc > 1 && strcmp(argv[1], "kinds") == 0)
        wait_in_several(rank);
    if (argc > 1 && strcmp(argv[1], "two") == 0)
        wait_in_two(rank);
    if (argc > 1 && strcmp(argv[1], "jump") == 0)
        wait_behind_a_jump(rank);
    wait_alone();
    return 0;
}
