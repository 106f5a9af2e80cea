#include "analyzer/where/mismatches.h"

#include "analyzer/where/awaited.h"
#include "analyzer/where/calls.h"
#include "analyzer/where/members.h"
#include "format/base/printable.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const struct tg_where_thread *first_of(const struct tg_where_threads *threads,
                                              const struct tg_where_group *group)
{
    return &threads->threads[group->threads[0]];
}

/* Whether GROUP is in a collective call of the communicator that OF, another one, is in a call of. Each rank of it knows the
 * members, so that one is enough. */
static bool is_of(const struct tg_where_threads *threads, const struct tg_where_group *of,
                  const struct tg_where_group *group)
{
    return group->is_collective && !group->is_away && !group->is_by_request &&
           tg_where_are_of_one_comm(first_of(threads, of), first_of(threads, group));
}

/* Whether all members of the communicator of the group at INDEX are in groups of it, at least two. */
static bool is_found(const struct tg_where_threads *threads, const struct tg_where_group *groups,
                     size_t count, size_t index)
{
    size_t n_groups = 0, n_ranks = 0;
    for (size_t i = 0; i < count; i++)
        if (is_of(threads, &groups[index], &groups[i])) {
            n_groups++;
            n_ranks += groups[i].count;
        }
    return n_groups > 1 && (int64_t)n_ranks == tg_where_count_members(first_of(threads, &groups[index]));
}

static int compare(const void *a, const void *b)
{
    const size_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* "Ranks 0-2 are in different collective calls of one communicator: they wait for each other for ever." */
static void write_found(FILE *stream, const struct tg_where_threads *threads,
                        const struct tg_where_group *groups, size_t count, size_t index)
{
    bool is_one_call = true, stayed = true;
    size_t *members = calloc(threads->count + 1, sizeof *members), n = 0;
    for (size_t i = 0; members != NULL && i < count; i++) {
        if (!is_of(threads, &groups[index], &groups[i]))
            continue;
        is_one_call &= strcmp(groups[i].call, groups[index].call) == 0;
        for (size_t k = 0; k < groups[i].count; k++) {
            const struct tg_where_thread *thread = &threads->threads[groups[i].threads[k]];
            stayed &= thread->stayed && tg_where_is_brief(thread);
            members[n++] = groups[i].threads[k];
        }
    }
    if (n > 0)
        qsort(members, n, sizeof *members, compare);
    char *text = tg_where_members_text(threads, members, n), name[80];
    bool is_world = tg_where_is_in_world(first_of(threads, &groups[index]));
    fprintf(stream, "R%s are in ", !is_world && text != NULL && *text == 'r' ? text + 1 : "anks");
    if (is_one_call)
        fputs(tg_printable(groups[index].call, name, sizeof name), stream);
    else
        fputs("different collective calls", stream);
    fprintf(stream, "%s%s%s they wait for each other for ever.\n",
            is_world && is_one_call ? ""
            : is_world              ? " of MPI_COMM_WORLD"
                                    : " of one communicator",
            is_one_call ? " with different roots" : "",
            stayed        ? ":"
            : is_one_call ? ". If nobody comes back from it,"
                          : ". If nobody comes back from them,");
    free(text);
    free(members);
}

bool tg_where_mismatch_write(FILE *stream, const struct tg_where_threads *threads,
                             const struct tg_where_group *groups, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!is_of(threads, &groups[i], &groups[i]) || !is_found(threads, groups, count, i))
            continue;
        if (stream != NULL)
            write_found(stream, threads, groups, count, i);
        return true;
    }
    return false;
}

/* The one rank that lacks the call of the group at INDEX, by its first thread; SIZE_MAX: there is none, or several, or it is
 * outside MPI. */
static size_t find_only_lacking(const struct tg_where_threads *threads, const struct tg_where_group *groups,
                                size_t count, size_t index)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; i != index && !groups[i].is_away && k < groups[i].count; k++)
            if (tg_where_membership(first_of(threads, &groups[index]),
                                    &threads->threads[groups[i].threads[k]]) == TG_WHERE_IS_MEMBER)
                return tg_where_is_only_lacking(threads, groups[index].threads[0], groups[i].threads[k])
                           ? groups[i].threads[k]
                           : SIZE_MAX;
    return SIZE_MAX;
}

static bool has_stayed(const struct tg_where_threads *threads, const struct tg_where_group *group)
{
    for (size_t i = 0; i < group->count; i++)
        if (!threads->threads[group->threads[i]].stayed)
            return false;
    return true;
}

bool tg_where_only_lacking_write(FILE *stream, const struct tg_where_threads *threads,
                                 const struct tg_where_group *groups, size_t count)
{
    char call[80], name[40];
    for (size_t i = 0; i < count; i++) {
        const struct tg_where_group *group = &groups[i];
        size_t lacking = group->is_collective && !group->is_away && has_stayed(threads, group)
                             ? find_only_lacking(threads, groups, count, i)
                             : SIZE_MAX;
        if (lacking == SIZE_MAX || !threads->threads[lacking].stayed)
            continue;
        if (group->count + 1 == threads->n_ranks && group->count > 1) {
            fputs("The others wait", stream);
        } else {
            char *text = tg_where_members_text(threads, group->threads, group->count);
            fprintf(stream, "R%s wait%s", text != NULL && *text == 'r' ? text + 1 : "anks",
                    group->count == 1 ? "s" : "");
            free(text);
        }
        fprintf(stream, " in %s for %s; whom that one waits for is not known.\n",
                tg_printable(group->call, call, sizeof call),
                tg_where_rank_words(threads, lacking, name, sizeof name));
        return true;
    }
    return false;
}
