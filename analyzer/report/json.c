#include "analyzer/models/stack_places.h"
#include "analyzer/output/stack_words.h"
#include "analyzer/report/fields.h"
#include "analyzer/report/sections.h"

#include "format/base/json_writer.h"

#include <string.h>

static void write_enum(struct tg_json *json, const char *key, unsigned kind, size_t field, uint64_t value)
{
    const char *name = tg_field_value_name(&tg_event_schema(kind)->fields[field], value);
    tg_json_key(json, key);
    if (name != NULL)
        tg_json_string(json, name);
    else
        tg_json_unsigned(json, value);
}

static void write_meta(struct tg_json *json, const struct tg_trace_meta *meta)
{
    tg_json_key(json, "meta");
    tg_json_begin_object(json);
    for (size_t i = 0; i < tg_trace_meta_count(meta); i++)
        tg_json_member_string(json, tg_trace_meta_key_at(meta, i), tg_trace_meta_value_at(meta, i));
    tg_json_end_object(json);
}

static void write_trace(struct tg_json *json, const struct tg_report *report)
{
    tg_json_key(json, "trace");
    tg_json_begin_object(json);
    tg_json_member_string(json, "path", report->path);
    tg_json_member_bool(json, "complete", report->summary.complete && report->damage == NULL);
    tg_json_member_bool(json, "recording", report->summary.is_recording);
    tg_json_member_bool(json, "truncated", report->summary.truncated);
    tg_json_key(json, "damaged_offset");
    if (report->summary.truncated)
        tg_json_unsigned(json, report->summary.damaged_offset);
    else
        tg_json_null(json);
    tg_json_key(json, "damage");
    if (report->damage != NULL)
        tg_json_string(json, tg_error_message(report->damage));
    else
        tg_json_null(json);
    tg_json_member_bool(json, "nothing_lost", tg_report_nothing_lost(report));
    tg_json_member_unsigned(json, "events", report->summary.events);
    tg_json_member_unsigned(json, "unknown_events", report->summary.unknown_events);
    tg_json_member_unsigned(json, "start_monotonic_ns", report->start_ns);
    tg_report_member_moment(json, "duration_ns", report, report->end_ns);
    tg_json_end_object(json);
}

static void write_filter(struct tg_json *json, const struct tg_report *report)
{
    const struct tg_totals *session = report->session;
    tg_json_key(json, "filter");
    tg_json_begin_object(json);
    tg_json_key(json, "settings");
    tg_json_begin_array(json);
    for (size_t i = 0; i < session->n_settings; i++) {
        tg_json_begin_object(json);
        tg_report_member_moment(json, "from_ns", report, session->settings[i].time_ns);
        write_enum(json, "mode", TG_EVENT_FILTER_SETTINGS, 0, session->settings[i].mode);
        tg_json_member_string(json, "match", session->settings[i].match);
        tg_json_end_object(json);
    }
    tg_json_end_array(json);
    tg_json_member_unsigned(json, "reported", session->filter.decisions[TG_DECISION_REPORTED]);
    tg_json_member_unsigned(json, "deferred", session->filter.decisions[TG_DECISION_DEFERRED]);
    tg_json_member_unsigned(json, "not_stopped", session->filter.decisions[TG_DECISION_NOT_STOPPED]);
    tg_json_member_unsigned(json, "batches", session->filter.batches);
    tg_json_member_unsigned(json, "batch_events", session->filter.batch_events);
    tg_json_member_unsigned(json, "batch_libraries", session->filter.batch_libraries);
    tg_json_member_unsigned(json, "largest_batch", session->filter.largest_batch);
    tg_json_member_unsigned(json, "batch_handle_ns", session->filter.batch_handle_ns);
    tg_json_end_object(json);
}

