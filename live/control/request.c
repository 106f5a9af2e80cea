#include "live/control/request.h"

#include "analyzer/job/hit.h"

static struct tg_error *take_all(const struct tg_job_view *view, struct tg_job_set *set)
{
    struct tg_error *error = tg_job_set_init(set, view);
    for (size_t p = 0; error == NULL && p < tg_job_view_count(view); p++) {
        const struct tg_job_process *process = tg_job_view_at(view, p);
        for (size_t i = 0; i < process->n_threads || i == 0; i++)
            tg_job_set_add(set, process, i);
    }
    return error;
}

static bool is_same_code(void *context, const struct tg_job_process *a, uint64_t a_pc,
                         const struct tg_job_process *b, uint64_t b_pc)
{
    const struct tg_modules *of_a = tg_engine_adapter_modules_of(context, (int32_t)a->info.tag),
                            *of_b = tg_engine_adapter_modules_of(context, (int32_t)b->info.tag);
    return of_a == NULL || of_b == NULL ? a_pc == b_pc : tg_modules_is_same_code(of_a, a_pc, of_b, b_pc);
}

/* The view, which is made anew only where something has changed, and the set over it. */
static struct tg_error *evaluate(struct tg_request *request, struct tg_job_set *set)
{
    struct tg_job_view *view = NULL;
    struct tg_error *error = tg_controller_latest_view(request->controller, &view);
    if (error != NULL)
        return error;
    tg_job_view_tell_code(view, is_same_code, request->engine);
    request->view = view;
    request->set = set;
    if (request->about == TG_REQUEST_EVERYBODY)
        return take_all(view, set);
    error = tg_ptset_members(request->focus, view, request->defaults, set, &request->position);
    request->has_followed = error == NULL && request->follows_hits && tg_job_hit_follow(view, set);
    return error;
}

void tg_request_serve(struct tg_request *request, struct tg_engine_adapter *engine)
{
    TG_AUTO_JOB_SET struct tg_job_set set = {0};
    request->engine = engine;
    request->controller = tg_engine_adapter_controller(engine);
    request->position = SIZE_MAX;
    request->error = request->about == TG_REQUEST_NOBODY ? NULL : evaluate(request, &set);
    if (request->error != NULL)
        return;
    request->position = SIZE_MAX;
    request->error = request->work(request);
}
