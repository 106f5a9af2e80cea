/* The entry points of libgomp (GCC 4.2 to 13) through which the agent passes: what they return, their name,
 * what they take, and the symbol version that programs ask for. Of the *_next functions of loops only those
 * are among them that ordered and doacross loops use: others happen often, and say nothing that start and end do
 * not say.
 *
 * Source: the calls that GCC's -fopenmp emits (gcc/omp-builtins.def), and the versions of libgomp.so.1. */
#ifndef TG_RECORDER_AGENT_GOMP_ENTRIES_H
#define TG_RECORDER_AGENT_GOMP_ENTRIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef unsigned long long tg_gomp_ull;
typedef void tg_gomp_body(void *data);
typedef void tg_gomp_copy(void *to, void *from);

/* Loops that are met inside of a region, by kind: X(name, zone, schedule, version). */
#define TG_GOMP_LOOPS_CHUNKED(X)                                                                             \
    X(GOMP_loop_static_start, LOOP, STATIC, "GOMP_1.0")                                                      \
    X(GOMP_loop_dynamic_start, LOOP, DYNAMIC, "GOMP_1.0")                                                    \
    X(GOMP_loop_guided_start, LOOP, GUIDED, "GOMP_1.0")                                                      \
    X(GOMP_loop_nonmonotonic_dynamic_start, LOOP, DYNAMIC, "GOMP_4.5")                                       \
    X(GOMP_loop_nonmonotonic_guided_start, LOOP, GUIDED, "GOMP_4.5")                                         \
    X(GOMP_loop_ordered_static_start, ORDERED_LOOP, STATIC, "GOMP_1.0")                                      \
    X(GOMP_loop_ordered_dynamic_start, ORDERED_LOOP, DYNAMIC, "GOMP_1.0")                                    \
    X(GOMP_loop_ordered_guided_start, ORDERED_LOOP, GUIDED, "GOMP_1.0")
#define TG_GOMP_LOOPS_RUNTIME(X)                                                                             \
    X(GOMP_loop_runtime_start, LOOP, RUNTIME, "GOMP_1.0")                                                    \
    X(GOMP_loop_nonmonotonic_runtime_start, LOOP, RUNTIME, "GOMP_5.0")                                       \
    X(GOMP_loop_maybe_nonmonotonic_runtime_start, LOOP, RUNTIME, "GOMP_5.0")                                 \
    X(GOMP_loop_ordered_runtime_start, ORDERED_LOOP, RUNTIME, "GOMP_1.0")
#define TG_GOMP_LOOPS_ULL_CHUNKED(X)                                                                         \
    X(GOMP_loop_ull_static_start, LOOP, STATIC, "GOMP_2.0")                                                  \
    X(GOMP_loop_ull_dynamic_start, LOOP, DYNAMIC, "GOMP_2.0")                                                \
    X(GOMP_loop_ull_guided_start, LOOP, GUIDED, "GOMP_2.0")                                                  \
    X(GOMP_loop_ull_nonmonotonic_dynamic_start, LOOP, DYNAMIC, "GOMP_4.5")                                   \
    X(GOMP_loop_ull_nonmonotonic_guided_start, LOOP, GUIDED, "GOMP_4.5")                                     \
    X(GOMP_loop_ull_ordered_static_start, ORDERED_LOOP, STATIC, "GOMP_2.0")                                  \
    X(GOMP_loop_ull_ordered_dynamic_start, ORDERED_LOOP, DYNAMIC, "GOMP_2.0")                                \
    X(GOMP_loop_ull_ordered_guided_start, ORDERED_LOOP, GUIDED, "GOMP_2.0")
#define TG_GOMP_LOOPS_ULL_RUNTIME(X)                                                                         \
    X(GOMP_loop_ull_runtime_start, LOOP, RUNTIME, "GOMP_2.0")                                                \
    X(GOMP_loop_ull_nonmonotonic_runtime_start, LOOP, RUNTIME, "GOMP_5.0")                                   \
    X(GOMP_loop_ull_maybe_nonmonotonic_runtime_start, LOOP, RUNTIME, "GOMP_5.0")                             \
    X(GOMP_loop_ull_ordered_runtime_start, ORDERED_LOOP, RUNTIME, "GOMP_2.0")
