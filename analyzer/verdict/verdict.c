#include "analyzer/verdict/verdict.h"

#include "analyzer/finding/attachment.h"
#include "analyzer/verdict/edges.h"
#include "analyzer/verdict/finders.h"

#include <stdlib.h>
#include <string.h>

/* Whether there is something to be explained: a process that was killed, ended with an error, or never ended. */
static bool is_called_for(const struct tg_process_model *processes)
{
    for (size_t i = 0; i < tg_process_model_count(processes); i++) {
        const struct tg_process_entry *entry = tg_process_model_at(processes, i);
        if (entry->end == TG_PROCESS_KILLED || entry->end == TG_PROCESS_RUNNING ||
            entry->end == TG_PROCESS_DETACHED || (entry->end == TG_PROCESS_EXITED && entry->status != 0))
            return true;
    }
    return false;
}

void tg_verdict_deinit(struct tg_verdict *result)
{
    for (size_t i = 0; i < result->count; i++) {
        free(result->findings[i].text);
        free(result->findings[i].culprits);
    }
    for (size_t i = 0; i < result->n_edges; i++)
        free(result->edges[i].why);
    free(result->findings);
    free(result->edges);
    free(result->busy);
    *result = (struct tg_verdict){0};
}

/* ---- all together */

/* Causes before what comes of them. */
static int order_of(const struct tg_finding *finding)
{
    if (finding->is_warning)
        return finding->kind == TG_FINDING_HEAP ? 6 : finding->kind == TG_FINDING_LEAK ? 7 : 5;
    switch (finding->kind) {
    case TG_FINDING_APART:
    case TG_FINDING_HEAP:
        return -1;
    case TG_FINDING_CRASH:
    case TG_FINDING_STARTER:
        return finding->is_consequence ? 5 : 0;
    case TG_FINDING_KILL:
    case TG_FINDING_EARLY_EXIT:
    case TG_FINDING_ERROR:
    case TG_FINDING_MISMATCH:
    case TG_FINDING_MISUSE:
    case TG_FINDING_STOPPED:
        return 0;
    case TG_FINDING_ASKED:
        return finding->is_consequence ? 6 : 0;
    case TG_FINDING_DEADLOCK:
        return 1;
    case TG_FINDING_LOCK:
    case TG_FINDING_TASK:
    case TG_FINDING_SEND:
    case TG_FINDING_RECEIVE:
    case TG_FINDING_WINDOW:
        return finding->is_consequence ? 4 : 2;
    case TG_FINDING_UNRECEIVED:
    case TG_FINDING_INCOMPLETE:
        return 5;
    case TG_FINDING_INTERRUPTED:
        return 6;
    case TG_FINDING_LEAK:
        return 7;
    case TG_FINDING_COLLECTIVE:
    case TG_FINDING_BARRIER:
        break;
    }
    return finding->is_consequence ? 5 : 3;
}

static int compare_findings(const void *a, const void *b)
{
    const struct tg_finding *x = a, *y = b;
    if (order_of(x) != order_of(y))
        return order_of(x) < order_of(y) ? -1 : 1;
    if (x->since_ns != y->since_ns)
        return x->since_ns < y->since_ns ? -1 : 1;
    return strcmp(x->text, y->text);
}

/* A sentence begins with a capital letter. */
static void capitalise(char *text)
{
    if (text[0] >= 'a' && text[0] <= 'z')
        text[0] = (char)(text[0] - 'a' + 'A');
}

static int compare_threads(const void *a, const void *b)
{
    const struct tg_mpi_thread *x = *(const struct tg_mpi_thread *const *)a,
                               *y = *(const struct tg_mpi_thread *const *)b;
    return x->process < y->process ? -1 : x->process > y->process;
}

static struct tg_error *sort_threads(struct tg_verdict_draft *draft)
{
    const struct tg_mpi_model *mpi = draft->input->mpi;
    size_t count = tg_mpi_model_thread_count(mpi);
    draft->threads = calloc(count + 1, sizeof *draft->threads);
    if (draft->threads == NULL)
        return tg_error_no_memory();
    for (draft->n_threads = 0; draft->n_threads < count; draft->n_threads++)
        draft->threads[draft->n_threads] = tg_mpi_model_thread_at(mpi, draft->n_threads);
    qsort(draft->threads, count, sizeof *draft->threads, compare_threads);
    return NULL;
}

static struct tg_error *create(struct tg_verdict_draft *draft)
{
    draft->n_processes = tg_process_model_count(draft->input->processes);
    tg_stillness_measure(draft->input, &draft->stillness);
    draft->is_waiting = calloc(draft->n_processes + 1, sizeof *draft->is_waiting);
    draft->is_stuck = calloc(draft->n_processes + 1, sizeof *draft->is_stuck);
    draft->is_let_down = calloc(draft->n_processes + 1, sizeof *draft->is_let_down);
    draft->work = calloc(draft->n_processes + 1, sizeof *draft->work);
    draft->was_at_work = calloc(draft->n_processes + 1, sizeof *draft->was_at_work);
    draft->explained_by = calloc(draft->n_processes + 1, sizeof *draft->explained_by);
    draft->ring_of = calloc(draft->n_processes + 1, sizeof *draft->ring_of);
    draft->stream = open_memstream(&draft->text, &draft->size);
    if (draft->is_waiting == NULL || draft->is_stuck == NULL || draft->is_let_down == NULL ||
        draft->work == NULL || draft->was_at_work == NULL || draft->explained_by == NULL ||
        draft->ring_of == NULL || draft->stream == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < draft->n_processes; i++)
        draft->explained_by[i] = draft->ring_of[i] = SIZE_MAX;
    return sort_threads(draft);
}

