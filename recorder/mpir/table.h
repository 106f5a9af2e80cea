/* Reads a starter's MPIR_proctable out of its memory. Nothing in it is believed: its size is bounded,
 * pointers may be anything, strings may have no end, and what cannot be read of an entry is said in it. */
#ifndef TG_RECORDER_MPIR_TABLE_H
#define TG_RECORDER_MPIR_TABLE_H

#include "format/base/error.h"
#include "format/event/event.h"
#include "recorder/mpir/layout.h"
#include "recorder/process/memory.h"

#include <stddef.h>
#include <stdint.h>

enum {
    TG_MPIR_TABLE_MAX_ENTRIES = 1 << 20,
    TG_MPIR_TABLE_BLOCK = 1024, /* entries that are read and reported together */
    TG_MPIR_TABLE_MAX_STRING = 4096,
    TG_MPIR_TABLE_MAX_BAD_PAGES = 256, /* unreadable pages tried in one table */
    TG_MPIR_TABLE_REASON_BYTES = 160,
};

/* Memory of a starter: a process's, or what a test makes up. READ is as tg_memory_read_ranges: it returns how
 * many ranges were read whole, from the first on. */
struct tg_mpir_memory {
    void *context;
    size_t (*read)(void *context, const struct tg_memory_range *ranges, size_t count);
};

/* The place of the table, as the starter has it. */
struct tg_mpir_table_place {
    uint64_t address;
    int64_t size;
    struct tg_mpir_layout layout;
};

/* Takes COUNT entries, up to TG_MPIR_TABLE_BLOCK, the first of which has the index FIRST. Strings are valid
 * during the call only; they are never NULL. */
struct tg_mpir_table_sink {
    void *context;
    void (*block)(void *context, uint64_t first, const struct tg_mpir_entry *entries, size_t count);
};

/* Hands SINK the table at PLACE, block after block. Of each block the entries are read by one call of
 * MEMORY's READ, their strings by one more, and by a third where strings cross into a page that no other is
 * in; bad pointers cost one each. REASON says why not all of it was read, "" all of it. Error: no memory. */
struct tg_error *tg_mpir_table_read(const struct tg_mpir_memory *memory,
                                    const struct tg_mpir_table_place *place,
                                    const struct tg_mpir_table_sink *sink,
                                    char reason[TG_MPIR_TABLE_REASON_BYTES]);

#endif
