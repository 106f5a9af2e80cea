/* `info processes` and `info libraries`. */
#include "analyzer/finding/words.h"
#include "analyzer/models/event_headline.h"
#include "analyzer/output/quantity.h"
#include "analyzer/output/text_table.h"
#include "analyzer/report/report.h"
#include "format/base/printable.h"
#include "live/commands/info/commands.h"
#include "live/console/command.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- processes */

/* NO_JOB: the first column, which is that, is not shown. */
static struct tg_error *add_process(const struct tg_console *console, const struct tg_process_entry *entry,
                                    size_t no_job, struct tg_text_table *table)
{
    char job[64], rank[24] = "", dpid[24], pid[16], name[128], threads[TG_QUANTITY_SIZE], end[96],
                  at[TG_QUANTITY_SIZE], last[192];
    if (entry->rank >= 0)
        snprintf(rank, sizeof rank, "%" PRId64, entry->rank);
    snprintf(pid, sizeof pid, "%" PRId32, entry->pid);
    bool is_alive = entry->end == TG_PROCESS_RUNNING;
    snprintf(dpid, sizeof dpid, "%zu", entry->index + 1);
    const char *cells[] = {tg_printable(entry->rank < 0 ? "" : entry->job, job, sizeof job),
                           dpid,
                           rank,
                           pid,
                           tg_printable(tg_process_entry_name(entry), name, sizeof name),
                           tg_quantity_count(entry->threads_alive, threads),
                           is_alive ? "alive" : tg_report_end(entry, end, sizeof end),
                           entry->last.kind == 0
                               ? ""
                               : tg_quantity_moment(entry->last.time_ns, console->source->start_ns, 6, at),
                           tg_event_headline_print(&entry->last, last, sizeof last)};
    return tg_text_table_add(table, cells + no_job);
}

static void put_process(const struct tg_process_entry *entry, struct tg_json *json)
{
    char end[96], last[192];
    bool is_alive = entry->end == TG_PROCESS_RUNNING;
    tg_json_begin_object(json);
    tg_json_member_unsigned(json, "dpid", entry->index + 1);
    if (entry->rank >= 0) {
        tg_json_member_signed(json, "rank", entry->rank);
        tg_json_member_string(json, "job", entry->job);
    }
    tg_json_member_signed(json, "pid", entry->pid);
    tg_json_member_string(json, "program", entry->program);
    tg_json_member_string(json, "host", entry->host);
    tg_json_member_unsigned(json, "threads", entry->threads_alive);
    tg_json_member_bool(json, "alive", is_alive);
    if (!is_alive)
        tg_json_member_string(json, "end", tg_report_end(entry, end, sizeof end));
    if (entry->last.kind != 0) {
        tg_json_member_unsigned(json, "last_ns", entry->last.time_ns);
        tg_json_member_string(json, "last", tg_event_headline_print(&entry->last, last, sizeof last));
    }
    tg_json_end_object(json);
}

/* For programs: those of the processes in focus. */
static void put_processes(struct tg_console *console)
{
    const struct tg_process_model *model = console->source->moment->processes;
    struct tg_json *json = tg_console_data_begin(&console->data);
    if (json == NULL)
        return;
    tg_json_begin_array(json);
    for (size_t i = 0; i < tg_process_model_count(model); i++)
        if (tg_focus_has(&console->focus, i))
            put_process(tg_process_model_at(model, i), json);
    tg_json_end_array(json);
}

static struct tg_error *run_processes(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    static const char *const headings[] = {"JOB",      ">DPID", ">RANK",        ">PID", "PROGRAM",
                                           ">THREADS", "STATE", ">LAST AT (s)", "LAST", NULL};
    (void)argv;
    if (argc > 0)
        return tg_console_usage(&tg_console_info_processes);
    const struct tg_process_model *model = console->source->moment->processes;
    struct tg_text_table *table = NULL;
    size_t no_job = tg_words_has_several_jobs(model) ? 0 : 1;
    struct tg_error *error = tg_text_table_create(headings + no_job, false, &table);
    for (size_t i = 0; error == NULL && i < tg_process_model_count(model); i++)
        if (tg_focus_has(&console->focus, i))
            error = add_process(console, tg_process_model_at(model, i), no_job, table);
    if (error == NULL)
        error = tg_text_table_print(table, out);
    if (error == NULL && tg_process_model_count(model) == 0)
        fputs("no processes yet\n", out);
    if (error == NULL)
        put_processes(console);
    tg_text_table_destroy(table);
    return error;
}

