#include "recorder/agent/gomp_inferred.h"

#include "recorder/agent/gomp.h"
#include "recorder/agent/gomp_provider.h"
#include "recorder/agent/gomp_site.h"

enum {
    /* So often in a row a masked construct is met, with nothing else in between: a program that looks at its
     * thread number again and again does something else. */
    MAX_REPEATS = 256,
    MAX_STACK_BYTES = 1 << 20,
    MAX_FUNCTION_BYTES = 1 << 20,
};

__thread struct tg_gomp_inferred tg_gomp_inferred __attribute__((tls_model("initial-exec")));

/* ---- leaving */

static void end_zone(struct tg_gomp_inferred *inferred)
{
    unsigned zone = inferred->zone;
    inferred->zone = 0;
    if (zone == 1 + TG_OMP_ZONE_LOOP && tg_openmp_frame.single == TG_GOMP_SINGLE_NONE)
        tg_openmp_frame.single = TG_GOMP_SINGLE_PASSED; /* the next barrier is the loop's */
    if (zone != 0)
        tg_openmp_zone_end(NULL, TG_OMP_INFERRED, zone - 1);
}

/* Where the function that the construct is in will go on, for one that was called from there and has STACK;
 * 0: not to be seen. */
static uintptr_t resumed_at(const struct tg_gomp_inferred *inferred, const void *stack)
{
    if ((uintptr_t)inferred->stack - (uintptr_t)stack > MAX_STACK_BYTES)
        return 0; /* may be two stacks */
    uintptr_t code = ((const uintptr_t *)inferred->stack)[-1];
    /* arguments on the stack lie between */
    return code - (uintptr_t)inferred->site + MAX_FUNCTION_BYTES < 2 * (uintptr_t)MAX_FUNCTION_BYTES ? code
                                                                                                     : 0;
}

/* Whether a call is made in the construct: in its own code, or in what that calls. */
static bool is_inside(const struct tg_gomp_inferred *inferred, const void *caller, const void *stack)
{
    if ((uintptr_t)stack > (uintptr_t)inferred->stack)
        return false;
    if (stack != inferred->stack) {
        uintptr_t code = resumed_at(inferred, stack);
        if (code == 0)
            return true;
        caller = (const void *)code; // NOLINT: an address
    }
    if (inferred->end == inferred->start)
        return inferred->zone ==
               1 + TG_OMP_ZONE_LOOP; /* most calls that are made behind a loop end it anyway */
    return (uintptr_t)caller > inferred->start && (uintptr_t)caller <= inferred->end;
}

/* The thread asks from CALLER for numbers: that ends what it is outside of, but does not make another thing
 * of what it meets again and again. */
static void ask(const void *caller, const void *stack)
{
    struct tg_gomp_inferred *inferred = &tg_gomp_inferred;
    if (TG_AGENT_UNLIKELY(inferred->zone != 0) && !is_inside(inferred, caller, stack))
        end_zone(inferred);
}

void tg_gomp_inferred_pass_slowly(const void *caller, const void *stack)
{
    struct tg_gomp_inferred *inferred = &tg_gomp_inferred;
    if (inferred->zone != 0 && is_inside(inferred, caller, stack))
        return;
    end_zone(inferred);
    inferred->site = NULL;
}

void tg_gomp_inferred_leave(void)
{
    struct tg_gomp_inferred *inferred = &tg_gomp_inferred;
    end_zone(inferred);
    inferred->site = NULL;
}

/* ---- entering */

/* The thread is behind the call of SITE that returns to CALLER. */
static void enter(const struct tg_gomp_site *site, const void *caller, const void *stack)
{
    struct tg_openmp_frame *frame = &tg_openmp_frame;
    struct tg_gomp_inferred *inferred = &tg_gomp_inferred;
    bool is_loop = site->construct == TG_GOMP_STATIC_LOOP;
    if (inferred->zone != 0 && (caller == inferred->site || (is_loop && stack == inferred->stack) ||
                                !is_inside(inferred, caller, stack)))
        end_zone(inferred);
    /* neither is allowed in a task or a worksharing construct; one in another is a program's own arithmetic
     */
    if (frame->task != 0 || frame->workshare != 0 || inferred->zone == 1 + TG_OMP_ZONE_LOOP ||
        (inferred->zone != 0 && !is_loop))
        return;
    if (!is_loop && (frame->single == TG_GOMP_SINGLE_EXECUTES || site->filter != (int)frame->thread_num))
        return;
    unsigned repeats = caller == inferred->site ? inferred->repeats : 0;
    if (!is_loop && repeats >= MAX_REPEATS)
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
    tg_openmp_zone_begin(caller, TG_OMP_INFERRED, zone,
                         is_loop ? TG_OMP_SCHEDULE_STATIC : TG_OMP_SCHEDULE_NONE, 0);
}

