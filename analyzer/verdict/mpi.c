/* Ranks that wait for others: collectives that not all have come to, or in which they disagree, and messages
 * without their other half. */
#include "analyzer/output/rank_ranges.h"
#include "analyzer/verdict/finders.h"
#include "analyzer/verdict/words.h"
#include "format/base/array.h"
#include "format/base/printable.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static size_t count_standing(const struct tg_mpi_arrival *arrivals, size_t n, enum tg_mpi_standing standing)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += arrivals[i].standing == standing;
    return count;
}

static int64_t rank_of(const struct tg_mpi_arrival *arrival)
{
    return arrival->world_rank >= 0 ? arrival->world_rank : arrival->comm_rank;
}

/* "0-2,5,7" as in a sentence: "0-2, 5 and 7". */
static void print_list(FILE *stream, const char *list)
{
    const char *last = strrchr(list, ',');
    for (const char *at = list; *at != '\0'; at++) {
        if (*at == ',')
            fputs(at == last ? " and " : ", ", stream);
        else
            fputc(*at, stream);
    }
}

/* Prints the ranks of the arrivals that are wanted: "rank 3", "ranks 0-2 and 7"; "Ranks" where IS_FIRST in
 * a sentence. Only error: NO_MEMORY. */
static struct tg_error *print_ranks(FILE *stream, const struct tg_mpi_arrival *arrivals, size_t n,
                                    bool (*is_wanted)(const struct tg_mpi_arrival *arrival, const void *like),
                                    const void *like, bool is_first)
{
    char text[256];
    int64_t *ranks = calloc(n + 1, sizeof *ranks);
    size_t count = 0;
    if (ranks == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < n; i++)
        if (is_wanted(&arrivals[i], like))
            ranks[count++] = rank_of(&arrivals[i]);
    count = tg_rank_ranges_sort(ranks, count);
    fputs(is_first ? "Rank" : "rank", stream);
    fputs(count == 1 ? " " : "s ", stream);
    print_list(stream, tg_rank_ranges_print(ranks, count, text, sizeof text));
    free(ranks);
    return NULL;
}

static bool stands(const struct tg_mpi_arrival *arrival, const void *standing)
{
    return arrival->standing == *(const enum tg_mpi_standing *)standing;
}

/* ---- collectives */

static bool is_of_interest(const struct tg_mpi_collective *collective, const struct tg_mpi_arrival *arrivals,
                           size_t n)
{
    return count_standing(arrivals, n, TG_MPI_WAITING) > 0 &&
           (collective->differs || count_standing(arrivals, n, TG_MPI_MISSING) > 0);
}

static void print_collective(FILE *stream, const struct tg_mpi_collective *collective)
{
    fprintf(stream, "number %" PRIu64 " on %s", collective->instance,
            collective->comm == 1 ? "MPI_COMM_WORLD" : "its communicator");
}

/* The finding that says why PROCESS does not go on, SIZE_MAX: none, or not that alone. */
static size_t told_in(const struct tg_verdict_draft *draft, size_t process)
{
    if (process >= draft->n_processes)
        return SIZE_MAX;
    if (draft->ring_of[process] != SIZE_MAX)
        return draft->ring_of[process];
    return tg_verdict_waits(draft, process) ? SIZE_MAX : draft->explained_by[process];
}

/* The one finding that says it of all ranks that are missing; SIZE_MAX: no single one does. */
static size_t told_of_all(const struct tg_verdict_draft *draft, const struct tg_mpi_arrival *arrivals,
                          size_t n)
{
    size_t told = SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        if (arrivals[i].standing != TG_MPI_MISSING)
            continue;
        size_t of_this = told_in(draft, arrivals[i].process);
        if (of_this == SIZE_MAX || (told != SIZE_MAX && told != of_this))
            return SIZE_MAX;
        told = of_this;
    }
    return told;
}

/* Describes the first ranks that are missing; ARE_NAMED: says of each that it is missing, which was not
 * said yet. */
