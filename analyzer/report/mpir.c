/* The report's MPIR: starters, their ranks and how these were found, as text and as JSON. */
#include "analyzer/report/fields.h"
#include "analyzer/report/mpir_others.h"
#include "analyzer/report/mpir_text.h"
#include "analyzer/report/sections.h"

#include <stdlib.h>

struct tg_error *tg_report_mpir(const struct tg_report_page *page)
{
    const struct tg_mpir_text text = {.mpir = page->report->mpir,
                                      .processes = page->report->processes,
                                      .start_ns = page->report->start_ns,
                                      .all = page->options->all,
                                      .colour = page->options->colour};
    if (!tg_mpir_text_is_called_for(&text))
        return NULL;
    tg_report_title(page, "How ranks were found");
    return tg_mpir_text_write(&text, page->stream);
}

/* ---- JSON */

static void write_process(struct tg_json *json, size_t process)
{
    tg_json_key(json, "process");
    if (process == SIZE_MAX)
        tg_json_null(json);
    else
        tg_json_unsigned(json, process);
}

static void write_name(struct tg_json *json, const char *key, enum tg_event_kind kind, const char *field,
                       uint64_t value)
{
    tg_json_member_string(json, key, tg_mpir_text_name(kind, field, value));
}

static void write_objects(struct tg_json *json, const struct tg_mpir_starter *starter)
{
    tg_json_key(json, "objects");
    tg_json_begin_array(json);
    for (size_t i = 0; i < starter->n_objects; i++) {
        const struct tg_mpir_object *object = &starter->objects[i];
        tg_json_begin_object(json);
        tg_json_member_string(json, "path", object->path);
        tg_json_member_unsigned(json, "symbols", object->n_symbols);
        write_name(json, "layout", TG_EVENT_MPIR_SYMBOLS, "layout", object->layout);
        tg_json_member_unsigned(json, "stride_bytes", object->stride_bytes);
        tg_json_member_unsigned(json, "host_offset", object->host_offset);
        tg_json_member_unsigned(json, "executable_offset", object->executable_offset);
        tg_json_member_unsigned(json, "pid_offset", object->pid_offset);
        tg_json_member_string(json, "dll_name", object->dll_name);
        tg_json_end_object(json);
    }
    tg_json_end_array(json);
}

static void write_told(struct tg_json *json, const struct tg_mpir_rank *rank)
{
    if (rank->is_told) {
        write_name(json, "state", TG_EVENT_MPIR_RANK, "state", rank->state);
        write_name(json, "way", TG_EVENT_MPIR_RANK, "way", rank->way);
        write_name(json, "gate", TG_EVENT_MPIR_RANK, "gate", rank->gate);
        return;
    }
    tg_json_member_string(json, "state", rank->in_table ? "in_table" : "left_table");
    tg_json_member_string(json, "way", "none");
    tg_json_member_string(json, "gate", "unknown");
}

static void write_ranks(struct tg_json *json, const struct tg_report *report, const char *key,
                        const struct tg_mpir_rank *ranks, size_t count)
{
    tg_json_key(json, key);
    tg_json_begin_array(json);
    for (size_t i = 0; i < count; i++) {
        tg_json_begin_object(json);
        tg_json_member_signed(json, "rank", ranks[i].rank);
        tg_json_member_string(json, "host", ranks[i].host);
        tg_json_member_string(json, "executable", ranks[i].executable);
        tg_json_member_signed(json, "table_pid", ranks[i].table_pid);
        write_process(json, ranks[i].process);
        write_told(json, &ranks[i]);
        tg_json_member_bool(json, "woken", ranks[i].woken);
        tg_json_member_string(json, "reason", ranks[i].reason);
        tg_json_member_string(json, "problem", ranks[i].problem);
        tg_report_member_moment(json, "since_ns", report, ranks[i].since_ns);
        tg_json_end_object(json);
    }
    tg_json_end_array(json);
}

