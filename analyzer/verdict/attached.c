/* Processes that were attached: nothing has seen what they called before. Who waits for whom is judged by their stacks, as
 * `tollgate where` does: those of the last look, compared with those of the attach. */
#include "analyzer/finding/attachment.h"
#include "analyzer/finding/words.h"
#include "analyzer/verdict/finders.h"
#include "analyzer/verdict/sentences.h"
#include "analyzer/where/verdict_words.h"

#include <stdlib.h>

/* What is known of the job by stacks. */
struct looks {
    struct tg_where_look now, before;
    struct tg_stack_model *first; /* stacks of the attach, where there are later ones */
    struct tg_where_threads threads;
    struct tg_where_verdict verdict;
    bool is_outdated; /* the first look is of no use */
    bool is_stopped;  /* neither is it: ranks have not run since then */
};

static void deinit(struct looks *looks)
{
    tg_where_verdict_deinit(&looks->verdict);
    tg_where_threads_deinit(&looks->threads);
    tg_where_look_deinit(&looks->now);
    tg_where_look_deinit(&looks->before);
    tg_stack_model_destroy(looks->first);
}

/* Whether ranks came back from calls since the first of two looks, which is long ago: that says nothing of now. */
static bool is_outdated(const struct tg_where_threads *threads)
{
    static const uint64_t long_ns = 3000000000;
    bool has_returned = false;
    for (size_t i = 0; i < threads->count; i++)
        has_returned |= threads->threads[i].is_rank && threads->threads[i].has_returned;
    return has_returned && threads->apart_ns > long_ns;
}

/* Whether a debugger has stopped the process of ENTRY ever since it was attached, and looked at at LOOK_NS: at once, not when it
 * had run for a while (`live --run -p`). */
static bool has_been_stopped(const struct tg_process_entry *entry, uint64_t look_ns)
{
    static const uint64_t at_once_ns = 1000000000;
    return entry->n_kept > 0 && entry->released_ns == 0 && entry->kept_ns < look_ns + at_once_ns;
}

/* Whether ranks have not run since the first of two looks: that they are where they were says nothing of them. */
static bool are_stopped(const struct tg_verdict_input *input, const struct looks *looks)
{
    for (size_t i = 0; i < looks->threads.count; i++) {
        const struct tg_where_thread *thread = &looks->threads.threads[i];
        const struct tg_last_stack *before =
            tg_stack_model_find(looks->first, thread->stack->process, thread->stack->tid);
        if (thread->is_rank && before != NULL &&
            has_been_stopped(tg_process_model_at(input->processes, thread->stack->process), before->time_ns))
            return true;
    }
    return false;
}

static struct tg_error *judge(const struct tg_verdict_input *input, struct looks *looks)
{
    struct tg_error *error = tg_where_look_of_models(&looks->now, input->processes, input->stacks);
    if (error == NULL)
        error = tg_stack_model_copy_first(input->stacks, &looks->first);
    bool has_two = error == NULL && tg_stack_model_count(looks->first) > 0;
    if (has_two)
        error = tg_where_look_of_models(&looks->before, input->processes, looks->first);
    if (error == NULL)
        error = tg_where_threads_make(&looks->now, has_two ? &looks->before : NULL, &looks->threads);
    looks->is_stopped = error == NULL && has_two && are_stopped(input, looks);
    if (error == NULL && (looks->is_stopped || is_outdated(&looks->threads))) {
        looks->is_outdated = !looks->is_stopped;
        tg_where_threads_deinit(&looks->threads);
        error = tg_where_threads_make(&looks->now, NULL, &looks->threads);
    }
    if (error == NULL)
        error = tg_where_verdict_make(&looks->threads, &looks->verdict);
    return error;
}

/* ---- words */

static struct tg_error *write_answer(FILE *stream, const struct looks *looks)
{
    char *text = NULL;
    size_t size;
    FILE *answer = open_memstream(&text, &size);
    if (answer == NULL)
        return tg_error_no_memory();
    bool has_answer = tg_where_verdict_write(answer, &looks->threads, &looks->verdict);
    if (fclose(answer) != 0) {
        free(text);
        return tg_error_no_memory();
    }
    if (has_answer)
        tg_sentences_write(stream, ':', text);
    else
        fputs(" no thread waits for another one that is known.", stream);
    free(text);
    return NULL;
}

/* The moment since which no call of MPI has begun or ended, where those of all ranks were observed; 0: not known, or a rank
 * is outside MPI. */
static uint64_t quiet_since(const struct tg_verdict_input *input, const struct looks *looks)
{
    uint64_t since_ns = 0;
    size_t n_ranks = 0;
    for (size_t i = 0; i < tg_mpi_model_thread_count(input->mpi); i++) {
        const struct tg_mpi_thread *thread = tg_mpi_model_thread_at(input->mpi, i);
        const struct tg_process_entry *entry = tg_process_model_at(input->processes, thread->process);
        if (!thread->alive || entry->rank < 0)
            continue;
        if (!thread->in_call)
            return 0;
        n_ranks += thread->tid == entry->pid;
        since_ns = thread->call.since_ns > since_ns ? thread->call.since_ns : since_ns;
    }
    return n_ranks > 0 && n_ranks == looks->threads.n_ranks ? since_ns : 0;
}

