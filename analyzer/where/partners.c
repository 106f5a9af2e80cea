#include "analyzer/where/partners.h"

#include "analyzer/models/mpi_name.h"
#include "analyzer/where/calls.h"
#include "analyzer/where/edges.h"
#include "analyzer/where/mpi_names.h"
#include "format/base/search.h"

#include <stdlib.h>
#include <string.h>

enum { ANY = -1 };

/* One message that a rank waits for, to be sent or received. */
struct need {
    bool sends, is_small;
    bool may_be_done; /* nobody has to wait for it */
    size_t partner;   /* first thread of the other rank, SIZE_MAX: any, or not known */
    int64_t tag;      /* -1: any, or not known */
};

struct needs {
    struct need items[TG_WHERE_MAX_NEEDS];
    size_t count;
    bool are_known; /* there are no others */
    bool is_choice; /* which of them are still needed is not known, or one is enough */
    bool one_is_enough;
};

/* The first thread of RANK of the job that THREAD is in; threads of ranks come first, by rank. */
static size_t find_rank(const struct tg_where_threads *threads, const struct tg_where_thread *thread,
                        int64_t rank)
{
    size_t i = TG_PARTITION_POINT(threads->count, k,
                                  threads->threads[k].is_rank && threads->threads[k].process->rank < rank);
    for (; i < threads->count && threads->threads[i].is_rank && threads->threads[i].process->rank == rank;
         i++)
        if (threads->threads[i].is_first &&
            strcmp(threads->threads[i].process->job, thread->process->job) == 0)
            return i;
    return SIZE_MAX;
}

/* ---- needs */

/* The message that the call of INDEX sends or receives, with the arguments of these names. */
static void add_of_call(const struct tg_where_threads *threads, size_t index, bool sends, const char *peer,
                        const char *tag, struct needs *needs)
{
    const struct tg_where_thread *thread = &threads->threads[index];
    int64_t value, of_job;
    struct need need = {.sends = sends, .partner = SIZE_MAX, .tag = ANY};
    if (tg_where_find_value(thread, tag, &value) && value >= 0)
        need.tag = value;
    if (tg_where_find_value(thread, peer, &value) && value >= 0 && tg_where_find_rank(thread, value, &of_job))
        need.partner = find_rank(threads, thread, of_job);
    need.is_small = tg_where_find_value(thread, "small", &value);
    needs->items[needs->count++] = need;
}

static void add_of_requests(const struct tg_where_threads *threads, const struct tg_where_thread *thread,
                            struct needs *needs)
{
    const struct tg_look_requests *requests = thread->requests;
    for (size_t i = 0; i < requests->n_messages; i++) {
        const struct tg_look_message *message = &requests->messages[i];
        needs->items[needs->count++] = (struct need){
            .sends = message->sends,
            .is_small = message->is_small,
            .partner = message->rank >= 0 ? find_rank(threads, thread, message->rank) : SIZE_MAX,
            .tag = message->tag >= 0 ? message->tag : ANY};
    }
    needs->are_known = requests->n_messages + requests->n_collective == requests->n_pending;
    needs->is_choice = needs->one_is_enough = !requests->needs_all && requests->n_pending > 1;
}

/* What the first thread INDEX of a rank waits for in its call of MPI, as far as this sends or receives, or waits for requests. */
static struct needs needs_of(const struct tg_where_threads *threads, size_t index)
{
    const struct tg_where_thread *thread = &threads->threads[index];
    struct needs needs = {.are_known = true};
    int64_t receives;
    char call[80];
    if (!thread->is_rank || !thread->is_first || !tg_mpi_name(thread->path.place.inside, call, sizeof call))
        return needs;
    if (tg_mpi_name_receives(call)) {
        add_of_call(threads, index, false, "source", "tag", &needs);
    } else if (tg_mpi_name_sends(call)) {
        add_of_call(threads, index, true, "dest", "tag", &needs);
    } else if (tg_mpi_name_exchanges(call)) {
        add_of_call(threads, index, false, "source", "recvtag", &needs);
        add_of_call(threads, index, true, "dest", "tag", &needs);
        if (tg_where_find_value(thread, "receives", &receives))
            needs.items[1].may_be_done = true;
        else
            needs.is_choice = true; /* one of them may have been done */
    } else if (thread->requests != NULL) {
        add_of_requests(threads, thread, &needs);
    } else {
        needs.are_known = !tg_mpi_name_completes(call);
    }
    return needs;
}

