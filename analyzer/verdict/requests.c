/* Jobs that were asked to end: by whom, and what they did then. */
#include "analyzer/finding/arrivals.h"
#include "analyzer/finding/end_words.h"
#include "analyzer/finding/polling.h"
#include "analyzer/finding/words.h"
#include "analyzer/verdict/finders.h"
#include "format/base/signal_name.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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
        tg_end_words_sender(stream, draft->input, entry->asked.sender_pid, entry->asked.sender);
    else
        fputs(" from its terminal", stream);
    fputs(" to ", stream);
    if (entry->asked.sender_pid == entry->pid) /* as timeout(1) does, which is of the group that it ends */
        fputs("itself", stream);
    else
        tg_words_process(stream, draft->input, entry->index);
    fputc('.', stream);
}

/* Whether a thread of PROCESS (SIZE_MAX: of any) was in CALL. */
static bool is_in(const struct tg_verdict_draft *draft, size_t process, const char *call)
{
    for (size_t i = 0; i < tg_mpi_model_thread_count(draft->input->mpi); i++) {
        const struct tg_mpi_thread *thread = tg_mpi_model_thread_at(draft->input->mpi, i);
        if ((process == SIZE_MAX || thread->process == process) && thread->in_call &&
            strcmp(thread->call.name, call) == 0)
            return true;
    }
    return false;
}

/* Of calls whose partners are not recorded: what those had to call, and who did not. */
static struct tg_error *print_partners(struct tg_verdict_draft *draft, const char *call)
{
    static const char *const ends[][2] = {{"MPI_Comm_connect", "MPI_Comm_accept"},
                                          {"MPI_Comm_accept", "MPI_Comm_connect"}};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        if (strcmp(call, ends[i][0]) == 0 && !is_in(draft, SIZE_MAX, ends[i][1]))
            fprintf(draft->stream, " No process in this trace was in %s then.", ends[i][1]);
    if (strcmp(call, "MPI_Comm_create_from_group") != 0)
        return NULL;
    int64_t *ranks = calloc(draft->n_processes + 1, sizeof *ranks);
    if (ranks == NULL)
        return tg_error_no_memory();
    size_t n = 0;
    for (size_t i = 0; i < draft->n_processes; i++) {
        int64_t rank = tg_process_model_at(draft->input->processes, i)->rank;
        if (rank >= 0 && !is_in(draft, i, call))
            ranks[n++] = rank;
    }
    fputs(" All ranks of its group have to call it; which ones those are is not recorded.", draft->stream);
    if (n > 0) {
        fputc(' ', draft->stream);
        tg_arrivals_print(draft->stream, ranks, n, true);
        fputs(n == 1 ? " was not in it." : " were not in it.", draft->stream);
    }
    free(ranks);
    return NULL;
}

static void print_partner(struct tg_verdict_draft *draft, size_t partner, bool sends)
{
    fputs(sends ? " The sender is " : " The receiver is ", draft->stream);
    tg_words_process(draft->stream, draft->input, partner);
    fputs(": ", draft->stream);
    tg_words_process_state(draft->stream, draft->input, partner);
    fputc('.', draft->stream);
}

/* What THREAD's call needs of another process, which does other things meanwhile; NULL: not known. */
static const struct tg_verdict_wait *wait_of(const struct tg_verdict_draft *draft,
                                             const struct tg_mpi_thread *thread)
{
    for (size_t i = 0; i < draft->n_waits; i++)
        if (draft->waits[i].thread == thread && !draft->waits[i].is_choice &&
            draft->waits[i].to < draft->n_processes)
            return &draft->waits[i];
    return NULL;
}

