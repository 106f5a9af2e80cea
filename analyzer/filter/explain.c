#include "analyzer/filter/explain.h"

#include "format/base/json_writer.h"
#include "format/base/printable.h"
#include "format/settings/dlopen_filter.h"

#include <inttypes.h>

static const char *rule_text(enum tg_filter_rule rule)
{
    switch (rule) {
    case TG_RULE_ALWAYS_RECALCULATE:
        return "slow mode reports every dlopen event";
    case TG_RULE_PATTERN:
        return "a pattern matches";
    case TG_RULE_DEFAULT_LAST_POSITIVE:
        return "no pattern matches, and the last non-empty pattern is positive";
    case TG_RULE_DEFAULT_LAST_NEGATED:
        return "no pattern matches, and the last non-empty pattern is negated";
    case TG_RULE_DEFAULT_ALL_EMPTY:
        return "no pattern matches: all patterns of the glob-list are empty";
    case TG_RULE_NO_STOP:
        return "fast mode does not stop for dlopen events";
    }
    return "?";
}

static const char *value_name(enum tg_event_kind kind, const char *field, uint64_t value)
{
    const char *name = tg_event_value_name(kind, field, value);
    return name != NULL ? name : "?";
}

static const char *match_name(const struct tg_glob_match *match)
{
    if (!match->matched)
        return "no_match";
    return match->negated ? "negated_match" : "positive_match";
}

static struct tg_glob_verdict decide(const struct tg_dlopen_filter *filter, const char *const *libraries,
                                     size_t count)
{
    switch (filter->mode) {
    case TG_FILTER_SLOW:
        return (struct tg_glob_verdict){.report = true, .rule = TG_RULE_ALWAYS_RECALCULATE};
    case TG_FILTER_MEDIUM:
        return tg_glob_list_decide(filter->list, libraries, count);
    case TG_FILTER_FAST:
        break;
    }
    return (struct tg_glob_verdict){.report = false, .rule = TG_RULE_NO_STOP};
}

static void write_json(const struct tg_dlopen_filter *filter, const struct tg_glob_verdict *verdict,
                       const char *const *libraries, size_t count, FILE *stream)
{
    struct tg_json json;
    bool by_pattern = verdict->rule == TG_RULE_PATTERN;
    tg_json_init(&json, stream, true);
    tg_json_begin_object(&json);
    tg_json_member_string(&json, "mode", tg_dlopen_filter_mode_name(filter->mode));
    tg_json_member_string(&json, "match", tg_glob_list_text(filter->list));
    tg_json_member_string(&json, "decision", verdict->report ? "report" : "defer");
    tg_json_member_string(&json, "rule", value_name(TG_EVENT_FILTER_DECISION, "rule", verdict->rule));
    tg_json_member_string(&json, "pattern",
                          by_pattern ? tg_glob_list_pattern(filter->list, verdict->pattern) : "");
    tg_json_member_string(&json, "library", by_pattern ? libraries[verdict->library] : "");
    tg_json_key(&json, "libraries");
    tg_json_begin_array(&json);
    for (size_t i = 0; i < count; i++) {
        struct tg_glob_match match = {0};
        if (filter->mode == TG_FILTER_MEDIUM)
            match = tg_glob_list_match(filter->list, libraries[i]);
        tg_json_begin_object(&json);
        tg_json_member_string(&json, "library", libraries[i]);
        tg_json_member_string(&json, "match", match_name(&match));
        tg_json_member_string(&json, "pattern",
                              match.matched ? tg_glob_list_pattern(filter->list, match.pattern) : "");
        tg_json_end_object(&json);
    }
    tg_json_end_array(&json);
    tg_json_end_object(&json);
    tg_json_end_line(&json);
}

