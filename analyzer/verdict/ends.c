/* Processes that did not end as they should: crashes, MPI_Abort, ends without MPI_Finalize, signals that were sent, and
 * the first of a job to be killed. */
#include "analyzer/output/quantity.h"
#include "analyzer/verdict/arrivals.h"
#include "analyzer/verdict/finders.h"
#include "analyzer/verdict/openmp_order.h"
#include "analyzer/verdict/words.h"
#include "format/base/printable.h"
#include "format/base/signal_name.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>

static const struct tg_openmp_worker *last_worker(const struct tg_verdict_input *input, size_t process,
                                                  int32_t tid)
{
    const struct tg_openmp_worker *found = NULL;
    for (size_t i = 0; i < tg_openmp_model_worker_count(input->openmp); i++) {
        const struct tg_openmp_worker *worker = tg_openmp_model_worker_at(input->openmp, i);
        if (worker->process == process && worker->tid == tid)
            found = worker;
    }
    return found;
}

/* " It had been in a loop since ...": nothing where that is not known. */
static void print_state(struct tg_verdict_draft *draft, size_t process, int32_t tid,
                        const struct tg_openmp_worker *worker)
{
    char *state;
    size_t size;
    FILE *words = open_memstream(&state, &size);
    struct tg_verdict_input input = *draft->input;
    input.stacks = NULL; /* the stack is told already */
    if (words == NULL)
        return;
    bool is_known = tg_words_thread_state(words, &input, process, tid, worker);
    if (fclose(words) == 0 && is_known)
        fprintf(draft->stream, " It had been %s.", state);
    free(state);
}

static struct tg_error *find_crash(struct tg_verdict_draft *draft, const struct tg_process_entry *entry)
{
    char name[32];
    FILE *stream = draft->stream;
    struct tg_finding finding = {.kind = TG_FINDING_CRASH,
                                 .since_ns = entry->ended_ns,
                                 .process = entry->index,
                                 /* a launcher that stumbles while it ends the job */
                                 .is_consequence = entry->rank < 0 && entry->first_child != NULL &&
                                                   draft->stillness.was_ended &&
                                                   entry->ended_ns > draft->stillness.at_ns};
    tg_words_process(stream, draft->input, entry->index);
    fprintf(stream, " was killed by %s", tg_signal_name(entry->status, name, sizeof name));
    tg_words_moment(stream, draft->input, entry->ended_ns);
    /* the thread of its last signal is the one that crashed; others may have run on for a moment */
    bool knows_thread = entry->last_signal_ns != 0 && entry->last_signal == entry->status;
    int32_t tid = knows_thread ? entry->last_signal_tid : entry->pid;
    const struct tg_openmp_worker *worker = last_worker(draft->input, entry->index, tid);
    if (knows_thread) {
        fputs(" in ", stream);
        tg_words_thread(stream, draft->input, entry->index, tid);
        if (worker != NULL)
            fprintf(stream, " (worker %" PRIu64 ")", worker->number);
        if (entry->last_signal_address != 0)
            fprintf(stream, ", fault address 0x%" PRIx64, entry->last_signal_address);
    }
    const struct tg_last_stack *stack = tg_verdict_stack_of(draft->input, entry->index, tid, entry->start_ns);
    if (stack != NULL) {
        fputc(',', stream);
        tg_verdict_print_stack(stream, draft->input, stack);
    }
    tg_verdict_blame(draft, entry->index, tid, 0);
    fputc('.', stream);
    print_state(draft, entry->index, tid, worker);
    if (worker != NULL)
        tg_openmp_order_tell(draft, worker);
    if (worker != NULL && worker->n_places > 0)
        finding.code = worker->places[worker->n_places - 1].code;
    return tg_verdict_add(draft, &finding);
}

