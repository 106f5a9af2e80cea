#include "live/commands/control/job_settings.h"

#include "live/control/traced_job.h"

#include <stdlib.h>
#include <string.h>

static const char always_name[] = "TV::dlopen_always_recalculate";
static const char match_name[] = "TV::dlopen_recalculate_on_match";
static const char managers_name[] = "manager_libraries";

struct job_settings {
    struct tg_console_settings *settings;
    struct tg_traced_job *job;
};

struct order {
    struct tg_traced_job *job;
    const struct tg_dlopen_filter *filter;
};

static struct tg_error *carry_out(const struct tg_request *request)
{
    const struct order *order = request->context;
    int status;
    if (tg_traced_job_has_ended(order->job, &status))
        return NULL; /* there is nothing to filter, and no trace to tell it to */
    return tg_loader_set_filter(tg_engine_adapter_loader(request->engine), order->filter);
}

static struct tg_error *set(const struct job_settings *live, bool always, const char *match)
{
    struct tg_dlopen_filter filter;
    struct order order = {.job = live->job, .filter = &filter};
    struct tg_error *error = tg_dlopen_filter_init(&filter);
    if (error != NULL)
        return error;
    error = tg_dlopen_filter_set(&filter, always, match);
    if (error == NULL)
        error = tg_traced_job_call(live->job, carry_out, &order);
    tg_dlopen_filter_deinit(&filter);
    return error;
}

static struct tg_error *always_changes(void *context, const char *value)
{
    const struct job_settings *live = context;
    return set(live, strcmp(value, "true") == 0, tg_console_settings_text(live->settings, match_name));
}

static struct tg_error *match_changes(void *context, const char *value)
{
    const struct job_settings *live = context;
    return set(live, tg_console_settings_bool(live->settings, always_name), value);
}

/* A filter that is initialised becomes the one in force. */
static struct tg_error *ask(const struct tg_request *request)
{
    struct tg_dlopen_filter *filter = request->context;
    struct tg_dlopen_filter copy;
    struct tg_error *error =
        tg_dlopen_filter_copy(tg_loader_filter(tg_engine_adapter_loader(request->engine)), &copy);
    if (error != NULL)
        return error;
    tg_dlopen_filter_deinit(filter);
    *filter = copy;
    return NULL;
}

static struct tg_error *show_present(struct tg_console_settings *settings, struct tg_traced_job *job)
{
    struct tg_dlopen_filter filter;
    struct tg_error *error = tg_dlopen_filter_init(&filter);
    if (error != NULL)
        return error;
    error = tg_traced_job_call(job, ask, &filter);
    if (error == NULL)
        error =
            tg_console_settings_set(settings, always_name, filter.mode == TG_FILTER_SLOW ? "true" : "false");
    if (error == NULL)
        error = tg_console_settings_set(settings, match_name, tg_glob_list_text(filter.list));
    tg_dlopen_filter_deinit(&filter);
    return error;
}

/* ---- threads of the MPI library */

static struct tg_error *change_managers(const struct tg_request *request)
{
    return tg_engine_adapter_set_managers(request->engine, request->context);
}

static struct tg_error *managers_change(void *context, const char *value)
{
    const struct job_settings *live = context;
    return tg_traced_job_call(live->job, change_managers, (void *)(uintptr_t)value);
}

/* ---- life */

static struct tg_error *create(struct tg_console *console, void **state)
{
    struct tg_traced_job *job = console->options.live;
    struct job_settings *made = malloc(sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    *made = (struct job_settings){.settings = console->settings, .job = job};
    struct tg_error *error = show_present(made->settings, job);
    if (error != NULL) {
        free(made);
        return error;
    }
    tg_console_settings_watch(made->settings, always_name, always_changes, made);
    tg_console_settings_watch(made->settings, match_name, match_changes, made);
    tg_console_settings_watch(made->settings, managers_name, managers_change, made);
    *state = made;
    return NULL;
}

static void destroy(void *state)
{
    struct job_settings *live = state;
    static const char *const names[] = {always_name, match_name, managers_name};
    for (size_t i = 0; live != NULL && i < sizeof names / sizeof names[0]; i++)
        tg_console_settings_watch(live->settings, names[i], NULL, NULL);
    free(live);
}

const struct tg_console_state_kind tg_job_settings_kind = {
    .is_live = true, .create = create, .destroy = destroy};

struct tg_error *tg_job_settings_apply(struct tg_console *console)
{
    const struct job_settings *live = tg_console_state(console, &tg_job_settings_kind);
    struct tg_dlopen_filter filter;
    bool always = tg_console_settings_bool(live->settings, always_name);
    const char *match = tg_console_settings_text(live->settings, match_name);
    struct tg_error *error = tg_dlopen_filter_init(&filter);
    if (error != NULL)
        return error;
    error = tg_traced_job_call(live->job, ask, &filter);
    bool is_so = error == NULL && (filter.mode == TG_FILTER_SLOW) == always &&
                 strcmp(tg_glob_list_text(filter.list), match) == 0;
    tg_dlopen_filter_deinit(&filter);
    return is_so || error != NULL ? error : set(live, always, match);
}
