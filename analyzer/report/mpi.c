/* MPI in a report: threads that call it, how long they were in calls and where they are, and messages
 * without their other half. */
#include "analyzer/finding/words.h"
#include "analyzer/output/quantity.h"
#include "analyzer/output/rank_ranges.h"
#include "analyzer/output/stack_words.h"
#include "analyzer/report/fields.h"
#include "analyzer/report/sections.h"
#include "format/base/array.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS_SHOWN = 64,
    FOLD_LEAST = 9, /* so many threads share lines with their likes */
    WAITING_SHOWN = 10,
};

/* ---- threads that call MPI */

/* One thread, or all that are alike. */
struct row {
    const struct tg_mpi_thread *thread;
    const char *job, *state, *name; /* NAME: current call, else the last one */
    char call[400];                 /* NAME and its arguments, in words */
    size_t process;
    int64_t rank, peer, tag;
    int32_t tid;
    bool in_call;
    uint64_t calls, call_ns, since_ns, code;
    uint64_t life_ns; /* of its process, as far as it is in the trace */
    char share[16];   /* of CALL_NS in LIFE_NS */
    char where[256];  /* in the program */
    /* a line of several threads: */
    char ranks[160], range[2 * TG_QUANTITY_SIZE + 2];
    uint64_t n;
};

#define FIELD(heading, key, form, member) TG_FIELD(struct row, heading, key, form, member)

/* The first one is shown where there are several jobs. */
static const struct tg_report_field thread_fields[] = {
    FIELD("JOB", "job", TEXT, job),
    FIELD(NULL, "process", PROCESS, process),
    FIELD(">RANK", "rank", SIGNED, rank),
    FIELD(">THREAD", "tid", SIGNED, tid),
    FIELD(">CALLS", "calls", COUNT, calls),
    FIELD(">TIME IN MPI", "call_ns", DURATION, call_ns),
    FIELD(">SHARE", NULL, CHARS, share),
    FIELD("STATE", NULL, TEXT, state),
    FIELD(NULL, "in_call", FLAG, in_call),
    FIELD(NULL, "call", TEXT, name),
    FIELD(">SINCE (s)", "since_ns", MOMENT, since_ns),
    FIELD(NULL, "peer", SIGNED, peer),
    FIELD(NULL, "tag", SIGNED, tag),
    FIELD("CALL", NULL, CHARS, call),
    FIELD(NULL, "code", CODE, code),
    FIELD(NULL, "where", WHERE, where),
    {0},
};

static const struct tg_report_field group_fields[] = {
    FIELD("JOB", NULL, TEXT, job),
    FIELD("RANKS", NULL, CHARS, ranks),
    FIELD(">THREADS", NULL, COUNT, n),
    FIELD(">CALLS", NULL, CHARS, range),
    FIELD(">TIME IN MPI", NULL, DURATION, call_ns),
    FIELD(">SHARE", NULL, CHARS, share),
    FIELD("STATE", NULL, TEXT, state),
    FIELD(">SINCE (s)", NULL, MOMENT, since_ns),
    FIELD("CALL", NULL, CHARS, call),
    FIELD("WHERE", NULL, CHARS, where),
    {0},
};

/* Only error: NO_MEMORY. */
static struct tg_error *print_call(const struct tg_mpi_call *call, char *buffer, size_t size)
{
    char *text = NULL;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    if (stream == NULL)
        return tg_error_no_memory();
    tg_words_call(stream, call);
    struct tg_error *error = fclose(stream) == 0 ? NULL : tg_error_no_memory();
    if (error == NULL)
        snprintf(buffer, size, "%s", text);
    free(text);
    return error;
}

static uint64_t life_of(const struct tg_report *report, const struct tg_process_entry *entry)
{
    uint64_t end_ns = entry->end == TG_PROCESS_RUNNING ? report->end_ns : entry->ended_ns;
    return end_ns > entry->start_ns ? end_ns - entry->start_ns : 0;
}

static void print_share(struct row *row)
{
    if (row->life_ns > 0)
        snprintf(row->share, sizeof row->share, "%.1f%%", 100 * (double)row->call_ns / (double)row->life_ns);
}