/* The thread of PROCESS that called MPI last, NULL none. */
static const struct tg_mpi_thread *last_caller(const struct tg_verdict_input *input, size_t process)
{
    const struct tg_mpi_thread *last = NULL;
    for (size_t i = 0; i < tg_mpi_model_thread_count(input->mpi); i++) {
        const struct tg_mpi_thread *thread = tg_mpi_model_thread_at(input->mpi, i);
        if (thread->process == process && thread->calls > 0 &&
            (last == NULL || thread->call.since_ns > last->call.since_ns))
            last = thread;
    }
    return last;
}

static struct tg_error *find_abort(struct tg_verdict_draft *draft, const struct tg_process_entry *entry,
                                   const struct tg_mpi_process *mpi)
{
    const struct tg_mpi_thread *caller = last_caller(draft->input, entry->index);
    FILE *stream = draft->stream;
    const struct tg_finding finding = {.kind = TG_FINDING_CRASH,
                                       .since_ns = mpi->aborted_ns,
                                       .process = entry->index,
                                       .code = caller == NULL ? 0 : caller->call.code};
    tg_words_process(stream, draft->input, entry->index);
    fputs(" called MPI_Abort", stream);
    if (caller != NULL && caller->call.tag != -3)
        fprintf(stream, " with error code %" PRId64, caller->call.tag);
    tg_words_moment(stream, draft->input, mpi->aborted_ns);
    const struct tg_last_stack *stack =
        caller == NULL ? NULL : tg_verdict_stack_of(draft->input, entry->index, caller->tid, mpi->aborted_ns);
    if (stack != NULL)
        tg_verdict_print_stack(stream, draft->input, stack);
    else if (caller != NULL)
        tg_words_code(stream, draft->input, entry->index, caller->call.code);
    if (caller != NULL)
        tg_verdict_blame(draft, entry->index, caller->tid, caller->call.code);
    fputc('.', stream);
    return tg_verdict_add(draft, &finding);
}

static struct tg_error *find_early_exit(struct tg_verdict_draft *draft, const struct tg_process_entry *entry,
                                        const struct tg_mpi_thread *caller)
{
    FILE *stream = draft->stream;
    const struct tg_finding finding = {.kind = TG_FINDING_EARLY_EXIT,
                                       .since_ns = entry->ended_ns,
                                       .process = entry->index,
                                       .code = caller->call.code};
    tg_words_process(stream, draft->input, entry->index);
    fprintf(stream, " exited with status %" PRId64, entry->status);
    tg_words_moment(stream, draft->input, entry->ended_ns);
    fputs(" without calling MPI_Finalize, ", stream);
    tg_words_mpi_thread(stream, draft->input, caller);
    fputc('.', stream);
    return tg_verdict_add(draft, &finding);
}

/* ---- killed from outside */

static void print_sender(FILE *stream, const struct tg_verdict_input *input, int64_t pid, const char *program)
{
    size_t process = SIZE_MAX;
    for (size_t i = 0; i < tg_process_model_count(input->processes); i++)
        if (tg_process_model_at(input->processes, i)->pid == pid)
            process = i;
    fputs(" from ", stream);
    if (process != SIZE_MAX) {
        tg_words_process(stream, input, process);
    } else if (*program != '\0') {
        tg_printable_write(stream, program);
        fprintf(stream, " (pid %" PRId64 ")", pid);
    } else {
        fprintf(stream, "process %" PRId64, pid);
    }
}

/* Signals that kill although nobody asked for the end of the whole job. */
static bool is_out_of_the_blue(int64_t signal)
{
    return signal == SIGKILL;
}

/* Whether a starter ended the job before TIME_NS. */
static bool was_ended_by_starter(const struct tg_verdict_input *input, uint64_t time_ns)
{
    for (size_t i = 0; input->mpir != NULL && i < tg_mpir_model_count(input->mpir); i++) {
        const struct tg_mpir_starter *starter = tg_mpir_model_at(input->mpir, i);
        if ((starter->has_aborted && starter->aborted_ns <= time_ns) ||
            (starter->is_starter && starter->has_ended && starter->ended_ns <= time_ns))
            return true;
    }
    return false;
}

