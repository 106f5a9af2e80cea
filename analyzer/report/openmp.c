/* OpenMP in a report: regions and their imbalance, zones, locks, and what workers waited for. */
#include "analyzer/output/openmp_words.h"
#include "analyzer/output/quantity.h"
#include "analyzer/report/fields.h"
#include "analyzer/report/sections.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_SHOWN = 25 };

/* A zone, region or lock of one process; in tables those of all processes with one LABEL and WHERE are one
 * row. */
struct row {
    char name[224];  /* zone or lock */
    char label[240]; /* name, marked where inferred */
    char where[256];
    char imbalance[16];
    size_t process;
    uint64_t code, address;
    bool is_inferred;
    uint64_t count, total_ns, max_ns, threads, busy_ns, max_busy_ns, contended, hold_ns, max_hold_ns;
};

#define FIELD(heading, key, form, member) TG_FIELD(struct row, heading, key, form, member)

static const struct tg_report_field zone_fields[] = {
    FIELD("ZONE", NULL, CHARS, label),
    FIELD(NULL, "zone", CHARS, name),
    FIELD(NULL, "process", PROCESS, process),
    FIELD(NULL, "code", CODE, code),
    FIELD(NULL, "where", WHERE, where),
    FIELD(NULL, "inferred", MARK, is_inferred),
    FIELD(">TIMES", "count", COUNT, count),
    FIELD(">TOTAL", "total_ns", DURATION, total_ns),
    FIELD(">LONGEST", "longest_ns", DURATION, max_ns),
    FIELD("WHERE", NULL, CHARS, where),
    {0},
};

static const struct tg_report_field region_fields[] = {
    FIELD(NULL, "process", PROCESS, process),
    FIELD(NULL, "code", CODE, code),
    FIELD(NULL, "where", WHERE, where),
    FIELD(">TIMES", "count", COUNT, count),
    FIELD(">THREADS", "threads", COUNT, threads),
    FIELD(">ELAPSED", "total_ns", DURATION, total_ns),
    FIELD(NULL, "mean_busy_ns", DURATION, busy_ns),
    FIELD(NULL, "most_busy_ns", DURATION, max_busy_ns),
    FIELD(">IMBALANCE", NULL, CHARS, imbalance),
    FIELD("PARALLEL REGION", NULL, CHARS, where),
    {0},
};

static const struct tg_report_field lock_fields[] = {
    FIELD("LOCK", "lock", CHARS, name),
    FIELD(NULL, "address", ADDRESS, address),
    FIELD(NULL, "process", PROCESS, process),
    FIELD(NULL, "code", CODE, code),
    FIELD(NULL, "where", WHERE, where),
    FIELD(">ENTRIES", "entries", COUNT, count),
    FIELD(">CONTENDED", "contended", COUNT, contended),
    FIELD(">WAITED", "wait_ns", DURATION, total_ns),
    FIELD(">LONGEST WAIT", "longest_wait_ns", DURATION, max_ns),
    FIELD(">HELD", "hold_ns", DURATION, hold_ns),
    FIELD(NULL, "longest_hold_ns", DURATION, max_hold_ns),
    FIELD("FIRST AT", NULL, CHARS, where),
    {0},
};

/* ---- rows from the statistics; the caller frees them. *COUNT is 0 where there are none. Only error:
 * NO_MEMORY. */

typedef struct tg_error *collect_fn(const struct tg_report *report, struct row **rows, size_t *count);

static struct tg_error *allocate(size_t count, struct row **rows)
{
    *rows = calloc(count + 1, sizeof **rows);
    return *rows == NULL ? tg_error_no_memory() : NULL;
}

static struct tg_error *collect_zones(const struct tg_report *report, struct row **rows, size_t *count)
{
    const struct tg_openmp_zone_use *zones = tg_openmp_statistics_zones(report->openmp, count);
    struct tg_error *error = allocate(*count, rows);
    for (size_t i = 0; error == NULL && i < *count; i++) {
        struct row *row = &(*rows)[i];
        *row = (struct row){.process = zones[i].process,
                            .code = zones[i].code,
                            .is_inferred = zones[i].is_inferred,
                            .count = zones[i].count,
                            .total_ns = zones[i].total_ns,
                            .max_ns = zones[i].max_ns};
        tg_openmp_words_place(zones[i].kind, zones[i].what, row->name, sizeof row->name);
        uint64_t seen = zones[i].is_inferred ? TG_OMP_INFERRED : TG_OMP_WRAPPED;
        bool is_masked = zones[i].kind == TG_OPENMP_IN_ZONE && zones[i].what == TG_OMP_ZONE_MASKED;
        snprintf(row->label, sizeof row->label, "%s%s",
                 is_masked ? tg_openmp_words_zone(zones[i].what, seen)->label : row->name,
                 tg_openmp_words_inferred(seen));
    }
    return error;
}

