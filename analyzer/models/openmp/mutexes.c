#include "analyzer/models/openmp/mutexes.h"

/* Whether one thread at a time is inside, and no more often than once. */
static bool is_exclusive(uint64_t mutex)
{
    return mutex != TG_OMP_MUTEX_ORDERED && mutex != TG_OMP_MUTEX_NEST_LOCK;
}

static size_t find_lock(const struct tg_openmp_worker_entry *worker, uint64_t mutex, uint64_t lock)
{
    for (size_t i = worker->public.n_places; i-- > 0;) {
        const struct tg_openmp_place *place = &worker->places[i];
        if (place->kind == TG_OPENMP_IN_MUTEX && place->what == mutex && place->id == lock)
            return i;
    }
    return SIZE_MAX;
}

/* WORKER is inside of what another one was inside of: that one has left it, which was not told, or is told
 * later. */
static struct tg_error *take_over(struct tg_openmp_model *model, const struct tg_openmp_worker_entry *worker,
                                  const struct tg_event *event)
{
    const struct tg_event_omp_mutex_enter *got = &event->omp_mutex_enter;
    size_t former;
    if (!is_exclusive(got->mutex))
        return NULL;
    struct tg_error *error = tg_openmp_locks_enter(&model->locks, worker->public.process, got->mutex,
                                                   got->lock, worker->public.index, &former);
    if (error != NULL || former == SIZE_MAX || former == worker->public.index)
        return error;
    struct tg_openmp_worker_entry *holder = model->workers.items[former];
    size_t at = find_lock(holder, got->mutex, got->lock);
    if (at == SIZE_MAX)
        return NULL;
    holder->late_leaves++;
    return tg_openmp_leave_only(model, holder, at, event->time_ns);
}

/* Nobody can be told to wait here: the program may do something else until it tests the lock again. */
void tg_openmp_mutex_test(struct tg_openmp_worker *worker, const struct tg_event *event)
{
    const struct tg_event_omp_mutex_test *test = &event->omp_mutex_test;
    struct tg_openmp_tests *tests = &worker->tests;
    bool goes_on = tests->count > 0 && tests->count < test->tests && tests->place.what == test->mutex &&
                   tests->place.id == test->lock && tests->place.team == test->team;
    if (!goes_on)
        tg_openmp_place_fill(&tests->place, event, TG_OPENMP_IN_MUTEX_WAIT, test->mutex, test->lock);
    tests->count = test->tests;
    tests->last_ns = event->time_ns;
}

struct tg_error *tg_openmp_mutex_enter(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                       const struct tg_event *event)
{
    const struct tg_event_omp_mutex_enter *got = &event->omp_mutex_enter;
    size_t at = tg_openmp_find_place(worker, TG_OPENMP_IN_MUTEX_WAIT, got->mutex, got->lock);
    struct tg_error *error = NULL;
    if (worker->public.tests.place.id == got->lock)
        worker->public.tests.count = 0;
    if (at != SIZE_MAX) /* a lock that was free may be got without waiting */
        error = tg_openmp_leave_down_to(model, worker, at, event->time_ns);
    if (error == NULL)
        error = take_over(model, worker, event);
    return error != NULL ? error
                         : tg_openmp_enter(model, worker, event, TG_OPENMP_IN_MUTEX, got->mutex, got->lock);
}

/* Locks need not be given back in the order in which they were taken. */
struct tg_error *tg_openmp_mutex_leave(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                       const struct tg_event *event)
{
    const struct tg_event_omp_mutex_leave *gone = &event->omp_mutex_leave;
    size_t at = find_lock(worker, gone->mutex, gone->lock);
    if (is_exclusive(gone->mutex))
        tg_openmp_locks_leave(&model->locks, worker->public.process, gone->mutex, gone->lock,
                              worker->public.index);
    if (at != SIZE_MAX)
        return tg_openmp_leave_only(model, worker, at, event->time_ns);
    if (worker->late_leaves > 0)
        worker->late_leaves--;
    else
        tg_openmp_count_impossible(model, event, "a thread releases a lock it does not hold");
    return NULL;
}

struct tg_error *tg_openmp_mutex_wait(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                      const struct tg_event *event)
{
    return tg_openmp_enter(model, worker, event, TG_OPENMP_IN_MUTEX_WAIT, event->omp_mutex_wait.mutex,
                           event->omp_mutex_wait.lock);
}
