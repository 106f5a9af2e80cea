/* `info dlopen`, and `dinfo dlopen` and `dinfo libraries`: what the dlopen filter does, process by
 * process. */
#include "analyzer/job/list.h"
#include "analyzer/output/quantity.h"
#include "analyzer/output/text_table.h"
#include "format/base/printable.h"
#include "live/commands/info/commands.h"
#include "live/console/command.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const mode_names[] = {"slow", "medium", "fast"};

static const char *value_name(unsigned kind, const char *field, uint64_t value)
{
    const char *name = tg_event_value_name(kind, field, value);
    return name != NULL ? name : "?";
}

/* Of a live job those that have ended as well, which no focus names. */
static bool is_shown(const struct tg_console *console, size_t process)
{
    const struct tg_process_model *model = console->source->moment->processes;
    bool is_live = console->options.live != NULL;
    return (is_live && tg_process_model_at(model, process)->end != TG_PROCESS_RUNNING) ||
           tg_focus_has(&console->focus, process);
}

/* All that is known by now. */
static struct tg_error *begin(struct tg_console *console)
{
    tg_console_catch_up(console);
    return tg_focus_refresh(&console->focus, console->source);
}

/* ---- settings */

static const char *mode_name(uint64_t mode)
{
    return mode <= TG_FILTER_FAST ? mode_names[mode] : "?";
}

static void write_settings(const struct tg_console *console, FILE *out)
{
    const struct tg_totals *session = console->source->moment->session;
    if (session->n_settings == 0)
        fputs("filter: unknown\n", out);
    for (size_t i = 0; i < session->n_settings; i++) {
        const struct tg_settings_period *period = &session->settings[i];
        char at[TG_QUANTITY_SIZE], match[400] = "";
        if (period->match[0] != '\0')
            tg_printable(period->match, match, sizeof match);
        fprintf(out, "%s %s s: %s%s%s\n", i + 1 == session->n_settings ? "filter since" : "            ",
                tg_quantity_moment(period->time_ns, console->source->start_ns, 6, at),
                mode_name(period->mode), match[0] != '\0' ? ", " : "", match);
    }
}

static void put_settings(const struct tg_console *console, struct tg_json *json)
{
    const struct tg_totals *session = console->source->moment->session;
    tg_json_key(json, "settings");
    tg_json_begin_array(json);
    for (size_t i = 0; i < session->n_settings; i++) {
        tg_json_begin_object(json);
        tg_json_member_unsigned(json, "since_ns", session->settings[i].time_ns);
        tg_json_member_string(json, "mode", mode_name(session->settings[i].mode));
        tg_json_member_string(json, "match", session->settings[i].match);
        tg_json_end_object(json);
    }
    tg_json_end_array(json);
}

/* ---- counts */

enum { COLUMNS = 13 };

static struct tg_error *add_counts(struct tg_text_table *table, const char *dpid, const char *rank,
                                   const struct tg_dlopen_counts *counts)
{
    const uint64_t numbers[] = {counts->events,      counts->reported,     counts->deferred,
                                counts->not_stopped, counts->null_events,  counts->unloads,
                                counts->batches,     counts->handled_late, counts->waiting};
    char texts[COLUMNS][TG_QUANTITY_SIZE];
    const char *cells[COLUMNS] = {dpid, rank};
    size_t n = 2;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++, n++)
        cells[n] = tg_quantity_count(numbers[i], texts[n]);
    cells[n] = tg_quantity_duration(counts->stop_ns, texts[n]);
    n++;
    cells[n] = tg_quantity_duration(counts->handle_ns, texts[n]);
    return tg_text_table_add(table, cells);
}