static struct tg_error *collect_regions(const struct tg_report *report, struct row **rows, size_t *count)
{
    const struct tg_openmp_region_use *regions = tg_openmp_statistics_regions(report->openmp, count);
    struct tg_error *error = allocate(*count, rows);
    for (size_t i = 0; error == NULL && i < *count; i++)
        (*rows)[i] = (struct row){.process = regions[i].process,
                                  .code = regions[i].code,
                                  .count = regions[i].count,
                                  .threads = regions[i].threads,
                                  .total_ns = regions[i].total_ns,
                                  .busy_ns = regions[i].busy_ns,
                                  .max_busy_ns = regions[i].max_busy_ns};
    return error;
}

static struct tg_error *collect_locks(const struct tg_report *report, struct row **rows, size_t *count)
{
    const struct tg_openmp_lock_use *locks = tg_openmp_statistics_locks(report->openmp, count);
    struct tg_error *error = allocate(*count, rows);
    for (size_t i = 0; error == NULL && i < *count; i++) {
        struct row *row = &(*rows)[i];
        *row = (struct row){.process = locks[i].process,
                            .code = locks[i].code,
                            .address = locks[i].lock,
                            .count = locks[i].entries,
                            .contended = locks[i].contended,
                            .total_ns = locks[i].wait_ns,
                            .max_ns = locks[i].max_wait_ns,
                            .hold_ns = locks[i].hold_ns,
                            .max_hold_ns = locks[i].max_hold_ns};
        char variable[160];
        const struct tg_code_namer *namer = &report->namer;
        bool is_known =
            namer->variable != NULL && locks[i].lock != 0 &&
            namer->variable(namer->context, row->process, locks[i].lock, variable, sizeof variable) != NULL;
        tg_openmp_words_lock(locks[i].mutex, 0, is_known ? variable : NULL, row->name, sizeof row->name);
        snprintf(row->label, sizeof row->label, "%s", row->name);
    }
    return error;
}

static struct tg_error *collect(const struct tg_report *report, collect_fn *of, struct row **rows,
                                size_t *count)
{
    struct tg_error *error = of(report, rows, count);
    for (size_t i = 0; error == NULL && i < *count; i++)
        tg_report_name_code(report, (*rows)[i].process, (*rows)[i].code, (*rows)[i].where,
                            sizeof(*rows)[i].where);
    return error;
}

/* ---- rows of several processes as one */

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

static void add_up(struct row *to, const struct row *from)
{
    to->count += from->count;
    to->total_ns += from->total_ns;
    to->busy_ns += from->busy_ns;
    to->max_busy_ns += from->max_busy_ns;
    to->contended += from->contended;
    to->hold_ns += from->hold_ns;
    to->max_ns = larger(to->max_ns, from->max_ns);
    to->threads = larger(to->threads, from->threads);
}

/* How many rows are left, the most time first. */
static size_t merge_rows(struct row *rows, size_t count)
{
    size_t kept = 0;
    if (count == 0)
        return 0;
    qsort(rows, count, sizeof *rows, compare_by_name);
    for (size_t i = 1; i < count; i++) {
        if (compare_by_name(&rows[kept], &rows[i]) == 0)
            add_up(&rows[kept], &rows[i]);
        else
            rows[++kept] = rows[i];
    }
    qsort(rows, ++kept, sizeof *rows, compare_by_time);
    for (size_t i = 0; i < kept; i++) {
        double most = (double)rows[i].max_busy_ns;
        snprintf(rows[i].imbalance, sizeof rows[i].imbalance, "%.1f%%",
                 most <= 0 ? 0.0 : 100.0 * (most - (double)rows[i].busy_ns) / most);
    }
    return kept;
}