/* Whether ENTRY is the first of its like to end. A launcher kills the others of a job as soon as it sees that
 * one has ended: their moments are of one kind, see ended_ns. */
static bool is_first_to_end(const struct tg_verdict_input *input, const struct tg_process_entry *entry)
{
    for (size_t i = 0; i < tg_process_model_count(input->processes); i++) {
        const struct tg_process_entry *other = tg_process_model_at(input->processes, i);
        bool is_like = other->parent == NULL || (other->rank >= 0) == (entry->rank >= 0);
        if (is_like && other->end != TG_PROCESS_RUNNING && other != entry &&
            tg_stillness_earliest_end(input, other) < entry->ended_ns)
            return false;
    }
    return (entry->rank >= 0 || entry->parent == NULL) && !was_ended_by_starter(input, entry->ended_ns);
}

static struct tg_error *find_kill(struct tg_verdict_draft *draft, const struct tg_process_entry *entry)
{
    char name[32];
    FILE *stream = draft->stream;
    const struct tg_finding finding = {
        .kind = TG_FINDING_KILL, .since_ns = entry->ended_ns, .process = entry->index};
    tg_words_process(stream, draft->input, entry->index);
    fprintf(stream, " was killed by %s", tg_signal_name(entry->status, name, sizeof name));
    tg_words_moment(stream, draft->input, entry->ended_ns);
    (void)tg_words_last_place(stream, draft->input, entry->index, entry->pid, entry->start_ns);
    if (entry->rank >= 0)
        fputs(", before any other rank ended", stream);
    fputs(
        ", sender unknown: the kernel when memory runs out, a batch system that enforces a limit, or a user.",
        stream);
    print_state(draft, entry->index, entry->pid, last_worker(draft->input, entry->index, entry->pid));
    return tg_verdict_add(draft, &finding);
}

/* ---- killed by a signal that was sent */

static bool is_ancestor(const struct tg_process_entry *entry, int64_t pid)
{
    for (const struct tg_process_entry *at = entry->parent; at != NULL; at = at->parent)
        if (at->pid == pid)
            return true;
    return false;
}

static bool is_end_request(int64_t signal)
{
    return signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT;
}

/* Whether ENTRY was killed by the last signal that it got, and that is known. */
static bool knows_signal(const struct tg_process_entry *entry)
{
    return entry->end == TG_PROCESS_KILLED && entry->last_signal_ns != 0 &&
           entry->last_signal == entry->status;
}

/* Whether ENTRY alone was asked to end, by somebody else than its launcher: the job was not. */
static bool is_single_target(const struct tg_verdict_draft *draft, const struct tg_process_entry *entry)
{
    if (entry->rank < 0 || !knows_signal(entry) || !is_end_request(entry->status) ||
        entry->last_signal_sender_pid == 0 || is_ancestor(entry, entry->last_signal_sender_pid))
        return false;
    for (size_t i = 0; i < draft->n_processes; i++) {
        const struct tg_process_entry *other = tg_process_model_at(draft->input->processes, i);
        if (other != entry && other->asked.time_ns != 0 && !is_ancestor(other, other->asked.sender_pid) &&
            other->asked.sender_pid != entry->pid)
            return false;
    }
    return true;
}

/* The launcher of ENTRY that sent it the signal by which it ended, and had got that one itself: it passed it on. */
static const struct tg_process_entry *find_passer(const struct tg_process_entry *entry)
{
    for (const struct tg_process_entry *at = entry->parent; at != NULL; at = at->parent)
        if (at->pid == entry->last_signal_sender_pid && at->last_signal == entry->status)
            return at;
    return NULL;
}

