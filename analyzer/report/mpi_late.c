/* Late senders: pairs of places, of the call that waited and of the one that sent. */
#include "analyzer/output/quantity.h"
#include "analyzer/report/fields.h"
#include "analyzer/report/sections.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_SHOWN = 10 };

struct row {
    const char *job;
    uint64_t total_ns, calls, longest_ns;
    size_t process, sender;
    struct tg_report_maybe rank, sender_rank;
    char who[32], whom[32]; /* ranks, or pids */
    const char *call, *sent_by;
    uint64_t code, sent_code;
    char where[256], sent_where[256];
};

#define FIELD(heading, key, form, member) TG_FIELD(struct row, heading, key, form, member)

/* The first one is shown where there are several jobs. */
static const struct tg_report_field fields[] = {
    FIELD("JOB", "job", TEXT, job),
    FIELD(">TIME", "total_ns", DURATION, total_ns),
    FIELD(">CALLS", "calls", COUNT, calls),
    FIELD(">LONGEST", "longest_ns", DURATION, longest_ns),
    FIELD(">RANK", NULL, CHARS, who),
    FIELD(NULL, "process", PROCESS, process),
    FIELD(NULL, "rank", MAYBE, rank),
    FIELD("WAITED IN", "call", TEXT, call),
    FIELD(NULL, "code", CODE, code),
    FIELD("WHERE", "where", WHERE, where),
    FIELD(">FOR RANK", NULL, CHARS, whom),
    FIELD(NULL, "sender", PROCESS, sender),
    FIELD(NULL, "sender_rank", MAYBE, sender_rank),
    FIELD("WHICH SENT BY", "sent_by", TEXT, sent_by),
    FIELD(NULL, "sent_code", CODE, sent_code),
    FIELD("AT", "sent_where", WHERE, sent_where),
    {0},
};

static int order(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* The most time first. */
static int compare_rows(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    int by = order(y->total_ns, x->total_ns);
    if (by == 0)
        by = order(x->process, y->process);
    if (by == 0)
        by = order(x->sender, y->sender);
    if (by == 0)
        by = strcmp(x->where, y->where);
    if (by == 0)
        by = strcmp(x->sent_where, y->sent_where);
    if (by == 0)
        by = order(x->code, y->code);
    return by != 0 ? by : order(x->sent_code, y->sent_code);
}

static struct tg_report_maybe name_rank(const struct tg_report *report, size_t process, char *buffer,
                                        size_t size)
{
    const struct tg_process_entry *entry = tg_process_model_at(report->processes, process);
    if (entry->rank >= 0)
        snprintf(buffer, size, "%" PRId64, entry->rank);
    else
        snprintf(buffer, size, "pid %" PRId32, entry->pid);
    return (struct tg_report_maybe){entry->rank >= 0, entry->rank};
}

static void fill_row(const struct tg_report *report, const struct tg_mpi_late_send *late, struct row *row)
{
    *row = (struct row){.job = tg_process_model_at(report->processes, late->receive.process)->job,
                        .total_ns = late->total_ns,
                        .calls = late->calls,
                        .longest_ns = late->longest_ns,
                        .process = late->receive.process,
                        .sender = late->send.process,
                        .call = late->receive.name,
                        .sent_by = late->send.name,
                        .code = late->receive.code,
                        .sent_code = late->send.code};
    row->rank = name_rank(report, row->process, row->who, sizeof row->who);
    row->sender_rank = name_rank(report, row->sender, row->whom, sizeof row->whom);
    tg_report_name_code(report, row->process, row->code, row->where, sizeof row->where);
    tg_report_name_code(report, row->sender, row->sent_code, row->sent_where, sizeof row->sent_where);
}

/* The caller frees *ROWS. */
static struct tg_error *collect(const struct tg_report *report, struct row **rows, size_t *count)
{
    *count = tg_mpi_late_sends_count(report->mpi_late_sends);
    *rows = calloc(*count + 1, sizeof **rows);
    if (*rows == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < *count; i++)
        fill_row(report, tg_mpi_late_sends_at(report->mpi_late_sends, i), &(*rows)[i]);
    qsort(*rows, *count, sizeof **rows, compare_rows);
    return NULL;
}

struct tg_error *tg_report_mpi_late(const struct tg_report_page *page)
{
    struct row *rows;
    size_t count;
    struct tg_error *error = collect(page->report, &rows, &count);
    if (error != NULL)
        return error;
    size_t shown = page->options->all || count < ROWS_SHOWN ? count : ROWS_SHOWN;
    const struct tg_report_rows table = {fields + (page->many_jobs ? 0 : 1), rows, count, sizeof *rows};
    uint64_t calls, total_ns;
    tg_mpi_late_sends_beyond(page->report->mpi_late_sends, &calls, &total_ns);
    if (count > 0) {
        tg_report_title(page, "Late senders");
        error = tg_report_table(page, &table, shown);
        if (error == NULL)
            tg_report_more(page, 0, count - shown);
    }
    if (error == NULL && calls > 0) {
        char number[TG_QUANTITY_SIZE], spent[TG_QUANTITY_SIZE];
        fprintf(page->stream, "%s calls waited %s at further places: too many to keep\n",
                tg_quantity_count(calls, number), tg_quantity_duration(total_ns, spent));
    }
    free(rows);
    return error;
}

struct tg_error *tg_report_mpi_late_json(const struct tg_report *report, struct tg_json *json)
{
    struct row *rows;
    size_t count;
    struct tg_error *error = collect(report, &rows, &count);
    if (error != NULL)
        return error;
    const struct tg_report_rows array = {fields, rows, count, sizeof *rows};
    tg_report_array(json, report, "late_senders", &array);
    free(rows);
    return NULL;
}
