#include "analyzer/heap/leaks.h"

#include "analyzer/output/rank_ranges.h"
#include "format/base/array.h"

#include <stdlib.h>

/* The rows as they come, and where each is: by path, interior or not, row + 1. */
struct collection {
    const struct tg_heap_leaks_request *request;
    struct tg_heap_leaks *leaks;
    uint32_t *row_of;
    size_t n_places, capacity;
};

static int compare(const void *a, const void *b)
{
    const struct tg_heap_leaks_row *x = a, *y = b;
    if (x->is_interior != y->is_interior)
        return x->is_interior ? 1 : -1;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->path < y->path ? -1 : x->path > y->path;
}

static struct tg_error *find_row(struct collection *collection, const struct tg_heap_leak *leak,
                                 struct tg_heap_leaks_row **row)
{
    struct tg_heap_leaks *leaks = collection->leaks;
    bool is_interior = leak->kind == TG_HEAP_LEAK_INTERIOR;
    size_t place = (size_t)leak->path * 2 + is_interior;
    struct tg_error *error = TG_ARRAY_RESERVE(collection->row_of, collection->capacity, place + 1);
    if (error != NULL)
        return error;
    while (collection->n_places <= place)
        collection->row_of[collection->n_places++] = 0;
    if (collection->row_of[place] == 0) {
        error = TG_ARRAY_APPEND(leaks->rows, leaks->count, leaks->capacity,
                                (struct tg_heap_leaks_row){.is_interior = is_interior, .path = leak->path});
        if (error != NULL)
            return error;
        collection->row_of[place] = (uint32_t)leaks->count;
    }
    *row = &leaks->rows[collection->row_of[place] - 1];
    return NULL;
}

static struct tg_error *add_leak(struct collection *collection, const struct tg_heap_leak *leak,
                                 const struct tg_process_entry *entry)
{
    struct tg_heap_leaks_row *row;
    if (leak->kind > TG_HEAP_LEAK_INTERIOR ||
        (leak->kind == TG_HEAP_LEAK_INTERIOR && !collection->request->wants_interior))
        return NULL;
    struct tg_error *error = find_row(collection, leak, &row);
    if (error != NULL)
        return error;
    row->blocks += leak->blocks;
    row->bytes += leak->bytes;
    row->indirect_blocks += leak->kind == TG_HEAP_LEAK_INDIRECT ? leak->blocks : 0;
    if (row->n_processes == 0 || row->processes[row->n_processes - 1] != entry->index)
        error = TG_ARRAY_APPEND(row->processes, row->n_processes, row->process_capacity, entry->index);
    if (error != NULL)
        return error;
    return entry->rank < 0 ? NULL
                           : TG_ARRAY_APPEND(row->ranks, row->n_ranks, row->rank_capacity, entry->rank);
}

static struct tg_error *add_scan(struct collection *collection, const struct tg_heap_process *process)
{
    const struct tg_heap_leaks_request *request = collection->request;
    const struct tg_process_entry *entry = tg_process_model_at(request->processes, process->process);
    const struct tg_heap_scan *scan = &process->scan;
    struct tg_error *error = NULL;
    if (request->selection != NULL && !tg_selection_admits_process(request->selection, entry))
        return NULL;
    if (scan->time_ns == 0 || (request->only_ranks && entry->rank < 0) ||
        (request->is_whole && *scan->is.problem != '\0'))
        return NULL;
    collection->leaks->blocks += scan->is.leaked_blocks;
    collection->leaks->bytes += scan->is.leaked_bytes;
    collection->leaks->live_blocks += scan->is.blocks;
    for (size_t i = 0; error == NULL && i < scan->n_leaks; i++)
        error = add_leak(collection, &scan->leaks[i], entry);
    return error;
}

struct tg_error *tg_heap_leaks_make(const struct tg_heap_leaks_request *request, struct tg_heap_leaks *leaks)
{
    struct tg_heap_leaks made = {0};
    struct collection collection = {.request = request, .leaks = &made};
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < tg_heap_model_count(request->heap); i++)
        error = add_scan(&collection, tg_heap_model_at(request->heap, i));
    free(collection.row_of);
    if (error != NULL) {
        tg_heap_leaks_deinit(&made);
        return error;
    }
    if (made.count > 0)
        qsort(made.rows, made.count, sizeof *made.rows, compare);
    for (size_t i = 0; i < made.count; i++)
        made.rows[i].n_ranks = tg_rank_ranges_sort(made.rows[i].ranks, made.rows[i].n_ranks);
    *leaks = made;
    return NULL;
}

void tg_heap_leaks_deinit(struct tg_heap_leaks *leaks)
{
    for (size_t i = 0; i < leaks->count; i++) {
        free(leaks->rows[i].ranks);
        free(leaks->rows[i].processes);
    }
    free(leaks->rows);
    *leaks = (struct tg_heap_leaks){0};
}
