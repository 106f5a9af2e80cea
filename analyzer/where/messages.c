#include "analyzer/where/messages.h"

#include "analyzer/models/mpi_name.h"
#include "analyzer/output/stack_words.h"
#include "analyzer/where/awaited.h"
#include "analyzer/where/calls.h"
#include "analyzer/where/edges.h"
#include "analyzer/where/members.h"
#include "analyzer/where/mpi_names.h"
#include "analyzer/where/partners.h"
#include "format/base/array.h"
#include "format/base/printable.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- waits of ranks for each other */

/* Whether INDEX is in a collective call that waits for the rank of OTHER, which is in a call of another kind. */
static bool waits_in_collective(const struct tg_where_threads *threads, size_t index, size_t other)
{
    const struct tg_where_thread *thread = &threads->threads[index], *of_other = &threads->threads[other];
    char call[80], other_call[80];
    if (!thread->is_rank || !thread->is_first || !tg_mpi_name(thread->path.place.inside, call, sizeof call) ||
        tg_where_membership(thread, of_other) != TG_WHERE_IS_MEMBER)
        return false;
    tg_mpi_name(of_other->path.place.inside, other_call, sizeof other_call);
    bool by_request = tg_where_waits_for_collective(thread);
    if (by_request ? tg_where_waits_for_collective(of_other)
                   : !tg_mpi_name_is_collective(call) || strcmp(call, other_call) == 0)
        return false;
    return (!by_request && tg_where_needs_all(thread)) || tg_where_is_only_lacking(threads, index, other);
}

/* Looks do not stop all ranks at once: two that send to each other all the time may seem to wait in each of them. Who was
 * counted did not; of others something of what their callers hold has changed, unless they are in a loop that leaves no
 * mark there. */
bool tg_where_counts(const struct tg_where_threads *threads, size_t index)
{
    const struct tg_where_thread *thread = &threads->threads[index];
    bool is_counted = thread->activity != NULL && thread->activity->is_counted;
    bool is_suspended = thread->activity != NULL && thread->activity->is_suspended;
    return threads->has_two_looks && !thread->has_moved && !is_suspended && !thread->moves_data &&
           (is_counted ? thread->stayed : thread->has_same_state) && tg_where_is_alone(threads, index);
}

/* ---- cycles */

static void write_step(FILE *stream, const struct tg_where_threads *threads, size_t index, size_t next)
{
    const struct tg_where_thread *thread = &threads->threads[index];
    char call[240], text[400], name[40];
    fprintf(stream, "  %s ", tg_where_rank_words(threads, index, name, sizeof name));
    if (next == index)
        fputs("is in ", stream);
    else
        fprintf(stream, "waits for %s: it is in ", tg_where_rank_words(threads, next, name, sizeof name));
    fputs(tg_where_call_words(thread, call, sizeof call), stream);
    tg_where_write_comm(stream, thread); /* whose ranks may be counted otherwise than the job's */
    if (thread->path.place.is_known)
        fprintf(stream, ", called from %s", tg_stack_words_call(&thread->path.place.at, text, sizeof text));
    tg_stack_words_callback(stream, &thread->path.place);
    fputc('\n', stream);
}

/* Of each thread the one that it waits for in a cycle, which may be itself, or on a way into one; SIZE_MAX none. Where that is in a collective call of all
 * ranks, which waits for the former, there is none behind it. */
struct chain {
    size_t *next;
};

/* Adds those for whom AT waits, and who are where they could not have helped. One of them who waits for AT in turn, in a collective
 * call, is the only one. */
static struct tg_error *add_edges(const struct tg_where_threads *threads, size_t at,
                                  struct tg_where_edges *edges, size_t *closing)
{
    struct tg_error *error = NULL;
    size_t partners[TG_WHERE_MAX_NEEDS],
        n = tg_where_counts(threads, at) ? tg_where_partners_of(threads, at, partners) : 0;
    bool is_small;
    for (size_t i = 0; error == NULL && i < n && *closing == SIZE_MAX; i++) {
        size_t to = partners[i];
        if (!tg_where_counts(threads, to) || !tg_where_is_without(threads, at, to, &is_small))
            continue;
        *closing = waits_in_collective(threads, to, at) ? to : SIZE_MAX;
        error = tg_where_edges_add(edges, at, to);
    }
    return error;
}