static void write_text(const struct tg_dlopen_filter *filter, const struct tg_glob_verdict *verdict,
                       const char *const *libraries, size_t count, FILE *stream)
{
    fprintf(stream, "%s: ", verdict->report ? "report" : "defer");
    if (verdict->rule == TG_RULE_PATTERN) {
        fputs("pattern \"", stream);
        tg_printable_write(stream, tg_glob_list_pattern(filter->list, verdict->pattern));
        fputs("\" matches ", stream);
        tg_printable_write(stream, libraries[verdict->library]);
        putc('\n', stream);
    } else {
        fprintf(stream, "%s\n", rule_text(verdict->rule));
    }
    for (size_t i = 0; filter->mode == TG_FILTER_MEDIUM && i < count; i++) {
        struct tg_glob_match match = tg_glob_list_match(filter->list, libraries[i]);
        fputs("  ", stream);
        tg_printable_write(stream, libraries[i]);
        if (match.matched) {
            fprintf(stream, ": %s \"", match.negated ? "excluded by" : "matches");
            tg_printable_write(stream, tg_glob_list_pattern(filter->list, match.pattern));
            fputs("\"\n", stream);
        } else {
            fputs(": no match\n", stream);
        }
    }
}

bool tg_filter_explain(const struct tg_dlopen_filter *filter, const char *const *libraries, size_t count,
                       bool json, FILE *stream)
{
    struct tg_glob_verdict verdict = decide(filter, libraries, count);
    if (json)
        write_json(filter, &verdict, libraries, count, stream);
    else
        write_text(filter, &verdict, libraries, count, stream);
    return verdict.report;
}

/* ---- predictions ---- */

static void write_prediction_json(const struct tg_filter_prediction *prediction, enum tg_filter_mode mode,
                                  const char *match, FILE *stream)
{
    struct tg_json json;
    bool decision = prediction->kind == TG_PREDICTED_DECISION;
    tg_json_init(&json, stream, false);
    tg_json_begin_object(&json);
    tg_json_member_string(&json, "mode", tg_dlopen_filter_mode_name(mode));
    tg_json_member_string(&json, "match", match);
    tg_json_member_unsigned(&json, "t_ns", prediction->time_ns);
    tg_json_member_signed(&json, "pid", prediction->pid);
    tg_json_member_signed(&json, "rank", prediction->rank);
    tg_json_member_string(&json, "kind", decision ? "filter_decision" : "deferred_handled");
    if (decision) {
        tg_json_member_string(&json, "decision",
                              value_name(TG_EVENT_FILTER_DECISION, "decision", prediction->decision));
        tg_json_member_string(&json, "rule", value_name(TG_EVENT_FILTER_DECISION, "rule", prediction->rule));
        tg_json_member_string(&json, "pattern", prediction->pattern);
        tg_json_member_string(&json, "library", prediction->library);
        tg_json_key(&json, "libraries");
        tg_json_begin_array(&json);
        for (uint64_t i = 0; i < prediction->n_libraries; i++)
            tg_json_string(&json, prediction->libraries[i]);
        tg_json_end_array(&json);
    } else {
        tg_json_member_string(&json, "trigger",
                              value_name(TG_EVENT_DEFERRED_HANDLED, "trigger", prediction->trigger));
        tg_json_member_unsigned(&json, "events", prediction->events);
        tg_json_member_unsigned(&json, "libraries", prediction->n_libraries);
    }
    tg_json_end_object(&json);
    tg_json_end_line(&json);
}

void tg_filter_explain_prediction(const struct tg_filter_prediction *prediction, enum tg_filter_mode mode,
                                  const char *match, bool json, FILE *stream)
{
    if (json) {
        write_prediction_json(prediction, mode, match, stream);
        return;
    }
    fprintf(stream, "%s %" PRIu64 " %" PRId32 " ", tg_dlopen_filter_mode_name(mode), prediction->time_ns,
            prediction->pid);
    if (prediction->kind == TG_PREDICTED_HANDLING) {
        fprintf(stream, "handled at %s: %" PRIu64 " events, %" PRIu64 " libraries",
                value_name(TG_EVENT_DEFERRED_HANDLED, "trigger", prediction->trigger), prediction->events,
                prediction->n_libraries);
    } else {
        fprintf(stream, "%s by %s", value_name(TG_EVENT_FILTER_DECISION, "decision", prediction->decision),
                value_name(TG_EVENT_FILTER_DECISION, "rule", prediction->rule));
        if (prediction->rule == TG_RULE_PATTERN) {
            fputs(" \"", stream);
            tg_printable_write(stream, prediction->pattern);
            fputs("\" of ", stream);
            tg_printable_write(stream, prediction->library);
        }
        putc(':', stream);
        for (uint64_t i = 0; i < prediction->n_libraries; i++) {
            putc(' ', stream);
            tg_printable_write(stream, prediction->libraries[i]);
        }
    }
    putc('\n', stream);
}