void tg_gomp_inferred_after_barrier(const void *caller, const void *stack)
{
    const struct tg_gomp_inferred *inferred = &tg_gomp_inferred;
    const struct tg_gomp_situation situation = {
        .asked = TG_GOMP_ASKED_NOTHING,
        .numbers = inferred->numbers_stack == stack ? inferred->numbers : 0,
    };
    struct tg_gomp_site buffer;
    const struct tg_gomp_site *site = tg_gomp_site_find(caller, &situation, &buffer);
    if (site != NULL && site->construct != TG_GOMP_NO_CONSTRUCT)
        enter(site, caller, stack);
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
    if (site->numbers != 0) {
        inferred->numbers = site->numbers;
        inferred->numbers_stack = stack;
    }
    if (site->construct != TG_GOMP_NO_CONSTRUCT)
        enter(site, caller, stack);
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
        enter(site, caller, stack);
}

/* ---- whom it asks: outside of regions that are recorded, somebody else's runtime perhaps */

typedef int query(void);

/* What a call from CALLER reaches, as long as no library goes. */
struct reached {
    const void *caller;
    query *function;
    uint64_t epoch;
    volatile bool is_changing;
};

static int no_thread_num(void)
{
    return 0;
}

static int one_thread(void)
{
    return 1;
}

/* NULL: there is none. Nobody calls it then but through a weak reference, where no auditor hides the agent's
 * names. */
static query *find_query(const char *name, const void *caller)
{
    void *found = NULL;
    struct tg_gomp_provider provider = {.caller_end = 0};
    if (tg_gomp_provider_is_startup(name))
        found = tg_agent_next(name);
    else if (tg_gomp_provider_find(name, caller, &provider))
        found = tg_agent_symbols_find(&provider.symbols, name);
    return (query *)(uintptr_t)found;
}

static query *reach(struct reached *last, const char *name, const void *caller, query *otherwise)
{
    uint64_t epoch = tg_agent_unloads();
    if (TG_AGENT_LIKELY(last->caller == caller && last->epoch == epoch && !last->is_changing))
        return last->function;
    query *function = find_query(name, caller);
    function = function != NULL ? function : otherwise;
    if (last->is_changing) /* this is a handler that interrupted what follows */
        return function;
    last->is_changing = true;
    tg_agent_signal_fence();
    last->caller = caller;
    last->function = function;
    last->epoch = epoch;
    tg_agent_signal_fence();
    last->is_changing = false;
    return function;
}

static __thread struct reached reached_thread_num __attribute__((tls_model("initial-exec")));
static __thread struct reached reached_num_threads __attribute__((tls_model("initial-exec")));

int omp_get_thread_num(void)
{
    const void *caller = TG_GOMP_CALLER();
    const struct tg_gomp *gomp = tg_gomp_inside;
    if (TG_AGENT_UNLIKELY(gomp == NULL)) {
        gomp = __atomic_load_n(&tg_gomp_only, __ATOMIC_ACQUIRE);
        return gomp != NULL ? gomp->omp_get_thread_num()
                            : reach(&reached_thread_num, "omp_get_thread_num", caller, no_thread_num)();
    }
    ask(caller, TG_GOMP_STACK());
    asked_for_thread_num(caller, TG_GOMP_STACK());
    return gomp->omp_get_thread_num();
}

int omp_get_num_threads(void)
{
    const void *caller = TG_GOMP_CALLER();
    const struct tg_gomp *gomp = tg_gomp_inside;
    if (TG_AGENT_UNLIKELY(gomp == NULL)) {
        gomp = __atomic_load_n(&tg_gomp_only, __ATOMIC_ACQUIRE);
        return gomp != NULL ? gomp->omp_get_num_threads()
                            : reach(&reached_num_threads, "omp_get_num_threads", caller, one_thread)();
    }
    ask(caller, TG_GOMP_STACK());
    asked_for_num_threads(caller, TG_GOMP_STACK());
    return gomp->omp_get_num_threads();
}
