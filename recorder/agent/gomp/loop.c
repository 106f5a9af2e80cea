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
#define START_LOOP(name, schedule_value, start, increment, given, end, arguments)                            \
    const struct tg_gomp *gomp = tg_gomp_next(TG_GOMP_CALLER());                                             \
    if (tg_gomp_records(gomp))                                                                               \
        tg_gomp_workshare_begin(tg_gomp_code(TG_GOMP_CALLER()), TG_OMP_ZONE_LOOP, (schedule_value), 0);      \
    return gomp->name arguments

/* ---- iterations that wait for each other: which of them this thread is given. They are counted from 0, as in
 * OpenMP's logical iterations. */

enum { LOOP_LEVELS = 4 };

/* The ordered or doacross loops that the thread is in, by the level of their regions. */
static __thread struct loop {
    uint64_t team, start, step;
} loops[LOOP_LEVELS] __attribute__((tls_model("initial-exec")));

static struct loop *loop_here(void)
{
    return &loops[tg_openmp_frame.level % LOOP_LEVELS];
}

/* The thread was given those from FIRST to before END of a loop that begins with START. */
static void tell_given(const void *code, uint64_t start, uint64_t increment, uint64_t first, uint64_t end)
{
    bool is_up = (int64_t)increment > 0;
    uint64_t step = is_up ? increment : -increment;
    uint64_t before = is_up ? first - start : start - first, span = is_up ? end - first : first - end;
    if (step != 0 && span != 0)
        tg_openmp_chunk(code, TG_OMP_WRAPPED, before / step, before / step + (span - 1) / step, 0);
}

#define START_GIVEN(zone, name, schedule_value, start, increment, given, end, arguments)                     \
    const struct tg_gomp *gomp = tg_gomp_next(TG_GOMP_CALLER());                                             \
    if (!tg_gomp_records(gomp))                                                                              \
        return gomp->name arguments;                                                                         \
    const void *code = tg_gomp_code(TG_GOMP_CALLER());                                                       \
    tg_gomp_workshare_begin(code, zone, (schedule_value), 0);                                                \
    *loop_here() = (struct loop){tg_openmp_frame.team, (uint64_t)(start), (uint64_t)(increment)};            \
    bool is_given = gomp->name arguments;                                                                    \
    if (is_given)                                                                                            \
        tell_given(code, (uint64_t)(start), (uint64_t)(increment), (uint64_t) * (given),                     \
                   (uint64_t) * (end));                                                                      \
    return is_given
#define START_ORDERED_LOOP(...) START_GIVEN(TG_OMP_ZONE_ORDERED_LOOP, __VA_ARGS__)

/* The same of the loop that it is in, if that is one of those. */
static inline __attribute__((always_inline)) void tell_next(const void *caller, uint64_t first, uint64_t end)
{
    const struct tg_openmp_frame *frame = &tg_openmp_frame;
    const struct loop *loop = loop_here();
    bool is_waited_for =
        frame->workshare == 1 + TG_OMP_ZONE_ORDERED_LOOP || frame->workshare == 1 + TG_OMP_ZONE_DOACROSS_LOOP;
    if (is_waited_for && loop->team == frame->team)
        tell_given(tg_gomp_code(caller), loop->start, loop->step, first, end);
}

/* The next iterations of the loop that the thread is in. */
#define NEXT(name, type)                                                                                     \
    bool name(type *first, type *end)                                                                        \
    {                                                                                                        \
        const struct tg_gomp *gomp = tg_gomp_next(TG_GOMP_CALLER());                                         \
        bool is_given = gomp->name(first, end);                                                              \
        if (is_given && tg_gomp_records(gomp))                                                               \
            tell_next(TG_GOMP_CALLER(), (uint64_t)*first, (uint64_t)*end);                                   \
        return is_given;                                                                                     \
    }
TG_GOMP_NEXTS(NEXT)

/* ---- the starts */

#define CHUNKED(name, zone, schedule, version)                                                               \
    bool name(long start, long end, long increment, long chunk, long *first, long *last)                     \
    {                                                                                                        \
        START_##zone(name, TG_OMP_SCHEDULE_##schedule, start, increment, first, last,                        \
                     (start, end, increment, chunk, first, last));                                           \
    }
TG_GOMP_LOOPS_CHUNKED(CHUNKED)

#define RUNTIME(name, zone, schedule, version)                                                               \
    bool name(long start, long end, long increment, long *first, long *last)                                 \
    {                                                                                                        \
        START_##zone(name, TG_OMP_SCHEDULE_##schedule, start, increment, first, last,                        \
                     (start, end, increment, first, last));                                                  \
    }
