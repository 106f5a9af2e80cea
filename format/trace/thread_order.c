#include "format/trace/thread_order.h"

#include "format/base/array.h"
#include "format/trace/section.h"

#include <stdlib.h>

enum { PART = 512 };

_Static_assert(TG_CHUNK_MAX_KINDS <= 1 << 8 && TG_CHUNK_MAX_EVENTS <= 1 << 24, "a slot holds both");

void tg_thread_order_deinit(struct tg_thread_order *order)
{
    free(order->threads);
    free(order->positions);
    free(order->process_positions);
    free(order->slots);
    free(order->stops_ns);
    free(order->rows);
    free(order->kind_stops);
    *order = (struct tg_thread_order){0};
}

static size_t part_of(uint64_t left)
{
    return left < PART ? (size_t)left : PART;
}

/* Finds the thread of each event, and counts each one's events in POSITIONS. */
static struct tg_error *read_threads(struct tg_thread_order *order, struct tg_chunk_directory *directory,
                                     const struct tg_byte_source *source, uint32_t n_events)
{
    struct tg_packed_column *column = &directory->common[TG_COMMON_THREAD];
    uint64_t seen = 0, values[PART];
    size_t n_threads = directory->n_threads;
    memset(order->positions, 0, n_threads * sizeof *order->positions);
    for (uint32_t at = 0; at < n_events; at += PART) {
        size_t n = part_of(n_events - at);
        if (!tg_packed_column_take(column, values, n))
            return tg_chunk_column_error(column, source, "", "thread", "");
        for (size_t i = 0; i < n; i++) {
            /* 0 is the next thread of the table, D the one that came D before it. */
            uint64_t back = values[i], index = seen - back;
            seen += back == 0;
            if (back > seen || index >= n_threads)
                return tg_chunk_column_error(column, source, "", "thread", "");
            order->threads[at + i] = (uint32_t)index;
            order->positions[index]++;
        }
    }
    return NULL;
}

/* From the number of each thread's events to the position of its first one. */
static void place_threads(struct tg_thread_order *order, const struct tg_chunk_directory *directory)
{
    uint32_t *next = order->process_positions, first = 0;
    memset(next, 0, directory->n_processes * sizeof *next);
    for (size_t t = 0; t < directory->n_threads; t++)
        next[directory->processes[t]] += order->positions[t];
    for (size_t p = 0; p < directory->n_processes; p++) {
        uint32_t count = next[p];
        next[p] = first;
        first += count;
    }
    for (size_t t = 0; t < directory->n_threads; t++) {
        uint32_t count = order->positions[t], *position = &next[directory->processes[t]];
        order->positions[t] = *position;
        *position += count;
    }
}

/* The row of each event of an indexed kind. */
static struct tg_error *read_index(struct tg_chunk_kind_entry *kind, const struct tg_byte_source *source,
                                   uint32_t *rows)
{
    uint64_t values[PART];
    for (uint64_t at = 0; at < kind->n_events; at += PART) {
        size_t n = part_of(kind->n_events - at);
        if (!tg_packed_column_take(&kind->index, values, n))
            return tg_chunk_column_error(&kind->index, source, "", "row index", "");
        for (size_t i = 0; i < n; i++) {
            if (values[i] >= kind->n_rows)
                return tg_chunk_column_error(&kind->index, source, "", "row index", "");
            rows[at + i] = (uint32_t)values[i];
        }
    }
    return NULL;
}

/* Rows and stops of all events, those of one kind together. */
static struct tg_error *read_kinds(struct tg_thread_order *order, struct tg_chunk_directory *directory,
                                   const struct tg_byte_source *source)
{
    uint64_t first = 0;
    struct tg_error *error = NULL;
    for (size_t k = 0; error == NULL && k < directory->n_kinds; k++) {
        struct tg_chunk_kind_entry *kind = directory->kinds[k];
        uint32_t *rows = order->rows + first;
        if (kind->indexed && kind->by_thread)
            error = read_index(kind, source, rows);
        else
            for (uint32_t i = 0; i < kind->n_events; i++)
                rows[i] = i;
        if (error == NULL && order->any_stop &&
            !tg_packed_column_take(&kind->stop, order->kind_stops + first, (size_t)kind->n_events))
            error = tg_chunk_column_error(&kind->stop, source, "", "stop_ns", "");
        first += kind->n_events;
    }
    return error;
}

static struct tg_error *fill_slots(struct tg_thread_order *order, struct tg_chunk_directory *directory,
                                   const struct tg_byte_source *source, uint32_t n_events)
{
    struct tg_packed_column *column = &directory->common[TG_COMMON_KIND];
    uint64_t values[PART];
    uint32_t next[TG_CHUNK_MAX_KINDS], ends[TG_CHUNK_MAX_KINDS], first = 0;
    for (size_t k = 0; k < directory->n_kinds; k++) {
        next[k] = first;
        first += (uint32_t)directory->kinds[k]->n_events;
        ends[k] = first;
    }
    for (uint32_t at = 0; at < n_events; at += PART) {
        size_t n = part_of(n_events - at);
        if (!tg_packed_column_take(column, values, n))
            return tg_chunk_column_error(column, source, "", "kind", "");
        for (size_t i = 0; i < n; i++) {
            if (values[i] >= directory->n_kinds || next[values[i]] == ends[values[i]])
                return tg_chunk_column_error(column, source, "", "kind", "");
            uint32_t event = next[values[i]]++;
            order->slots[at + i] = (uint32_t)values[i] << 24 | order->rows[event];
            if (order->any_stop)
                order->stops_ns[at + i] = order->kind_stops[event] << directory->units.stop_shift;
        }
    }
    return NULL;
}

static struct tg_error *reserve(struct tg_thread_order *order, const struct tg_chunk_directory *directory,
                                size_t n_events)
{
    struct tg_error *error = TG_ARRAY_RESERVE(order->threads, order->thread_capacity, n_events);
    if (error == NULL)
        error = TG_ARRAY_RESERVE(order->positions, order->position_capacity, directory->n_threads + 1);
    if (error == NULL)
        error =
            TG_ARRAY_RESERVE(order->process_positions, order->process_capacity, directory->n_processes + 1);
    if (error == NULL)
        error = TG_ARRAY_RESERVE(order->slots, order->slot_capacity, n_events);
    if (error == NULL)
        error = TG_ARRAY_RESERVE(order->rows, order->row_capacity, n_events);
    if (error == NULL && order->any_stop)
        error = TG_ARRAY_RESERVE(order->stops_ns, order->stop_capacity, n_events);
    if (error == NULL && order->any_stop)
        error = TG_ARRAY_RESERVE(order->kind_stops, order->kind_stop_capacity, n_events);
    return error;
}

struct tg_error *tg_thread_order_read(struct tg_thread_order *order, struct tg_chunk_directory *directory,
                                      const struct tg_byte_source *source, uint32_t n_events)
{
    order->any_stop = false;
    order->n_slots = n_events;
    for (size_t k = 0; k < directory->n_kinds; k++)
        order->any_stop = order->any_stop || !tg_packed_column_is_zero(&directory->kinds[k]->stop);
    struct tg_error *error = reserve(order, directory, n_events);
    if (error == NULL)
        error = read_threads(order, directory, source, n_events);
    if (error != NULL)
        return error;
    place_threads(order, directory);
    error = read_kinds(order, directory, source);
    return error != NULL ? error : fill_slots(order, directory, source, n_events);
}
