/* Deadlocks between processes: rings of ranks in which each waits for the next. */
#include "analyzer/finding/arrivals.h"
#include "analyzer/finding/polling.h"
#include "analyzer/finding/words.h"
#include "analyzer/verdict/finders.h"
#include "analyzer/verdict/messages.h"
#include "analyzer/verdict/partitions.h"
#include "format/base/printable.h"
#include "format/base/search.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RINGS = 8 }; /* findings at most */

/* A walk along waits, depth first. */
struct walk {
    struct tg_verdict_draft *draft;
    const struct tg_verdict_wait **path; /* the waits from the first process to where the walk is */
    size_t length;
    bool *is_done; /* by process: all that it waits for has been seen */
    bool *is_here; /* by process: on the path */
};

/* Of several that would do, those come first who wait for a message, or the like: who waits for all in a collective is there
 * because of the others. Of a halo exchange the receives come first: a small send is over without its receiver. */
static int compare_waits(const void *a, const void *b)
{
    const struct tg_verdict_wait *x = a, *y = b;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    if (x->to_is_in_collective != y->to_is_in_collective)
        return x->to_is_in_collective ? 1 : -1;
    if (x->sends != y->sends)
        return x->sends ? 1 : -1;
    return x->to < y->to ? -1 : x->to > y->to;
}

static void note_collectives(struct tg_verdict_draft *draft)
{
    bool *is_in = calloc(draft->n_processes + 1, sizeof *is_in);
    for (size_t i = 0; is_in != NULL && i < draft->n_waits; i++)
        is_in[draft->waits[i].from] |=
            draft->waits[i].is_for_all || draft->waits[i].thread->call.instance != 0;
    for (size_t i = 0; is_in != NULL && i < draft->n_waits; i++)
        draft->waits[i].to_is_in_collective = is_in[draft->waits[i].to];
    free(is_in);
}

/* The first wait of PROCESS; waits are sorted. */
static const struct tg_verdict_wait *first_of(const struct tg_verdict_draft *draft, size_t process)
{
    return &draft->waits[TG_LOWER_BOUND(draft->waits, draft->n_waits, from, process)];
}

static const struct tg_verdict_wait *next_of(const struct tg_verdict_draft *draft, size_t process,
                                             const struct tg_verdict_wait *wait)
{
    wait = wait == NULL ? first_of(draft, process) : wait + 1;
    return wait < draft->waits + draft->n_waits && wait->from == process ? wait : NULL;
}

/* Prints all that would do for WAIT, where these are several ranks. Whether it did. */
static bool print_choice(struct tg_verdict_draft *draft, const struct tg_verdict_wait *wait)
{
    int64_t *ranks = calloc(draft->n_waits + 1, sizeof *ranks);
    size_t n = 0;
    bool are_ranks = ranks != NULL;
    for (const struct tg_verdict_wait *other = next_of(draft, wait->from, NULL); are_ranks && other != NULL;
         other = next_of(draft, wait->from, other)) {
        if (!other->is_choice || other->thread != wait->thread)
            continue;
        ranks[n] = tg_process_model_at(draft->input->processes, other->to)->rank;
        are_ranks = ranks[n++] >= 0;
    }
    are_ranks &= n > 1;
    if (are_ranks) {
        fputs("any of ", draft->stream);
        tg_arrivals_print(draft->stream, ranks, n, false);
    }
    free(ranks);
    return are_ranks;
}

static void print_wait(struct tg_verdict_draft *draft, const struct tg_verdict_wait *wait)
{
    FILE *stream = draft->stream;
    tg_words_process(stream, draft->input, wait->from);
    fputs(" has been ", stream);
    tg_words_mpi_thread(stream, draft->input, wait->thread);
    fputs(", waiting for ", stream);
    if (wait->is_choice && print_choice(draft, wait))
        fputs(", which are all waiting,", stream);
    else
        tg_words_process(stream, draft->input, wait->to);
    fputs(wait->to_do != NULL                ? wait->to_do
          : wait->thread->call.instance != 0 ? " to enter it"
          : wait->sends                      ? " to receive"
                                             : " to send",
          stream);
}

