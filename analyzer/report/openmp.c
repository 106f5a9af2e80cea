/* The text report's OpenMP: zones, regions and their imbalance, workers and what they waited for, locks. */
#include "analyzer/output/openmp_words.h"
#include "analyzer/output/quantity.h"
#include "analyzer/output/text_table.h"
#include "analyzer/report/sections.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_SHOWN = 25 };

/* Rows of processes that run the same program are one: LABEL and WHERE tell them apart. */
struct row {
    char label[64];
    char where[256];
    uint64_t count, total_ns, max_ns, threads, busy_ns, max_busy_ns, contended, hold_ns;
};

struct rows {
    struct row *items;
    size_t count;
};

static int compare_by_name(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    int order = strcmp(x->label, y->label);
    return order != 0 ? order : strcmp(x->where, y->where);
}

static int compare_by_time(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    if (x->total_ns != y->total_ns)
        return x->total_ns < y->total_ns ? 1 : -1;
    return compare_by_name(a, b);
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void merge_rows(struct rows *rows)
{
    size_t kept = 0;
    if (rows->count == 0)
        return;
    qsort(rows->items, rows->count, sizeof *rows->items, compare_by_name);
    for (size_t i = 1; i < rows->count; i++) {
        struct row *to = &rows->items[kept];
        const struct row *from = &rows->items[i];
        if (compare_by_name(to, from) != 0) {
            rows->items[++kept] = *from;
            continue;
        }
        to->count += from->count;
        to->total_ns += from->total_ns;
        to->busy_ns += from->busy_ns;
        to->max_busy_ns += from->max_busy_ns;
        to->contended += from->contended;
        to->hold_ns += from->hold_ns;
        to->max_ns = larger(to->max_ns, from->max_ns);
        to->threads = larger(to->threads, from->threads);
    }
    rows->count = kept + 1;
    qsort(rows->items, rows->count, sizeof *rows->items, compare_by_time);
}

static void name_code(const struct tg_report *report, size_t process, uint64_t code, char *buffer,
                      size_t size)
{
    if (code == 0)
        snprintf(buffer, size, "?");
    else if (report->namer.name == NULL)
        snprintf(buffer, size, "0x%" PRIx64, code);
    else
        report->namer.name(report->namer.context, process, code, buffer, size);
}

/* Adds rows as cells_of says, at most ROWS_SHOWN unless all are wanted. */
static struct tg_error *
write_rows(const struct tg_report_page *page, const char *const *headings, const struct rows *rows,
           struct tg_error *(*add)(const struct row *row, struct tg_text_table *table))
{
    struct tg_text_table *table = NULL;
    struct tg_error *error = tg_text_table_create(headings, page->options->colour, &table);
    size_t shown = page->options->all || rows->count < ROWS_SHOWN ? rows->count : ROWS_SHOWN;
    for (size_t i = 0; error == NULL && i < shown; i++)
        error = add(&rows->items[i], table);
    if (error == NULL)
        error = tg_text_table_print(table, page->stream);
    if (error == NULL && shown < rows->count) {
        char rest[TG_QUANTITY_SIZE];
        fprintf(page->stream, "and %s more; --all shows them\n",
                tg_quantity_count(rows->count - shown, rest));
    }
    tg_text_table_destroy(table);
    return error;
}

/* ---- zones */

static struct tg_error *add_zone(const struct row *row, struct tg_text_table *table)
{
    char count[TG_QUANTITY_SIZE], total[TG_QUANTITY_SIZE], longest[TG_QUANTITY_SIZE];
    const char *cells[] = {row->label, tg_quantity_count(row->count, count),
                           tg_quantity_duration(row->total_ns, total),
                           tg_quantity_duration(row->max_ns, longest), row->where};
    return tg_text_table_add(table, cells);
}

static struct tg_error *write_zones(const struct tg_report_page *page)
{
    static const char *const headings[] = {"ZONE", ">TIMES", ">TOTAL", ">LONGEST", "WHERE", NULL};
    size_t count;
    const struct tg_openmp_zone_use *zones = tg_openmp_statistics_zones(page->report->openmp, &count);
    struct rows rows = {.items = calloc(count + 1, sizeof *rows.items), .count = count};
    if (rows.items == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < count; i++) {
        struct row *row = &rows.items[i];
        tg_openmp_words_place(zones[i].kind, zones[i].what, row->label, sizeof row->label);
        size_t length = strlen(row->label);
        if (zones[i].is_inferred)
            snprintf(row->label + length, sizeof row->label - length, "%s",
                     tg_openmp_words_inferred(TG_OMP_INFERRED));
        name_code(page->report, zones[i].process, zones[i].code, row->where, sizeof row->where);
        row->count = zones[i].count;
        row->total_ns = zones[i].total_ns;
        row->max_ns = zones[i].max_ns;
    }
    merge_rows(&rows);
    tg_report_title(page, "OpenMP zones");
    struct tg_error *error = write_rows(page, headings, &rows, add_zone);
    free(rows.items);
    return error;
}

/* ---- regions */

static struct tg_error *add_region(const struct row *row, struct tg_text_table *table)
{
    char count[TG_QUANTITY_SIZE], threads[TG_QUANTITY_SIZE], total[TG_QUANTITY_SIZE], imbalance[16];
    double most = (double)row->max_busy_ns;
    snprintf(imbalance, sizeof imbalance, "%.1f%%",
             most <= 0 ? 0.0 : 100.0 * (most - (double)row->busy_ns) / most);
    const char *cells[] = {tg_quantity_count(row->count, count), tg_quantity_count(row->threads, threads),
                           tg_quantity_duration(row->total_ns, total), imbalance, row->where};
    return tg_text_table_add(table, cells);
}

static struct tg_error *write_regions(const struct tg_report_page *page)
{
    static const char *const headings[] = {">TIMES",     ">THREADS",        ">TOTAL",
                                           ">IMBALANCE", "PARALLEL REGION", NULL};
    size_t count;
    const struct tg_openmp_region_use *regions = tg_openmp_statistics_regions(page->report->openmp, &count);
    if (count == 0)
        return NULL;
    struct rows rows = {.items = calloc(count, sizeof *rows.items), .count = count};
    if (rows.items == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < count; i++) {
        struct row *row = &rows.items[i];
        name_code(page->report, regions[i].process, regions[i].code, row->where, sizeof row->where);
        row->count = regions[i].count;
        row->threads = regions[i].threads;
        row->total_ns = regions[i].total_ns;
        row->busy_ns = regions[i].busy_ns;
        row->max_busy_ns = regions[i].max_busy_ns;
    }
    merge_rows(&rows);
    tg_report_title(page, "OpenMP regions");
    struct tg_error *error = write_rows(page, headings, &rows, add_region);
    free(rows.items);
    return error;
}

/* ---- locks */

static struct tg_error *add_lock(const struct row *row, struct tg_text_table *table)
{
    char count[TG_QUANTITY_SIZE], contended[TG_QUANTITY_SIZE], wait[TG_QUANTITY_SIZE];
    char longest[TG_QUANTITY_SIZE], hold[TG_QUANTITY_SIZE];
    const char *cells[] = {row->label,
                           tg_quantity_count(row->count, count),
                           tg_quantity_count(row->contended, contended),
                           tg_quantity_duration(row->total_ns, wait),
                           tg_quantity_duration(row->max_ns, longest),
                           tg_quantity_duration(row->hold_ns, hold),
                           row->where};
    return tg_text_table_add(table, cells);
}

static struct tg_error *write_locks(const struct tg_report_page *page)
{
    static const char *const headings[] = {"LOCK",          ">ENTRIES", ">FOUND TAKEN", ">WAITED",
                                           ">LONGEST WAIT", ">HELD",    "FIRST AT",     NULL};
    size_t count;
    const struct tg_openmp_lock_use *locks = tg_openmp_statistics_locks(page->report->openmp, &count);
    if (count == 0)
        return NULL;
    struct rows rows = {.items = calloc(count, sizeof *rows.items), .count = count};
    if (rows.items == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < count; i++) {
        struct row *row = &rows.items[i];
        snprintf(row->label, sizeof row->label, "%s", tg_openmp_words_mutex(locks[i].mutex)->phrase);
        name_code(page->report, locks[i].process, locks[i].code, row->where, sizeof row->where);
        row->count = locks[i].entries;
        row->contended = locks[i].contended;
        row->total_ns = locks[i].wait_ns;
        row->max_ns = locks[i].max_wait_ns;
        row->hold_ns = locks[i].hold_ns;
    }
    merge_rows(&rows);
    tg_report_title(page, "OpenMP critical sections and locks, by waiting");
    struct tg_error *error = write_rows(page, headings, &rows, add_lock);
    free(rows.items);
    return error;
}

/* ---- workers */

static void name_process(const struct tg_report *report, size_t process, char *buffer, size_t size)
{
    const struct tg_process_entry *entry = tg_process_model_at(report->processes, process);
    if (entry->rank >= 0)
        snprintf(buffer, size, "%" PRId64, entry->rank);
    else
        snprintf(buffer, size, "pid %" PRId32, entry->pid);
}

static struct tg_error *add_worker(const struct tg_report *report, const struct tg_openmp_worker *worker,
                                   struct tg_text_table *table)
{
    struct tg_openmp_worker_use use = tg_openmp_statistics_worker(report->openmp, worker->index);
    char rank[32], number[TG_QUANTITY_SIZE], regions[TG_QUANTITY_SIZE], barriers[TG_QUANTITY_SIZE];
    char locks[TG_QUANTITY_SIZE], tasks[TG_QUANTITY_SIZE], tid[16];
    name_process(report, worker->process, rank, sizeof rank);
    snprintf(tid, sizeof tid, "%" PRId32, worker->tid);
    const char *cells[] = {rank,
                           tg_quantity_count(worker->number, number),
                           tid,
                           tg_quantity_duration(use.region_ns, regions),
                           tg_quantity_duration(use.barrier_ns, barriers),
                           tg_quantity_duration(use.lock_ns, locks),
                           tg_quantity_count(use.tasks, tasks)};
    return tg_text_table_add(table, cells);
}

struct worker_row {
    const struct tg_openmp_worker *worker;
    const char *job;
    int64_t rank;
};

static int compare_workers(const void *a, const void *b)
{
    const struct worker_row *x = a, *y = b;
    int order = strcmp(x->job, y->job);
    if (order != 0)
        return order;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->worker->process != y->worker->process)
        return x->worker->process < y->worker->process ? -1 : 1;
    return x->worker->index < y->worker->index ? -1 : x->worker->index > y->worker->index;
}

