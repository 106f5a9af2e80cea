/* A small hybrid MPI + OpenMP job: heat in a rod, one slab a rank, threads inside a slab; the material is a
 * plug-in that every rank dlopens. Prints one line from rank 0, so runs can be compared.
 *
 *   hybrid [PLUG-IN [STEPS]]    the default plug-in is libhybrid_material.so beside the program */
#include <dlfcn.h>
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS = 20000 };

typedef double material_conduct(double left, double middle, double right);

static void *find_symbol(void *plugin, const char *name, int rank)
{
    void *symbol = plugin == NULL ? NULL : dlsym(plugin, name);
    if (symbol == NULL) {
        fprintf(stderr, "rank %d: %s\n", rank, dlerror());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return symbol;
}

static material_conduct *load_material(int argc, char **argv, int rank)
{
    char path[4096];
    if (argc > 1) {
        snprintf(path, sizeof path, "%s", argv[1]);
    } else {
        const char *slash = strrchr(argv[0], '/');
        int length = slash == NULL ? 0 : (int)(slash - argv[0] + 1);
        snprintf(path, sizeof path, "%.*slibhybrid_material.so", length, argv[0]);
    }
    void *plugin = dlopen(path, RTLD_NOW);
    void *prepare_symbol = find_symbol(plugin, "material_prepare", rank);
    void *conduct_symbol = find_symbol(plugin, "material_conduct", rank);
    void (*prepare)(double);
    material_conduct *conduct;
    memcpy(&prepare, &prepare_symbol, sizeof prepare);
    memcpy(&conduct, &conduct_symbol, sizeof conduct);
    prepare(0.2);
    return conduct;
}

static void exchange_edges(double *cells, int rank, int size)
{
    int left = rank > 0 ? rank - 1 : MPI_PROC_NULL, right = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
    MPI_Sendrecv(&cells[1], 1, MPI_DOUBLE, left, 0, &cells[CELLS + 1], 1, MPI_DOUBLE, right, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&cells[CELLS], 1, MPI_DOUBLE, right, 1, &cells[0], 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int provided, rank, size;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    material_conduct *conduct = load_material(argc, argv, rank);
    int steps = argc > 2 ? atoi(argv[2]) : 50;

    double *cells = calloc(CELLS + 2, sizeof *cells), *next = calloc(CELLS + 2, sizeof *next);
    if (cells == NULL || next == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    if (rank == 0)
        cells[0] = 1000;
    for (int step = 0; step < steps; step++) {
        exchange_edges(cells, rank, size);
        if (rank == 0)
            cells[0] = 1000;
#pragma omp parallel for
        for (int i = 1; i <= CELLS; i++)
            next[i] = conduct(cells[i - 1], cells[i], cells[i + 1]);
        double *swap = cells;
        cells = next;
        next = swap;
    }
    double heat = 0, total = 0;
#pragma omp parallel for reduction(+ : heat)
    for (int i = 1; i <= CELLS; i++)
        heat += cells[i];
    MPI_Reduce(&heat, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d ranks, %d steps: heat %.3f\n", size, steps, total);
    free(cells);
    free(next);
    MPI_Finalize();
    return 0;
}
