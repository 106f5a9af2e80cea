#include "analyzer/where/circles.h"

#include "analyzer/models/mpi_name.h"
#include "analyzer/output/stack_words.h"
#include "analyzer/where/calls.h"
#include "analyzer/where/members.h"
#include "analyzer/where/messages.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_GROUPS = 256 };

/* Whether nobody comes back from the call of the group before all have made it, and none of its ranks did so, or could have. */
static bool is_stuck(const struct tg_where_threads *threads, const struct tg_where_group *group)
{
    bool needs_all = true;
    for (size_t i = 0; needs_all && i < group->count; i++) {
        const struct tg_where_thread *thread = &threads->threads[group->threads[i]];
        needs_all = thread->stayed && tg_where_counts(threads, group->threads[i]) &&
                    tg_where_knows_members(thread) && !group->is_by_request && tg_where_needs_all(thread) &&
                    (tg_where_is_brief(thread) || strcmp(group->call, "MPI_Finalize") == 0);
    }
    return needs_all;
}

/* A thread of TO, in a call of another communicator, that has to make the call of FROM; SIZE_MAX: there is none. */
static size_t find_lacking(const struct tg_where_threads *threads, const struct tg_where_group *from,
                           const struct tg_where_group *to)
{
    const struct tg_where_thread *first = &threads->threads[from->threads[0]];
    for (size_t i = 0; i < to->count; i++) {
        const struct tg_where_thread *thread = &threads->threads[to->threads[i]];
        if (tg_where_is_other_comm(first, thread) && tg_where_membership(first, thread) == TG_WHERE_IS_MEMBER)
            return to->threads[i];
    }
    return SIZE_MAX;
}

struct search {
    const struct tg_where_threads *threads;
    const struct tg_where_group *groups;
    size_t count;
    bool is_stuck[MAX_GROUPS], is_left[MAX_GROUPS];
    size_t path[MAX_GROUPS], n_path;
};

/* Leaves out, until nothing changes, which groups lack nobody of those that are left. */
static size_t leave_out(struct search *search)
{
    size_t n_left = 0;
    bool has_changed = true;
    for (size_t i = 0; i < search->count; i++)
        n_left += search->is_left[i] = search->is_stuck[i];
    while (has_changed) {
        has_changed = false;
        for (size_t i = 0; i < search->count; i++) {
            bool lacks = false;
            for (size_t k = 0; search->is_left[i] && !lacks && k < search->count; k++)
                lacks = search->is_left[k] && k != i &&
                        find_lacking(search->threads, &search->groups[i], &search->groups[k]) != SIZE_MAX;
            if (!search->is_left[i] || lacks)
                continue;
            search->is_left[i] = false;
            n_left--;
            has_changed = true;
        }
    }
    return n_left;
}

/* The circle that the way from the first group that is left leads into. */
static void find_circle(struct search *search)
{
    size_t seen[MAX_GROUPS], n = 0, at = 0, start = 0;
    while (!search->is_left[at])
        at++;
    for (;;) {
        for (start = 0; start < n && seen[start] != at; start++)
            continue;
        if (start < n)
            break;
        seen[n++] = at;
        size_t next = 0;
        while (!search->is_left[next] || next == at ||
               find_lacking(search->threads, &search->groups[at], &search->groups[next]) == SIZE_MAX)
            next++;
        at = next;
    }
    search->n_path = n - start;
    memcpy(search->path, seen + start, search->n_path * sizeof *seen);
}

static void write_circle(FILE *stream, const struct search *search)
{
    enum { SHOWN = 16 };
    char name[40], call[240], text[400];
    fputs(
        "Deadlock: these ranks wait for each other in collective calls of different communicators, and none "
        "came back from its call between the looks:\n",
        stream);
    for (size_t i = 0; i < search->n_path && i < SHOWN; i++) {
        const struct tg_where_group *groups = search->groups;
        size_t before = search->path[(i + search->n_path - 1) % search->n_path], at = search->path[i],
               next = search->path[(i + 1) % search->n_path];
        size_t thread = find_lacking(search->threads, &groups[before], &groups[at]),
               other = find_lacking(search->threads, &groups[at], &groups[next]);
        const struct tg_where_thread *waiting = &search->threads->threads[thread];
        fprintf(stream, "  %s ", tg_where_rank_words(search->threads, thread, name, sizeof name));
        fprintf(stream, "waits for %s: it is in %s",
                tg_where_rank_words(search->threads, other, name, sizeof name),
                tg_where_call_words(waiting, call, sizeof call));
        tg_where_write_comm(stream, waiting);
        if (waiting->path.place.is_known)
            fprintf(stream, ", called from %s",
                    tg_stack_words_call(&waiting->path.place.at, text, sizeof text));
        fputc('\n', stream);
    }
    if (search->n_path > SHOWN)
        fprintf(stream, "  ... and %zu more ranks, back to the first one\n", search->n_path - SHOWN);
}

bool tg_where_circle_write(FILE *stream, const struct tg_where_threads *threads,
                           const struct tg_where_group *groups, size_t count)
{
    struct search search = {.threads = threads, .groups = groups, .count = count};
    if (count < 2 || count > MAX_GROUPS)
        return false;
    for (size_t i = 0; i < count; i++)
        search.is_stuck[i] = groups[i].is_collective && is_stuck(threads, &groups[i]);
    if (leave_out(&search) < 2)
        return false;
    find_circle(&search);
    if (stream != NULL)
        write_circle(stream, &search);
    return true;
}