static void write_losses(struct tg_json *json, const struct tg_report *report)
{
    const struct tg_totals *session = report->session;
    tg_json_key(json, "losses");
    tg_json_begin_array(json);
    for (size_t i = 0; i < session->n_losses; i++) {
        const struct tg_loss_total *total = &session->losses[i];
        tg_json_begin_object(json);
        tg_report_member_moment(json, "first_ns", report, total->first_ns);
        write_enum(json, "source", TG_EVENT_LOSS, 0, total->source);
        tg_json_member_string(json, "reason", total->reason);
        tg_json_member_unsigned(json, "occasions", total->events);
        tg_json_member_unsigned(json, "events", total->count);
        tg_json_member_unsigned(json, "occasions_of_unknown_size", total->unknown);
        tg_json_end_object(json);
    }
    tg_json_end_array(json);
    tg_json_key(json, "notes");
    tg_json_begin_array(json);
    for (size_t i = 0; i < session->n_notes; i++) {
        const struct tg_note_total *total = &session->notes[i];
        tg_json_begin_object(json);
        tg_report_member_moment(json, "first_ns", report, total->first_ns);
        tg_json_member_signed(json, "first_pid", total->first_pid);
        tg_json_member_unsigned(json, "count", total->count);
        tg_json_member_string(json, "text", total->text);
        tg_json_end_object(json);
    }
    tg_json_end_array(json);
    tg_json_member_unsigned(json, "beyond_limit", session->beyond_limit);
}

static void write_text(struct tg_json *json, const char *key, const char *text)
{
    tg_json_key(json, key);
    if (text == NULL)
        tg_json_null(json);
    else
        tg_json_string(json, text);
}

/* Members that say where CODE of PROCESS is: null what is not known. */
static void write_place(struct tg_json *json, const struct tg_report *report, size_t process, uint64_t code)
{
    struct tg_code_name name = {0};
    bool is_known = process < tg_process_model_count(report->processes);
    if (code != 0 && is_known && report->names != NULL)
        tg_code_names_find_return(report->names, tg_process_model_at(report->processes, process)->pid, code,
                                  &name);
    tg_json_key(json, "code");
    if (code == 0)
        tg_json_null(json);
    else
        tg_json_address(json, code);
    write_text(json, "function", name.symbol.function);
    write_text(json, "file", name.symbol.file);
    tg_json_key(json, "line");
    if (name.symbol.file == NULL)
        tg_json_null(json);
    else
        tg_json_unsigned(json, name.symbol.line);
}

static void write_number(struct tg_json *json, const char *key, bool is_known, int64_t number)
{
    tg_json_key(json, key);
    if (is_known)
        tg_json_signed(json, number);
    else
        tg_json_null(json);
}

/* Whether CODE of PROCESS has a line. */
static bool has_line(const struct tg_report *report, size_t process, uint64_t code)
{
    struct tg_code_name name = {0};
    if (report->names != NULL)
        tg_code_names_find_return(report->names, tg_process_model_at(report->processes, process)->pid, code,
                                  &name);
    return name.symbol.file != NULL;
}

/* The program's own code where CULPRIT is by its last stack, of a process that of its first thread. Where the finding has a place
 * of it, that is preferred, unless it has no line: it may be in a library that the program has called. */
static bool find_place(const struct tg_report *report, const struct tg_culprit *culprit,
                       struct tg_stack_call *call)
{
    if (culprit->process >= tg_process_model_count(report->processes))
        return false;
    int32_t tid =
        culprit->tid != 0 ? culprit->tid : tg_process_model_at(report->processes, culprit->process)->pid;
    const struct tg_last_stack *stack = tg_stack_model_find(report->stacks, culprit->process, tid);
    if (stack == NULL || stack->count == 0)
        return false;
    if (culprit->code != 0 && has_line(report, culprit->process, culprit->code))
        return false;
    if (tg_stack_find_line_behind(report->stacks, stack, culprit->code, call))
        return true;
    const struct tg_stack_place place = tg_stack_place_find(report->stacks, stack);
    const struct tg_stack_call *at = place.has_caller && place.at.line == 0 ? &place.caller : &place.at;
    if (culprit->code != 0 && (!place.is_known || at->line == 0))
        return false;
    *call = *at;
    return true;
}

/* Members that say where CULPRIT is. */
static void write_culprit_place(struct tg_json *json, const struct tg_report *report,
                                const struct tg_culprit *culprit)
{
    struct tg_stack_call call;
    if (!find_place(report, culprit, &call)) {
        write_place(json, report, culprit->process, culprit->code);
        return;
    }
    tg_json_key(json, "code");
    if (culprit->code == 0)
        tg_json_null(json);
    else
        tg_json_address(json, culprit->code);
    write_text(json, "function", *call.function != '\0' ? call.function : NULL);
    write_text(json, "file", call.line != 0 ? call.file : NULL);
    write_number(json, "line", call.line != 0, (int64_t)call.line);
}