static void print_missing(struct tg_verdict_draft *draft, const struct tg_mpi_arrival *arrivals, size_t n,
                          bool are_named)
{
    FILE *stream = draft->stream;
    for (size_t i = 0, told = 0; i < n && told < TG_VERDICT_DETAILED; i++) {
        if (arrivals[i].standing != TG_MPI_MISSING)
            continue;
        told++;
        fprintf(stream, " Rank %" PRId64 "%s", rank_of(&arrivals[i]), are_named ? " is missing" : "");
        if (arrivals[i].process == SIZE_MAX) {
            fputs(are_named ? " and not in the trace." : " is not in the trace.", stream);
            continue;
        }
        size_t above = told_in(draft, arrivals[i].process);
        if (above != SIZE_MAX) {
            tg_verdict_refer(draft, are_named ? " (see " : ": see ", above, are_named ? ")" : "");
        } else {
            fputs(": ", stream);
            tg_words_process_state(stream, draft->input, arrivals[i].process);
        }
        fputc('.', stream);
    }
}

/* At the place of its last call of MPI. */
static void blame_missing(struct tg_verdict_draft *draft, const struct tg_mpi_arrival *arrival)
{
    const struct tg_verdict_input *input = draft->input;
    const struct tg_mpi_thread *last = NULL;
    for (size_t i = 0; i < tg_mpi_model_thread_count(input->mpi); i++) {
        const struct tg_mpi_thread *thread = tg_mpi_model_thread_at(input->mpi, i);
        if (thread->process == arrival->process &&
            (last == NULL || thread->call.since_ns > last->call.since_ns))
            last = thread;
    }
    if (arrival->process == SIZE_MAX)
        tg_verdict_blame_rank(draft, rank_of(arrival));
    else
        tg_verdict_blame(draft, arrival->process, last == NULL ? 0 : last->tid,
                         last == NULL ? 0 : last->call.code);
}

static struct tg_error *tell_collective(struct tg_verdict_draft *draft,
                                        const struct tg_mpi_collective *collective,
                                        const struct tg_mpi_arrival *arrivals, size_t n)
{
    static const enum tg_mpi_standing is_waiting = TG_MPI_WAITING, is_missing = TG_MPI_MISSING;
    FILE *stream = draft->stream;
    struct tg_finding finding = {.kind = TG_FINDING_COLLECTIVE,
                                 .since_ns = collective->first_ns,
                                 .process = SIZE_MAX,
                                 .waiting = count_standing(arrivals, n, TG_MPI_WAITING),
                                 .missing = count_standing(arrivals, n, TG_MPI_MISSING)};
    const struct tg_mpi_arrival *first = NULL;
    for (size_t i = 0; i < n; i++) {
        if (first == NULL && arrivals[i].standing == TG_MPI_WAITING)
            first = &arrivals[i];
        if (arrivals[i].standing == TG_MPI_MISSING)
            blame_missing(draft, &arrivals[i]);
        if (finding.process == SIZE_MAX && arrivals[i].standing == TG_MPI_MISSING)
            finding.process = arrivals[i].process;
        finding.is_consequence |=
            arrivals[i].standing == TG_MPI_MISSING && (tg_verdict_waits(draft, arrivals[i].process) ||
                                                       tg_verdict_is_explained(draft, arrivals[i].process));
    }
    finding.code = first->code;
    struct tg_error *error = print_ranks(stream, arrivals, n, stands, &is_waiting, true);
    if (error != NULL)
        return error;
    fputs(finding.waiting == 1 ? " has been waiting in " : " have been waiting in ", stream);
    tg_printable_write(stream, collective->name);
    fputs(" (", stream);
    print_collective(stream, collective);
    fputc(')', stream);
    if (first->process != SIZE_MAX)
        tg_words_code(stream, draft->input, first->process, first->code);
    tg_words_since(stream, draft->input, collective->first_ns);
    fputs(finding.waiting == 1 ? "." : " (first arrival).", stream);
    size_t told = told_of_all(draft, arrivals, n);
    if (finding.missing > TG_VERDICT_DETAILED) {
        fputc(' ', stream);
        error = print_ranks(stream, arrivals, n, stands, &is_missing, true);
        fputs(" are missing", stream);
        if (told != SIZE_MAX)
            tg_verdict_refer(draft, " (see ", told, ")");
        fputc('.', stream);
    }
    if (finding.missing <= TG_VERDICT_DETAILED || told == SIZE_MAX)
        print_missing(draft, arrivals, n, finding.missing <= TG_VERDICT_DETAILED);
    return error != NULL ? error : tg_verdict_add(draft, &finding);
}