static void print_own_signal(FILE *stream, const struct tg_process_entry *entry)
{
    bool is_timer = entry->status == SIGALRM || entry->status == SIGVTALRM || entry->status == SIGPROF;
    if (entry->last_signal_code == SI_TIMER || (is_timer && entry->last_signal_sender_pid == 0))
        fputs(" from a timer of its own", stream);
    else if (entry->status == SIGXCPU)
        fputs(" from the kernel: it exceeded its limit of processor time", stream);
    else if (entry->status == SIGXFSZ)
        fputs(" from the kernel: it exceeded its limit of file size", stream);
    else if (entry->status == SIGPIPE && entry->last_signal_code == SI_USER)
        fputs(" when it wrote to a pipe or socket that nobody reads any more", stream);
    else if (entry->last_signal_sender_pid == entry->pid)
        fputs(", which it sent to itself", stream);
    else
        fputs(" from the kernel", stream);
}

static void print_signal_sender(FILE *stream, const struct tg_verdict_input *input,
                                const struct tg_process_entry *entry)
{
    if (entry->last_signal_sender_pid == 0 || entry->last_signal_sender_pid == entry->pid) {
        print_own_signal(stream, entry);
        return;
    }
    print_sender(stream, input, entry->last_signal_sender_pid, entry->last_signal_sender);
    const struct tg_process_entry *passer = find_passer(entry);
    if (passer != NULL && passer->last_signal_sender_pid != 0) {
        fputs(", which passed it on", stream);
        print_sender(stream, input, passer->last_signal_sender_pid, passer->last_signal_sender);
    }
}

/* Whether ENTRY ended by such a signal, and not because its launcher ends the job. */
static bool was_killed_by_signal(const struct tg_process_entry *entry)
{
    if (!knows_signal(entry) || entry->status == SIGKILL)
        return false;
    return !is_end_request(entry->status)
               ? !is_ancestor(entry, entry->last_signal_sender_pid) || find_passer(entry) != NULL
               : false;
}

/* Explains, by the finding that was added last, the ends of others that the same signal killed. */
static void explain_alike(struct tg_verdict_draft *draft, const struct tg_process_entry *entry)
{
    for (size_t i = 0; i < draft->n_processes; i++) {
        const struct tg_process_entry *other = tg_process_model_at(draft->input->processes, i);
        if (other != entry && was_killed_by_signal(other) && other->status == entry->status)
            tg_verdict_explain(draft, i);
    }
}

/* Prints who was killed as ENTRY: it, or all ranks that were. */
static struct tg_error *print_killed(struct tg_verdict_draft *draft, const struct tg_process_entry *entry)
{
    int64_t *ranks = calloc(draft->n_processes + 1, sizeof *ranks);
    size_t n = 0;
    if (ranks == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < draft->n_processes; i++) {
        const struct tg_process_entry *other = tg_process_model_at(draft->input->processes, i);
        if (other != entry && (!was_killed_by_signal(other) || other->status != entry->status))
            continue;
        tg_verdict_blame(draft, i, other->last_signal_tid, 0);
        if (other->rank >= 0)
            ranks[n++] = other->rank;
    }
    if (n > 1)
        tg_arrivals_print(draft->stream, ranks, n, true);
    else
        tg_words_process(draft->stream, draft->input, entry->index);
    fputs(n > 1 ? " were" : " was", draft->stream);
    free(ranks);
    return NULL;
}

