/* Cost of a call of MPI: "NAME NS CALLS" for each kind, by rank 0. Those "alone" need no other process, so
 * that they show what is put around a call; the others are what programs do, between two ranks. Calls come in
 * bursts that a recorder has time to read between: the figure is the median of all bursts, so that it is the
 * program's cost, not that of waiting for a recorder that shares two cores with it.
 *
 * usage: mpi_bench [NAME...] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BURSTS = 100, IN_BURST = 1000, PAUSE_US = 3000 };

static int rank, other;
static MPI_Comm alone;
static double word[2];

static void barrier_alone(void)
{
    MPI_Barrier(alone);
}

static void allreduce_alone(void)
{
    MPI_Allreduce(&word[0], &word[1], 1, MPI_DOUBLE, MPI_SUM, alone);
}

static void send_nobody(void)
{
    MPI_Send(word, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
}

static void recv_nobody(void)
{
    MPI_Recv(word, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void iprobe_in_vain(void)
{
    int flag;
    MPI_Iprobe(MPI_ANY_SOURCE, 99, alone, &flag, MPI_STATUS_IGNORE);
}

static void irecv_isend_waitall_alone(void)
{
    MPI_Request requests[2];
    MPI_Irecv(&word[1], 1, MPI_DOUBLE, 0, 0, alone, &requests[0]);
    MPI_Isend(&word[0], 1, MPI_DOUBLE, 0, 0, alone, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

static void ping_pong(void)
{
    if (rank == 0)
        MPI_Send(word, 1, MPI_DOUBLE, other, 0, MPI_COMM_WORLD);
    MPI_Recv(word, 1, MPI_DOUBLE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank != 0)
        MPI_Send(word, 1, MPI_DOUBLE, other, 0, MPI_COMM_WORLD);
}

static const struct {
    const char *name;
    void (*run)(void);
    int calls; /* of MPI in each */
} kinds[] = {
    {"barrier_alone", barrier_alone, 1},
    {"allreduce_alone", allreduce_alone, 1},
    {"send_nobody", send_nobody, 1},
    {"recv_nobody", recv_nobody, 1},
    {"iprobe_in_vain", iprobe_in_vain, 1},
    {"irecv_isend_waitall_alone", irecv_isend_waitall_alone, 3},
    {"barrier", barrier, 1},
    {"ping_pong", ping_pong, 2},
};

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double measure(void (*run)(void))
{
    static double ns[BURSTS];
    for (int i = -1; i < BURSTS; i++) { /* the first one is for the caches */
        MPI_Barrier(MPI_COMM_WORLD);
        double began = MPI_Wtime();
        for (int n = 0; n < IN_BURST; n++)
            run();
        if (i >= 0)
            ns[i] = (MPI_Wtime() - began) / IN_BURST * 1e9;
        usleep(PAUSE_US);
    }
    qsort(ns, BURSTS, sizeof ns[0], compare);
    return ns[BURSTS / 2];
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_SELF, &alone);
    other = 1 - rank;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        int is_wanted = argc < 2;
        for (int a = 1; a < argc; a++)
            is_wanted |= strcmp(argv[a], kinds[i].name) == 0;
        if (!is_wanted)
            continue;
        double ns = measure(kinds[i].run);
        if (rank == 0)
            printf("%s %.2f %d\n", kinds[i].name, ns, kinds[i].calls);
    }
    MPI_Finalize();
    return 0;
}
