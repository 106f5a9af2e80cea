/* Threads that waited for each other, or for locks, in the kernel when the job was interrupted: by their last stacks. */
#include "analyzer/finding/attachment.h"
#include "analyzer/verdict/finders.h"
#include "analyzer/verdict/interruption.h"
#include "analyzer/verdict/sentences.h"
#include "analyzer/where/waits.h"

#include <stdlib.h>

/* The last stacks as a look. */
struct view {
    struct tg_where_look look;
    struct tg_where_threads threads;
};

static void deinit(struct view *view)
{
    tg_where_threads_deinit(&view->threads);
    tg_where_look_deinit(&view->look);
}

/* Waits of which the stacks are of another moment are left out. */
static void drop_others(const struct tg_verdict_input *input, struct view *view)
{
    for (size_t i = 0; i < view->threads.count; i++) {
        struct tg_where_thread *thread = &view->threads.threads[i];
        bool counts = tg_interruption_has(input, thread->stack) && thread->stack->snapshot != 0 &&
                      !tg_attachment_is_late(input, thread->stack->process);
        if (!counts)
            thread->wait = NULL;
    }
    for (size_t i = 0; i < view->threads.count; i++) {
        struct tg_where_thread *thread = &view->threads.threads[i];
        if (thread->wait != NULL && thread->owner != SIZE_MAX &&
            view->threads.threads[thread->owner].stack->snapshot != thread->stack->snapshot)
            thread->wait = NULL;
    }
}

static struct tg_error *open_view(const struct tg_verdict_input *input, struct view *view)
{
    struct tg_error *error = tg_where_look_of_models(&view->look, input->processes, input->stacks);
    if (error == NULL)
        error = tg_where_threads_make(&view->look, NULL, &view->threads);
    if (error == NULL)
        drop_others(input, view);
    return error;
}

/* What WRITE writes of THREADS, as sentences behind LAST. */
static struct tg_error *tell(struct tg_verdict_draft *draft, const struct tg_where_threads *threads,
                             char last, void (*write)(FILE *stream, const struct tg_where_threads *threads))
{
    char *text = NULL;
    size_t size;
    FILE *lines = open_memstream(&text, &size);
    if (lines == NULL)
        return tg_error_no_memory();
    write(lines, threads);
    bool ok = fclose(lines) == 0;
    if (ok && size > 0)
        tg_sentences_write(draft->stream, last, text);
    free(text);
    return ok ? NULL : tg_error_no_memory();
}

static void write_deadlocks(FILE *stream, const struct tg_where_threads *threads)
{
    tg_where_deadlocks_write(stream, threads);
}

struct tg_error *tg_verdict_find_deadlocks(struct tg_verdict_draft *draft)
{
    struct view view = {0};
    const struct tg_last_stack *first = NULL;
    struct tg_error *error = draft->input->stacks != NULL ? open_view(draft->input, &view) : NULL;
    if (error == NULL && tg_where_waits_are_deadlock(&view.threads)) {
        error = tell(draft, &view.threads, '\0', write_deadlocks);
        for (size_t i = 0; i < view.threads.count; i++) {
            const struct tg_last_stack *stack = view.threads.threads[i].stack;
            if (!tg_where_waits_for_itself(&view.threads, i))
                continue;
            first = first == NULL ? stack : first;
            tg_verdict_blame(draft, stack->process, stack->tid, 0);
        }
    }
    if (error == NULL && first != NULL)
        error = tg_verdict_add(draft, &(struct tg_finding){.kind = TG_FINDING_DEADLOCK,
                                                           .since_ns = first->time_ns,
                                                           .process = first->process});
    for (size_t i = 0; error == NULL && first != NULL && i < view.threads.count; i++)
        if (view.threads.threads[i].is_first && view.threads.threads[i].is_rank &&
            tg_where_waits_for_deadlock(&view.threads, i))
            tg_verdict_explain(draft, view.threads.threads[i].stack->process);
    deinit(&view);
    return error;
}

struct tg_error *tg_verdict_tell_locks(struct tg_verdict_draft *draft)
{
    struct view view = {0};
    struct tg_error *error = draft->input->stacks != NULL ? open_view(draft->input, &view) : NULL;
    if (error == NULL)
        error = tell(draft, &view.threads, '.', tg_where_locks_write);
    deinit(&view);
    return error;
}