const struct tg_console_command tg_console_info_processes = {
    .name = "info processes",
    .arguments = "",
    .summary = "processes and ranks, whether they are alive, and what each did last",
    .example = "info processes",
    .is_of_now = true,
    .run = run_processes,
};

/* ---- libraries */

static struct tg_error *add_library(const struct tg_console *console, const struct tg_library_use *use,
                                    struct tg_text_table *table)
{
    char at[TG_QUANTITY_SIZE], processes[TG_QUANTITY_SIZE], loads[TG_QUANTITY_SIZE];
    char unloads[TG_QUANTITY_SIZE], path[512];
    const char *cells[] = {tg_quantity_moment(use->first_ns, console->source->start_ns, 6, at),
                           tg_quantity_count(use->processes, processes),
                           tg_quantity_count(use->loads, loads),
                           tg_quantity_count(use->unloads, unloads),
                           use->startup ? "start-up" : "",
                           tg_printable(use->path, path, sizeof path)};
    return tg_text_table_add(table, cells);
}

static void put_library(const struct tg_library_use *use, struct tg_json *json)
{
    if (json == NULL)
        return;
    tg_json_begin_object(json);
    tg_json_member_string(json, "path", use->path);
    tg_json_member_unsigned(json, "first_ns", use->first_ns);
    tg_json_member_unsigned(json, "processes", use->processes);
    tg_json_member_unsigned(json, "loads", use->loads);
    tg_json_member_unsigned(json, "unloads", use->unloads);
    tg_json_member_bool(json, "startup", use->startup);
    tg_json_end_object(json);
}

static struct tg_error *run_libraries(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    static const char *const headings[] = {">FIRST AT (s)", ">PROCESSES", ">LOADS", ">UNLOADS",
                                           "WHEN",          "LIBRARY",    NULL};
    if (argc > 1)
        return tg_console_usage(&tg_console_info_libraries);
    const char *pattern = argc == 1 ? Tcl_GetString(argv[0]) : "*";
    const struct tg_library_model *model = console->source->moment->libraries;
    size_t count = tg_library_model_count(model), shown = 0;
    const struct tg_library_use **uses = calloc(count + 1, sizeof(const struct tg_library_use *));
    if (uses == NULL)
        return tg_error_no_memory();
    tg_library_model_by_time(model, uses);
    struct tg_text_table *table = NULL;
    struct tg_error *error = tg_text_table_create(headings, false, &table);
    struct tg_json *json = tg_console_data_begin(&console->data);
    if (json != NULL)
        tg_json_begin_array(json);
    for (size_t i = 0; error == NULL && i < count; i++) {
        if (!Tcl_StringMatch(uses[i]->path, pattern))
            continue;
        error = add_library(console, uses[i], table);
        put_library(uses[i], json);
        shown++;
    }
    if (json != NULL)
        tg_json_end_array(json);
    if (error == NULL)
        error = tg_text_table_print(table, out);
    if (error == NULL && shown == 0)
        fputs(count == 0 ? "no libraries yet\n" : "no library matches\n", out);
    tg_text_table_destroy(table);
    free(uses);
    return error;
}

const struct tg_console_command tg_console_info_libraries = {
    .name = "info libraries",
    .arguments = "?PATTERN?",
    .summary = "libraries loaded so far by any process, in the order of their first load",
    .example = "info libraries *mpi*",
    .more = "PATTERN is a glob of Tcl's `string match` for paths.",
    .is_of_now = true,
    .run = run_libraries,
};
