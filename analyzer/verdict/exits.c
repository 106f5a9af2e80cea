/* Ends with a status other than 0 that no call of MPI tells about: before the first one, after the last, or in a program
 * without MPI. */
#include "analyzer/finding/arrivals.h"
#include "analyzer/finding/words.h"
#include "analyzer/models/stack_places.h"
#include "analyzer/verdict/finders.h"

#include <inttypes.h>
#include <stdlib.h>

static bool has_finalized(const struct tg_verdict_draft *draft, const struct tg_process_entry *entry)
{
    const struct tg_mpi_process *mpi = tg_mpi_model_process(draft->input->mpi, entry->index);
    return mpi != NULL && mpi->finalized;
}

/* Whether ENTRY failed by itself: one that was asked to end says by its status that it was. */
static bool has_failed(const struct tg_verdict_draft *draft, const struct tg_process_entry *entry)
{
    return entry->end == TG_PROCESS_EXITED && entry->status != 0 && entry->asked.time_ns == 0 &&
           !(draft->stillness.was_asked && entry->ended_ns >= draft->stillness.at_ns) &&
           !tg_verdict_is_explained(draft, entry->index);
}

static bool are_alike(const struct tg_verdict_draft *draft, const struct tg_process_entry *one,
                      const struct tg_process_entry *other)
{
    return one == other ||
           (one->status == other->status && has_finalized(draft, one) == has_finalized(draft, other) &&
            !tg_words_has_several_jobs(draft->input->processes));
}

/* The ranks that failed as ENTRY did. */
struct alike {
    const struct tg_process_entry *first; /* to end */
    size_t count;
    int64_t *ranks;
    size_t *processes;
};

static void alike_deinit(struct alike *alike)
{
    free(alike->ranks);
    free(alike->processes);
}

static struct tg_error *alike_find(const struct tg_verdict_draft *draft, const struct tg_process_entry *entry,
                                   struct alike *alike)
{
    *alike = (struct alike){.first = entry,
                            .ranks = calloc(draft->n_processes, sizeof *alike->ranks),
                            .processes = calloc(draft->n_processes, sizeof *alike->processes)};
    if (alike->ranks == NULL || alike->processes == NULL)
        return tg_error_no_memory();
    for (size_t i = entry->index; i < draft->n_processes; i++) {
        const struct tg_process_entry *other = tg_process_model_at(draft->input->processes, i);
        if (other->rank < 0 || !has_failed(draft, other) || !are_alike(draft, entry, other))
            continue;
        alike->processes[alike->count] = i;
        alike->ranks[alike->count++] = other->rank;
        if (other->ended_ns < alike->first->ended_ns)
            alike->first = other;
    }
    return NULL;
}

/* Whether STACK has who called exit: not where main returned, and not in a program without names. */
static bool has_caller(const struct tg_verdict_draft *draft, const struct tg_last_stack *stack)
{
    struct tg_stack_place place = tg_stack_place_find(draft->input->stacks, stack);
    return place.is_known && place.at.function != NULL && *place.at.function != '\0';
}

/* Prints where the process called exit, if that is known, and the full stop. */
static void print_place(const struct tg_verdict_draft *draft, const struct tg_process_entry *entry)
{
    const struct tg_last_stack *stack =
        tg_verdict_stack_of(draft->input, entry->index, entry->pid, entry->start_ns);
    if (stack != NULL && has_caller(draft, stack)) {
        fputc(',', draft->stream);
        tg_verdict_print_stack(draft->stream, draft->input, stack);
    }
    fputc('.', draft->stream);
}

static struct tg_error *tell_ranks(struct tg_verdict_draft *draft, const struct alike *alike)
{
    FILE *stream = draft->stream;
    const struct tg_process_entry *first = alike->first;
    const struct tg_finding finding = {
        .kind = TG_FINDING_EARLY_EXIT, .since_ns = first->ended_ns, .process = first->index};
    if (alike->count > 1)
        tg_arrivals_print(stream, alike->ranks, alike->count, true);
    else
        tg_words_process(stream, draft->input, first->index);
    fprintf(stream, " exited with status %" PRId64, first->status);
    if (alike->count > 1) {
        fputs(", ", stream);
        tg_words_process(stream, draft->input, first->index);
        fputs(" first,", stream);
    }
    tg_words_moment(stream, draft->input, first->ended_ns);
    fputs(has_finalized(draft, first) ? ", after MPI_Finalize" : ", without having called MPI", stream);
    print_place(draft, first);
    for (size_t i = 0; i < alike->count; i++)
        tg_verdict_blame(draft, alike->processes[i], 0, 0);
    struct tg_error *error = tg_verdict_add(draft, &finding);
    for (size_t i = 0; i < alike->count; i++)
        tg_verdict_explain(draft, alike->processes[i]);
    return error;
}

struct tg_error *tg_verdict_find_rank_exits(struct tg_verdict_draft *draft)
{
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < draft->n_processes; i++) {
        const struct tg_process_entry *entry = tg_process_model_at(draft->input->processes, i);
        struct alike alike;
        if (entry->rank < 0 || !has_failed(draft, entry))
            continue;
        error = alike_find(draft, entry, &alike);
        if (error == NULL)
            error = tell_ranks(draft, &alike);
        alike_deinit(&alike);
    }
    return error;
}

/* Whether ENTRY is a job launcher that ended before it had started anything: too few slots, no such program. */
static bool started_nothing(const struct tg_verdict_draft *draft, const struct tg_process_entry *entry)
{
    const struct tg_mpir_model *mpir = draft->input->mpir;
    for (size_t i = 0; mpir != NULL && i < tg_mpir_model_count(mpir); i++) {
        const struct tg_mpir_starter *starter = tg_mpir_model_at(mpir, i);
        size_t n_ranks;
        tg_mpir_model_ranks(mpir, i, &n_ranks);
        if (starter->process == entry->index && starter->is_starter && n_ranks == 0)
            return entry->first_child == NULL;
    }
    return false;
}

/* The program that was recorded, where it started no ranks and nothing else is known of its end. */
struct tg_error *tg_verdict_find_program_exit(struct tg_verdict_draft *draft)
{
    const struct tg_process_entry *entry =
        draft->n_processes == 0 ? NULL : tg_process_model_at(draft->input->processes, 0);
    if (entry == NULL || entry->parent != NULL || draft->result->count > 0 || !has_failed(draft, entry))
        return NULL;
    for (size_t i = 0; i < draft->n_processes; i++)
        if (tg_process_model_at(draft->input->processes, i)->rank >= 0)
            return NULL;
    const struct tg_finding finding = {
        .kind = TG_FINDING_EARLY_EXIT, .since_ns = entry->ended_ns, .process = entry->index};
    tg_words_process(draft->stream, draft->input, entry->index);
    fprintf(draft->stream, " exited with status %" PRId64, entry->status);
    tg_words_moment(draft->stream, draft->input, entry->ended_ns);
    if (started_nothing(draft, entry)) {
        fputs(", before it had started any process of the job; what it printed says why.", draft->stream);
        return tg_verdict_add(draft, &finding);
    }
    print_place(draft, entry);
    return tg_verdict_add(draft, &finding);
}
