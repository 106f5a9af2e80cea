/* A heap as text: sums, groups of ranks, growth, a table. */
#include "analyzer/heap/format.h"
#include "analyzer/heap/groups.h"
#include "analyzer/heap/words.h"
#include "analyzer/output/quantity.h"
#include "analyzer/output/rank_ranges.h"
#include "analyzer/output/text_table.h"
#include "format/base/printable.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_SHOWN = 20, GROUPS_SHOWN = 8 };

static void write_sums(const struct tg_heap_drawing *drawing, FILE *stream)
{
    const struct tg_heap_profile *profile = drawing->profile;
    const struct tg_heap_reading *reading = drawing->reading;
    char moment[TG_QUANTITY_SIZE], bytes[TG_QUANTITY_SIZE], blocks[TG_QUANTITY_SIZE];
    fprintf(stream, "Heap at %s s", tg_quantity_moment(reading->end_ns, reading->start_ns, 6, moment));
    if (profile->n_processes != 1)
        fprintf(stream, ", %zu processes", profile->n_processes);
    if (profile->recorded == 0 && tg_heap_model_gap_count(reading->heap) > 0) {
        fputs("\n  no allocation was seen\n", stream);
        return;
    }
    fputs("\n  peak       ", stream);
    tg_heap_words_amount(stream, &profile->all.at_peak);
    if (profile->peak_ns != 0)
        fprintf(stream, ", at %s s", tg_quantity_moment(profile->peak_ns, reading->start_ns, 6, moment));
    else if (profile->n_processes > 1)
        fputs(", each process at its own", stream);
    fputs("\n  live       ", stream);
    tg_heap_words_amount(stream, &profile->all.live);
    fputs("\n  allocated  ", stream);
    tg_heap_words_amount(stream, &profile->all.allocated);
    if (profile->recorded > 0)
        fprintf(stream, "; %.1f%% of the %sblocks temporary",
                100.0 * (double)profile->all.temporary / (double)profile->recorded,
                profile->is_sampled ? "sampled " : "");
    putc('\n', stream);
    if (profile->n_forked > 0) {
        fputs("  inherited  ", stream);
        tg_heap_words_amount(stream, &profile->inherited);
        fprintf(stream, ", by %s forked process%s; counted where %s allocated\n",
                tg_quantity_count(profile->n_forked, blocks), profile->n_forked == 1 ? "" : "es",
                tg_heap_amount_blocks(&profile->inherited) == 1 ? "it was" : "they were");
    }
    if (profile->unknown_frees > 0)
        fprintf(stream, "  %s block%s freed had been allocated before the recording\n",
                tg_quantity_count(profile->unknown_frees, blocks),
                profile->unknown_frees == 1 ? " that was" : "s that were");
    if (profile->missed_frees > 0)
        fprintf(stream, "  %s block%s freed unseen: %s allocated again\n",
                tg_quantity_count(profile->missed_frees, bytes),
                profile->missed_frees == 1 ? " was" : "s were",
                profile->missed_frees == 1 ? "its address was" : "their addresses were");
}

static struct tg_error *write_groups(const struct tg_heap_drawing *drawing,
                                     const struct tg_heap_path_names *names, FILE *stream)
{
    struct tg_heap_group *groups;
    size_t count;
    const struct tg_heap_reading *reading = drawing->reading;
    struct tg_error *error =
        tg_heap_groups_make(reading->heap, reading->processes, drawing->selection, &groups, &count);
    if (error != NULL)
        return error;
    for (size_t i = 0; drawing->profile->n_processes > 1 && i < count && (i < GROUPS_SHOWN || drawing->all);
         i++) {
        fputs("  ", stream);
        tg_heap_group_write(stream, &groups[i], reading->processes, reading->heap, names);
        putc('\n', stream);
    }
    if (count > GROUPS_SHOWN && !drawing->all)
        fprintf(stream, "  and %zu more; --all shows them\n", count - GROUPS_SHOWN);
    tg_heap_groups_destroy(groups, count);
    return NULL;
}

static char *print_amount(uint64_t cost, bool is_bytes, char *buffer)
{
    return is_bytes ? tg_quantity_bytes(cost, buffer) : tg_quantity_count(cost, buffer);
}

static void print_where(const struct tg_heap_drawing *drawing, const struct tg_heap_path_names *names,
                        const struct tg_heap_row *row, char *buffer, size_t size)
{
    char low[TG_QUANTITY_SIZE], high[TG_QUANTITY_SIZE], name[200];
    const struct tg_process_entry *entry = tg_process_model_at(drawing->reading->processes, row->process);
    switch (drawing->profile->by) {
    case TG_HEAP_BY_STACK:
        tg_heap_path_place(names,
                           tg_heap_call_paths_at(tg_heap_model_paths(drawing->reading->heap), row->path),
                           buffer, size);
        break;
    case TG_HEAP_BY_LIBRARY:
        tg_printable(*row->module != '\0' ? row->module : "(unknown)", buffer, size);
        break;
    case TG_HEAP_BY_RANK:
        tg_printable(tg_process_entry_name(entry), name, sizeof name);
        if (entry->rank >= 0)
            snprintf(buffer, size, "rank %" PRId64 ", process %" PRId32 " (%s)", entry->rank, entry->pid,
                     name);
        else
            snprintf(buffer, size, "process %" PRId32 " (%s)", entry->pid, name);
        break;
    case TG_HEAP_BY_SIZE:
        if (row->size_class <= 1)
            snprintf(buffer, size, "%u B", row->size_class);
        else
            snprintf(
                buffer, size, "%s to below %s", tg_quantity_bytes(UINT64_C(1) << (row->size_class - 1), low),
                row->size_class < 64 ? tg_quantity_bytes(UINT64_C(1) << row->size_class, high) : "16 EiB");
        break;
    }
}

