/* OpenMP events by hand, for unit tests: each defines `now_ns` and `feed`, and includes this behind them. */
#ifndef TG_TESTS_UNIT_ANALYZER_MODELS_OPENMP_EVENTS_H
#define TG_TESTS_UNIT_ANALYZER_MODELS_OPENMP_EVENTS_H

#include "format/event/event.h"

#define AT(which_team, number) .team = (which_team), .thread_num = (number), .code = 0x1000 + now_ns
#define FEED(tid, symbol, member, ...)                                                                       \
    feed(tid, (struct tg_event){.kind = TG_EVENT_##symbol, .member = {__VA_ARGS__}})

static void begin_region(uint64_t team, size_t count)
{
    FEED(1, OMP_PARALLEL_BEGIN, omp_parallel_begin, AT(0, 0), .new_team = team);
    for (size_t i = 0; i < count; i++)
        FEED((int32_t)i + 1, OMP_IMPLICIT_BEGIN, omp_implicit_begin, AT(team, i), .level = 1,
             .team_size = count);
}

static void come(int32_t tid, uint64_t team, uint64_t instance)
{
    FEED(tid, OMP_SYNC_BEGIN, omp_sync_begin, AT(team, (uint64_t)tid - 1), .sync = TG_OMP_SYNC_BARRIER,
         .instance = instance);
}

static void go_on(int32_t tid, uint64_t team, uint64_t instance)
{
    FEED(tid, OMP_SYNC_END, omp_sync_end, AT(team, (uint64_t)tid - 1), .sync = TG_OMP_SYNC_BARRIER,
         .instance = instance);
}

#endif
