/*
 * For tests of barriers of live control: an MPI job, whose ranks have a team of four threads each, which all
 * call before(), work() and after().
 */
#include <mpi.h>
#include <omp.h>

static volatile int passed;

__attribute__((noinline)) static void before(int thread)
{
    passed += thread;
}

__attribute__((noinline)) static void work(int thread)
{
    passed += thread; /* line of work */
}

__attribute__((noinline)) static void after(int thread)
{
    passed += thread;
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
#pragma omp parallel num_threads(4)
    {
        before(omp_get_thread_num());
        work(omp_get_thread_num());
        after(omp_get_thread_num());
    }
    MPI_Finalize();
    return 0;
}
