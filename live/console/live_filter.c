#include "live/console/live_filter.h"

#include <stdlib.h>
#include <string.h>

static const char always_name[] = "TV::dlopen_always_recalculate";
static const char match_name[] = "TV::dlopen_recalculate_on_match";

struct tg_live_filter {
    struct tg_console_settings *settings;
    struct tg_live_job *job;
};

struct order {
    struct tg_live_job *job;
    const struct tg_dlopen_filter *filter;
    struct tg_error *error;
};

static void carry_out(struct tg_live_engine *engine, void *context)
{
    struct order *order = context;
    int status;
    if (tg_live_job_has_ended(order->job, &status))
        return; /* there is nothing to filter, and no trace to tell it to */
    order->error = tg_loader_set_filter(tg_live_engine_loader(engine), order->filter);
}

static struct tg_error *set(const struct tg_live_filter *live, bool always, const char *match)
{
    struct tg_dlopen_filter filter;
    struct order order = {.job = live->job, .filter = &filter};
    struct tg_error *error = tg_dlopen_filter_init(&filter);
    if (error != NULL)
        return error;
    error = tg_dlopen_filter_set(&filter, always, match);
    if (error == NULL) {
        tg_live_job_call(live->job, carry_out, &order);
        error = order.error;
    }
    tg_dlopen_filter_deinit(&filter);
    return error;
}

static struct tg_error *always_changes(void *context, const char *value)
{
    const struct tg_live_filter *live = context;
    return set(live, strcmp(value, "true") == 0, tg_console_settings_text(live->settings, match_name));
}

static struct tg_error *match_changes(void *context, const char *value)
{
    const struct tg_live_filter *live = context;
    return set(live, tg_console_settings_bool(live->settings, always_name), value);
}

/* A filter that is initialised becomes the one in force. */
static void ask(struct tg_live_engine *engine, void *context)
{
    struct tg_dlopen_filter *filter = context;
    struct tg_dlopen_filter copy;
    struct tg_error *error = tg_dlopen_filter_copy(tg_loader_filter(tg_live_engine_loader(engine)), &copy);
    if (error == NULL) {
        tg_dlopen_filter_deinit(filter);
        *filter = copy;
    }
    tg_error_destroy(error);
}

static struct tg_error *show_present(struct tg_console_settings *settings, struct tg_live_job *job)
{
    struct tg_dlopen_filter filter;
    struct tg_error *error = tg_dlopen_filter_init(&filter);
    if (error != NULL)
        return error;
    tg_live_job_call(job, ask, &filter);
    error = tg_console_settings_set(settings, always_name, filter.mode == TG_FILTER_SLOW ? "true" : "false");
    if (error == NULL)
        error = tg_console_settings_set(settings, match_name, tg_glob_list_text(filter.list));
    tg_dlopen_filter_deinit(&filter);
    return error;
}

struct tg_error *tg_live_filter_create(struct tg_console_settings *settings, struct tg_live_job *job,
                                       struct tg_live_filter **live)
{
    struct tg_live_filter *made = malloc(sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    *made = (struct tg_live_filter){.settings = settings, .job = job};
    struct tg_error *error = show_present(settings, job);
    if (error != NULL) {
        free(made);
        return error;
    }
    tg_console_settings_watch(settings, always_name, always_changes, made);
    tg_console_settings_watch(settings, match_name, match_changes, made);
    *live = made;
    return NULL;
}

struct tg_error *tg_live_filter_apply(struct tg_live_filter *live)
{
    struct tg_dlopen_filter filter;
    bool always = tg_console_settings_bool(live->settings, always_name);
    const char *match = tg_console_settings_text(live->settings, match_name);
    struct tg_error *error = tg_dlopen_filter_init(&filter);
    if (error != NULL)
        return error;
    tg_live_job_call(live->job, ask, &filter);
    bool is_so =
        (filter.mode == TG_FILTER_SLOW) == always && strcmp(tg_glob_list_text(filter.list), match) == 0;
    tg_dlopen_filter_deinit(&filter);
    return is_so ? NULL : set(live, always, match);
}

void tg_live_filter_destroy(struct tg_live_filter *live)
{
    if (live == NULL)
        return;
    tg_console_settings_watch(live->settings, always_name, NULL, NULL);
    tg_console_settings_watch(live->settings, match_name, NULL, NULL);
    free(live);
}
