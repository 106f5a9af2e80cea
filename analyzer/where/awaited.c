#include "analyzer/where/awaited.h"

#include "analyzer/where/calls.h"
#include "analyzer/where/edges.h"
#include "analyzer/where/mpi_names.h"
#include "analyzer/where/partners.h"

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

/* Whether threads A and B of two ranks are in one collective call, as far as is known. */
static bool are_together(const struct tg_where_thread *a, const struct tg_where_thread *b)
{
    char of_a[80], of_b[80];
    return strcmp(tg_where_call_of(a, of_a, sizeof of_a), tg_where_call_of(b, of_b, sizeof of_b)) == 0 &&
           tg_where_waits_for_collective(a) == tg_where_waits_for_collective(b) &&
           tg_where_knows_members(b) && !tg_where_calls_differ(a, b);
}

bool tg_where_is_only_lacking(const struct tg_where_threads *threads, size_t index, size_t other)
{
    const struct tg_where_thread *thread = &threads->threads[index];
    int64_t n_seen = 0;
    for (size_t i = 0; i < threads->count && threads->threads[i].is_rank; i++) {
        const struct tg_where_thread *member = &threads->threads[i];
        enum tg_where_membership is =
            member->is_first ? tg_where_membership(thread, member) : TG_WHERE_IS_NO_MEMBER;
        if (is == TG_WHERE_IS_NO_MEMBER)
            continue;
        if (is != TG_WHERE_IS_MEMBER || (i != other && !are_together(thread, member)))
            return false;
        n_seen++;
    }
    return n_seen > 0 && n_seen == tg_where_count_members(thread);
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
    return n_lacking > 1 && (group->is_by_request || tg_mpi_name_ends_early(group->call));
}

