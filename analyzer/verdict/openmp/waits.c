#include "analyzer/verdict/openmp/waits.h"

#include "analyzer/models/openmp/barrier.h"
#include "analyzer/verdict/openmp/executors.h"
#include "format/base/array.h"
#include "format/base/search.h"

#include <stdlib.h>
#include <string.h>

const struct tg_openmp_place *tg_openmp_waits_place(const struct tg_openmp_worker *worker)
{
    return worker->n_places == 0 ? NULL : &worker->places[worker->n_places - 1];
}

const struct tg_openmp_place *tg_openmp_waits_at(const struct tg_openmp_worker *worker,
                                                 enum tg_openmp_place_kind kind)
{
    const struct tg_openmp_place *place = tg_openmp_waits_place(worker);
    return place != NULL && place->kind == kind ? place : NULL;
}

bool tg_openmp_waits_in(const struct tg_openmp_worker *worker, uint64_t team, enum tg_omp_sync sync)
{
    const struct tg_openmp_place *place = tg_openmp_waits_at(worker, TG_OPENMP_IN_SYNC);
    return place != NULL && place->what == sync && place->team == team;
}

const struct tg_openmp_place *tg_openmp_waits_for_tasks(const struct tg_openmp_worker *worker)
{
    const struct tg_openmp_place *place = tg_openmp_waits_at(worker, TG_OPENMP_IN_SYNC);
    if (place != NULL)
        return place->what == TG_OMP_SYNC_TASKWAIT || place->what == TG_OMP_SYNC_TASKGROUP ? place : NULL;
    place = worker->n_places == 0 ? NULL : &worker->places[worker->n_places - 1];
    bool is_taskloop =
        place != NULL && place->kind == TG_OPENMP_IN_ZONE && place->what == TG_OMP_ZONE_TASKLOOP;
    return is_taskloop ? place : NULL;
}

enum {
    POLL_NS = 100000000,    /* the longest time between tests in a loop, on average */
    RECENT_NS = 1000000000, /* since the last test: they are told some ten times a second */
};

/* Whether WORKER does nothing but test a lock, for all that can be seen. */
static bool polls(const struct tg_openmp_waits *waits, const struct tg_openmp_worker *worker)
{
    const struct tg_openmp_tests *tests = &worker->tests;
    const struct tg_openmp_place *place = tg_openmp_waits_place(worker);
    uint64_t lasted_ns = tests->last_ns - tests->place.since_ns;
    return tests->count > 1 && lasted_ns / tests->count <= POLL_NS && worker->last_ns < tests->last_ns &&
           (place == NULL || place->kind != TG_OPENMP_IN_SYNC) &&
           tg_stillness_lasted(waits->stillness, worker->process, tests->last_ns) <= RECENT_NS;
}

const struct tg_openmp_place *tg_openmp_waits_lock(const struct tg_openmp_waits *waits,
                                                   const struct tg_openmp_worker *worker)
{
    const struct tg_openmp_place *place = tg_openmp_waits_at(worker, TG_OPENMP_IN_MUTEX_WAIT);
    return place == NULL && polls(waits, worker) ? &worker->tests.place : place;
}

bool tg_openmp_waits_same_lock(const struct tg_openmp_worker *worker, const struct tg_openmp_place *place,
                               const struct tg_openmp_worker *other, const struct tg_openmp_place *others)
{
    bool is_of_team = place->what == TG_OMP_MUTEX_ORDERED; /* one for each loop */
    return worker->process == other->process && place->what == others->what && place->id == others->id &&
           (!is_of_team || place->team == others->team);
}

/* Among COUNT PLACES of WORKER the lock that WAITER waits for at WAIT. */
static const struct tg_openmp_place *find_lock(const struct tg_openmp_worker *waiter,
                                               const struct tg_openmp_place *wait,
                                               const struct tg_openmp_worker *worker,
                                               const struct tg_openmp_place *places, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (places[i].kind == TG_OPENMP_IN_MUTEX &&
            tg_openmp_waits_same_lock(waiter, wait, worker, &places[i]))
            return &places[i];
    return NULL;
}

const struct tg_openmp_worker **tg_openmp_waits_workers(const struct tg_openmp_waits *waits, size_t process,
                                                        size_t *count)
{
    size_t first = TG_PARTITION_POINT(waits->n_workers, i, waits->workers[i]->process < process);
    *count = 0;
    while (first + *count < waits->n_workers && waits->workers[first + *count]->process == process)
        ++*count;
    return waits->workers + first;
}

