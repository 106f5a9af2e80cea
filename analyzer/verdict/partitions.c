#include "analyzer/verdict/partitions.h"

#include "analyzer/finding/polling.h"
#include "analyzer/finding/words.h"
#include "analyzer/verdict/finders.h"

#include <inttypes.h>
#include <string.h>

enum what {
    LACKS_NOTHING,
    NOT_MADE,
    NOT_STARTED,
    NOT_READY, /* partitions of the send */
    NOT_MOVED, /* all is there, but the other side is outside MPI, where it does nothing for it */
};

/* Why the message that a thread waits for is not complete. */
struct lack {
    enum what what;
    const struct tg_mpi_partitioned *own; /* the request; the model's */
    const struct tg_mpi_partitioned
        *send; /* NOT_READY: of which partitions are missing, maybe its own; the model's */
    size_t to; /* the process that has something to do, SIZE_MAX not known */
};

/* ---- what is missing */

/* Whether the process waits for itself: for partitions that it sends. */
static bool is_own(const struct lack *lack)
{
    return lack->what == NOT_READY && lack->send == lack->own;
}

static bool has_all(const struct tg_mpi_partitioned *send)
{
    return send->is_unsure || send->count == 0 || send->n_ready >= send->count;
}

static struct lack lack_of_request(const struct tg_verdict_draft *draft, size_t process, uint64_t request)
{
    const struct tg_mpi_model *mpi = draft->input->mpi;
    struct lack lack = {.own = tg_mpi_model_partitioned(mpi, process, request), .to = SIZE_MAX};
    if (lack.own == NULL)
        return lack;
    if (lack.own->sends && !has_all(lack.own)) {
        lack.what = NOT_READY;
        lack.send = lack.own;
        lack.to = process;
        return lack;
    }
    bool was_made;
    const struct tg_mpi_partitioned *other = tg_mpi_model_other_half(mpi, lack.own, &was_made);
    if (other == NULL)
        lack.what = was_made ? LACKS_NOTHING : NOT_MADE;
    else if (other->starts < lack.own->starts)
        lack.what = NOT_STARTED;
    else if (other->sends && other->is_active && other->starts == lack.own->starts && !has_all(other))
        lack.what = NOT_READY;
    lack.send = lack.what == NOT_READY ? other : NULL;
    lack.to = tg_mpi_model_process_of(mpi, process, lack.own->job, lack.own->comm,
                                      lack.own->sends ? lack.own->destination : lack.own->source);
    const struct tg_mpi_partitioned *send = lack.own->sends ? lack.own : other;
    if (lack.what == LACKS_NOTHING && other != NULL && other->is_active && !send->is_unsure &&
        lack.to < draft->n_processes && lack.to != process && !tg_verdict_is_in_mpi(draft, lack.to) &&
        !tg_verdict_may_poll(draft, lack.to) && !tg_verdict_is_gone(draft, lack.to))
        lack.what = NOT_MOVED;
    return lack;
}

/* The first of THREAD's requests that lacks something, where it needs that one. Of lost events may have been those that say
 * what is ready. */
static struct lack lack_of(const struct tg_verdict_draft *draft, const struct tg_mpi_thread *thread)
{
    const char *name = thread->call.name;
    bool needs_all =
        thread->n_requests == 1 || strcmp(name, "MPI_Waitall") == 0 || strcmp(name, "MPI_Testall") == 0;
    struct lack lack = {.what = LACKS_NOTHING};
    if (thread->process >= draft->n_processes || draft->input->has_losses || !needs_all ||
        tg_mpi_call_role(name, NULL, NULL) != TG_MPI_COMPLETION || !tg_polling_waits(draft->input, thread))
        return lack;
    for (size_t i = 0; lack.what == LACKS_NOTHING && i < thread->n_requests; i++)
        lack = lack_of_request(draft, thread->process, thread->requests[i]);
    return lack;
}