enum tg_where_awaited tg_where_awaited_of(const struct tg_where_threads *threads,
                                          const struct tg_where_group *groups, const size_t *n_lacking,
                                          size_t count, size_t index, bool is_on_way)
{
    enum tg_where_awaited awaited = TG_WHERE_NOT_AWAITED;
    bool has_collective = false, has_pending = false, has_other = has_other_in_collective(threads, index);
    if (is_on_way)
        return TG_WHERE_AWAITED;
    for (size_t i = 0; i < count; i++) {
        has_pending |= !groups[i].is_collective;
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
    return has_collective || has_pending ? awaited : TG_WHERE_AWAITED;
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

/* Waits for each other: of threads, by their indices, and of ranks that are in one collective call, by that of the group behind these. */
struct chains {
    const struct tg_where_threads *threads;
    const struct tg_where_group *groups;
    size_t count;
    size_t *node;  /* of each thread */
    size_t *left;  /* of each node: for how many ends it waits still; 0: it is one */
    size_t *ended; /* nodes */
    size_t n_ended;
    struct tg_where_edges edges;
};

static bool is_node(const struct tg_where_group *group)
{
    return group->is_collective && !group->is_away;
}

/* A group waits for all who lack its call, and for one at least. */
static struct tg_error *add_group(struct chains *chains, size_t index)
{
    const struct tg_where_group *group = &chains->groups[index];
    size_t node = chains->threads->count + index;
    struct tg_error *error = NULL;
    bool has_away = false;
    for (size_t i = 0; error == NULL && i < chains->count; i++) {
        const struct tg_where_group *other = &chains->groups[i];
        if (i == index)
            continue;
        if (is_node(other) && lacks(chains->threads, group, other)) {
            error = tg_where_edges_add(&chains->edges, node, chains->threads->count + i);
            chains->left[node]++;
        }
        for (size_t k = 0; error == NULL && !is_node(other) && k < other->count; k++) {
            if (membership(chains->threads, group, other->threads[k]) != TG_WHERE_IS_MEMBER)
                continue;
            has_away |= other->is_away;
            if (!other->is_away)
                error = tg_where_edges_add(&chains->edges, node, other->threads[k]);
            chains->left[node] += !other->is_away;
        }
    }
    if (chains->left[node] == 0 && !has_away)
        chains->left[node] = SIZE_MAX; /* for nobody who is known */
    return error;
}

/* A thread that waits for messages waits for one of their partners: any of them that leads to an end. */
static struct tg_error *add_pending(struct chains *chains, size_t thread, const bool *is_away)
{
    size_t partners[TG_WHERE_MAX_NEEDS], n = tg_where_partners_of(chains->threads, thread, partners);
    struct tg_error *error = NULL;
    bool is_small, has_away = false;
    for (size_t i = 0; error == NULL && i < n; i++) {
        bool is_end = is_away[partners[i]];
        has_away |= is_end;
        if (!is_end && partners[i] != thread && chains->node[partners[i]] != SIZE_MAX &&
            tg_where_is_alone(chains->threads, partners[i]) && /* whose other threads do not send it */
            tg_where_is_without(chains->threads, thread, partners[i], &is_small))
            error = tg_where_edges_add(&chains->edges, thread, chains->node[partners[i]]);
    }
    chains->left[thread] = !has_away;
    return error;
}

static struct tg_error *add_all(struct chains *chains, const bool *is_away)
{
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < chains->count; i++) {
        const struct tg_where_group *group = &chains->groups[i];
        if (is_node(group))
            error = add_group(chains, i);
        for (size_t k = 0; error == NULL && !is_node(group) && !group->is_away && k < group->count; k++)
            error = add_pending(chains, group->threads[k], is_away);
    }
    return error;
}

static void note_end(struct chains *chains, size_t node)
{
    chains->ended[chains->n_ended++] = node;
}

static void follow(struct chains *chains)
{
    size_t n_threads = chains->threads->count, count;
    for (size_t i = 0; i < chains->count; i++) {
        const struct tg_where_group *group = &chains->groups[i];
        if (is_node(group) && chains->left[n_threads + i] == 0)
            note_end(chains, n_threads + i);
        for (size_t k = 0; !is_node(group) && !group->is_away && k < group->count; k++)
            if (chains->left[group->threads[k]] == 0)
                note_end(chains, group->threads[k]);
    }
    for (size_t i = 0; i < chains->n_ended; i++) {
        const struct tg_where_edge *edge = tg_where_edges_to(&chains->edges, chains->ended[i], &count);
        for (size_t k = 0; k < count; k++)
            if (chains->left[edge[k].from] != 0 && --chains->left[edge[k].from] == 0)
                note_end(chains, edge[k].from);
    }
}

static bool do_all_end(const struct chains *chains)
{
    for (size_t i = 0; i < chains->count; i++) {
        const struct tg_where_group *group = &chains->groups[i];
        if (is_node(group) && chains->left[chains->threads->count + i] != 0)
            return false;
        for (size_t k = 0; !is_node(group) && !group->is_away && k < group->count; k++)
            if (chains->left[group->threads[k]] != 0)
                return false;
    }
    return true;
}

static struct tg_error *find_ends(struct chains *chains, bool *do_end)
{
    size_t n_nodes = chains->threads->count + chains->count;
    bool *is_away = calloc(chains->threads->count + 1, sizeof *is_away);
    chains->node = calloc(chains->threads->count + 1, sizeof *chains->node);
    chains->left = calloc(n_nodes + 1, sizeof *chains->left);
    chains->ended = calloc(n_nodes + 1, sizeof *chains->ended);
    struct tg_error *error =
        is_away == NULL || chains->node == NULL || chains->left == NULL || chains->ended == NULL
            ? tg_error_no_memory()
            : NULL;
    for (size_t i = 0; error == NULL && i < chains->threads->count; i++)
        chains->node[i] = SIZE_MAX;
    for (size_t i = 0; error == NULL && i < chains->count; i++)
        for (size_t k = 0; k < chains->groups[i].count; k++) {
            size_t thread = chains->groups[i].threads[k];
            is_away[thread] = chains->groups[i].is_away;
            chains->node[thread] = is_node(&chains->groups[i]) ? chains->threads->count + i : thread;
        }
    if (error == NULL)
        error = add_all(chains, is_away);
    tg_where_edges_sort(&chains->edges);
    if (error == NULL)
        follow(chains);
    *do_end = error == NULL && do_all_end(chains);
    free(is_away);
    return error;
}

struct tg_error *tg_where_chains_end(const struct tg_where_threads *threads,
                                     const struct tg_where_group *groups, size_t count, bool *do_end)
{
    struct chains chains = {.threads = threads, .groups = groups, .count = count};
    size_t n_nodes = 0;
    for (size_t i = 0; i < count; i++)
        n_nodes += is_node(&groups[i]);
    *do_end = false;
    if (n_nodes > MAX_GROUPS)
        return NULL;
    struct tg_error *error = find_ends(&chains, do_end);
    free(chains.node);
    free(chains.left);
    free(chains.ended);
    free(chains.edges.items);
    return error;
}