static struct tg_error *write_counts(const struct tg_console *console, struct tg_dlopen_counts *sum,
                                     FILE *out)
{
    static const char *const headings[] = {
        ">DPID",    ">RANK",         ">EVENTS",         ">REPORTED", ">DEFERRED",     ">NOT STOPPED", ">NULL",
        ">UNLOADS", ">LATE BATCHES", ">LATE LIBRARIES", ">WAITING",  ">LOADER STOPS", ">HANDLING",    NULL};
    const struct tg_moment *moment = console->source->moment;
    struct tg_text_table *table = NULL;
    size_t shown = 0;
    struct tg_error *error = tg_text_table_create(headings, false, &table);
    for (size_t i = 0; error == NULL && i < tg_dlopen_model_count(moment->dlopens); i++) {
        const struct tg_dlopen_counts *counts = &tg_dlopen_model_at(moment->dlopens, i)->counts;
        const struct tg_process_entry *entry = tg_process_model_at(moment->processes, i);
        char dpid[24], rank[24] = "";
        if (!is_shown(console, i) ||
            counts->events + counts->null_events + counts->unloads + counts->waiting == 0)
            continue;
        snprintf(dpid, sizeof dpid, "%zu", i + 1);
        if (entry->rank >= 0)
            snprintf(rank, sizeof rank, "%" PRId64, entry->rank);
        error = add_counts(table, dpid, rank, counts);
        tg_dlopen_counts_add(sum, counts);
        shown++;
    }
    if (error == NULL && shown > 1)
        error = add_counts(table, "all", "", sum);
    if (error == NULL)
        error = tg_text_table_print(table, out);
    if (error == NULL && shown == 0)
        fputs("no dlopen events yet\n", out);
    tg_text_table_destroy(table);
    return error;
}

static void put_counts(struct tg_json *json, const struct tg_dlopen_counts *counts)
{
    const struct {
        const char *name;
        uint64_t value;
    } members[] = {
        {"events", counts->events},
        {"libraries", counts->libraries},
        {"reported", counts->reported},
        {"deferred", counts->deferred},
        {"not_stopped", counts->not_stopped},
        {"by_agent", counts->by_agent},
        {"in_process", counts->in_process},
        {"null_events", counts->null_events},
        {"unloads", counts->unloads},
        {"late_batches", counts->batches},
        {"late_libraries", counts->handled_late},
        {"largest_batch", counts->largest_batch},
        {"waiting", counts->waiting},
        {"loader_stop_ns", counts->stop_ns},
        {"handle_ns", counts->handle_ns},
        {"late_breakpoints", counts->late_breakpoints},
        {"worst_window_ns", counts->worst_window_ns},
        {"cuda_missed", counts->cuda_missed},
    };
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        tg_json_member_unsigned(json, members[i].name, members[i].value);
}

/* ---- decisions */

static struct tg_error *write_decisions(const struct tg_console *console, FILE *out)
{
    static const char *const headings[] = {">AT (s)", ">DPID", "LATEST DECISIONS", "WHY", "LIBRARY", NULL};
    const struct tg_dlopen_model *model = console->source->moment->dlopens;
    const struct tg_dlopen_decision *decision;
    struct tg_text_table *table = NULL;
    struct tg_error *error = tg_text_table_create(headings, false, &table);
    for (size_t i = 0; error == NULL && (decision = tg_dlopen_model_recent(model, i)) != NULL; i++) {
        char at[TG_QUANTITY_SIZE], dpid[24], why[300], path[512], library[600];
        if (!is_shown(console, decision->process))
            continue;
        snprintf(dpid, sizeof dpid, "%zu", decision->process + 1);
        if (decision->pattern[0] != '\0')
            tg_printable(decision->pattern, why, sizeof why);
        else
            snprintf(why, sizeof why, "%s", value_name(TG_EVENT_FILTER_DECISION, "rule", decision->rule));
        tg_printable(decision->library, path, sizeof path);
        if (decision->n_libraries > 1)
            snprintf(library, sizeof library, "%s and %" PRIu64 " more", path, decision->n_libraries - 1);
        else
            snprintf(library, sizeof library, "%s", path);
        const char *cells[] = {tg_quantity_moment(decision->time_ns, console->source->start_ns, 6, at), dpid,
                               value_name(TG_EVENT_FILTER_DECISION, "decision", decision->decision), why,
                               library};
        error = tg_text_table_add(table, cells);
    }
    if (error == NULL)
        error = tg_text_table_print(table, out);
    tg_text_table_destroy(table);
    return error;
}

