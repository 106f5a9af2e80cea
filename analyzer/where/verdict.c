#include "analyzer/where/verdict.h"

#include "analyzer/where/awaited.h"
#include "analyzer/where/calls.h"
#include "analyzer/where/circles.h"
#include "analyzer/where/crashes.h"
#include "analyzer/where/messages.h"
#include "analyzer/where/mismatches.h"
#include "analyzer/where/mpi_names.h"
#include "analyzer/where/partners.h"
#include "analyzer/where/waits.h"
#include "analyzer/where/worlds.h"
#include "format/base/array.h"

#include <stdlib.h>
#include <string.h>

/* ---- groups */

static bool belongs(const struct tg_where_threads *threads, const struct tg_where_group *group,
                    const char *call, const struct tg_where_thread *thread, enum tg_where_awaited awaited)
{
    if (strcmp(group->call, call) != 0 || (group->is_away && group->awaited != awaited) ||
        group->is_by_request != tg_where_waits_for_collective(thread))
        return false;
    if (group->is_collective)
        return !tg_where_calls_differ(&threads->threads[group->threads[0]], thread);
    return *call != '\0' || tg_stack_place_is_same(group->place, &thread->path.place);
}

/* Whether the first thread INDEX of a rank waits outside of MPI for another thread that is at work: for its team, for who has its
 * mutex, or for nobody who is known. */
static bool is_worked_for(const struct tg_where_threads *threads, size_t index)
{
    const struct tg_where_thread *first = &threads->threads[index];
    char call[64];
    if (*tg_where_call_of(first, call, sizeof call) != '\0')
        return false;
    if (first->owner != SIZE_MAX)
        return threads->threads[first->owner].has_moved;
    bool is_team = tg_where_waits_in_openmp(first);
    for (size_t i = 0; i < threads->count; i++) {
        const struct tg_where_thread *thread = &threads->threads[i];
        if (thread->process == first->process && i != index && thread->path.task == TG_THREAD_OF_PROGRAM &&
            !tg_where_waits_in_openmp(thread) && *tg_where_call_of(thread, call, sizeof call) == '\0' &&
            (is_team ? thread->has_moved : thread->computes))
            return true;
    }
    return false;
}

static void add_state(const struct tg_where_threads *threads, size_t index, struct tg_where_group *group)
{
    const struct tg_where_thread *thread = &threads->threads[index];
    group->has_moved |= thread->has_moved;
    group->has_returned |= thread->has_returned;
    group->is_worked_for |= is_worked_for(threads, index);
    if (*group->polls == '\0')
        group->polls = thread->polled;
}

static bool is_away(const struct tg_where_thread *thread)
{
    char call[64];
    tg_where_call_of(thread, call, sizeof call);
    return *call == '\0' || tg_mpi_name_asks(call);
}

static struct tg_error *add(struct tg_where_verdict *verdict, const struct tg_where_threads *threads,
                            size_t index, enum tg_where_awaited awaited)
{
    const struct tg_where_thread *thread = &threads->threads[index];
    char call[64];
    size_t i = 0;
    tg_where_call_of(thread, call, sizeof call);
    while (i < verdict->count && !belongs(threads, &verdict->groups[i], call, thread, awaited))
        i++;
    if (i == verdict->count) {
        struct tg_where_group group = {.call = strdup(call),
                                       .place = &thread->path.place,
                                       .is_collective = tg_mpi_name_is_collective(call) ||
                                                        tg_where_waits_for_collective(thread),
                                       .is_by_request = tg_where_waits_for_collective(thread),
                                       .is_away = is_away(thread),
                                       .awaited = awaited,
                                       .polls = ""};
        if (group.call == NULL ||
            TG_ARRAY_APPEND(verdict->groups, verdict->count, verdict->capacity, group) != NULL) {
            free((char *)group.call);
            return tg_error_no_memory();
        }
    }
    struct tg_where_group *group = &verdict->groups[i];
    add_state(threads, index, group);
    return TG_ARRAY_APPEND(group->threads, group->count, group->capacity, index);
}

