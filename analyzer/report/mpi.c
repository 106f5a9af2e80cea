/* The text report's MPI: ranks, how long they were in calls, where they are, what waits for its other half;
 * and the verdict. */
#include "analyzer/output/quantity.h"
#include "analyzer/output/rank_ranges.h"
#include "analyzer/output/text_table.h"
#include "analyzer/report/sections.h"
#include "analyzer/verdict/words.h"
#include "format/base/printable.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS_SHOWN = 64,
    FOLD_LEAST = 9, /* so many threads share lines with their likes */
    WAITING_SHOWN = 10,
    FINDINGS_SHOWN = 12,
};

static char *call_text(const struct tg_mpi_call *call)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL)
        return NULL;
    tg_words_call(stream, call);
    if (fclose(stream) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

/* ---- threads that call MPI */

struct row {
    const struct tg_mpi_thread *thread;
    const char *job;
    int64_t rank;
    char where[200]; /* the call's place in the program, where it has a name */
};

static struct row row_of(const struct tg_report *report, const struct tg_mpi_thread *thread)
{
    const struct tg_process_entry *entry = tg_process_model_at(report->processes, thread->process);
    const struct tg_mpi_process *process = tg_mpi_model_process(report->mpi, thread->process);
    struct row row = {
        .thread = thread, .job = entry->job, .rank = process != NULL ? process->rank : entry->rank};
    if (report->namer.name != NULL && thread->call.code != 0)
        report->namer.name(report->namer.context, thread->process, thread->call.code, row.where,
                           sizeof row.where);
    if (strncmp(row.where, "0x", 2) == 0)
        row.where[0] = '\0'; /* a bare address means something in one process only */
    return row;
}

static int compare_by_rank(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    int order = strcmp(x->job, y->job);
    if (order != 0)
        return order;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->thread->process != y->thread->process)
        return x->thread->process < y->thread->process ? -1 : 1;
    return (x->thread->tid > y->thread->tid) - (x->thread->tid < y->thread->tid);
}

/* Those of one job that are in, or left, a call of one name at one place are alike. */
static int compare_alike(const struct row *x, const struct row *y)
{
    int order = strcmp(x->job, y->job);
    if (order == 0)
        order = (int)y->thread->in_call - (int)x->thread->in_call;
    if (order == 0)
        order = strcmp(x->thread->call.name, y->thread->call.name);
    return order != 0 ? order : strcmp(x->where, y->where);
}

static int compare_by_likeness(const void *a, const void *b)
{
    int order = compare_alike(a, b);
    return order != 0 ? order : compare_by_rank(a, b);
}

static uint64_t moment_of(const struct tg_mpi_thread *thread)
{
    return thread->in_call ? thread->call.since_ns : thread->left_ns;
}

static struct tg_error *add_thread(const struct tg_report *report, const struct row *row,
                                   struct tg_text_table *table)
{
    const struct tg_mpi_thread *thread = row->thread;
    char rank[24], tid[16], calls[TG_QUANTITY_SIZE], time[TG_QUANTITY_SIZE], since[TG_QUANTITY_SIZE];
    snprintf(rank, sizeof rank, "%" PRId64, row->rank);
    snprintf(tid, sizeof tid, "%" PRId32, thread->tid);
    char *call = call_text(&thread->call);
    if (call == NULL)
        return tg_error_no_memory();
    const char *cells[] = {
        rank,
        tid,
        tg_quantity_count(thread->calls, calls),
        tg_quantity_duration(thread->call_ns, time),
        thread->in_call ? "in" : "left",
        tg_quantity_moment(moment_of(thread), report->start_ns, 6, since),
        call,
    };
    struct tg_error *error = tg_text_table_add(table, cells);
    free(call);
    return error;
}

static struct tg_error *write_each(const struct tg_report_page *page, struct row *rows, size_t count)
{
    static const char *const headings[] = {">RANK", ">THREAD", ">CALLS", ">TIME IN THEM",
                                           "LAST",  ">AT (s)", "CALL",   NULL};
    size_t shown = page->options->all || count < ROWS_SHOWN ? count : ROWS_SHOWN;
    struct tg_text_table *table = NULL;
    qsort(rows, count, sizeof *rows, compare_by_rank);
    struct tg_error *error = tg_text_table_create(headings, page->options->colour, &table);
    for (size_t i = 0; error == NULL && i < shown; i++)
        error = add_thread(page->report, &rows[i], table);
    if (error == NULL)
        error = tg_text_table_print(table, page->stream);
    tg_text_table_destroy(table);
    return error;
}