static void put_decisions(const struct tg_console *console, struct tg_json *json)
{
    const struct tg_dlopen_model *model = console->source->moment->dlopens;
    const struct tg_dlopen_decision *decision;
    tg_json_key(json, "decisions");
    tg_json_begin_array(json);
    for (size_t i = 0; (decision = tg_dlopen_model_recent(model, i)) != NULL; i++) {
        if (!is_shown(console, decision->process))
            continue;
        tg_json_begin_object(json);
        tg_json_member_unsigned(json, "time_ns", decision->time_ns);
        tg_json_member_unsigned(json, "dpid", decision->process + 1);
        tg_json_member_string(json, "decision",
                              value_name(TG_EVENT_FILTER_DECISION, "decision", decision->decision));
        tg_json_member_string(json, "rule", value_name(TG_EVENT_FILTER_DECISION, "rule", decision->rule));
        tg_json_member_string(json, "pattern", decision->pattern);
        tg_json_member_string(json, "library", decision->library);
        tg_json_member_unsigned(json, "libraries", decision->n_libraries);
        tg_json_end_object(json);
    }
    tg_json_end_array(json);
}

/* ---- info dlopen */

static void put_dlopen(struct tg_console *console, const struct tg_dlopen_counts *sum)
{
    const struct tg_dlopen_model *model = console->source->moment->dlopens;
    struct tg_json *json = tg_console_data_begin(&console->data);
    if (json == NULL)
        return;
    tg_json_begin_object(json);
    put_settings(console, json);
    put_counts(json, sum);
    tg_json_key(json, "processes");
    tg_json_begin_array(json);
    for (size_t i = 0; i < tg_dlopen_model_count(model); i++) {
        if (!is_shown(console, i))
            continue;
        tg_json_begin_object(json);
        tg_json_member_unsigned(json, "dpid", i + 1);
        put_counts(json, &tg_dlopen_model_at(model, i)->counts);
        tg_json_end_object(json);
    }
    tg_json_end_array(json);
    put_decisions(console, json);
    tg_json_end_object(json);
}

static void write_remarks(const struct tg_dlopen_counts *sum, FILE *out)
{
    char window[TG_QUANTITY_SIZE];
    if (sum->in_process > 0)
        fprintf(out, "%" PRIu64 " event%s decided in the process, without a stop\n", sum->in_process,
                sum->in_process == 1 ? " was" : "s were");
    if (sum->late_breakpoints > 0)
        fprintf(out, "%" PRIu64 " breakpoint%s planted late: the program could run past %s for up to %s\n",
                sum->late_breakpoints, sum->late_breakpoints == 1 ? " was" : "s were",
                sum->late_breakpoints == 1 ? "it" : "one",
                tg_quantity_duration(sum->worst_window_ns, window));
    if (sum->cuda_missed > 0)
        fputs("warning: a CUDA driver library was loaded and not reported: CUDA kernel launches are missed. "
              "Add */libcuda.so* to TV::dlopen_recalculate_on_match, or use slow mode.\n",
              out);
}

static struct tg_error *show_dlopen(struct tg_console *console, FILE *out)
{
    struct tg_dlopen_counts sum = {0};
    struct tg_error *error = begin(console);
    if (error == NULL)
        write_settings(console, out);
    if (error == NULL)
        error = write_counts(console, &sum, out);
    if (error == NULL)
        error = write_decisions(console, out);
    if (error != NULL)
        return error;
    write_remarks(&sum, out);
    put_dlopen(console, &sum);
    return NULL;
}

static struct tg_error *run_info_dlopen(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    (void)argv;
    return argc > 0 ? tg_console_usage(&tg_console_info_dlopen) : show_dlopen(console, out);
}

static struct tg_error *run_dinfo_dlopen(struct tg_console *console, int argc, Tcl_Obj *const *argv,
                                         FILE *out)
{
    (void)argv;
    return argc > 0 ? tg_console_usage(&tg_console_dinfo_dlopen) : show_dlopen(console, out);
}

