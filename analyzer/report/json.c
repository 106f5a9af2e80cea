#include "analyzer/report/sections.h"

#include "format/base/json_writer.h"

#include <stdlib.h>

/* A moment as nanoseconds since the start of the trace; negative before it. */
static void write_moment(struct tg_json *json, const char *key, const struct tg_report *report,
                         uint64_t time_ns)
{
    tg_json_member_signed(json, key, (int64_t)(time_ns - report->start_ns));
}

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
    write_moment(json, "duration_ns", report, report->end_ns);
    tg_json_end_object(json);
}

static void write_headline(struct tg_json *json, const char *key, const struct tg_report *report,
                           const struct tg_event_headline *headline)
{
    tg_json_key(json, key);
    if (headline->kind == 0) {
        tg_json_null(json);
        return;
    }
    char text[256];
    tg_json_begin_object(json);
    write_moment(json, "t_ns", report, headline->time_ns);
    tg_json_member_signed(json, "tid", headline->tid);
    tg_json_member_string(json, "kind", tg_event_kind_name(headline->kind));
    tg_json_member_string(json, "what", tg_event_headline_print(headline, text, sizeof text));
    tg_json_member_string(json, "object", headline->text);
    tg_json_key(json, "address");
    tg_json_address(json, headline->kind == TG_EVENT_PROCESS_EXIT ? 0 : headline->address);
    tg_json_end_object(json);
}

static void write_end(struct tg_json *json, const struct tg_process_entry *entry)
{
    static const char *const names[] = {[TG_PROCESS_RUNNING] = "running",
                                        [TG_PROCESS_EXITED] = "exited",
                                        [TG_PROCESS_KILLED] = "signaled",
                                        [TG_PROCESS_LOST] = "lost",
                                        [TG_PROCESS_DETACHED] = "detached"};
    char text[64];
    tg_json_member_string(json, "end", names[entry->end]);
    tg_json_key(json, "exit_status");
    if (entry->end == TG_PROCESS_EXITED)
        tg_json_signed(json, entry->status);
    else
        tg_json_null(json);
    tg_json_key(json, "signal");
    if (entry->end == TG_PROCESS_KILLED)
        tg_json_string(
            json, tg_report_end(&(struct tg_process_entry){.end = TG_PROCESS_KILLED, .status = entry->status},
                                text, sizeof text));
    else
        tg_json_null(json);
    tg_json_member_bool(json, "core_dumped", entry->core_dumped);
    tg_json_key(json, "detach_reason");
    if (entry->end == TG_PROCESS_DETACHED)
        tg_json_string(json, entry->detach_reason);
    else
        tg_json_null(json);
}

static void write_rank(struct tg_json *json, const struct tg_process_entry *entry)
{
    tg_json_key(json, "rank");
    if (entry->rank >= 0)
        tg_json_signed(json, entry->rank);
    else
        tg_json_null(json);
    tg_json_member_signed(json, "ranks", entry->size);
    tg_json_member_string(json, "job", entry->job);
    tg_json_member_string(json, "rank_source", entry->rank_source);
    tg_json_member_string(json, "host", entry->host);
}

static void write_process(struct tg_json *json, const struct tg_report *report,
                          const struct tg_process_entry *entry)
{
    tg_json_begin_object(json);
    tg_json_member_unsigned(json, "index", entry->index);
    tg_json_member_signed(json, "pid", entry->pid);
    tg_json_key(json, "parent");
    if (entry->parent != NULL)
        tg_json_unsigned(json, entry->parent->index);
    else
        tg_json_null(json);
    tg_json_member_signed(json, "parent_pid", entry->parent_pid);
    if (entry->start_seen)
        write_enum(json, "origin", TG_EVENT_PROCESS_START, 0, entry->origin);
    else
        tg_json_member_string(json, "origin", "unknown");
    tg_json_member_string(json, "program", entry->program);
    tg_json_member_unsigned(json, "execs", entry->execs);
    write_rank(json, entry);
    write_moment(json, "start_ns", report, entry->start_ns);
    write_moment(json, "end_ns", report, entry->last_ns);
    write_end(json, entry);
    tg_json_member_unsigned(json, "threads", entry->threads_started);
    tg_json_member_unsigned(json, "threads_peak", entry->threads_peak);
    tg_json_member_unsigned(json, "threads_alive", entry->threads_alive);
    tg_json_member_unsigned(json, "events", entry->events);
    tg_json_member_unsigned(json, "library_events", entry->library_events);
    tg_json_member_unsigned(json, "signals", entry->signals);
    tg_json_member_unsigned(json, "stops", entry->stops);
    tg_json_member_unsigned(json, "stop_ns", entry->stop_ns);
    write_headline(json, "last", report, &entry->last);
    write_headline(json, "last_library", report, &entry->last_library);
    tg_json_end_object(json);
}