/* Waiting ranks come first: by them it is known which of the others somebody waits for. */
static struct tg_error *add_all(struct tg_where_verdict *verdict, const struct tg_where_threads *threads,
                                const bool *is_on_way)
{
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < threads->count; i++)
        if (threads->threads[i].is_rank && threads->threads[i].is_first && !is_away(&threads->threads[i]))
            error = add(verdict, threads, i, TG_WHERE_NOT_AWAITED);
    size_t n_waiting = verdict->count, *n_lacking = calloc(n_waiting + 1, sizeof *n_lacking),
           *away = calloc(threads->count + 1, sizeof *away), n_away = 0;
    if (error == NULL && (n_lacking == NULL || away == NULL))
        error = tg_error_no_memory();
    for (size_t i = 0; error == NULL && i < threads->count; i++)
        if (threads->threads[i].is_rank && threads->threads[i].is_first && is_away(&threads->threads[i]))
            away[n_away++] = i;
    for (size_t i = 0; error == NULL && i < n_waiting; i++)
        n_lacking[i] = tg_where_count_lacking(threads, &verdict->groups[i], away, n_away);
    for (size_t i = 0; error == NULL && i < n_away; i++)
        error = add(
            verdict, threads, away[i],
            tg_where_awaited_of(threads, verdict->groups, n_lacking, n_waiting, away[i], is_on_way[away[i]]));
    free(n_lacking);
    free(away);
    return error;
}

static int compare(const void *a, const void *b)
{
    const struct tg_where_group *x = a, *y = b;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return (x->threads[0] > y->threads[0]) - (x->threads[0] < y->threads[0]);
}

/* Whether every rank has to make the call that THREAD is in. */
static bool waits_for_all(const struct tg_where_thread *thread, const char *call)
{
    return strncmp(call, "MPI_Init", strlen("MPI_Init")) == 0 || strcmp(call, "MPI_Finalize") == 0 ||
           tg_where_is_in_world(thread);
}

bool tg_where_group_is_of_all(const struct tg_where_threads *threads, const struct tg_where_group *group)
{
    for (size_t i = 0; i < group->count; i++)
        if (!waits_for_all(&threads->threads[group->threads[i]], group->call))
            return false;
    return true;
}

bool tg_where_group_is_of_other(const struct tg_where_threads *threads, const struct tg_where_group *group)
{
    bool is_other = group->is_collective;
    for (size_t i = 0; is_other && i < group->count; i++)
        is_other = tg_where_is_in_other(&threads->threads[group->threads[i]]);
    return is_other;
}

bool tg_where_verdict_has_different_comms(const struct tg_where_threads *threads,
                                          const struct tg_where_verdict *verdict)
{
    const struct tg_where_thread *first = NULL;
    bool has_other = false, has_world = false, differ = false;
    for (size_t i = 0; i < verdict->count; i++) {
        const struct tg_where_group *group = &verdict->groups[i];
        if (!group->is_collective)
            continue;
        first = first == NULL ? &threads->threads[group->threads[0]] : first;
        differ |= tg_where_is_other_comm(first, &threads->threads[group->threads[0]]);
        has_other |= tg_where_group_is_of_other(threads, group);
        has_world |= tg_where_group_is_of_all(threads, group);
    }
    return differ || (has_other && has_world);
}

/* Whether a rank came back from a call that waits. */
static bool has_returned(const struct tg_where_threads *threads)
{
    for (size_t i = 0; i < threads->count; i++)
        if (threads->threads[i].is_rank && threads->threads[i].has_returned)
            return true;
    return false;
}

/* Of each thread whether a rank waits for its messages, or for those of one who does, and so on; of one that is on such a way
 * to ranks that are away likewise. Only error: NO_MEMORY. */
static struct tg_error *find_ways(const struct tg_where_threads *threads, bool *is_on_way)
{
    bool *ends = calloc(threads->count + 1, sizeof *ends);
    if (ends == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < threads->count; i++)
        ends[i] =
            threads->threads[i].is_rank && threads->threads[i].is_first && is_away(&threads->threads[i]);
    struct tg_error *error = tg_where_ways_find(threads, ends, is_on_way);
    free(ends);
    return error;
}

/* What the groups are in, those left out that are away and not waited for. */
struct tally {
    size_t collective, away, pending;
    bool are_sure;     /* each that is away is waited for */
    bool has_requests; /* of collective calls */
    bool moves, polls, stays;
};

static struct tally count_groups(const struct tg_where_verdict *verdict)
{
    struct tally tally = {.are_sure = true};
    for (size_t i = 0; i < verdict->count; i++) {
        const struct tg_where_group *group = &verdict->groups[i];
        bool polls = *group->polls != '\0', moves = group->has_moved || group->is_worked_for;
        if (group->is_away && group->awaited == TG_WHERE_NOT_AWAITED)
            continue;
        tally.away += group->is_away;
        tally.has_requests |= group->is_by_request;
        tally.are_sure &= !group->is_away || group->awaited == TG_WHERE_AWAITED;
        tally.polls |= group->is_away && polls;
        tally.moves |= group->is_away && !polls && moves;
        tally.stays |= group->is_away && !polls && !moves;
        tally.collective += !group->is_away && group->is_collective;
        tally.pending += !group->is_away && !group->is_collective;
    }
    return tally;
}