/* ---- processes that cannot go on */

/* Whether THREAD of PROCESS would stay stuck if the processes that are marked as stuck did; NULL: any of its threads. */
static bool stays_thread_stuck(const struct tg_verdict_draft *draft, size_t process,
                               const struct tg_mpi_thread *thread)
{
    bool has_choice = false, is_free = false;
    for (const struct tg_verdict_wait *wait = next_of(draft, process, NULL); wait != NULL;
         wait = next_of(draft, process, wait)) {
        if (thread != NULL && wait->thread != thread)
            continue;
        bool is_hopeless =
            wait->is_firm && (draft->is_stuck[wait->to] || tg_verdict_is_gone(draft, wait->to));
        if (is_hopeless && !wait->is_choice)
            return true;
        has_choice |= wait->is_choice;
        is_free |= wait->is_choice && !is_hopeless;
    }
    return has_choice && !is_free;
}

/* The same of PROCESS. Of several threads that are in MPI, or wait there by polls, any may set others free. */
static bool stays_stuck(const struct tg_verdict_draft *draft, size_t process)
{
    if (draft->work[process] == TG_WORK_NONE)
        return stays_thread_stuck(draft, process, NULL);
    size_t n;
    const struct tg_mpi_thread *const *threads = tg_verdict_threads(draft, process, &n);
    for (size_t i = 0; i < n; i++)
        if (tg_polling_waits(draft->input, threads[i]) && !stays_thread_stuck(draft, process, threads[i]))
            return false;
    return true;
}

/* Whether WAIT can end by nothing but what the other process has not done. A wait that may end by itself counts where it
 * has lasted longer than that takes; one that polls may do other things in the end. Where another thread of the process is
 * at work, what it does may end the wait, but not one for a process that is gone. */
static bool is_firm(struct tg_verdict_draft *draft, const struct tg_verdict_wait *wait)
{
    uint64_t lasted_ns = tg_verdict_lasted(draft, wait->from, wait->to, wait->thread->call.since_ns);
    if (draft->work[wait->from] == TG_WORK_GOES_ON)
        return (wait->is_sure && tg_verdict_is_gone(draft, wait->to)) ||
               tg_verdict_pass_for_work(draft, wait->from, lasted_ns);
    if (wait->is_sure)
        return true;
    return wait->thread->in_call
               ? tg_stillness_is_closed(&draft->stillness, TG_WAIT_MPI, lasted_ns, wait->bytes)
               : tg_stillness_is_long(&draft->stillness, TG_WAIT_MPI, lasted_ns);
}

/* Every waiting process may be stuck; processes that are not set others free, until none does. */
static void mark_stuck(struct tg_verdict_draft *draft)
{
    for (size_t i = 0; i < draft->n_waits; i++) {
        struct tg_verdict_wait *wait = &draft->waits[i];
        wait->is_firm = is_firm(draft, wait);
        draft->is_stuck[wait->from] |= wait->is_firm;
    }
    for (bool has_changed = true; has_changed;) {
        has_changed = false;
        for (size_t i = 0; i < draft->n_processes; i++)
            if (draft->is_stuck[i] && !stays_stuck(draft, i)) {
                draft->is_stuck[i] = false;
                has_changed = true;
            }
    }
}

/* Marks processes that wait for one that is gone, or for one so marked. */
static void mark_let_down(struct tg_verdict_draft *draft)
{
    for (bool has_changed = true; has_changed;) {
        has_changed = false;
        for (size_t i = 0; i < draft->n_waits; i++) {
            const struct tg_verdict_wait *wait = &draft->waits[i];
            if (draft->is_let_down[wait->from] || !wait->is_firm ||
                (!draft->is_let_down[wait->to] && !tg_verdict_is_gone(draft, wait->to)))
                continue;
            draft->is_let_down[wait->from] = has_changed = true;
        }
    }
}

