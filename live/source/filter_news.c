#include "live/source/filter_news.h"

#include "format/base/printable.h"
#include "format/base/tcl_match.h"
#include "format/settings/dlopen_filter.h"

#include <stdio.h>

static const char advice[] = "CUDA kernel launches are missed. Add */libcuda.so* to "
                             "TV::dlopen_recalculate_on_match, or set TV::dlopen_always_recalculate true";

/* Libraries of CUDA's: its driver, or the runtime that loads the driver. */
static bool uses_cuda(const struct tg_dlopen_model *model)
{
    for (size_t i = 0; i < tg_dlopen_model_count(model); i++) {
        const struct tg_dlopen_process *process = tg_dlopen_model_at(model, i);
        for (size_t k = 0; k < process->n_libraries; k++)
            if (tg_tcl_match("*/libcuda*.so*", process->libraries[k].path))
                return true;
    }
    return false;
}

/* Whether a driver library, where it usually is, would be reported. */
static bool reports_cuda(const struct tg_event_filter_settings *settings)
{
    static const struct tg_library driver = {.path = "/usr/lib/x86_64-linux-gnu/libcuda.so.1",
                                             .build_id = ""};
    const struct tg_list libraries = {&driver, 1};
    struct tg_dlopen_filter filter;
    struct tg_error *error = tg_dlopen_filter_init(&filter);
    if (error != NULL) {
        tg_error_destroy(error);
        return true;
    }
    error = tg_dlopen_filter_set(&filter, settings->mode == TG_FILTER_SLOW, settings->match);
    bool reports =
        error != NULL || tg_dlopen_filter_decide(&filter, &libraries).decision == TG_DECISION_REPORTED;
    tg_error_destroy(error);
    tg_dlopen_filter_deinit(&filter);
    return reports;
}

static void tell_setting(const struct tg_news_sink *sink)
{
    char text[400];
    snprintf(text, sizeof text,
             "this job uses CUDA, but this dlopen filter does not report libcuda.so when it is loaded: %s",
             advice);
    tg_news_tell(sink, &(struct tg_news){.kind = TG_NEWS_NOTE, .text = text});
}

static void tell_missed(const struct tg_moment *moment, const struct tg_event *event,
                        const struct tg_news_sink *sink)
{
    const struct tg_process_entry *entry = moment->entry;
    const struct tg_dlopen_process *process = tg_dlopen_model_at(moment->dlopens, entry->index);
    char text[600], path[200];
    if (!process->due_cuda || event->filter_decision.decision == TG_DECISION_REPORTED)
        return;
    snprintf(text, sizeof text, "%s was loaded but not reported by the dlopen filter: %s",
             tg_printable(process->due_path, path, sizeof path), advice);
    tg_news_tell(sink, &(struct tg_news){.kind = TG_NEWS_NOTE,
                                         .thread = {(uint32_t)entry->index + 1, 0},
                                         .pid = entry->pid,
                                         .has_rank = entry->rank >= 0,
                                         .rank = entry->rank,
                                         .text = text});
}

void tg_filter_news(const struct tg_moment *moment, const struct tg_event *event,
                    const struct tg_news_sink *sink)
{
    if (event->kind == TG_EVENT_FILTER_SETTINGS && !reports_cuda(&event->filter_settings) &&
        uses_cuda(moment->dlopens))
        tell_setting(sink);
    else if (event->kind == TG_EVENT_FILTER_DECISION && moment->entry != NULL &&
             moment->entry->index < tg_dlopen_model_count(moment->dlopens))
        tell_missed(moment, event, sink);
}
