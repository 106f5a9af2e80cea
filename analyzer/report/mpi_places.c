/* Where in the program MPI's time went: calls by function and place, over all ranks. */
#include "analyzer/output/quantity.h"
#include "analyzer/report/fields.h"
#include "analyzer/report/sections.h"
#include "format/base/printable.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_SHOWN = 10 };

/* One process's calls of one function from one place. */
struct entry {
    const struct tg_mpi_place *place;
    const char *job;
    const char *object; /* path of the one that the place is in, NULL unknown; one pointer for each */
    uint64_t address;   /* in OBJECT, else of the process */
    size_t row;
};

struct row {
    const char *job, *name;
    size_t process; /* the one of CODE */
    uint64_t code;
    char where[256];
    uint64_t calls, total_ns, longest_ns, bytes;
    char mean_bytes[TG_QUANTITY_SIZE]; /* of a call; "" none says any */
    uint64_t ranks;                    /* processes that called from there */
    size_t most_process, least_process;
    uint64_t most_ns, least_ns; /* the most and the least of one process */
    struct tg_report_maybe most_rank, least_rank;
    char most[2 * TG_QUANTITY_SIZE], least[2 * TG_QUANTITY_SIZE];
};

#define FIELD(heading, key, form, member) TG_FIELD(struct row, heading, key, form, member)

/* The first one is shown where there are several jobs. */
static const struct tg_report_field fields[] = {
    FIELD("JOB", "job", TEXT, job),
    FIELD(NULL, "call", TEXT, name),
    FIELD(NULL, "process", PROCESS, process),
    FIELD(NULL, "code", CODE, code),
    FIELD(NULL, "where", WHERE, where),
    FIELD(">TIME", "total_ns", DURATION, total_ns),
    FIELD(">CALLS", "calls", COUNT, calls),
    FIELD(">BYTES/CALL", NULL, CHARS, mean_bytes),
    FIELD(NULL, "bytes", COUNT, bytes),
    FIELD(NULL, "longest_ns", DURATION, longest_ns),
    FIELD(NULL, "ranks", COUNT, ranks),
    FIELD(">MOST @RANK", NULL, CHARS, most),
    FIELD(NULL, "most_rank", MAYBE, most_rank),
    FIELD(NULL, "most_ns", DURATION, most_ns),
    FIELD(">LEAST @RANK", NULL, CHARS, least),
    FIELD(NULL, "least_rank", MAYBE, least_rank),
    FIELD(NULL, "least_ns", DURATION, least_ns),
    FIELD("CALL", NULL, TEXT, name),
    FIELD("WHERE", NULL, CHARS, where),
    {0},
};

/* ---- rows */

