/* Loops whose iterations the runtime hands out, ordered and doacross ones too. Loops of a static schedule
 * without ordered call nothing. */
#include "recorder/agent/gomp/gomp.h"
#include "recorder/agent/gomp/numbers.h"
#include "recorder/agent/ompt/releases.h"

#include <stdarg.h>

enum {
    FEW_DOACROSS_LOOPS = 6, /* as many as fit into registers */
    MAX_DOACROSS_LOOPS = 64,
};

/* A loop's start: records, and calls the real one with the arguments in parentheses. */
#define START(name, zone_name, schedule_value, arguments)                                                    \
    const struct tg_gomp *gomp = tg_gomp_next(TG_GOMP_CALLER());                                             \
    if (tg_gomp_records(gomp))                                                                               \
        tg_gomp_workshare_begin(tg_gomp_code(TG_GOMP_CALLER()), TG_OMP_ZONE_##zone_name, (schedule_value),   \
                                0);                                                                          \
    return gomp->name arguments

#define CHUNKED(name, zone, schedule, version)                                                               \
    bool name(long start, long end, long increment, long chunk, long *first, long *last)                     \
    {                                                                                                        \
        START(name, zone, TG_OMP_SCHEDULE_##schedule, (start, end, increment, chunk, first, last));          \
    }
TG_GOMP_LOOPS_CHUNKED(CHUNKED)

#define RUNTIME(name, zone, schedule, version)                                                               \
    bool name(long start, long end, long increment, long *first, long *last)                                 \
    {                                                                                                        \
        START(name, zone, TG_OMP_SCHEDULE_##schedule, (start, end, increment, first, last));                 \
    }
TG_GOMP_LOOPS_RUNTIME(RUNTIME)

#define ULL_CHUNKED(name, zone, schedule, version)                                                           \
    bool name(bool up, tg_gomp_ull start, tg_gomp_ull end, tg_gomp_ull increment, tg_gomp_ull chunk,         \
              tg_gomp_ull *first, tg_gomp_ull *last)                                                         \
    {                                                                                                        \
        START(name, zone, TG_OMP_SCHEDULE_##schedule, (up, start, end, increment, chunk, first, last));      \
    }
TG_GOMP_LOOPS_ULL_CHUNKED(ULL_CHUNKED)

#define ULL_RUNTIME(name, zone, schedule, version)                                                           \
    bool name(bool up, tg_gomp_ull start, tg_gomp_ull end, tg_gomp_ull increment, tg_gomp_ull *first,        \
              tg_gomp_ull *last)                                                                             \
    {                                                                                                        \
        START(name, zone, TG_OMP_SCHEDULE_##schedule, (up, start, end, increment, first, last));             \
    }
TG_GOMP_LOOPS_ULL_RUNTIME(ULL_RUNTIME)

/* ---- the general ones of GCC 9 and later: the schedule is an argument */

static enum tg_omp_schedule schedule_of(long argument)
{
    static const unsigned char schedules[] = {TG_OMP_SCHEDULE_RUNTIME, TG_OMP_SCHEDULE_STATIC,
                                              TG_OMP_SCHEDULE_DYNAMIC, TG_OMP_SCHEDULE_GUIDED,
                                              TG_OMP_SCHEDULE_AUTO};
    unsigned long schedule = (unsigned long)argument & 0x7fffffff; /* the highest bit says monotonic */
    return schedule < sizeof schedules ? schedules[schedule] : TG_OMP_SCHEDULE_NONE;
}

bool GOMP_loop_start(long start, long end, long increment, long schedule, long chunk, long *first, long *last,
                     uintptr_t *reductions, void **memory)
{
    START(GOMP_loop_start, LOOP, schedule_of(schedule),
          (start, end, increment, schedule, chunk, first, last, reductions, memory));
}

bool GOMP_loop_ordered_start(long start, long end, long increment, long schedule, long chunk, long *first,
                             long *last, uintptr_t *reductions, void **memory)
{
    START(GOMP_loop_ordered_start, ORDERED_LOOP, schedule_of(schedule),
          (start, end, increment, schedule, chunk, first, last, reductions, memory));
}

bool GOMP_loop_ull_start(bool up, tg_gomp_ull start, tg_gomp_ull end, tg_gomp_ull increment, long schedule,
                         tg_gomp_ull chunk, tg_gomp_ull *first, tg_gomp_ull *last, uintptr_t *reductions,
                         void **memory)
{
    START(GOMP_loop_ull_start, LOOP, schedule_of(schedule),
          (up, start, end, increment, schedule, chunk, first, last, reductions, memory));
}

bool GOMP_loop_ull_ordered_start(bool up, tg_gomp_ull start, tg_gomp_ull end, tg_gomp_ull increment,
                                 long schedule, tg_gomp_ull chunk, tg_gomp_ull *first, tg_gomp_ull *last,
                                 uintptr_t *reductions, void **memory)
{
    START(GOMP_loop_ull_ordered_start, ORDERED_LOOP, schedule_of(schedule),
          (up, start, end, increment, schedule, chunk, first, last, reductions, memory));
}

/* ---- doacross: how many loops there are says how many arguments the waits will have. That is kept whether
 * anything is recorded or not: the waits cannot go on without it. */

#define START_DOACROSS(name, n_loops, schedule_value, arguments)                                             \
    tg_openmp_frame.doacross_loops = (n_loops);                                                              \
    START(name, DOACROSS_LOOP, schedule_value, arguments)

#define DOACROSS(name, zone, schedule, version)                                                              \
    bool name(unsigned n_loops, long *counts, long chunk, long *first, long *last)                           \
    {                                                                                                        \
        START_DOACROSS(name, n_loops, TG_OMP_SCHEDULE_##schedule, (n_loops, counts, chunk, first, last));    \
    }
TG_GOMP_LOOPS_DOACROSS(DOACROSS)

#define ULL_DOACROSS(name, zone, schedule, version)                                                          \
    bool name(unsigned n_loops, tg_gomp_ull *counts, tg_gomp_ull chunk, tg_gomp_ull *first,                  \
              tg_gomp_ull *last)                                                                             \
    {                                                                                                        \
        START_DOACROSS(name, n_loops, TG_OMP_SCHEDULE_##schedule, (n_loops, counts, chunk, first, last));    \
    }
TG_GOMP_LOOPS_ULL_DOACROSS(ULL_DOACROSS)

bool GOMP_loop_doacross_runtime_start(unsigned n_loops, long *counts, long *first, long *last)
{
    START_DOACROSS(GOMP_loop_doacross_runtime_start, n_loops, TG_OMP_SCHEDULE_RUNTIME,
                   (n_loops, counts, first, last));
}

bool GOMP_loop_ull_doacross_runtime_start(unsigned n_loops, tg_gomp_ull *counts, tg_gomp_ull *first,
                                          tg_gomp_ull *last)
{
    START_DOACROSS(GOMP_loop_ull_doacross_runtime_start, n_loops, TG_OMP_SCHEDULE_RUNTIME,
                   (n_loops, counts, first, last));
}

bool GOMP_loop_doacross_start(unsigned n_loops, long *counts, long schedule, long chunk, long *first,
                              long *last, uintptr_t *reductions, void **memory)
{
    START_DOACROSS(GOMP_loop_doacross_start, n_loops, schedule_of(schedule),
                   (n_loops, counts, schedule, chunk, first, last, reductions, memory));
}

bool GOMP_loop_ull_doacross_start(unsigned n_loops, tg_gomp_ull *counts, long schedule, tg_gomp_ull chunk,
                                  tg_gomp_ull *first, tg_gomp_ull *last, uintptr_t *reductions, void **memory)
{
    START_DOACROSS(GOMP_loop_ull_doacross_start, n_loops, schedule_of(schedule),
                   (n_loops, counts, schedule, chunk, first, last, reductions, memory));
}

/* The wait takes as many arguments as there are loops, and says nowhere how many these are. What is passed
 * beyond them is not looked at. The compiler's limit for nested loops is far above MAX_DOACROSS_LOOPS, no
 * program is. */
#define FEW(a)  a[0], a[1], a[2], a[3], a[4], a[5]
#define TEN(a)  a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9]
#define MANY(a) TEN((a)), TEN((a + 10)), TEN((a + 20)), TEN((a + 30)), TEN((a + 40)), TEN((a + 50))
#define WAIT(name, type)                                                                                     \
    void name(type first, ...)                                                                               \
    {                                                                                                        \
        const struct tg_gomp *gomp = tg_gomp_next(TG_GOMP_CALLER());                                         \
        bool records = tg_gomp_records(gomp);                                                                \
        const void *code = tg_gomp_code(TG_GOMP_CALLER());                                                   \
        type sink[MAX_DOACROSS_LOOPS] = {first};                                                             \
        va_list arguments;                                                                                   \
        va_start(arguments, first);                                                                          \
        for (unsigned i = 1; i < tg_openmp_frame.doacross_loops && i < MAX_DOACROSS_LOOPS; i++)              \
            sink[i] = va_arg(arguments, type);                                                               \
        va_end(arguments);                                                                                   \
        if (records)                                                                                         \
            tg_openmp_sync_begin(0, code, TG_OMP_WRAPPED, TG_OMP_SYNC_DOACROSS);                             \
        if (tg_openmp_frame.doacross_loops <= FEW_DOACROSS_LOOPS)                                            \
            gomp->name(FEW(sink));                                                                           \
        else                                                                                                 \
            gomp->name(MANY(sink));                                                                          \
        if (records)                                                                                         \
            tg_openmp_sync_end(code, TG_OMP_WRAPPED, TG_OMP_SYNC_DOACROSS, 0, false);                        \
    }
WAIT(GOMP_doacross_wait, long)
WAIT(GOMP_doacross_ull_wait, tg_gomp_ull)

/* ---- the end */

void GOMP_loop_end(void)
{
    const struct tg_gomp *gomp = tg_gomp_next(TG_GOMP_CALLER());
    if (!tg_gomp_records(gomp)) {
        gomp->GOMP_loop_end();
        return;
    }
    const void *code = tg_gomp_code(TG_GOMP_CALLER());
    tg_agent_moment moment = tg_gomp_workshare_end(code);
    uint64_t instance = tg_openmp_sync_begin(moment, code, TG_OMP_WRAPPED, TG_OMP_SYNC_BARRIER_IMPLICIT);
    gomp->GOMP_loop_end();
    moment = tg_openmp_sync_end(code, TG_OMP_WRAPPED, TG_OMP_SYNC_BARRIER_IMPLICIT, instance, false);
    tg_gomp_numbers_after_barrier(moment, TG_GOMP_CALLER(), TG_GOMP_STACK());
}

void GOMP_loop_end_nowait(void)
{
    const struct tg_gomp *gomp = tg_gomp_next(TG_GOMP_CALLER());
    if (tg_gomp_records(gomp))
        tg_gomp_workshare_end(tg_gomp_code(TG_GOMP_CALLER()));
    gomp->GOMP_loop_end_nowait();
}

bool GOMP_loop_end_cancel(void)
{
    const struct tg_gomp *gomp = tg_gomp_next(TG_GOMP_CALLER());
    if (!tg_gomp_records(gomp))
        return gomp->GOMP_loop_end_cancel();
    const void *code = tg_gomp_code(TG_GOMP_CALLER());
    tg_agent_moment moment = tg_gomp_workshare_end(code);
    uint64_t instance = tg_openmp_sync_begin(moment, code, TG_OMP_WRAPPED, TG_OMP_SYNC_BARRIER_IMPLICIT);
    bool cancelled = gomp->GOMP_loop_end_cancel();
    tg_openmp_sync_end(code, TG_OMP_WRAPPED, TG_OMP_SYNC_BARRIER_IMPLICIT, instance, cancelled);
    return cancelled;
}

/* ---- ordered regions of the loops above */

void GOMP_ordered_start(void)
{
    const struct tg_gomp *gomp = tg_gomp_next(TG_GOMP_CALLER());
    if (!tg_gomp_records(gomp)) {
        gomp->GOMP_ordered_start();
        return;
    }
    const void *code = tg_gomp_code(TG_GOMP_CALLER());
    tg_openmp_mutex_wait(code, TG_OMP_WRAPPED, TG_OMP_MUTEX_ORDERED, NULL);
    gomp->GOMP_ordered_start();
    tg_openmp_mutex_enter(0, code, TG_OMP_WRAPPED, TG_OMP_MUTEX_ORDERED, NULL);
}

void GOMP_ordered_end(void)
{
    const struct tg_gomp *gomp = tg_gomp_next(TG_GOMP_CALLER());
    if (tg_gomp_records(gomp))
        tg_openmp_mutex_leave(tg_gomp_code(TG_GOMP_CALLER()), TG_OMP_WRAPPED, TG_OMP_MUTEX_ORDERED, NULL);
    else if (tg_ompt_is_release(TG_GOMP_CALLER(), (const void *)(uintptr_t)gomp->GOMP_ordered_end))
        tg_ompt_release(TG_OMP_MUTEX_ORDERED, NULL, TG_GOMP_CALLER());
    gomp->GOMP_ordered_end();
}