/* ---- rings */

/* Whether PROCESS would be set free by a message that was sent, but to another one or with another tag. */
static bool is_confused(const struct tg_verdict_draft *draft, size_t process)
{
    for (size_t i = 0; i < draft->n_halves; i++)
        if (draft->halves[i].thread->process == process && !draft->halves[i].is_choice &&
            tg_verdict_is_astray(draft, &draft->halves[i]))
            return true;
    return false;
}

/* Whether one of those that WAIT is content with would go on if it got a message that went astray. */
static bool has_confused_choice(const struct tg_verdict_draft *draft, const struct tg_verdict_wait *wait)
{
    for (const struct tg_verdict_wait *other = next_of(draft, wait->from, NULL); other != NULL;
         other = next_of(draft, wait->from, other))
        if (other->is_choice && is_confused(draft, other->to))
            return true;
    return false;
}

/* Whether the ring of N waits stands by itself. One of which a member would be content with another process, which
 * is gone or waits for one that is, or for a message that went astray, comes of that. */
static bool is_cause(const struct tg_verdict_draft *draft, const struct tg_verdict_wait *const *ring,
                     size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (ring[i]->is_choice && (draft->is_let_down[ring[i]->from] || has_confused_choice(draft, ring[i])))
            return false;
    return true;
}

/* Says which messages of the ring went astray, as they are what it comes of: the first in front, and between two once. Whether
 * there are any. */
static bool print_causes(struct tg_verdict_draft *draft, const struct tg_verdict_wait *const *ring, size_t n)
{
    size_t other = SIZE_MAX;
    bool has_any = false;
    for (size_t i = 0; i < n && i < TG_VERDICT_NAMED; i++) {
        if (ring[i]->from == other)
            continue;
        other = tg_verdict_print_astray(draft, has_any ? " But " : "", ring[i]->from);
        has_any |= other != SIZE_MAX;
    }
    return has_any;
}

/* Whether all N waits of RING are for others to enter one and the same call, on several communicators. */
static bool is_of_communicators(const struct tg_verdict_wait *const *ring, size_t n)
{
    const struct tg_mpi_call *first = &ring[0]->thread->call;
    bool has_several = false;
    for (size_t i = 0; i < n; i++) {
        const struct tg_mpi_call *call = &ring[i]->thread->call;
        if (!ring[i]->thread->in_call || call->instance == 0 || call->comm == 0 ||
            !tg_mpi_call_is_same(call->name, first->name))
            return false;
        has_several |= call->comm != first->comm;
    }
    return has_several;
}

/* The ranks, to be freed, that are in the call of WAIT on its communicator; NULL: no memory. */
static int64_t *find_together(const struct tg_verdict_draft *draft, const struct tg_verdict_wait *wait,
                              size_t *count)
{
    const struct tg_process_model *processes = draft->input->processes;
    const struct tg_mpi_call *call = &wait->thread->call;
    int64_t *ranks = calloc(draft->n_threads + 1, sizeof *ranks);
    *count = 0;
    for (size_t i = 0; ranks != NULL && i < draft->n_threads; i++) {
        const struct tg_mpi_thread *thread = draft->threads[i];
        if (thread->in_call && thread->call.comm == call->comm &&
            tg_mpi_call_is_same(thread->call.name, call->name) &&
            strcmp(tg_process_model_at(processes, thread->process)->job,
                   tg_process_model_at(processes, wait->from)->job) == 0)
            ranks[(*count)++] = tg_process_model_at(processes, thread->process)->rank;
    }
    return ranks;
}

/* Of two on different communicators, the one that is alone there where the other one is with others: 0 or 1, and these others,
 * COUNT ranks, to be freed; else 2, also where one of them has no rank. */
