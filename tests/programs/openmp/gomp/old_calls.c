/* Regions as GCC before 4.9 compiled them: it called the body itself, between start and end. */
#include "log.h"

#include <omp.h>
#include <stdbool.h>
#include <stdio.h>

void GOMP_parallel_start(void (*body)(void *), void *data, unsigned n_threads);
void GOMP_parallel_end(void);
void GOMP_parallel_loop_dynamic_start(void (*body)(void *), void *data, unsigned n_threads, long start,
                                      long end, long increment, long chunk);
void GOMP_parallel_loop_runtime_start(void (*body)(void *), void *data, unsigned n_threads, long start,
                                      long end, long increment);
void GOMP_parallel_sections_start(void (*body)(void *), void *data, unsigned n_threads, unsigned count);
bool GOMP_loop_dynamic_next(long *first, long *last);
bool GOMP_loop_runtime_next(long *first, long *last);
void GOMP_loop_end_nowait(void);
unsigned GOMP_sections_next(void);
void GOMP_sections_end_nowait(void);

struct data {
    long team, outer;
    int depth;
};

static long total;

static void nest(void *argument);

static void loop(void *argument)
{
    const struct data *data = argument;
    tell_begin(data->team, data->outer);
    tell("zone loop dynamic");
    for (long first, last; GOMP_loop_dynamic_next(&first, &last);)
        __atomic_add_fetch(&total, last - first, __ATOMIC_RELAXED);
    tell("end zone loop");
    tell("end");
    GOMP_loop_end_nowait();
}

static void runtime_loop(void *argument)
{
    const struct data *data = argument;
    tell_begin(data->team, data->outer);
    tell("zone loop runtime");
    for (long first, last; GOMP_loop_runtime_next(&first, &last);)
        __atomic_add_fetch(&total, last - first, __ATOMIC_RELAXED);
    tell("end zone loop");
    tell("end");
    GOMP_loop_end_nowait();
}

static void sections(void *argument)
{
    const struct data *data = argument;
    tell_begin(data->team, data->outer);
    tell("zone sections 2");
    for (unsigned section; (section = GOMP_sections_next()) != 0;)
        tell("section %u", section);
    tell("end zone sections");
    tell("end");
    GOMP_sections_end_nowait();
}

static void region(int depth, long outer)
{
    struct data data = {log_new(), outer, depth};
    tell("parallel @%ld 2", data.team);
    GOMP_parallel_start(nest, &data, 2);
    nest(&data);
    GOMP_parallel_end();
    tell("end parallel @%ld", data.team);
}

static void nest(void *argument)
{
    const struct data *data = argument;
    tell_begin(data->team, data->outer);
    __atomic_add_fetch(&total, 1, __ATOMIC_RELAXED);
    if (data->depth > 0)
        region(data->depth - 1, data->team);
    tell("end");
}

int main(void)
{
    omp_set_max_active_levels(4);
    omp_set_schedule(omp_sched_dynamic, 1);
    region(2, 0);
    struct data data = {log_new(), 0, 0};
    tell("parallel @%ld 3", data.team);
    GOMP_parallel_loop_dynamic_start(loop, &data, 3, 0, 40, 1, 2);
    loop(&data);
    GOMP_parallel_end();
    tell("end parallel @%ld", data.team);
    data.team = log_new();
    tell("parallel @%ld 3", data.team);
    GOMP_parallel_loop_runtime_start(runtime_loop, &data, 3, 0, 40, 1);
    runtime_loop(&data);
    GOMP_parallel_end();
    tell("end parallel @%ld", data.team);
    data.team = log_new();
    tell("parallel @%ld 2", data.team);
    GOMP_parallel_sections_start(sections, &data, 2, 2);
    sections(&data);
    GOMP_parallel_end();
    tell("end parallel @%ld", data.team);
    region(0, 0);
    printf("%ld\n", total);
    return 0;
}
