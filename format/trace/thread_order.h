/* Recorded order of the events of a chunk whose columns are in the order of threads. */
#ifndef TG_FORMAT_TRACE_THREAD_ORDER_H
#define TG_FORMAT_TRACE_THREAD_ORDER_H

#include "format/trace/chunk_directory.h"

/* A position is an event's place in the order of threads: the events of the first process's first thread as
 * they were recorded, then those of its second one, and so on, then the second process. Caller's storage; all
 * zero at first. It is refilled for chunk after chunk and keeps its memory. */
struct tg_thread_order {
    uint32_t *threads;           /* by event as recorded: index of its thread */
    uint32_t *positions;         /* by thread: of its next event */
    uint32_t *process_positions; /* used while reading */
    uint32_t *slots;             /* by position: TG_SLOT_KIND and TG_SLOT_ROW of the event */
    uint32_t n_slots;
    uint64_t *stops_ns;   /* by position; only where any_stop */
    uint32_t *rows;       /* used while reading */
    uint64_t *kind_stops; /* likewise */
    size_t thread_capacity, position_capacity, process_capacity, slot_capacity, stop_capacity, row_capacity,
        kind_stop_capacity;
    bool any_stop;
};

#define TG_SLOT_KIND(slot) ((slot) >> 24)    /* index of the kind in the chunk */
#define TG_SLOT_ROW(slot)  ((slot)&0xffffff) /* of a kind by thread: index of its row */

void tg_thread_order_deinit(struct tg_thread_order *order);

/* Takes the columns of kinds, threads, stops and row indices out of DIRECTORY. INPUT error where they are
 * malformed, or do not fit each other. */
struct tg_error *tg_thread_order_read(struct tg_thread_order *order, struct tg_chunk_directory *directory,
                                      const struct tg_byte_source *source, uint32_t n_events);

#endif