static size_t find_odd(const struct tg_verdict_draft *draft, const struct tg_verdict_wait *const *ring,
                       int64_t **others, size_t *count)
{
    int64_t *ranks[2];
    size_t counts[2];
    bool are_ranks = true;
    for (size_t i = 0; i < 2; i++) {
        ranks[i] = find_together(draft, ring[i], &counts[i]);
        for (size_t k = 0; k < counts[i]; k++)
            are_ranks &= ranks[i][k] >= 0;
    }
    size_t odd = !are_ranks                        ? 2
                 : counts[0] == 1 && counts[1] > 1 ? 0
                 : counts[1] == 1 && counts[0] > 1 ? 1
                                                   : 2;
    *others = odd < 2 ? ranks[1 - odd] : NULL;
    *count = odd < 2 ? counts[1 - odd] : 0;
    free(ranks[odd < 2 ? odd : 0]);
    if (odd == 2)
        free(ranks[1]);
    return odd;
}

/* " Only rank 1 is in it on communicator 0x7; ranks 0 and 2-3 are on MPI_COMM_WORLD.", of RING's first and second; the latter
 * one's are COUNT OTHERS. */
static void print_odd(struct tg_verdict_draft *draft, const struct tg_verdict_wait *const *ring,
                      int64_t *others, size_t count)
{
    FILE *stream = draft->stream;
    const char *job = tg_process_model_at(draft->input->processes, ring[0]->from)->job;
    fprintf(stream, " Only rank %" PRId64 " is in it on ",
            tg_process_model_at(draft->input->processes, ring[0]->from)->rank);
    tg_words_comm(stream, draft->input, job, ring[0]->thread->call.comm);
    fputs("; ", stream);
    tg_arrivals_print(stream, others, count, false);
    fputs(" are on ", stream);
    tg_words_comm(stream, draft->input, job, ring[1]->thread->call.comm);
    fputc('.', stream);
}

/* Of the messages that the N members of RING lack: those that are there on another communicator. */
static void print_elsewhere(struct tg_verdict_draft *draft, const struct tg_verdict_wait *const *ring,
                            size_t n)
{
    for (size_t i = 0; i < n && i < TG_VERDICT_NAMED; i++)
        for (size_t k = 0; k < draft->n_halves; k++)
            if (draft->halves[k].thread == ring[i]->thread)
                tg_verdict_print_elsewhere(draft, &draft->halves[k]);
}

/* RING: N waits, each by the process that the wait before is for. */
static struct tg_error *tell_ring(struct tg_verdict_draft *draft, const struct tg_verdict_wait *const *ring,
                                  size_t n)
{
    FILE *stream = draft->stream;
    bool is_mixed = is_of_communicators(ring, n);
    int64_t *others = NULL;
    size_t n_others = 0, odd = is_mixed && n == 2 ? find_odd(draft, ring, &others, &n_others) : 2;
    const struct tg_verdict_wait *const turned[] = {ring[n - 1], ring[0]};
    if (odd == 1) /* comes first */
        ring = turned;
    struct tg_finding finding = {.kind = TG_FINDING_DEADLOCK,
                                 .since_ns = 0,
                                 .process = ring[0]->from,
                                 .code = ring[0]->thread->call.code,
                                 .waiting = n};
    bool has_cause = print_causes(draft, ring, n);
    fputs(has_cause ? " So there is a " : "", stream);
    fputs(n > 2    ? "deadlock in a cycle of "
          : n == 1 ? "deadlock of one with itself, "
                   : "deadlock between ",
          stream);
    for (size_t i = 0; i < n; i++) {
        draft->ring_of[ring[i]->from] = draft->result->count;
        if (ring[i]->thread->call.since_ns > finding.since_ns)
            finding.since_ns = ring[i]->thread->call.since_ns; /* a deadlock since the last one waits */
        tg_verdict_blame(draft, ring[i]->from, ring[i]->thread->tid, ring[i]->thread->call.code);
        if (i >= TG_VERDICT_NAMED)
            continue;
        tg_verdict_separate(stream, i, n);
        tg_words_process(stream, draft->input, ring[i]->from);
    }
    tg_verdict_more(stream, n);
    for (size_t i = 0; i < n && i < TG_VERDICT_NAMED; i++) {
        fputs(i == 0 ? ": " : "; ", stream);
        print_wait(draft, ring[i]);
    }
    fputc('.', stream);
    if (is_mixed) {
        fputs(n == 2 ? " Both are in " : " All are in ", stream);
        tg_printable_write(stream, ring[0]->thread->call.name);
        fputs(", but on different communicators: one of them is the wrong one, or they are used in another "
              "order.",
              stream);
        if (odd < 2)
            print_odd(draft, ring, others, n_others);
    }
    free(others);
    print_elsewhere(draft, ring, n);
    for (size_t i = 0; i < n && i < TG_VERDICT_NAMED; i++)
        tg_verdict_print_partitions(draft, ring[i]->thread);
    return tg_verdict_add(draft, &finding);
}

