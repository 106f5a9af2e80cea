#include "live/commands/info/address_history.h"

#include <string.h>

static struct tg_address_use *latest_live(struct tg_address_history *history, size_t process, uint64_t start)
{
    for (size_t i = history->count; i-- > 0;)
        if (history->uses[i].process == process && history->uses[i].block.address == start &&
            !history->uses[i].is_freed)
            return &history->uses[i];
    return NULL;
}

/* One of each process: where there is no room, the oldest one goes. */
static void add_use(struct tg_address_history *history, const struct tg_address_use *use)
{
    size_t at = 0;
    while (at < history->count && history->uses[at].process != use->process)
        at++;
    if (at == history->count && history->count == TG_ADDRESS_MAX_USES)
        at = 0;
    if (at < history->count)
        memmove(history->uses + at, history->uses + at + 1, (--history->count - at) * sizeof *history->uses);
    history->uses[history->count++] = *use;
}

static void begin_use(struct tg_address_history *history, const struct tg_event *event, size_t process,
                      uint64_t start, uint64_t size, uint64_t stack)
{
    if (history->address < start || history->address - start >= (size > 0 ? size : 1))
        return;
    const struct tg_address_use use = {
        .process = process,
        .block = {.address = start, .size_bytes = size, .time_ns = event->time_ns, .tid = event->tid},
        .stack = stack};
    add_use(history, &use);
}

static void end_use(struct tg_address_history *history, const struct tg_event *event, size_t process,
                    uint64_t start)
{
    struct tg_address_use *use = latest_live(history, process, start);
    if (use == NULL || event->time_ns < use->block.time_ns)
        return;
    use->is_freed = true;
    use->freed_ns = event->time_ns;
    use->freed_tid = event->tid;
}

/* A forked process has its parent's blocks. */
static void inherit_uses(struct tg_address_history *history, const struct tg_process_entry *child)
{
    for (size_t i = history->count; i-- > 0;)
        if (child->parent != NULL && history->uses[i].process == child->parent->index) {
            struct tg_address_use use = history->uses[i];
            use.process = child->index;
            add_use(history, &use);
            return;
        }
}

/* Another program runs in PROCESS. */
static void drop_uses(struct tg_address_history *history, size_t process)
{
    size_t kept = 0;
    for (size_t i = 0; i < history->count; i++)
        if (history->uses[i].process != process)
            history->uses[kept++] = history->uses[i];
    history->count = kept;
}

void tg_address_history_take(void *taker, const struct tg_event *event, const struct tg_process_entry *entry)
{
    struct tg_address_history *history = taker;
    if (entry == NULL)
        return;
    if (event->kind == TG_EVENT_PROCESS_START && event->process_start.origin == TG_ORIGIN_FORK)
        inherit_uses(history, entry);
    else if (event->kind == TG_EVENT_EXEC)
        drop_uses(history, entry->index);
    else if (event->kind == TG_EVENT_HEAP_ALLOC)
        begin_use(history, event, entry->index, event->heap_alloc.address, event->heap_alloc.size_bytes,
                  event->heap_alloc.stack);
    else if (event->kind == TG_EVENT_HEAP_FREE)
        end_use(history, event, entry->index, event->heap_free.address);
    else if (event->kind == TG_EVENT_HEAP_RESIZE) {
        end_use(history, event, entry->index, event->heap_resize.address);
        begin_use(history, event, entry->index, event->heap_resize.address, event->heap_resize.size_bytes,
                  event->heap_resize.stack);
    }
}
