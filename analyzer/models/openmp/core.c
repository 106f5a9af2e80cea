#include "analyzer/models/openmp/core.h"

#include <string.h>

void tg_openmp_count_impossible(struct tg_openmp_model *model, const struct tg_event *event, const char *what)
{
    if (model->impossible++ > 0)
        return;
    model->impossible_ns = event->time_ns;
    model->impossible_what = what;
}

struct tg_error *tg_openmp_enter(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                 const struct tg_event *event, const struct tg_openmp_place *place)
{
    if (worker->public.n_places == TG_OPENMP_MAX_PLACES) {
        tg_openmp_count_impossible(model, event, "zones are nested too deeply");
        return NULL;
    }
    if (model->options.entered != NULL) {
        struct tg_error *error = model->options.entered(model->options.context, &worker->public, place);
        if (error != NULL)
            return error;
    }
    return tg_openmp_worker_push(worker, place);
}

/* Threads that have left a region stay at its end until the next one, which says nothing of the job. */
static void count_wait(struct tg_openmp_model *model, const struct tg_openmp_place *place, uint64_t time_ns)
{
    bool is_idle = place->what == TG_OMP_SYNC_BARRIER_JOIN && place->thread_num != 0;
    if (place->kind == TG_OPENMP_IN_MUTEX_WAIT || (place->kind == TG_OPENMP_IN_SYNC && !is_idle))
        tg_wait_times_add(&model->waits, place->since_ns, time_ns);
}

/* PLACE, which is no more among those that WORKER is inside of, is left. */
static struct tg_error *leave_place(struct tg_openmp_model *model,
                                    const struct tg_openmp_worker_entry *worker,
                                    struct tg_openmp_place *place, uint64_t time_ns)
{
    count_wait(model, place, time_ns);
    if (model->options.left == NULL)
        return NULL;
    place->is_suspended = model->is_suspending;
    return model->options.left(model->options.context, &worker->public, place, time_ns);
}

struct tg_error *tg_openmp_leave_top(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                     uint64_t time_ns)
{
    return leave_place(model, worker, &worker->places[--worker->public.n_places], time_ns);
}

struct tg_error *tg_openmp_leave_only(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                      size_t at, uint64_t time_ns)
{
    if (at == worker->public.n_places - 1)
        return tg_openmp_leave_top(model, worker, time_ns);
    struct tg_openmp_place place = worker->places[at];
    worker->public.n_places--;
    memmove(&worker->places[at], &worker->places[at + 1],
            (worker->public.n_places - at) * sizeof *worker->places);
    return leave_place(model, worker, &place, time_ns);
}

/* A lock stays with whoever has it, whatever that leaves; everything else is left with what it lies in. */
static bool is_kept(const struct tg_openmp_place *place)
{
    return place->kind == TG_OPENMP_IN_MUTEX &&
           (place->what == TG_OMP_MUTEX_LOCK || place->what == TG_OMP_MUTEX_NEST_LOCK);
}

struct tg_error *tg_openmp_leave_down_to(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                         size_t n_places, uint64_t time_ns)
{
    struct tg_error *error = NULL;
    for (size_t i = worker->public.n_places; error == NULL && i-- > n_places;)
        if (model->is_suspending || !is_kept(&worker->places[i]))
            error = tg_openmp_leave_only(model, worker, i, time_ns);
    return error;
}

struct tg_error *tg_openmp_leave(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                 const struct tg_event *event, size_t at)
{
    if (at == SIZE_MAX) {
        tg_openmp_count_impossible(model, event, "a thread leaves a zone it has not entered");
        return NULL;
    }
    return tg_openmp_leave_down_to(model, worker, at, event->time_ns);
}