static struct tg_error *write_each_worker(const struct tg_report_page *page, const struct worker_row *rows,
                                          size_t count)
{
    static const char *const headings[] = {">RANK",        ">WORKER",    ">THREAD", ">IN REGIONS",
                                           ">AT BARRIERS", ">FOR LOCKS", ">TASKS",  NULL};
    struct tg_text_table *table = NULL;
    struct tg_error *error = tg_text_table_create(headings, page->options->colour, &table);
    for (size_t i = 0; error == NULL && i < count; i++)
        error = add_worker(page->report, rows[i].worker, table);
    if (error == NULL)
        error = tg_text_table_print(table, page->stream);
    tg_text_table_destroy(table);
    return error;
}

/* The workers of one process, N of them, in a line: what they did all together, and who waited most. */
static struct tg_error *add_process(const struct tg_report *report, const struct worker_row *rows, size_t n,
                                    struct tg_text_table *table)
{
    struct tg_openmp_worker_use sum = {0};
    uint64_t most_ns = 0;
    char rank[32], count[TG_QUANTITY_SIZE], regions[TG_QUANTITY_SIZE], barriers[TG_QUANTITY_SIZE];
    char most[TG_QUANTITY_SIZE], number[TG_QUANTITY_SIZE], locks[TG_QUANTITY_SIZE], tasks[TG_QUANTITY_SIZE];
    const struct tg_openmp_worker *latest = rows[0].worker;
    for (size_t i = 0; i < n; i++) {
        struct tg_openmp_worker_use use = tg_openmp_statistics_worker(report->openmp, rows[i].worker->index);
        sum.region_ns += use.region_ns;
        sum.barrier_ns += use.barrier_ns;
        sum.lock_ns += use.lock_ns;
        sum.tasks += use.tasks;
        if (use.barrier_ns > most_ns) {
            most_ns = use.barrier_ns;
            latest = rows[i].worker;
        }
    }
    name_process(report, rows[0].worker->process, rank, sizeof rank);
    const char *cells[] = {rank,
                           tg_quantity_count(n, count),
                           tg_quantity_duration(sum.region_ns, regions),
                           tg_quantity_duration(sum.barrier_ns, barriers),
                           tg_quantity_duration(most_ns, most),
                           tg_quantity_count(latest->number, number),
                           tg_quantity_duration(sum.lock_ns, locks),
                           tg_quantity_count(sum.tasks, tasks)};
    return tg_text_table_add(table, cells);
}