static void write_processes(struct tg_json *json, const struct tg_report *report)
{
    tg_json_key(json, "processes");
    tg_json_begin_array(json);
    for (size_t i = 0; i < tg_process_model_count(report->processes); i++) {
        const struct tg_process_entry *entry = tg_process_model_at(report->processes, i);
        if (tg_selection_admits_process(report->selection, entry))
            write_process(json, report, entry);
    }
    tg_json_end_array(json);
}

static void write_library(struct tg_json *json, const struct tg_report *report,
                          const struct tg_library_use *use)
{
    tg_json_begin_object(json);
    tg_json_member_string(json, "path", use->path);
    tg_json_member_string(json, "build_id", use->build_id);
    tg_json_member_unsigned(json, "size_bytes", use->size_bytes);
    write_moment(json, "first_ns", report, use->first_ns);
    tg_json_member_unsigned(json, "first_process", use->first_process);
    tg_json_member_bool(json, "startup", use->startup);
    tg_json_member_unsigned(json, "processes", use->processes);
    tg_json_member_unsigned(json, "loads", use->loads);
    tg_json_member_unsigned(json, "asked_loads", use->asked_loads);
    tg_json_member_unsigned(json, "unloads", use->unloads);
    tg_json_member_unsigned(json, "stop_ns", use->stop_ns);
    tg_json_member_unsigned(json, "handle_ns", use->handle_ns);
    tg_json_end_object(json);
}

static const char *call_name(uint64_t call)
{
    const char *name = tg_field_value_name(&tg_event_schema(TG_EVENT_LIBRARY_CALL)->fields[0], call);
    return name != NULL ? name : "unknown";
}

static void write_failed_call(struct tg_json *json, const struct tg_report *report,
                              const struct tg_load_failure *failure)
{
    tg_json_begin_object(json);
    write_moment(json, "first_ns", report, failure->first_ns);
    tg_json_member_unsigned(json, "first_process", failure->first_process);
    tg_json_member_unsigned(json, "times", failure->times);
    tg_json_member_string(json, "call", call_name(failure->call));
    tg_json_member_string(json, "path", failure->path);
    tg_json_key(json, "caller");
    tg_json_address(json, failure->caller);
    tg_json_member_string(json, "caller_object", failure->object);
    tg_json_member_string(json, "error", failure->error);
    tg_json_end_object(json);
}

static void write_load_calls(struct tg_json *json, const struct tg_report *report)
{
    struct tg_load_call_totals totals = tg_load_calls_totals(report->load_calls);
    tg_json_key(json, "load_calls");
    tg_json_begin_object(json);
    tg_json_member_unsigned(json, "dlopen", totals.calls[TG_CALL_DLOPEN]);
    tg_json_member_unsigned(json, "dlmopen", totals.calls[TG_CALL_DLMOPEN]);
    tg_json_member_unsigned(json, "dlclose", totals.calls[TG_CALL_DLCLOSE]);
    tg_json_member_unsigned(json, "returned", totals.returned);
    tg_json_member_unsigned(json, "not_loaded", totals.not_loaded);
    tg_json_member_unsigned(json, "failed", totals.failed);
    tg_json_key(json, "failures");
    tg_json_begin_array(json);
    for (size_t i = 0; i < tg_load_calls_count(report->load_calls); i++)
        write_failed_call(json, report, tg_load_calls_at(report->load_calls, i));
    tg_json_end_array(json);
    tg_json_end_object(json);
}

