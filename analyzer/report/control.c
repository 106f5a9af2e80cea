/* The report's live control: barriers, who waited at them and who never came, as text and as JSON. */
#include "analyzer/output/quantity.h"
#include "analyzer/report/sections.h"
#include "format/base/printable.h"

#include <inttypes.h>

enum { UNITS_SHOWN = 16 };

static void write_units(const struct tg_report_page *page, const char *words,
                        const struct tg_session_review_threads *units)
{
    char name[48];
    if (units->count == 0)
        return;
    fprintf(page->stream, "      %s %zu: ", words, units->count);
    for (size_t i = 0; i < units->count && i < UNITS_SHOWN; i++)
        fprintf(page->stream, "%s%s", i == 0 ? "" : ", ",
                tg_session_review_name(page->report->control, units->items[i], name, sizeof name));
    if (units->count > UNITS_SHOWN)
        fprintf(page->stream, " and %zu more", units->count - UNITS_SHOWN);
    fputc('\n', page->stream);
}

static void write_barrier(const struct tg_report_page *page, const struct tg_session_review_barrier *barrier)
{
    char moment[TG_QUANTITY_SIZE], name[48];
    FILE *stream = page->stream;
    fprintf(stream, "  %" PRIu32 " ", barrier->id);
    tg_printable_write(stream, barrier->location);
    fprintf(stream, ": over %s, created at %s s, satisfied %" PRIu64 " time%s%s\n",
            barrier->of_threads ? "threads" : "processes",
            tg_quantity_moment(barrier->created_ns, page->report->start_ns, 6, moment), barrier->rounds,
            barrier->rounds == 1 ? "" : "s",
            barrier->deleted   ? ", deleted"
            : barrier->enabled ? ""
                               : ", disabled");
    if (barrier->stuck) {
        fprintf(stream,
                "      can no longer be satisfied: %s is held at barrier %" PRIu32 ", which is waiting too",
                tg_session_review_name(page->report->control, barrier->stuck_unit, name, sizeof name),
                barrier->holder);
        if (barrier->blocked > 1)
            fprintf(stream, "; %" PRIu64 " more cannot arrive", barrier->blocked - 1);
        fputc('\n', stream);
    }
    write_units(page, "arrived", &barrier->arrived);
    write_units(page, "never arrived", &barrier->missing);
}

struct tg_error *tg_report_control(const struct tg_report_page *page)
{
    const struct tg_session_review *model = page->report->control;
    struct tg_barrier_trace_verdict verdict;
    if (!tg_session_review_is_called_for(model))
        return NULL;
    tg_session_review_verdict(model, &verdict);
    tg_report_title(page, "Live control");
    for (size_t i = 0; i < tg_session_review_count(model); i++)
        write_barrier(page, tg_session_review_at(model, i));
    if (tg_session_review_count(model) == 0)
        fputs("  no barriers\n", page->stream);
    else if (verdict.n_differences == 0 && verdict.n_ignored == 0)
        fprintf(page->stream, "  the model reproduces all %" PRIu64 " decisions of the session\n",
                verdict.n_decisions);
    else
        fprintf(page->stream,
                "  the model differs from the session in %" PRIu64 " decisions; %" PRIu64
                " inconsistent events%s%s\n",
                verdict.n_differences, verdict.n_ignored, *verdict.first == '\0' ? "" : ": ", verdict.first);
    return NULL;
}

/* ---- JSON */

static void write_unit(struct tg_json *json, const struct tg_session_review *model, struct tg_thread_id unit)
{
    int64_t rank = tg_session_review_rank(model, unit.dpid);
    tg_json_begin_object(json);
    tg_json_member_unsigned(json, "dpid", unit.dpid);
    tg_json_member_unsigned(json, "dtid", unit.dtid);
    tg_json_member_signed(json, "rank", rank);
    tg_json_end_object(json);
}

static void write_list(struct tg_json *json, const char *key, const struct tg_session_review *model,
                       const struct tg_session_review_threads *units)
{
    tg_json_key(json, key);
    tg_json_begin_array(json);
    for (size_t i = 0; i < units->count; i++)
        write_unit(json, model, units->items[i]);
    tg_json_end_array(json);
}

static void write_barrier_json(struct tg_json *json, const struct tg_report *report,
                               const struct tg_session_review_barrier *barrier)
{
    tg_json_begin_object(json);
    tg_json_member_unsigned(json, "barrier", barrier->id);
    tg_json_member_string(json, "location", barrier->location);
    tg_json_member_bool(json, "of_threads", barrier->of_threads);
    tg_json_member_signed(json, "created_ns", (int64_t)(barrier->created_ns - report->start_ns));
    tg_json_member_bool(json, "enabled", barrier->enabled);
    tg_json_member_bool(json, "deleted", barrier->deleted);
    tg_json_member_unsigned(json, "satisfied", barrier->rounds);
    tg_json_member_bool(json, "stuck", barrier->stuck);
    tg_json_member_unsigned(json, "holder", barrier->stuck ? barrier->holder : 0);
    tg_json_member_unsigned(json, "blocked", barrier->stuck ? barrier->blocked : 0);
    write_list(json, "waited", report->control, &barrier->arrived);
    write_list(json, "never_came", report->control, &barrier->missing);
    tg_json_end_object(json);
}

void tg_report_control_json(const struct tg_report *report, struct tg_json *json)
{
    struct tg_barrier_trace_verdict verdict;
    tg_json_key(json, "control");
    if (!tg_session_review_is_called_for(report->control)) {
        tg_json_null(json);
        return;
    }
    tg_session_review_verdict(report->control, &verdict);
    tg_json_begin_object(json);
    tg_json_key(json, "barriers");
    tg_json_begin_array(json);
    for (size_t i = 0; i < tg_session_review_count(report->control); i++)
        write_barrier_json(json, report, tg_session_review_at(report->control, i));
    tg_json_end_array(json);
    tg_json_member_unsigned(json, "decisions", verdict.n_decisions);
    tg_json_member_unsigned(json, "differences", verdict.n_differences);
    tg_json_member_unsigned(json, "senseless", verdict.n_ignored);
    tg_json_member_string(json, "first_difference", verdict.first);
    tg_json_end_object(json);
}
