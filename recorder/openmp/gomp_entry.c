#include "recorder/openmp/gomp_entry.h"

#define SCHEDULE(word) .schedule = TG_OMP_SCHEDULE_##word
#define LOOP_START(loop, which, word)                                                                        \
    {                                                                                                        \
        .name = "GOMP_loop_" loop "_start", .call = TG_GOMP_ZONE_START, .zone = TG_OMP_ZONE_##which,         \
        SCHEDULE(word)                                                                                       \
    }
#define LOOP_STARTS(loop, which, word) LOOP_START(loop, which, word), LOOP_START("ull_" loop, which, word)
#define PARALLEL_LOOP(loop, word)                                                                            \
    {                                                                                                        \
        .name = "GOMP_parallel_loop_" loop, .call = TG_GOMP_PARALLEL, .zone = TG_OMP_ZONE_LOOP,              \
        SCHEDULE(word), .combined = true                                                                     \
    }
#define MUTEX(symbol, what, which, is_named)                                                                 \
    {                                                                                                        \
        .name = symbol, .call = TG_GOMP_MUTEX_##what, .mutex = TG_OMP_MUTEX_##which, .named = is_named       \
    }
#define WAIT(symbol, which)                                                                                  \
    {                                                                                                        \
        .name = symbol, .call = TG_GOMP_WAIT, .sync = TG_OMP_SYNC_##which                                    \
    }

