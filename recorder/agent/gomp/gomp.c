#include "recorder/agent/gomp/gomp.h"

#include "recorder/agent/gomp/memory.h"
#include "recorder/agent/gomp/provider.h"
#include "recorder/agent/next.h"
#include "recorder/agent/ompt/ompt.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

const struct tg_gomp *tg_gomp_only, *tg_gomp_only_llvm;
__thread const struct tg_gomp *tg_gomp_inside __attribute__((tls_model("initial-exec")));

/* ---- what is not there */

static void say(const char *text)
{
    ssize_t ignored = write(STDERR_FILENO, text, strlen(text));
    (void)ignored;
}

/* As the dynamic loader does when it binds a call to a symbol that nobody defines. */
static _Noreturn void die_of_undefined(const char *name, const char *version)
{
    const char *program = program_invocation_name;
    const char *const parts[] = {
        program, ": symbol lookup error: ", program, ": undefined symbol: ", name, ", version ", version,
        "\n"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        say(parts[i]);
    _exit(127);
}

#define TG_GOMP_ENTRY(result, name, parameters, version)                                                     \
    static _Noreturn void missing_##name(void)                                                               \
    {                                                                                                        \
        die_of_undefined(#name, version);                                                                    \
    }
TG_GOMP_ENTRIES
#undef TG_GOMP_ENTRY

static int no_thread_num(void)
{
    return 0;
}

static int one_thread(void)
{
    return 1;
}

/* ---- the real functions */

typedef void any_function(void);

/* Entry that every libgomp has: a program may use locks alone, or no region, but a library with this one has
 * all. Of LLVM's runtime, which may be there beside a libgomp, one that no libgomp has. */
static const char ANY_ENTRY[] = "GOMP_barrier", ANY_LLVM_ENTRY[] = "__kmpc_end_critical";

/* Makes PLACE, a pointer to a function, point to NAME of PROVIDER, which may be none at all; NULL: of
 * the library that OBJECT, an address, is in, or (NULL, too) the first one behind us. */
static void resolve(void *place, const struct tg_gomp_provider *provider, const void *object,
                    const char *name, any_function *otherwise)
{
    void *found = NULL;
    if (provider == NULL)
        found = object != NULL ? tg_agent_beside(object, name) : tg_agent_next(name);
    else if (provider->symbols.table != NULL)
        found = tg_agent_symbols_find(&provider->symbols, name);
    memcpy(place, found != NULL ? (const void *)&found : (const void *)&otherwise, sizeof found);
}

static void resolve_all(struct tg_gomp *gomp, const struct tg_gomp_provider *provider, bool is_llvm)
{
    const void *llvm = provider == NULL && is_llvm ? tg_agent_next(ANY_LLVM_ENTRY) : NULL;
#define TG_GOMP_ENTRY(result, name, parameters, version)                                                     \
    resolve(&gomp->name, provider, llvm, #name, (any_function *)missing_##name);
    TG_GOMP_ENTRIES
#undef TG_GOMP_ENTRY
    resolve(&gomp->omp_get_thread_num, provider, llvm, "omp_get_thread_num", (any_function *)no_thread_num);
    resolve(&gomp->omp_get_num_threads, provider, llvm, "omp_get_num_threads", (any_function *)one_thread);
    const void *object =
        (const void *)(uintptr_t)gomp->GOMP_barrier; /* LLVM's runtime has these entry points too */
    gomp->is_ours =
        (any_function *)gomp->GOMP_barrier != (any_function *)missing_GOMP_barrier && !tg_ompt_covers(object);
}

/* A runtime of LLVM's that is found by a call of a program that is linked with it (IS_LLVM) is not watched here,
 * whether by OMPT or not at all. */
static void tell_runtime(const struct tg_gomp *gomp, bool is_llvm)
{
    const void *object = (const void *)(uintptr_t)gomp->GOMP_barrier;
    if (tg_agent_observes(TG_AGENT_OPENMP) && gomp->is_ours &&
        !(is_llvm && tg_agent_beside(object, "__kmpc_fork_call") != NULL))
        tg_openmp_runtime(TG_OMP_WRAPPED, "libgomp", "");
}

/* ---- the one that the program started with */

static const struct tg_gomp *find_startup(bool is_llvm)
{
    struct tg_gomp *gomp = tg_gomp_memory(sizeof *gomp);
    if (gomp == NULL)
        die_of_undefined(ANY_ENTRY, "GOMP_1.0"); /* no memory: nothing else could go on either */
    resolve_all(gomp, NULL, is_llvm);
    const struct tg_gomp *expected = NULL;
    if (__atomic_compare_exchange_n(is_llvm ? &tg_gomp_only_llvm : &tg_gomp_only, &expected, gomp, false,
                                    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        tell_runtime(gomp, is_llvm);
        return gomp;
    }
    tg_gomp_memory_free(gomp, sizeof *gomp);
    return expected;
}

/* ---- runtimes that came later: they are kept for good, there are few of them */

static struct late {
    struct late *next;
    struct tg_gomp gomp;
} * late_ones; /* __atomic */

enum { CACHE_SLOTS = 16 };

static struct {
    char lock; /* __atomic: who does not get it at once goes without */
    unsigned n_filled;
    struct slot {
        uint64_t epoch;
        uintptr_t start, end; /* bounds of the caller's object */
        bool is_llvm;
        const struct tg_gomp *gomp;
    } slots[CACHE_SLOTS];
} cache;

/* Sets *FOUND; false where there is none. */
static bool cached(uint64_t epoch, uintptr_t code, bool is_llvm, struct slot *found)
{
    bool is_there = false;
    if (__atomic_test_and_set(&cache.lock, __ATOMIC_ACQUIRE))
        return false;
    for (size_t i = 0; i < CACHE_SLOTS && !is_there; i++) {
        const struct slot *slot = &cache.slots[i];
        if (slot->epoch == epoch && slot->is_llvm == is_llvm && code >= slot->start && code < slot->end) {
            *found = *slot;
            is_there = true;
        }
    }
    __atomic_clear(&cache.lock, __ATOMIC_RELEASE);
    return is_there;
}

static void put_into_cache(const struct slot *slot)
{
    if (__atomic_test_and_set(&cache.lock, __ATOMIC_ACQUIRE))
        return;
    cache.slots[cache.n_filled++ % CACHE_SLOTS] = *slot;
    __atomic_clear(&cache.lock, __ATOMIC_RELEASE);
}

/* The one that is LATE already, or LATE, which is kept then. */
static const struct tg_gomp *keep(struct late *late, bool is_llvm)
{
    struct late *first = __atomic_load_n(&late_ones, __ATOMIC_ACQUIRE);
    do {
        for (const struct late *known = first; known != NULL; known = known->next)
            if (memcmp(&known->gomp, &late->gomp, sizeof late->gomp) == 0) {
                tg_gomp_memory_free(late, sizeof *late);
                return &known->gomp;
            }
        late->next = first;
    } while (
        !__atomic_compare_exchange_n(&late_ones, &first, late, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
    tell_runtime(&late->gomp, is_llvm);
    return &late->gomp;
}

/* *USED is what holds until a library is loaded or unloaded. */
static const struct tg_gomp *find_late(const void *code, bool is_llvm, struct slot *used)
{
    uint64_t epoch = tg_gomp_provider_epoch();
    if (cached(epoch, (uintptr_t)code, is_llvm, used))
        return used->gomp;
    struct late *late = tg_gomp_memory(sizeof *late);
    if (late == NULL)
        die_of_undefined(ANY_ENTRY, "GOMP_1.0");
    struct tg_gomp_provider provider = {.caller_end = 0};
    bool is_there = tg_gomp_provider_find(is_llvm ? ANY_LLVM_ENTRY : ANY_ENTRY, code, &provider);
    resolve_all(&late->gomp, &provider, is_llvm);
    if (!is_there) /* the call ends the process, and names what it wanted */
        return &late->gomp;
    const struct tg_gomp *gomp = keep(late, is_llvm);
    *used = (struct slot){epoch, provider.caller_start, provider.caller_end, is_llvm, gomp};
    put_into_cache(used);
    return gomp;
}

/* What the thread's last call in region TEAM found of LLVM's runtime. Neither that nor the caller goes away while
 * the region lasts; teams are numbered for good. */
static __thread struct {
    uint64_t team;
    struct slot slot;
} in_region __attribute__((tls_model("initial-exec")));

const struct tg_gomp *tg_gomp_find_llvm(const void *code)
{
    uint64_t team = tg_openmp_frame.team;
    uintptr_t address = (uintptr_t)code;
    if (team != 0 && in_region.team == team && address >= in_region.slot.start &&
        address < in_region.slot.end)
        return in_region.slot.gomp;
    in_region.team = 0;
    (void)tg_agent_observes(TG_AGENT_OPENMP); /* may be the first thing that happens here */
    if (tg_gomp_provider_is_startup(ANY_LLVM_ENTRY))
        return find_startup(true);
    in_region.slot = (struct slot){0};
    const struct tg_gomp *gomp = find_late(code, true, &in_region.slot);
    in_region.team = in_region.slot.gomp != NULL ? team : 0;
    return gomp;
}

const struct tg_gomp *tg_gomp_find(const void *code)
{
    struct slot used;
    if (tg_gomp_inside != NULL)
        return tg_gomp_inside;
    (void)tg_agent_observes(TG_AGENT_OPENMP); /* may be the first thing that happens here */
    return tg_gomp_provider_is_startup(ANY_ENTRY) ? find_startup(false) : find_late(code, false, &used);
}

void tg_gomp_prepare(void)
{
    if (tg_gomp_provider_is_startup(ANY_ENTRY) && __atomic_load_n(&tg_gomp_only, __ATOMIC_ACQUIRE) == NULL)
        find_startup(false);
}

static __attribute__((constructor)) void start(void)
{
    tg_gomp_provider_count_startup();
}

/* ---- constructs whose end is not seen */

tg_agent_moment tg_gomp_close_unseen_slowly(void)
{
    struct tg_openmp_frame *frame = &tg_openmp_frame;
    tg_agent_moment moment = tg_gomp_inferred_leave();
    if (frame->single == TG_GOMP_SINGLE_EXECUTES)
        moment = tg_openmp_zone_end(moment, NULL, TG_OMP_INFERRED, TG_OMP_ZONE_SINGLE);
    frame->single = TG_GOMP_SINGLE_NONE;
    if (frame->workshare != 0)
        moment = tg_openmp_zone_end(moment, NULL, TG_OMP_INFERRED, frame->workshare - 1);
    frame->workshare = 0;
    return moment;
}
