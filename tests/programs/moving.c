/* An MPI job that runs for ever, and looks as if it did not, or the other way round. usage: moving HOW; each rank says
 * "rank R is there".
 * pingpong: two ranks send to each other, from a loop that leaves no mark on its stack
 * halo: the same by requests, which are waited for together
 * rounds: alternate collective calls, between which one rank sleeps at one place
 * naps, spins: rank 1 sleeps again and again at one place, or runs one instruction, while the others wait for it
 * polls: rank 1 asks for ever for what nobody sends
 * reduces: ranks are in the program's own function, which MPI_Allreduce has called */
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

static __attribute__((noinline)) void exchange(int other)
{
    static int sent, received;
    static MPI_Request requests[2];
    for (;;) {
        MPI_Irecv(&received, 1, MPI_INT, other, 5, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(&sent, 1, MPI_INT, other, 5, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
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

static __attribute__((noinline)) void take_naps(void)
{
    for (;;)
        usleep(20000); /* culprit of naps */
}

static __attribute__((noinline)) void spin(void)
{
    for (;;)
        __asm__ volatile("1: jmp 1b"); /* culprit of spins */
}

static __attribute__((noinline)) void ask_in_vain(void)
{
    static int ball;
    int has_come = 0;
    MPI_Request request;
    MPI_Irecv(&ball, 1, MPI_INT, 0, 99, MPI_COMM_WORLD, &request);
    while (!has_come)
        MPI_Test(&request, &has_come, MPI_STATUS_IGNORE); /* culprit of polls */
}

static void add_for_ever(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)length, (void)type;
    spin(); /* culprit of reduces */
}

static void reduce(int rank)
{
    double mine = rank, sum = 0;
    MPI_Op op;
    MPI_Op_create(add_for_ever, 1, &op);
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, op, MPI_COMM_WORLD);
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
    if (strcmp(argv[1], "reduces") == 0)
        reduce(rank);
    if (rank == 1 && strcmp(argv[1], "naps") == 0)
        take_naps();
    if (rank == 1 && strcmp(argv[1], "spins") == 0)
        spin();
    if (rank == 1 && strcmp(argv[1], "polls") == 0)
        ask_in_vain();
    if (rank == 0 && strcmp(argv[1], "pingpong") == 0)
        send_and_receive(1);
    if (rank == 1 && strcmp(argv[1], "pingpong") == 0)
        receive_and_send(0);
    if (rank < 2 && strcmp(argv[1], "halo") == 0)
        exchange(!rank);
    MPI_Barrier(MPI_COMM_WORLD); /* the others wait for the end that does not come */
    return 0;
}