static struct tg_error *find_signal(struct tg_verdict_draft *draft, const struct tg_process_entry *entry)
{
    char name[32];
    FILE *stream = draft->stream;
    const struct tg_finding finding = {
        .kind = TG_FINDING_KILL, .since_ns = entry->ended_ns, .process = entry->index};
    struct tg_error *error = print_killed(draft, entry);
    if (error != NULL)
        return error;
    fprintf(stream, " killed by %s", tg_signal_name(entry->status, name, sizeof name));
    print_signal_sender(stream, draft->input, entry);
    fputc(',', stream);
    tg_words_moment(stream, draft->input, entry->ended_ns);
    const struct tg_last_stack *stack =
        tg_verdict_stack_of(draft->input, entry->index, entry->last_signal_tid, entry->start_ns);
    if (stack != NULL)
        tg_verdict_print_stack(stream, draft->input, stack);
    fputc('.', stream);
    print_state(draft, entry->index, entry->last_signal_tid,
                last_worker(draft->input, entry->index, entry->last_signal_tid));
    error = tg_verdict_add(draft, &finding);
    explain_alike(draft, entry);
    return error;
}

static struct tg_error *find_end(struct tg_verdict_draft *draft, const struct tg_process_entry *entry)
{
    const struct tg_mpi_process *mpi = tg_mpi_model_process(draft->input->mpi, entry->index);
    const struct tg_mpi_thread *caller = last_caller(draft->input, entry->index);
    struct tg_error *error = NULL;
    bool was_asked = draft->stillness.was_asked && entry->ended_ns >= draft->stillness.at_ns;
    if (tg_verdict_is_explained(draft, entry->index))
        return NULL; /* by an error of MPI */
    if (mpi != NULL && mpi->aborted_ns != 0)
        error = find_abort(draft, entry, mpi);
    else if (entry->end == TG_PROCESS_KILLED && tg_verdict_is_fault(entry->status))
        error = find_crash(draft, entry);
    else if (is_single_target(draft, entry))
        error = find_signal(draft, entry);
    else if (was_asked)
        return NULL; /* the statuses that follow say nothing more */
    else if (entry->end == TG_PROCESS_EXITED && caller != NULL && mpi != NULL && !mpi->finalized)
        error = find_early_exit(draft, entry, caller);
    else if (entry->end == TG_PROCESS_KILLED && is_out_of_the_blue(entry->status) &&
             is_first_to_end(draft->input, entry))
        error = find_kill(draft, entry);
    else if (was_killed_by_signal(entry) && (entry->rank >= 0 || entry->parent == NULL))
        error = find_signal(draft, entry);
    else
        return NULL;
    tg_verdict_explain(draft, entry->index);
    return error;
}

struct tg_error *tg_verdict_find_ends(struct tg_verdict_draft *draft)
{
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < draft->n_processes; i++)
        error = find_end(draft, tg_process_model_at(draft->input->processes, i));
    return error;
}

/* ---- stopped by job control */

static struct tg_error *find_stop(struct tg_verdict_draft *draft, const struct tg_process_entry *entry)
{
    static const uint64_t lasting_ns = 500000000;
    char name[32], duration[TG_QUANTITY_SIZE];
    FILE *stream = draft->stream;
    uint64_t lasted_ns = draft->stillness.at_ns - entry->stopped_ns;
    if (!tg_stillness_was_stopped(&draft->stillness, entry->index) || lasted_ns < lasting_ns)
        return NULL;
    const struct tg_finding finding = {
        .kind = TG_FINDING_STOPPED, .since_ns = entry->stopped_ns, .process = entry->index};
    tg_words_process(stream, draft->input, entry->index);
    fprintf(stream, " has been stopped by %s", tg_signal_name(entry->stop_signal, name, sizeof name));
    if (entry->stop_sender_pid != 0)
        print_sender(stream, draft->input, entry->stop_sender_pid, entry->stop_sender);
    tg_words_since(stream, draft->input, entry->stopped_ns);
    fprintf(stream, " for %s, and was not continued.", tg_quantity_duration(lasted_ns, duration));
    print_state(draft, entry->index, entry->pid, last_worker(draft->input, entry->index, entry->pid));
    struct tg_error *error = tg_verdict_add(draft, &finding);
    tg_verdict_explain(draft, entry->index);
    return error;
}

struct tg_error *tg_verdict_find_stops(struct tg_verdict_draft *draft)
{
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < draft->n_processes; i++)
        error = find_stop(draft, tg_process_model_at(draft->input->processes, i));
    return error;
}