#define TG_GOMP_LOOPS_DOACROSS(X)                                                                            \
    X(GOMP_loop_doacross_static_start, DOACROSS_LOOP, STATIC, "GOMP_4.5")                                    \
    X(GOMP_loop_doacross_dynamic_start, DOACROSS_LOOP, DYNAMIC, "GOMP_4.5")                                  \
    X(GOMP_loop_doacross_guided_start, DOACROSS_LOOP, GUIDED, "GOMP_4.5")
#define TG_GOMP_LOOPS_ULL_DOACROSS(X)                                                                        \
    X(GOMP_loop_ull_doacross_static_start, DOACROSS_LOOP, STATIC, "GOMP_4.5")                                \
    X(GOMP_loop_ull_doacross_dynamic_start, DOACROSS_LOOP, DYNAMIC, "GOMP_4.5")                              \
    X(GOMP_loop_ull_doacross_guided_start, DOACROSS_LOOP, GUIDED, "GOMP_4.5")

/* The next iterations of ordered and doacross loops: X(name, type). The latter use those of monotonic loops. */
#define TG_GOMP_NEXTS(X)                                                                                     \
    X(GOMP_loop_static_next, long)                                                                           \
    X(GOMP_loop_dynamic_next, long)                                                                          \
    X(GOMP_loop_guided_next, long)                                                                           \
    X(GOMP_loop_runtime_next, long)                                                                          \
    X(GOMP_loop_ordered_static_next, long)                                                                   \
    X(GOMP_loop_ordered_dynamic_next, long)                                                                  \
    X(GOMP_loop_ordered_guided_next, long)                                                                   \
    X(GOMP_loop_ordered_runtime_next, long)                                                                  \
    X(GOMP_loop_ull_static_next, tg_gomp_ull)                                                                \
    X(GOMP_loop_ull_dynamic_next, tg_gomp_ull)                                                               \
    X(GOMP_loop_ull_guided_next, tg_gomp_ull)                                                                \
    X(GOMP_loop_ull_runtime_next, tg_gomp_ull)                                                               \
    X(GOMP_loop_ull_ordered_static_next, tg_gomp_ull)                                                        \
    X(GOMP_loop_ull_ordered_dynamic_next, tg_gomp_ull)                                                       \
    X(GOMP_loop_ull_ordered_guided_next, tg_gomp_ull)                                                        \
    X(GOMP_loop_ull_ordered_runtime_next, tg_gomp_ull)

/* Regions and their loop in one, those of GCC before 4.9 as X_START. */
#define TG_GOMP_PARALLEL_LOOPS_CHUNKED(X)                                                                    \
    X(GOMP_parallel_loop_static, LOOP, STATIC, "GOMP_4.0")                                                   \
    X(GOMP_parallel_loop_dynamic, LOOP, DYNAMIC, "GOMP_4.0")                                                 \
    X(GOMP_parallel_loop_guided, LOOP, GUIDED, "GOMP_4.0")                                                   \
    X(GOMP_parallel_loop_nonmonotonic_dynamic, LOOP, DYNAMIC, "GOMP_4.5")                                    \
    X(GOMP_parallel_loop_nonmonotonic_guided, LOOP, GUIDED, "GOMP_4.5")
#define TG_GOMP_PARALLEL_LOOPS_RUNTIME(X)                                                                    \
    X(GOMP_parallel_loop_runtime, LOOP, RUNTIME, "GOMP_4.0")                                                 \
    X(GOMP_parallel_loop_nonmonotonic_runtime, LOOP, RUNTIME, "GOMP_5.0")                                    \
    X(GOMP_parallel_loop_maybe_nonmonotonic_runtime, LOOP, RUNTIME, "GOMP_5.0")
