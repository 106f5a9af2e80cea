/* What the files of the OpenMP model share: its state, and the ways into and out of the places of a worker. Internal to
 * the OpenMP model. */
#ifndef TG_ANALYZER_MODELS_OPENMP_CORE_H
#define TG_ANALYZER_MODELS_OPENMP_CORE_H

#include "analyzer/models/openmp/locks.h"
#include "analyzer/models/openmp/state.h"
#include "analyzer/models/openmp/tasks.h"
#include "analyzer/models/openmp/teams.h"
#include "analyzer/models/openmp/workers.h"
#include "analyzer/models/wait_times.h"
#include "format/base/error.h"
#include "format/event/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tg_openmp_model {
    struct tg_openmp_model_options options;
    struct tg_openmp_workers workers;
    struct tg_openmp_teams teams;
    struct tg_openmp_tasks tasks;
    struct tg_openmp_locks locks;
    bool is_suspending; /* what is left is left for a while */
    uint64_t impossible;
    uint64_t impossible_ns;
    const char *impossible_what;
    struct tg_wait_times waits;
};

/* EVENT cannot be: WHAT (static) says why. */
void tg_openmp_count_impossible(struct tg_openmp_model *model, const struct tg_event *event,
                                const char *what);

/* Makes *PLACE the one that EVENT, which has a struct tg_omp_place in front, says that its thread is inside of now. Member by
 * member: a struct that is put together elsewhere and copied has the processor wait. */
static inline void tg_openmp_place_fill(struct tg_openmp_place *place, const struct tg_event *event,
                                        enum tg_openmp_place_kind kind, uint64_t what, uint64_t id)
{
    const struct tg_omp_place *at = (const struct tg_omp_place *)TG_EVENT_PAYLOAD(event);
    place->kind = kind;
    place->what = what;
    place->team = at->team;
    place->thread_num = at->thread_num;
    place->level = at->level;
    place->id = id;
    place->section = 0;
    place->schedule = 0;
    place->code = at->code;
    place->seen = at->seen;
    place->since_ns = event->time_ns;
    place->before_ns = 0;
    place->is_continued = false;
    place->is_suspended = false;
}

/* The wait at the end of a region. */
static inline bool tg_openmp_place_is_join(const struct tg_openmp_place *place)
{
    return place->kind == TG_OPENMP_IN_SYNC && place->what == TG_OMP_SYNC_BARRIER_JOIN;
}

/* Index of the innermost place of KIND, WHAT and, unless it is 0, ID; SIZE_MAX where there is none within the innermost
 * region. */
static inline size_t tg_openmp_find_place(const struct tg_openmp_worker_entry *worker,
                                          enum tg_openmp_place_kind kind, uint64_t what, uint64_t id)
{
    for (size_t i = worker->public.n_places; i-- > 0;) {
        const struct tg_openmp_place *place = &worker->places[i];
        if (place->kind == kind && place->what == what && (id == 0 || place->id == id))
            return i;
        if (place->kind == TG_OPENMP_IN_REGION)
            break;
    }
    return SIZE_MAX;
}

/* All of these return NO_MEMORY, and errors of the options' callbacks. */

/* Room for the place that WORKER comes into by EVENT; *PLACE is NULL where that is too deep, which is counted as impossible. */
static inline struct tg_error *tg_openmp_make_place(struct tg_openmp_model *model,
                                                    struct tg_openmp_worker_entry *worker,
                                                    const struct tg_event *event,
                                                    struct tg_openmp_place **place)
{
    size_t depth = worker->public.n_places;
    struct tg_error *error = NULL;
    *place = NULL;
    if (__builtin_expect(depth == TG_OPENMP_MAX_PLACES, 0)) {
        tg_openmp_count_impossible(model, event, "zones are nested too deeply");
        return NULL;
    }
    if (__builtin_expect(depth >= worker->capacity, 0))
        error = tg_openmp_worker_make_room(worker);
    if (error == NULL)
        *place = &worker->places[depth];
    return error;
}