#define MEANING                                                                                              \
    "Events are loads after start-up. Reported loads are handled at once; deferred loads, and loads at\n"    \
    "which the process was not stopped, wait until it stops for another reason or has its next reported\n"   \
    "event, and are then handled late, in a batch. Null events are stops in the loader without a change."

const struct tg_console_command tg_console_info_dlopen = {
    .name = "info dlopen",
    .arguments = "",
    .summary = "the dlopen filter: its settings, its effect on each process, its latest decisions",
    .example = "info dlopen",
    .more = MEANING,
    .is_of_now = true,
    .run = run_info_dlopen,
};

const struct tg_console_command tg_console_dinfo_dlopen = {
    .name = "dinfo dlopen",
    .arguments = "",
    .summary = "same as info dlopen",
    .example = "dinfo dlopen",
    .more = MEANING,
    .run = run_dinfo_dlopen,
};

/* ---- dinfo libraries */

static const char *const state_names[] = {[TG_DLOPEN_STARTUP] = "start-up",
                                          [TG_DLOPEN_HANDLED] = "handled",
                                          [TG_DLOPEN_LATE] = "handled late",
                                          [TG_DLOPEN_WAITING] = "deferred",
                                          [TG_DLOPEN_SEEN] = "seen"};

struct loaded {
    const struct tg_dlopen_library *library;
    uint32_t dpid;
};

/* Paths are interned: the same library is the same pointer. */
static int compare_loaded(const void *a, const void *b)
{
    const struct loaded *left = a, *right = b;
    int order = strcmp(left->library->path, right->library->path);
    if (order == 0)
        order =
            (left->library->state > right->library->state) - (left->library->state < right->library->state);
    if (order == 0)
        order = (left->library->base > right->library->base) - (left->library->base < right->library->base);
    return order != 0 ? order : (left->dpid > right->dpid) - (left->dpid < right->dpid);
}

/* Libraries of processes in focus that match PATTERN, in *LOADED for the caller to free; returns how many. */
static struct tg_error *gather(const struct tg_console *console, const char *pattern, struct loaded **loaded,
                               size_t *count)
{
    const struct tg_dlopen_model *model = console->source->moment->dlopens;
    size_t room = 0;
    *count = 0;
    for (size_t i = 0; i < tg_dlopen_model_count(model); i++)
        room += tg_dlopen_model_at(model, i)->n_libraries;
    *loaded = calloc(room + 1, sizeof **loaded);
    if (*loaded == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < tg_dlopen_model_count(model); i++) {
        const struct tg_dlopen_process *process = tg_dlopen_model_at(model, i);
        for (size_t k = 0; is_shown(console, i) && k < process->n_libraries; k++)
            if (Tcl_StringMatch(process->libraries[k].path, pattern))
                (*loaded)[(*count)++] = (struct loaded){&process->libraries[k], (uint32_t)(i + 1)};
    }
    qsort(*loaded, *count, sizeof **loaded, compare_loaded);
    return NULL;
}

/* How many from LOADED on, of COUNT, are one library in one state; SAME_BASE: at one address as well. */
static size_t count_alike(const struct loaded *loaded, size_t count, bool same_base)
{
    size_t n = 1;
    while (n < count && loaded[n].library->path == loaded->library->path &&
           loaded[n].library->state == loaded->library->state &&
           (!same_base || loaded[n].library->base == loaded->library->base))
        n++;
    return n;
}