/* A suspended task that is inside of a lock, and who ran it. */
struct search {
    const struct tg_openmp_waits *waits;
    const struct tg_openmp_worker *waiter, *holder;
    const struct tg_openmp_place *wait, *place;
};

static struct tg_error *look_at_task(void *context, const struct tg_openmp_task *task)
{
    struct search *search = context;
    if (search->holder != NULL || task->process != search->waiter->process || task->runner == SIZE_MAX)
        return NULL;
    const struct tg_openmp_worker *runner = tg_openmp_model_worker_at(search->waits->model, task->runner);
    search->place = find_lock(search->waiter, search->wait, runner, task->places, task->n_places);
    if (search->place != NULL)
        search->holder = runner;
    return NULL;
}

const struct tg_openmp_worker *tg_openmp_waits_holder(const struct tg_openmp_waits *waits,
                                                      const struct tg_openmp_worker *waiter,
                                                      const struct tg_openmp_place **place)
{
    size_t count;
    const struct tg_openmp_worker **workers = tg_openmp_waits_workers(waits, waiter->process, &count);
    const struct tg_openmp_place *wait = tg_openmp_waits_lock(waits, waiter);
    *place = NULL;
    if (wait == NULL)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        *place = find_lock(waiter, wait, workers[i], workers[i]->places, workers[i]->n_places);
        if (*place != NULL)
            return workers[i];
    }
    struct search search = {.waits = waits, .waiter = waiter, .wait = wait};
    (void)tg_openmp_model_visit_tasks(waits->model, look_at_task, &search);
    *place = search.place;
    return search.holder;
}

/* ---- waits of threads for each other */

static struct tg_error *add(struct tg_openmp_waits *waits, size_t from, size_t to)
{
    return TG_ARRAY_APPEND(waits->waits, waits->n_waits, waits->capacity, (struct tg_openmp_wait){from, to});
}

/* WORKER waits for those who execute TEAM's tasks. */
static struct tg_error *wait_for_tasks(struct tg_openmp_waits *waits, const struct tg_openmp_worker *worker,
                                       const struct tg_openmp_team *team)
{
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < team->n_members; i++) {
        const struct tg_openmp_worker *other =
            tg_openmp_model_worker_at(waits->model, team->members[i].worker);
        bool has_task = false;
        for (size_t at = 0; at < other->n_places; at++)
            has_task |= other->places[at].kind == TG_OPENMP_IN_TASK && other->places[at].team == team->id;
        if (has_task && other != worker)
            error = add(waits, worker->index, other->index);
    }
    return error;
}

/* WORKER waits at a barrier, or at the end, of TEAM. */
static struct tg_error *wait_at_barrier(struct tg_openmp_waits *waits, const struct tg_openmp_worker *worker,
                                        const struct tg_openmp_place *place,
                                        const struct tg_openmp_team *team)
{
    struct tg_openmp_barrier barrier;
    struct tg_error *error = NULL;
    bool is_join = place->what == TG_OMP_SYNC_BARRIER_JOIN;
    if (!tg_openmp_barrier_of(team, &barrier) || (barrier.instance != 0 && is_join) ||
        (!is_join && barrier.instance != place->id))
        return NULL;
    if (barrier.missing == 0 && barrier.passed == 0)
        return wait_for_tasks(waits, worker, team);
    for (size_t i = 0; error == NULL && i < team->n_members; i++)
        if (tg_openmp_barrier_standing(&team->members[i], &barrier) == TG_OPENMP_MISSING)
            error = add(waits, worker->index, team->members[i].worker);
    return error;
}

/* Whether WORKER is inside of a single of TEAM. */
static bool is_in_single(const struct tg_openmp_worker *worker, uint64_t team)
{
    for (size_t i = 0; i < worker->n_places; i++)
        if (worker->places[i].kind == TG_OPENMP_IN_ZONE && worker->places[i].what == TG_OMP_ZONE_SINGLE &&
            worker->places[i].team == team)
            return true;
    return false;
}