/* "553", or "550-561" of several. */
static char *print_range(uint64_t least, uint64_t most, char *buffer, size_t size)
{
    char from[TG_QUANTITY_SIZE], to[TG_QUANTITY_SIZE];
    tg_quantity_count(least, from);
    if (least == most)
        snprintf(buffer, size, "%s", from);
    else
        snprintf(buffer, size, "%s-%s", from, tg_quantity_count(most, to));
    return buffer;
}

/* N rows that are alike, in the order of their ranks. */
static struct tg_error *add_alike(const struct tg_report_page *page, const struct row *rows, size_t n,
                                  struct tg_text_table *table)
{
    char ranks[160], threads[TG_QUANTITY_SIZE], calls[2 * TG_QUANTITY_SIZE + 2], time[TG_QUANTITY_SIZE];
    char since[TG_QUANTITY_SIZE];
    uint64_t least = rows[0].thread->calls, most = least, sum_ns = 0, first_ns = moment_of(rows[0].thread);
    int64_t *numbers = calloc(n, sizeof *numbers);
    char *call = call_text(&rows[0].thread->call);
    bool is_same = true;
    for (size_t i = 0; numbers != NULL && call != NULL && i < n; i++) {
        const struct tg_mpi_thread *thread = rows[i].thread;
        least = thread->calls < least ? thread->calls : least;
        most = thread->calls > most ? thread->calls : most;
        first_ns = moment_of(thread) < first_ns ? moment_of(thread) : first_ns;
        sum_ns += thread->call_ns / n;
        numbers[i] = rows[i].rank;
        is_same &= thread->call.peer == rows[0].thread->call.peer &&
                   thread->call.tag == rows[0].thread->call.tag &&
                   thread->call.instance == rows[0].thread->call.instance;
    }
    if (numbers == NULL || call == NULL) {
        free(numbers);
        free(call);
        return tg_error_no_memory();
    }
    if (!is_same)
        call[strcspn(call, " ")] = '\0'; /* the name alone */
    const char *cells[] = {
        tg_rank_ranges_print(numbers, tg_rank_ranges_sort(numbers, n), ranks, sizeof ranks),
        tg_quantity_count(n, threads),
        print_range(least, most, calls, sizeof calls),
        tg_quantity_duration(sum_ns, time),
        rows[0].thread->in_call ? "in" : "left",
        tg_quantity_moment(first_ns, page->report->start_ns, 6, since),
        call,
        rows[0].where,
    };
    struct tg_error *error = tg_text_table_add(table, cells);
    free(numbers);
    free(call);
    return error;
}

static struct tg_error *write_folded(const struct tg_report_page *page, struct row *rows, size_t count,
                                     size_t *left_out)
{
    static const char *const headings[] = {
        "RANKS", ">THREADS", ">CALLS", ">TIME IN THEM", "LAST", ">FROM (s)", "CALL", "WHERE", NULL};
    struct tg_text_table *table = NULL;
    qsort(rows, count, sizeof *rows, compare_by_likeness);
    struct tg_error *error = tg_text_table_create(headings, page->options->colour, &table);
    size_t shown = 0, i = 0;
    for (size_t next; error == NULL && i < count && shown < ROWS_SHOWN; i = next, shown++) {
        for (next = i + 1; next < count && compare_alike(&rows[i], &rows[next]) == 0; next++)
            ;
        error = add_alike(page, &rows[i], next - i, table);
    }
    if (error == NULL)
        error = tg_text_table_print(table, page->stream);
    *left_out = count - i;
    tg_text_table_destroy(table);
    return error;
}

static struct tg_error *write_threads(const struct tg_report_page *page, size_t count)
{
    struct row *rows = calloc(count, sizeof *rows);
    if (rows == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < count; i++)
        rows[i] = row_of(page->report, tg_mpi_model_thread_at(page->report->mpi, i));
    size_t left_out = 0;
    tg_report_title(page, "MPI calls");
    bool is_folded = !page->options->all && count >= FOLD_LEAST;
    struct tg_error *error =
        is_folded ? write_folded(page, rows, count, &left_out) : write_each(page, rows, count);
    free(rows);
    if (error == NULL && left_out > 0) {
        char rest[TG_QUANTITY_SIZE];
        fprintf(page->stream, "and %s more; --all shows them\n", tg_quantity_count(left_out, rest));
    }
    return error;
}