static void write_culprit(struct tg_json *json, const struct tg_report *report,
                          const struct tg_culprit *culprit)
{
    bool is_known = culprit->process < tg_process_model_count(report->processes);
    tg_json_begin_object(json);
    write_number(json, "process", is_known, (int64_t)culprit->process);
    write_number(json, "rank", culprit->rank >= 0, culprit->rank);
    tg_json_member_string(json, "job",
                          is_known ? tg_process_model_at(report->processes, culprit->process)->job : "");
    write_number(json, "tid", culprit->tid != 0, culprit->tid);
    write_number(json, "worker", culprit->worker >= 0, culprit->worker);
    write_culprit_place(json, report, culprit);
    tg_json_end_object(json);
}

/* Members that say where the finding is, and "where" in words: its code, or, of an end or of a call by a library without lines,
 * where its first culprit is. */
static void write_finding_place(struct tg_json *json, const struct tg_report *report,
                                const struct tg_finding *finding)
{
    char where[400];
    struct tg_stack_call call;
    const struct tg_culprit *first = finding->n_culprits > 0 ? &finding->culprits[0] : NULL;
    bool is_end = finding->kind == TG_FINDING_CRASH || finding->kind == TG_FINDING_KILL;
    if (first != NULL && first->process == finding->process && first->code == finding->code &&
        (is_end || finding->code != 0) && find_place(report, first, &call)) {
        write_culprit_place(json, report, first);
        tg_json_member_string(json, "where", tg_stack_words_call(&call, where, sizeof where));
        return;
    }
    tg_report_name_code(report, finding->process, finding->code, where, sizeof where);
    bool has_name = strncmp(where, "0x", 2) != 0 && strcmp(where, "?") != 0;
    write_place(json, report, finding->process, finding->code);
    write_text(json, "where", has_name ? where : NULL);
}

static void write_finding(struct tg_json *json, const struct tg_report *report,
                          const struct tg_finding *finding)
{
    bool is_known = finding->process < tg_process_model_count(report->processes);
    tg_json_begin_object(json);
    tg_json_member_string(json, "kind", tg_finding_kind_name(finding->kind));
    tg_json_member_string(json, "severity",
                          finding->kind == TG_FINDING_INTERRUPTED || finding->kind == TG_FINDING_ASKED
                              ? "note"
                          : finding->is_warning ? "warning"
                                                : "error");
    tg_report_member_moment(json, "since_ns", report, finding->since_ns);
    write_number(json, "process", is_known, (int64_t)finding->process);
    write_finding_place(json, report, finding);
    tg_json_member_unsigned(json, "waiting", finding->waiting);
    tg_json_member_unsigned(json, "missing", finding->missing);
    tg_json_key(json, "culprits");
    tg_json_begin_array(json);
    for (size_t i = 0; i < finding->n_culprits; i++)
        write_culprit(json, report, &finding->culprits[i]);
    tg_json_end_array(json);
    tg_json_member_string(json, "text", finding->text);
    tg_json_end_object(json);
}

static struct tg_error *write_findings(const struct tg_report *report, struct tg_json *json)
{
    tg_json_key(json, "post_mortem");
    tg_json_begin_array(json);
    for (size_t i = 0; i < report->verdict.count; i++)
        write_finding(json, report, &report->verdict.findings[i]);
    tg_json_end_array(json);
    return NULL;
}

struct tg_error *tg_report_write_json(const struct tg_report *report, FILE *stream)
{
    struct tg_json json;
    tg_json_init(&json, stream, true);
    tg_json_begin_object(&json);
    write_trace(&json, report);
    write_meta(&json, report->meta);
    tg_report_processes_json(report, &json);
    tg_report_control_json(report, &json);
    tg_report_stacks_json(report, &json);
    static struct tg_error *(*const members[])(const struct tg_report *report, struct tg_json *json) = {
        tg_report_mpir_json,       write_findings,       tg_report_openmp_json,
        tg_report_mpi_json,        tg_report_heap_json,  tg_report_libraries_json,
        tg_report_load_calls_json, tg_report_kinds_json, tg_report_breakpoints_json};
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < sizeof members / sizeof members[0]; i++)
        error = members[i](report, &json);
    if (error != NULL)
        return error;
    write_filter(&json, report);
    write_losses(&json, report);
    tg_json_end_object(&json);
    tg_json_end_line(&json);
    return NULL;
}
