/* Processes that a launcher started as ranks of one job, and that MPI has not joined: with the launcher of another MPI library
 * each becomes rank 0 of a job of its own. */
#include "analyzer/finding/draft.h"
#include "analyzer/output/apart_words.h"
#include "analyzer/output/rank_ranges.h"
#include "analyzer/verdict/finders.h"

#include <stdlib.h>

/* Whether MPI has joined others of the job that the launcher of ENTRY started: then ENTRY is what one of these started. */
static bool has_joined(const struct tg_verdict_draft *draft, const struct tg_process_entry *entry)
{
    for (size_t i = 0; i < draft->n_processes; i++) {
        const struct tg_process_entry *other = tg_process_model_at(draft->input->processes, i);
        if (other->rank >= 0 && other->job == entry->launch.job && other->claim.evidence == TG_RANK_CALLS_MPI)
            return true;
    }
    return false;
}

/* Whether one of the processes that were started with ENTRY crashed, which it did not do for being alone. */
static bool has_crashed(const struct tg_verdict_draft *draft, const struct tg_process_entry *entry)
{
    for (size_t i = entry->index; i < draft->n_processes; i++) {
        const struct tg_process_entry *other = tg_process_model_at(draft->input->processes, i);
        if (other->launch.is_in_vain && other->launch.job == entry->launch.job &&
            other->end == TG_PROCESS_KILLED && tg_verdict_is_fault(other->status))
            return true;
    }
    return false;
}

/* Collects the numbers that the launcher of FIRST gave to those of its job that are apart; blames them. */
static size_t collect(struct tg_verdict_draft *draft, const struct tg_process_entry *first, int64_t *ranks)
{
    const struct tg_process_model *processes = draft->input->processes;
    size_t count = 0;
    for (size_t i = first->index; i < draft->n_processes; i++) {
        const struct tg_process_entry *entry = tg_process_model_at(processes, i);
        if (!entry->launch.is_in_vain || entry->launch.job != first->launch.job)
            continue;
        ranks[count++] = entry->launch.rank;
        tg_verdict_blame(draft, i, 0, 0);
    }
    return tg_rank_ranges_sort(ranks, count);
}

static struct tg_error *tell(struct tg_verdict_draft *draft, const struct tg_process_entry *first,
                             int64_t *ranks)
{
    const struct tg_finding finding = {.kind = TG_FINDING_APART,
                                       .since_ns = first->start_ns,
                                       .process = first->index,
                                       .is_warning = draft->is_good_end || has_crashed(draft, first)};
    size_t count = collect(draft, first, ranks);
    tg_apart_words(draft->stream, &first->launch, ranks, count);
    return tg_verdict_add(draft, &finding);
}

/* Whether an earlier one is of the same job. */
static bool is_told(const struct tg_process_model *processes, const struct tg_process_entry *entry)
{
    for (size_t i = 0; i < entry->index; i++) {
        const struct tg_process_entry *earlier = tg_process_model_at(processes, i);
        if (earlier->launch.is_in_vain && earlier->launch.job == entry->launch.job)
            return true;
    }
    return false;
}

struct tg_error *tg_verdict_find_lone_worlds(struct tg_verdict_draft *draft)
{
    struct tg_error *error = NULL;
    int64_t *ranks = NULL;
    for (size_t i = 0; error == NULL && i < draft->n_processes; i++) {
        const struct tg_process_entry *entry = tg_process_model_at(draft->input->processes, i);
        if (!entry->launch.is_in_vain || is_told(draft->input->processes, entry) || has_joined(draft, entry))
            continue;
        if (ranks == NULL)
            ranks = calloc(draft->n_processes, sizeof *ranks);
        error = ranks == NULL ? tg_error_no_memory() : tell(draft, entry, ranks);
    }
    free(ranks);
    return error;
}
