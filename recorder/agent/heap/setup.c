#include "recorder/agent/heap/setup.h"

#include "recorder/agent/heap/check.h"
#include "recorder/agent/heap/early.h"
#include "recorder/agent/heap/exec.h"
#include "recorder/agent/heap/linked_in.h"
#include "recorder/agent/heap/notes.h"
#include "recorder/agent/heap/objects.h"
#include "recorder/agent/heap/quick.h"
#include "recorder/agent/heap/real.h"
#include "recorder/agent/heap/red_zones.h"
#include "recorder/agent/heap/release.h"
#include "recorder/agent/heap/sample.h"
#include "recorder/agent/heap/stacks.h"
#include "recorder/agent/heap/wishes.h"
#include "recorder/agent/next.h"
#include "recorder/agent/record.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>

bool tollgate_heap_is_libcs;

static bool has(const struct tg_agent_symbols *symbols, const char *name)
{
    return tg_agent_symbols_index(symbols, name, tg_agent_symbols_hash(name)) != 0;
}

/* Objects in front of the library that have functions of the heap: the whole program uses theirs. */
static int look_in_front(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    (void)context;
    struct tg_agent_symbols symbols;
    if (tg_agent_object_holds(info, (uintptr_t)&tg_heap))
        return 1;
    if (!tg_agent_object_symbols(info, &symbols))
        return 0;
    bool has_plain = has(&symbols, "_Znwm") || has(&symbols, "_ZdlPv");
    if (has_plain)
        tg_heap_release_allow_mismatch();
    if (has_plain || has(&symbols, "_Znam") || has(&symbols, "_ZdaPv"))
        tg_heap.operators_in_front = true;
    if (!has(&symbols, "malloc"))
        return 0;
    tg_heap_note_unseen(tg_heap_object_path((const void *)symbols.dynamic),
                        "has a malloc of its own, which is in front of the one that is observed");
    return 0;
}

static void tell_start(void)
{
    tg_heap_note_start(tg_heap_object_path((const void *)(uintptr_t)tg_heap_real_get()->malloc));
    if (tg_heap.settings.red_zones != TG_AGENT_RED_ZONES_OFF && tg_heap_red_room.size == 0)
        tg_agent_say(TG_RECORD_NOTE,
                     "heap: no red zones: the process may not have the address space for them");
    dl_iterate_phdr(look_in_front, NULL);
    tg_heap_early_tell();
}

static int no_tables(void)
{
    tg_heap_note_unseen("", "the process may not have the memory for the tables of its heap");
    return TG_HEAP_OFF;
}

static int begin(void)
{
    if ((tg_agent.flags & TG_AGENT_HEAP) == 0 || tg_agent.control->heap.mode == TG_AGENT_HEAP_OFF)
        return TG_HEAP_OFF;
    tg_heap.settings = tg_agent.control->heap;
    if (tg_heap.settings.depth > TG_AGENT_HEAP_MAX_DEPTH)
        tg_heap.settings.depth = TG_AGENT_HEAP_MAX_DEPTH;
    if (tg_heap.settings.mode == TG_AGENT_HEAP_SAMPLE && !tg_heap_sample_prepare())
        return no_tables();
    if (tg_heap.settings.mode == TG_AGENT_HEAP_CHECK) {
        if (!tg_heap_check_prepare())
            return no_tables();
        tg_heap_linked_in_prepare();
        tg_heap_early_each(tg_heap_check_adopt);
    }
    if (!tg_heap_objects_prepare() || !tg_heap_stacks_prepare())
        tg_heap.settings.depth = 0;
    return TG_HEAP_ON;
}

bool tg_heap_set_up(void)
{
    int expected = TG_HEAP_NOT_YET;
    if (tg_agent_is_set_up == NULL || !tg_agent_is_set_up() ||
        !__atomic_compare_exchange_n(&tg_heap.state, &expected, TG_HEAP_SETTING_UP, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        return false;
    int state = begin();
    __atomic_store_n(&tg_heap.state, state, __ATOMIC_RELEASE);
    if (state != TG_HEAP_ON)
        return false;
    tell_start();
    if (tg_heap.settings.mode == TG_AGENT_HEAP_SAMPLE) {
        tg_heap_quick.n_tags = &tg_heap_wishes()->n_tags;
        __atomic_store_n(&tg_heap_quick.free, tg_heap_real_get()->free, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&tg_heap.decides, tg_heap.settings.mode != TG_AGENT_HEAP_CHECK, __ATOMIC_RELEASE);
    return true;
}

/* The agent's own constructor has run: what it does not know by now it never will. */
static __attribute__((constructor(101))) void start(void)
{
    struct dl_find_object allocator, libc;
    tg_heap_exec_prepare();
    tollgate_heap_is_libcs =
        _dl_find_object((void *)(uintptr_t)tg_heap_real_get()->malloc, &allocator) == 0 &&
        _dl_find_object((void *)(uintptr_t)__errno_location, &libc) == 0 &&
        allocator.dlfo_link_map == libc.dlfo_link_map;
    if (__atomic_load_n(&tg_heap.state, __ATOMIC_ACQUIRE) != TG_HEAP_NOT_YET || tg_heap_set_up())
        return;
    int expected = TG_HEAP_NOT_YET;
    (void)__atomic_compare_exchange_n(&tg_heap.state, &expected, TG_HEAP_OFF, false, __ATOMIC_ACQ_REL,
                                      __ATOMIC_RELAXED);
}

/* After the program's own destructors, as far as the loader knows what depends on what. */
static __attribute__((destructor(101))) void finish(void)
{
    if (__atomic_load_n(&tg_heap.state, __ATOMIC_ACQUIRE) == TG_HEAP_ON &&
        tg_heap.settings.mode == TG_AGENT_HEAP_CHECK)
        tg_heap_check_sweep(false);
}