/* ---- for how long */

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* How long THREAD has waited for LACK since somebody did something about it: any thread may mark partitions. */
static uint64_t lasted(const struct tg_verdict_draft *draft, const struct tg_mpi_thread *thread,
                       const struct lack *lack)
{
    uint64_t since_ns = thread->call.since_ns;
    if (lack->send != NULL)
        since_ns = later(since_ns, lack->send->ready_ns);
    if (lack->to < draft->n_processes && lack->to != thread->process && !tg_verdict_waits(draft, lack->to) &&
        !tg_verdict_is_gone(draft, lack->to))
        since_ns = later(since_ns, tg_verdict_last_step(draft, lack->to));
    return tg_verdict_lasted(draft, thread->process, lack->to, since_ns);
}

/* Whether LACK of THREAD is worth telling after LASTED_NS. */
static bool is_long(struct tg_verdict_draft *draft, const struct tg_mpi_thread *thread,
                    const struct lack *lack, uint64_t lasted_ns)
{
    bool is_gone = lack->to != SIZE_MAX && lack->to != thread->process && tg_verdict_is_gone(draft, lack->to);
    if (thread->call.since_ns > draft->stillness.at_ns && !is_gone)
        return false;
    if (draft->work[thread->process] == TG_WORK_GOES_ON && !is_gone)
        return tg_verdict_pass_for_work(draft, thread->process, lasted_ns);
    return is_gone || tg_stillness_is_long(&draft->stillness, TG_WAIT_MPI, lasted_ns);
}

static const char *to_do_of(const struct lack *lack)
{
    if (lack->what == NOT_READY)
        return " to mark all partitions as ready (MPI_Pready)";
    if (lack->what == NOT_MOVED)
        return " to call MPI";
    if (lack->what == NOT_STARTED)
        return " to start its half (MPI_Start)";
    return lack->own->sends ? " to make its half (MPI_Precv_init)" : " to make its half (MPI_Psend_init)";
}

/* A process that waits for its own partitions is in no cycle: another thread of it may be about to mark them. */
struct tg_error *tg_verdict_collect_partitions(struct tg_verdict_draft *draft)
{
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < tg_mpi_model_thread_count(draft->input->mpi); i++) {
        const struct tg_mpi_thread *thread = tg_mpi_model_thread_at(draft->input->mpi, i);
        const struct lack lack = lack_of(draft, thread);
        if (lack.what == LACKS_NOTHING || is_own(&lack) ||
            !is_long(draft, thread, &lack, lasted(draft, thread, &lack)))
            continue;
        const struct tg_verdict_wait wait = {.from = thread->process,
                                             .to = lack.to,
                                             .thread = thread,
                                             .sends = lack.own->sends,
                                             .to_do = to_do_of(&lack)};
        error = tg_verdict_add_wait(draft, &wait);
    }
    return error;
}

/* ---- words */

/* " Partition 3", " Partitions 3, 5 to 7 and others": those of SEND that are not ready */
static void print_missing(FILE *stream, const struct tg_mpi_partitioned *send)
{
    size_t told = 0;
    fputs(send->count - send->n_ready == 1 ? " Partition " : " Partitions ", stream);
    for (uint64_t first = 0; first < send->count;) {
        uint64_t end = first;
        while (end < send->count && !tg_mpi_partition_is_ready(send, end))
            end++;
        if (end == first) {
            first++;
            continue;
        }
        if (told == TG_VERDICT_NAMED) {
            fputs(" and others", stream);
            return;
        }
        fprintf(stream, "%s%" PRIu64, told++ > 0 ? ", " : "", first);
        if (end - first > 1)
            fprintf(stream, " to %" PRIu64, end - 1);
        first = end;
    }
}

/* " Partition 3 of 8 has not been marked as ready (MPI_Pready) by rank 1 since it started the message at 1.2 s in main
 * (a.c:12); it marked the last one at 1.3 s in work (a.c:20)." */
