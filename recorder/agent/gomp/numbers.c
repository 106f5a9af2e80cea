#include "recorder/agent/gomp/numbers.h"

#include "recorder/agent/gomp/gomp.h"
#include "recorder/agent/gomp/provider.h"
#include "recorder/agent/gomp/site.h"
#include "recorder/agent/next.h"

/* So often in a row a masked construct is met, with nothing else in between: a program that looks at its
 * thread number again and again does something else. */
enum { MAX_REPEATS = 256 };

/* The thread asks from CALLER for numbers: that ends what it is outside of, but does not make another thing
 * of what it meets again and again. */
static void ask(const void *caller, const void *stack)
{
    struct tg_gomp_inferred *inferred = &tg_gomp_inferred;
    if (TG_AGENT_UNLIKELY(inferred->zone != 0) && !tg_gomp_inferred_holds(caller, stack))
        tg_gomp_inferred_end();
    if (TG_AGENT_UNLIKELY(tg_openmp_frame.single == TG_GOMP_SINGLE_EXECUTES))
        tg_gomp_inferred_pass_single(caller, stack);
}

/* The thread is behind the call of SITE that returns to CALLER, at MOMENT. */
static void enter(tg_agent_moment moment, const struct tg_gomp_site *site, const void *caller,
                  const void *stack)
{
    struct tg_openmp_frame *frame = &tg_openmp_frame;
    struct tg_gomp_inferred *inferred = &tg_gomp_inferred;
    bool is_loop = site->construct == TG_GOMP_STATIC_LOOP;
    /* there is no construct of this kind in a loop; of one whose end is not known this is the end */
    bool is_behind = stack == inferred->stack && (is_loop || inferred->start == inferred->end);
    if (inferred->zone != 0 &&
        (caller == inferred->site || is_behind || !tg_gomp_inferred_holds(caller, stack)))
        tg_gomp_inferred_end();
    /* neither is allowed in a task or a worksharing construct; one in another is a program's own
     * arithmetic */
    if (frame->task != 0 || frame->workshare != 0 || inferred->zone == 1 + TG_OMP_ZONE_LOOP ||
        (inferred->zone != 0 && !is_loop))
        return;
    if (!is_loop && (frame->single == TG_GOMP_SINGLE_EXECUTES || site->filter != (int)frame->thread_num))
        return;
    unsigned repeats = caller == inferred->site ? inferred->repeats : 0;
    if (!is_loop && repeats >= MAX_REPEATS && !tg_gate_is_any())
        return;
    if (is_loop)
        tg_gomp_close_unseen();
    uintptr_t address = (uintptr_t)caller;
    enum tg_omp_zone zone = is_loop ? TG_OMP_ZONE_LOOP : TG_OMP_ZONE_MASKED;
    inferred->site = caller;
    inferred->stack = stack;
    inferred->start = address + (uintptr_t)(intptr_t)site->start;
    inferred->end = site->end == TG_GOMP_SITE_OPEN ? UINTPTR_MAX : address + (uintptr_t)(intptr_t)site->end;
    inferred->repeats = (uint16_t)(is_loop ? 0 : repeats + 1);
    inferred->zone = (uint16_t)(1 + zone);
    tg_openmp_zone_begin(moment, caller, TG_OMP_INFERRED, zone,
                         is_loop ? TG_OMP_SCHEDULE_STATIC : TG_OMP_SCHEDULE_NONE, 0);
}

void tg_gomp_numbers_after_barrier(tg_agent_moment moment, const void *caller, const void *stack)
{
    const struct tg_gomp_situation situation = {
        .asked = TG_GOMP_ASKED_NOTHING,
        .numbers = tg_gomp_inferred_kept(stack),
    };
    struct tg_gomp_site buffer;
    const struct tg_gomp_site *site = tg_gomp_site_find(caller, &situation, &buffer);
    if (site != NULL && site->construct != TG_GOMP_NO_CONSTRUCT)
        enter(moment, site, caller, stack);
}

void tg_gomp_numbers_in_single(const void *caller, const void *stack)
{
    struct tg_gomp_inferred *inferred = &tg_gomp_inferred;
    const struct tg_gomp_situation situation = {.asked = TG_GOMP_ASKED_SINGLE};
    struct tg_gomp_site buffer;
    const struct tg_gomp_site *site = tg_gomp_site_find(caller, &situation, &buffer);
    bool is_known = site != NULL && site->construct == TG_GOMP_SINGLE && site->end != TG_GOMP_SITE_OPEN;
    uintptr_t address = (uintptr_t)caller;
    inferred->single_stack = stack;
    inferred->single_start = is_known ? address + (uintptr_t)(intptr_t)site->start : 0;
    inferred->single_end = is_known ? address + (uintptr_t)(intptr_t)site->end : 0;
}

/* ---- what the program asks for */

static void asked_for_thread_num(const void *caller, const void *stack)
{
    struct tg_gomp_inferred *inferred = &tg_gomp_inferred;
    const struct tg_gomp_situation situation = {
        .asked = TG_GOMP_ASKED_THREAD_NUM,
        .is_pair = inferred->paired == caller,
    };
    struct tg_gomp_site buffer;
    const struct tg_gomp_site *site = tg_gomp_site_find(caller, &situation, &buffer);
    if (site == NULL)
        return;
    if (site->numbers != 0)
        tg_gomp_inferred_keep(stack, site->numbers);
    if (site->construct != TG_GOMP_NO_CONSTRUCT)
        enter(0, site, caller, stack);
}