static int order(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* By function and place: those of all processes together. */
static int compare_places(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int by = strcmp(x->job, y->job);
    if (by == 0)
        by = strcmp(x->place->name, y->place->name);
    if (by == 0)
        by = order((uintptr_t)x->object, (uintptr_t)y->object);
    if (by == 0)
        by = order(x->address, y->address);
    return by != 0 ? by : order(x->place->process, y->place->process);
}

static bool is_same_place(const struct entry *x, const struct entry *y)
{
    return strcmp(x->job, y->job) == 0 && x->place->name == y->place->name && x->object == y->object &&
           x->address == y->address;
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int by = order(x->row, y->row);
    return by != 0 ? by : order(x->place->process, y->place->process);
}

/* Rows that people cannot tell apart, such as two calls on one line, are one. */
static int compare_names(const void *a, const void *b)
{
    const struct row *x = *(const struct row *const *)a, *y = *(const struct row *const *)b;
    int by = strcmp(x->job, y->job);
    if (by == 0)
        by = strcmp(x->name, y->name);
    if (by == 0)
        by = strcmp(x->where, y->where);
    return by != 0 ? by : order(x->process, y->process);
}

static int compare_times(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    int by = order(y->total_ns, x->total_ns);
    if (by == 0)
        by = order(y->calls, x->calls);
    return by != 0 ? by : compare_names(&x, &y);
}

static struct entry entry_of(const struct tg_report *report, const struct tg_mpi_place *place)
{
    const struct tg_process_entry *process = tg_process_model_at(report->processes, place->process);
    const struct tg_mapped_object *object =
        report->names == NULL || place->code == 0
            ? NULL
            : tg_code_names_object(report->names, process->pid, place->code);
    return (struct entry){.place = place,
                          .job = process->job,
                          .object = object == NULL ? NULL : object->path,
                          .address = object == NULL ? place->code : place->code - object->base};
}

/* One row for each place of ENTRIES, which get its index; the caller frees *ROWS. How many is *COUNT. */
static struct tg_error *make_rows(const struct tg_report *report, struct entry *entries, size_t n,
                                  struct row **rows, size_t *count)
{
    size_t made = 0;
    qsort(entries, n, sizeof *entries, compare_places);
    for (size_t i = 0; i < n; i++)
        entries[i].row = made += i > 0 && !is_same_place(&entries[i - 1], &entries[i]);
    *count = n == 0 ? 0 : made + 1;
    *rows = calloc(*count + 1, sizeof **rows);
    if (*rows == NULL)
        return tg_error_no_memory();
    for (size_t i = n; i-- > 0;) { /* the first process of a place names it */
        struct row *row = &(*rows)[entries[i].row];
        row->job = entries[i].job;
        row->name = entries[i].place->name;
        row->process = entries[i].place->process;
        row->code = entries[i].place->code;
    }
    for (size_t i = 0; i < *count; i++)
        tg_report_name_code(report, (*rows)[i].process, (*rows)[i].code, (*rows)[i].where,
                            sizeof(*rows)[i].where);
    return NULL;
}

/* ENTRIES of rows that are one get the index of the first of these. */
static struct tg_error *unite_rows(struct row *rows, size_t count, struct entry *entries, size_t n)
{
    struct row **sorted = calloc(count + 1, sizeof(struct row *));
    size_t *first = calloc(count + 1, sizeof *first);
    struct tg_error *error = sorted == NULL || first == NULL ? tg_error_no_memory() : NULL;
    for (size_t i = 0; error == NULL && i < count; i++)
        sorted[i] = &rows[i];
    if (error == NULL)
        qsort(sorted, count, sizeof(struct row *), compare_names);
    for (size_t i = 0, leader = 0; error == NULL && i < count; i++) {
        const struct row *x = sorted[leader], *y = sorted[i];
        if (strcmp(x->job, y->job) != 0 || strcmp(x->name, y->name) != 0 || strcmp(x->where, y->where) != 0)
            leader = i;
        first[sorted[i] - rows] = (size_t)(sorted[leader] - rows);
    }
    for (size_t i = 0; error == NULL && i < n; i++)
        entries[i].row = first[entries[i].row];
    free(sorted);
    free(first);
    return error;
}

static void take_process(struct row *row, size_t process, uint64_t spent_ns)
{
    if (row->ranks == 0 || spent_ns > row->most_ns) {
        row->most_ns = spent_ns;
        row->most_process = process;
    }
    if (row->ranks == 0 || spent_ns < row->least_ns) {
        row->least_ns = spent_ns;
        row->least_process = process;
    }
    row->ranks++;
}

/* ENTRIES are added to their rows. */
static void add_up(struct row *rows, struct entry *entries, size_t n)
{
    qsort(entries, n, sizeof *entries, compare_entries);
    for (size_t i = 0, next; i < n; i = next) {
        struct row *row = &rows[entries[i].row];
        uint64_t spent_ns = 0;
        for (next = i; next < n && entries[next].row == entries[i].row &&
                       entries[next].place->process == entries[i].place->process;
             next++) {
            const struct tg_mpi_place *place = entries[next].place;
            spent_ns += place->total_ns;
            row->calls += place->calls;
            row->bytes += place->bytes;
            row->longest_ns = place->longest_ns > row->longest_ns ? place->longest_ns : row->longest_ns;
        }
        row->total_ns += spent_ns;
        take_process(row, entries[i].place->process, spent_ns);
    }
}

static struct tg_report_maybe rank_of(const struct tg_report *report, size_t process)
{
    int64_t rank = tg_process_model_at(report->processes, process)->rank;
    return (struct tg_report_maybe){rank >= 0, rank};
}

static void print_share(const struct tg_report *report, size_t process, uint64_t spent_ns, char *buffer,
                        size_t size)
{
    char duration[TG_QUANTITY_SIZE];
    const struct tg_process_entry *entry = tg_process_model_at(report->processes, process);
    tg_quantity_duration(spent_ns, duration);
    if (entry->rank >= 0)
        snprintf(buffer, size, "%s @%" PRId64, duration, entry->rank);
    else
        snprintf(buffer, size, "%s @pid %" PRId32, duration, entry->pid);
}

/* Rows in the order of their times, those that became part of another one left out. */
static size_t finish_rows(const struct tg_report *report, struct row *rows, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (rows[i].ranks > 0)
            rows[kept++] = rows[i];
    qsort(rows, kept, sizeof *rows, compare_times);
    for (size_t i = 0; i < kept; i++) {
        struct row *row = &rows[i];
        if (row->bytes > 0)
            tg_quantity_bytes((row->bytes + row->calls / 2) / row->calls, row->mean_bytes);
        row->most_rank = rank_of(report, row->most_process);
        row->least_rank = rank_of(report, row->least_process);
        print_share(report, row->most_process, row->most_ns, row->most, sizeof row->most);
        print_share(report, row->least_process, row->least_ns, row->least, sizeof row->least);
    }
    return kept;
}

static struct tg_error *collect(const struct tg_report *report, struct row **rows, size_t *count)
{
    size_t n = tg_mpi_places_count(report->mpi_places);
    struct entry *entries = calloc(n + 1, sizeof *entries);
    *rows = NULL;
    *count = 0;
    if (entries == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < n; i++)
        entries[i] = entry_of(report, tg_mpi_places_at(report->mpi_places, i));
    struct tg_error *error = make_rows(report, entries, n, rows, count);
    if (error == NULL)
        error = unite_rows(*rows, *count, entries, n);
    if (error == NULL) {
        add_up(*rows, entries, n);
        *count = finish_rows(report, *rows, *count);
    } else {
        free(*rows);
    }
    free(entries);
    return error;
}

/* ---- text */

struct tg_error *tg_report_mpi_places(const struct tg_report_page *page)
{
    struct row *rows;
    size_t count;
    struct tg_error *error = collect(page->report, &rows, &count);
    if (error != NULL)
        return error;
    size_t shown = page->options->all || count < ROWS_SHOWN ? count : ROWS_SHOWN;
    const struct tg_report_rows table = {fields + (page->many_jobs ? 0 : 1), rows, count, sizeof *rows};
    if (count > 0) {
        const struct tg_mpi_place beyond = tg_mpi_places_beyond(page->report->mpi_places);
        char calls[TG_QUANTITY_SIZE], spent[TG_QUANTITY_SIZE];
        tg_report_title(page, "MPI calls by place");
        error = tg_report_table(page, &table, shown);
        if (error == NULL)
            tg_report_more(page, 0, count - shown);
        if (beyond.calls > 0)
            fprintf(page->stream, "%s calls (%s) came from further places: too many to keep\n",
                    tg_quantity_count(beyond.calls, calls), tg_quantity_duration(beyond.total_ns, spent));
    }
    free(rows);
    return error;
}

static bool is_start_or_end(const char *name)
{
    return strncmp(name, "MPI_Init", strlen("MPI_Init")) == 0 || strcmp(name, "MPI_Finalize") == 0;
}

struct tg_error *tg_report_mpi_costliest(const struct tg_report_page *page, int indent)
{
    struct row *rows;
    size_t count, at = 0;
    char calls[TG_QUANTITY_SIZE], spent[TG_QUANTITY_SIZE];
    struct tg_error *error = collect(page->report, &rows, &count);
    if (error != NULL)
        return error;
    while (at < count && is_start_or_end(rows[at].name))
        at++;
    if (at < count && rows[at].total_ns > 0) {
        const struct row *row = &rows[at];
        bool is_known = row->where[0] != '?' && strncmp(row->where, "0x", 2) != 0;
        fprintf(page->stream, "%*smost in ", indent, "");
        tg_printable_write(page->stream, row->name);
        fprintf(page->stream, "%s%s: %s call%s, %s\n", is_known ? " at " : "", is_known ? row->where : "",
                tg_quantity_count(row->calls, calls), tg_report_plural(row->calls),
                tg_quantity_duration(row->total_ns, spent));
    }
    free(rows);
    return NULL;
}

/* ---- JSON */

struct tg_error *tg_report_mpi_places_json(const struct tg_report *report, struct tg_json *json)
{
    struct row *rows;
    size_t count;
    struct tg_error *error = collect(report, &rows, &count);
    if (error != NULL)
        return error;
    const struct tg_report_rows array = {fields, rows, count, sizeof *rows};
    tg_report_array(json, report, "places", &array);
    free(rows);
    return NULL;
}