/* Counts in N_LEFT for how many each of N waits who wait for somebody themselves: until nothing changes, who waits for nobody that
 * is left is left out. EDGES are sorted. */
static struct tg_error *leave_out(const struct tg_where_edges *edges, const size_t *closing, size_t n,
                                  size_t *n_left)
{
    size_t *out = calloc(n + 1, sizeof *out), n_out = 0, count;
    if (out == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < edges->count; i++)
        n_left[edges->items[i].from]++;
    for (size_t i = 0; i < n; i++)
        if (n_left[i] == 0)
            out[n_out++] = i;
    for (size_t i = 0; i < n_out; i++) {
        const struct tg_where_edge *edge = tg_where_edges_to(edges, out[i], &count);
        for (size_t k = 0; k < count; k++)
            if (--n_left[edge[k].from] == 0 && closing[edge[k].from] == SIZE_MAX)
                out[n_out++] = edge[k].from;
    }
    free(out);
    return NULL;
}

/* Of those who are left, whom each waits for: who closes a cycle, or one of the others. */
static void choose_next(const struct tg_where_edges *edges, const size_t *closing, const size_t *n_left,
                        size_t *next)
{
    for (size_t i = 0; i < edges->count; i++) {
        const struct tg_where_edge *edge = &edges->items[i];
        if (closing[edge->from] != SIZE_MAX)
            next[edge->from] = closing[edge->from];
        else if (n_left[edge->to] > 0 || closing[edge->to] != SIZE_MAX)
            next[edge->from] = next[edge->from] < edge->to ? next[edge->from] : edge->to;
    }
}

static struct tg_error *make_chain(const struct tg_where_threads *threads, struct chain *chain)
{
    struct tg_where_edges edges = {0};
    size_t *closing = calloc(threads->count + 1, sizeof *closing),
           *n_left = calloc(threads->count + 1, sizeof *n_left);
    chain->next = calloc(threads->count + 1, sizeof *chain->next);
    struct tg_error *error =
        closing == NULL || n_left == NULL || chain->next == NULL ? tg_error_no_memory() : NULL;
    for (size_t i = 0; error == NULL && i < threads->count; i++)
        chain->next[i] = closing[i] = SIZE_MAX;
    for (size_t i = 0; error == NULL && i < threads->count; i++)
        error = add_edges(threads, i, &edges, &closing[i]);
    tg_where_edges_sort(&edges);
    if (error == NULL)
        error = leave_out(&edges, closing, threads->count, n_left);
    if (error == NULL)
        choose_next(&edges, closing, n_left, chain->next);
    free(edges.items);
    free(closing);
    free(n_left);
    return error;
}

/* A rank of the cycle that the way from START leads into; SIZE_MAX none. Each rank is passed once in all: SEEN has where
 * the way began that passed it. */
static size_t find_cycle(const struct tg_where_threads *threads, const struct chain *chain, size_t start,
                         size_t *seen)
{
    for (size_t at = start; at != SIZE_MAX; at = chain->next[at]) {
        if (seen[at] != 0)
            return seen[at] == start + 1 ? at : SIZE_MAX;
        seen[at] = start + 1;
        size_t next = chain->next[at];
        if (next != SIZE_MAX && waits_in_collective(threads, next, at))
            return at;
    }
    return SIZE_MAX;
}

/* The rank that the one at AT of the cycle from START waits for: in the collective call also for START. */
static size_t step(const struct chain *chain, size_t at, size_t start)
{
    size_t next = chain->next[at];
    return next == SIZE_MAX ? start : next;
}

static bool have_stayed(const struct tg_where_threads *threads, const struct chain *chain, size_t start)
{
    size_t at = start;
    bool stayed = true;
    do {
        stayed = threads->threads[at].stayed;
        at = step(chain, at, start);
    } while (stayed && at != start);
    return stayed;
}

