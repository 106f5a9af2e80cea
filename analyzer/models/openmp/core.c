#include "analyzer/models/openmp/core.h"

#include <string.h>

void tg_openmp_count_impossible(struct tg_openmp_model *model, const struct tg_event *event, const char *what)
{
    if (model->impossible++ > 0)
        return;
    model->impossible_ns = event->time_ns;
    model->impossible_what = what;
}

struct tg_error *tg_openmp_leave_inner(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                       size_t at, uint64_t time_ns)
{
    struct tg_openmp_place place = worker->places[at];
    worker->public.n_places--;
    memmove(&worker->places[at], &worker->places[at + 1],
            (worker->public.n_places - at) * sizeof *worker->places);
    return tg_openmp_leave_place(model, worker, &place, time_ns);
}

struct tg_error *tg_openmp_leave_down_to(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                         size_t n_places, uint64_t time_ns)
{
    struct tg_error *error = NULL;
    for (size_t i = worker->public.n_places; error == NULL && i-- > n_places;)
        if (model->is_suspending || !tg_openmp_place_is_kept(&worker->places[i]))
            error = tg_openmp_leave_only(model, worker, i, time_ns);
    return error;
}
