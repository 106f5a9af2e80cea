#include "analyzer/heap/changes.h"
#include "analyzer/heap/path_names.h"
#include "format/base/array.h"

#include <stdlib.h>
#include <string.h>

void tg_heap_changes_deinit(struct tg_heap_changes *changes)
{
    for (size_t i = 0; i < changes->count; i++)
        free(changes->items[i].place);
    free(changes->items);
}

struct tg_error *tg_heap_changes_add(struct tg_heap_changes *changes, const struct tg_heap_profile *profile,
                                     const struct tg_heap_reading *reading, int64_t factor)
{
    const struct tg_heap_path_names names = {reading->stacks, reading->names};
    for (size_t i = 0; i < profile->count; i++) {
        const struct tg_heap_row *row = &profile->rows[i];
        char place[400];
        if (row->use.live.parts == 0)
            continue;
        tg_heap_path_place(&names, tg_heap_call_paths_at(tg_heap_model_paths(reading->heap), row->path),
                           place, sizeof place);
        struct tg_heap_change change = {.place = strdup(place),
                                        .bytes = factor * (int64_t)row->use.live.bytes,
                                        .blocks = factor * (int64_t)tg_heap_amount_blocks(&row->use.live)};
        struct tg_error *error =
            change.place == NULL ? tg_error_no_memory()
                                 : TG_ARRAY_APPEND(changes->items, changes->count, changes->capacity, change);
        if (error != NULL) {
            free(change.place);
            return error;
        }
    }
    return NULL;
}

static int compare_places(const void *a, const void *b)
{
    const struct tg_heap_change *x = a, *y = b;
    return strcmp(x->place, y->place);
}

static int compare_sizes(const void *a, const void *b)
{
    const struct tg_heap_change *x = a, *y = b;
    uint64_t of_x = x->bytes < 0 ? 0 - (uint64_t)x->bytes : (uint64_t)x->bytes;
    uint64_t of_y = y->bytes < 0 ? 0 - (uint64_t)y->bytes : (uint64_t)y->bytes;
    return of_x != of_y ? (of_x > of_y ? -1 : 1) : strcmp(x->place, y->place);
}

void tg_heap_changes_finish(struct tg_heap_changes *changes)
{
    if (changes->count == 0)
        return;
    qsort(changes->items, changes->count, sizeof *changes->items, compare_places);
    size_t kept = 0;
    for (size_t i = 0, next; i < changes->count; i = next) {
        struct tg_heap_change sum = changes->items[i];
        for (next = i + 1; next < changes->count && strcmp(changes->items[next].place, sum.place) == 0;
             next++) {
            sum.bytes += changes->items[next].bytes;
            sum.blocks += changes->items[next].blocks;
            free(changes->items[next].place);
        }
        if (sum.bytes != 0 || sum.blocks != 0)
            changes->items[kept++] = sum;
        else
            free(sum.place);
    }
    changes->count = kept;
    if (kept > 0)
        qsort(changes->items, kept, sizeof *changes->items, compare_sizes);
}
