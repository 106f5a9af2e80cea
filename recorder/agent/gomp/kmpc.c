/* What programs of clang call of LLVM's runtime and OMPT does not tell, or not safely. */
#include "recorder/agent/gomp/gomp.h"
#include "recorder/agent/ompt/releases.h"

/* Whether it is the program that calls, of the runtime that OMPT tells of. */
#define IS_WATCHED(name) tg_ompt_is_release(TG_GOMP_CALLER(), (const void *)(uintptr_t)gomp->name)

void __kmpc_critical(const void *location, int thread, void *critical)
{
    const struct tg_gomp *gomp = tg_gomp_next_llvm(TG_GOMP_CALLER());
    tg_ompt_enters(critical);
    gomp->__kmpc_critical(location, thread, critical);
}

void __kmpc_critical_with_hint(const void *location, int thread, void *critical, unsigned hint)
{
    const struct tg_gomp *gomp = tg_gomp_next_llvm(TG_GOMP_CALLER());
    tg_ompt_enters(critical);
    gomp->__kmpc_critical_with_hint(location, thread, critical, hint);
}

void __kmpc_end_critical(const void *location, int thread, void *critical)
{
    const struct tg_gomp *gomp = tg_gomp_next_llvm(TG_GOMP_CALLER());
    if (IS_WATCHED(__kmpc_end_critical))
        tg_ompt_release(TG_OMP_MUTEX_CRITICAL, NULL, TG_GOMP_CALLER());
    if (TG_AGENT_LIKELY(tg_gate_due == 0)) {
        gomp->__kmpc_end_critical(location, thread,
                                  critical); /* by a jump: the runtime takes down where it was called */
        return;
    }
    gomp->__kmpc_end_critical(location, thread, critical);
    tg_gate_wait();
}

void __kmpc_end_ordered(const void *location, int thread)
{
    const struct tg_gomp *gomp = tg_gomp_next_llvm(TG_GOMP_CALLER());
    if (IS_WATCHED(__kmpc_end_ordered))
        tg_ompt_release(TG_OMP_MUTEX_ORDERED, NULL, TG_GOMP_CALLER());
    if (TG_AGENT_LIKELY(tg_gate_due == 0)) {
        gomp->__kmpc_end_ordered(location,
                                 thread); /* by a jump: the runtime takes down where it was called */
        return;
    }
    gomp->__kmpc_end_ordered(location, thread);
    tg_gate_wait();
}

void __kmpc_unset_lock(const void *location, int thread, void **lock)
{
    const struct tg_gomp *gomp = tg_gomp_next_llvm(TG_GOMP_CALLER());
    if (IS_WATCHED(__kmpc_unset_lock))
        tg_ompt_release(TG_OMP_MUTEX_LOCK, lock, TG_GOMP_CALLER());
    if (TG_AGENT_LIKELY(tg_gate_due == 0)) {
        gomp->__kmpc_unset_lock(location, thread,
                                lock); /* by a jump: the runtime takes down where it was called */
        return;
    }
    gomp->__kmpc_unset_lock(location, thread, lock);
    tg_gate_wait();
}

void __kmpc_unset_nest_lock(const void *location, int thread, void **lock)
{
    const struct tg_gomp *gomp = tg_gomp_next_llvm(TG_GOMP_CALLER());
    if (IS_WATCHED(__kmpc_unset_nest_lock))
        tg_ompt_release(TG_OMP_MUTEX_NEST_LOCK, lock, TG_GOMP_CALLER());
    if (TG_AGENT_LIKELY(tg_gate_due == 0)) {
        gomp->__kmpc_unset_nest_lock(location, thread,
                                     lock); /* by a jump: the runtime takes down where it was called */
        return;
    }
    gomp->__kmpc_unset_nest_lock(location, thread, lock);
    tg_gate_wait();
}

/* ---- iterations that wait for each other. The compiler counts all of them from 0. */