/* Walks from PROCESS until a ring is closed or all is seen. *RING is where the ring begins on the path,
 * SIZE_MAX: there is none. */
static void follow(struct walk *walk, size_t process, size_t *ring)
{
    const struct tg_verdict_wait *wait = NULL;
    walk->length = 0;
    *ring = SIZE_MAX;
    for (walk->is_here[process] = true;;) {
        wait = next_of(walk->draft, process, wait);
        if (wait == NULL) {
            walk->is_here[process] = false;
            walk->is_done[process] = true;
            if (walk->length == 0)
                return;
            wait = walk->path[--walk->length];
            process = wait->from;
            continue;
        }
        if (walk->is_done[wait->to] || !wait->is_firm || !walk->draft->is_stuck[wait->to])
            continue;
        walk->path[walk->length++] = wait;
        if (walk->is_here[wait->to]) {
            for (*ring = walk->length; *ring > 0 && walk->path[*ring - 1]->from != wait->to; --*ring)
                ;
            --*ring;
            return;
        }
        process = wait->to;
        walk->is_here[process] = true;
        wait = NULL;
    }
}

/* Marks the path as done: a ring that shares a process with an earlier one is the same deadlock. */
static void leave_path(struct walk *walk)
{
    for (size_t i = 0; i < walk->length; i++) {
        walk->is_here[walk->path[i]->from] = walk->is_here[walk->path[i]->to] = false;
        walk->is_done[walk->path[i]->from] = walk->is_done[walk->path[i]->to] = true;
    }
}

struct tg_error *tg_verdict_find_rings(struct tg_verdict_draft *draft)
{
    struct walk walk = {.draft = draft,
                        .path = calloc(draft->n_processes + 1, sizeof *walk.path),
                        .is_done = calloc(draft->n_processes + 1, sizeof *walk.is_done),
                        .is_here = calloc(draft->n_processes + 1, sizeof *walk.is_here)};
    struct tg_error *error = NULL;
    if (walk.path == NULL || walk.is_done == NULL || walk.is_here == NULL)
        error = tg_error_no_memory();
    note_collectives(draft);
    if (draft->n_waits > 0)
        qsort(draft->waits, draft->n_waits, sizeof *draft->waits, compare_waits);
    mark_stuck(draft);
    mark_let_down(draft);
    for (size_t i = 0, told = 0; error == NULL && told < MAX_RINGS && i < draft->n_waits; i++) {
        size_t ring;
        if (walk.is_done[draft->waits[i].from] || !draft->is_stuck[draft->waits[i].from])
            continue;
        follow(&walk, draft->waits[i].from, &ring);
        if (ring == SIZE_MAX)
            continue;
        bool is_told = is_cause(draft, walk.path + ring, walk.length - ring);
        if (is_told)
            error = tell_ring(draft, walk.path + ring, walk.length - ring);
        leave_path(&walk);
        told += is_told;
    }
    free(walk.path);
    free(walk.is_done);
    free(walk.is_here);
    return error;
}
