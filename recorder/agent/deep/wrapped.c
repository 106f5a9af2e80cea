/* While the wrapper is open its library cannot go. It is closed right behind the library, so that destructors run when
 * they would; but not while another object needs the library, because with the wrapper its scope would go. */
#include "recorder/agent/deep/wrapped.h"

#include "recorder/agent/deep/open_count.h"
#include "recorder/agent/scope.h"
#include "recorder/agent/symbols.h"

#include <link.h>
#include <sched.h>
#include <stddef.h>
#include <unistd.h>

enum { MAX_WRAPPERS = 256 };

static struct {
    int owner; /* __atomic: process whose thread is in here, 0 nobody; a fork's child finds its parent's */
    char has_unseen; /* __atomic; calls of dlopen and dlclose do not say whether one of them is open */
    size_t count;
    struct wrapped {
        void *wrapper, *target;
        size_t opens;   /* of the target, by the program, as far as its calls are seen to return */
        bool is_closed; /* the program has closed the target, at least once */
    } wrapped[MAX_WRAPPERS];
} all;

static void lock(void)
{
    int me = (int)getpid(), owner = 0;
    while (!__atomic_compare_exchange_n(&all.owner, &owner, me, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        if (owner == me) {
            sched_yield();
            owner = 0;
        }
}

static void unlock(void)
{
    __atomic_store_n(&all.owner, 0, __ATOMIC_RELEASE);
}

void tg_deep_wrapped_add(void *wrapper, void *target, bool is_kept)
{
    lock();
    if (!is_kept && all.count < MAX_WRAPPERS) /* else it stays open */
        all.wrapped[all.count++] = (struct wrapped){.wrapper = wrapper, .target = target};
    unlock();
}

bool tg_deep_wrapped_is_any(void)
{
    return __atomic_load_n(&all.count, __ATOMIC_RELAXED) > 0;
}

void tg_deep_wrapped_opened(void *handle)
{
    if (!tg_deep_wrapped_is_any())
        return;
    lock();
    for (size_t i = 0; i < all.count; i++)
        if (all.wrapped[i].target == handle)
            all.wrapped[i].opens++;
    unlock();
}

void tg_deep_wrapped_unseen(void)
{
    if (tg_deep_wrapped_is_any())
        __atomic_store_n(&all.has_unseen, 1, __ATOMIC_RELAXED);
}

/* ---- need of a library */

struct search {
    const struct wrapped *wrapped;
    const struct tg_agent_scope *own; /* the library's: goes with it */
    bool is_needed;
};

static bool is_own(const struct search *search, const struct link_map *map)
{
    for (size_t i = 0; i < search->own->count; i++)
        if (search->own->maps[i] == map)
            return true;
    return false;
}

static bool needs(const struct link_map *map, const struct link_map *target)
{
    struct tg_agent_symbols symbols;
    (void)tg_agent_symbols_read(map->l_addr, map->l_ld, &symbols);
    for (const ElfW(Dyn) *entry = map->l_ld; symbols.names != NULL && entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_NEEDED &&
            tg_agent_scope_named(target, symbols.names + entry->d_un.d_val) == target)
            return true;
    return false;
}

/* Under the lock that keeps the list of objects as it is. */
static int look(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)info;
    (void)size;
    struct search *search = context;
    const struct link_map *target = search->wrapped->target, *map = target;
    while (map->l_prev != NULL)
        map = map->l_prev;
    for (; map != NULL && !search->is_needed; map = map->l_next)
        search->is_needed = map != search->wrapped->wrapper && !is_own(search, map) && needs(map, target);
    return 1;
}

static bool is_needed(const struct wrapped *wrapped)
{
    struct tg_agent_scope own = {.count = 0};
    struct search search = {.wrapped = wrapped, .own = &own};
    tg_agent_scope_find(wrapped->target, &own);
    dl_iterate_phdr(look, &search);
    return search.is_needed;
}

static bool is_open(const struct wrapped *wrapped)
{
    uint32_t count;
    if (tg_deep_open_count_get(wrapped->target, &count))
        return count > 0;
    return wrapped->opens > 0 || __atomic_load_n(&all.has_unseen, __ATOMIC_RELAXED) != 0;
}

/* Takes one out that nobody needs any more; NULL: there is none. */
static void *take(void)
{
    void *wrapper = NULL;
    lock();
    for (size_t i = 0; i < all.count && wrapper == NULL; i++)
        if (all.wrapped[i].is_closed && !is_open(&all.wrapped[i]) && !is_needed(&all.wrapped[i])) {
            wrapper = all.wrapped[i].wrapper;
            all.wrapped[i] = all.wrapped[--all.count];
        }
    unlock();
    return wrapper;
}

void tg_deep_wrapped_closed(void *handle, int (*close)(void *handle))
{
    if (!tg_deep_wrapped_is_any())
        return;
    lock();
    for (size_t i = 0; i < all.count; i++)
        if (all.wrapped[i].target == handle) {
            all.wrapped[i].is_closed = true;
            all.wrapped[i].opens -= all.wrapped[i].opens > 0;
        }
    unlock();
    for (void *wrapper = take(); wrapper != NULL; wrapper = take())
        (void)close(wrapper);
}
