/* Cost of OpenMP constructs, for openmp_bench.py: one line for each, "NAME N WALL CPU": how many were
 * executed, and nanoseconds of one, by the clock and of all its threads together.
 *
 * usage: openmp_bench [NAME...] */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <x86intrin.h>

enum {
    THREADS = 2,
    WIDTH = 1024,
    HEIGHT = 1024,
    SWEEPS = 200,
};

static double now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

static volatile long sink;

/* Cost of a time stamp here: no record can be cheaper. */
static void stamp(long n)
{
    for (long i = 0; i < n; i++)
        sink = (long)__rdtsc();
}

static void critical(long n)
{
    for (long i = 0; i < n; i++) {
#pragma omp critical
        sink = i;
    }
}

static void lock(long n)
{
    omp_lock_t one;
    omp_init_lock(&one);
    for (long i = 0; i < n; i++) {
        omp_set_lock(&one);
        sink = i;
        omp_unset_lock(&one);
    }
    omp_destroy_lock(&one);
}

static volatile unsigned long stamps[3];

/* The same, with a time stamp stored before, inside and at the end: what three records cannot be cheaper
 * than, since a lock waits until all that was stored before it is done. */
static void stamped_lock(long n)
{
    omp_lock_t one;
    omp_init_lock(&one);
    for (long i = 0; i < n; i++) {
        stamps[0] = __rdtsc();
        omp_set_lock(&one);
        stamps[1] = __rdtsc();
        sink = i;
        stamps[2] = __rdtsc();
        omp_unset_lock(&one);
    }
    omp_destroy_lock(&one);
}

static void barrier(long n)
{
#pragma omp parallel num_threads(THREADS)
    for (long i = 0; i < n; i++) {
#pragma omp barrier
    }
}

static void single(long n)
{
#pragma omp parallel num_threads(THREADS)
    for (long i = 0; i < n; i++) {
#pragma omp single
        sink = i;
    }
}

static void region(long n)
{
    for (long i = 0; i < n; i++) {
#pragma omp parallel num_threads(THREADS)
        sink = i;
    }
}

static void dynamic_loop(long n)
{
#pragma omp parallel num_threads(THREADS)
    for (long i = 0; i < n; i++) {
#pragma omp for schedule(dynamic, 4)
        for (int j = 0; j < 64; j++)
            sink = j;
    }
}

/* The rest is nothing for most: what is measured is the call. */
static void thread_num(long n)
{
#pragma omp parallel num_threads(THREADS)
    for (long i = 0; i < n; i++) {
        __asm__ volatile("" : : : "memory");
        int number;
        /* through a volatile pointer: otherwise it is called once */
        static int (*volatile ask)(void) = omp_get_thread_num;
        number = ask();
        __asm__ volatile("" : : "r"(number));
    }
}

/* In a function of its own: GCC asks for the numbers at each call. */
static __attribute__((noinline)) void one_static_loop(void)
{
#pragma omp for schedule(static) nowait
    for (int j = 0; j < 64; j++)
        sink = j;
}

static void static_loop(long n)
{
#pragma omp parallel num_threads(THREADS)
    for (long i = 0; i < n; i++)
        one_static_loop();
}

static __attribute__((noinline)) void one_master(long i)
{
#pragma omp master
    sink = i;
#pragma omp barrier
}

static void master(long n)
{
#pragma omp parallel num_threads(THREADS)
    for (long i = 0; i < n; i++)
        one_master(i);
}

static void task(long n)
{
#pragma omp parallel num_threads(THREADS)
#pragma omp single
    for (long i = 0; i < n; i++) {
#pragma omp task firstprivate(i)
        sink = i;
    }
}

static long fibonacci(int n)
{
    if (n < 2)
        return n;
    long a, b;
#pragma omp task shared(a) if (n > 8)
    a = fibonacci(n - 1);
#pragma omp task shared(b) if (n > 8)
    b = fibonacci(n - 2);
#pragma omp taskwait
    return a + b;
}

static void fibonacci_tasks(long n)
{
    (void)n;
#pragma omp parallel num_threads(THREADS)
#pragma omp single
    sink = fibonacci(24);
}

