#include "recorder/agent/heap/early.h"

#include "recorder/agent/heap/notes.h"

#include <stdbool.h>

enum { MAX_CALLS = 256 };

/* Two threads at most: a library's constructor may have started one. */
static struct {
    unsigned count; /* __atomic; beyond MAX_CALLS: those that were not kept */
    struct early_call {
        const void *block;
        size_t size;
        unsigned char what;
        bool is_free;
        bool complete; /* __atomic */
    } calls[MAX_CALLS];
} early;

static void keep(struct early_call call)
{
    unsigned place = __atomic_fetch_add(&early.count, 1, __ATOMIC_RELAXED);
    if (place >= MAX_CALLS)
        return;
    call.complete = false;
    early.calls[place] = call;
    __atomic_store_n(&early.calls[place].complete, true, __ATOMIC_RELEASE);
}

void tg_heap_early_alloc(const void *block, size_t size, enum tg_heap_call call)
{
    if (block != NULL)
        keep((struct early_call){.block = block, .size = size, .what = (unsigned char)call});
}

void tg_heap_early_free(const void *block, enum tg_heap_release release)
{
    keep((struct early_call){.block = block, .what = (unsigned char)release, .is_free = true});
}

void tg_heap_early_tell(void)
{
    unsigned count = __atomic_load_n(&early.count, __ATOMIC_ACQUIRE);
    for (unsigned i = 0; i < count && i < MAX_CALLS; i++) {
        const struct early_call *call = &early.calls[i];
        if (!__atomic_load_n(&call->complete, __ATOMIC_ACQUIRE))
            continue;
        if (call->is_free)
            tg_heap_note_free(call->block, (enum tg_heap_release)call->what, NULL);
        else
            (void)tg_heap_note_alloc(call->block, call->size, (enum tg_heap_call)call->what, NULL);
    }
    if (count > MAX_CALLS)
        tg_heap_note_unseen("", "more calls before the agent was ready than are kept");
}

static bool is_freed_behind(unsigned count, unsigned place)
{
    for (unsigned i = place + 1; i < count; i++)
        if (early.calls[i].is_free && early.calls[i].block == early.calls[place].block)
            return true;
    return false;
}

void tg_heap_early_each(void (*take)(const void *block, size_t size, enum tg_heap_call call))
{
    unsigned count = __atomic_load_n(&early.count, __ATOMIC_ACQUIRE);
    count = count < MAX_CALLS ? count : MAX_CALLS;
    for (unsigned i = 0; i < count; i++) {
        const struct early_call *call = &early.calls[i];
        if (!call->is_free && !is_freed_behind(count, i))
            take(call->block, call->size, (enum tg_heap_call)call->what);
    }
}
