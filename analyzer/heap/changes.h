/* What is live at one moment and not at another, call path by call path. */
#ifndef TG_ANALYZER_HEAP_CHANGES_H
#define TG_ANALYZER_HEAP_CHANGES_H

#include "analyzer/heap/profile.h"
#include "analyzer/heap/reading.h"
#include "format/base/error.h"

#include <stddef.h>
#include <stdint.h>

/* What one call path has more. */
struct tg_heap_change {
    char *place; /* as tg_heap_path_place tells it; owned */
    int64_t bytes, blocks;
};

/* Caller's storage; zero-initialised is empty. */
struct tg_heap_changes {
    struct tg_heap_change *items;
    size_t count, capacity;
};

void tg_heap_changes_deinit(struct tg_heap_changes *changes);

/* Adds FACTOR times what is live in PROFILE, which was made of READING. Only error: NO_MEMORY. */
struct tg_error *tg_heap_changes_add(struct tg_heap_changes *changes, const struct tg_heap_profile *profile,
                                     const struct tg_heap_reading *reading, int64_t factor);

/* After all was added: paths of several readings that have the same place are one, those without a difference go, and the
 * greatest difference in bytes comes first. */
void tg_heap_changes_finish(struct tg_heap_changes *changes);

#endif
