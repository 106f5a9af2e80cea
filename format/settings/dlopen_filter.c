#include "format/settings/dlopen_filter.h"

#include "format/base/near_name.h"

#include <string.h>

struct tg_error *tg_dlopen_filter_init(struct tg_dlopen_filter *filter)
{
    *filter = (struct tg_dlopen_filter){.mode = TG_FILTER_SLOW};
    return tg_glob_list_create("", &filter->list);
}

void tg_dlopen_filter_deinit(struct tg_dlopen_filter *filter)
{
    tg_glob_list_destroy(filter->list);
    filter->list = NULL;
}

struct tg_error *tg_dlopen_filter_copy(const struct tg_dlopen_filter *filter, struct tg_dlopen_filter *copy)
{
    struct tg_glob_list *list = NULL;
    struct tg_error *error = tg_glob_list_create(tg_glob_list_text(filter->list), &list);
    if (error == NULL)
        *copy = (struct tg_dlopen_filter){.mode = filter->mode, .list = list};
    return error;
}

struct tg_error *tg_dlopen_filter_set(struct tg_dlopen_filter *filter, bool always_recalculate,
                                      const char *match)
{
    struct tg_glob_list *list = NULL;
    struct tg_error *error = tg_glob_list_create(match, &list);
    if (error != NULL)
        return error;
    tg_glob_list_destroy(filter->list);
    filter->list = list;
    if (always_recalculate)
        filter->mode = TG_FILTER_SLOW;
    else
        filter->mode = tg_glob_list_is_empty_text(list) ? TG_FILTER_FAST : TG_FILTER_MEDIUM;
    return NULL;
}

const char *tg_dlopen_filter_mode_name(enum tg_filter_mode mode)
{
    static const char *const names[] = {"slow", "medium", "fast"};
    return names[mode];
}

struct tg_error *tg_dlopen_filter_set_mode(struct tg_dlopen_filter *filter, const char *mode,
                                           const char *match)
{
    bool has_match = match != NULL && match[0] != '\0';
    if (strcmp(mode, "slow") == 0)
        return tg_dlopen_filter_set(filter, true, match != NULL ? match : "");
    if (strcmp(mode, "medium") == 0) {
        if (!has_match)
            return tg_error_create(TG_ERROR_USAGE,
                                   "mode medium needs a glob-list: add --match GLOBLIST (\"\" is mode fast)");
        return tg_dlopen_filter_set(filter, false, match);
    }
    if (strcmp(mode, "fast") == 0) {
        if (has_match)
            return tg_error_create(TG_ERROR_USAGE,
                                   "mode fast stops for no library and takes no glob-list: omit "
                                   "--match \"%s\", or use mode medium",
                                   match);
        return tg_dlopen_filter_set(filter, false, "");
    }
    return tg_dlopen_filter_refuse_mode(mode);
}

struct tg_error *tg_dlopen_filter_refuse_mode(const char *mode)
{
    struct tg_near_name near;
    char hint[TG_NEAR_NAME_HINT];
    tg_near_name_init(&near, mode);
    tg_near_name_offer(&near, "slow");
    tg_near_name_offer(&near, "medium");
    tg_near_name_offer(&near, "fast");
    if (near.best != NULL)
        return tg_error_create(TG_ERROR_USAGE, "unknown mode '%s'%s", mode, tg_near_name_hint(&near, hint));
    return tg_error_create(TG_ERROR_USAGE, "unknown mode '%s'; use slow, medium or fast", mode);
}

static struct tg_event_filter_decision decide_by_list(const struct tg_glob_list *list,
                                                      const struct tg_list *libraries)
{
    const struct tg_library *items = libraries->items;
    struct tg_glob_verdict verdict = tg_glob_list_default(list);
    for (size_t i = 0; i < libraries->count && tg_glob_list_consider(list, items[i].path, i, &verdict); i++) {
    }
    bool by_pattern = verdict.rule == TG_RULE_PATTERN;
    return (struct tg_event_filter_decision){
        .decision = verdict.report ? TG_DECISION_REPORTED : TG_DECISION_DEFERRED,
        .rule = verdict.rule,
        .pattern = by_pattern ? tg_glob_list_pattern(list, verdict.pattern) : "",
        .library = by_pattern ? items[verdict.library].path : "",
    };
}

struct tg_event_filter_decision tg_dlopen_filter_decide(const struct tg_dlopen_filter *filter,
                                                        const struct tg_list *libraries)
{
    struct tg_event_filter_decision decision = {.pattern = "", .library = ""};
    switch (filter->mode) {
    case TG_FILTER_SLOW:
        decision.decision = TG_DECISION_REPORTED;
        decision.rule = TG_RULE_ALWAYS_RECALCULATE;
        break;
    case TG_FILTER_MEDIUM:
        decision = decide_by_list(filter->list, libraries);
        break;
    case TG_FILTER_FAST:
        decision.decision = TG_DECISION_NOT_STOPPED;
        decision.rule = TG_RULE_NO_STOP;
        break;
    }
    return decision;
}
