/* What an event needs in a chunk. */
#ifndef TG_FORMAT_TRACE_CHUNK_DEMAND_H
#define TG_FORMAT_TRACE_CHUNK_DEMAND_H

#include "format/event/event.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Room that an event needs before any of it is written, so that writing cannot fail half-way. */
struct tg_chunk_demand {
    uint64_t n_values;
    uint64_t n_items;
    uint64_t n_strings;
    uint64_t text_bytes;
};

/* Counts the fields of PAYLOAD; false where the event alone is beyond a limit. */
bool tg_chunk_demand_event(struct tg_chunk_demand *demand, const struct tg_record_schema *schema,
                           const void *payload);

/* Bytes of the chunk's payload, at most. */
uint64_t tg_chunk_demand_bytes(const struct tg_chunk_demand *demand);

static inline const char *tg_chunk_text_of(const void *record, const struct tg_field *field)
{
    const char *text;
    memcpy(&text, (const char *)record + field->offset, sizeof text);
    return text;
}

#endif