static void asked_for_num_threads(const void *caller, const void *stack)
{
    const struct tg_gomp_situation situation = {.asked = TG_GOMP_ASKED_NUM_THREADS};
    struct tg_gomp_site buffer;
    const struct tg_gomp_site *site = tg_gomp_site_find(caller, &situation, &buffer);
    if (site == NULL)
        return;
    tg_gomp_inferred.paired = (const void *)((uintptr_t)caller + (uintptr_t)site->next_call);
    if (site->construct != TG_GOMP_NO_CONSTRUCT)
        enter(0, site, caller, stack);
}

/* ---- the runtime that answers: outside of regions that are recorded, somebody else's perhaps */

typedef int query(void);

struct queries {
    query *thread_num;
    query *num_threads;
};

/* Queries of the runtime that the process started with: for all callers. */
static struct queries startup; /* __atomic, each; NULL: not known */

/* Queries that calls from [START, END), a library that came later, reach, as long as no library goes. */
static __thread struct {
    uintptr_t start, end;
    uint64_t epoch;
    struct queries queries;
    volatile bool is_changing;
} late __attribute__((tls_model("initial-exec")));

static int no_thread_num(void)
{
    return 0;
}

static int one_thread(void)
{
    return 1;
}

/* FOUND, or what a program without a runtime would answer: where nothing was found the call comes through a
 * weak reference, and no auditor hides the agent's names. */
static query *or_else(void *found, query *otherwise)
{
    return found != NULL ? (query *)(uintptr_t)found : otherwise;
}

static void remember_late(const struct tg_gomp_provider *provider, uint64_t epoch,
                          const struct queries *queries)
{
    if (late.is_changing) /* a handler that interrupted the rest */
        return;
    late.is_changing = true;
    tg_agent_signal_fence();
    late.start = provider->caller_start;
    late.end = provider->caller_end;
    late.epoch = epoch;
    late.queries = *queries;
    tg_agent_signal_fence();
    late.is_changing = false;
}

static struct queries find_queries(const void *caller)
{
    static const char thread_num[] = "omp_get_thread_num", num_threads[] = "omp_get_num_threads";
    uint64_t epoch = tg_agent_unloads();
    uintptr_t code = (uintptr_t)caller;
    if (code >= late.start && code < late.end && late.epoch == epoch && !late.is_changing)
        return late.queries;
    struct queries found;
    if (tg_gomp_provider_is_startup(thread_num)) {
        found.thread_num = or_else(tg_agent_next(thread_num), no_thread_num);
        found.num_threads = or_else(tg_agent_next(num_threads), one_thread);
        __atomic_store_n(&startup.num_threads, found.num_threads, __ATOMIC_RELAXED);
        __atomic_store_n(&startup.thread_num, found.thread_num, __ATOMIC_RELEASE);
        return found;
    }
    struct tg_gomp_provider provider = {.caller_end = 0};
    bool is_there = tg_gomp_provider_find(thread_num, caller, &provider);
    found.thread_num =
        or_else(is_there ? tg_agent_symbols_find(&provider.symbols, thread_num) : NULL, no_thread_num);
    found.num_threads =
        or_else(is_there ? tg_agent_symbols_find(&provider.symbols, num_threads) : NULL, one_thread);
    if (is_there)
        remember_late(&provider, epoch, &found);
    return found;
}

static inline struct queries outside(const void *caller)
{
    struct queries known = {.thread_num = __atomic_load_n(&startup.thread_num, __ATOMIC_ACQUIRE)};
    if (TG_AGENT_UNLIKELY(known.thread_num == NULL))
        return find_queries(caller);
    known.num_threads = __atomic_load_n(&startup.num_threads, __ATOMIC_RELAXED);
    return known;
}

/* Whether the call is one of the region that the thread is in: with several late runtimes its library may
 * have another one. */
static inline bool is_of_region(const struct tg_gomp *gomp, const void *caller, struct queries *queries)
{
    if (TG_AGENT_LIKELY(gomp != NULL && gomp == __atomic_load_n(&tg_gomp_only, __ATOMIC_ACQUIRE)))
        return true;
    *queries = outside(caller);
    return gomp != NULL && queries->thread_num == gomp->omp_get_thread_num;
}

int omp_get_thread_num(void)
{
    const void *caller = TG_GOMP_CALLER();
    const struct tg_gomp *gomp = tg_gomp_inside;
    struct queries queries;
    if (TG_AGENT_UNLIKELY(!is_of_region(gomp, caller, &queries)))
        return queries.thread_num();
    ask(caller, TG_GOMP_STACK());
    asked_for_thread_num(caller, TG_GOMP_STACK());
    return gomp->omp_get_thread_num();
}

int omp_get_num_threads(void)
{
    const void *caller = TG_GOMP_CALLER();
    const struct tg_gomp *gomp = tg_gomp_inside;
    struct queries queries;
    if (TG_AGENT_UNLIKELY(!is_of_region(gomp, caller, &queries)))
        return queries.num_threads();
    ask(caller, TG_GOMP_STACK());
    asked_for_num_threads(caller, TG_GOMP_STACK());
    return gomp->omp_get_num_threads();
}