static enum tg_where_kind judge(const struct tg_where_threads *threads,
                                const struct tg_where_verdict *verdict)
{
    const struct tally tally = count_groups(verdict);
    bool are_known = tg_where_members_are_known(threads, verdict->groups, verdict->count), do_end = false;
    if (verdict->count == 0)
        return TG_WHERE_UNKNOWN;
    if (has_returned(threads))
        return TG_WHERE_RUNS;
    if (tally.collective + tally.pending == 0)
        return tally.polls ? TG_WHERE_POLLS : TG_WHERE_BUSY;
    tg_error_destroy(tg_where_chains_end(threads, verdict->groups, verdict->count, &do_end));
    if (tally.away > 0 && (are_known ? do_end : tally.pending == 0))
        return !are_known || !tally.are_sure ? TG_WHERE_OUTSIDE
               : tally.moves                 ? TG_WHERE_MOVES
               : tally.polls && !tally.stays ? TG_WHERE_POLLS
                                             : TG_WHERE_MISSING;
    if (tally.away == 0 && tg_where_worlds_are_unseen(threads, verdict->groups, verdict->count))
        return TG_WHERE_UNSEEN;
    if (tg_where_mismatch_write(NULL, threads, verdict->groups, verdict->count))
        return TG_WHERE_DIFFERENT;
    if (tally.collective > 1 && !tally.has_requests && tally.away == 0 && tally.pending == 0 &&
        !tg_where_verdict_has_different_comms(threads, verdict))
        return TG_WHERE_DIFFERENT;
    return TG_WHERE_UNKNOWN;
}

static bool has_suspended(const struct tg_where_threads *threads)
{
    for (size_t i = 0; i < threads->count; i++)
        if (tg_where_is_suspended(&threads->threads[i]))
            return true;
    return false;
}

struct tg_error *tg_where_verdict_make(const struct tg_where_threads *threads,
                                       struct tg_where_verdict *verdict)
{
    bool *is_on_way = calloc(threads->count + 1, sizeof *is_on_way);
    struct tg_error *error = is_on_way == NULL ? tg_error_no_memory() : find_ways(threads, is_on_way);
    *verdict = (struct tg_where_verdict){0};
    if (error == NULL)
        error = add_all(verdict, threads, is_on_way);
    if (verdict->count > 0)
        qsort(verdict->groups, verdict->count, sizeof *verdict->groups, compare);
    if (error == NULL)
        verdict->kind = tg_where_has_crashes(threads) ? TG_WHERE_CRASHED : judge(threads, verdict);
    free(is_on_way);
    if (error != NULL)
        return error;
    if (verdict->kind == TG_WHERE_CRASHED)
        return error;
    if (verdict->kind == TG_WHERE_MISSING || verdict->kind == TG_WHERE_MOVES)
        return error;
    enum tg_where_cycle cycle = tg_where_message_cycles(NULL, threads);
    if (tg_where_waits_are_deadlock(threads) || cycle == TG_WHERE_CYCLE_CERTAIN ||
        (cycle == TG_WHERE_NO_CYCLE && tg_where_circle_write(NULL, threads, verdict->groups, verdict->count)))
        verdict->kind = TG_WHERE_DEADLOCK;
    else if (cycle == TG_WHERE_CYCLE_SEEN)
        verdict->kind = TG_WHERE_CYCLE;
    else if (verdict->kind == TG_WHERE_UNKNOWN && has_suspended(threads))
        verdict->kind = TG_WHERE_SUSPENDED;
    return error;
}

void tg_where_verdict_deinit(struct tg_where_verdict *verdict)
{
    for (size_t i = 0; i < verdict->count; i++) {
        free((char *)verdict->groups[i].call);
        free(verdict->groups[i].threads);
    }
    free(verdict->groups);
    *verdict = (struct tg_where_verdict){0};
}

const char *tg_where_kind_name(enum tg_where_kind kind)
{
    static const char *const names[] = {
        [TG_WHERE_UNKNOWN] = "unknown", [TG_WHERE_MISSING] = "missing", [TG_WHERE_DIFFERENT] = "different",
        [TG_WHERE_BUSY] = "busy",       [TG_WHERE_MOVES] = "moves",     [TG_WHERE_DEADLOCK] = "deadlock",
        [TG_WHERE_CYCLE] = "cycle",     [TG_WHERE_RUNS] = "runs",       [TG_WHERE_SUSPENDED] = "suspended",
        [TG_WHERE_CRASHED] = "crashed", [TG_WHERE_OUTSIDE] = "outside", [TG_WHERE_POLLS] = "polls",
        [TG_WHERE_UNSEEN] = "unseen",
    };
    return names[kind];
}
