#include "analyzer/heap/groups.h"

#include "analyzer/output/quantity.h"
#include "analyzer/output/rank_ranges.h"
#include "format/base/array.h"
#include "format/base/printable.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
    ERRORS_APART = 3
}; /* of the difference of two samples: as far as those of a hundred equal ranks are */

struct member {
    const struct tg_heap_process *process;
    uint64_t peak;
    double variance; /* of PEAK, 0: exact */
};

static int compare_members(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    if (x->peak != y->peak)
        return x->peak > y->peak ? -1 : 1;
    return x->process->process < y->process->process ? -1 : 1;
}

/* The members that the selection admits, largest first; NULL without memory. */
static struct member *find_members(const struct tg_heap_model *heap, const struct tg_process_model *processes,
                                   const struct tg_selection *selection, size_t *count)
{
    size_t n = tg_heap_model_count(heap);
    struct member *members = calloc(n + 1, sizeof *members);
    *count = 0;
    for (size_t i = 0; members != NULL && i < n; i++) {
        const struct tg_heap_process *process = tg_heap_model_at(heap, i);
        const struct tg_process_entry *entry = tg_process_model_at(processes, process->process);
        if (process->peak_ns != 0 && (selection == NULL || tg_selection_admits_process(selection, entry)))
            members[(*count)++] =
                (struct member){.process = process,
                                .peak = process->use.at_peak.bytes,
                                .variance = tg_heap_model_use(heap, process, &process->use).at_peak.variance};
    }
    if (members != NULL)
        qsort(members, *count, sizeof *members, compare_members);
    return members;
}

/* The path that has most of the peak of PROCESS. */
static void find_path(const struct tg_heap_model *heap, const struct tg_heap_process *process,
                      struct tg_heap_group *group)
{
    for (size_t i = 0; i < process->n_sites; i++) {
        struct tg_heap_use use = tg_heap_model_use(heap, process, &process->sites[i].use);
        if (process->sites[i].path != 0 && use.at_peak.bytes > group->path_bytes) {
            group->path_bytes = use.at_peak.bytes;
            group->path = process->sites[i].path;
        }
    }
}

static struct tg_error *fill(const struct tg_heap_model *heap, const struct tg_process_model *processes,
                             const struct member *members, size_t count, struct tg_heap_group *group)
{
    const struct tg_heap_process *first = members[0].process;
    struct tg_heap_amount peak = tg_heap_model_use(heap, first, &first->use).at_peak;
    *group = (struct tg_heap_group){.n_processes = count,
                                    .largest = first->process,
                                    .most = members[0].peak,
                                    .least = members[count - 1].peak,
                                    .error = tg_heap_amount_error(&peak),
                                    .ranks = calloc(count, sizeof *group->ranks)};
    if (group->ranks == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < count; i++) {
        int64_t rank = tg_process_model_at(processes, members[i].process->process)->rank;
        group->live += members[i].process->use.live.bytes;
        if (rank >= 0)
            group->ranks[group->n_ranks++] = rank;
    }
    group->n_ranks = tg_rank_ranges_sort(group->ranks, group->n_ranks);
    find_path(heap, first, group);
    return NULL;
}

/* Whether MEMBER's peak, which is no larger, is about FIRST's, or may be for all that samples know. */
static bool is_alike(const struct member *first, const struct member *member)
{
    double difference = (double)(first->peak - member->peak);
    double variance = first->variance + member->variance;
    return member->peak >= first->peak - first->peak / 4 ||
           difference * difference <= ERRORS_APART * ERRORS_APART * variance;
}

struct tg_error *tg_heap_groups_make(const struct tg_heap_model *heap,
                                     const struct tg_process_model *processes,
                                     const struct tg_selection *selection, struct tg_heap_group **groups,
                                     size_t *count)
{
    size_t n, made = 0, capacity = 0;
    struct tg_heap_group *list = NULL;
    struct member *members = find_members(heap, processes, selection, &n);
    struct tg_error *error = members == NULL ? tg_error_no_memory() : NULL;
    for (size_t i = 0, end; error == NULL && i < n; i = end) {
        bool is_rank = tg_process_model_at(processes, members[i].process->process)->rank >= 0;
        for (end = i + 1; end < n && is_alike(&members[i], &members[end]); end++)
            if ((tg_process_model_at(processes, members[end].process->process)->rank >= 0) != is_rank)
                break;
        error = TG_ARRAY_APPEND(list, made, capacity, (struct tg_heap_group){0});
        if (error == NULL)
            error = fill(heap, processes, members + i, end - i, &list[made - 1]);
    }
    free(members);
    if (error != NULL) {
        tg_heap_groups_destroy(list, made);
        return error;
    }
    *groups = list;
    *count = made;
    return NULL;
}

void tg_heap_groups_destroy(struct tg_heap_group *groups, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(groups[i].ranks);
    free(groups);
}

static void write_members(FILE *stream, const struct tg_heap_group *group,
                          const struct tg_process_model *processes)
{
    char text[200];
    const struct tg_process_entry *entry = tg_process_model_at(processes, group->largest);
    if (group->n_ranks > 0)
        fprintf(stream, "rank%s %s", group->n_ranks == 1 ? "" : "s",
                tg_rank_ranges_print(group->ranks, group->n_ranks, text, sizeof text));
    else if (group->n_processes == 1)
        fprintf(stream, "process %" PRId32 " (%s)", entry->pid,
                tg_printable(tg_process_entry_name(entry), text, sizeof text));
    else
        fprintf(stream, "%zu processes such as %" PRId32 " (%s)", group->n_processes, entry->pid,
                tg_printable(tg_process_entry_name(entry), text, sizeof text));
}

void tg_heap_group_write(FILE *stream, const struct tg_heap_group *group,
                         const struct tg_process_model *processes, const struct tg_heap_model *heap,
                         const struct tg_heap_path_names *names)
{
    char least[TG_QUANTITY_SIZE], most[TG_QUANTITY_SIZE], error[TG_QUANTITY_SIZE], place[400];
    write_members(stream, group, processes);
    tg_quantity_bytes(group->most, most);
    if (group->n_processes > 1 && group->least < group->most - group->most / 50)
        fprintf(stream, ": peaks %s to %s", tg_quantity_bytes(group->least, least), most);
    else
        fprintf(stream, ": peak %s%s", most, group->n_processes > 1 ? " each" : "");
    if (group->error > 0)
        fprintf(stream, " (\u00b1 %s)", tg_quantity_bytes(group->error, error));
    if (group->path != 0)
        fprintf(stream, ", %s of it from %s", tg_quantity_bytes(group->path_bytes, least),
                tg_heap_path_place(names, tg_heap_call_paths_at(tg_heap_model_paths(heap), group->path),
                                   place, sizeof place));
}
