#include "analyzer/where/page.h"

#include "analyzer/output/quantity.h"
#include "analyzer/output/stack_words.h"
#include "analyzer/where/members.h"
#include "analyzer/where/verdict_words.h"
#include "format/base/printable.h"

#include <inttypes.h>

enum { MAX_INDENT = 40 };

static void indent(FILE *stream, unsigned depth)
{
    fprintf(stream, "%*s", (int)(depth < MAX_INDENT ? 2 * depth : 2 * MAX_INDENT), "");
}

/* Whether all who are in NODE are in one call of it. */
static bool goes_on_together(const struct tg_where_node *node)
{
    return node->n_children == 1 && node->children[0]->n_threads == node->n_threads;
}

static void write_node(FILE *stream, const struct tg_where_threads *threads, const struct tg_where_node *node,
                       unsigned depth)
{
    while (goes_on_together(node)) {
        node = node->children[0];
        indent(stream, depth);
        fprintf(stream, "%s\n", node->text);
    }
    for (size_t i = 0; i < node->n_children; i++) {
        const struct tg_where_node *child = node->children[i];
        indent(stream, depth);
        tg_where_write_members(stream, threads, child->threads, child->n_threads);
        fprintf(stream, ": %s\n", child->text);
        write_node(stream, threads, child, depth + 1);
    }
    if (node->n_children > 0 && node->n_ending > 0) {
        indent(stream, depth);
        tg_where_write_members(stream, threads, node->ending, node->n_ending);
        fputs(": no further\n", stream);
    }
}

static void write_tree(FILE *stream, const struct tg_where_threads *threads, const struct tg_where_node *root)
{
    if (root->n_threads == 0)
        return;
    fputc('\n', stream);
    tg_where_write_members(stream, threads, root->threads, root->n_threads);
    fputc('\n', stream);
    write_node(stream, threads, root, 1);
}

static void write_left_out(FILE *stream, const struct tg_where_page *page)
{
    size_t workers = 0, helpers = 0;
    for (size_t i = 0; i < page->threads->count; i++) {
        enum tg_thread_task task = page->threads->threads[i].path.task;
        workers += task == TG_THREAD_OF_OPENMP;
        helpers += task == TG_THREAD_OF_LIBRARY;
    }
    if (workers + helpers > 0 || (page->others->n_threads > 0 && !page->with_others))
        fputc('\n', stream);
    if (workers > 0)
        fprintf(stream, "%zu OpenMP worker%s wait%s for work\n", workers, workers == 1 ? "" : "s",
                workers == 1 ? "s" : "");
    if (helpers > 0)
        fprintf(stream, "%zu helper thread%s of libraries left out\n", helpers, helpers == 1 ? "" : "s");
    if (page->others->n_threads > 0 && !page->with_others)
        fprintf(stream, "%zu thread%s of processes that are not ranks left out; --all shows them\n",
                page->others->n_threads, page->others->n_threads == 1 ? "" : "s");
}

static void write_refusals(FILE *stream, const struct tg_where_look *look)
{
    char reason[400], text[1000];
    for (size_t i = 0; i < look->n_remarks; i++)
        fprintf(stream, "%s\n", tg_printable(look->remarks[i], text, sizeof text));
    for (size_t i = 0; i < look->n_refusals; i++)
        fprintf(stream, "process %" PRId32 " was not looked at: %s\n", look->refusals[i].pid,
                tg_printable(look->refusals[i].reason, reason, sizeof reason));
}

void tg_where_write_rest(FILE *stream, const struct tg_where_page *page)
{
    write_left_out(stream, page);
    write_refusals(stream, page->look);
}

/* "rank 3", "mpirun (process 4711)". */
static void write_process(FILE *stream, const struct tg_where_threads *threads, int32_t pid)
{
    char name[64];
    for (size_t i = 0; i < threads->count; i++) {
        const struct tg_where_thread *thread = &threads->threads[i];
        if (thread->stack->pid != pid)
            continue;
        if (thread->is_rank)
            fputs(tg_where_rank_words(threads, i, name, sizeof name), stream);
        else
            fprintf(stream, "%s (process %" PRId32 ")",
                    tg_printable(tg_process_entry_name(thread->process), name, sizeof name), pid);
        return;
    }
    fprintf(stream, "process %" PRId32, pid);
}

