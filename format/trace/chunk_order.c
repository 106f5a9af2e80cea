#include "format/trace/chunk_order.h"

#include <stdlib.h>
#include <string.h>

static bool number_processes(struct tg_chunk_order *order, const struct tg_chunk_columns *columns)
{
    uint32_t mask = 63;
    while (mask < 2 * columns->n_threads)
        mask = 2 * mask + 1;
    uint32_t *slots = calloc((size_t)mask + 1, sizeof *slots); /* process + 1; 0: free */
    if (slots == NULL)
        return false;
    order->n_processes = 0;
    for (uint32_t t = 0; t < columns->n_threads; t++) {
        uint64_t pid = tg_zigzag((uint64_t)(int64_t)(int32_t)(uint32_t)(columns->threads[t] >> 32));
        uint32_t slot = (uint32_t)(pid * UINT64_C(0x9e3779b97f4a7c15) >> 32) & mask;
        while (slots[slot] != 0 && order->pids[slots[slot] - 1] != pid)
            slot = (slot + 1) & mask;
        if (slots[slot] == 0) {
            order->pids[order->n_processes] = pid;
            slots[slot] = ++order->n_processes;
        }
        order->processes[t] = slots[slot] - 1;
    }
    free(slots);
    return true;
}

/* Counts into COUNTS, all 0, whose events these are: neighbours in tables of their own where these are short, for one event would
 * wait for the other's count. */
static void count_by_thread(const struct tg_chunk_columns *columns, uint32_t *counts)
{
    enum { TABLES = 4, SHORT = 64 };
    uint32_t tables[TABLES][SHORT] = {0};
    const uint32_t *threads = columns->event_threads;
    size_t i = 0;
    if (columns->n_threads <= SHORT) {
        for (; i + TABLES <= columns->n_events; i += TABLES)
            for (size_t t = 0; t < TABLES; t++)
                tables[t][threads[i + t]]++;
        for (uint32_t t = 0; t < columns->n_threads; t++)
            counts[t] = tables[0][t] + tables[1][t] + tables[2][t] + tables[3][t];
    }
    for (; i < columns->n_events; i++)
        counts[threads[i]]++;
}

static void sort_by_thread(struct tg_chunk_order *order, const struct tg_chunk_columns *columns)
{
    uint32_t *positions = order->positions, *next = order->process_positions, first = 0;
    memset(positions, 0, columns->n_threads * sizeof *positions);
    memset(next, 0, order->n_processes * sizeof *next);
    count_by_thread(columns, positions);
    for (uint32_t t = 0; t < columns->n_threads; t++)
        next[order->processes[t]] += positions[t];
    for (uint32_t p = 0; p < order->n_processes; p++) {
        uint32_t count = next[p];
        next[p] = first;
        first += count;
    }
    for (uint32_t t = 0; t < columns->n_threads; t++) {
        uint32_t count = positions[t], *position = &next[order->processes[t]];
        positions[t] = *position;
        *position += count;
    }
    const uint8_t *kinds = columns->event_kinds;
    const uint32_t *threads = columns->event_threads, *rows = columns->event_rows;
    for (size_t i = 0; i < columns->n_events; i++) {
        uint32_t position = positions[threads[i]]++;
        order->kinds[position] = kinds[i];
        order->thread_rows[position] = rows[i];
        if (columns->n_stops > 0)
            order->thread_events[position] = (uint32_t)i;
    }
}

static void sort_by_kind(struct tg_chunk_order *order, const struct tg_chunk_columns *columns)
{
    uint32_t places[TG_CHUNK_MAX_KINDS], next = 0;
    for (uint32_t k = 0; k < columns->n_kinds_used; k++) {
        order->first[k] = places[k] = next;
        next += columns->kinds[columns->kinds_used[k]].n_events;
    }
    for (size_t position = 0; position < columns->n_events; position++) {
        uint32_t place = places[order->kinds[position]]++;
        order->rows[place] = order->thread_rows[position];
        if (columns->n_stops > 0)
            order->events[place] = order->thread_events[position];
    }
}

/* Makes room for N numbers of SIZE bytes; what *NUMBERS held is gone. */
static bool renew(void *numbers, size_t size, size_t n)
{
    free(*(void **)numbers);
    *(void **)numbers = malloc(n * size);
    return *(void **)numbers != NULL;
}

static bool reserve(struct tg_chunk_order *order, size_t n_events, size_t n_threads)
{
    bool has_room = true;
    if (n_events > order->event_capacity) {
        has_room = renew(&order->kinds, sizeof *order->kinds, n_events) &&
                   renew(&order->rows, sizeof *order->rows, n_events) &&
                   renew(&order->events, sizeof *order->events, n_events) &&
                   renew(&order->thread_rows, sizeof *order->thread_rows, n_events) &&
                   renew(&order->thread_events, sizeof *order->thread_events, n_events);
        order->event_capacity = has_room ? n_events : 0;
    }
    if (has_room && n_threads > order->thread_capacity) {
        has_room = renew(&order->pids, sizeof *order->pids, n_threads) &&
                   renew(&order->processes, sizeof *order->processes, n_threads) &&
                   renew(&order->positions, sizeof *order->positions, n_threads) &&
                   renew(&order->process_positions, sizeof *order->process_positions, n_threads);
        order->thread_capacity = has_room ? n_threads : 0;
    }
    return has_room;
}

bool tg_chunk_order_sort(struct tg_chunk_order *order, const struct tg_chunk_columns *columns)
{
    if (!reserve(order, columns->n_events + 1, (size_t)columns->n_threads + 1) ||
        !number_processes(order, columns))
        return false;
    sort_by_thread(order, columns);
    sort_by_kind(order, columns);
    return true;
}

void tg_chunk_order_deinit(struct tg_chunk_order *order)
{
    free(order->pids);
    free(order->processes);
    free(order->kinds);
    free(order->rows);
    free(order->events);
    free(order->thread_rows);
    free(order->thread_events);
    free(order->positions);
    free(order->process_positions);
}
