#include "analyzer/models/heap/faults.h"

#include "format/base/array.h"

#include <stdlib.h>

void tg_heap_faults_deinit(struct tg_heap_faults *faults)
{
    free(faults->faults);
    free(faults->gaps);
}

static bool is_alike(const struct tg_heap_fault *a, const struct tg_heap_fault *b)
{
    return a->process == b->process && a->is.error == b->is.error && a->path == b->path &&
           a->allocated_path == b->allocated_path && a->freed_path == b->freed_path &&
           a->allocated_by == b->allocated_by && a->path != 0;
}

struct tg_error *tg_heap_faults_add(struct tg_heap_faults *faults, struct tg_string_pool *strings,
                                    struct tg_heap_fault fault)
{
    for (size_t i = 0; i < faults->n_faults; i++)
        if (is_alike(&faults->faults[i], &fault)) {
            faults->faults[i].count++;
            return NULL;
        }
    if (faults->n_faults == TG_HEAP_MAX_FAULTS) {
        faults->more_faults++;
        return NULL;
    }
    struct tg_error *error = tg_string_pool_intern(strings, fault.is.call, &fault.is.call);
    return error != NULL ? error
                         : TG_ARRAY_APPEND(faults->faults, faults->n_faults, faults->fault_capacity, fault);
}

struct tg_error *tg_heap_faults_add_gap(struct tg_heap_faults *faults, struct tg_string_pool *strings,
                                        size_t process, const char *module, const char *reason)
{
    struct tg_heap_gap gap = {.process = process};
    struct tg_error *error = tg_string_pool_intern(strings, module, &gap.module);
    if (error == NULL)
        error = tg_string_pool_intern(strings, reason, &gap.reason);
    if (error != NULL || faults->n_gaps == TG_HEAP_MAX_FAULTS)
        return error;
    for (size_t i = 0; i < faults->n_gaps; i++)
        if (faults->gaps[i].process == gap.process && faults->gaps[i].module == gap.module &&
            faults->gaps[i].reason == gap.reason)
            return NULL;
    return TG_ARRAY_APPEND(faults->gaps, faults->n_gaps, faults->gap_capacity, gap);
}
