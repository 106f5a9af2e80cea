/* Jobs that were asked to end: by whom, and what they did then. */
#include "analyzer/verdict/end_words.h"
#include "analyzer/verdict/finders.h"
#include "analyzer/verdict/words.h"
#include "format/base/signal_name.h"

#include <inttypes.h>

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
