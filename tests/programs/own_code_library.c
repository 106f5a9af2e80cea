/* A library without debug information, through which own_code calls MPI. */
#include <mpi.h>

void wrapped_receive(int *data, int from);
void wrapped_barrier(void);

static volatile int calls; /* so that no call is the last thing that a function does */

void wrapped_receive(int *data, int from)
{
    MPI_Recv(data, 1, MPI_INT, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    calls++;
}

void wrapped_barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    calls++;
}
