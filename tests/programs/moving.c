/* An MPI job that goes on for ever, and looks as if it did not. usage: moving HOW; each rank says "rank R is there".
 * pingpong: two ranks send to each other, from a loop that leaves no mark on its stack
 * rounds: alternate collective calls, between which one rank sleeps at one place */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static __attribute__((noinline)) void send_and_receive(int other)
{
    static int ball;
    for (;;) {
        MPI_Send(&ball, 1, MPI_INT, other, 5, MPI_COMM_WORLD);
        MPI_Recv(&ball, 1, MPI_INT, other, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* waits for the first */
    }
}

static __attribute__((noinline)) void receive_and_send(int other)
{
    static int ball;
    for (;;) {
        MPI_Recv(&ball, 1, MPI_INT, other, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&ball, 1, MPI_INT, other, 5, MPI_COMM_WORLD);
    }
}

static void go_round(int rank)
{
    static double sum, mine = 1;
    for (;;) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 1)
            usleep(20000);
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    char line[64];
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    int length = snprintf(line, sizeof line, "rank %d is there\n", rank);
    if (argc != 2 || write(STDOUT_FILENO, line, (size_t)length) < 0)
        return 9;
    if (strcmp(argv[1], "rounds") == 0)
        go_round(rank);
    if (rank == 0)
        send_and_receive(1);
    if (rank == 1)
        receive_and_send(0);
    MPI_Barrier(MPI_COMM_WORLD); /* the others wait for the end that does not come */
    return 0;
}