static struct row row_of(const struct tg_report *report, const struct tg_mpi_thread *thread)
{
    const struct tg_process_entry *entry = tg_process_model_at(report->processes, thread->process);
    const struct tg_mpi_process *process = tg_mpi_model_process(report->mpi, thread->process);
    struct row row = {.thread = thread,
                      .job = entry->job,
                      .state = thread->in_call ? "in" : "left",
                      .name = thread->call.name,
                      .process = thread->process,
                      .rank = process != NULL ? process->rank : -1,
                      .peer = thread->call.peer,
                      .tag = thread->call.tag,
                      .tid = thread->tid,
                      .in_call = thread->in_call,
                      .calls = thread->calls + thread->repeated_polls,
                      .call_ns = thread->call_ns,
                      .since_ns = thread->in_call ? thread->call.since_ns : thread->left_ns,
                      .code = thread->call.code,
                      .life_ns = life_of(report, entry),
                      .n = 1};
    print_share(&row);
    const struct tg_last_stack *stack = tg_stack_model_find(report->stacks, thread->process, thread->tid);
    struct tg_stack_call behind;
    if (thread->in_call && stack != NULL && stack->time_ns >= thread->call.since_ns &&
        tg_stack_find_line_behind(report->stacks, stack, thread->call.code, &behind))
        tg_stack_words_call(&behind, row.where, sizeof row.where); /* a library calls that has no lines */
    else
        tg_report_name_code(report, thread->process, thread->call.code, row.where, sizeof row.where);
    return row;
}

static struct tg_error *collect_rows(const struct tg_report *report, struct row **rows, size_t *count)
{
    *count = tg_mpi_model_thread_count(report->mpi);
    *rows = calloc(*count + 1, sizeof **rows);
    if (*rows == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < *count; i++) {
        struct row *row = &(*rows)[i];
        *row = row_of(report, tg_mpi_model_thread_at(report->mpi, i));
        struct tg_error *error = print_call(&row->thread->call, row->call, sizeof row->call);
        if (error != NULL) {
            free(*rows);
            return error;
        }
    }
    return NULL;
}

static int compare_by_rank(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    int order = tg_report_compare_owners((struct tg_report_owner){x->job, x->rank, x->process},
                                         (struct tg_report_owner){y->job, y->rank, y->process});
    return order != 0 ? order : (x->tid > y->tid) - (x->tid < y->tid);
}

/* 0: threads of one job that are in, or left, a call of one name at one place. */
static int compare_alike(const struct row *x, const struct row *y)
{
    int order = strcmp(x->job, y->job);
    if (order == 0)
        order = (int)y->in_call - (int)x->in_call;
    if (order == 0)
        order = strcmp(x->name, y->name);
    return order != 0 ? order : strcmp(x->where, y->where);
}

static int compare_by_likeness(const void *a, const void *b)
{
    int order = compare_alike(a, b);
    return order != 0 ? order : compare_by_rank(a, b);
}

/* The first of ROWS, N that are alike in the order of their ranks, becomes the line of all. */
static struct tg_error *fold_alike(struct row *rows, size_t n)
{
    struct row *line = &rows[0];
    uint64_t least = line->calls, most = line->calls, sum_ns = 0, life_ns = 0;
    char from[TG_QUANTITY_SIZE], to[TG_QUANTITY_SIZE];
    int64_t *numbers = calloc(n, sizeof *numbers);
    bool is_same = true;
    if (numbers == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < n; i++) {
        const struct tg_mpi_call *call = &rows[i].thread->call, *first = &line->thread->call;
        least = rows[i].calls < least ? rows[i].calls : least;
        most = rows[i].calls > most ? rows[i].calls : most;
        line->since_ns = rows[i].since_ns < line->since_ns ? rows[i].since_ns : line->since_ns;
        sum_ns += rows[i].call_ns / n;
        life_ns += rows[i].life_ns / n;
        numbers[i] = rows[i].rank;
        is_same &= strcmp(rows[i].call, line->call) == 0 && call->instance == first->instance;
    }
    if (!is_same)
        line->call[strcspn(line->call, " ")] = '\0'; /* the name alone */
    tg_quantity_count(least, from);
    snprintf(line->range, sizeof line->range, least == most ? "%s" : "%s-%s", from,
             tg_quantity_count(most, to));
    tg_rank_ranges_print(numbers, tg_rank_ranges_sort(numbers, n), line->ranks, sizeof line->ranks);
    line->call_ns = sum_ns;
    line->life_ns = life_ns;
    print_share(line);
    line->n = n;
    free(numbers);
    return NULL;
}

/* How many of the first fields are not shown. */
static size_t count_hidden(const struct row *rows, size_t count)
{
    bool is_one = true;
    for (size_t i = 1; i < count; i++)
        is_one = is_one && strcmp(rows[i].job, rows[0].job) == 0;
    return is_one ? 1 : 0;
}

