/* What is wrong with a heap, in text: errors, leaks, heaps that are not seen. */
#include "analyzer/heap/fault_words.h"
#include "analyzer/heap/format.h"
#include "analyzer/output/quantity.h"
#include "analyzer/output/rank_ranges.h"
#include "analyzer/output/stack_words.h"
#include "format/base/array.h"
#include "format/base/printable.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 10 };

static bool is_admitted(const struct tg_heap_drawing *drawing, size_t process)
{
    return drawing->selection == NULL ||
           tg_selection_admits_process(drawing->selection,
                                       tg_process_model_at(drawing->reading->processes, process));
}

static void write_who(const struct tg_heap_drawing *drawing, size_t process, FILE *stream)
{
    const struct tg_process_entry *entry = tg_process_model_at(drawing->reading->processes, process);
    if (entry->rank >= 0)
        fprintf(stream, "rank %" PRId64, entry->rank);
    else
        fprintf(stream, "process %" PRId32, entry->pid);
}

static void write_more(FILE *stream, size_t left_out)
{
    if (left_out > 0)
        fprintf(stream, "  and %zu more; --all shows them\n", left_out);
}

static void write_faults(const struct tg_heap_drawing *drawing, const struct tg_heap_path_names *names,
                         FILE *stream)
{
    const struct tg_heap_model *heap = drawing->reading->heap;
    char moment[TG_QUANTITY_SIZE];
    size_t shown = 0, left_out = 0;
    for (size_t i = 0; i < tg_heap_model_fault_count(heap); i++) {
        const struct tg_heap_fault *fault = tg_heap_model_fault_at(heap, i);
        if (!is_admitted(drawing, fault->process))
            continue;
        if (shown == SHOWN && !drawing->all) {
            left_out++;
            continue;
        }
        if (shown++ == 0)
            fputs("Errors\n", stream);
        fputs("  ", stream);
        write_who(drawing, fault->process, stream);
        fprintf(stream,
                " at %s s: ", tg_quantity_moment(fault->time_ns, drawing->reading->start_ns, 6, moment));
        tg_heap_words_fault(stream, names, heap, fault);
        if (fault->count > 1)
            fprintf(stream, " (%" PRIu64 " times)", fault->count);
        putc('\n', stream);
    }
    write_more(stream, left_out + tg_heap_model_more_faults(heap));
}

/* Leaks of one path and kind in all processes. */
struct leak {
    uint64_t kind;
    uint32_t path;
    uint64_t blocks, bytes;
    int64_t *ranks;
    size_t n_ranks, capacity;
    size_t process;
};

/* Of all searches; blocks that pointers lead into are not counted as leaked. */
struct sum {
    uint64_t blocks, bytes, live_blocks;
};

static int compare_leaks(const void *a, const void *b)
{
    const struct leak *x = a, *y = b;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->path < y->path ? -1 : x->path > y->path;
}

static struct tg_error *add_leak(struct leak **leaks, size_t *count, size_t *capacity, size_t process,
                                 int64_t rank, const struct tg_heap_leak *more)
{
    size_t at = 0;
    struct tg_error *error = NULL;
    while (at < *count && ((*leaks)[at].path != more->path || (*leaks)[at].kind != more->kind))
        at++;
    if (at == *count)
        error = TG_ARRAY_APPEND(*leaks, *count, *capacity,
                                (struct leak){.kind = more->kind, .path = more->path, .process = process});
    if (error != NULL)
        return error;
    struct leak *leak = &(*leaks)[at];
    leak->blocks += more->blocks;
    leak->bytes += more->bytes;
    return rank < 0 ? NULL : TG_ARRAY_APPEND(leak->ranks, leak->n_ranks, leak->capacity, rank);
}

static struct tg_error *collect(const struct tg_heap_drawing *drawing, struct leak **leaks, size_t *count,
                                struct sum *sum)
{
    const struct tg_heap_model *heap = drawing->reading->heap;
    struct tg_error *error = NULL;
    size_t capacity = 0;
    for (size_t i = 0; error == NULL && i < tg_heap_model_count(heap); i++) {
        const struct tg_heap_process *process = tg_heap_model_at(heap, i);
        if (is_admitted(drawing, process->process)) {
            sum->blocks += process->scan.is.leaked_blocks;
            sum->bytes += process->scan.is.leaked_bytes;
            sum->live_blocks += process->scan.is.blocks;
        }
        int64_t rank = tg_process_model_at(drawing->reading->processes, process->process)->rank;
        for (size_t k = 0;
             error == NULL && is_admitted(drawing, process->process) && k < process->scan.n_leaks; k++)
            if (process->scan.leaks[k].kind != TG_HEAP_LEAK_INTERIOR || drawing->all ||
                drawing->shows_interior)
                error = add_leak(leaks, count, &capacity, process->process, rank, &process->scan.leaks[k]);
    }
    if (*count > 0)
        qsort(*leaks, *count, sizeof **leaks, compare_leaks);
    return error;
}

