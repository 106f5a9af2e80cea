/* The report's MPIR: starters, their ranks and how these were found, as text and as JSON. */
#include "analyzer/report/fields.h"
#include "analyzer/report/mpir_rows.h"
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

struct object_row {
    struct tg_mpir_object object;
    const char *layout;
};

#define OBJECT(key, form, member) TG_FIELD(struct object_row, NULL, key, form, member)

static const struct tg_report_field object_fields[] = {
    OBJECT("path", TEXT, object.path),
    OBJECT("symbols", COUNT, object.n_symbols),
    OBJECT("layout", TEXT, layout),
    OBJECT("stride_bytes", COUNT, object.stride_bytes),
    OBJECT("host_offset", COUNT, object.host_offset),
    OBJECT("executable_offset", COUNT, object.executable_offset),
    OBJECT("pid_offset", COUNT, object.pid_offset),
    OBJECT("dll_name", TEXT, object.dll_name),
    {0},
};

struct step_row {
    struct tg_mpir_step step;
    const char *name;
    const char *text;
};

#define STEP(key, form, member) TG_FIELD(struct step_row, NULL, key, form, member)

static const struct tg_report_field step_fields[] = {
    STEP("t_ns", MOMENT, step.time_ns), STEP("last_ns", MOMENT, step.last_ns),
    STEP("step", TEXT, name),           STEP("count", SIGNED, step.count),
    STEP("text", TEXT, text),           {0},
};

struct starter_row {
    struct tg_mpir_starter starter;
    struct tg_mpir_tally tally;
    const char *acquisition, *debug_state; /* NULL unknown */
    struct tg_report_maybe being_debugged, aborting_ns;
    bool whole;
};

#define STARTER(key, form, member) TG_FIELD(struct starter_row, NULL, key, form, member)

static const struct tg_report_field starter_fields[] = {
    STARTER("process", PROCESS, starter.process),
    STARTER("launcher", TEXT, starter.launcher),
    STARTER("job", TEXT, starter.job),
    STARTER("acquisition", TEXT, acquisition),
    STARTER("reason", TEXT, starter.reason),
    {0},
};

/* Behind the objects. */
static const struct tg_report_field protocol_fields[] = {
    STARTER("i_am_starter", FLAG, starter.i_am_starter),
    STARTER("acquired_pre_main", FLAG, starter.acquired_pre_main),
    STARTER("force_to_main", FLAG, starter.force_to_main),
    STARTER("partial_attach_ok", FLAG, starter.partial_attach_ok),
    STARTER("ignore_queues", FLAG, starter.ignore_queues),
    STARTER("being_debugged", MAYBE, being_debugged),
    STARTER("being_debugged_error", TEXT, starter.write_error),
    STARTER("debug_state", TEXT, debug_state),
    STARTER("raw_state", SIGNED, starter.raw_state),
    STARTER("aborting_ns", MAYBE, aborting_ns),
    STARTER("abort_string", TEXT, starter.abort_string),
    STARTER("claimed_size", SIGNED, starter.claimed_size),
    STARTER("readings", COUNT, starter.snapshots),
    STARTER("read_entries", COUNT, starter.read_entries),
    STARTER("read_ns", COUNT, starter.read_ns),
    STARTER("whole", FLAG, whole),
    STARTER("table_reason", TEXT, starter.table_reason),
    STARTER("acquired", COUNT, tally.states[TG_MPIR_ACQUIRED]),
    STARTER("remote", COUNT, tally.states[TG_MPIR_REMOTE]),
    STARTER("missed", COUNT, tally.states[TG_MPIR_MISSED]),
    STARTER("not_selected", COUNT, tally.states[TG_MPIR_NOT_SELECTED]),
    STARTER("in_table_alone", COUNT, tally.untold),
    STARTER("left_table", COUNT, tally.gone),
    {0},
};

static void write_objects(struct tg_json *json, const struct tg_report *report,
                          const struct tg_mpir_starter *starter)
{
    struct object_row rows[TG_MPIR_MAX_OBJECTS];
    size_t count = starter->n_objects < TG_MPIR_MAX_OBJECTS ? starter->n_objects : TG_MPIR_MAX_OBJECTS;
    for (size_t i = 0; i < count; i++)
        rows[i] = (struct object_row){
            .object = starter->objects[i],
            .layout = tg_mpir_value_name(TG_EVENT_MPIR_SYMBOLS, "layout", starter->objects[i].layout)};
    const struct tg_report_rows array = {object_fields, rows, count, sizeof *rows};
    tg_report_array(json, report, "objects", &array);
}

