#include "analyzer/where/awaited.h"

#include "analyzer/where/calls.h"
#include "analyzer/where/mpi_names.h"

#include <stdlib.h>
#include <string.h>

/* Whether the members of the communicator of the group's call are known by all who are in it. */
static bool knows_members(const struct tg_where_threads *threads, const struct tg_where_group *group)
{
    for (size_t i = 0; i < group->count; i++)
        if (!tg_where_knows_members(&threads->threads[group->threads[i]]))
            return false;
    return true;
}

static enum tg_where_membership membership(const struct tg_where_threads *threads,
                                           const struct tg_where_group *group, size_t index)
{
    return tg_where_membership(&threads->threads[group->threads[0]], &threads->threads[index]);
}

size_t tg_where_count_lacking(const struct tg_where_threads *threads, const struct tg_where_group *group,
                              const size_t *indices, size_t count)
{
    size_t n = 0;
    for (size_t i = 0; group->is_collective && i < count; i++)
        n += membership(threads, group, indices[i]) != TG_WHERE_IS_NO_MEMBER;
    return n;
}

/* Whether another thread of the rank whose first one is INDEX is in a collective call: it may be the one that is waited for. Threads of
 * a process are neighbours. */
static bool has_other_in_collective(const struct tg_where_threads *threads, size_t index)
{
    char call[64];
    for (size_t i = index + 1;
         i < threads->count && threads->threads[i].process == threads->threads[index].process; i++)
        if (tg_mpi_name_is_collective(tg_where_call_of(&threads->threads[i], call, sizeof call)))
            return true;
    return false;
}

/* Whether the ranks that GROUP lacks may have made the call already: nobody knows of which of several then. */
static bool may_have_left(const struct tg_where_group *group, size_t n_lacking)
{
    return n_lacking > 1 && tg_mpi_name_ends_early(group->call);
}

enum tg_where_awaited tg_where_awaited_of(const struct tg_where_threads *threads,
                                          const struct tg_where_group *groups, const size_t *n_lacking,
                                          size_t count, size_t index, bool is_on_way)
{
    enum tg_where_awaited awaited = TG_WHERE_NOT_AWAITED;
    bool has_collective = false, has_other = has_other_in_collective(threads, index);
    if (is_on_way)
        return TG_WHERE_AWAITED;
    for (size_t i = 0; i < count; i++) {
        if (!groups[i].is_collective)
            continue;
        has_collective = true;
        enum tg_where_membership is = membership(threads, &groups[i], index);
        enum tg_where_awaited by = TG_WHERE_NOT_AWAITED;
        if (!knows_members(threads, &groups[i]) || is == TG_WHERE_MAY_BE_MEMBER)
            by = TG_WHERE_MAY_BE_AWAITED;
        else if (is == TG_WHERE_IS_MEMBER)
            by = has_other || may_have_left(&groups[i], n_lacking[i]) ? TG_WHERE_MAY_HAVE_LEFT
                                                                      : TG_WHERE_AWAITED;
        awaited = by > awaited ? by : awaited;
    }
    return has_collective ? awaited : TG_WHERE_AWAITED;
}

bool tg_where_members_are_known(const struct tg_where_threads *threads, const struct tg_where_group *groups,
                                size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (groups[i].is_collective && !groups[i].is_away && !knows_members(threads, &groups[i]))
            return false;
    return true;
}

/* ---- chains */

enum { MAX_GROUPS = 128 };

/* Whether somebody of OTHER, who is not known to be in that very call, has to make the collective call that GROUP is in. */
static bool lacks(const struct tg_where_threads *threads, const struct tg_where_group *group,
                  const struct tg_where_group *other)
{
    const struct tg_where_thread *first = &threads->threads[group->threads[0]],
                                 *of_other = &threads->threads[other->threads[0]];
    if (other->is_collective && tg_where_have_same_members(first, of_other) &&
        !tg_where_is_other_comm(first, of_other))
        return false;
    for (size_t i = 0; i < other->count; i++)
        if (membership(threads, group, other->threads[i]) == TG_WHERE_IS_MEMBER)
            return true;
    return false;
}

/* What is known of the collective groups. */
struct chains {
    size_t groups[MAX_GROUPS], count;
    bool lacks[MAX_GROUPS][MAX_GROUPS]; /* the former lacks somebody of the latter */
    bool is_led[MAX_GROUPS];            /* lacks somebody who is away, or waits for a message */
    bool ends[MAX_GROUPS];
};

static bool find_end(struct chains *chains, size_t i)
{
    bool is_led = chains->is_led[i];
    for (size_t k = 0; k < chains->count; k++) {
        if (!chains->lacks[i][k])
            continue;
        if (!chains->ends[k])
            return false;
        is_led = true;
    }
    return is_led;
}

static bool do_all_end(struct chains *chains)
{
    bool has_changed = true, do_end = true;
    while (has_changed) {
        has_changed = false;
        for (size_t i = 0; i < chains->count; i++) {
            bool ends = !chains->ends[i] && find_end(chains, i);
            chains->ends[i] |= ends;
            has_changed |= ends;
        }
    }
    for (size_t i = 0; i < chains->count; i++)
        do_end &= chains->ends[i];
    return do_end;
}

struct tg_error *tg_where_chains_end(const struct tg_where_threads *threads,
                                     const struct tg_where_group *groups, size_t count, bool *do_end)
{
    struct chains *chains = calloc(1, sizeof *chains);
    if (chains == NULL)
        return tg_error_no_memory();
    *do_end = true;
    for (size_t i = 0; i < count; i++) {
        if (!groups[i].is_collective || groups[i].is_away)
            continue;
        *do_end = chains->count < MAX_GROUPS;
        if (!*do_end)
            break;
        chains->groups[chains->count++] = i;
    }
    for (size_t i = 0; *do_end && i < chains->count; i++) {
        const struct tg_where_group *group = &groups[chains->groups[i]];
        for (size_t k = 0; k < chains->count; k++)
            chains->lacks[i][k] = k != i && lacks(threads, group, &groups[chains->groups[k]]);
        for (size_t k = 0; k < count && !chains->is_led[i]; k++)
            chains->is_led[i] =
                (groups[k].is_away || !groups[k].is_collective) && lacks(threads, group, &groups[k]);
    }
    *do_end = *do_end && do_all_end(chains);
    free(chains);
    return NULL;
}
