#include "live/commands/control/point_spec.h"

#include "live/commands/control/line_function.h"
#include "live/commands/control/point_location.h"
#include "live/commands/control/thread_place.h"

#include <stdlib.h>

/* A program that a location is looked up in. */
struct looked_in {
    const struct tg_request *control;
    int32_t pid;       /* process that runs it; 0: any will do */
    bool is_elsewhere; /* what was looked for is in another */
};

static char *file_of(void *context, const char *spec)
{
    struct looked_in *in = context;
    char *file = in->pid == 0 ? NULL : tg_engine_adapter_file_of(in->control->engine, in->pid, spec);
    if (file != NULL)
        return file;
    file = tg_engine_adapter_file_of(in->control->engine, 0, spec);
    in->is_elsewhere = in->is_elsewhere || file != NULL;
    return file;
}

static bool has_member(const struct tg_request *control, const struct tg_job_process *process)
{
    bool has = false;
    for (size_t i = 0; !has && i < process->n_threads; i++)
        has = tg_job_set_has(control->set, process, i);
    return has;
}

/* Whether process P of the view is the first of its program among those in focus. */
static bool is_of_another_program(const struct tg_request *control, size_t p)
{
    const struct tg_job_process *process = tg_job_view_at(control->view, p);
    bool is_first = process->info.exists && has_member(control, process);
    for (size_t i = 0; is_first && i < p; i++) {
        const struct tg_job_process *before = tg_job_view_at(control->view, i);
        is_first = before->info.share_group != process->info.share_group || !has_member(control, before);
    }
    return is_first;
}

/* *SPEC stays NULL where only another program has what LOCATION names. */
static struct tg_error *find_in(struct looked_in *in, const char *location, char **spec)
{
    const struct tg_location_code code = {file_of, in};
    char *function = NULL, *file = tg_thread_place_file(in->control);
    struct tg_error *error = tg_location_parse(location, file, &code, spec, &function);
    bool is_elsewhere = in->pid != 0 && in->is_elsewhere;
    if (error == NULL && function != NULL && !is_elsewhere)
        error = tg_line_function_check(in->control, in->pid, *spec, function);
    if (error != NULL || is_elsewhere) {
        free(*spec);
        *spec = NULL;
    }
    free(function);
    free(file);
    return error;
}

struct tg_error *tg_point_spec_find(const struct tg_request *control, const char *location, char **spec)
{
    struct tg_error *first = NULL;
    *spec = NULL;
    for (size_t p = 0; *spec == NULL && p < tg_job_view_count(control->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(control->view, p);
        struct looked_in in = {control, (int32_t)process->info.tag, false};
        struct tg_error *error = is_of_another_program(control, p) ? find_in(&in, location, spec) : NULL;
        if (first == NULL)
            first = error;
        else
            tg_error_destroy(error);
    }
    struct looked_in anywhere = {control, 0, false};
    if (*spec == NULL)
        return first != NULL ? first : find_in(&anywhere, location, spec);
    tg_error_destroy(first);
    return NULL;
}
