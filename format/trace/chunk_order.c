#include "format/trace/chunk_order.h"

#include "format/base/byte_cursor.h"

#include <stdlib.h>

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

static void sort_by_thread(struct tg_chunk_order *order, const struct tg_chunk_columns *columns,
                           uint64_t *values)
{
    size_t n = tg_chunk_column_read(&columns->thread_column, values), seen = 0;
    uint32_t *positions = order->positions, *next = order->process_positions, first = 0;
    memset(positions, 0, columns->n_threads * sizeof *positions);
    memset(next, 0, order->n_processes * sizeof *next);
    for (size_t i = 0; i < n; i++) {
        uint32_t thread = (uint32_t)(seen - values[i]);
        seen += values[i] == 0;
        order->threads[i] = thread;
        positions[thread]++;
        next[order->processes[thread]]++;
    }
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
    for (size_t i = 0; i < n; i++)
        order->by_thread[positions[order->threads[i]]++] = (uint32_t)i;
}

static void sort_by_kind(struct tg_chunk_order *order, const struct tg_chunk_columns *columns,
                         uint64_t *values)
{
    size_t n = tg_chunk_column_read(&columns->kind_column, values);
    uint32_t counts[TG_CHUNK_MAX_KINDS] = {0}, next = 0;
    for (size_t i = 0; i < n; i++) {
        order->kinds[i] = (uint8_t)values[i];
        order->ranks[i] = counts[order->kinds[i]]++;
    }
    for (uint32_t k = 0; k < columns->n_kinds_used; k++) {
        order->first[k] = next;
        next += counts[k];
        counts[k] = order->first[k];
    }
    for (size_t position = 0; position < n; position++) {
        uint32_t event = order->by_thread[position];
        order->by_kind[counts[order->kinds[event]]++] = event;
    }
}

bool tg_chunk_order_init(struct tg_chunk_order *order, const struct tg_chunk_columns *columns,
                         uint64_t *values)
{
    size_t n = columns->n_events + 1, n_threads = (size_t)columns->n_threads + 1;
    *order = (struct tg_chunk_order){
        .pids = malloc(n_threads * sizeof *order->pids),
        .processes = malloc(n_threads * sizeof *order->processes),
        .kinds = malloc(n * sizeof *order->kinds),
        .ranks = malloc(n * sizeof *order->ranks),
        .stops = malloc(n * sizeof *order->stops),
        .by_thread = malloc(n * sizeof *order->by_thread),
        .by_kind = malloc(n * sizeof *order->by_kind),
        .threads = malloc(n * sizeof *order->threads),
        .positions = malloc(n_threads * sizeof *order->positions),
        .process_positions = malloc(n_threads * sizeof *order->process_positions),
    };
    if (order->pids == NULL || order->processes == NULL || order->kinds == NULL || order->ranks == NULL ||
        order->stops == NULL || order->by_thread == NULL || order->by_kind == NULL ||
        order->threads == NULL || order->positions == NULL || order->process_positions == NULL ||
        !number_processes(order, columns))
        return false;
    size_t n_stops = tg_chunk_column_read(&columns->stop_column, values);
    for (size_t i = 0; i < n_stops; i++)
        order->stops[i] = values[i] >> columns->units.stop_shift;
    sort_by_thread(order, columns, values);
    sort_by_kind(order, columns, values);
    return true;
}

void tg_chunk_order_deinit(struct tg_chunk_order *order)
{
    free(order->pids);
    free(order->processes);
    free(order->kinds);
    free(order->ranks);
    free(order->stops);
    free(order->by_thread);
    free(order->by_kind);
    free(order->threads);
    free(order->positions);
    free(order->process_positions);
}