static void destroy(struct tg_verdict_draft *draft)
{
    if (draft->stream != NULL)
        fclose(draft->stream);
    free(draft->text);
    tg_mpi_matching_deinit(&draft->matching);
    free(draft->halves);
    free(draft->is_stuck);
    free(draft->is_let_down);
    free(draft->threads);
    free(draft->work);
    free(draft->was_at_work);
    free(draft->waits);
    free(draft->is_waiting);
    free(draft->explained_by);
    free(draft->ring_of);
}

static struct tg_error *tell_busy(struct tg_verdict_draft *draft)
{
    size_t size;
    FILE *stream = open_memstream(&draft->result->busy, &size);
    if (stream == NULL)
        return tg_error_no_memory();
    tg_stillness_print_busy(stream, &draft->stillness);
    return fclose(stream) == 0 ? NULL : tg_error_no_memory();
}

/* Sorts the findings and makes sentences of their texts. */
static struct tg_error *finish(struct tg_verdict_draft *draft)
{
    struct tg_verdict *result = draft->result;
    size_t *number_of = calloc(result->count + 1, sizeof *number_of);
    if (number_of == NULL)
        return tg_error_no_memory();
    if (result->count > 0)
        qsort(result->findings, result->count, sizeof *result->findings, compare_findings);
    for (size_t i = 0; i < result->count; i++)
        number_of[result->findings[i].id] = i;
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < result->count; i++) {
        char *text = tg_verdict_resolve(result->findings[i].text, number_of);
        if (text == NULL) {
            error = tg_error_no_memory();
            break;
        }
        capitalise(text);
        free(result->findings[i].text);
        result->findings[i].text = text;
    }
    free(number_of);
    return error;
}

/* The searches, in order; of a job that ended well a few are of interest, and of one that was attached those that need not know
 * which calls there were before. */
static const struct {
    struct tg_error *(*find)(struct tg_verdict_draft *draft);
    bool is_for_good_ends, needs_all_calls;
} searches[] = {
    {tg_verdict_collect_waits, false, true},      {tg_verdict_find_heap_errors, true, false},
    {tg_verdict_find_lone_worlds, true, false},   {tg_verdict_find_errors, true, false},
    {tg_verdict_find_ends, false, false},         {tg_verdict_find_rank_exits, false, false},
    {tg_verdict_find_stops, false, false},        {tg_verdict_find_starters, false, false},
    {tg_verdict_find_deadlocks, false, false}, /* of threads in the kernel */
    {tg_verdict_find_mismatches, true, true},     {tg_verdict_find_intercomms, false, true},
    {tg_verdict_find_confusions, true, true},     {tg_verdict_find_remarks, true, true},
    {tg_verdict_find_leftovers, true, true},      {tg_verdict_find_leaks, true, false},
    {tg_verdict_find_rings, false, true},         {tg_verdict_draw_mpi, false, true},
    {tg_verdict_find_openmp, false, false},       {tg_verdict_find_mpi, false, true},
    {tg_verdict_find_program_exit, false, false}, {tell_busy, false, false},
    {tg_verdict_find_request, false, false},      {tg_verdict_find_attached, false, false},
    {tg_verdict_find_interruption, false, false},
};

/* Whether calls of a rank are known only from the moment on when it was attached. */
static bool misses_calls(const struct tg_verdict_input *input)
{
    for (size_t i = 0; i < tg_process_model_count(input->processes); i++)
        if (tg_process_model_at(input->processes, i)->rank >= 0 && tg_attachment_is_late(input, i))
            return true;
    return false;
}

struct tg_error *tg_verdict_make(const struct tg_verdict_input *input, struct tg_verdict *result)
{
    struct tg_verdict made = {0};
    struct tg_verdict_input judged = *input;
    struct tg_verdict_draft draft = {
        .input = &judged, .result = &made, .is_good_end = !is_called_for(input->processes)};
    struct tg_error *error = create(&draft);
    judged.judged_ns = draft.stillness.at_ns;
    if (error == NULL)
        error = tg_work_find(&judged, draft.work);
    bool has_all_calls = !misses_calls(input);
    for (size_t i = 0; error == NULL && i < sizeof searches / sizeof searches[0]; i++)
        if ((!draft.is_good_end || searches[i].is_for_good_ends) &&
            (has_all_calls || !searches[i].needs_all_calls))
            error = searches[i].find(&draft);
    if (error == NULL)
        error = finish(&draft);
    destroy(&draft);
    if (error != NULL) {
        tg_verdict_deinit(&made);
        return error;
    }
    *result = made;
    return NULL;
}