/* A large message may be on its way for longer than from one look to the next, as others that are sent at the same time. */
static bool has_large(const struct tg_where_threads *threads, const struct chain *chain, size_t start)
{
    size_t at = start;
    bool is_large = false;
    do {
        bool is_small = true;
        if (chain->next[at] != SIZE_MAX)
            tg_where_is_without(threads, at, chain->next[at], &is_small);
        is_large |= !is_small;
        at = step(chain, at, start);
    } while (!is_large && at != start);
    return is_large;
}

static bool is_certain(const struct tg_where_threads *threads, const struct chain *chain, size_t start)
{
    return have_stayed(threads, chain, start) && !has_large(threads, chain, start);
}

static void write_cycle(FILE *stream, const struct tg_where_threads *threads, const struct chain *chain,
                        size_t start, bool certain)
{
    enum { SHOWN = 16 };
    size_t at = start, n = 0;
    char why[200], name[40];
    bool stayed = have_stayed(threads, chain, start);
    tg_where_rank_words(threads, start, name, sizeof name);
    if (!certain)
        name[0] = (char)toupper(name[0]);
    if (chain->next[start] == start)
        fprintf(stream, "%s%s waits for itself, and %s between the looks:\n", certain ? "Deadlock: " : "",
                name, stayed ? "did not come back from its call" : "nothing on its callers' stacks changed");
    else
        fprintf(stream, "%shese ranks wait for each other, and %s between the looks:\n",
                certain ? "Deadlock: t" : "T",
                stayed ? "none came back from its call" : "nothing on their callers' stacks changed");
    do {
        size_t next = step(chain, at, start);
        if (n++ < SHOWN)
            write_step(stream, threads, at, next);
        at = next;
    } while (at != start);
    if (n > SHOWN)
        fprintf(stream, "  ... and %zu more ranks, back to the first one\n", n - SHOWN);
    if (!certain && stayed)
        fputs("That is a deadlock, unless a large message is still on its way.\n", stream);
    else if (!certain)
        fprintf(stream,
                "That is a deadlock, unless they run a loop that leaves no mark on their stacks. Whether "
                "they came back "
                "from these calls meanwhile is unknown%s%s.\n",
                *threads->uncounted != '\0' ? ": " : "", tg_printable(threads->uncounted, why, sizeof why));
}

struct tg_error *tg_where_find_deadlocked(const struct tg_where_threads *threads, size_t **members,
                                          size_t *count)
{
    struct chain chain;
    struct tg_error *error = make_chain(threads, &chain);
    size_t *seen = calloc(threads->count + 1, sizeof *seen), capacity = 0;
    *members = NULL;
    *count = 0;
    if (seen == NULL && error == NULL)
        error = tg_error_no_memory();
    for (size_t i = 0; error == NULL && i < threads->count; i++) {
        size_t start = chain.next[i] != SIZE_MAX ? find_cycle(threads, &chain, i, seen) : SIZE_MAX,
               at = start;
        bool stayed = start != SIZE_MAX && have_stayed(threads, &chain, start);
        do {
            if (stayed)
                error = TG_ARRAY_APPEND(*members, *count, capacity, at);
            at = stayed ? step(&chain, at, start) : start;
        } while (error == NULL && at != start);
    }
    free(chain.next);
    free(seen);
    return error;
}

enum tg_where_cycle tg_where_message_cycles(FILE *stream, const struct tg_where_threads *threads)
{
    enum { SHOWN = 4 };
    enum tg_where_cycle best = TG_WHERE_NO_CYCLE;
    struct chain chain;
    struct tg_error *error = make_chain(threads, &chain);
    size_t *seen = calloc(threads->count + 1, sizeof *seen), found = 0;
    for (size_t i = 0; error == NULL && seen != NULL && i < threads->count && found < SHOWN; i++) {
        size_t start = chain.next[i] != SIZE_MAX ? find_cycle(threads, &chain, i, seen) : SIZE_MAX;
        if (start == SIZE_MAX)
            continue;
        bool certain = is_certain(threads, &chain, start);
        best = certain || best == TG_WHERE_CYCLE_CERTAIN ? TG_WHERE_CYCLE_CERTAIN : TG_WHERE_CYCLE_SEEN;
        found++;
        if (stream != NULL)
            write_cycle(stream, threads, &chain, start, certain);
    }
    free(chain.next);
    free(seen);
    tg_error_destroy(error);
    return best;
}
