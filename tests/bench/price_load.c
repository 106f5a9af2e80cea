/* What price_bench.py records: one pattern of many events, whose loop is timed by itself.
 *
 * usage: price_load PATTERN N     prints the loop's time in seconds; PATTERN: see the end of this file. With -DWITH_MPI the
 * patterns of MPI, for two ranks, otherwise those of OpenMP. */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void)
{
    struct timespec moment;
    clock_gettime(CLOCK_MONOTONIC, &moment);
    return moment.tv_sec + moment.tv_nsec * 1e-9;
}

#ifdef WITH_MPI
#include <mpi.h>

static int rank;

static void do_pingpong(long n)
{
    char data[8] = {0};
    for (long i = 0; i < n; i++) {
        if (rank == 0)
            MPI_Send(data, 8, MPI_CHAR, 1, 7, MPI_COMM_WORLD);
        MPI_Recv(data, 8, MPI_CHAR, 1 - rank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(data, 8, MPI_CHAR, 0, 7, MPI_COMM_WORLD);
    }
}

static void do_collectives(long n)
{
    double mine = rank, sum = 0;
    for (long i = 0; i < n; i++) {
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        MPI_Bcast(&sum, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* A halo exchange: two receives, two sends, one wait for all. */
static void do_halo(long n)
{
    double data[4][16] = {{0}};
    MPI_Request requests[4];
    for (long i = 0; i < n; i++) {
        for (int side = 0; side < 2; side++) {
            MPI_Irecv(data[side], 16, MPI_DOUBLE, 1 - rank, side, MPI_COMM_WORLD, &requests[side]);
            MPI_Isend(data[2 + side], 16, MPI_DOUBLE, 1 - rank, side, MPI_COMM_WORLD, &requests[2 + side]);
        }
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    }
}

static const struct pattern {
    const char *name;
    void (*run)(long n);
} patterns[] = {{"pingpong", do_pingpong}, {"collectives", do_collectives}, {"halo", do_halo}};

static double measure(const struct pattern *pattern, long n)
{
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = now();
    pattern->run(n);
    double took = now() - start;
    MPI_Finalize();
    return rank == 0 ? took : -1;
}
#else
static void do_criticals(long n)
{
    static long sum;
#pragma omp parallel num_threads(2)
    for (long i = 0; i < n; i++) {
#pragma omp critical
        sum++;
    }
}

static void do_barriers(long n)
{
#pragma omp parallel num_threads(2)
    for (long i = 0; i < n; i++) {
#pragma omp barrier
    }
}

static void do_regions(long n)
{
    static long sum[2];
    for (long i = 0; i < n; i++) {
#pragma omp parallel num_threads(2)
        sum[0]++;
    }
}

static void do_loops(long n)
{
    static double data[1000];
#pragma omp parallel num_threads(2)
    for (long i = 0; i < n; i++) {
#pragma omp for schedule(dynamic, 100)
        for (int j = 0; j < 1000; j++)
            data[j] += i;
    }
}

static long fib(long n)
{
    long a, b;
    if (n < 2)
        return n;
#pragma omp task shared(a)
    a = fib(n - 1);
#pragma omp task shared(b)
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}

static void do_fib(long n)
{
#pragma omp parallel num_threads(2)
#pragma omp single
    fib(n);
}

/* An unbalanced tree: how many children a node has is drawn from its number. */
static void visit(unsigned long node, long depth)
{
    unsigned long next = node * 6364136223846793005UL + 1442695040888963407UL;
    for (unsigned long i = 0; depth > 0 && i < (next >> 60) % 5; i++) {
#pragma omp task firstprivate(i)
        visit(next + i, depth - 1);
    }
#pragma omp taskwait
}

static void do_tree(long n)
{
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int i = 0; i < 200; i++)
        visit((unsigned long)i, n);
}

static void merge_sort(int *data, int *room, long n)
{
    if (n < 64) {
        for (long i = 1; i < n; i++)
            for (long j = i; j > 0 && data[j - 1] > data[j]; j--) {
                int other = data[j];
                data[j] = data[j - 1];
                data[j - 1] = other;
            }
        return;
    }
#pragma omp task
    merge_sort(data, room, n / 2);
#pragma omp task
    merge_sort(data + n / 2, room + n / 2, n - n / 2);
#pragma omp taskwait
    for (long i = 0, a = 0, b = n / 2; i < n; i++)
        room[i] = b >= n || (a < n / 2 && data[a] <= data[b]) ? data[a++] : data[b++];
    memcpy(data, room, (size_t)n * sizeof *data);
}

static void do_sort(long n)
{
    int *data = malloc((size_t)n * sizeof *data), *room = malloc((size_t)n * sizeof *room);
    if (data == NULL || room == NULL)
        errx(1, "no memory");
    for (long i = 0; i < n; i++)
        data[i] = rand();
#pragma omp parallel num_threads(2)
#pragma omp single
    merge_sort(data, room, n);
    free(data);
    free(room);
}

static const struct pattern {
    const char *name;
    void (*run)(long n);
} patterns[] = {{"criticals", do_criticals},
                {"barriers", do_barriers},
                {"regions", do_regions},
                {"loops", do_loops},
                {"fib", do_fib},
                {"tree", do_tree},
                {"sort", do_sort}};

static double measure(const struct pattern *pattern, long n)
{
    pattern->run(strcmp(pattern->name, "fib") == 0 ? 2 : 1); /* the threads are there */
    double start = now();
    pattern->run(n);
    return now() - start;
}
#endif

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 3 && i < sizeof patterns / sizeof patterns[0]; i++)
        if (strcmp(argv[1], patterns[i].name) == 0) {
            double took = measure(&patterns[i], atol(argv[2]));
            if (took >= 0)
                printf("%.4f\n", took);
            return 0;
        }
    errx(2, "usage: price_load PATTERN N");
}
