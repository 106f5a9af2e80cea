/* A rank that allocates and frees, below a few calls: heap_ranks PAIRS. */
#include <mpi.h>
#include <stdlib.h>

enum {
    LIVE = 64,
    LEAST_BYTES = 50021 /* as nobody else's; the script counts them */,
    SIZES = 500,
    DEPTHS = 4
};

static void *kept[LIVE];

__attribute__((noinline)) static void replace(unsigned n, unsigned depth)
{
    if (depth > 0) {
        replace(n, depth - 1);
        __asm__ volatile("" ::: "memory"); /* no tail call */
        return;
    }
    free(kept[n % LIVE]);
    kept[n % LIVE] = malloc(LEAST_BYTES + n % SIZES);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    unsigned long pairs = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    for (unsigned long i = 0; i < pairs; i++)
        replace((unsigned)i, (unsigned)(i % DEPTHS));
    MPI_Finalize();
    return 0;
}