static struct tg_error *write_libraries(struct tg_json *json, const struct tg_report *report)
{
    size_t count = tg_library_model_count(report->libraries);
    const struct tg_library_use **uses = calloc(count + 1, sizeof *uses);
    if (uses == NULL)
        return tg_error_no_memory();
    struct tg_library_totals totals = tg_library_model_totals(report->libraries);
    tg_json_key(json, "library_totals");
    tg_json_begin_object(json);
    tg_json_member_unsigned(json, "distinct", count);
    tg_json_member_unsigned(json, "objects", totals.objects);
    tg_json_member_unsigned(json, "load_events", totals.load_events);
    tg_json_member_unsigned(json, "startup_events", totals.startup_events);
    tg_json_member_unsigned(json, "loader_events", totals.loader_events);
    tg_json_member_unsigned(json, "catch_up_events", totals.catch_up_events);
    tg_json_member_unsigned(json, "agent_events", totals.agent_events);
    tg_json_member_unsigned(json, "unload_events", totals.unload_events);
    tg_json_member_unsigned(json, "null_events", totals.null_events);
    tg_json_member_unsigned(json, "load_stop_ns", totals.load_stop_ns);
    tg_json_member_unsigned(json, "unload_stop_ns", totals.unload_stop_ns);
    tg_json_member_unsigned(json, "null_stop_ns", totals.null_stop_ns);
    tg_json_end_object(json);
    tg_json_key(json, "libraries");
    tg_json_begin_array(json);
    tg_library_model_by_time(report->libraries, uses);
    for (size_t i = 0; i < count; i++)
        write_library(json, report, uses[i]);
    tg_json_end_array(json);
    free(uses);
    return NULL;
}

static void write_kinds(struct tg_json *json, const struct tg_totals *session)
{
    tg_json_key(json, "kinds");
    tg_json_begin_array(json);
    for (size_t i = 0; i < session->n_kinds; i++) {
        const struct tg_kind_total *total = &session->kinds[i];
        if (total->events == 0)
            continue;
        tg_json_begin_object(json);
        tg_json_member_string(json, "kind", tg_event_kind_name(total->kind));
        tg_json_member_unsigned(json, "events", total->events);
        tg_json_member_unsigned(json, "stops", total->stops);
        tg_json_member_unsigned(json, "stop_ns", total->stop_ns);
        tg_json_member_unsigned(json, "longest_ns", total->longest_ns);
        tg_json_end_object(json);
    }
    tg_json_end_array(json);
}

static void write_breakpoints(struct tg_json *json, const struct tg_totals *session)
{
    tg_json_key(json, "breakpoints");
    tg_json_begin_array(json);
    for (size_t i = 0; i < session->n_breakpoints; i++) {
        const struct tg_breakpoint_total *total = &session->breakpoints[i];
        tg_json_begin_object(json);
        tg_json_member_unsigned(json, "breakpoint", total->breakpoint);
        tg_json_member_string(json, "spec", total->text);
        tg_json_member_unsigned(json, "planted", total->planted);
        tg_json_member_unsigned(json, "late", total->late);
        tg_json_member_unsigned(json, "longest_window_ns", total->longest_window_ns);
        tg_json_member_unsigned(json, "removed", total->removed);
        tg_json_member_unsigned(json, "hits", total->hits);
        tg_json_end_object(json);
    }
    tg_json_end_array(json);
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
        write_moment(json, "from_ns", report, session->settings[i].time_ns);
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
        write_moment(json, "first_ns", report, total->first_ns);
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
        write_moment(json, "first_ns", report, total->first_ns);
        tg_json_member_signed(json, "first_pid", total->first_pid);
        tg_json_member_unsigned(json, "count", total->count);
        tg_json_member_string(json, "text", total->text);
        tg_json_end_object(json);
    }
    tg_json_end_array(json);
    tg_json_member_unsigned(json, "beyond_limit", session->beyond_limit);
}

struct tg_error *tg_report_write_json(const struct tg_report *report, FILE *stream)
{
    struct tg_json json;
    tg_json_init(&json, stream, true);
    tg_json_begin_object(&json);
    write_trace(&json, report);
    write_meta(&json, report->meta);
    write_processes(&json, report);
    tg_report_control_json(report, &json);
    struct tg_error *error = tg_report_mpir_json(report, &json);
    if (error == NULL)
        error = tg_report_parallel_json(report, &json);
    if (error == NULL)
        error = write_libraries(&json, report);
    if (error != NULL)
        return error;
    write_load_calls(&json, report);
    write_kinds(&json, report->session);
    write_breakpoints(&json, report->session);
    write_filter(&json, report);
    write_losses(&json, report);
    tg_json_end_object(&json);
    tg_json_end_line(&json);
    return NULL;
}