/* One of the loops of a doacross loop (struct kmp_dim in LLVM's source). */
struct bounds {
    int64_t lower, upper, step;
};

/* The thread enters a doacross loop of N_LOOPS with BOUNDS. Without memory nothing is known of any. */
static void enter_loops(int n_loops, const struct bounds *bounds)
{
    struct tg_ompt_loops *entered = tg_ompt_take();
    if (entered == NULL) {
        while (tg_ompt_leave_loop())
            continue;
        return;
    }
    for (int i = 0; i < n_loops && i < TG_OMPT_LOOPS; i++) {
        bool is_up = bounds[i].step > 0;
        entered->first[i] = is_up ? bounds[i].lower : bounds[i].upper;
        entered->last[i] = is_up ? bounds[i].upper : bounds[i].lower;
    }
    entered->outer = tg_ompt_thread.loops;
    tg_ompt_thread.loops = entered;
}

/* Whether SINK, or what a narrow or unsigned variable has made of it, is none of the loop's iterations: clang's code asks for
 * those before the first as well, and the runtime does not wait. */
static bool is_outside(const long long *sink)
{
    const struct tg_ompt_loops *loops = tg_ompt_thread.loops;
    for (size_t i = 0; loops != NULL && i < tg_openmp_frame.doacross_loops && i < TG_OMPT_LOOPS; i++)
        if (sink[i] < loops->first[i] || sink[i] > loops->last[i])
            return true;
    return false;
}

void __kmpc_doacross_init(const void *location, int thread, int n_loops, const void *bounds)
{
    const struct tg_gomp *gomp = tg_gomp_next_llvm(TG_GOMP_CALLER());
    tg_openmp_frame.doacross_loops = n_loops > 0 ? (uint16_t)n_loops : 0;
    if (bounds != NULL && IS_WATCHED(__kmpc_doacross_init))
        enter_loops(n_loops, bounds);
    gomp->__kmpc_doacross_init(location, thread, n_loops, bounds);
}

void __kmpc_doacross_fini(const void *location, int thread)
{
    const struct tg_gomp *gomp = tg_gomp_next_llvm(TG_GOMP_CALLER());
    tg_openmp_frame.doacross_loops = 0;
    tg_ompt_leave_loop();
    gomp->__kmpc_doacross_fini(location, thread);
}

void __kmpc_doacross_post(const void *location, int thread, const long long *source)
{
    const struct tg_gomp *gomp = tg_gomp_next_llvm(TG_GOMP_CALLER());
    if (IS_WATCHED(__kmpc_doacross_post))
        tg_openmp_iteration(TG_GOMP_CALLER(), TG_OMP_OMPT, TG_OMP_ITERATION_SOURCE, source,
                            tg_openmp_frame.doacross_loops);
    gomp->__kmpc_doacross_post(location, thread, source);
}

/* Schedules of __kmpc_dispatch_init that wait for each other in the order of iterations, without modifiers; and
 * that of __kmpc_for_static_init in chunks (enum sched_type in LLVM's source). */
static bool is_ordered(int schedule)
{
    enum { MODIFIERS = 3 << 29, FIRST = 64, BEHIND = 72, FIRST_UNMERGED = 192, BEHIND_UNMERGED = 200 };
    int plain = schedule & ~MODIFIERS;
    return (plain >= FIRST && plain < BEHIND) || (plain >= FIRST_UNMERGED && plain < BEHIND_UNMERGED);
}

static bool is_in_chunks(int schedule)
{
    enum { MODIFIERS = 3 << 29, STATIC_IN_CHUNKS = 33 };
    return (schedule & ~MODIFIERS) == STATIC_IN_CHUNKS;
}

/* Whether the thread is to be told of its iterations: they wait for each other. A tool of the program's sees the address
 * that a call returns to, which would be the agent's: its calls go on by a jump, without. */