static struct tg_error *write_rows(const struct tg_report_page *page, const char *title, collect_fn *of,
                                   const struct tg_report_field *fields)
{
    struct row *rows;
    size_t count;
    struct tg_error *error = collect(page->report, of, &rows, &count);
    if (error != NULL)
        return error;
    count = merge_rows(rows, count);
    size_t shown = page->options->all || count < ROWS_SHOWN ? count : ROWS_SHOWN;
    const struct tg_report_rows table = {fields, rows, count, sizeof *rows};
    if (count > 0) {
        tg_report_title(page, title);
        error = tg_report_table(page, &table, shown);
    }
    if (error == NULL)
        tg_report_more(page, 0, count - shown);
    free(rows);
    return error;
}

static struct tg_error *write_array(struct tg_json *json, const struct tg_report *report, const char *key,
                                    collect_fn *of, const struct tg_report_field *fields)
{
    struct row *rows;
    size_t count;
    struct tg_error *error = collect(report, of, &rows, &count);
    if (error != NULL)
        return error;
    const struct tg_report_rows array = {fields, rows, count, sizeof *rows};
    tg_report_array(json, report, key, &array);
    free(rows);
    return NULL;
}

/* ---- workers */

/* One worker, or all N of a process. */
struct worker_row {
    size_t process;
    const char *job;
    int64_t rank;
    char name[32]; /* the rank, else the process */
    uint64_t number, n;
    int32_t tid;
    bool is_alive;
    size_t index;
    struct tg_openmp_worker_use use;
    uint64_t most_ns; /* longest wait at barriers of one of N, and its number */
    uint64_t most_number;
};

#define WORKER(heading, key, form, member) TG_FIELD(struct worker_row, heading, key, form, member)

static const struct tg_report_field worker_fields[] = {
    WORKER(">RANK", NULL, CHARS, name),
    WORKER(NULL, "process", PROCESS, process),
    WORKER(">WORKER", "worker", COUNT, number),
    WORKER(">THREAD", "tid", SIGNED, tid),
    WORKER(NULL, "alive", FLAG, is_alive),
    WORKER(">IN REGIONS", "region_ns", DURATION, use.region_ns),
    WORKER(">AT BARRIERS", "barrier_ns", DURATION, use.barrier_ns),
    WORKER(">FOR LOCKS", "lock_ns", DURATION, use.lock_ns),
    WORKER(">TASKS", "tasks", COUNT, use.tasks),
    {0},
};

static const struct tg_report_field group_fields[] = {
    WORKER(">RANK", NULL, CHARS, name),
    WORKER(">WORKERS", NULL, COUNT, n),
    WORKER(">IN REGIONS", NULL, DURATION, use.region_ns),
    WORKER(">AT BARRIERS", NULL, DURATION, use.barrier_ns),
    WORKER(">LONGEST", NULL, DURATION, most_ns),
    WORKER(">BY WORKER", NULL, COUNT, most_number),
    WORKER(">FOR LOCKS", NULL, DURATION, use.lock_ns),
    WORKER(">TASKS", NULL, COUNT, use.tasks),
    {0},
};

static int compare_workers(const void *a, const void *b)
{
    const struct worker_row *x = a, *y = b;
    int order = tg_report_compare_owners((struct tg_report_owner){x->job, x->rank, x->process},
                                         (struct tg_report_owner){y->job, y->rank, y->process});
    return order != 0 ? order : (x->index > y->index) - (x->index < y->index);
}

static struct tg_error *collect_workers(const struct tg_report *report, struct worker_row **rows,
                                        size_t *count)
{
    const struct tg_openmp_model *model = tg_openmp_statistics_model(report->openmp);
    *count = tg_openmp_model_worker_count(model);
    *rows = calloc(*count + 1, sizeof **rows);
    if (*rows == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < *count; i++) {
        const struct tg_openmp_worker *worker = tg_openmp_model_worker_at(model, i);
        const struct tg_process_entry *entry = tg_process_model_at(report->processes, worker->process);
        struct worker_row *row = &(*rows)[i];
        *row = (struct worker_row){.process = worker->process,
                                   .job = entry->job,
                                   .rank = entry->rank,
                                   .number = worker->number,
                                   .n = 1,
                                   .tid = worker->tid,
                                   .is_alive = worker->alive,
                                   .index = worker->index,
                                   .use = tg_openmp_statistics_worker(report->openmp, i)};
        row->most_ns = row->use.barrier_ns;
        row->most_number = row->number;
        if (entry->rank >= 0)
            snprintf(row->name, sizeof row->name, "%" PRId64, entry->rank);
        else
            snprintf(row->name, sizeof row->name, "pid %" PRId32, entry->pid);
    }
    return NULL;
}

