#include "analyzer/report/mpir_others.h"

#include "analyzer/output/rank_ranges.h"
#include "format/base/array.h"

#include <stdlib.h>
#include <string.h>

enum { NOTHING, IN_TABLE, OUTSIDE, LET_GO }; /* standing of a process with MPIR */
enum { DEEPEST = 32 };                       /* generations that are looked at */

void tg_mpir_others_deinit(struct tg_mpir_others *others)
{
    for (size_t i = 0; i < others->count; i++)
        free(others->groups[i].ranks);
    free(others->groups);
    *others = (struct tg_mpir_others){0};
}

static void mark(uint8_t *told, size_t n_processes, const struct tg_mpir_rank *ranks, size_t count,
                 bool in_table)
{
    for (size_t i = 0; i < count; i++)
        if (ranks[i].process < n_processes)
            told[ranks[i].process] = in_table                                 ? IN_TABLE
                                     : ranks[i].state == TG_MPIR_NOT_SELECTED ? LET_GO
                                                                              : OUTSIDE;
}

/* A process that is a rank, by its pid. */
struct candidate {
    int32_t pid;
    size_t process;
};

static int compare_candidates(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    return a->pid < b->pid ? -1 : a->pid > b->pid;
}

/* Marks those of RANKS that were acquired and ended before they were told of: their pid and number are
 * known. */
static void mark_ended(uint8_t *told, const struct tg_process_model *processes,
                       const struct candidate *candidates, size_t n_candidates,
                       const struct tg_mpir_rank *ranks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct candidate key = {.pid = (int32_t)ranks[i].table_pid};
        if (!ranks[i].is_told || ranks[i].state != TG_MPIR_ACQUIRED || ranks[i].process != SIZE_MAX ||
            key.pid != ranks[i].table_pid || n_candidates == 0)
            continue;
        const struct candidate *found =
            bsearch(&key, candidates, n_candidates, sizeof *candidates, compare_candidates);
        if (found != NULL && tg_process_model_at(processes, found->process)->rank == ranks[i].rank)
            told[found->process] = IN_TABLE;
    }
}

static struct tg_error *find_ended(uint8_t *told, const struct tg_mpir_model *mpir,
                                   const struct tg_process_model *processes)
{
    size_t count = tg_process_model_count(processes), n_candidates = 0, n_ranks;
    struct candidate *candidates = calloc(count + 1, sizeof *candidates);
    if (candidates == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < count; i++)
        if (tg_process_model_at(processes, i)
                ->claim.is_made) /* a shell of the table, that a rank descends from */
            candidates[n_candidates++] =
                (struct candidate){.pid = tg_process_model_at(processes, i)->pid, .process = i};
    if (n_candidates > 1)
        qsort(candidates, n_candidates, sizeof *candidates, compare_candidates);
    for (size_t i = 0; i < tg_mpir_model_count(mpir); i++) {
        const struct tg_mpir_rank *ranks = tg_mpir_model_ranks(mpir, i, &n_ranks);
        mark_ended(told, processes, candidates, n_candidates, ranks, n_ranks);
    }
    free(candidates);
    return NULL;
}

/* For each process what MPIR says of it; owned by the caller. NULL without memory. */
static uint8_t *told_by_mpir(const struct tg_mpir_model *mpir, size_t n_processes)
{
    uint8_t *told = calloc(n_processes + 1, sizeof *told);
    if (told == NULL)
        return NULL;
    size_t count;
    const struct tg_mpir_rank *ranks = tg_mpir_model_outside(mpir, &count);
    mark(told, n_processes, ranks, count, false);
    for (size_t i = 0; i < tg_mpir_model_count(mpir); i++) {
        ranks = tg_mpir_model_ranks(mpir, i, &count);
        mark(told, n_processes, ranks, count, true);
    }
    return told;
}

static const char *way_of(const struct tg_process_entry *entry)
{
    if (!entry->start_seen)
        return "not recorded";
    if (entry->origin == TG_ORIGIN_LAUNCHED)
        return "launched itself";
    return entry->origin == TG_ORIGIN_ATTACHED ? "attached itself" : "following forks";
}

static struct tg_error *find_group(struct tg_mpir_others *others, const struct tg_process_entry *entry,
                                   uint8_t told, struct tg_mpir_other **found)
{
    const char *way = way_of(entry);
    *found = NULL;
    for (size_t i = others->count; i-- > 0;) {
        struct tg_mpir_other *group = &others->groups[i];
        if (group->job == entry->job && group->source == entry->rank_source && group->way == way &&
            group->is_outside == (told == OUTSIDE) && group->is_let_go == (told == LET_GO)) {
            *found = group;
            return NULL;
        }
    }
    if (others->count == TG_MPIR_MAX_OTHERS) {
        others->unkept++;
        return NULL;
    }
    const struct tg_mpir_other group = {.job = entry->job,
                                        .source = entry->rank_source,
                                        .host = entry->host,
                                        .way = way,
                                        .is_outside = told == OUTSIDE,
                                        .is_let_go = told == LET_GO};
    struct tg_error *error = TG_ARRAY_APPEND(others->groups, others->count, others->capacity, group);
    if (error == NULL)
        *found = &others->groups[others->count - 1];
    return error;
}

static struct tg_error *add_rank(struct tg_mpir_others *others, const struct tg_process_entry *entry,
                                 uint8_t told)
{
    struct tg_mpir_other *group;
    struct tg_error *error = find_group(others, entry, told, &group);
    if (error != NULL || group == NULL)
        return error;
    if (group->host != NULL && strcmp(group->host, entry->host) != 0)
        group->host = NULL;
    return TG_ARRAY_APPEND(group->ranks, group->n_ranks, group->capacity, entry->rank);
}

/* Whether the table, or the group, has ENTRY already, as the shell that started it. */
static bool is_of_rank(const struct tg_process_entry *entry)
{
    const struct tg_process_entry *parent = entry->parent;
    for (int i = 0; i < DEEPEST && parent != NULL; i++, parent = parent->parent)
        if (parent->claim.is_made && parent->claim.number == entry->rank && parent->job == entry->job)
            return true;
    return false;
}

struct tg_error *tg_mpir_others_find(const struct tg_mpir_model *mpir,
                                     const struct tg_process_model *processes, struct tg_mpir_others *others)
{
    struct tg_mpir_others found = {0};
    size_t count = tg_process_model_count(processes);
    uint8_t *told = told_by_mpir(mpir, count);
    struct tg_error *error = told == NULL ? tg_error_no_memory() : find_ended(told, mpir, processes);
    for (size_t i = 0; error == NULL && i < count; i++) {
        const struct tg_process_entry *entry = tg_process_model_at(processes, i);
        if (entry->rank >= 0 && told[i] != IN_TABLE && !is_of_rank(entry))
            error = add_rank(&found, entry, told[i]);
    }
    free(told);
    if (error != NULL) {
        tg_mpir_others_deinit(&found);
        return error;
    }
    for (size_t i = 0; i < found.count; i++)
        found.groups[i].n_ranks = tg_rank_ranges_sort(found.groups[i].ranks, found.groups[i].n_ranks);
    *others = found;
    return NULL;
}