/* As hydrodynamics codes do: sweeps over a grid, each a region with a loop, a reduction, now and then
 * more. */
static double grid[2][HEIGHT][WIDTH];

static void stencil(long n)
{
    double residual = 0;
    memset(grid, 0, sizeof grid);
    for (int x = 0; x < WIDTH; x++)
        grid[0][0][x] = grid[1][0][x] = 100;
    for (long sweep = 0; sweep < n; sweep++) {
        double(*from)[WIDTH] = grid[sweep % 2], (*to)[WIDTH] = grid[1 - sweep % 2];
        residual = 0;
#pragma omp parallel num_threads(THREADS)
        {
#pragma omp for schedule(static) reduction(+ : residual)
            for (int y = 1; y < HEIGHT - 1; y++)
                for (int x = 1; x < WIDTH - 1; x++) {
                    double value = 0.25 * (from[y - 1][x] + from[y + 1][x] + from[y][x - 1] + from[y][x + 1]);
                    residual += fabs(value - from[y][x]);
                    to[y][x] = value;
                }
#pragma omp for schedule(dynamic, 64)
            for (int y = 1; y < HEIGHT - 1; y++)
                to[y][0] = to[y][1];
#pragma omp single
            sink = (long)residual;
        }
    }
}

/* The same on a grid that fits into a cache: 20 times as many events for the time. */
static void small_stencil(long n)
{
    enum { SIDE = 128 };
    static double small[2][SIDE][SIDE];
    double residual = 0;
    for (long sweep = 0; sweep < n; sweep++) {
        double(*from)[SIDE] = small[sweep % 2], (*to)[SIDE] = small[1 - sweep % 2];
        residual = 0;
#pragma omp parallel for num_threads(THREADS) schedule(static) reduction(+ : residual)
        for (int y = 1; y < SIDE - 1; y++)
            for (int x = 1; x < SIDE - 1; x++) {
                to[y][x] = 0.25 * (from[y - 1][x] + from[y + 1][x] + from[y][x - 1] + from[y][x + 1]) + 1;
                residual += to[y][x];
            }
    }
    sink = (long)residual;
}

/* A Lagrangian hydrodynamics code at a small size: a step has nine regions of some ten to some hundred
 * microseconds, loops of every kind, a reduction and a critical. */
enum { CELLS = 60000, MATERIALS = 11 };
static double force[CELLS + 2], speed[CELLS + 2], place[CELLS + 2], volume[CELLS + 2], energy[CELLS + 2],
    pressure[CELLS + 2], viscosity[CELLS + 2], sound[CELLS + 2];

static void hydro_forces(void)
{
#pragma omp parallel for num_threads(THREADS) schedule(static)
    for (int i = 1; i <= CELLS; i++) {
        double stress = pressure[i] + viscosity[i], before = pressure[i - 1] + viscosity[i - 1];
        double hourglass = sqrt(fabs(volume[i] * energy[i])) * (speed[i + 1] - 2 * speed[i] + speed[i - 1]);
        force[i] = before - stress + 0.01 * hourglass / (1 + sound[i]);
    }
}

static void hydro_move(double step)
{
#pragma omp parallel num_threads(THREADS)
    {
#pragma omp for schedule(static)
        for (int i = 1; i <= CELLS; i++)
            speed[i] += step * force[i];
#pragma omp for schedule(static) nowait
        for (int i = 1; i < 60; i++) /* the boundaries */
            speed[i] *= 0.5;
#pragma omp for schedule(static) nowait
        for (int i = CELLS - 60; i <= CELLS; i++)
            speed[i] *= 0.5;
    }
#pragma omp parallel for num_threads(THREADS) schedule(static)
    for (int i = 1; i <= CELLS; i++)
        place[i] += step * speed[i];
}

