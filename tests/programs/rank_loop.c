/* Rank 2 never comes to the barrier in which the others wait. */
#include <mpi.h>
#include <stdio.h>

static volatile int sink;

static __attribute__((noinline)) void spin(void)
{
    puts("ready");
    fflush(stdout);
    for (;;)
        sink++; /* SPIN */
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 2)
        spin();
    MPI_Barrier(MPI_COMM_WORLD); /* BARRIER */
    MPI_Finalize();
    return 0;
}