/* Calls around the place that a leak is told by: one place often allocates for many. */
struct callers {
    const char *place;
    FILE *stream;
    bool is_past;
    unsigned count;
};

static bool write_caller(void *context, const struct tg_stack_call *call)
{
    struct callers *callers = context;
    char words[400];
    tg_stack_words_call(call, words, sizeof words);
    if (callers->is_past)
        fprintf(callers->stream, "%s%s", callers->count++ == 0 ? ", called by " : " < ", words);
    callers->is_past |= strcmp(words, callers->place) == 0;
    return callers->count < 2;
}

static void write_leak(const struct tg_heap_drawing *drawing, const struct tg_heap_path_names *names,
                       struct leak *leak, FILE *stream)
{
    static const char *const kinds[] = {
        [TG_HEAP_LEAK_LOST] = "lost",
        [TG_HEAP_LEAK_INDIRECT] = "lost, reached from lost blocks alone",
        [TG_HEAP_LEAK_INTERIOR] = "only pointers into them are left",
    };
    char bytes[TG_QUANTITY_SIZE], blocks[TG_QUANTITY_SIZE], ranks[200], place[400];
    const struct tg_heap_path *path =
        tg_heap_call_paths_at(tg_heap_model_paths(drawing->reading->heap), leak->path);
    fprintf(stream, "  %s in %s block%s from %s", tg_quantity_bytes(leak->bytes, bytes),
            tg_quantity_count(leak->blocks, blocks), leak->blocks == 1 ? "" : "s",
            tg_heap_path_place(names, path, place, sizeof place));
    struct callers callers = {.place = place, .stream = stream};
    tg_error_destroy(path->count > 0 ? tg_heap_path_each_call(names, path, write_caller, &callers) : NULL);
    leak->n_ranks = tg_rank_ranges_sort(leak->ranks, leak->n_ranks);
    if (leak->n_ranks > 0)
        fprintf(stream, ", rank%s %s", leak->n_ranks == 1 ? "" : "s",
                tg_rank_ranges_print(leak->ranks, leak->n_ranks, ranks, sizeof ranks));
    if (leak->kind < sizeof kinds / sizeof *kinds)
        fprintf(stream, " (%s)", kinds[leak->kind]);
    putc('\n', stream);
}

static struct tg_error *write_leaks(const struct tg_heap_drawing *drawing,
                                    const struct tg_heap_path_names *names, FILE *stream)
{
    struct leak *leaks = NULL;
    size_t count = 0;
    struct sum sum = {0};
    char bytes[TG_QUANTITY_SIZE], blocks[TG_QUANTITY_SIZE], live[TG_QUANTITY_SIZE];
    struct tg_error *error = collect(drawing, &leaks, &count, &sum);
    if (count > 0)
        fprintf(stream, "Leaks: nothing refers to %s of %s live block%s, %s\n",
                tg_quantity_count(sum.blocks, blocks), tg_quantity_count(sum.live_blocks, live),
                sum.live_blocks == 1 ? "" : "s", tg_quantity_bytes(sum.bytes, bytes));
    for (size_t i = 0; i < count; i++) {
        if (error == NULL && (i < SHOWN || drawing->all))
            write_leak(drawing, names, &leaks[i], stream);
        free(leaks[i].ranks);
    }
    write_more(stream, count > SHOWN && !drawing->all ? count - SHOWN : 0);
    free(leaks);
    return error;
}

static void write_gaps(const struct tg_heap_drawing *drawing, FILE *stream)
{
    const struct tg_heap_model *heap = drawing->reading->heap;
    size_t shown = 0, left_out = 0;
    for (size_t i = 0; i < tg_heap_model_gap_count(heap); i++) {
        const struct tg_heap_gap *gap = tg_heap_model_gap_at(heap, i);
        if (!is_admitted(drawing, gap->process))
            continue;
        if (shown == SHOWN && !drawing->all) {
            left_out++;
            continue;
        }
        if (shown++ == 0)
            fputs("Not seen\n", stream);
        fputs("  ", stream);
        write_who(drawing, gap->process, stream);
        fputs(": ", stream);
        tg_printable_write(stream, *gap->module != '\0' ? gap->module : "all allocations");
        fputs(": ", stream);
        tg_printable_write(stream, gap->reason);
        putc('\n', stream);
    }
    write_more(stream, left_out);
}

struct tg_error *tg_heap_write_troubles(const struct tg_heap_drawing *drawing, FILE *stream)
{
    const struct tg_heap_path_names names = {drawing->reading->stacks, drawing->reading->names};
    write_faults(drawing, &names, stream);
    struct tg_error *error = write_leaks(drawing, &names, stream);
    write_gaps(drawing, stream);
    return error;
}
