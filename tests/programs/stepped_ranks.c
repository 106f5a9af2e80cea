/* Two ranks of two threads, to be stepped together. */
#include <mpi.h>

static volatile long total;

static long leaf(long x)
{
    return 2 * x; /* leaf 1 */
}

static void work(int rank)
{
    long before = total; /* work 1 */
#pragma omp parallel num_threads(2)
    {
        long mine = leaf(rank);
#pragma omp atomic
        total += mine;
    }
    total += before;
}

int main(int argc, char **argv)
{
    int rank, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    work(rank);                                                      /* main 1 */
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* main 2 */
    MPI_Barrier(MPI_COMM_WORLD);                                     /* main 3 */
    work(rank);                                                      /* main 4 */
    MPI_Finalize();
    return 0;
}
