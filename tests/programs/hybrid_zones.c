/* An MPI + OpenMP program that tells what it does. usage: hybrid_zones THREADS ROUNDS
 * Each line: "rank R entries N sum S": entries into the critical, and what all ranks agree on. */
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 2, rounds = argc > 2 ? atoi(argv[2]) : 3;
    int rank, size, provided, entries = 0;
    double sum = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int round = 0; round < rounds; round++) {
        double mine = 0, got = 0, all;
#pragma omp parallel num_threads(threads)
        {
#pragma omp for schedule(dynamic) reduction(+ : mine)
            for (int i = 0; i < 64; i++)
                mine += rank + i;
#pragma omp critical(counting)
            entries++;
#pragma omp barrier
        }
        MPI_Sendrecv(&mine, 1, MPI_DOUBLE, (rank + 1) % size, round, &got, 1, MPI_DOUBLE,
                     (rank + size - 1) % size, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Allreduce(&got, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        sum += all;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    printf("rank %d entries %d sum %.0f\n", rank, entries, sum);
    MPI_Finalize();
    return 0;
}