static inline bool tells_iterations(bool is_ordered)
{
    const struct tg_openmp_frame *frame = &tg_openmp_frame;
    return TG_AGENT_UNLIKELY(frame->doacross_loops != 0 || (is_ordered && frame->is_ordered)) &&
           !tg_ompt_chained;
}

/* Whether clang shares out sections by this call, whose LOCATION says what it is of (ident_t in LLVM's source). */
static inline bool is_of_sections(const void *location)
{
    enum { WORK_SECTIONS = 0x400 };
    const int32_t *words = location;
    return words != NULL && (words[1] & WORK_SECTIONS) != 0 && !tg_ompt_chained;
}

/* The thread executes those from LOWER to UPPER, counted from 0; when a second one begins is not seen: 0. */
static void tell_sections(const void *code, uint64_t lower, uint64_t upper)
{
    tg_openmp_section(code, TG_OMP_OMPT, lower == upper ? lower + 1 : 0);
}

#define LOOPS(suffix, type, stride)                                                                          \
    void __kmpc_dispatch_init_##suffix(const void *location, int thread, int schedule, type lower,           \
                                       type upper, stride step, stride chunk)                                \
    {                                                                                                        \
        const struct tg_gomp *gomp = tg_gomp_next_llvm(TG_GOMP_CALLER());                                    \
        tg_openmp_frame.is_ordered = is_ordered(schedule);                                                   \
        gomp->__kmpc_dispatch_init_##suffix(location, thread, schedule, lower, upper, step, chunk);          \
    }                                                                                                        \
                                                                                                             \
    static __attribute__((noinline)) int next_##suffix(const struct tg_gomp *gomp, const void *code,         \
                                                       const void *location, int thread, int32_t *is_last,   \
                                                       type *lower, type *upper, stride *step)               \
    {                                                                                                        \
        tg_ompt_thread.code = code; /* the runtime tells the agent's own */                                  \
        int is_given = gomp->__kmpc_dispatch_next_##suffix(location, thread, is_last, lower, upper, step);   \
        if (is_given != 0)                                                                                   \
            tg_openmp_chunk(code, TG_OMP_OMPT, (uint64_t)*lower, (uint64_t)*upper, 0);                       \
        return is_given;                                                                                     \
    }                                                                                                        \
                                                                                                             \
    int __kmpc_dispatch_next_##suffix(const void *location, int thread, int32_t *is_last, type *lower,       \
                                      type *upper, stride *step)                                             \
    {                                                                                                        \
        const struct tg_gomp *gomp = tg_gomp_next_llvm(TG_GOMP_CALLER());                                    \
        if (tells_iterations(true) && IS_WATCHED(__kmpc_dispatch_next_##suffix))                             \
            return next_##suffix(gomp, TG_GOMP_CALLER(), location, thread, is_last, lower, upper, step);     \
        return gomp->__kmpc_dispatch_next_##suffix(location, thread, is_last, lower, upper, step);           \
    }                                                                                                        \
                                                                                                             \
    static __attribute__((noinline)) void static_##suffix(                                                   \
        const struct tg_gomp *gomp, const void *code, const void *location, int thread, int schedule,        \
        int32_t *is_last, type *lower, type *upper, stride *between, stride step, stride chunk)              \
    {                                                                                                        \
        tg_ompt_thread.code = code;                                                                          \
        gomp->__kmpc_for_static_init_##suffix(location, thread, schedule, is_last, lower, upper, between,    \
                                              step, chunk);                                                  \
        if (*lower > *upper)                                                                                 \
            return;                                                                                          \
        if (is_of_sections(location))                                                                        \
            tell_sections(code, (uint64_t)*lower, (uint64_t)*upper);                                         \
        else                                                                                                 \
            tg_openmp_chunk(code, TG_OMP_OMPT, (uint64_t)*lower, (uint64_t)*upper,                           \
                            is_in_chunks(schedule) ? (uint64_t)*between : 0);                                \
    }                                                                                                        \
                                                                                                             \
    void __kmpc_for_static_init_##suffix(const void *location, int thread, int schedule, int32_t *is_last,   \
                                         type *lower, type *upper, stride *between, stride step,             \
                                         stride chunk)                                                       \
    {                                                                                                        \
        const struct tg_gomp *gomp = tg_gomp_next_llvm(TG_GOMP_CALLER());                                    \
        if ((tells_iterations(false) || TG_AGENT_UNLIKELY(is_of_sections(location))) &&                      \
            IS_WATCHED(__kmpc_for_static_init_##suffix)) {                                                   \
            static_##suffix(gomp, TG_GOMP_CALLER(), location, thread, schedule, is_last, lower, upper,       \
                            between, step, chunk);                                                           \
            return;                                                                                          \
        }                                                                                                    \
        gomp->__kmpc_for_static_init_##suffix(location, thread, schedule, is_last, lower, upper, between,    \
                                              step, chunk);                                                  \
    }
