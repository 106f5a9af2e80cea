#include "analyzer/job/set.h"

#include <stdlib.h>
#include <string.h>

enum { BITS = 64 };

static size_t words_of(const struct tg_job_set *set)
{
    return (set->n_slots + BITS - 1) / BITS;
}

static struct tg_error *make(struct tg_job_set *set, size_t n_slots)
{
    struct tg_job_set made = {.n_slots = n_slots};
    made.bits = calloc(words_of(&made) + 1, sizeof *made.bits);
    if (made.bits == NULL)
        return tg_error_no_memory();
    *set = made;
    return NULL;
}

struct tg_error *tg_job_set_init(struct tg_job_set *set, const struct tg_job_view *view)
{
    return make(set, tg_job_view_slots(view));
}

void tg_job_set_deinit(struct tg_job_set *set)
{
    free(set->bits);
    *set = (struct tg_job_set){0};
}

void tg_job_set_cleanup(struct tg_job_set *set)
{
    tg_job_set_deinit(set);
}

void tg_job_set_add(struct tg_job_set *set, const struct tg_job_process *process, size_t i)
{
    size_t slot = process->first_slot + i;
    set->bits[slot / BITS] |= UINT64_C(1) << (slot % BITS);
}

void tg_job_set_remove(struct tg_job_set *set, const struct tg_job_process *process, size_t i)
{
    size_t slot = process->first_slot + i;
    set->bits[slot / BITS] &= ~(UINT64_C(1) << (slot % BITS));
}

bool tg_job_set_has(const struct tg_job_set *set, const struct tg_job_process *process, size_t i)
{
    size_t slot = process->first_slot + i;
    return (set->bits[slot / BITS] >> (slot % BITS) & 1) != 0;
}

/* Slots of PROCESS. */
static size_t width_of(const struct tg_job_process *process)
{
    return process->n_threads == 0 ? 1 : process->n_threads;
}

bool tg_job_set_has_any(const struct tg_job_set *set, const struct tg_job_process *process)
{
    for (size_t i = 0; i < width_of(process); i++)
        if (tg_job_set_has(set, process, i))
            return true;
    return false;
}

void tg_job_set_unite(struct tg_job_set *set, const struct tg_job_set *other)
{
    for (size_t i = 0; i < words_of(set); i++)
        set->bits[i] |= other->bits[i];
}

void tg_job_set_subtract(struct tg_job_set *set, const struct tg_job_set *other)
{
    for (size_t i = 0; i < words_of(set); i++)
        set->bits[i] &= ~other->bits[i];
}

void tg_job_set_intersect(struct tg_job_set *set, const struct tg_job_set *other)
{
    for (size_t i = 0; i < words_of(set); i++)
        set->bits[i] &= other->bits[i];
}

bool tg_job_set_is_empty(const struct tg_job_set *set)
{
    for (size_t i = 0; i < words_of(set); i++)
        if (set->bits[i] != 0)
            return false;
    return true;
}

void tg_job_set_count(const struct tg_job_set *set, const struct tg_job_view *view, size_t *n_processes,
                      size_t *n_threads)
{
    *n_processes = *n_threads = 0;
    for (size_t i = 0; i < tg_job_view_count(view); i++) {
        const struct tg_job_process *process = tg_job_view_at(view, i);
        size_t threads = 0;
        for (size_t j = 0; j < process->n_threads; j++)
            threads += tg_job_set_has(set, process, j);
        *n_threads += threads;
        *n_processes += process->n_threads == 0 ? tg_job_set_has(set, process, 0) : threads > 0;
    }
}
