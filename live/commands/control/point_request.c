#include "live/commands/control/point_request.h"

#include "live/console/settings.h"
#include "live/inspect/expression/condition.h"

#include <inttypes.h>
#include <stdio.h>

/* -1: there is none. */
static int64_t lowest_rank(const struct tg_job_view *view)
{
    int64_t lowest = -1;
    for (size_t i = 0; i < tg_job_view_count(view); i++) {
        const struct tg_job_process_info *info = &tg_job_view_at(view, i)->info;
        if (info->exists && info->rank >= 0 && (lowest < 0 || info->rank < lowest))
            lowest = info->rank;
    }
    return lowest;
}

struct tg_error *tg_point_request_focus(const struct tg_request *control, struct tg_ptset **made,
                                        const struct tg_ptset **focus)
{
    struct tg_ptset *written = NULL;
    char text[32];
    *made = NULL;
    *focus = control->focus;
    if (*focus != NULL)
        return NULL;
    int64_t rank = lowest_rank(control->view);
    snprintf(text, sizeof text, rank < 0 ? "a" : "ar%" PRId64 ".<", rank);
    struct tg_error *error = tg_ptset_parse(text, &written, NULL);
    if (error == NULL)
        error = tg_ptset_complete(written, NULL, made, NULL);
    tg_ptset_destroy(written);
    *focus = *made;
    return error;
}

struct tg_error *tg_point_request_condition(const char *text, size_t *position)
{
    struct tg_condition *condition = NULL;
    size_t at = SIZE_MAX;
    struct tg_error *error = tg_condition_create(text, &condition, &at);
    tg_condition_destroy(condition);
    *position = error == NULL ? SIZE_MAX : at;
    return error;
}

struct tg_error *tg_point_request_default(const struct tg_console *console, const char *name,
                                          enum tg_barrier_stop *stop)
{
    return tg_action_point_parse_stop(name, tg_console_settings_text(console->settings, name), stop);
}