static struct tg_error *write_worker_groups(const struct tg_report_page *page, const struct worker_row *rows,
                                            size_t count)
{
    static const char *const headings[] = {">RANK",        ">WORKERS",  ">IN REGIONS",
                                           ">AT BARRIERS", ">THE MOST", ">BY WORKER",
                                           ">FOR LOCKS",   ">TASKS",    NULL};
    struct tg_text_table *table = NULL;
    struct tg_error *error = tg_text_table_create(headings, page->options->colour, &table);
    size_t i = 0, shown = 0;
    for (size_t next; error == NULL && i < count && shown < ROWS_SHOWN; i = next, shown++) {
        for (next = i + 1; next < count && rows[next].worker->process == rows[i].worker->process; next++)
            ;
        error = add_process(page->report, &rows[i], next - i, table);
    }
    if (error == NULL)
        error = tg_text_table_print(table, page->stream);
    tg_text_table_destroy(table);
    if (error == NULL)
        fputs(i < count ? "and others; --all shows each worker\n" : "--all shows each worker\n",
              page->stream);
    return error;
}

static struct tg_error *write_workers(const struct tg_report_page *page)
{
    const struct tg_openmp_model *model = tg_openmp_statistics_model(page->report->openmp);
    size_t count = tg_openmp_model_worker_count(model);
    struct worker_row *rows = calloc(count + 1, sizeof *rows);
    if (rows == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < count; i++) {
        const struct tg_openmp_worker *worker = tg_openmp_model_worker_at(model, i);
        const struct tg_process_entry *entry = tg_process_model_at(page->report->processes, worker->process);
        rows[i] = (struct worker_row){worker, entry->job, entry->rank};
    }
    qsort(rows, count, sizeof *rows, compare_workers);
    tg_report_title(page, "OpenMP workers");
    struct tg_error *error = page->options->all || count <= ROWS_SHOWN
                                 ? write_each_worker(page, rows, count)
                                 : write_worker_groups(page, rows, count);
    free(rows);
    return error;
}

static void write_impossible(const struct tg_report_page *page)
{
    uint64_t first_ns;
    const char *first;
    char count[TG_QUANTITY_SIZE], moment[TG_QUANTITY_SIZE];
    uint64_t impossible =
        tg_openmp_model_impossible(tg_openmp_statistics_model(page->report->openmp), &first_ns, &first);
    if (impossible > 0)
        fprintf(page->stream, "%s OpenMP event%s cannot be as recorded, the first at %s s: %s\n",
                tg_quantity_count(impossible, count), impossible == 1 ? "" : "s",
                tg_quantity_moment(first_ns, page->report->start_ns, 6, moment), first);
}

struct tg_error *tg_report_openmp(const struct tg_report_page *page)
{
    if (tg_openmp_model_worker_count(tg_openmp_statistics_model(page->report->openmp)) == 0)
        return NULL;
    struct tg_error *error = write_regions(page);
    if (error == NULL)
        error = write_zones(page);
    if (error == NULL)
        error = write_locks(page);
    if (error == NULL)
        error = write_workers(page);
    if (error == NULL)
        write_impossible(page);
    return error;
}