/* libgomp of GCC 4.9 to 13. */
static const struct tg_gomp_entry entries[] = {
    {.name = "GOMP_parallel", .call = TG_GOMP_PARALLEL},
    {.name = "GOMP_parallel_reductions", .call = TG_GOMP_PARALLEL},
    {.name = "GOMP_parallel_sections",
     .call = TG_GOMP_PARALLEL,
     .zone = TG_OMP_ZONE_SECTIONS,
     .combined = true,
     .counted = true},
    PARALLEL_LOOP("static", STATIC),
    PARALLEL_LOOP("dynamic", DYNAMIC),
    PARALLEL_LOOP("guided", GUIDED),
    PARALLEL_LOOP("runtime", RUNTIME),
    PARALLEL_LOOP("nonmonotonic_dynamic", DYNAMIC),
    PARALLEL_LOOP("nonmonotonic_guided", GUIDED),
    PARALLEL_LOOP("nonmonotonic_runtime", RUNTIME),
    PARALLEL_LOOP("maybe_nonmonotonic_runtime", RUNTIME),
    {.name = "GOMP_barrier", .call = TG_GOMP_BARRIER, .sync = TG_OMP_SYNC_BARRIER},
    {.name = "GOMP_barrier_cancel", .call = TG_GOMP_BARRIER, .sync = TG_OMP_SYNC_BARRIER},
    {.name = "GOMP_loop_start", .call = TG_GOMP_ZONE_START, .zone = TG_OMP_ZONE_LOOP},
    {.name = "GOMP_loop_ull_start", .call = TG_GOMP_ZONE_START, .zone = TG_OMP_ZONE_LOOP},
    LOOP_STARTS("static", LOOP, STATIC),
    LOOP_STARTS("dynamic", LOOP, DYNAMIC),
    LOOP_STARTS("guided", LOOP, GUIDED),
    LOOP_STARTS("runtime", LOOP, RUNTIME),
    LOOP_STARTS("nonmonotonic_dynamic", LOOP, DYNAMIC),
    LOOP_STARTS("nonmonotonic_guided", LOOP, GUIDED),
    LOOP_STARTS("nonmonotonic_runtime", LOOP, RUNTIME),
    LOOP_STARTS("maybe_nonmonotonic_runtime", LOOP, RUNTIME),
    {.name = "GOMP_loop_ordered_start", .call = TG_GOMP_ZONE_START, .zone = TG_OMP_ZONE_ORDERED_LOOP},
    {.name = "GOMP_loop_ull_ordered_start", .call = TG_GOMP_ZONE_START, .zone = TG_OMP_ZONE_ORDERED_LOOP},
    LOOP_STARTS("ordered_static", ORDERED_LOOP, STATIC),
    LOOP_STARTS("ordered_dynamic", ORDERED_LOOP, DYNAMIC),
    LOOP_STARTS("ordered_guided", ORDERED_LOOP, GUIDED),
    LOOP_STARTS("ordered_runtime", ORDERED_LOOP, RUNTIME),
    {.name = "GOMP_loop_doacross_start", .call = TG_GOMP_ZONE_START, .zone = TG_OMP_ZONE_DOACROSS_LOOP},
    {.name = "GOMP_loop_ull_doacross_start", .call = TG_GOMP_ZONE_START, .zone = TG_OMP_ZONE_DOACROSS_LOOP},
    LOOP_STARTS("doacross_static", DOACROSS_LOOP, STATIC),
    LOOP_STARTS("doacross_dynamic", DOACROSS_LOOP, DYNAMIC),
    LOOP_STARTS("doacross_guided", DOACROSS_LOOP, GUIDED),
    LOOP_STARTS("doacross_runtime", DOACROSS_LOOP, RUNTIME),
    {.name = "GOMP_loop_end", .call = TG_GOMP_ZONE_END},
    {.name = "GOMP_loop_end_cancel", .call = TG_GOMP_ZONE_END},
    {.name = "GOMP_loop_end_nowait", .call = TG_GOMP_ZONE_END_NOWAIT},
    {.name = "GOMP_sections_start", .call = TG_GOMP_SECTION, .zone = TG_OMP_ZONE_SECTIONS, .counted = true},
    {.name = "GOMP_sections2_start", .call = TG_GOMP_SECTION, .zone = TG_OMP_ZONE_SECTIONS, .counted = true},
    {.name = "GOMP_sections_next", .call = TG_GOMP_SECTION, .zone = TG_OMP_ZONE_SECTIONS},
    {.name = "GOMP_sections_end", .call = TG_GOMP_ZONE_END},
    {.name = "GOMP_sections_end_cancel", .call = TG_GOMP_ZONE_END},
    {.name = "GOMP_sections_end_nowait", .call = TG_GOMP_ZONE_END_NOWAIT},
    {.name = "GOMP_single_start", .call = TG_GOMP_SINGLE_START},
    {.name = "GOMP_single_copy_start", .call = TG_GOMP_SINGLE_COPY},
    {.name = "GOMP_single_copy_end", .call = TG_GOMP_SINGLE_COPY_DONE},
    MUTEX("GOMP_critical_start", ENTER, CRITICAL, false),
    MUTEX("GOMP_critical_end", LEAVE, CRITICAL, false),
    MUTEX("GOMP_critical_name_start", ENTER, CRITICAL_NAMED, true),
    MUTEX("GOMP_critical_name_end", LEAVE, CRITICAL_NAMED, true),
    MUTEX("GOMP_atomic_start", ENTER, ATOMIC, false),
    MUTEX("GOMP_atomic_end", LEAVE, ATOMIC, false),
    /* Fortran's, which have a low line at their end, go on to these by a jump. */
    MUTEX("omp_set_lock", ENTER, LOCK, true),
    MUTEX("omp_unset_lock", LEAVE, LOCK, true),
    MUTEX("omp_test_lock", TEST, LOCK, true),
    MUTEX("omp_set_nest_lock", ENTER, NEST_LOCK, true),
    MUTEX("omp_unset_nest_lock", LEAVE, NEST_LOCK, true),
    MUTEX("omp_test_nest_lock", TEST, NEST_LOCK, true),
    MUTEX("GOMP_ordered_start", ENTER, ORDERED, false),
    MUTEX("GOMP_ordered_end", LEAVE, ORDERED, false),
    {.name = "GOMP_task", .call = TG_GOMP_TASK},
    {.name = "GOMP_taskloop", .call = TG_GOMP_TASKLOOP, .zone = TG_OMP_ZONE_TASKLOOP},
    {.name = "GOMP_taskloop_ull", .call = TG_GOMP_TASKLOOP, .zone = TG_OMP_ZONE_TASKLOOP},
    WAIT("GOMP_taskwait", TASKWAIT),
    WAIT("GOMP_taskwait_depend", TASKWAIT),
    WAIT("GOMP_taskyield", TASKYIELD),
    {.name = "GOMP_taskgroup_start", .call = TG_GOMP_TASKGROUP_START, .zone = TG_OMP_ZONE_TASKGROUP},
    {.name = "GOMP_taskgroup_end",
     .call = TG_GOMP_TASKGROUP_END,
     .zone = TG_OMP_ZONE_TASKGROUP,
     .sync = TG_OMP_SYNC_TASKGROUP},
};

size_t tg_gomp_entry_count(void)
{
    return sizeof entries / sizeof entries[0];
}

const struct tg_gomp_entry *tg_gomp_entry_at(size_t i)
{
    return &entries[i];
}