#define TG_GOMP_STARTED_LOOPS_CHUNKED(X)                                                                     \
    X(GOMP_parallel_loop_static_start, LOOP, STATIC, "GOMP_1.0")                                             \
    X(GOMP_parallel_loop_dynamic_start, LOOP, DYNAMIC, "GOMP_1.0")                                           \
    X(GOMP_parallel_loop_guided_start, LOOP, GUIDED, "GOMP_1.0")
#define TG_GOMP_STARTED_LOOPS_RUNTIME(X) X(GOMP_parallel_loop_runtime_start, LOOP, RUNTIME, "GOMP_1.0")

/* Locks: X(name, mutex). Those of Fortran end in _. */
#define TG_GOMP_LOCK_SETS(X)                                                                                 \
    X(omp_set_lock, LOCK)                                                                                    \
    X(omp_set_lock_, LOCK)                                                                                   \
    X(omp_set_nest_lock, NEST_LOCK)                                                                          \
    X(omp_set_nest_lock_, NEST_LOCK)
#define TG_GOMP_LOCK_UNSETS(X)                                                                               \
    X(omp_unset_lock, LOCK)                                                                                  \
    X(omp_unset_lock_, LOCK)                                                                                 \
    X(omp_unset_nest_lock, NEST_LOCK)                                                                        \
    X(omp_unset_nest_lock_, NEST_LOCK)
#define TG_GOMP_LOCK_TESTS(X)                                                                                \
    X(omp_test_lock, LOCK)                                                                                   \
    X(omp_test_lock_, LOCK)                                                                                  \
    X(omp_test_nest_lock, NEST_LOCK)                                                                         \
    X(omp_test_nest_lock_, NEST_LOCK)

/* Loops of LLVM's runtime: X(suffix, type, signed type). */
#define TG_GOMP_LLVM_LOOPS(X)                                                                                \
    X(4, int32_t, int32_t)                                                                                   \
    X(4u, uint32_t, int32_t)                                                                                 \
    X(8, int64_t, int64_t)                                                                                   \
    X(8u, uint64_t, int64_t)

/* How the kinds above become entry points. */
#define TG_GOMP_ENTRY_LLVM_LOOP(suffix, type, stride)                                                        \
    TG_GOMP_ENTRY(void, __kmpc_dispatch_init_##suffix, (const void *, int, int, type, type, stride, stride), \
                  "VERSION")                                                                                 \
    TG_GOMP_ENTRY(int, __kmpc_dispatch_next_##suffix,                                                        \
                  (const void *, int, int32_t *, type *, type *, stride *), "VERSION")                       \
    TG_GOMP_ENTRY(void, __kmpc_for_static_init_##suffix,                                                     \
                  (const void *, int, int, int32_t *, type *, type *, stride *, stride, stride), "VERSION")
#define TG_GOMP_ENTRY_LOOPS_CHUNKED(name, zone, schedule, version)                                           \
    TG_GOMP_ENTRY(bool, name, (long, long, long, long, long *, long *), version)
#define TG_GOMP_ENTRY_LOOPS_RUNTIME(name, zone, schedule, version)                                           \
    TG_GOMP_ENTRY(bool, name, (long, long, long, long *, long *), version)
#define TG_GOMP_ENTRY_LOOPS_ULL_CHUNKED(name, zone, schedule, version)                                       \
    TG_GOMP_ENTRY(bool, name,                                                                                \
                  (bool, tg_gomp_ull, tg_gomp_ull, tg_gomp_ull, tg_gomp_ull, tg_gomp_ull *, tg_gomp_ull *),  \
                  version)
#define TG_GOMP_ENTRY_LOOPS_ULL_RUNTIME(name, zone, schedule, version)                                       \
    TG_GOMP_ENTRY(bool, name, (bool, tg_gomp_ull, tg_gomp_ull, tg_gomp_ull, tg_gomp_ull *, tg_gomp_ull *),   \
                  version)