/* Prints who had not come to the collective that THREAD waits in: they may have been on their way. */
static void print_absent(struct tg_verdict_draft *draft, const struct tg_mpi_thread *thread)
{
    size_t n = 0;
    for (size_t i = 0; i < draft->n_waits; i++) {
        const struct tg_verdict_wait *wait = &draft->waits[i];
        if (wait->thread != thread || wait->to >= draft->n_processes || n++ > 0)
            continue;
        fputs(" Still to come was ", draft->stream);
        tg_words_process(draft->stream, draft->input, wait->to);
        fputs(": ", draft->stream);
        tg_words_process_state(draft->stream, draft->input, wait->to);
        fputc('.', draft->stream);
    }
    if (n > 1)
        fprintf(draft->stream, " %zu more were.", n - 1);
}

/* Prints who had been in a call of MPI for long, although it is not known whom it waited for. *HAS_ONE: somebody had. */
static struct tg_error *print_longest_call(struct tg_verdict_draft *draft, bool *has_one)
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
        return NULL;
    *has_one = true;
    const struct tg_verdict_wait *wait = wait_of(draft, longest);
    bool is_message = wait != NULL && longest->call.instance == 0;
    fputs(wait != NULL ? " At that time " : " It is not known who was waited for then: ", draft->stream);
    tg_words_process(draft->stream, draft->input, longest->process);
    fputs(" had been ", draft->stream);
    tg_words_mpi_thread(draft->stream, draft->input, longest);
    tg_stillness_print(draft->stream, &draft->stillness, TG_WAIT_MPI, most_ns);
    fputc('.', draft->stream);
    if (is_message)
        print_partner(draft, wait->to, !wait->sends);
    else if (wait != NULL)
        print_absent(draft, longest);
    return print_partners(draft, longest->call.name);
}

/* The process of which THREAD, which polls, needs a message that has not been sent, or that is to receive one; SIZE_MAX: not
 * known. */
static size_t partner_of(const struct tg_verdict_draft *draft, const struct tg_mpi_thread *thread,
                         bool *sends)
{
    struct tg_mpi_message message;
    const struct tg_mpi_model *mpi = draft->input->mpi;
    const struct tg_mpi_process *own = tg_mpi_model_process(mpi, thread->process);
    *sends = true;
    if (thread->n_requests == 0 && own != NULL)
        return thread->call.peer < 0 ? SIZE_MAX
                                     : tg_mpi_model_process_of(mpi, thread->process, own->job,
                                                               thread->call.comm, thread->call.peer);
    if (thread->n_requests != 1 ||
        !tg_mpi_model_request(mpi, thread->process, thread->requests[0], &message) ||
        (message.id == 0 && tg_mpi_model_has_send(mpi, &message)))
        return SIZE_MAX;
    *sends = message.id == 0;
    int64_t rank = *sends ? message.source : message.destination;
    return rank < 0 ? SIZE_MAX
                    : tg_mpi_model_process_of(mpi, thread->process, message.job, message.comm, rank);
}

/* Prints who had been polling, of several the one that had for the longest time. *HAS_ONE: somebody had. */
static void print_poller(struct tg_verdict_draft *draft, bool *has_one)
{
    enum { WORTH_TELLING_NS = 100000000 };
    const struct tg_mpi_thread *longest = NULL;
    uint64_t most_ns = WORTH_TELLING_NS;
    for (size_t i = 0; i < tg_mpi_model_thread_count(draft->input->mpi); i++) {
        const struct tg_mpi_thread *thread = tg_mpi_model_thread_at(draft->input->mpi, i);
        uint64_t since_ns = thread->polled_ns != 0 ? thread->polls_since_ns : thread->left_ns;
        uint64_t lasted_ns = tg_stillness_lasted(&draft->stillness, thread->process, since_ns);
        if (lasted_ns > most_ns && thread->process < draft->n_processes &&
            tg_polling_is(draft->input, thread)) {
            most_ns = lasted_ns;
            longest = thread;
        }
    }
    if (longest == NULL)
        return;
    bool sends;
    size_t partner = partner_of(draft, longest, &sends);
    *has_one = true;
    fputs(" At that time ", draft->stream);
    tg_words_process(draft->stream, draft->input, longest->process);
    fputs(" had been ", draft->stream);
    tg_words_mpi_thread(draft->stream, draft->input, longest);
    tg_stillness_print(draft->stream, &draft->stillness, TG_WAIT_MPI, most_ns);
    fputc('.', draft->stream);
    if (partner < draft->n_processes)
        print_partner(draft, partner, sends);
}

