/* libgomp, watched by standing between it and the program: the agent defines its entry points, records, and
 * calls the real ones. What the files in this folder share.
 *
 * What a wrapper may rely on and must keep:
 * - nothing is kept on the program's stack but what dies with the call, and no wrapper needs to see its frame
 *   left: bodies may end by longjmp, by an exception inside of them, by pthread_exit or pthread_cancel;
 * - where nothing is recorded the arguments go on untouched, bodies included;
 * - GCC turns a body's last call into a jump: then the address behind the call is the agent's own, see
 *   tg_gomp_code. */
#ifndef TG_RECORDER_AGENT_GOMP_GOMP_H
#define TG_RECORDER_AGENT_GOMP_GOMP_H

#include "recorder/agent/gomp/entries.h"
#include "recorder/agent/gomp/inferred.h"
#include "recorder/agent/openmp.h"

/* The real functions of one libgomp. Constant once it is found. */
struct tg_gomp {
    bool is_ours; /* no other back end records for it */
#define TG_GOMP_ENTRY(result, name, parameters, version) result(*name) parameters;
    TG_GOMP_ENTRIES
#undef TG_GOMP_ENTRY
    int (*omp_get_thread_num)(void);
    int (*omp_get_num_threads)(void);
};

#define TG_GOMP_ENTRY(result, name, parameters, version) TG_AGENT_EXPORT result name parameters;
TG_GOMP_ENTRIES
#undef TG_GOMP_ENTRY

TG_AGENT_EXPORT int omp_get_thread_num(void);
TG_AGENT_EXPORT int omp_get_num_threads(void);

/* The libgomp that the program started with; NULL: none was looked for yet, or it started without. */
extern const struct tg_gomp *tg_gomp_only;
/* The same of LLVM's runtime: a process may have both, and its calls are for one of them each. */
extern const struct tg_gomp *tg_gomp_only_llvm;

/* The libgomp of the region that this thread is in, NULL outside of all. */
extern __thread const struct tg_gomp *tg_gomp_inside __attribute__((tls_model("initial-exec")));

/* Finds what a call from CODE would have reached without the agent. Does not return where there is nothing:
 * then the process ends as the dynamic loader ends it for an undefined symbol. */
const struct tg_gomp *tg_gomp_find(const void *code);
/* The same for a call that programs make of LLVM's runtime only. */
const struct tg_gomp *tg_gomp_find_llvm(const void *code);

/* Finds the libgomp that the program started with, if it did: later there may be no memory for that. */
void tg_gomp_prepare(void);

/* Something is about to be loaded that binds its calls past the agent, if it makes any. */
void tg_gomp_mutex_pass_by(void);

static inline const struct tg_gomp *tg_gomp_next(const void *code)
{
    const struct tg_gomp *only = __atomic_load_n(&tg_gomp_only, __ATOMIC_ACQUIRE);
    return TG_AGENT_LIKELY(only != NULL) ? only : tg_gomp_find(code);
}

static inline const struct tg_gomp *tg_gomp_next_llvm(const void *code)
{
    const struct tg_gomp *only = __atomic_load_n(&tg_gomp_only_llvm, __ATOMIC_ACQUIRE);
    return TG_AGENT_LIKELY(only != NULL) ? only : tg_gomp_find_llvm(code);
}

static inline bool tg_gomp_records(const struct tg_gomp *gomp)
{
    return TG_AGENT_LIKELY((tg_agent.flags & TG_AGENT_OPENMP) != 0 && gomp->is_ours);
}

/* Bounds of the agent's code; the linker knows. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

/* In a wrapper: where it returns to, and the stack pointer before the call. */
#define TG_GOMP_CALLER() __builtin_return_address(0)
#define TG_GOMP_STACK()  ((const void *)((uintptr_t)__builtin_frame_address(0) + 16))

/* The program's address for a call that returns to CALLER. Where that is a trampoline, the call was the last
 * thing that the body did: then an address in the body's first instruction. For wrappers that record the
 * call: the thread is no longer in what it was inferred to be in, if the call is not made there. */
static inline __attribute__((always_inline)) const void *tg_gomp_code(const void *caller)
{
    tg_gomp_inferred_pass(caller, TG_GOMP_STACK());
    if (TG_AGENT_LIKELY((uintptr_t)caller - (uintptr_t)__ehdr_start >=
                        (uintptr_t)etext - (uintptr_t)__ehdr_start))
        return caller;
    return tg_openmp_frame.code;
}

/* An address in BODY's first instruction, as if a call there had returned. */
static inline const void *tg_gomp_in_body(tg_gomp_body *body)
{
    return (const void *)((uintptr_t)body + 1);
}

/* Closes a construct whose end is not seen: at this thread's next worksharing construct or barrier, or the
 * end of the body. */
tg_agent_moment tg_gomp_close_unseen_slowly(void);

/* Returns the moment of what was recorded, for what the thread does instead. */
static inline tg_agent_moment tg_gomp_close_unseen(void)
{
    if (TG_AGENT_UNLIKELY(tg_openmp_frame.single != TG_GOMP_SINGLE_NONE || tg_openmp_frame.workshare != 0 ||
                          tg_gomp_inferred.site != NULL))
        return tg_gomp_close_unseen_slowly();
    return 0;
}

/* The thread enters a worksharing construct that ends with tg_gomp_workshare_end. */
static inline void tg_gomp_workshare_begin(const void *code, enum tg_omp_zone zone,
                                           enum tg_omp_schedule schedule, uint64_t count)
{
    tg_agent_moment moment = tg_gomp_close_unseen();
    tg_openmp_frame.workshare = 1 + zone;
    tg_openmp_zone_begin(moment, code, TG_OMP_WRAPPED, zone, schedule, count);
}

static inline tg_agent_moment tg_gomp_workshare_end(const void *code)
{
    unsigned workshare = tg_openmp_frame.workshare;
    tg_openmp_frame.workshare = 0;
    if (TG_AGENT_UNLIKELY(workshare == 0)) /* the construct began before anything was recorded */
        return 0;
    return tg_openmp_zone_end(0, code, TG_OMP_WRAPPED, workshare - 1);
}

#endif