/* How old what the stacks say is. */
static void write_age(FILE *stream, const struct tg_verdict_input *input, const struct looks *looks)
{
    uint64_t since_ns = quiet_since(input, looks);
    if (looks->is_stopped) {
        fputs(" Ranks have been stopped by the debugger since they were attached: who goes on when they are "
              "resumed is unknown.",
              stream);
    } else if (since_ns != 0) {
        fputs(" No call of MPI has begun or ended", stream);
        tg_words_since(stream, input, since_ns);
        fputc('.', stream);
    } else if (looks->is_outdated) {
        fputs(
            " Ranks have come back from calls of MPI since they were attached; whether the job still goes on "
            "is unknown.",
            stream);
    }
}

/* ---- the finding */

static enum tg_finding_kind kind_of(enum tg_where_kind kind)
{
    switch (kind) {
    case TG_WHERE_DEADLOCK:
    case TG_WHERE_CYCLE:
        return TG_FINDING_DEADLOCK;
    case TG_WHERE_MISSING:
    case TG_WHERE_UNSEEN:
        return TG_FINDING_COLLECTIVE;
    case TG_WHERE_DIFFERENT:
    case TG_WHERE_UNKNOWN:
    case TG_WHERE_BUSY:
    case TG_WHERE_MOVES:
    case TG_WHERE_RUNS:
    case TG_WHERE_SUSPENDED:
    case TG_WHERE_CRASHED:
    case TG_WHERE_OUTSIDE:
    case TG_WHERE_POLLS:
        break;
    }
    return TG_FINDING_INTERRUPTED;
}

/* Blames the threads that the others wait for. */
static void blame(struct tg_verdict_draft *draft, const struct looks *looks)
{
    for (size_t i = 0; looks->verdict.kind == TG_WHERE_MISSING && i < looks->verdict.count; i++) {
        const struct tg_where_group *group = &looks->verdict.groups[i];
        for (size_t k = 0; group->is_away && group->awaited == TG_WHERE_AWAITED && k < group->count; k++) {
            const struct tg_last_stack *stack = looks->threads.threads[group->threads[k]].stack;
            tg_verdict_blame(draft, stack->process, stack->tid, 0);
        }
    }
}

static bool is_attached(const struct tg_verdict_input *input, const struct tg_last_stack *stack)
{
    return tg_attachment_is_late(input, stack->process) &&
           (stack->reason == TG_STACK_LOOK || stack->reason == TG_STACK_DETACH);
}

/* The latest of the stacks of attached processes, NULL: there are none, or something else has happened since. */
static const struct tg_last_stack *find_latest(const struct tg_verdict_input *input)
{
    const struct tg_last_stack *latest = NULL;
    for (size_t i = 0; input->stacks != NULL && i < tg_stack_model_count(input->stacks); i++) {
        const struct tg_last_stack *stack = tg_stack_model_at(input->stacks, i);
        if (!is_attached(input, stack))
            return NULL;
        if (latest == NULL || stack->time_ns > latest->time_ns)
            latest = stack;
    }
    return latest;
}

static uint64_t attached_ns(const struct tg_verdict_input *input)
{
    uint64_t first_ns = UINT64_MAX;
    for (size_t i = 0; i < tg_process_model_count(input->processes); i++) {
        const struct tg_process_entry *entry = tg_process_model_at(input->processes, i);
        if (entry->origin == TG_ORIGIN_ATTACHED && entry->start_ns < first_ns)
            first_ns = entry->start_ns;
    }
    return first_ns;
}

struct tg_error *tg_verdict_find_attached(struct tg_verdict_draft *draft)
{
    const struct tg_verdict_input *input = draft->input;
    const struct tg_last_stack *latest = draft->result->count > 0 ? NULL : find_latest(input);
    struct looks looks = {0};
    if (latest == NULL)
        return NULL;
    struct tg_error *error = judge(input, &looks);
    if (error == NULL) {
        fputs("by the stacks", draft->stream);
        tg_words_moment(draft->stream, input, latest->time_ns);
        fputc(':', draft->stream);
        error = write_answer(draft->stream, &looks);
    }
    if (error == NULL)
        write_age(draft->stream, input, &looks);
    if (error == NULL) {
        fputs(" What was called before is unknown: attached", draft->stream);
        tg_words_moment(draft->stream, input, attached_ns(input));
        fputc('.', draft->stream);
        blame(draft, &looks);
        error = tg_verdict_add(draft, &(struct tg_finding){.kind = kind_of(looks.verdict.kind),
                                                           .since_ns = latest->time_ns,
                                                           .process = latest->process});
    }
    draft->has_told_places = true;
    deinit(&looks);
    return error;
}