/* ---- mismatches */

static bool has_come(const struct tg_mpi_arrival *arrival)
{
    return arrival->name != NULL;
}

static bool calls_like(const struct tg_mpi_arrival *arrival, const void *like)
{
    const struct tg_mpi_arrival *other = like;
    return has_come(arrival) && has_come(other) && strcmp(arrival->name, other->name) == 0 &&
           (arrival->root == other->root || arrival->root < 0 || other->root < 0);
}

/* Whether arrival I is the first of those that call what it calls. */
static bool is_first_call(const struct tg_mpi_arrival *arrivals, size_t i)
{
    for (size_t before = 0; before < i; before++)
        if (calls_like(&arrivals[before], &arrivals[i]))
            return false;
    return has_come(&arrivals[i]);
}

static struct tg_error *tell_mismatch(struct tg_verdict_draft *draft,
                                      const struct tg_mpi_collective *collective,
                                      const struct tg_mpi_arrival *arrivals, size_t n)
{
    enum { MAX_CALLS = 4 };
    FILE *stream = draft->stream;
    struct tg_finding finding = {.kind = TG_FINDING_MISMATCH,
                                 .since_ns = collective->first_ns,
                                 .process = SIZE_MAX,
                                 .waiting = count_standing(arrivals, n, TG_MPI_WAITING),
                                 .missing = count_standing(arrivals, n, TG_MPI_MISSING)};
    struct tg_error *error = NULL;
    size_t told = 0;
    fputs("mismatched collective calls (", stream);
    print_collective(stream, collective);
    fputs("):", stream);
    for (size_t i = 0; error == NULL && i < n && told < MAX_CALLS; i++) {
        const struct tg_mpi_arrival *arrival = &arrivals[i];
        if (!is_first_call(arrivals, i))
            continue;
        fputs(told++ == 0 ? " " : "; ", stream);
        error = print_ranks(stream, arrivals, n, calls_like, arrival, false);
        fputs(" called ", stream);
        tg_printable_write(stream, arrival->name);
        if (arrival->root >= 0)
            fprintf(stream, " with root %" PRId64, arrival->root);
        tg_words_moment(stream, draft->input, arrival->entered_ns);
        if (arrival->process != SIZE_MAX)
            tg_words_code(stream, draft->input, arrival->process, arrival->code);
        finding.process = arrival->process; /* the last of those that differ */
        finding.code = arrival->code;
    }
    fputc('.', stream);
    return error != NULL ? error : tg_verdict_add(draft, &finding);
}

static struct tg_error *find_collective(void *context, const struct tg_mpi_collective *collective,
                                        const struct tg_mpi_arrival *arrivals, size_t n_arrivals)
{
    if (!is_of_interest(collective, arrivals, n_arrivals))
        return NULL;
    return collective->differs ? tell_mismatch(context, collective, arrivals, n_arrivals)
                               : tell_collective(context, collective, arrivals, n_arrivals);
}

/* ---- messages */