static void hydro_volumes(double step)
{
#pragma omp parallel for num_threads(THREADS) schedule(static)
    for (int i = 1; i <= CELLS; i++) {
        volume[i] = fabs(1 + place[i + 1] - place[i]) + 1e-3;
        double gradient = speed[i + 1] - speed[i];
        viscosity[i] = gradient < 0 ? 2 * gradient * gradient / volume[i] - 0.1 * gradient * sound[i] : 0;
    }
#pragma omp parallel for num_threads(THREADS) schedule(static)
    for (int i = 1; i <= CELLS; i++)
        energy[i] = fmax(1e-9, energy[i] - step * (pressure[i] + viscosity[i]) * (speed[i + 1] - speed[i]));
}

static void hydro_materials(void)
{
    for (int pass = 0; pass < 2; pass++) {
#pragma omp parallel for num_threads(THREADS) schedule(dynamic, 400)
        for (int i = 1; i <= CELLS; i++) {
            double gamma = 0.4 + 0.02 * (i / 977 % MATERIALS), e = energy[i];
            for (int k = 0; k < 1 + i / 977 % MATERIALS / 3; k++)
                e = 0.5 * (e + energy[i] / (1 + 0.01 * gamma * e));
            pressure[i] = gamma * e / volume[i];
            sound[i] = sqrt(fabs((1 + gamma) * pressure[i] * volume[i]));
        }
    }
}

/* Least and greatest, as such codes look for the next step's length: by reduction, and by critical. */
static double hydro_step(void)
{
    double fastest = 0, shortest = 1e9;
#pragma omp parallel for num_threads(THREADS) schedule(static) reduction(max : fastest)
    for (int i = 1; i <= CELLS; i++)
        fastest = fmax(fastest, sound[i] / volume[i]);
#pragma omp parallel num_threads(THREADS)
    {
        double own = 1e9;
#pragma omp for schedule(static)
        for (int i = 1; i <= CELLS; i++)
            own = fmin(own, volume[i] / (1e-6 + fabs(speed[i + 1] - speed[i])));
#pragma omp critical(shortest_step)
        shortest = fmin(shortest, own);
    }
    return fmin(1e-3, 0.1 * fmin(shortest, 1 / (1e-6 + fastest)));
}

static void hydro(long n)
{
    double step = 1e-4;
    for (int i = 0; i < CELLS + 2; i++) {
        force[i] = speed[i] = place[i] = pressure[i] = viscosity[i] = sound[i] = 0;
        volume[i] = 1;
        energy[i] = i < 200 ? 10 : 1e-6;
    }
    for (long i = 0; i < n; i++) {
        hydro_forces();
        hydro_move(step);
        hydro_volumes(step);
        hydro_materials();
        step = hydro_step();
    }
    sink = (long)(1e6 * energy[300]);
}

static const struct {
    const char *name;
    void (*run)(long n);
    long n;
} constructs[] = {
    {"stamp", stamp, 2000000},
    {"critical", critical, 2000000},
    {"lock", lock, 2000000},
    {"stamped_lock", stamped_lock, 2000000},
    {"barrier", barrier, 200000},
    {"single", single, 200000},
    {"region", region, 100000},
    {"dynamic_loop", dynamic_loop, 100000},
    {"thread_num", thread_num, 20000000},
    {"static_loop", static_loop, 1000000},
    {"master", master, 200000},
    {"task", task, 400000},
    {"fibonacci", fibonacci_tasks, 75024},
    {"stencil", stencil, SWEEPS},
    {"small_stencil", small_stencil, 20000},
    {"hydro", hydro, 400},
};

static int is_asked_for(const char *name, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return 1;
    return argc == 1;
}

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof constructs / sizeof *constructs; i++) {
        if (!is_asked_for(constructs[i].name, argc, argv))
            continue;
        constructs[i].run(constructs[i].n / 20 + 1); /* threads, rings, caches */
        double wall = now_ns(CLOCK_MONOTONIC), cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID);
        constructs[i].run(constructs[i].n);
        wall = now_ns(CLOCK_MONOTONIC) - wall;
        cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
        printf("%s %ld %.2f %.2f\n", constructs[i].name, constructs[i].n, wall / constructs[i].n,
               cpu / constructs[i].n);
    }
    return 0;
}