static void write_tally(struct tg_json *json, const struct tg_mpir_rank *ranks, size_t count)
{
    struct tg_mpir_tally tally = tg_mpir_ranks_tally(ranks, count);
    tg_json_member_unsigned(json, "acquired", tally.states[TG_MPIR_ACQUIRED]);
    tg_json_member_unsigned(json, "remote", tally.states[TG_MPIR_REMOTE]);
    tg_json_member_unsigned(json, "missed", tally.states[TG_MPIR_MISSED]);
    tg_json_member_unsigned(json, "not_selected", tally.states[TG_MPIR_NOT_SELECTED]);
    tg_json_member_unsigned(json, "in_table_alone", tally.untold);
    tg_json_member_unsigned(json, "left_table", tally.gone);
}

static struct tg_error *write_steps(struct tg_json *json, const struct tg_report *report, size_t i)
{
    static const char *const names[] = {
        [TG_MPIR_STEP_SYMBOLS] = "symbols", [TG_MPIR_STEP_RECOGNISED] = "recognised",
        [TG_MPIR_STEP_WRITE] = "write",     [TG_MPIR_STEP_STATE] = "state",
        [TG_MPIR_STEP_TABLE] = "table",     [TG_MPIR_STEP_RANKS] = "ranks",
        [TG_MPIR_STEP_LET_GO] = "let_go",   [TG_MPIR_STEP_ENDED] = "ended"};
    size_t count;
    uint64_t unkept;
    const struct tg_mpir_step *steps = tg_mpir_model_steps(report->mpir, i, &count, &unkept);
    struct tg_error *error = NULL;
    tg_json_key(json, "steps");
    tg_json_begin_array(json);
    for (size_t at = 0; error == NULL && at < count; at++) {
        char *text = NULL;
        size_t size;
        FILE *stream = open_memstream(&text, &size);
        if (stream == NULL)
            return tg_error_no_memory();
        tg_mpir_text_step(stream, &steps[at]);
        if (fclose(stream) != 0)
            error = tg_error_no_memory();
        tg_json_begin_object(json);
        tg_report_member_moment(json, "t_ns", report, steps[at].time_ns);
        tg_report_member_moment(json, "last_ns", report, steps[at].last_ns);
        tg_json_member_string(json, "step", names[steps[at].kind]);
        tg_json_member_signed(json, "count", steps[at].count);
        tg_json_member_string(json, "text", text != NULL ? text : "");
        tg_json_end_object(json);
        free(text);
    }
    tg_json_end_array(json);
    tg_json_member_unsigned(json, "unkept_steps", unkept);
    return error;
}

static void write_markers(struct tg_json *json, const struct tg_mpir_starter *starter)
{
    tg_json_member_bool(json, "i_am_starter", starter->i_am_starter);
    tg_json_member_bool(json, "acquired_pre_main", starter->acquired_pre_main);
    tg_json_member_bool(json, "force_to_main", starter->force_to_main);
    tg_json_member_bool(json, "partial_attach_ok", starter->partial_attach_ok);
    tg_json_member_bool(json, "ignore_queues", starter->ignore_queues);
    tg_json_key(json, "being_debugged");
    if (starter->is_written && *starter->write_error == '\0')
        tg_json_signed(json, starter->being_debugged);
    else
        tg_json_null(json);
    tg_json_member_string(json, "being_debugged_error", starter->write_error);
}

static void write_state(struct tg_json *json, const struct tg_report *report,
                        const struct tg_mpir_starter *starter)
{
    tg_json_key(json, "debug_state");
    if (starter->has_state)
        tg_json_string(json, tg_mpir_text_name(TG_EVENT_MPIR_STATE, "state", starter->state));
    else
        tg_json_null(json);
    tg_json_member_signed(json, "raw_state", starter->raw_state);
    tg_json_key(json, "aborting_ns");
    if (starter->has_aborted)
        tg_json_signed(json, (int64_t)(starter->aborted_ns - report->start_ns));
    else
        tg_json_null(json);
    tg_json_member_string(json, "abort_string", starter->abort_string);
    tg_json_member_signed(json, "claimed_size", starter->claimed_size);
    tg_json_member_unsigned(json, "readings", starter->snapshots);
    tg_json_member_unsigned(json, "read_entries", starter->read_entries);
    tg_json_member_unsigned(json, "read_ns", starter->read_ns);
    tg_json_member_bool(json, "whole", starter->is_whole && *starter->table_reason == '\0');
    tg_json_member_string(json, "table_reason", starter->table_reason);
}