/* Of many processes where all threads are shown anyway. */
static void write_pauses(FILE *stream, const struct tg_where_page *page)
{
    enum { SHOWN = 8 };
    const struct tg_where_look *look = page->look;
    char pause[TG_QUANTITY_SIZE];
    if (look->n_pauses < 2 || (look->n_pauses > SHOWN && !page->with_threads))
        return;
    fputs("pauses: ", stream);
    for (size_t i = 0; i < look->n_pauses; i++) {
        fputs(i == 0 ? "" : ", ", stream);
        write_process(stream, page->threads, look->pauses[i].pid);
        fprintf(stream, " %s", tg_quantity_duration(look->pauses[i].took_ns, pause));
    }
    fputc('\n', stream);
}

static void write_counts(FILE *stream, const struct tg_where_page *page)
{
    char pause[TG_QUANTITY_SIZE];
    const struct tg_where_threads *threads = page->threads;
    if (threads->n_ranks > 0)
        fprintf(stream, "%zu rank%s", threads->n_ranks, threads->n_ranks == 1 ? "" : "s");
    if (threads->n_ranks > 0 && threads->size > (int64_t)threads->n_ranks)
        fprintf(stream, " of %" PRId64, threads->size);
    fprintf(stream, "%s%zu process%s, %zu thread%s", threads->n_ranks > 0 ? ", " : "",
            tg_process_model_count(page->look->processes),
            tg_process_model_count(page->look->processes) == 1 ? "" : "es", threads->count,
            threads->count == 1 ? "" : "s");
    if (!page->is_past)
        fprintf(stream, "; each process was stopped for at most %s",
                tg_quantity_duration(page->look->longest_pause_ns, pause));
    fputc('\n', stream);
    write_pauses(stream, page);
}

void tg_where_write_head(FILE *stream, const struct tg_where_page *page)
{
    if (tg_where_verdict_write(stream, page->threads, page->verdict))
        fputc('\n', stream);
    write_counts(stream, page);
}

/* ---- every call */

struct listing {
    FILE *stream;
    size_t level;
};

static bool write_call(void *context, const struct tg_stack_call *call)
{
    struct listing *listing = context;
    char text[400];
    fprintf(listing->stream, "  #%-3zu ", listing->level++);
    if (call->is_signal)
        fputs("(signal handler)\n", listing->stream);
    else
        fprintf(listing->stream, "%s%s\n", tg_stack_words_call(call, text, sizeof text),
                call->is_inlined ? ", inlined" : "");
    return true;
}

static void write_threads(FILE *stream, const struct tg_where_page *page)
{
    char name[64];
    for (size_t i = 0; i < page->threads->count; i++) {
        const struct tg_where_thread *thread = &page->threads->threads[i];
        struct listing listing = {stream, 0};
        fputs(thread->is_rank ? "\nRank " : "\n", stream);
        if (thread->is_rank)
            fprintf(stream, "%" PRId64 ", process", thread->process->rank);
        else
            fprintf(stream, "%s, process",
                    tg_printable(tg_process_entry_name(thread->process), name, sizeof name));
        fprintf(stream, " %" PRId32 ", thread %" PRId32 ":\n", thread->stack->pid, thread->stack->tid);
        tg_stack_each_call(page->look->stacks, thread->stack, write_call, &listing);
        const char *end = tg_stack_words_end(thread->stack->end);
        if (*end != '\0')
            fprintf(stream, "  ... (%s)\n", end);
    }
}

void tg_where_write_text(FILE *stream, const struct tg_where_page *page)
{
    bool with_others = page->with_others || page->ranks->n_threads == 0;
    tg_where_write_head(stream, page);
    write_tree(stream, page->threads, page->ranks);
    if (with_others)
        write_tree(stream, page->threads, page->others);
    struct tg_where_page shown = *page;
    shown.with_others = with_others;
    write_left_out(stream, &shown);
    if (page->with_threads)
        write_threads(stream, page);
    write_refusals(stream, page->look);
}