TG_GOMP_LLVM_LOOPS(LOOPS)

/* OMPT tells of the sink when it is there. */
void __kmpc_doacross_wait(const void *location, int thread, const long long *sink)
{
    const struct tg_gomp *gomp = tg_gomp_next_llvm(TG_GOMP_CALLER());
    if (!IS_WATCHED(__kmpc_doacross_wait) || is_outside(sink)) {
        gomp->__kmpc_doacross_wait(location, thread, sink);
        return;
    }
    tg_openmp_iteration(TG_GOMP_CALLER(), TG_OMP_OMPT, TG_OMP_ITERATION_SINK, sink,
                        tg_openmp_frame.doacross_loops);
    tg_openmp_sync_begin(0, TG_GOMP_CALLER(), TG_OMP_OMPT, TG_OMP_SYNC_DOACROSS);
    gomp->__kmpc_doacross_wait(location, thread, sink);
    tg_openmp_sync_end(TG_GOMP_CALLER(), TG_OMP_OMPT, TG_OMP_SYNC_DOACROSS, 0, false);
}

/* Locks: programs that are linked with LLVM's runtime ask for them by another version than those of libgomp. */
#define UNSET(name, mutex)                                                                                   \
    TG_AGENT_EXPORT void llvm_##name(void *lock);                                                            \
    __asm__(".symver llvm_" #name ", " #name "@VERSION");                                                    \
    void llvm_##name(void *lock)                                                                             \
    {                                                                                                        \
        const struct tg_gomp *gomp = tg_gomp_next_llvm(TG_GOMP_CALLER());                                    \
        if (IS_WATCHED(name))                                                                                \
            tg_ompt_release(TG_OMP_MUTEX_##mutex, lock, TG_GOMP_CALLER());                                   \
        if (TG_AGENT_LIKELY(tg_gate_due == 0)) {                                                             \
            gomp->name(lock);                                                                                \
            return;                                                                                          \
        }                                                                                                    \
        gomp->name(lock);                                                                                    \
        tg_gate_wait();                                                                                      \
    }
TG_GOMP_LOCK_UNSETS(UNSET)

#define TEST(name, mutex)                                                                                    \
    TG_AGENT_EXPORT int llvm_##name(void *lock);                                                             \
    __asm__(".symver llvm_" #name ", " #name "@VERSION");                                                    \
    int llvm_##name(void *lock)                                                                              \
    {                                                                                                        \
        const struct tg_gomp *gomp = tg_gomp_next_llvm(TG_GOMP_CALLER());                                    \
        if (!tg_ompt_is_call(TG_GOMP_CALLER(), (const void *)(uintptr_t)gomp->name))                         \
            return gomp->name(lock);                                                                         \
        tg_ompt_begin_test(TG_GOMP_CALLER());                                                                \
        return tg_ompt_end_test(gomp->name(lock), TG_OMP_MUTEX_##mutex, lock, TG_GOMP_CALLER());             \
    }
TG_GOMP_LOCK_TESTS(TEST)