/* Prints whose waits were long, and are not called a hang because other threads of theirs may have ended them. */
static void print_work(struct tg_verdict_draft *draft)
{
    size_t n = 0, told = 0;
    for (size_t i = 0; i < draft->n_processes; i++)
        n += draft->was_at_work[i];
    if (n == 0)
        return;
    fputs(" Other threads of ", draft->stream);
    for (size_t i = 0; i < draft->n_processes && told < TG_VERDICT_NAMED; i++) {
        if (!draft->was_at_work[i])
            continue;
        tg_verdict_separate(draft->stream, told++, n);
        tg_words_process(draft->stream, draft->input, i);
    }
    tg_verdict_more(draft->stream, n);
    fputs(
        " were at work, and may call MPI as well: whether what waits in MPI there could have gone on is not "
        "known.",
        draft->stream);
}

/* Whether a thread is in a call of MPI at the end of the trace: one that began after the moment that is judged hides what it waited
 * for then. */
static bool is_any_in_mpi(const struct tg_verdict_draft *draft)
{
    for (size_t i = 0; i < tg_mpi_model_thread_count(draft->input->mpi); i++)
        if (tg_mpi_model_thread_at(draft->input->mpi, i)->in_call)
            return true;
    return false;
}

/* Prints what the job did when it was asked to end. */
static struct tg_error *print_what_was(struct tg_verdict_draft *draft)
{
    bool has_one = false, is_idle = *draft->result->busy == '\0';
    struct tg_error *error = print_longest_call(draft, &has_one);
    if (error == NULL && has_one)
        print_work(draft);
    if (error != NULL || has_one)
        return error;
    if (!is_idle) {
        fprintf(draft->stream, " At that time it was busy.%s", draft->result->busy);
        return NULL;
    }
    print_poller(draft, &has_one);
    if (!has_one && draft->stillness.passed_over[TG_WAIT_MPI] > 0) { /* by the longest call */
        fputs(" At that time it was busy.", draft->stream);
        tg_stillness_print_busy(draft->stream, &draft->stillness);
    } else if (!has_one) {
        fputs(is_any_in_mpi(draft) ? " No process had been waiting for another for long."
                                   : " No process was waiting for another at that time.",
              draft->stream);
    }
    return NULL;
}

struct tg_error *tg_verdict_find_request(struct tg_verdict_draft *draft)
{
    const struct tg_process_entry *entry = draft->stillness.was_ended ? first_asked(draft) : NULL;
    if (entry == NULL || tg_verdict_is_explained(draft, entry->index))
        return NULL; /* only that process was asked to end, and that is said */
    struct tg_finding finding = {
        .kind = TG_FINDING_ASKED, .since_ns = entry->asked.time_ns, .process = entry->index};
    for (size_t i = 0; i < draft->result->count; i++)
        finding.is_consequence |= draft->result->findings[i].since_ns < finding.since_ns ||
                                  draft->result->findings[i].kind == TG_FINDING_DEADLOCK;
    print_request(draft, entry);
    bool is_parallel = tg_mpi_model_thread_count(draft->input->mpi) > 0 ||
                       tg_openmp_model_worker_count(draft->input->openmp) > 0;
    struct tg_error *error = finding.is_consequence || !is_parallel ? NULL : print_what_was(draft);
    if (error == NULL)
        error = tg_verdict_tell_places(draft);
    return error != NULL ? error : tg_verdict_add(draft, &finding);
}
