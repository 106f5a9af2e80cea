/* Mistakes in the use of the heap, which come before what comes of them. */
#include "analyzer/finding/arrivals.h"
#include "analyzer/finding/words.h"
#include "analyzer/heap/fault_words.h"
#include "analyzer/output/heap_error_words.h"
#include "analyzer/output/quantity.h"
#include "analyzer/verdict/finders.h"

#include <stdlib.h>

/* The same mistake, in another process perhaps. */
static bool is_alike(const struct tg_heap_fault *a, const struct tg_heap_fault *b)
{
    return a->is.error == b->is.error && a->path == b->path && a->allocated_path == b->allocated_path &&
           a->freed_path == b->freed_path && a->path != 0;
}

static bool is_told(const struct tg_verdict_draft *draft, const struct tg_heap_fault *fault)
{
    if (fault->process >= draft->n_processes)
        return false;
    if (tg_heap_error_is_mistake(&fault->is))
        return true;
    /* programs may cope with an allocation that fails: only where nothing better is known than that they did not */
    const struct tg_process_entry *entry = tg_process_model_at(draft->input->processes, fault->process);
    return fault->is.error == TG_HEAP_ALLOC_NULL && !draft->is_good_end &&
           (entry->end == TG_PROCESS_KILLED || (entry->end == TG_PROCESS_EXITED && entry->status != 0));
}

/* Prints whom the fault I is about: its process, and the ranks that did the same later, which are told by that. */
static struct tg_error *print_who(struct tg_verdict_draft *draft, size_t i, bool *done, uint64_t *count)
{
    const struct tg_heap_model *heap = draft->input->heap;
    const struct tg_heap_fault *fault = tg_heap_model_fault_at(heap, i);
    size_t n_faults = tg_heap_model_fault_count(heap), n = 0;
    int64_t *ranks = calloc(n_faults + 1, sizeof *ranks);
    if (ranks == NULL)
        return tg_error_no_memory();
    for (size_t other = i; other < n_faults; other++) {
        const struct tg_heap_fault *like = tg_heap_model_fault_at(heap, other);
        if (other != i && (!is_told(draft, like) || !is_alike(fault, like)))
            continue;
        done[other] = true;
        *count += like->count;
        int64_t rank = tg_process_model_at(draft->input->processes, like->process)->rank;
        if (rank >= 0)
            ranks[n++] = rank;
        tg_verdict_blame(draft, like->process, like->tid, 0);
    }
    if (n > 0)
        tg_arrivals_print(draft->stream, ranks, n, true);
    else
        tg_words_process(draft->stream, draft->input, fault->process);
    free(ranks);
    return NULL;
}

static struct tg_error *tell(struct tg_verdict_draft *draft, size_t i, bool *done)
{
    const struct tg_heap_fault *fault = tg_heap_model_fault_at(draft->input->heap, i);
    const struct tg_heap_path_names names = {draft->input->stacks, draft->input->heap_files};
    const struct tg_finding finding = {.kind = TG_FINDING_HEAP,
                                       .since_ns = fault->time_ns,
                                       .process = fault->process,
                                       .is_warning = draft->is_good_end};
    char times[TG_QUANTITY_SIZE];
    uint64_t count = 0;
    struct tg_error *error = print_who(draft, i, done, &count);
    if (error != NULL)
        return error;
    tg_words_moment(draft->stream, draft->input,
                    fault->time_ns); /* found then; it may have been done before */
    if (count > 1)
        fprintf(draft->stream, ", first of %s times", tg_quantity_count(count, times));
    fputs(": ", draft->stream);
    tg_heap_words_fault(draft->stream, &names, draft->input->heap, fault);
    fputc('.', draft->stream);
    return tg_verdict_add(draft, &finding);
}

struct tg_error *tg_verdict_find_heap_errors(struct tg_verdict_draft *draft)
{
    const struct tg_heap_model *heap = draft->input->heap;
    if (heap == NULL || draft->input->stacks == NULL)
        return NULL;
    size_t count = tg_heap_model_fault_count(heap);
    bool *done = calloc(count + 1, sizeof *done);
    struct tg_error *error = done == NULL ? tg_error_no_memory() : NULL;
    for (size_t i = 0; error == NULL && i < count; i++)
        if (!done[i] && is_told(draft, tg_heap_model_fault_at(heap, i)))
            error = tell(draft, i, done);
    free(done);
    return error;
}
