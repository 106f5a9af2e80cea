/* The index of a trace file, looked for from the file's end. */
#ifndef TG_FORMAT_TRACE_FOUND_INDEX_H
#define TG_FORMAT_TRACE_FOUND_INDEX_H

#include "format/trace/index.h"
#include "format/trace/section_codec.h"

#include <stdbool.h>
#include <stdint.h>

/* Caller's storage; all zero is a file in which no index was found. */
struct tg_found_index {
    bool is_whole;   /* found, and not damaged: all else is valid only then */
    uint64_t offset; /* of its section in the file */
    struct tg_trace_index index;
    uint64_t chunks, events;              /* sums over its entries */
    uint64_t first_time_ns, last_time_ns; /* least and greatest over its entries; 0: there are none */
};

/* Looks in the regular file FD of SIZE bytes, whose second section begins at START; CODEC decompresses. FOUND must be all zero.
 * Where there is no index, or a damaged one, or no memory, it is not whole; where only its KINDS section is missing or damaged,
 * its entries may be of any kind. The place that FD is read at stays as it is. */
void tg_found_index_look(struct tg_found_index *found, int fd, uint64_t size, uint64_t start,
                         struct tg_section_codec *codec);

void tg_found_index_deinit(struct tg_found_index *found);

#endif