/* WORKER waits for the values of a single: for whoever executes it. */
static struct tg_error *wait_for_values(struct tg_openmp_waits *waits, const struct tg_openmp_worker *worker,
                                        const struct tg_openmp_team *team)
{
    for (size_t i = 0; i < team->n_members; i++) {
        const struct tg_openmp_worker *other =
            tg_openmp_model_worker_at(waits->model, team->members[i].worker);
        if (is_in_single(other, team->id))
            return add(waits, worker->index, other->index);
    }
    return NULL;
}

static struct tg_error *wait_of(struct tg_openmp_waits *waits, const struct tg_openmp_worker *worker)
{
    const struct tg_openmp_place *place = tg_openmp_waits_lock(waits, worker);
    if (place != NULL) {
        const struct tg_openmp_place *held;
        const struct tg_openmp_worker *holder = tg_openmp_waits_holder(waits, worker, &held);
        if (holder == NULL && place->what == TG_OMP_MUTEX_ORDERED)
            holder = tg_openmp_executor_before(waits->model, worker);
        return holder == NULL ? NULL : add(waits, worker->index, holder->index);
    }
    place = tg_openmp_waits_place(worker);
    if (place == NULL)
        return NULL;
    const struct tg_openmp_team *team = tg_openmp_model_team(waits->model, worker->process, place->team);
    if (place->kind != TG_OPENMP_IN_SYNC || team == NULL)
        return NULL;
    switch (place->what) {
    case TG_OMP_SYNC_BARRIER:
    case TG_OMP_SYNC_BARRIER_IMPLICIT:
    case TG_OMP_SYNC_BARRIER_JOIN:
        return wait_at_barrier(waits, worker, place, team);
    case TG_OMP_SYNC_TASKWAIT:
    case TG_OMP_SYNC_TASKGROUP:
        return NULL; /* see look_at_child */
    case TG_OMP_SYNC_COPYPRIVATE:
        return wait_for_values(waits, worker, team);
    case TG_OMP_SYNC_DOACROSS: {
        const struct tg_openmp_executor executor = tg_openmp_executor_of_sink(waits->model, worker);
        bool will_post = executor.worker != NULL && !executor.has_skipped;
        return will_post ? add(waits, worker->index, executor.worker->index) : NULL;
    }
    default:
        return NULL;
    }
}

/* The explicit task that WORKER is in, 0: none, within its innermost region. */
static uint64_t task_of(const struct tg_openmp_worker *worker)
{
    for (size_t i = worker->n_places; i-- > 0;) {
        if (worker->places[i].kind == TG_OPENMP_IN_TASK)
            return worker->places[i].id;
        if (worker->places[i].kind == TG_OPENMP_IN_REGION)
            break;
    }
    return 0;
}

/* A wait for TASK is a wait for the worker that runs it. */
static struct tg_error *look_at_child(void *context, const struct tg_openmp_task *task)
{
    struct tg_openmp_waits *waits = context;
    size_t count;
    if (task->state != TG_OPENMP_TASK_RUNNING || task->runner == SIZE_MAX)
        return NULL;
    const struct tg_openmp_worker **workers = tg_openmp_waits_workers(waits, task->process, &count);
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < count; i++) {
        const struct tg_openmp_place *place = tg_openmp_waits_at(workers[i], TG_OPENMP_IN_SYNC);
        bool waits_for_tasks =
            place != NULL && (place->what == TG_OMP_SYNC_TASKWAIT || place->what == TG_OMP_SYNC_TASKGROUP);
        bool is_parent = task->parent == 0 ? task->creator == workers[i]->index : true;
        if (waits_for_tasks && is_parent && task_of(workers[i]) == task->parent &&
            task->runner != workers[i]->index)
            error = add(waits, workers[i]->index, task->runner);
    }
    return error;
}

