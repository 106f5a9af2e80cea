/* The libraries of one process that no handling has reached yet, in some of the modes compared. */
#ifndef TG_ANALYZER_FILTER_PENDING_LOG_H
#define TG_ANALYZER_FILTER_PENDING_LOG_H

#include "format/base/error.h"

#include <stddef.h>
#include <stdint.h>

/* One library; LANES has a bit for each mode in which it waits, 0 once it was handled or unloaded. */
struct tg_pending {
    uint64_t time_ns;  /* when the program could use it: its dlopen event */
    uint64_t link_map; /* identifies it for an unload */
    uint32_t library;  /* id in the catalog */
    uint16_t lanes;
    uint16_t blind; /* lanes that will not see it at all: it came back to where it was */
    uint16_t namespace_index;
};

/* Caller's storage; zero-initialised it is empty. In order of load; finding by link map takes constant
 * time. */
struct tg_pending_log {
    struct tg_pending *items;
    size_t count, capacity;
    uint32_t *slots; /* hash table of item index + 1, newest item of a link map */
    size_t n_slots;
    uint64_t epoch; /* grows with every clear: an index is good only within its epoch */
};

void tg_pending_log_deinit(struct tg_pending_log *log);

struct tg_error *tg_pending_log_append(struct tg_pending_log *log, const struct tg_pending *item);

/* The newest item with LINK_MAP, NULL where there is none. Valid until the next append. */
struct tg_pending *tg_pending_log_find(struct tg_pending_log *log, uint64_t link_map);

/* Forgets all; large storage is given back. */
void tg_pending_log_clear(struct tg_pending_log *log);

#endif
