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

/* The place that EVENT, which has a struct tg_omp_place in front, says that its thread is inside of now. */
static inline struct tg_openmp_place
tg_openmp_place_of(const struct tg_event *event, enum tg_openmp_place_kind kind, uint64_t what, uint64_t id)
{
    const struct tg_omp_place *place = (const struct tg_omp_place *)TG_EVENT_PAYLOAD(event);
    return (struct tg_openmp_place){
        .kind = kind,
        .what = what,
        .team = place->team,
        .thread_num = place->thread_num,
        .level = place->level,
        .id = id,
        .code = place->code,
        .seen = place->seen,
        .since_ns = event->time_ns,
    };
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

/* WORKER is inside of PLACE from now on; too deep a one is counted as impossible. */
struct tg_error *tg_openmp_enter(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                 const struct tg_event *event, const struct tg_openmp_place *place);
/* Leaves the innermost place. */
struct tg_error *tg_openmp_leave_top(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                     uint64_t time_ns);
/* Takes the place at index AT out, from wherever it is. */
struct tg_error *tg_openmp_leave_only(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                      size_t at, uint64_t time_ns);
/* Leaves what is above the outermost N_PLACES. */
struct tg_error *tg_openmp_leave_down_to(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                         size_t n_places, uint64_t time_ns);
/* Leaves the place at index AT, and all places inside of it that were not left before: a zone's end may go unseen.
 * AT is SIZE_MAX where there is no such place; EVENT, which says that it was left, is then counted as impossible. */
struct tg_error *tg_openmp_leave(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                 const struct tg_event *event, size_t at);

#endif