static struct tg_error *add_row(const struct tg_heap_drawing *drawing, const struct tg_heap_path_names *names,
                                const struct tg_heap_row *row, struct tg_text_table *table)
{
    char peak[TG_QUANTITY_SIZE], live[TG_QUANTITY_SIZE], bytes[TG_QUANTITY_SIZE], calls[TG_QUANTITY_SIZE],
        temporary[TG_QUANTITY_SIZE], ranks[80] = "-", where[400];
    if (row->n_ranks > 0)
        tg_rank_ranges_print(row->ranks, row->n_ranks, ranks, sizeof ranks);
    print_where(drawing, names, row, where, sizeof where);
    const char *const cells[] = {
        print_amount(row->use.at_peak.bytes, true, peak),
        print_amount(row->use.live.bytes, true, live),
        print_amount(row->use.allocated.bytes, true, bytes),
        print_amount(tg_heap_amount_blocks(&row->use.allocated), false, calls),
        print_amount(row->use.temporary, false, temporary),
        ranks,
        where,
    };
    return tg_text_table_add(table, cells);
}

static struct tg_error *write_table(const struct tg_heap_drawing *drawing, FILE *stream)
{
    const struct tg_heap_path_names names = {drawing->reading->stacks, drawing->reading->names};
    static const char *const headings[][8] = {
        {">PEAK", ">LIVE", ">ALLOCATED", ">CALLS", ">TEMPORARY", "RANKS", "WHERE", NULL},
        {">PEAK", ">LIVE", ">ALLOCATED", ">CALLS", ">TEMPORARY", "RANKS", "LIBRARY", NULL},
        {">PEAK", ">LIVE", ">ALLOCATED", ">CALLS", ">TEMPORARY", "RANKS", "PROCESS", NULL},
        {">PEAK", ">LIVE", ">ALLOCATED", ">CALLS", ">TEMPORARY", "RANKS", "SIZE", NULL}};
    const struct tg_heap_profile *profile = drawing->profile;
    struct tg_text_table *table;
    size_t shown = 0, most = drawing->all ? SIZE_MAX : drawing->rows > 0 ? drawing->rows : ROWS_SHOWN;
    struct tg_error *error = tg_text_table_create(headings[profile->by], drawing->colour, &table);
    if (error != NULL)
        return error;
    for (; error == NULL && shown < profile->count && shown < most; shown++) {
        if (drawing->rows > 0 && tg_heap_cost_of(&profile->rows[shown].use, profile->cost) == 0)
            break;
        error = add_row(drawing, &names, &profile->rows[shown], table);
    }
    if (drawing->columns > 0)
        tg_text_table_limit(table, drawing->columns);
    if (error == NULL)
        error = tg_text_table_print(table, stream);
    if (error == NULL && shown < profile->count)
        fprintf(stream, "and %zu more; --all shows them\n", profile->count - shown);
    tg_text_table_destroy(table);
    return error;
}

struct tg_error *tg_heap_write_table(const struct tg_heap_drawing *drawing, FILE *stream)
{
    const struct tg_heap_path_names names = {drawing->reading->stacks, drawing->reading->names};
    if (drawing->profile->by != TG_HEAP_BY_STACK)
        return write_table(drawing, stream);
    struct tg_heap_profile merged;
    struct tg_error *error = tg_heap_profile_merge_places(
        drawing->profile, tg_heap_model_paths(drawing->reading->heap), &names, &merged);
    if (error != NULL)
        return error;
    struct tg_heap_drawing of_places = *drawing;
    of_places.profile = &merged;
    error = write_table(&of_places, stream);
    tg_heap_profile_deinit(&merged);
    return error;
}

struct tg_error *tg_heap_write_overview(const struct tg_heap_drawing *drawing, FILE *stream)
{
    const struct tg_heap_path_names names = {drawing->reading->stacks, drawing->reading->names};
    write_sums(drawing, stream);
    if (drawing->profile->is_job_peak)
        tg_heap_words_growth(stream, tg_heap_model_growth(drawing->reading->heap), drawing->reading->start_ns,
                             drawing->columns);
    return write_groups(drawing, &names, stream);
}

struct tg_error *tg_heap_write_text(const struct tg_heap_drawing *drawing, FILE *stream)
{
    if (drawing->profile->n_processes == 0) {
        fputs(drawing->selection != NULL && drawing->selection->has_to
                  ? "The trace has no heap events up to this moment.\n"
                  : "The trace has no heap events; `tollgate record --heap` records them.\n",
              stream);
        return NULL;
    }
    struct tg_error *error = tg_heap_write_overview(drawing, stream);
    if (error == NULL)
        error = tg_heap_write_troubles(drawing, stream);
    if (error != NULL)
        return error;
    putc('\n', stream);
    return tg_heap_write_table(drawing, stream);
}