/* ---- partners */

static bool has(const size_t *partners, size_t count, size_t partner)
{
    for (size_t i = 0; i < count; i++)
        if (partners[i] == partner)
            return true;
    return false;
}

size_t tg_where_partners_of(const struct tg_where_threads *threads, size_t index, size_t *partners)
{
    const struct needs needs = needs_of(threads, index);
    size_t count = 0;
    bool are_all_known = needs.are_known;
    for (size_t i = 0; i < needs.count; i++) {
        if (needs.items[i].may_be_done)
            continue;
        are_all_known &= needs.items[i].partner != SIZE_MAX;
        if (needs.items[i].partner != SIZE_MAX && !has(partners, count, needs.items[i].partner))
            partners[count++] = needs.items[i].partner;
    }
    return needs.is_choice && (count != 1 || !are_all_known) ? 0 : count;
}

/* Whether what CALL needs, the call of THREAD's partner, may be NEED of THREAD from the other side. */
static bool may_match(const struct needs *call, const struct need *need, size_t thread)
{
    for (size_t i = 0; i < call->count; i++) {
        const struct need *other = &call->items[i];
        if (other->sends != need->sends && (other->partner == SIZE_MAX || other->partner == thread) &&
            (other->tag == ANY || need->tag == ANY || other->tag == need->tag))
            return true;
    }
    return !call->are_known;
}

bool tg_where_needs_only_itself(const struct tg_where_threads *threads, size_t index)
{
    const struct needs needs = needs_of(threads, index);
    bool waits = needs.count > 0 && needs.are_known;
    for (size_t i = 0; i < needs.count; i++)
        waits &= needs.items[i].partner == index || needs.items[i].may_be_done;
    return waits;
}

bool tg_where_is_without(const struct tg_where_threads *threads, size_t index, size_t partner, bool *is_small)
{
    const struct needs needs = needs_of(threads, index), others = needs_of(threads, partner);
    size_t n_matched = 0, n_without = 0;
    *is_small = false;
    for (size_t i = 0; i < needs.count; i++) {
        if (needs.items[i].partner != partner || needs.items[i].may_be_done)
            continue;
        bool matches = may_match(&others, &needs.items[i], index);
        n_matched += matches;
        n_without += !matches;
        *is_small |= !matches && needs.items[i].is_small;
    }
    return n_without > 0 && !(needs.one_is_enough && n_matched > 0);
}

/* ---- ways */

static struct tg_error *add_edges(const struct tg_where_threads *threads, size_t index, const bool *ends,
                                  struct tg_where_edges *edges)
{
    struct tg_error *error = NULL;
    size_t partners[TG_WHERE_MAX_NEEDS], n = tg_where_partners_of(threads, index, partners);
    bool is_small;
    for (size_t i = 0; error == NULL && i < n; i++)
        if (partners[i] != index &&
            (ends[partners[i]] || tg_where_is_without(threads, index, partners[i], &is_small)))
            error = tg_where_edges_add(edges, index, partners[i]);
    return error;
}

struct tg_error *tg_where_ways_find(const struct tg_where_threads *threads, const bool *ends, bool *is_on_way)
{
    struct tg_where_edges edges = {0};
    size_t *found = calloc(threads->count + 1, sizeof *found), n_found = 0;
    struct tg_error *error = found == NULL ? tg_error_no_memory() : NULL;
    for (size_t i = 0; error == NULL && i < threads->count; i++)
        error = add_edges(threads, i, ends, &edges);
    tg_where_edges_sort(&edges);
    for (size_t i = 0; error == NULL && i < threads->count; i++)
        if (ends[i])
            found[n_found++] = i;
    for (size_t i = 0; error == NULL && i < n_found; i++) {
        size_t count;
        const struct tg_where_edge *edge = tg_where_edges_to(&edges, found[i], &count);
        is_on_way[found[i]] |= count > 0;
        for (size_t k = 0; k < count; k++) {
            if (!is_on_way[edge[k].from] && !ends[edge[k].from])
                found[n_found++] = edge[k].from;
            is_on_way[edge[k].from] = true;
        }
    }
    free(found);
    free(edges.items);
    return error;
}