/* The thread that posted MESSAGE and is still in that call, or waits for requests; NULL: it does not wait. */
static const struct tg_mpi_thread *waiting_thread(const struct tg_verdict_input *input,
                                                  const struct tg_mpi_message *message)
{
    for (size_t i = 0; i < tg_mpi_model_thread_count(input->mpi); i++) {
        const struct tg_mpi_thread *thread = tg_mpi_model_thread_at(input->mpi, i);
        if (thread->process != message->process || thread->tid != message->tid || !thread->in_call)
            continue;
        bool is_it = thread->call.since_ns == message->since_ns && thread->call.name == message->name;
        if (is_it || tg_mpi_call_role(thread->call.name, NULL, NULL) == TG_MPI_COMPLETION)
            return thread;
    }
    return NULL;
}

/* A nonblocking send may be over although nobody has received it. */
static bool is_blocking_send(const struct tg_mpi_message *message)
{
    bool nonblocking;
    tg_mpi_call_role(message->name, &nonblocking, NULL);
    return !nonblocking;
}

static size_t process_of(const struct tg_verdict_draft *draft, const struct tg_mpi_message *message,
                         int64_t rank)
{
    return rank < 0 ? SIZE_MAX
                    : tg_mpi_model_process_of(draft->input->mpi, message->job, message->comm, rank);
}

struct telling {
    struct tg_verdict_draft *draft;
    size_t last; /* the process of the last finding, SIZE_MAX none: one finding of each is enough */
    bool is_send;
};

static void print_other_side(struct tg_verdict_draft *draft, const char *begin, size_t process)
{
    if (process == SIZE_MAX)
        return;
    fputs(begin, draft->stream);
    tg_words_process(draft->stream, draft->input, process);
    size_t told = told_in(draft, process);
    if (told != SIZE_MAX) {
        tg_verdict_refer(draft, " (see ", told, ")");
        fputc('.', draft->stream);
        return;
    }
    fputs(": ", draft->stream);
    tg_words_process_state(draft->stream, draft->input, process);
    fputc('.', draft->stream);
}

static struct tg_error *tell_message(struct tg_verdict_draft *draft, const struct tg_mpi_message *message,
                                     bool is_send)
{
    FILE *stream = draft->stream;
    int64_t peer = is_send ? message->destination : message->source;
    size_t other = process_of(draft, message, peer);
    const struct tg_finding finding = {.kind = is_send ? TG_FINDING_SEND : TG_FINDING_RECEIVE,
                                       .since_ns = message->since_ns,
                                       .process = message->process,
                                       .code = message->code,
                                       .waiting = 1,
                                       .is_consequence = tg_verdict_waits(draft, other) ||
                                                         tg_verdict_is_explained(draft, other)};
    const struct tg_mpi_call call = {
        .name = message->name, .peer = peer, .tag = message->tag, .comm = message->comm};
    tg_words_process(stream, draft->input, message->process);
    fputs(is_send ? " has been sending a message that nobody receives: "
                  : " has been waiting for a message that nobody has sent: ",
          stream);
    tg_words_call(stream, &call);
    tg_words_since(stream, draft->input, message->since_ns);
    tg_words_code(stream, draft->input, message->process, message->code);
    tg_stillness_print(stream, &draft->stillness, TG_WAIT_MPI,
                       tg_stillness_lasted(&draft->stillness, message->process, message->since_ns));
    fputc('.', stream);
    print_other_side(draft, is_send ? " The receiver is " : " The sender is ", other);
    return tg_verdict_add(draft, &finding);
}

static struct tg_error *find_message(void *context, const struct tg_mpi_message *message)
{
    struct telling *telling = context;
    struct tg_verdict_draft *draft = telling->draft;
    size_t other = process_of(draft, message, telling->is_send ? message->destination : message->source);
    uint64_t lasted_ns = tg_stillness_lasted(&draft->stillness, message->process, message->since_ns);
    if (message->process == telling->last || message->process >= draft->n_processes ||
        draft->ring_of[message->process] != SIZE_MAX || waiting_thread(draft->input, message) == NULL ||
        (telling->is_send ? message->destination : message->source) == -2 ||
        (telling->is_send ? !is_blocking_send(message) : tg_mpi_model_has_send(draft->input->mpi, message)))
        return NULL;
    if (!tg_stillness_had_ended(&draft->stillness, other) &&
        !tg_stillness_is_long(&draft->stillness, TG_WAIT_MPI, lasted_ns))
        return NULL;
    telling->last = message->process;
    return tell_message(draft, message, telling->is_send);
}