static void print_not_ready(struct tg_verdict_draft *draft, const struct tg_mpi_partitioned *send)
{
    FILE *stream = draft->stream;
    print_missing(stream, send);
    fprintf(stream, " of %" PRIu64 " %s not been marked as ready (MPI_Pready) by ", send->count,
            send->count - send->n_ready == 1 ? "has" : "have");
    tg_words_process(stream, draft->input, send->process);
    fputs(" since it started the message", stream);
    tg_words_moment(stream, draft->input, send->since_ns);
    tg_words_code(stream, draft->input, send->process, send->code);
    if (send->ready_ns != 0) {
        fputs("; it marked the last one", stream);
        tg_words_moment(stream, draft->input, send->ready_ns);
        tg_words_code(stream, draft->input, send->process, send->ready_code);
    }
    fputc('.', stream);
}

void tg_verdict_print_partitions(struct tg_verdict_draft *draft, const struct tg_mpi_thread *thread)
{
    const struct lack lack = lack_of(draft, thread);
    if (lack.what == NOT_READY)
        print_not_ready(draft, lack.send);
}

static void print_call(FILE *stream, const struct tg_mpi_partitioned *of)
{
    const struct tg_mpi_call call = {
        .name = of->name, .peer = of->sends ? of->destination : of->source, .tag = of->tag, .comm = of->comm};
    tg_words_call(stream, &call);
}

static void print_cause(struct tg_verdict_draft *draft, const struct lack *lack)
{
    FILE *stream = draft->stream;
    if (lack->what == NOT_READY)
        print_not_ready(draft, lack->send);
    if (is_own(lack))
        return;
    if (lack->to == SIZE_MAX) {
        fputs(lack->own->sends ? " The receiver is not in this trace." : " The sender is not in this trace.",
              stream);
        return;
    }
    fputs(lack->own->sends ? " The receiver is " : " The sender is ", stream);
    tg_words_process(stream, draft->input, lack->to);
    if (lack->what == NOT_MOVED)
        fputs(", which has done its part and does nothing more for it, because MPI libraries make progress "
              "only "
              "within MPI calls",
              stream);
    else if (lack->what != NOT_READY)
        fprintf(stream, ", which has%s %s",
                lack->what == NOT_MADE ? " not called" : " not started its half, by MPI_Start, of",
                lack->own->sends ? "MPI_Precv_init" : "MPI_Psend_init");
    size_t told = tg_verdict_told_in(draft, lack->to);
    if (told != SIZE_MAX) {
        tg_verdict_refer(draft, " (see ", told, ").");
        return;
    }
    fputs(": ", stream);
    tg_words_process_state(stream, draft->input, lack->to);
    fputc('.', stream);
}

static void blame(struct tg_verdict_draft *draft, const struct tg_mpi_thread *thread, const struct lack *lack)
{
    if (is_own(lack))
        tg_verdict_blame(draft, thread->process, thread->tid, thread->call.code);
    else if (lack->to == SIZE_MAX)
        tg_verdict_blame_rank(draft, lack->own->sends ? lack->own->destination : lack->own->source);
    else if (lack->what == NOT_READY)
        tg_verdict_blame(draft, lack->to, 0,
                         lack->send->ready_code != 0 ? lack->send->ready_code : lack->send->code);
    else
        tg_verdict_blame_last_call(draft, lack->to);
}

/* ---- findings */

static struct tg_error *tell(struct tg_verdict_draft *draft, const struct tg_mpi_thread *thread,
                             const struct lack *lack, uint64_t lasted_ns)
{
    FILE *stream = draft->stream;
    const struct tg_finding finding = {
        .kind = lack->own->sends ? TG_FINDING_SEND : TG_FINDING_RECEIVE,
        .since_ns = thread->call.since_ns,
        .process = thread->process,
        .code = thread->call.code,
        .waiting = 1,
        .is_consequence =
            !is_own(lack) && (tg_verdict_waits(draft, lack->to) || tg_verdict_is_explained(draft, lack->to))};
    tg_words_process(stream, draft->input, thread->process);
    fprintf(stream, " has been %s (%s) for ", thread->in_call ? "waiting" : "polling in vain",
            thread->call.name);
    fputs(is_own(lack) ? "a partitioned message of its own that is not complete: "
                       : "the other half of a partitioned message: ",
          stream);
    print_call(stream, lack->own);
    tg_words_since(stream, draft->input, thread->call.since_ns);
    tg_words_call_code(stream, draft->input, thread->process, thread->call.code, thread->call.since_ns);
    if (lasted_ns > 0) {
        fputc(',', stream);
        tg_stillness_print(stream, &draft->stillness, TG_WAIT_MPI, lasted_ns);
    }
    fputc('.', stream);
    print_cause(draft, lack);
    blame(draft, thread, lack);
    struct tg_error *error = tg_verdict_add(draft, &finding);
    if (error == NULL && is_own(lack))
        tg_verdict_explain(draft, thread->process);
    return error;
}