/* ---- messages */

struct telling {
    const struct tg_report_page *page;
    uint64_t count, bytes;
    bool is_shown; /* counted before */
};

static struct tg_error *tell_message(void *context, const struct tg_mpi_message *message)
{
    struct telling *telling = context;
    const struct tg_report_page *page = telling->page;
    telling->bytes += message->bytes;
    if (telling->count++ >= WAITING_SHOWN && !page->options->all)
        return NULL;
    if (!telling->is_shown)
        return NULL;
    const struct tg_verdict_input input = {.processes = page->report->processes,
                                           .start_ns = page->report->start_ns,
                                           .namer = page->report->namer};
    fputs("  ", page->stream);
    tg_words_message(page->stream, &input, message);
    fputc('\n', page->stream);
    return NULL;
}

typedef struct tg_error *
visit_messages(const struct tg_mpi_model *model,
               struct tg_error *(*visit)(void *context, const struct tg_mpi_message *message), void *context);

/* What VISIT visits: how many, and the first of them. */
static struct tg_error *write_messages(const struct tg_report_page *page, visit_messages *visit,
                                       const char *what, const char *are)
{
    struct telling counting = {.page = page}, telling = {.page = page, .is_shown = true};
    char count[TG_QUANTITY_SIZE], bytes[TG_QUANTITY_SIZE];
    struct tg_error *error = visit(page->report->mpi, tell_message, &counting);
    if (error != NULL || counting.count == 0)
        return error;
    fprintf(page->stream, "%s %s%s (%s bytes) %s\n", tg_quantity_count(counting.count, count), what,
            counting.count == 1 ? "" : "s", tg_quantity_count(counting.bytes, bytes), are);
    error = visit(page->report->mpi, tell_message, &telling);
    if (counting.count > WAITING_SHOWN && !page->options->all)
        fprintf(page->stream, "  and %s more; --all shows them\n",
                tg_quantity_count(counting.count - WAITING_SHOWN, count));
    return error;
}

static struct tg_error *write_waiting(const struct tg_report_page *page)
{
    char count[TG_QUANTITY_SIZE];
    struct tg_error *error =
        write_messages(page, tg_mpi_model_visit_sends, "message", "sent and not received");
    if (error == NULL)
        error = write_messages(page, tg_mpi_model_visit_receives, "receive", "posted and not complete");
    if (error != NULL)
        return error;
    if (tg_mpi_model_unkept(page->report->mpi) > 0)
        fprintf(page->stream, "%s older sends and receives without their other half were forgotten\n",
                tg_quantity_count(tg_mpi_model_unkept(page->report->mpi), count));
    if (tg_mpi_model_impossible(page->report->mpi) > 0)
        fprintf(page->stream, "%s MPI events cannot be as recorded\n",
                tg_quantity_count(tg_mpi_model_impossible(page->report->mpi), count));
    return NULL;
}

struct tg_error *tg_report_mpi(const struct tg_report_page *page)
{
    size_t count = tg_mpi_model_thread_count(page->report->mpi);
    if (count == 0)
        return NULL;
    struct tg_error *error = write_threads(page, count);
    return error != NULL ? error : write_waiting(page);
}

/* ---- verdict */

struct tg_error *tg_report_verdict(const struct tg_report_page *page)
{
    const struct tg_verdict *verdict = &page->report->verdict;
    if (verdict->count == 0)
        return NULL;
    tg_report_title(page, "Post-mortem");
    size_t shown = page->options->all || verdict->count <= FINDINGS_SHOWN ? verdict->count : FINDINGS_SHOWN;
    for (size_t i = 0; i < shown; i++)
        fprintf(page->stream, "%zu. %s\n", i + 1, verdict->findings[i].text);
    if (shown < verdict->count) {
        char rest[TG_QUANTITY_SIZE];
        fprintf(page->stream, "and %s more; --all shows them\n",
                tg_quantity_count(verdict->count - shown, rest));
    }
    return NULL;
}
