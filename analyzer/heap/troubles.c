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

static void write_more(FILE *stream, int indent, size_t left_out)
{
    if (left_out > 0)
        fprintf(stream, "%*sand %zu more; --all shows them\n", indent, "", left_out);
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
    write_more(stream, 2, left_out + tg_heap_model_more_faults(heap));
}

static struct tg_error *write_leak(const struct tg_heap_drawing *drawing,
                                   const struct tg_heap_path_names *names,
                                   const struct tg_heap_leaks_row *leak, int indent, FILE *stream)
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
    fprintf(stream, "%*s%s in %s block%s from %s", indent, "", tg_quantity_bytes(leak->bytes, bytes),
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
    write_more(stream, 2, left_out);
}

/* Leaks of one owner: the program, or what it runs on. */
struct share {
    const struct tg_heap_leaks_row **rows; /* in the order of all */
    size_t count;
    uint64_t blocks, bytes; /* lost ones */
};

static struct tg_error *divide(const struct tg_heap_drawing *drawing, const struct tg_heap_path_names *names,
                               const struct tg_heap_leaks *leaks, struct share shares[2])
{
    char owner[1200];
    for (size_t i = 0; i < leaks->count; i++) {
        const struct tg_heap_leaks_row *row = &leaks->rows[i];
        bool is_of_library;
        struct tg_error *error = tg_heap_path_owner(
            names, tg_heap_call_paths_at(tg_heap_model_paths(drawing->reading->heap), row->path), 0, owner,
            sizeof owner, &is_of_library);
        if (error != NULL)
            return error;
        struct share *share = &shares[is_of_library];
        share->rows[share->count++] = row;
        share->blocks += row->is_interior ? 0 : row->blocks;
        share->bytes += row->is_interior ? 0 : row->bytes;
    }
    return NULL;
}

/* At most ROOM of the leaks of SHARE, OF whom. How many lines it has is *SHOWN. */
static struct tg_error *write_share(const struct tg_heap_drawing *drawing,
                                    const struct tg_heap_path_names *names, const char *of,
                                    const struct share *share, size_t room, FILE *stream, size_t *shown)
{
    char bytes[TG_QUANTITY_SIZE], blocks[TG_QUANTITY_SIZE];
    struct tg_error *error = NULL;
    *shown = share->count < room ? share->count : room;
    if (share->blocks == 0)
        fprintf(stream, "%s: none%s\n", of, share->count > 0 ? " lost" : "");
    else
        fprintf(stream, "%s: %s block%s, %s\n", of, tg_quantity_count(share->blocks, blocks),
                share->blocks == 1 ? "" : "s", tg_quantity_bytes(share->bytes, bytes));
    for (size_t i = 0; error == NULL && i < *shown; i++)
        error = write_leak(drawing, names, share->rows[i], 4, stream);
    write_more(stream, 4, share->count - *shown);
    return error;
}

static struct tg_error *write_all_leaks(const struct tg_heap_drawing *drawing,
                                        const struct tg_heap_path_names *names,
                                        const struct tg_heap_leaks *leaks, struct share shares[2],
                                        FILE *stream)
{
    char bytes[TG_QUANTITY_SIZE], blocks[TG_QUANTITY_SIZE], live[TG_QUANTITY_SIZE];
    size_t own, others, room = drawing->all ? SIZE_MAX : SHOWN;
    struct tg_error *error = divide(drawing, names, leaks, shares);
    if (error != NULL)
        return error;
    fprintf(stream, "Leaks: nothing refers to %s of %s live block%s, %s\n",
            tg_quantity_count(leaks->blocks, blocks), tg_quantity_count(leaks->live_blocks, live),
            leaks->live_blocks == 1 ? "" : "s", tg_quantity_bytes(leaks->bytes, bytes));
    if (shares[1].count == 0) {
        for (own = 0; error == NULL && own < shares[0].count && own < room; own++)
            error = write_leak(drawing, names, shares[0].rows[own], 2, stream);
        write_more(stream, 2, shares[0].count - own);
        return error;
    }
    error = write_share(drawing, names, "  the program's own", &shares[0], room, stream, &own);
    return error != NULL
               ? error
               : write_share(drawing, names, "  of MPI, its launcher or an interpreter, for themselves",
                             &shares[1], room - own, stream, &others);
}

/* The program's own come first: about the others its programmer can do nothing (decision 157). */
static struct tg_error *write_leaks(const struct tg_heap_drawing *drawing,
                                    const struct tg_heap_path_names *names, FILE *stream)
{
    const struct tg_heap_leaks_request request = {.heap = drawing->reading->heap,
                                                  .processes = drawing->reading->processes,
                                                  .selection = drawing->selection,
                                                  .wants_interior = drawing->all || drawing->shows_interior};
    struct tg_heap_leaks leaks;
    struct tg_error *error = tg_heap_leaks_make(&request, &leaks);
    if (error != NULL)
        return error;
    const struct tg_heap_leaks_row **rows =
        calloc(2 * leaks.count + 1, sizeof(const struct tg_heap_leaks_row *));
    struct share shares[2] = {{.rows = rows}, {.rows = rows == NULL ? NULL : rows + leaks.count}};
    if (rows == NULL)
        error = tg_error_no_memory();
    else if (leaks.count > 0)
        error = write_all_leaks(drawing, names, &leaks, shares, stream);
    free(rows);
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
    write_more(stream, 2, left_out);
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