static struct tg_error *write_starter(struct tg_json *json, const struct tg_report *report, size_t i)
{
    const struct tg_mpir_starter *starter = tg_mpir_model_at(report->mpir, i);
    size_t count;
    const struct tg_mpir_rank *ranks = tg_mpir_model_ranks(report->mpir, i, &count);
    tg_json_begin_object(json);
    write_process(json, starter->process);
    tg_json_member_string(json, "launcher", starter->launcher);
    tg_json_member_string(json, "job", starter->job);
    tg_json_key(json, "acquisition");
    if (starter->is_recognised)
        tg_json_string(json, tg_mpir_text_name(TG_EVENT_MPIR_JOB, "acquisition", starter->acquisition));
    else
        tg_json_null(json);
    tg_json_member_string(json, "reason", starter->reason);
    write_objects(json, starter);
    write_markers(json, starter);
    write_state(json, report, starter);
    write_tally(json, ranks, count);
    write_ranks(json, report, "ranks", ranks, count);
    struct tg_error *error = write_steps(json, report, i);
    tg_json_end_object(json);
    return error;
}

static void write_others(struct tg_json *json, const struct tg_mpir_others *others)
{
    tg_json_key(json, "without_table");
    tg_json_begin_array(json);
    for (size_t i = 0; i < others->count; i++) {
        const struct tg_mpir_other *group = &others->groups[i];
        tg_json_begin_object(json);
        tg_json_member_string(json, "job", group->job);
        tg_json_key(json, "host");
        if (group->host != NULL)
            tg_json_string(json, group->host);
        else
            tg_json_null(json);
        tg_json_member_string(json, "found_by", group->way);
        tg_json_member_string(json, "rank_source", group->source);
        tg_json_member_bool(json, "spawned", group->is_outside);
        tg_json_key(json, "rank_numbers");
        tg_json_begin_array(json);
        for (size_t at = 0; at < group->n_ranks; at++)
            tg_json_signed(json, group->ranks[at]);
        tg_json_end_array(json);
        tg_json_end_object(json);
    }
    tg_json_end_array(json);
}

struct tg_error *tg_report_mpir_json(const struct tg_report *report, struct tg_json *json)
{
    struct tg_mpir_others others = {0};
    uint64_t first_ns;
    const char *first;
    struct tg_error *error = tg_mpir_others_find(report->mpir, report->processes, &others);
    tg_json_key(json, "mpir");
    tg_json_begin_object(json);
    tg_json_key(json, "starters");
    tg_json_begin_array(json);
    for (size_t i = 0; error == NULL && i < tg_mpir_model_count(report->mpir); i++)
        if (tg_mpir_model_at(report->mpir, i)->is_starter)
            error = write_starter(json, report, i);
    tg_json_end_array(json);
    size_t candidates = tg_mpir_model_count(report->mpir) - tg_mpir_model_starter_count(report->mpir);
    tg_json_member_unsigned(json, "candidates", candidates);
    write_others(json, &others);
    tg_json_member_unsigned(json, "impossible_events",
                            tg_mpir_model_impossible(report->mpir, &first_ns, &first));
    tg_json_member_unsigned(json, "mpir_beyond_limit",
                            tg_mpir_model_beyond_limit(report->mpir) + others.unkept);
    tg_json_end_object(json);
    tg_mpir_others_deinit(&others);
    return error;
}
