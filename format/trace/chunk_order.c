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

static void sort_by_thread(struct tg_chunk_order *order, const struct tg_chunk_columns *columns)
{
    uint32_t *positions = order->positions, *next = order->process_positions, first = 0;
    memset(positions, 0, columns->n_threads * sizeof *positions);
    memset(next, 0, order->n_processes * sizeof *next);
    for (size_t i = 0; i < columns->n_events; i++)
        positions[columns->event_threads[i]]++;
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
    for (size_t i = 0; i < columns->n_events; i++)
        order->by_thread[positions[columns->event_threads[i]]++] = (uint32_t)i;
}

static void sort_by_kind(struct tg_chunk_order *order, const struct tg_chunk_columns *columns)
{
    uint32_t places[TG_CHUNK_MAX_KINDS], next = 0;
    for (uint32_t k = 0; k < columns->n_kinds_used; k++) {
        order->first[k] = places[k] = next;
        next += columns->kinds[columns->kinds_used[k]].n_events;
    }
    for (size_t position = 0; position < columns->n_events; position++) {
        uint32_t event = order->by_thread[position];
        order->by_kind[places[columns->event_kinds[event]]++] = event;
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
        has_room = renew(&order->by_thread, sizeof *order->by_thread, n_events) &&
                   renew(&order->by_kind, sizeof *order->by_kind, n_events);
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
    free(order->by_thread);
    free(order->by_kind);
    free(order->positions);
    free(order->process_positions);
}