/* Sorted rows become one of each process; how many there are. */
static size_t group_workers(struct worker_row *rows, size_t count)
{
    size_t kept = 0;
    for (size_t i = 1; i < count; i++) {
        struct worker_row *to = &rows[kept];
        const struct worker_row *from = &rows[i];
        if (to->process != from->process) {
            rows[++kept] = *from;
            continue;
        }
        to->n++;
        to->use.region_ns += from->use.region_ns;
        to->use.barrier_ns += from->use.barrier_ns;
        to->use.lock_ns += from->use.lock_ns;
        to->use.tasks += from->use.tasks;
        if (from->use.barrier_ns > to->most_ns) {
            to->most_ns = from->use.barrier_ns;
            to->most_number = from->number;
        }
    }
    return count == 0 ? 0 : kept + 1;
}

static struct tg_error *write_workers(const struct tg_report_page *page)
{
    struct worker_row *rows;
    size_t count;
    struct tg_error *error = collect_workers(page->report, &rows, &count);
    if (error != NULL)
        return error;
    qsort(rows, count, sizeof *rows, compare_workers);
    bool each = page->options->all || count <= ROWS_SHOWN;
    if (!each)
        count = group_workers(rows, count);
    const struct tg_report_rows table = {each ? worker_fields : group_fields, rows, count, sizeof *rows};
    tg_report_title(page, "OpenMP workers");
    error = tg_report_table(page, &table, each || count < ROWS_SHOWN ? count : ROWS_SHOWN);
    if (error == NULL && !each)
        fputs(count > ROWS_SHOWN ? "and others; --all shows each worker\n" : "--all shows each worker\n",
              page->stream);
    free(rows);
    return error;
}

/* ---- all together */

struct tg_error *tg_report_openmp(const struct tg_report_page *page)
{
    const struct tg_openmp_model *model = tg_openmp_statistics_model(page->report->openmp);
    uint64_t first_ns;
    const char *first;
    char count[TG_QUANTITY_SIZE], moment[TG_QUANTITY_SIZE];
    if (tg_openmp_model_worker_count(model) == 0)
        return NULL;
    struct tg_error *error = write_rows(page, "OpenMP regions", collect_regions, region_fields);
    if (error == NULL)
        error = write_rows(page, "OpenMP zones", collect_zones, zone_fields);
    if (error == NULL)
        error = write_rows(page, "OpenMP locks and critical sections, by time waited", collect_locks,
                           lock_fields);
    if (error == NULL)
        error = write_workers(page);
    uint64_t impossible = tg_openmp_model_impossible(model, &first_ns, &first);
    if (error == NULL && impossible > 0)
        fprintf(page->stream, "%s inconsistent OpenMP event%s, the first at %s s: %s\n",
                tg_quantity_count(impossible, count), tg_report_plural(impossible),
                tg_quantity_moment(first_ns, page->report->start_ns, 6, moment), first);
    return error;
}

struct tg_error *tg_report_openmp_json(const struct tg_report *report, struct tg_json *json)
{
    uint64_t first_ns;
    const char *first;
    struct worker_row *rows = NULL;
    size_t count;
    tg_json_key(json, "openmp");
    tg_json_begin_object(json);
    struct tg_error *error = write_array(json, report, "regions", collect_regions, region_fields);
    if (error == NULL)
        error = write_array(json, report, "zones", collect_zones, zone_fields);
    if (error == NULL)
        error = write_array(json, report, "locks", collect_locks, lock_fields);
    if (error == NULL)
        error = collect_workers(report, &rows, &count);
    if (error != NULL)
        return error;
    const struct tg_report_rows workers = {worker_fields, rows, count, sizeof *rows};
    tg_report_array(json, report, "workers", &workers);
    free(rows);
    tg_json_member_unsigned(
        json, "impossible_events",
        tg_openmp_model_impossible(tg_openmp_statistics_model(report->openmp), &first_ns, &first));
    tg_json_end_object(json);
    return NULL;
}