static void write_ranks(struct tg_json *json, const struct tg_report *report,
                        const struct tg_mpir_rank *ranks, size_t count)
{
    tg_json_key(json, "ranks");
    tg_json_begin_array(json);
    for (size_t i = 0; i < count; i++) {
        const struct tg_mpir_rank_row row = tg_mpir_rank_row(&ranks[i]);
        tg_json_begin_object(json);
        tg_report_members(json, report, tg_mpir_rank_fields, &row);
        tg_json_end_object(json);
    }
    tg_json_end_array(json);
}

static struct tg_error *write_step(struct tg_json *json, const struct tg_report *report,
                                   const struct tg_mpir_step *step)
{
    static const char *const names[] = {
        [TG_MPIR_STEP_SYMBOLS] = "symbols", [TG_MPIR_STEP_RECOGNISED] = "recognised",
        [TG_MPIR_STEP_WRITE] = "write",     [TG_MPIR_STEP_STATE] = "state",
        [TG_MPIR_STEP_TABLE] = "table",     [TG_MPIR_STEP_RANKS] = "ranks",
        [TG_MPIR_STEP_LET_GO] = "let_go",   [TG_MPIR_STEP_ENDED] = "ended"};
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL)
        return tg_error_no_memory();
    tg_mpir_text_step(stream, step);
    if (fclose(stream) != 0) {
        free(text);
        return tg_error_no_memory();
    }
    const struct step_row row = {.step = *step, .name = names[step->kind], .text = text};
    tg_json_begin_object(json);
    tg_report_members(json, report, step_fields, &row);
    tg_json_end_object(json);
    free(text);
    return NULL;
}

static struct tg_error *write_steps(struct tg_json *json, const struct tg_report *report, size_t i)
{
    size_t count;
    uint64_t unkept;
    const struct tg_mpir_step *steps = tg_mpir_model_steps(report->mpir, i, &count, &unkept);
    struct tg_error *error = NULL;
    tg_json_key(json, "steps");
    tg_json_begin_array(json);
    for (size_t at = 0; error == NULL && at < count; at++)
        error = write_step(json, report, &steps[at]);
    tg_json_end_array(json);
    tg_json_member_unsigned(json, "unkept_steps", unkept);
    return error;
}

static struct tg_error *write_starter(struct tg_json *json, const struct tg_report *report, size_t i)
{
    const struct tg_mpir_starter *starter = tg_mpir_model_at(report->mpir, i);
    size_t count;
    const struct tg_mpir_rank *ranks = tg_mpir_model_ranks(report->mpir, i, &count);
    const struct starter_row row = {
        .starter = *starter,
        .tally = tg_mpir_ranks_tally(ranks, count),
        .acquisition = starter->is_recognised
                           ? tg_mpir_value_name(TG_EVENT_MPIR_JOB, "acquisition", starter->acquisition)
                           : NULL,
        .debug_state =
            starter->has_state ? tg_mpir_value_name(TG_EVENT_MPIR_STATE, "state", starter->state) : NULL,
        .being_debugged = {starter->is_written && *starter->write_error == '\0', starter->being_debugged},
        .aborting_ns = {starter->has_aborted, (int64_t)(starter->aborted_ns - report->start_ns)},
        .whole = starter->is_whole && *starter->table_reason == '\0'};
    tg_json_begin_object(json);
    tg_report_members(json, report, starter_fields, &row);
    write_objects(json, report, starter);
    tg_report_members(json, report, protocol_fields, &row);
    write_ranks(json, report, ranks, count);
    struct tg_error *error = write_steps(json, report, i);
    tg_json_end_object(json);
    return error;
}

static void write_others(struct tg_json *json, const struct tg_report *report,
                         const struct tg_mpir_others *others)
{
    tg_json_key(json, "without_table");
    tg_json_begin_array(json);
    for (size_t i = 0; i < others->count; i++) {
        const struct tg_mpir_other_row row = tg_mpir_other_row(&others->groups[i]);
        tg_json_begin_object(json);
        tg_report_members(json, report, tg_mpir_other_fields, &row);
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
    write_others(json, report, &others);
    tg_json_member_unsigned(json, "impossible_events",
                            tg_mpir_model_impossible(report->mpir, &first_ns, &first));
    tg_json_member_unsigned(json, "mpir_beyond_limit",
                            tg_mpir_model_beyond_limit(report->mpir) + others.unkept);
    tg_json_end_object(json);
    tg_mpir_others_deinit(&others);
    return error;
}
