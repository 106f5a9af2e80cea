/* Ranks that hang in calls of MPI which a library makes for them, or crash in a function of libc.
 *
 * usage: own_code receive|leave|crash */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void wrapped_receive(int *data, int from);
void wrapped_barrier(void);

static char *volatile nothing;

static void measure(void)
{
    printf("%zu\n", strlen(nothing)); /* the crash */
}

static void leave(void)
{
    pause(); /* the pause */
}

int main(int argc, char **argv)
{
    int rank, data = 0;
    const char *way = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    wrapped_barrier();
    (void)!nice(19); /* who waits spins, and takes nothing from others */
    printf("rank %d is there\n", rank);
    fflush(stdout);
    if (strcmp(way, "receive") == 0)
        wrapped_receive(&data, 1 - rank); /* the receive */
    else if (strcmp(way, "leave") == 0 && rank == 1)
        leave();
    else if (strcmp(way, "crash") == 0 && rank == 1)
        measure();
    wrapped_barrier();
    MPI_Finalize();
    return data;
}