#define TG_GOMP_ENTRY_LOOPS_DOACROSS(name, zone, schedule, version)                                          \
    TG_GOMP_ENTRY(bool, name, (unsigned, long *, long, long *, long *), version)
#define TG_GOMP_ENTRY_LOOPS_ULL_DOACROSS(name, zone, schedule, version)                                      \
    TG_GOMP_ENTRY(bool, name, (unsigned, tg_gomp_ull *, tg_gomp_ull, tg_gomp_ull *, tg_gomp_ull *), version)
#define TG_GOMP_ENTRY_PARALLEL_LOOPS_CHUNKED(name, zone, schedule, version)                                  \
    TG_GOMP_ENTRY(void, name, (tg_gomp_body *, void *, unsigned, long, long, long, long, unsigned), version)
#define TG_GOMP_ENTRY_PARALLEL_LOOPS_RUNTIME(name, zone, schedule, version)                                  \
    TG_GOMP_ENTRY(void, name, (tg_gomp_body *, void *, unsigned, long, long, long, unsigned), version)
#define TG_GOMP_ENTRY_STARTED_LOOPS_CHUNKED(name, zone, schedule, version)                                   \
    TG_GOMP_ENTRY(void, name, (tg_gomp_body *, void *, unsigned, long, long, long, long), version)
#define TG_GOMP_ENTRY_STARTED_LOOPS_RUNTIME(name, zone, schedule, version)                                   \
    TG_GOMP_ENTRY(void, name, (tg_gomp_body *, void *, unsigned, long, long, long), version)
/* The version is of the oldest; it is only for the message about a missing one. */
#define TG_GOMP_ENTRY_NEXT(name, type)       TG_GOMP_ENTRY(bool, name, (type *, type *), "GOMP_1.0")
#define TG_GOMP_ENTRY_LOCK(name, mutex)      TG_GOMP_ENTRY(void, name, (void *), "OMP_3.0")
#define TG_GOMP_ENTRY_LOCK_TEST(name, mutex) TG_GOMP_ENTRY(int, name, (void *), "OMP_3.0")