static int compare_workers(const void *left, const void *right)
{
    const struct tg_openmp_worker *a = *(const struct tg_openmp_worker *const *)left;
    const struct tg_openmp_worker *b = *(const struct tg_openmp_worker *const *)right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

static int compare_waits(const void *left, const void *right)
{
    const struct tg_openmp_wait *a = left, *b = right;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return a->to < b->to ? -1 : a->to > b->to;
}

struct tg_error *tg_openmp_waits_init(struct tg_openmp_waits *waits, const struct tg_openmp_model *model,
                                      const struct tg_stillness *stillness)
{
    size_t count = tg_openmp_model_worker_count(model);
    *waits = (struct tg_openmp_waits){.model = model,
                                      .stillness = stillness,
                                      .workers = calloc(count + 1, sizeof(const struct tg_openmp_worker *)),
                                      .is_in_ring = calloc(count + 1, sizeof(bool))};
    if (waits->workers == NULL || waits->is_in_ring == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < count; i++)
        waits->workers[waits->n_workers++] = tg_openmp_model_worker_at(model, i);
    if (count > 1)
        qsort(waits->workers, count, sizeof(const struct tg_openmp_worker *), compare_workers);
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < count; i++)
        error = wait_of(waits, waits->workers[i]);
    if (error == NULL)
        error = tg_openmp_model_visit_tasks(model, look_at_child, waits);
    if (waits->n_waits > 1)
        qsort(waits->waits, waits->n_waits, sizeof *waits->waits, compare_waits);
    return error;
}

void tg_openmp_waits_deinit(struct tg_openmp_waits *waits)
{
    free(waits->workers);
    free(waits->waits);
    free(waits->is_in_ring);
    *waits = (struct tg_openmp_waits){0};
}

/* ---- rings */

/* A walk along waits, depth first: the waits from where it began to where it is. */
struct walk {
    const struct tg_openmp_waits *waits;
    size_t *path; /* indices of waits */
    size_t length;
    bool *is_done; /* by worker: all that it waits for has been seen */
    bool *is_here; /* by worker: on the path */
};

static size_t first_wait(const struct tg_openmp_waits *waits, size_t worker)
{
    return TG_LOWER_BOUND(waits->waits, waits->n_waits, from, worker);
}

/* Index on the path of the first wait of the ring that is closed when WORKER is come to; SIZE_MAX none. */
static size_t ring_at(const struct walk *walk, size_t worker)
{
    for (size_t i = 0; i < walk->length; i++)
        if (walk->waits->waits[walk->path[i]].from == worker)
            return i;
    return SIZE_MAX;
}

/* Walks from WORKER until a ring is closed or all is seen. Returns where the ring begins on the path, SIZE_MAX:
 * there is none. */
static size_t follow(struct walk *walk, size_t worker)
{
    const struct tg_openmp_waits *waits = walk->waits;
    size_t next = first_wait(waits, worker);
    walk->length = 0;
    walk->is_here[worker] = true;
    for (;;) {
        if (next >= waits->n_waits || waits->waits[next].from != worker) {
            walk->is_here[worker] = false;
            walk->is_done[worker] = true;
            if (walk->length == 0)
                return SIZE_MAX;
            next = walk->path[--walk->length];
            worker = waits->waits[next++].from;
            continue;
        }
        size_t to = waits->waits[next].to;
        if (walk->is_done[to] || waits->is_in_ring[to]) {
            next++;
            continue;
        }
        walk->path[walk->length++] = next;
        if (walk->is_here[to])
            return ring_at(walk, to);
        worker = to;
        walk->is_here[worker] = true;
        next = first_wait(waits, worker);
    }
}

struct tg_error *tg_openmp_waits_ring(struct tg_openmp_waits *waits, size_t **ring, size_t *count)
{
    size_t n = waits->n_workers;
    struct walk walk = {.waits = waits,
                        .path = calloc(n + 1, sizeof *walk.path),
                        .is_done = calloc(n + 1, sizeof *walk.is_done),
                        .is_here = calloc(n + 1, sizeof *walk.is_here)};
    size_t *found = calloc(n + 1, sizeof *found), at = SIZE_MAX;
    *count = 0;
    *ring = NULL;
    bool has_memory = walk.path != NULL && walk.is_done != NULL && walk.is_here != NULL && found != NULL;
    for (size_t i = 0; has_memory && at == SIZE_MAX && i < waits->n_waits; i++) {
        size_t from = waits->waits[i].from;
        if (!walk.is_done[from] && !waits->is_in_ring[from])
            at = follow(&walk, from);
    }
    for (size_t i = at; at != SIZE_MAX && i < walk.length; i++) {
        found[(*count)++] = waits->waits[walk.path[i]].from;
        waits->is_in_ring[waits->waits[walk.path[i]].from] = true;
    }
    free(walk.path);
    free(walk.is_done);
    free(walk.is_here);
    if (*count > 0)
        *ring = found;
    else
        free(found);
    return has_memory ? NULL : tg_error_no_memory();
}
