/* What is wrong with a heap, in text: errors, leaks, heaps that are not seen. */
#include "analyzer/heap/fault_words.h"
#include "analyzer/heap/format.h"
#include "analyzer/heap/leaks.h"
#include "analyzer/heap/path_owner.h"
#include "analyzer/output/paragraph.h"
#include "analyzer/output/quantity.h"
#include "analyzer/output/rank_ranges.h"
#include "format/base/printable.h"

#include <inttypes.h>
#include <stdlib.h>

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
            fprintf(stream, " (%s times)", tg_quantity_count(fault->count, moment));
        putc('\n', stream);
    }
    write_more(stream, left_out + tg_heap_model_more_faults(heap));
}

static struct tg_error *write_leak(const struct tg_heap_drawing *drawing,
                                   const struct tg_heap_path_names *names,
                                   const struct tg_heap_leaks_row *leak, FILE *stream)
{
    char bytes[TG_QUANTITY_SIZE], blocks[TG_QUANTITY_SIZE], ranks[200], owner[1200];
    bool is_of_library;
    const struct tg_heap_path *path =
        tg_heap_call_paths_at(tg_heap_model_paths(drawing->reading->heap), leak->path);
    bool is_of_fortran_main;
    struct tg_error *error = tg_heap_path_owner(names, path, 2, owner, sizeof owner, &is_of_library);
    if (error == NULL)
        error = tg_heap_path_is_of_fortran_main(names, path, &is_of_fortran_main);
    if (error != NULL)
        return error;
    fprintf(stream, "  %s in %s block%s from %s", tg_quantity_bytes(leak->bytes, bytes),
            tg_quantity_count(leak->blocks, blocks), leak->blocks == 1 ? "" : "s", owner);
    if (leak->n_ranks > 0)
        fprintf(stream, ", rank%s %s", leak->n_ranks == 1 ? "" : "s",
                tg_rank_ranges_print(leak->ranks, leak->n_ranks, ranks, sizeof ranks));
    if (leak->is_interior)
        fputs(" (only pointers into them are left)", stream);
    else if (leak->indirect_blocks == leak->blocks)
        fputs(" (lost: only lost blocks refer to them)", stream);
    else if (leak->indirect_blocks > 0)
        fprintf(stream, " (lost: to %s of them only lost blocks refer)",
                tg_quantity_count(leak->indirect_blocks, bytes));
    else
        fputs(is_of_fortran_main ? " (lost; variables of the main program may have had them to its end)"
                                 : " (lost)",
              stream);
    putc('\n', stream);
    return NULL;
}

/* Why searches were not done, or not in full: where that is so, nothing said is not nothing found. */
static void write_problems(const struct tg_heap_drawing *drawing, FILE *stream)
{
    const struct tg_heap_model *heap = drawing->reading->heap;
    size_t shown = 0, left_out = 0;
    for (size_t i = 0; i < tg_heap_model_count(heap); i++) {
        const struct tg_heap_process *process = tg_heap_model_at(heap, i);
        if (process->scan.time_ns == 0 || *process->scan.is.problem == '\0' ||
            !is_admitted(drawing, process->process))
            continue;
        if (shown == SHOWN && !drawing->all) {
            left_out++;
            continue;
        }
        if (shown++ == 0)
            fputs("Not everything was searched for leaks\n", stream);
        fputs("  ", stream);
        write_who(drawing, process->process, stream);
        fputs(": ", stream);
        tg_printable_write(stream, process->scan.is.problem);
        putc('\n', stream);
    }
    write_more(stream, left_out);
}

static struct tg_error *write_leaks(const struct tg_heap_drawing *drawing,
                                    const struct tg_heap_path_names *names, FILE *stream)
{
    const struct tg_heap_leaks_request request = {.heap = drawing->reading->heap,
                                                  .processes = drawing->reading->processes,
                                                  .selection = drawing->selection,
                                                  .wants_interior = drawing->all || drawing->shows_interior};
    struct tg_heap_leaks leaks;
    char bytes[TG_QUANTITY_SIZE], blocks[TG_QUANTITY_SIZE], live[TG_QUANTITY_SIZE];
    struct tg_error *error = tg_heap_leaks_make(&request, &leaks);
    if (error != NULL)
        return error;
    size_t shown = leaks.count > SHOWN && !drawing->all ? SHOWN : leaks.count;
    if (leaks.count > 0)
        fprintf(stream, "Leaks: nothing refers to %s of %s live block%s, %s\n",
                tg_quantity_count(leaks.blocks, blocks), tg_quantity_count(leaks.live_blocks, live),
                leaks.live_blocks == 1 ? "" : "s", tg_quantity_bytes(leaks.bytes, bytes));
    for (size_t i = 0; error == NULL && i < shown; i++)
        error = write_leak(drawing, names, &leaks.rows[i], stream);
    write_more(stream, leaks.count - shown);
    tg_heap_leaks_deinit(&leaks);
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

static struct tg_error *write_lines(const struct tg_heap_drawing *drawing, FILE *stream)
{
    const struct tg_heap_path_names names = {drawing->reading->stacks, drawing->reading->names};
    write_faults(drawing, &names, stream);
    struct tg_error *error = write_leaks(drawing, &names, stream);
    write_problems(drawing, stream);
    write_gaps(drawing, stream);
    return error;
}

struct tg_error *tg_heap_write_troubles(const struct tg_heap_drawing *drawing, FILE *stream)
{
    char *text = NULL;
    size_t size;
    if (drawing->columns == 0)
        return write_lines(drawing, stream);
    FILE *lines = open_memstream(&text, &size);
    if (lines == NULL)
        return tg_error_no_memory();
    struct tg_error *error = write_lines(drawing, lines);
    if (fclose(lines) != 0 && error == NULL)
        error = tg_error_no_memory();
    if (error == NULL)
        tg_paragraph_write_all(stream, drawing->columns, text);
    free(text);
    return error;
}