/* Tells of those that wait for themselves, or of the others, one of each process. */
static struct tg_error *find(struct tg_verdict_draft *draft, bool of_own)
{
    struct tg_error *error = NULL;
    size_t last = SIZE_MAX;
    for (size_t i = 0; error == NULL && i < tg_mpi_model_thread_count(draft->input->mpi); i++) {
        const struct tg_mpi_thread *thread = tg_mpi_model_thread_at(draft->input->mpi, i);
        const struct lack lack = lack_of(draft, thread);
        if (lack.what == LACKS_NOTHING || is_own(&lack) != of_own || thread->process == last ||
            draft->ring_of[thread->process] != SIZE_MAX)
            continue;
        uint64_t lasted_ns = lasted(draft, thread, &lack);
        if (!is_long(draft, thread, &lack, lasted_ns))
            continue;
        last = thread->process;
        error = tell(draft, thread, &lack, lasted_ns);
    }
    return error;
}

/* "Rank 0 marked partition 3 of 8 as ready (MPI_Pready) once more in work (a.c:20) at 1.3 s, ..." */
static struct tg_error *tell_remarked(struct tg_verdict_draft *draft, const struct tg_mpi_remarked *remarked)
{
    FILE *stream = draft->stream;
    const struct tg_mpi_partitioned *of = &remarked->of;
    const struct tg_finding finding = {.kind = TG_FINDING_MISUSE,
                                       .since_ns = remarked->time_ns,
                                       .process = of->process,
                                       .code = remarked->code,
                                       .is_warning = draft->is_good_end};
    tg_words_process(stream, draft->input, of->process);
    fprintf(stream, " marked partition %" PRIu64 " of %" PRIu64 " as ready (%s) a second time",
            remarked->partition, of->count, remarked->name);
    tg_words_code(stream, draft->input, of->process, remarked->code);
    tg_words_moment(stream, draft->input, remarked->time_ns);
    if (remarked->count > 1)
        fprintf(stream, " (%" PRIu64 " such calls from there in all)", remarked->count);
    fputs(", which MPI does not allow before the message is complete: ", stream);
    print_call(stream, of);
    fputs(", started", stream);
    tg_words_moment(stream, draft->input, of->since_ns);
    tg_words_code(stream, draft->input, of->process, of->code);
    fputs(". The message may be sent before all of it is ready.", stream);
    tg_verdict_blame(draft, of->process, remarked->tid, remarked->code);
    return tg_verdict_add(draft, &finding);
}

struct tg_error *tg_verdict_find_remarks(struct tg_verdict_draft *draft)
{
    const struct tg_mpi_model *mpi = draft->input->mpi;
    struct tg_error *error = NULL;
    if (draft->input->has_losses) /* of lost events may have been one that started the message again */
        return NULL;
    for (size_t i = 0; error == NULL && i < tg_mpi_model_remarked_count(mpi); i++)
        error = tell_remarked(draft, tg_mpi_model_remarked_at(mpi, i));
    return error;
}

/* First those that wait for themselves: others wait because of that. */
struct tg_error *tg_verdict_find_partitions(struct tg_verdict_draft *draft)
{
    struct tg_error *error = find(draft, true);
    return error != NULL ? error : find(draft, false);
}
