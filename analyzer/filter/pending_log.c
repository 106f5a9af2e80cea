#include "analyzer/filter/pending_log.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 16, KEEP_CAPACITY = 4096 };

void tg_pending_log_deinit(struct tg_pending_log *log)
{
    free(log->items);
    free(log->slots);
    *log = (struct tg_pending_log){0};
}

static size_t first_slot(const struct tg_pending_log *log, uint64_t link_map)
{
    return (size_t)((link_map >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (log->n_slots - 1);
}

/* The slot that holds LINK_MAP, or the free one where it would go. There is always a free one. */
static uint32_t *find_slot(const struct tg_pending_log *log, uint64_t link_map)
{
    size_t slot = first_slot(log, link_map);
    while (log->slots[slot] != 0 && log->items[log->slots[slot] - 1].link_map != link_map)
        slot = (slot + 1) & (log->n_slots - 1);
    return &log->slots[slot];
}

static struct tg_error *grow(struct tg_pending_log *log)
{
    size_t capacity = log->capacity == 0 ? FIRST_CAPACITY : log->capacity * 2;
    if (capacity > UINT32_MAX / 2)
        return tg_error_create(TG_ERROR_LIMIT, "too many deferred libraries in one process (limit %zu)",
                               log->count);
    struct tg_pending *items = reallocarray(log->items, capacity, sizeof *items);
    if (items == NULL)
        return tg_error_no_memory();
    log->items = items;
    /* freed first: both tables at once would be the peak of memory */
    free(log->slots);
    log->n_slots = capacity * 2;
    log->slots = calloc(log->n_slots, sizeof *log->slots);
    if (log->slots == NULL) {
        log->count = log->capacity = log->n_slots = 0;
        return tg_error_no_memory();
    }
    log->capacity = capacity;
    for (size_t i = 0; i < log->count; i++)
        *find_slot(log, log->items[i].link_map) = (uint32_t)i + 1;
    return NULL;
}

struct tg_error *tg_pending_log_append(struct tg_pending_log *log, const struct tg_pending *item)
{
    if (log->count == log->capacity) {
        struct tg_error *error = grow(log);
        if (error != NULL)
            return error;
    }
    uint32_t *slot = find_slot(log, item->link_map);
    log->items[log->count++] = *item;
    *slot = (uint32_t)log->count;
    return NULL;
}

struct tg_pending *tg_pending_log_find(struct tg_pending_log *log, uint64_t link_map)
{
    if (log->count == 0)
        return NULL;
    uint32_t slot = *find_slot(log, link_map);
    return slot == 0 ? NULL : &log->items[slot - 1];
}

void tg_pending_log_clear(struct tg_pending_log *log)
{
    uint64_t epoch = log->epoch + 1;
    if (log->capacity > KEEP_CAPACITY)
        tg_pending_log_deinit(log);
    else if (log->count > 0)
        memset(log->slots, 0, log->n_slots * sizeof *log->slots);
    log->count = 0;
    log->epoch = epoch;
}