/* ---- who waits for whom */

static struct tg_error *add_wait(struct tg_verdict_draft *draft, size_t from, size_t to,
                                 const struct tg_mpi_thread *thread)
{
    if (from >= draft->n_processes || to >= draft->n_processes || thread == NULL ||
        draft->n_waits == TG_VERDICT_WAITS)
        return NULL;
    draft->is_waiting[from] = true;
    return TG_ARRAY_APPEND(draft->waits, draft->n_waits, draft->wait_capacity,
                           (struct tg_verdict_wait){from, to, thread});
}

static const struct tg_mpi_thread *thread_in(const struct tg_verdict_input *input, size_t process,
                                             const struct tg_mpi_collective *collective)
{
    for (size_t i = 0; i < tg_mpi_model_thread_count(input->mpi); i++) {
        const struct tg_mpi_thread *thread = tg_mpi_model_thread_at(input->mpi, i);
        if (thread->process == process && thread->in_call && thread->call.comm == collective->comm &&
            thread->call.instance == collective->instance)
            return thread;
    }
    return NULL; /* begun only, and waited for elsewhere or not yet */
}

static struct tg_error *collect_collective(void *context, const struct tg_mpi_collective *collective,
                                           const struct tg_mpi_arrival *arrivals, size_t n)
{
    struct tg_verdict_draft *draft = context;
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < n && draft->n_waits < TG_VERDICT_WAITS; i++) {
        if (arrivals[i].standing != TG_MPI_WAITING || arrivals[i].process == SIZE_MAX)
            continue;
        const struct tg_mpi_thread *thread = thread_in(draft->input, arrivals[i].process, collective);
        for (size_t j = 0, told = 0; error == NULL && j < n && told < TG_VERDICT_NAMED; j++) {
            if (arrivals[j].standing != TG_MPI_MISSING)
                continue;
            told++;
            error = add_wait(draft, arrivals[i].process, arrivals[j].process, thread);
        }
    }
    return error;
}

static struct tg_error *collect_send(void *context, const struct tg_mpi_message *message)
{
    struct tg_verdict_draft *draft = context;
    if (!is_blocking_send(message))
        return NULL;
    return add_wait(draft, message->process, process_of(draft, message, message->destination),
                    waiting_thread(draft->input, message));
}

static struct tg_error *collect_receive(void *context, const struct tg_mpi_message *message)
{
    struct tg_verdict_draft *draft = context;
    if (tg_mpi_model_has_send(draft->input->mpi, message))
        return NULL;
    return add_wait(draft, message->process, process_of(draft, message, message->source),
                    waiting_thread(draft->input, message));
}

struct tg_error *tg_verdict_collect_waits(struct tg_verdict_draft *draft)
{
    const struct tg_mpi_model *mpi = draft->input->mpi;
    struct tg_error *error = tg_mpi_model_visit_collectives(mpi, collect_collective, draft);
    if (error == NULL)
        error = tg_mpi_model_visit_sends(mpi, collect_send, draft);
    if (error == NULL)
        error = tg_mpi_model_visit_receives(mpi, collect_receive, draft);
    return error;
}

struct tg_error *tg_verdict_find_mpi(struct tg_verdict_draft *draft)
{
    const struct tg_mpi_model *mpi = draft->input->mpi;
    struct telling sends = {.draft = draft, .last = SIZE_MAX, .is_send = true};
    struct telling receives = {.draft = draft, .last = SIZE_MAX};
    struct tg_error *error = tg_mpi_model_visit_collectives(mpi, find_collective, draft);
    if (error == NULL)
        error = tg_mpi_model_visit_sends(mpi, find_message, &sends);
    if (error == NULL)
        error = tg_mpi_model_visit_receives(mpi, find_message, &receives);
    return error;
}
