#include "analyzer/report/mpir_text.h"

#include "analyzer/output/quantity.h"
#include "analyzer/output/rank_ranges.h"
#include "analyzer/report/mpir_rows.h"
#include "format/base/printable.h"
#include "format/base/signal_name.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    FOLD_LEAST = 17, /* tables of so many ranks share lines where ranks are alike */
    ROWS_SHOWN = 64,
    STEPS_SHOWN = 40,
};

/* ---- steps */

static const char *state_words(uint64_t state)
{
    static const char *const words[] = {[TG_MPIR_STATE_NULL] = "NULL",
                                        [TG_MPIR_STATE_SPAWNED] = "SPAWNED",
                                        [TG_MPIR_STATE_ABORTING] = "ABORTING",
                                        [TG_MPIR_STATE_OTHER] = "a state that MPIR does not define",
                                        [TG_MPIR_STATE_UNREADABLE] = "state not readable"};
    return state < sizeof words / sizeof *words ? words[state] : "unknown state";
}

static const char *seen_words(uint64_t seen)
{
    static const char *const words[] = {[TG_MPIR_AT_BREAKPOINT] = "in MPIR_Breakpoint",
                                        [TG_MPIR_AT_ATTACH] = "when attached",
                                        [TG_MPIR_AT_EXIT] = "at exit",
                                        [TG_MPIR_AT_DETACH] = "at detach",
                                        [TG_MPIR_AT_LOOK] = "when looked at"};
    return seen < sizeof words / sizeof *words ? words[seen] : "seen";
}

static const char *rank_state_words(uint64_t state)
{
    static const char *const words[] = {[TG_MPIR_ACQUIRED] = "acquired",
                                        [TG_MPIR_REMOTE] = "remote",
                                        [TG_MPIR_MISSED] = "missed",
                                        [TG_MPIR_NOT_SELECTED] = "not selected",
                                        [TG_MPIR_OUTSIDE] = "outside"};
    return state < sizeof words / sizeof *words ? words[state] : "unknown";
}

static const char *acquisition_words(uint64_t acquisition)
{
    static const char *const words[] = {
        [TG_MPIR_NO_WAY] = "no ranks found",
        [TG_MPIR_BY_LAUNCH] = "ranks by MPIR, launched",
        [TG_MPIR_BY_ATTACH] = "ranks by MPIR, attached",
        [TG_MPIR_BY_FOLLOWING] = "no MPIR: ranks by following forks, rank numbers from the environment"};
    return acquisition < sizeof words / sizeof *words ? words[acquisition] : "ranks found in an unknown way";
}

static void write_after(FILE *stream, const char *before, const char *text)
{
    if (*text == '\0')
        return;
    fputs(before, stream);
    tg_printable_write(stream, text);
}

static void write_state_step(FILE *stream, const struct tg_mpir_step *step)
{
    fprintf(stream, "%s: %s", seen_words(step->seen), state_words((uint64_t)step->value));
    if (step->count != 0)
        fprintf(stream, ", table of %" PRId64, step->count);
    if (*step->detail != '\0') {
        fputs(", abort string ", stream);
        tg_printable_write_quoted(stream, step->detail);
    }
}

static void write_end_step(FILE *stream, const struct tg_mpir_step *step)
{
    char text[48];
    if (step->seen == TG_EXIT_STATUS)
        fprintf(stream, "ended: exit %" PRId64, step->value);
    else if (step->seen == TG_EXIT_SIGNAL)
        fprintf(stream, "ended: %s", tg_signal_name(step->value, text, sizeof text));
    else
        fputs("ended, status unknown", stream);
}

void tg_mpir_text_step(FILE *stream, const struct tg_mpir_step *step)
{
    switch (step->kind) {
    case TG_MPIR_STEP_SYMBOLS:
        write_after(stream, "MPIR symbols in ", step->text);
        break;
    case TG_MPIR_STEP_RECOGNISED:
        fputs("recognised as ", stream);
        tg_printable_write(stream, *step->text == '\0' ? "a job launcher" : step->text);
        fprintf(stream, "; %s", acquisition_words((uint64_t)step->value));
        write_after(stream, ": ", step->detail);
        break;
    case TG_MPIR_STEP_WRITE:
        tg_printable_write(stream, step->text);
        fprintf(stream, " = %" PRId64 "%s", step->value,
                *step->detail == '\0' ? "" : " could not be written");
        write_after(stream, ": ", step->detail);
        break;
    case TG_MPIR_STEP_STATE:
        write_state_step(stream, step);
        break;
    case TG_MPIR_STEP_TABLE:
        fprintf(stream, "table read: %" PRId64 " entr%s", step->count, step->count == 1 ? "y" : "ies");
        write_after(stream, ", incomplete: ", step->detail);
        break;
    case TG_MPIR_STEP_RANKS:
        fprintf(stream, "%" PRId64 " rank%s %s", step->count, step->count == 1 ? "" : "s",
                rank_state_words((uint64_t)step->value));
        break;
    case TG_MPIR_STEP_LET_GO:
        fputs("detached", stream);
        write_after(stream, ": ", step->detail);
        break;
    case TG_MPIR_STEP_ENDED:
        write_end_step(stream, step);
        break;
    }
}