TG_GOMP_LOOPS_RUNTIME(RUNTIME)

#define ULL_CHUNKED(name, zone, schedule, version)                                                           \
    bool name(bool up, tg_gomp_ull start, tg_gomp_ull end, tg_gomp_ull increment, tg_gomp_ull chunk,         \
              tg_gomp_ull *first, tg_gomp_ull *last)                                                         \
    {                                                                                                        \
        START_##zone(name, TG_OMP_SCHEDULE_##schedule, start, increment, first, last,                        \
                     (up, start, end, increment, chunk, first, last));                                       \
    }
TG_GOMP_LOOPS_ULL_CHUNKED(ULL_CHUNKED)

#define ULL_RUNTIME(name, zone, schedule, version)                                                           \
    bool name(bool up, tg_gomp_ull start, tg_gomp_ull end, tg_gomp_ull increment, tg_gomp_ull *first,        \
              tg_gomp_ull *last)                                                                             \
    {                                                                                                        \
        START_##zone(name, TG_OMP_SCHEDULE_##schedule, start, increment, first, last,                        \
                     (up, start, end, increment, first, last));                                              \
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
    START_LOOP(GOMP_loop_start, schedule_of(schedule), start, increment, first, last,
               (start, end, increment, schedule, chunk, first, last, reductions, memory));
}

bool GOMP_loop_ordered_start(long start, long end, long increment, long schedule, long chunk, long *first,
                             long *last, uintptr_t *reductions, void **memory)
{
    START_ORDERED_LOOP(GOMP_loop_ordered_start, schedule_of(schedule), start, increment, first, last,
                       (start, end, increment, schedule, chunk, first, last, reductions, memory));
}

bool GOMP_loop_ull_start(bool up, tg_gomp_ull start, tg_gomp_ull end, tg_gomp_ull increment, long schedule,
                         tg_gomp_ull chunk, tg_gomp_ull *first, tg_gomp_ull *last, uintptr_t *reductions,
                         void **memory)
{
    START_LOOP(GOMP_loop_ull_start, schedule_of(schedule), start, increment, first, last,
               (up, start, end, increment, schedule, chunk, first, last, reductions, memory));
}

bool GOMP_loop_ull_ordered_start(bool up, tg_gomp_ull start, tg_gomp_ull end, tg_gomp_ull increment,
                                 long schedule, tg_gomp_ull chunk, tg_gomp_ull *first, tg_gomp_ull *last,
                                 uintptr_t *reductions, void **memory)
{
    START_ORDERED_LOOP(GOMP_loop_ull_ordered_start, schedule_of(schedule), start, increment, first, last,
                       (up, start, end, increment, schedule, chunk, first, last, reductions, memory));
}

/* ---- doacross: how many loops there are says how many arguments the waits will have. That is kept whether
 * anything is recorded or not: the waits cannot go on without it. */

#define START_DOACROSS(name, n_loops, schedule_value, arguments)                                             \
    tg_openmp_frame.doacross_loops = (uint16_t)(n_loops);                                                    \
    START_GIVEN(TG_OMP_ZONE_DOACROSS_LOOP, name, schedule_value, 0, 1, first, last, arguments)

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

/* INDICES are as many as the loop has loops. */
static void tell_iteration(const void *code, enum tg_omp_iteration what, const void *indices)
{
    tg_openmp_iteration(code, TG_OMP_WRAPPED, what, indices, tg_openmp_frame.doacross_loops);
}

#define POST(name, type)                                                                                     \
    void name(type *indices)                                                                                 \
    {                                                                                                        \
        const struct tg_gomp *gomp = tg_gomp_next(TG_GOMP_CALLER());                                         \
        if (tg_gomp_records(gomp)) /* before others can go on by it */                                       \
            tell_iteration(tg_gomp_code(TG_GOMP_CALLER()), TG_OMP_ITERATION_SOURCE, indices);                \
        gomp->name(indices);                                                                                 \
    }
POST(GOMP_doacross_post, long)
POST(GOMP_doacross_ull_post, tg_gomp_ull)

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
        if (records) {                                                                                       \
            tell_iteration(code, TG_OMP_ITERATION_SINK, sink);                                               \
            tg_openmp_sync_begin(0, code, TG_OMP_WRAPPED, TG_OMP_SYNC_DOACROSS);                             \
        }                                                                                                    \
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
    if (TG_AGENT_LIKELY(tg_gate_due == 0)) {
        gomp->GOMP_ordered_end(); /* by a jump: LLVM's runtime takes down where it was called */
        return;
    }
    gomp->GOMP_ordered_end();
    tg_gate_wait();
}