/* Every entry point: TG_GOMP_ENTRY(result, name, parameters, version), which whoever expands this defines. */
#define TG_GOMP_ENTRIES                                                                                      \
    TG_GOMP_ENTRY(void, GOMP_parallel, (tg_gomp_body *, void *, unsigned, unsigned), "GOMP_4.0")             \
    TG_GOMP_ENTRY(unsigned, GOMP_parallel_reductions, (tg_gomp_body *, void *, unsigned, unsigned),          \
                  "GOMP_5.0")                                                                                \
    TG_GOMP_ENTRY(void, GOMP_parallel_sections, (tg_gomp_body *, void *, unsigned, unsigned, unsigned),      \
                  "GOMP_4.0")                                                                                \
    TG_GOMP_ENTRY(void, GOMP_parallel_start, (tg_gomp_body *, void *, unsigned), "GOMP_1.0")                 \
    TG_GOMP_ENTRY(void, GOMP_parallel_sections_start, (tg_gomp_body *, void *, unsigned, unsigned),          \
                  "GOMP_1.0")                                                                                \
    TG_GOMP_ENTRY(void, GOMP_parallel_end, (void), "GOMP_1.0")                                               \
    TG_GOMP_ENTRY(bool, GOMP_loop_doacross_runtime_start, (unsigned, long *, long *, long *), "GOMP_4.5")    \
    TG_GOMP_ENTRY(bool, GOMP_loop_ull_doacross_runtime_start,                                                \
                  (unsigned, tg_gomp_ull *, tg_gomp_ull *, tg_gomp_ull *), "GOMP_4.5")                       \
    TG_GOMP_ENTRY(bool, GOMP_loop_start,                                                                     \
                  (long, long, long, long, long, long *, long *, uintptr_t *, void **), "GOMP_5.0")          \
    TG_GOMP_ENTRY(bool, GOMP_loop_ordered_start,                                                             \
                  (long, long, long, long, long, long *, long *, uintptr_t *, void **), "GOMP_5.0")          \
    TG_GOMP_ENTRY(bool, GOMP_loop_doacross_start,                                                            \
                  (unsigned, long *, long, long, long *, long *, uintptr_t *, void **), "GOMP_5.0")          \
    TG_GOMP_ENTRY(bool, GOMP_loop_ull_start,                                                                 \
                  (bool, tg_gomp_ull, tg_gomp_ull, tg_gomp_ull, long, tg_gomp_ull, tg_gomp_ull *,            \
                   tg_gomp_ull *, uintptr_t *, void **),                                                     \
                  "GOMP_5.0")                                                                                \
    TG_GOMP_ENTRY(bool, GOMP_loop_ull_ordered_start,                                                         \
                  (bool, tg_gomp_ull, tg_gomp_ull, tg_gomp_ull, long, tg_gomp_ull, tg_gomp_ull *,            \
                   tg_gomp_ull *, uintptr_t *, void **),                                                     \
                  "GOMP_5.0")                                                                                \
    TG_GOMP_ENTRY(                                                                                           \
        bool, GOMP_loop_ull_doacross_start,                                                                  \
        (unsigned, tg_gomp_ull *, long, tg_gomp_ull, tg_gomp_ull *, tg_gomp_ull *, uintptr_t *, void **),    \
        "GOMP_5.0")                                                                                          \
    TG_GOMP_ENTRY(void, GOMP_loop_end, (void), "GOMP_1.0")                                                   \
    TG_GOMP_ENTRY(void, GOMP_loop_end_nowait, (void), "GOMP_1.0")                                            \
    TG_GOMP_ENTRY(bool, GOMP_loop_end_cancel, (void), "GOMP_4.0")                                            \
    TG_GOMP_ENTRY(void, GOMP_ordered_start, (void), "GOMP_1.0")                                              \
    TG_GOMP_ENTRY(void, GOMP_ordered_end, (void), "GOMP_1.0")                                                \
    TG_GOMP_ENTRY(void, GOMP_doacross_post, (long *), "GOMP_4.5")                                            \
    TG_GOMP_ENTRY(void, GOMP_doacross_ull_post, (tg_gomp_ull *), "GOMP_4.5")                                 \
    TG_GOMP_ENTRY(void, GOMP_doacross_wait, (long, ...), "GOMP_4.5")                                         \
    TG_GOMP_ENTRY(void, GOMP_doacross_ull_wait, (tg_gomp_ull, ...), "GOMP_4.5")                              \
    TG_GOMP_ENTRY(unsigned, GOMP_sections_start, (unsigned), "GOMP_1.0")                                     \
    TG_GOMP_ENTRY(unsigned, GOMP_sections2_start, (unsigned, uintptr_t *, void **), "GOMP_5.0")              \
    TG_GOMP_ENTRY(unsigned, GOMP_sections_next, (void), "GOMP_1.0")                                          \
    TG_GOMP_ENTRY(void, GOMP_sections_end, (void), "GOMP_1.0")                                               \
    TG_GOMP_ENTRY(void, GOMP_sections_end_nowait, (void), "GOMP_1.0")                                        \
    TG_GOMP_ENTRY(bool, GOMP_sections_end_cancel, (void), "GOMP_4.0")                                        \
    TG_GOMP_ENTRY(bool, GOMP_single_start, (void), "GOMP_1.0")                                               \
    TG_GOMP_ENTRY(void *, GOMP_single_copy_start, (void), "GOMP_1.0")                                        \
    TG_GOMP_ENTRY(void, GOMP_single_copy_end, (void *), "GOMP_1.0")                                          \
    TG_GOMP_ENTRY(void, GOMP_scope_start, (uintptr_t *), "GOMP_5.1")                                         \
    TG_GOMP_ENTRY(void, GOMP_workshare_task_reduction_unregister, (bool), "GOMP_5.0")                        \
    TG_GOMP_ENTRY(void, GOMP_barrier, (void), "GOMP_1.0")                                                    \
    TG_GOMP_ENTRY(bool, GOMP_barrier_cancel, (void), "GOMP_4.0")                                             \
    TG_GOMP_ENTRY(bool, GOMP_cancel, (int, bool), "GOMP_4.0")                                                \
    TG_GOMP_ENTRY(bool, GOMP_cancellation_point, (int), "GOMP_4.0")                                          \
    TG_GOMP_ENTRY(void, GOMP_critical_start, (void), "GOMP_1.0")                                             \
    TG_GOMP_ENTRY(void, GOMP_critical_end, (void), "GOMP_1.0")                                               \
    TG_GOMP_ENTRY(void, GOMP_critical_name_start, (void **), "GOMP_1.0")                                     \
    TG_GOMP_ENTRY(void, GOMP_critical_name_end, (void **), "GOMP_1.0")                                       \
    TG_GOMP_ENTRY(void, GOMP_atomic_start, (void), "GOMP_1.0")                                               \
    TG_GOMP_ENTRY(void, GOMP_atomic_end, (void), "GOMP_1.0")                                                 \
    TG_GOMP_ENTRY(                                                                                           \
        void, GOMP_task,                                                                                     \
        (tg_gomp_body *, void *, tg_gomp_copy *, long, long, bool, unsigned, void **, int, void *),          \
        "GOMP_2.0")                                                                                          \
    TG_GOMP_ENTRY(void, GOMP_taskloop,                                                                       \
                  (tg_gomp_body *, void *, tg_gomp_copy *, long, long, unsigned, unsigned long, int, long,   \
                   long, long),                                                                              \
                  "GOMP_4.5")                                                                                \
    TG_GOMP_ENTRY(void, GOMP_taskloop_ull,                                                                   \
                  (tg_gomp_body *, void *, tg_gomp_copy *, long, long, unsigned, unsigned long, int,         \
                   tg_gomp_ull, tg_gomp_ull, tg_gomp_ull),                                                   \
                  "GOMP_4.5")                                                                                \
    TG_GOMP_ENTRY(void, GOMP_taskwait, (void), "GOMP_2.0")                                                   \
    TG_GOMP_ENTRY(void, GOMP_taskwait_depend, (void **), "GOMP_5.0")                                         \
    TG_GOMP_ENTRY(void, GOMP_taskyield, (void), "GOMP_3.0")                                                  \
    TG_GOMP_ENTRY(void, GOMP_taskgroup_start, (void), "GOMP_4.0")                                            \
    TG_GOMP_ENTRY(void, GOMP_taskgroup_end, (void), "GOMP_4.0")                                              \
    TG_GOMP_ENTRY(void, omp_fulfill_event, (uintptr_t), "OMP_5.0.1")                                         \
    TG_GOMP_ENTRY(void, omp_fulfill_event_, (uintptr_t), "OMP_5.0.1")                                        \
    TG_GOMP_ENTRY(void, GOMP_teams_reg, (tg_gomp_body *, void *, unsigned, unsigned, unsigned), "GOMP_5.0")  \
    TG_GOMP_ENTRY(void, GOMP_target,                                                                         \
                  (int, tg_gomp_body *, const void *, size_t, void **, size_t *, unsigned char *),           \
                  "GOMP_4.0")                                                                                \
    TG_GOMP_ENTRY(                                                                                           \
        void, GOMP_target_ext,                                                                               \
        (int, tg_gomp_body *, size_t, void **, size_t *, unsigned short *, unsigned, void **, void **),      \
        "GOMP_4.5")                                                                                          \
    TG_GOMP_ENTRY(void, GOMP_target_data, (int, const void *, size_t, void **, size_t *, unsigned char *),   \
                  "GOMP_4.0")                                                                                \
    TG_GOMP_ENTRY(void, GOMP_target_data_ext, (int, size_t, void **, size_t *, unsigned short *),            \
                  "GOMP_4.5")                                                                                \
    TG_GOMP_ENTRY(void, GOMP_target_end_data, (void), "GOMP_4.0")                                            \
    TG_GOMP_ENTRY(void, GOMP_target_update, (int, const void *, size_t, void **, size_t *, unsigned char *), \
                  "GOMP_4.0")                                                                                \
    TG_GOMP_ENTRY(void, GOMP_target_update_ext,                                                              \
                  (int, size_t, void **, size_t *, unsigned short *, unsigned, void **), "GOMP_4.5")         \
    TG_GOMP_ENTRY(void, GOMP_target_enter_exit_data,                                                         \
                  (int, size_t, void **, size_t *, unsigned short *, unsigned, void **), "GOMP_4.5")         \
    TG_GOMP_LOOPS_CHUNKED(TG_GOMP_ENTRY_LOOPS_CHUNKED)                                                       \
    TG_GOMP_LOOPS_RUNTIME(TG_GOMP_ENTRY_LOOPS_RUNTIME)                                                       \
    TG_GOMP_LOOPS_ULL_CHUNKED(TG_GOMP_ENTRY_LOOPS_ULL_CHUNKED)                                               \
    TG_GOMP_LOOPS_ULL_RUNTIME(TG_GOMP_ENTRY_LOOPS_ULL_RUNTIME)                                               \
    TG_GOMP_LOOPS_DOACROSS(TG_GOMP_ENTRY_LOOPS_DOACROSS)                                                     \
    TG_GOMP_LOOPS_ULL_DOACROSS(TG_GOMP_ENTRY_LOOPS_ULL_DOACROSS)                                             \
    TG_GOMP_PARALLEL_LOOPS_CHUNKED(TG_GOMP_ENTRY_PARALLEL_LOOPS_CHUNKED)                                     \
    TG_GOMP_PARALLEL_LOOPS_RUNTIME(TG_GOMP_ENTRY_PARALLEL_LOOPS_RUNTIME)                                     \
    TG_GOMP_STARTED_LOOPS_CHUNKED(TG_GOMP_ENTRY_STARTED_LOOPS_CHUNKED)                                       \
    TG_GOMP_STARTED_LOOPS_RUNTIME(TG_GOMP_ENTRY_STARTED_LOOPS_RUNTIME)                                       \
    TG_GOMP_NEXTS(TG_GOMP_ENTRY_NEXT)                                                                        \
    TG_GOMP_LOCK_SETS(TG_GOMP_ENTRY_LOCK)                                                                    \
    TG_GOMP_LOCK_UNSETS(TG_GOMP_ENTRY_LOCK)                                                                  \
    TG_GOMP_LOCK_TESTS(TG_GOMP_ENTRY_LOCK_TEST)                                                              \
    /* of LLVM's runtime, see kmpc.c */                                                                      \
    TG_GOMP_ENTRY(void, __kmpc_critical, (const void *, int, void *), "VERSION")                             \
    TG_GOMP_ENTRY(void, __kmpc_critical_with_hint, (const void *, int, void *, unsigned), "VERSION")         \
    TG_GOMP_ENTRY(void, __kmpc_end_critical, (const void *, int, void *), "VERSION")                         \
    TG_GOMP_ENTRY(void, __kmpc_doacross_init, (const void *, int, int, const void *), "VERSION")             \
    TG_GOMP_ENTRY(void, __kmpc_doacross_fini, (const void *, int), "VERSION")                                \
    TG_GOMP_ENTRY(void, __kmpc_doacross_post, (const void *, int, const long long *), "VERSION")             \
    TG_GOMP_ENTRY(void, __kmpc_doacross_wait, (const void *, int, const long long *), "VERSION")             \
    TG_GOMP_LLVM_LOOPS(TG_GOMP_ENTRY_LLVM_LOOP)                                                              \
    TG_GOMP_ENTRY(void, __kmpc_end_ordered, (const void *, int), "VERSION")                                  \
    TG_GOMP_ENTRY(void, __kmpc_unset_lock, (const void *, int, void **), "VERSION")                          \
    TG_GOMP_ENTRY(void, __kmpc_unset_nest_lock, (const void *, int, void **), "VERSION")

#endif
