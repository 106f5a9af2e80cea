/* A program for tools to watch: a token goes round ROUNDS times, with a barrier and a sum after each. */
#include <mpi.h>
#include <stdio.h>

enum { ROUNDS = 5 };

int main(int argc, char **argv)
{
    int rank, size, token = 0, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < ROUNDS; i++) {
        if (rank == 0)
            MPI_Send(&token, 1, MPI_INT, 1 % size, i, MPI_COMM_WORLD);
        MPI_Recv(&token, 1, MPI_INT, (rank + size - 1) % size, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        token += rank;
        if (rank != 0)
            MPI_Send(&token, 1, MPI_INT, (rank + 1) % size, i, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("%d %d\n", token, sum);
    MPI_Finalize();
    return 0;
}