static void write_steps(const struct tg_mpir_text *text, size_t i, FILE *stream)
{
    size_t count;
    uint64_t unkept;
    const struct tg_mpir_step *steps = tg_mpir_model_steps(text->mpir, i, &count, &unkept);
    size_t shown = text->all || count <= STEPS_SHOWN ? count : STEPS_SHOWN;
    for (size_t at = 0; at < shown; at++) {
        char moment[TG_QUANTITY_SIZE];
        fprintf(stream, "  %s s  ", tg_quantity_moment(steps[at].time_ns, text->start_ns, 6, moment));
        tg_mpir_text_step(stream, &steps[at]);
        if (steps[at].last_ns != steps[at].time_ns)
            fprintf(stream, ", last at %s s",
                    tg_quantity_moment(steps[at].last_ns, text->start_ns, 6, moment));
        fputc('\n', stream);
    }
    if (shown < count)
        fprintf(stream, "  and %zu more steps; --all shows them\n", count - shown);
    if (unkept > 0)
        fprintf(stream, "  and %" PRIu64 " more steps were dropped\n", unkept);
}

/* ---- ranks */

static int compare_texts(const char *a, const char *b)
{
    return a == b ? 0 : strcmp(a, b);
}

static int compare_numbers(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

/* The state of RANK as one number. */
static uint64_t fate(const struct tg_mpir_rank *rank)
{
    return rank->is_told ? rank->state : rank->in_table ? TG_MPIR_RANK_STATES : TG_MPIR_RANK_STATES + 1;
}

/* 0: ranks that may share a line. */
static int compare_kinds(const struct tg_mpir_rank *a, const struct tg_mpir_rank *b)
{
    int result = compare_numbers(fate(a), fate(b));
    if (result == 0)
        result = compare_numbers(a->way, b->way);
    if (result == 0)
        result = compare_numbers(a->gate, b->gate);
    if (result == 0)
        result = compare_numbers(a->woken, b->woken);
    if (result == 0)
        result = compare_texts(a->executable, b->executable);
    if (result == 0)
        result = compare_texts(a->reason, b->reason);
    return result != 0 ? result : compare_texts(a->problem, b->problem);
}

static int compare_by_rank(const void *left, const void *right)
{
    const struct tg_mpir_rank *a = *(const struct tg_mpir_rank *const *)left;
    const struct tg_mpir_rank *b = *(const struct tg_mpir_rank *const *)right;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

/* Like ranks next to each other, then by host, then by rank. */
static int compare_to_fold(const void *left, const void *right)
{
    const struct tg_mpir_rank *a = *(const struct tg_mpir_rank *const *)left;
    const struct tg_mpir_rank *b = *(const struct tg_mpir_rank *const *)right;
    int result = compare_kinds(a, b);
    if (result == 0)
        result = compare_texts(a->host, b->host);
    return result != 0 ? result : compare_by_rank(left, right);
}

/* Ranks that share a line: [first, first + count) of a sorted list. */
struct line {
    size_t first, count;
    int64_t lowest;
};

static int compare_lines(const void *left, const void *right)
{
    const struct line *a = left, *b = right;
    return a->lowest < b->lowest ? -1 : a->lowest > b->lowest;
}

static void name_hosts(const struct tg_mpir_rank *const *ranks, size_t count, char *buffer, size_t size)
{
    size_t hosts = 1;
    for (size_t i = 1; i < count; i++)
        hosts += compare_texts(ranks[i]->host, ranks[i - 1]->host) != 0;
    if (hosts == 1)
        tg_printable(*ranks[0]->host == '\0' ? "?" : ranks[0]->host, buffer, size);
    else
        snprintf(buffer, size, "%zu hosts", hosts);
}

/* "acquired", "not selected"; where nothing was recorded of the rank, whether it is in the table. */
static const char *fate_words(const struct tg_mpir_rank *rank)
{
    if (rank->is_told)
        return rank_state_words(rank->state);
    return rank->in_table ? "in the table" : "removed";
}

static const char *way_words(const struct tg_mpir_rank *rank)
{
    static const char *const words[] = {[TG_MPIR_WAY_NONE] = "-",
                                        [TG_MPIR_WAY_FORK] = "followed",
                                        [TG_MPIR_WAY_ATTACHED] = "attached",
                                        [TG_MPIR_WAY_ALREADY] = "already traced"};
    if (!rank->is_told)
        return "-";
    return rank->way < sizeof words / sizeof *words ? words[rank->way] : "unknown";
}

static const char *gate_words(const struct tg_mpir_rank *rank)
{
    static const char *const words[] = {[TG_MPIR_GATE_ABSENT] = "none",
                                        [TG_MPIR_GATE_SET] = "set",
                                        [TG_MPIR_GATE_NOT_NEEDED] = "not needed",
                                        [TG_MPIR_GATE_FAILED] = "FAILED"};
    if (!rank->is_told || rank->way == TG_MPIR_WAY_NONE)
        return "-";
    return rank->gate < sizeof words / sizeof *words ? words[rank->gate] : "unknown";
}

static void name_why(const struct tg_mpir_rank *rank, char *buffer, size_t size)
{
    char reason[512], problem[512];
    tg_printable(rank->reason, reason, sizeof reason);
    tg_printable(rank->problem, problem, sizeof problem);
    snprintf(buffer, size, "%s%s%s%s%s", reason, *reason != '\0' && *problem != '\0' ? "; " : "", problem,
             (*reason != '\0' || *problem != '\0') && rank->woken ? "; " : "",
             rank->woken ? "was stopped, woken with SIGCONT" : "");
}

/* The row of LINE. */
static struct tg_error *fill_line(const struct tg_mpir_rank *const *sorted, const struct line *line,
                                  struct tg_mpir_rank_row *row)
{
    const struct tg_mpir_rank *const *ranks = sorted + line->first;
    int64_t *list = calloc(line->count, sizeof *list);
    if (list == NULL)
        return tg_error_no_memory();
    *row = tg_mpir_rank_row(ranks[0]);
    for (size_t i = 0; i < line->count; i++)
        list[i] = ranks[i]->rank;
    tg_rank_ranges_print(list, tg_rank_ranges_sort(list, line->count), row->numbers, sizeof row->numbers);
    free(list);
    name_hosts(ranks, line->count, row->hosts, sizeof row->hosts);
    if (line->count == 1)
        snprintf(row->pid, sizeof row->pid, "%" PRId64, ranks[0]->table_pid);
    else
        snprintf(row->pid, sizeof row->pid, "%zu processes", line->count);
    name_why(ranks[0], row->why, sizeof row->why);
    row->state_words = fate_words(ranks[0]);
    row->way_words = way_words(ranks[0]);
    row->gate_words = gate_words(ranks[0]);
    return NULL;
}

/* The lines that RANKS make, and RANKS sorted so that they are ranges of it. LINES has room for all. */
static size_t fold(const struct tg_mpir_text *text, const struct tg_mpir_rank **ranks, size_t count,
                   struct line *lines)
{
    bool folds = !text->all && count >= FOLD_LEAST;
    size_t n = 0;
    qsort(ranks, count, sizeof *ranks, folds ? compare_to_fold : compare_by_rank);
    for (size_t i = 0; i < count; i++) {
        if (folds && n > 0 && compare_kinds(ranks[lines[n - 1].first], ranks[i]) == 0) {
            lines[n - 1].count++;
            if (ranks[i]->rank < lines[n - 1].lowest)
                lines[n - 1].lowest = ranks[i]->rank;
        } else {
            lines[n++] = (struct line){.first = i, .count = 1, .lowest = ranks[i]->rank};
        }
    }
    if (n > 1)
        qsort(lines, n, sizeof *lines, compare_lines);
    return n;
}

static struct tg_error *write_rank_lines(const struct tg_mpir_text *text, const struct tg_mpir_rank **sorted,
                                         struct line *lines, size_t count, FILE *stream)
{
    const struct tg_report_look look = {.stream = stream, .colour = text->colour};
    size_t n = fold(text, sorted, count, lines);
    size_t shown = text->all || n <= ROWS_SHOWN ? n : ROWS_SHOWN;
    struct tg_mpir_rank_row *rows = calloc(shown + 1, sizeof *rows);
    struct tg_error *error = rows == NULL ? tg_error_no_memory() : NULL;
    for (size_t i = 0; error == NULL && i < shown; i++)
        error = fill_line(sorted, &lines[i], &rows[i]);
    if (error == NULL)
        error = tg_report_table_write(
            &look, &(struct tg_report_rows){tg_mpir_rank_fields, rows, shown, sizeof *rows}, shown);
    if (error == NULL && shown < n)
        fprintf(stream, "and %zu more lines; --all shows them\n", n - shown);
    free(rows);
    return error;
}

static struct tg_error *write_ranks(const struct tg_mpir_text *text, const struct tg_mpir_rank *ranks,
                                    size_t count, FILE *stream)
{
    if (count == 0)
        return NULL;
    const struct tg_mpir_rank **sorted = calloc(count, sizeof(const struct tg_mpir_rank *));
    struct line *lines = calloc(count, sizeof *lines);
    struct tg_error *error = sorted == NULL || lines == NULL ? tg_error_no_memory() : NULL;
    for (size_t i = 0; error == NULL && i < count; i++)
        sorted[i] = &ranks[i];
    if (error == NULL)
        error = write_rank_lines(text, sorted, lines, count, stream);
    free(sorted);
    free(lines);
    return error;
}

/* ---- starters */

static void write_layout(const struct tg_mpir_starter *starter, FILE *stream)
{
    for (size_t i = 0; i < starter->n_objects; i++) {
        const struct tg_mpir_object *object = &starter->objects[i];
        fputs("  MPIR in ", stream);
        tg_printable_write(stream, object->path);
        if (object->layout == TG_MPIR_LAYOUT_DWARF || object->layout == TG_MPIR_LAYOUT_ELF_CLASS)
            fprintf(stream, ", entries of %" PRIu64 " bytes (layout by %s)", object->stride_bytes,
                    object->layout == TG_MPIR_LAYOUT_DWARF ? "DWARF" : "word size");
        write_after(stream, ", MPIR_dll_name ", object->dll_name);
        fputc('\n', stream);
    }
}

static void write_markers(const struct tg_mpir_starter *starter, FILE *stream)
{
    const struct {
        bool is_there;
        const char *name;
    } markers[] = {{starter->i_am_starter, "MPIR_i_am_starter"},
                   {starter->acquired_pre_main, "MPIR_acquired_pre_main"},
                   {starter->force_to_main, "MPIR_force_to_main"},
                   {starter->partial_attach_ok, "MPIR_partial_attach_ok"},
                   {starter->ignore_queues, "MPIR_ignore_queues"}};
    size_t written = 0;
    for (size_t i = 0; i < sizeof markers / sizeof *markers; i++)
        if (markers[i].is_there)
            fprintf(stream, "%s%s", written++ == 0 ? "  has " : ", ", markers[i].name);
    if (written > 0)
        fputc('\n', stream);
}

static void write_tally(const struct tg_mpir_tally *tally, FILE *stream)
{
    size_t written = 0;
    for (size_t i = 0; i < TG_MPIR_RANK_STATES; i++)
        if (tally->states[i] > 0)
            fprintf(stream, "%s%" PRIu64 " %s", written++ == 0 ? "" : ", ", tally->states[i],
                    rank_state_words(i));
    if (tally->untold > 0)
        fprintf(stream, "%s%" PRIu64 " in the table only", written++ == 0 ? "" : ", ", tally->untold);
    if (tally->gone > 0)
        fprintf(stream, "%s%" PRIu64 " removed from the table", written++ == 0 ? "" : ", ", tally->gone);
}

static void write_table_facts(const struct tg_mpir_starter *starter, FILE *stream)
{
    char duration[TG_QUANTITY_SIZE];
    if (starter->has_state || starter->snapshots > 0)
        fprintf(stream, "  table of %" PRId64 " entries", starter->claimed_size);
    if (starter->snapshots > 0)
        fprintf(stream, ", read %" PRIu64 " time%s, last %" PRIu64 " entr%s in %s", starter->snapshots,
                starter->snapshots == 1 ? "" : "s", starter->read_entries,
                starter->read_entries == 1 ? "y" : "ies", tg_quantity_duration(starter->read_ns, duration));
    if (starter->snapshots > 0 && !starter->is_whole)
        fputs(", incomplete", stream);
    write_after(stream, ": ", starter->table_reason);
    if (starter->has_state || starter->snapshots > 0)
        fputc('\n', stream);
}

static void write_facts(const struct tg_mpir_text *text, const struct tg_mpir_starter *starter, FILE *stream)
{
    char moment[TG_QUANTITY_SIZE];
    write_layout(starter, stream);
    write_markers(starter, stream);
    if (starter->is_written)
        fprintf(stream, "  MPIR_being_debugged %s%" PRId64,
                *starter->write_error == '\0' ? "" : "could not be set to ", starter->being_debugged);
    if (starter->is_written)
        write_after(stream, ": ", starter->write_error);
    if (starter->is_written)
        fputc('\n', stream);
    write_table_facts(starter, stream);
    if (starter->has_aborted)
        fprintf(stream, "  ABORTING since %s s\n",
                tg_quantity_moment(starter->aborted_ns, text->start_ns, 6, moment));
    if (*starter->abort_string != '\0') {
        fputs("  abort string ", stream);
        tg_printable_write_quoted(stream, starter->abort_string);
        fputc('\n', stream);
    }
}

static struct tg_error *write_starter(const struct tg_mpir_text *text, size_t i, FILE *stream)
{
    const struct tg_mpir_starter *starter = tg_mpir_model_at(text->mpir, i);
    const struct tg_process_entry *entry = tg_process_model_at(text->processes, starter->process);
    size_t count;
    const struct tg_mpir_rank *ranks = tg_mpir_model_ranks(text->mpir, i, &count);
    struct tg_mpir_tally tally = tg_mpir_ranks_tally(ranks, count);
    tg_printable_write(stream, tg_process_entry_name(entry));
    fprintf(stream, " (pid %" PRId32 "): ", starter->pid);
    tg_printable_write(stream, *starter->launcher == '\0' ? "unknown job launcher" : starter->launcher);
    write_after(stream, " ", starter->job);
    if (starter->is_recognised)
        fprintf(stream, "; %s", acquisition_words(starter->acquisition));
    write_after(stream, ": ", starter->reason);
    fputs(count == 0 ? "" : "; ", stream);
    write_tally(&tally, stream);
    fputc('\n', stream);
    write_facts(text, starter, stream);
    struct tg_error *error = write_ranks(text, ranks, count, stream);
    if (error == NULL)
        write_steps(text, i, stream);
    return error;
}

/* ---- ranks of no table */

static struct tg_error *write_others(const struct tg_mpir_text *text, const struct tg_mpir_others *others,
                                     FILE *stream)
{
    const struct tg_report_look look = {.stream = stream, .colour = text->colour};
    struct tg_mpir_other_row *rows = calloc(others->count + 1, sizeof *rows);
    if (rows == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < others->count; i++)
        rows[i] = tg_mpir_other_row(&others->groups[i]);
    if (others->count > 0)
        fputs("Ranks without an MPIR table entry:\n", stream);
    struct tg_error *error = tg_report_table_write(
        &look, &(struct tg_report_rows){tg_mpir_other_fields, rows, others->count, sizeof *rows},
        others->count);
    if (error == NULL && others->unkept > 0)
        fprintf(stream, "and %" PRIu64 " ranks of other jobs\n", others->unkept);
    free(rows);
    return error;
}

/* ---- all together */

bool tg_mpir_text_is_called_for(const struct tg_mpir_text *text)
{
    bool found = tg_mpir_model_starter_count(text->mpir) > 0;
    for (size_t i = 0; !found && i < tg_process_model_count(text->processes); i++)
        found = tg_process_model_at(text->processes, i)->rank >= 0;
    return found;
}

struct tg_error *tg_mpir_text_write(const struct tg_mpir_text *text, FILE *stream)
{
    struct tg_mpir_others others = {0};
    struct tg_error *error = tg_mpir_others_find(text->mpir, text->processes, &others);
    for (size_t i = 0; error == NULL && i < tg_mpir_model_count(text->mpir); i++)
        if (tg_mpir_model_at(text->mpir, i)->is_starter)
            error = write_starter(text, i, stream);
    if (error == NULL)
        error = write_others(text, &others, stream);
    tg_mpir_others_deinit(&others);
    uint64_t first_ns;
    const char *first;
    uint64_t impossible = tg_mpir_model_impossible(text->mpir, &first_ns, &first);
    char moment[TG_QUANTITY_SIZE];
    if (error == NULL && impossible > 0)
        fprintf(stream, "%" PRIu64 " inconsistent MPIR event%s, the first at %s s: %s\n", impossible,
                impossible == 1 ? "" : "s", tg_quantity_moment(first_ns, text->start_ns, 6, moment), first);
    if (error == NULL && tg_mpir_model_beyond_limit(text->mpir) > 0)
        fprintf(stream, "%" PRIu64 " more MPIR items were dropped: too many to keep\n",
                tg_mpir_model_beyond_limit(text->mpir));
    return error;
}