/* ---- asked to end */

/* The process that was asked to end at the moment that is judged; NULL: none was, by a signal. */
static const struct tg_process_entry *first_asked(const struct tg_verdict_draft *draft)
{
    for (size_t i = 0; i < draft->n_processes; i++) {
        const struct tg_process_entry *entry = tg_process_model_at(draft->input->processes, i);
        if (entry->asked.time_ns != 0 && entry->asked.time_ns == draft->stillness.at_ns)
            return entry;
    }
    return NULL;
}

static void print_request(struct tg_verdict_draft *draft, const struct tg_process_entry *entry)
{
    char name[32];
    FILE *stream = draft->stream;
    fputs("the job was interrupted", stream);
    tg_words_moment(stream, draft->input, entry->asked.time_ns);
    fprintf(stream, ": %s", tg_signal_name(entry->asked.signal, name, sizeof name));
    if (entry->asked.sender_pid != 0)
        print_sender(stream, draft->input, entry->asked.sender_pid, entry->asked.sender);
    else
        fputs(" from its terminal", stream);
    fputs(" to ", stream);
    tg_words_process(stream, draft->input, entry->index);
    fputc('.', stream);
}

/* Prints who had been in a call of MPI for long, although it is not known whom it waited for. False: nobody. */
static bool print_longest_call(struct tg_verdict_draft *draft)
{
    const struct tg_mpi_thread *longest = NULL;
    uint64_t most_ns = 0;
    for (size_t i = 0; i < tg_mpi_model_thread_count(draft->input->mpi); i++) {
        const struct tg_mpi_thread *thread = tg_mpi_model_thread_at(draft->input->mpi, i);
        uint64_t lasted_ns =
            !thread->in_call ? 0
                             : tg_stillness_lasted(&draft->stillness, thread->process, thread->call.since_ns);
        if (lasted_ns > most_ns) {
            most_ns = lasted_ns;
            longest = thread;
        }
    }
    if (longest == NULL || longest->process >= draft->n_processes ||
        !tg_stillness_is_long(&draft->stillness, TG_WAIT_MPI, most_ns))
        return false;
    fputs(" It is not known who was waited for then: ", draft->stream);
    tg_words_process(draft->stream, draft->input, longest->process);
    fputs(" had been ", draft->stream);
    tg_words_mpi_thread(draft->stream, draft->input, longest);
    tg_stillness_print(draft->stream, &draft->stillness, TG_WAIT_MPI, most_ns);
    fputc('.', draft->stream);
    return true;
}

struct tg_error *tg_verdict_find_request(struct tg_verdict_draft *draft)
{
    const struct tg_process_entry *entry = draft->stillness.was_ended ? first_asked(draft) : NULL;
    if (entry == NULL || tg_verdict_is_explained(draft, entry->index))
        return NULL; /* it was that process alone, and that is said */
    struct tg_finding finding = {
        .kind = TG_FINDING_ASKED, .since_ns = entry->asked.time_ns, .process = entry->index};
    for (size_t i = 0; i < draft->result->count; i++)
        finding.is_consequence |= draft->result->findings[i].since_ns < finding.since_ns;
    print_request(draft, entry);
    bool is_parallel = tg_mpi_model_thread_count(draft->input->mpi) > 0 ||
                       tg_openmp_model_worker_count(draft->input->openmp) > 0;
    if (!finding.is_consequence && is_parallel && *draft->result->busy != '\0')
        fprintf(draft->stream, " At that time it was busy:%s", draft->result->busy);
    else if (!finding.is_consequence && is_parallel && !print_longest_call(draft))
        fputs(" No process was waiting for another at that time.", draft->stream);
    struct tg_error *error = tg_verdict_tell_places(draft);
    return error != NULL ? error : tg_verdict_add(draft, &finding);
}
