/* The events of a chunk being written, brought into the order of threads; the chunk serializer's alone. */
#ifndef TG_FORMAT_TRACE_CHUNK_ORDER_H
#define TG_FORMAT_TRACE_CHUNK_ORDER_H

#include "format/trace/chunk_columns.h"
#include "format/trace/section.h"

/* Order of threads: the processes in turn, of each its threads in turn, of each its events as recorded.
 * Processes and threads are numbered as they first come. */
struct tg_chunk_order {
    uint32_t n_processes;
    uint64_t *pids;                     /* by process, zigzag */
    uint32_t *processes;                /* by thread */
    uint8_t *kinds;                     /* of the events in the order of threads */
    uint32_t *rows;                     /* the same, those of one kind together */
    uint32_t *events;                   /* the events themselves like ROWS; only where one has a stop */
    uint32_t first[TG_CHUNK_MAX_KINDS]; /* by kind: where it begins in ROWS and EVENTS */
    uint32_t *thread_rows;              /* used while sorting: in the order of threads, ... */
    uint32_t *thread_events;            /* ... likewise */
    uint32_t *positions;                /* used while sorting: by thread */
    uint32_t *process_positions;        /* likewise, by process */
    size_t event_capacity, thread_capacity;
};

/* Brings the events of COLUMNS into order. ORDER is zeroed at first; its memory serves for the next columns as well. False
 * where memory is short. */
bool tg_chunk_order_sort(struct tg_chunk_order *order, const struct tg_chunk_columns *columns);
void tg_chunk_order_deinit(struct tg_chunk_order *order);

#endif