static struct tg_error *write_folded(const struct tg_report_page *page, struct row *rows, size_t count)
{
    const struct row **lines = calloc(count, sizeof(const struct row *));
    struct tg_error *error = lines == NULL ? tg_error_no_memory() : NULL;
    size_t n = 0, i = 0, hidden = count_hidden(rows, count);
    for (size_t next; error == NULL && i < count && n < ROWS_SHOWN; i = next) {
        for (next = i + 1; next < count && compare_alike(&rows[i], &rows[next]) == 0; next++)
            ;
        lines[n++] = &rows[i];
        error = fold_alike(&rows[i], next - i);
    }
    const struct tg_report_rows table = {group_fields + hidden, lines, n, 0};
    if (error == NULL)
        error = tg_report_table(page, &table, n);
    if (error == NULL)
        tg_report_more(page, 0, count - i);
    free(lines);
    return error;
}

static struct tg_error *write_threads(const struct tg_report_page *page)
{
    struct row *rows;
    size_t count;
    struct tg_error *error = collect_rows(page->report, &rows, &count);
    if (error != NULL)
        return error;
    bool is_folded = !page->options->all && count >= FOLD_LEAST;
    for (size_t i = 0; is_folded && i < count; i++)
        if (strncmp(rows[i].where, "0x", 2) == 0 || rows[i].where[0] == '?')
            rows[i].where[0] = '\0'; /* a bare address means something in one process only */
    qsort(rows, count, sizeof *rows, is_folded ? compare_by_likeness : compare_by_rank);
    size_t shown = page->options->all || count < ROWS_SHOWN ? count : ROWS_SHOWN;
    const struct tg_report_rows table = {thread_fields + count_hidden(rows, count), rows, count,
                                         sizeof *rows};
    tg_report_title(page, "MPI calls");
    if (is_folded)
        error = write_folded(page, rows, count);
    else
        error = tg_report_table(page, &table, shown);
    if (error == NULL && !is_folded)
        tg_report_more(page, 0, count - shown);
    free(rows);
    return error;
}

/* ---- messages */

struct telling {
    const struct tg_report_page *page;
    uint64_t count, bytes;
    uint64_t
        strangers; /* of which the other side is not in this trace: they may have come, and are not counted */
    bool is_shown; /* counted before */
};

/* Whether the other side of MESSAGE is a rank of MPI_COMM_WORLD that is not in this trace. */
static bool is_with_stranger(const struct tg_report_page *page, const struct tg_mpi_message *message)
{
    int64_t rank = message->id != 0 ? message->destination : message->source;
    const struct tg_process_model *processes = page->report->processes;
    if (message->comm != 1 || rank < 0)
        return false;
    for (size_t i = 0; i < tg_process_model_count(processes); i++) {
        const struct tg_process_entry *entry = tg_process_model_at(processes, i);
        if (entry->rank == rank && strcmp(entry->job, message->job) == 0)
            return false;
    }
    return true;
}