/* WORKER is inside of the place that was made, and filled, from now on. */
static inline struct tg_error *tg_openmp_enter_made(struct tg_openmp_model *model,
                                                    struct tg_openmp_worker_entry *worker)
{
    struct tg_error *error = NULL;
    if (model->options.entered != NULL)
        error = model->options.entered(model->options.context, &worker->public,
                                       &worker->places[worker->public.n_places]);
    worker->public.n_places += error == NULL;
    return error;
}

/* WORKER is inside of the place that EVENT tells (tg_openmp_place_fill) from now on; too deep a one is counted as impossible. */
static inline struct tg_error *tg_openmp_enter(struct tg_openmp_model *model,
                                               struct tg_openmp_worker_entry *worker,
                                               const struct tg_event *event, enum tg_openmp_place_kind kind,
                                               uint64_t what, uint64_t id)
{
    struct tg_openmp_place *place;
    struct tg_error *error = tg_openmp_make_place(model, worker, event, &place);
    if (place == NULL)
        return error;
    tg_openmp_place_fill(place, event, kind, what, id);
    return tg_openmp_enter_made(model, worker);
}

/* PLACE, which is no more among those that WORKER is inside of, is left. Threads that have left a region stay at its end until
 * the next one, which says nothing of the job's waits. */
static inline struct tg_error *tg_openmp_leave_place(struct tg_openmp_model *model,
                                                     const struct tg_openmp_worker_entry *worker,
                                                     struct tg_openmp_place *place, uint64_t time_ns)
{
    bool is_idle = place->what == TG_OMP_SYNC_BARRIER_JOIN && place->thread_num != 0;
    if (place->kind == TG_OPENMP_IN_MUTEX_WAIT || (place->kind == TG_OPENMP_IN_SYNC && !is_idle))
        tg_wait_times_add(&model->waits, place->since_ns, time_ns);
    if (model->options.left == NULL)
        return NULL;
    place->is_suspended = model->is_suspending;
    return model->options.left(model->options.context, &worker->public, place, time_ns);
}

/* Leaves the innermost place. */
static inline struct tg_error *tg_openmp_leave_top(struct tg_openmp_model *model,
                                                   struct tg_openmp_worker_entry *worker, uint64_t time_ns)
{
    return tg_openmp_leave_place(model, worker, &worker->places[--worker->public.n_places], time_ns);
}
/* Takes the place at index AT out, from wherever it is. */
struct tg_error *tg_openmp_leave_inner(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                       size_t at, uint64_t time_ns);
static inline struct tg_error *tg_openmp_leave_only(struct tg_openmp_model *model,
                                                    struct tg_openmp_worker_entry *worker, size_t at,
                                                    uint64_t time_ns)
{
    return at == worker->public.n_places - 1 ? tg_openmp_leave_top(model, worker, time_ns)
                                             : tg_openmp_leave_inner(model, worker, at, time_ns);
}

/* A lock stays with whoever has it, whatever that leaves; everything else is left with what it lies in. */
static inline bool tg_openmp_place_is_kept(const struct tg_openmp_place *place)
{
    return place->kind == TG_OPENMP_IN_MUTEX &&
           (place->what == TG_OMP_MUTEX_LOCK || place->what == TG_OMP_MUTEX_NEST_LOCK);
}

/* Leaves what is above the outermost N_PLACES. */
struct tg_error *tg_openmp_leave_down_to(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                         size_t n_places, uint64_t time_ns);
/* Leaves the place at index AT, and all places inside of it that were not left before: a zone's end may go unseen.
 * AT is SIZE_MAX where there is no such place; EVENT, which says that it was left, is then counted as impossible. */
static inline struct tg_error *tg_openmp_leave(struct tg_openmp_model *model,
                                               struct tg_openmp_worker_entry *worker,
                                               const struct tg_event *event, size_t at)
{
    if (at == SIZE_MAX) {
        tg_openmp_count_impossible(model, event, "a thread leaves a zone it has not entered");
        return NULL;
    }
    if (at == worker->public.n_places - 1 && !tg_openmp_place_is_kept(&worker->places[at]))
        return tg_openmp_leave_top(model, worker, event->time_ns);
    return tg_openmp_leave_down_to(model, worker, at, event->time_ns);
}

/* What takes an event of WORKER. */
typedef struct tg_error *tg_openmp_take(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                        const struct tg_event *event);

#endif