static int compare_numbers(const void *a, const void *b)
{
    const uint32_t *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

/* The processes of COUNT as ranges, for the caller to free; NULL without memory. */
static char *list_processes(const struct loaded *loaded, size_t count)
{
    char *set = NULL;
    size_t size, n = 0;
    uint32_t *numbers = calloc(count, sizeof *numbers);
    FILE *stream = numbers == NULL ? NULL : open_memstream(&set, &size);
    for (size_t i = 0; numbers != NULL && i < count; i++)
        numbers[i] = loaded[i].dpid;
    if (numbers != NULL)
        qsort(numbers, count, sizeof *numbers, compare_numbers);
    for (size_t i = 0; numbers != NULL && i < count; i++) /* in several namespaces of a process */
        if (n == 0 || numbers[i] != numbers[n - 1])
            numbers[n++] = numbers[i];
    if (stream != NULL)
        tg_job_list_numbers(numbers, n, stream);
    free(numbers);
    if (stream != NULL && fclose(stream) == 0)
        return set;
    free(set);
    return NULL;
}

/* To people: a line for a library in one state, wherever it lies. */
static struct tg_error *add_loaded(const struct loaded *loaded, size_t count, struct tg_text_table *table)
{
    char address[24], path[512];
    char *set = list_processes(loaded, count);
    if (set == NULL)
        return tg_error_no_memory();
    if (count_alike(loaded, count, true) == count)
        snprintf(address, sizeof address, "0x%" PRIx64, loaded->library->base);
    else
        snprintf(address, sizeof address, "differs");
    const char *cells[] = {set, state_names[loaded->library->state], address,
                           tg_printable(loaded->library->path, path, sizeof path)};
    struct tg_error *error = tg_text_table_add(table, cells);
    free(set);
    return error;
}

/* To programs: each address of its own. */
static struct tg_error *put_loaded(const struct loaded *loaded, size_t count, struct tg_json *json)
{
    for (size_t n, i = 0; i < count; i += n) {
        n = count_alike(&loaded[i], count - i, true);
        char *set = list_processes(&loaded[i], n);
        if (set == NULL)
            return tg_error_no_memory();
        char address[24];
        snprintf(address, sizeof address, "0x%" PRIx64, loaded[i].library->base);
        tg_json_begin_object(json);
        tg_json_member_string(json, "processes", set);
        tg_json_member_string(json, "state", state_names[loaded[i].library->state]);
        tg_json_member_string(json, "base", address);
        tg_json_member_string(json, "path", loaded[i].library->path);
        tg_json_end_object(json);
        free(set);
    }
    return NULL;
}

static struct tg_error *run_dinfo_libraries(struct tg_console *console, int argc, Tcl_Obj *const *argv,
                                            FILE *out)
{
    static const char *const headings[] = {"PROCESSES", "STATE", ">ADDRESS", "LIBRARY", NULL};
    if (argc > 1)
        return tg_console_usage(&tg_console_dinfo_libraries);
    struct loaded *loaded = NULL;
    size_t count = 0;
    struct tg_text_table *table = NULL;
    struct tg_error *error = begin(console);
    if (error == NULL)
        error = gather(console, argc == 1 ? Tcl_GetString(argv[0]) : "*", &loaded, &count);
    if (error == NULL)
        error = tg_text_table_create(headings, false, &table);
    struct tg_json *json = error == NULL ? tg_console_data_begin(&console->data) : NULL;
    if (json != NULL)
        tg_json_begin_array(json);
    for (size_t n, i = 0; error == NULL && i < count; i += n) {
        n = count_alike(&loaded[i], count - i, false);
        error = add_loaded(&loaded[i], n, table);
    }
    if (error == NULL && json != NULL)
        error = put_loaded(loaded, count, json);
    if (json != NULL)
        tg_json_end_array(json);
    if (error == NULL)
        error = tg_text_table_print(table, out);
    if (error == NULL && count == 0)
        fputs(argc == 1 ? "no library matches\n" : "no libraries are loaded\n", out);
    tg_text_table_destroy(table);
    free(loaded);
    return error;
}

const struct tg_console_command tg_console_dinfo_libraries = {
    .name = "dinfo libraries",
    .arguments = "?PATTERN?",
    .summary = "libraries that are loaded now, by process, handled or deferred",
    .example = "dinfo libraries *mca_*",
    .more =
        "PATTERN is a glob of Tcl's `string match` for paths. Breakpoints are planted in libraries that are\n"
        "handled; deferred ones wait until the process stops for another reason. With a focus of one\n"
        "process its own addresses are shown where they differ between processes.",
    .run = run_dinfo_libraries,
};