static struct tg_error *tell_message(void *context, const struct tg_mpi_message *message)
{
    struct telling *telling = context;
    const struct tg_report_page *page = telling->page;
    if (is_with_stranger(page, message)) {
        telling->strangers++;
        return NULL;
    }
    telling->bytes += message->bytes;
    if (telling->count++ >= WAITING_SHOWN && !page->options->all)
        return NULL;
    if (!telling->is_shown)
        return NULL;
    const struct tg_verdict_input input = {.processes = page->report->processes,
                                           .mpi = page->report->mpi,
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

/* How many messages VISIT visits, and the first of them. OTHERS: what those are that ranks elsewhere are needed for. */
static struct tg_error *write_messages(const struct tg_report_page *page, visit_messages *visit,
                                       const char *what, const char *are, const char *others)
{
    struct telling counting = {.page = page}, telling = {.page = page, .is_shown = true};
    char count[TG_QUANTITY_SIZE], bytes[TG_QUANTITY_SIZE];
    struct tg_error *error = visit(page->report->mpi, tell_message, &counting);
    if (error == NULL && counting.strangers > 0)
        fprintf(page->stream, "%s %s%s %s that are not in this trace\n",
                tg_quantity_count(counting.strangers, count), what, tg_report_plural(counting.strangers),
                others);
    if (error != NULL || counting.count == 0)
        return error;
    fprintf(page->stream, "%s %s%s (%s bytes) %s\n", tg_quantity_count(counting.count, count), what,
            tg_report_plural(counting.count), tg_quantity_count(counting.bytes, bytes), are);
    error = visit(page->report->mpi, tell_message, &telling);
    if (error == NULL && counting.count > WAITING_SHOWN && !page->options->all)
        tg_report_more(page, 2, counting.count - WAITING_SHOWN);
    return error;
}

static struct tg_error *write_waiting(const struct tg_report_page *page)
{
    char count[TG_QUANTITY_SIZE];
    struct tg_error *error =
        write_messages(page, tg_mpi_model_visit_sends, "message", "sent but not received", "sent to ranks");
    if (error == NULL)
        error = write_messages(page, tg_mpi_model_visit_receives, "receive", "posted but not completed",
                               "posted for messages from ranks");
    if (error != NULL)
        return error;
    if (tg_mpi_model_unkept(page->report->mpi) > 0)
        fprintf(page->stream, "%s older unmatched sends and receives are not shown: too many to keep\n",
                tg_quantity_count(tg_mpi_model_unkept(page->report->mpi), count));
    if (tg_mpi_model_faults(page->report->mpi) > 0)
        fprintf(page->stream, "%s MPI call%s failed\n",
                tg_quantity_count(tg_mpi_model_faults(page->report->mpi), count),
                tg_report_plural(tg_mpi_model_faults(page->report->mpi)));
    if (tg_mpi_model_impossible(page->report->mpi) > 0)
        fprintf(page->stream, "%s inconsistent MPI event%s\n",
                tg_quantity_count(tg_mpi_model_impossible(page->report->mpi), count),
                tg_report_plural(tg_mpi_model_impossible(page->report->mpi)));
    return NULL;
}

struct tg_error *tg_report_mpi(const struct tg_report_page *page)
{
    if (tg_mpi_model_thread_count(page->report->mpi) == 0)
        return NULL;
    struct tg_error *error = write_threads(page);
    return error != NULL ? error : write_waiting(page);
}

/* ---- JSON */

struct message_row {
    const char *name;
    size_t process;
    uint64_t comm, bytes, since_ns, code;
    int64_t source, destination, tag;
    char where[256];
};

#define MESSAGE(key, form, member) TG_FIELD(struct message_row, NULL, key, form, member)

static const struct tg_report_field message_fields[] = {
    MESSAGE("call", TEXT, name),
    MESSAGE("process", PROCESS, process),
    MESSAGE("comm", ADDRESS, comm),
    MESSAGE("source", SIGNED, source),
    MESSAGE("destination", SIGNED, destination),
    MESSAGE("tag", SIGNED, tag),
    MESSAGE("bytes", COUNT, bytes),
    MESSAGE("since_ns", MOMENT, since_ns),
    MESSAGE("code", CODE, code),
    MESSAGE("where", WHERE, where),
    {0},
};

struct message_rows {
    const struct tg_report *report;
    struct message_row *items;
    size_t count, capacity;
};

static struct tg_error *add_message(void *context, const struct tg_mpi_message *message)
{
    struct message_rows *rows = context;
    struct message_row row = {
        message->name, message->process, message->comm,        message->bytes, message->since_ns,
        message->code, message->source,  message->destination, message->tag,   ""};
    tg_report_name_code(rows->report, message->process, message->code, row.where, sizeof row.where);
    return TG_ARRAY_APPEND(rows->items, rows->count, rows->capacity, row);
}

static struct tg_error *write_messages_json(struct tg_json *json, const struct tg_report *report,
                                            const char *key, visit_messages *visit)
{
    struct message_rows rows = {.report = report};
    struct tg_error *error = visit(report->mpi, add_message, &rows);
    const struct tg_report_rows array = {message_fields, rows.items, rows.count, sizeof *rows.items};
    if (error == NULL)
        tg_report_array(json, report, key, &array);
    free(rows.items);
    return error;
}

struct tg_error *tg_report_mpi_json(const struct tg_report *report, struct tg_json *json)
{
    struct row *rows;
    size_t count;
    struct tg_error *error = collect_rows(report, &rows, &count);
    if (error != NULL)
        return error;
    const struct tg_report_rows threads = {thread_fields, rows, count, sizeof *rows};
    tg_json_key(json, "mpi");
    tg_json_begin_object(json);
    tg_report_array(json, report, "threads", &threads);
    error = tg_report_mpi_places_json(report, json);
    if (error == NULL)
        error = tg_report_mpi_late_json(report, json);
    if (error == NULL)
        error = write_messages_json(json, report, "unreceived", tg_mpi_model_visit_sends);
    if (error == NULL)
        error = write_messages_json(json, report, "unsatisfied", tg_mpi_model_visit_receives);
    tg_json_member_unsigned(json, "unmatched_beyond_limit", tg_mpi_model_unkept(report->mpi));
    tg_json_member_unsigned(json, "impossible_events", tg_mpi_model_impossible(report->mpi));
    tg_json_end_object(json);
    free(rows);
    return error;
}
