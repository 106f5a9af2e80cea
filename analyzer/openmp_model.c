#include "analyzer/openmp_model.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

struct thread_key {
    size_t process;
    int64_t tid;
};

struct team_key {
    size_t process;
    uint64_t id;
};

struct worker {
    struct tg_openmp_worker public;
    struct thread_key key;
    struct tg_openmp_place *places;
    size_t capacity;
    UT_hash_handle hh; /* among the live ones */
};

struct team {
    struct tg_openmp_team public;
    struct team_key key;
    struct tg_openmp_member *members;
    size_t capacity;
    size_t n_ended;
    bool is_over; /* the one that met it has left; it goes with its last member */
    UT_hash_handle hh;
};

/* How many workers each program has had: numbers begin anew with a program. */
struct numbering {
    size_t process;
    uint64_t last;
    UT_hash_handle hh;
};

struct tg_openmp_model {
    struct tg_openmp_model_options options;
    struct worker **workers; /* by index */
    size_t n_workers, capacity;
    struct worker *live;
    struct team *teams;
    struct numbering *numberings;
    uint64_t impossible;
    uint64_t impossible_ns;
    const char *impossible_what;
};

/* The fields that all OpenMP events begin with. */
struct event_place {
    TG_OMP_PLACE;
};

/* ---- life */

struct tg_error *tg_openmp_model_create(const struct tg_openmp_model_options *options,
                                        struct tg_openmp_model **model)
{
    struct tg_openmp_model *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    if (options != NULL)
        made->options = *options;
    *model = made;
    return NULL;
}

static void drop_team(struct tg_openmp_model *model, struct team *team)
{
    HASH_DEL(model->teams, team);
    free(team->members);
    free(team);
}

void tg_openmp_model_destroy(struct tg_openmp_model *model)
{
    if (model == NULL)
        return;
    struct team *team, *next_team;
    HASH_ITER (hh, model->teams, team, next_team)
        drop_team(model, team);
    HASH_CLEAR(hh, model->live);
    for (size_t i = 0; i < model->n_workers; i++) {
        free(model->workers[i]->places);
        free(model->workers[i]);
    }
    free(model->workers);
    struct numbering *numbering, *next;
    HASH_ITER (hh, model->numberings, numbering, next) {
        HASH_DEL(model->numberings, numbering);
        free(numbering);
    }
    free(model);
}

/* ---- what cannot be */

static void count_impossible(struct tg_openmp_model *model, const struct tg_event *event, const char *what)
{
    if (model->impossible++ > 0)
        return;
    model->impossible_ns = event->time_ns;
    model->impossible_what = what;
}

uint64_t tg_openmp_model_impossible(const struct tg_openmp_model *model, uint64_t *first_ns,
                                    const char **first)
{
    *first_ns = model->impossible_ns;
    *first = model->impossible_what;
    return model->impossible;
}

/* ---- workers */

static struct worker *find_worker(const struct tg_openmp_model *model, size_t process, int32_t tid)
{
    struct thread_key key;
    struct worker *worker;
    memset(&key, 0, sizeof key);
    key.process = process;
    key.tid = tid;
    HASH_FIND(hh, model->live, &key, sizeof key, worker);
    return worker;
}

static struct numbering *find_numbering(const struct tg_openmp_model *model, size_t process)
{
    struct numbering *numbering;
    HASH_FIND(hh, model->numberings, &process, sizeof process, numbering);
    return numbering;
}

static struct tg_error *next_number(struct tg_openmp_model *model, size_t process, uint64_t *number)
{
    struct numbering *numbering = find_numbering(model, process);
    if (numbering == NULL) {
        numbering = calloc(1, sizeof *numbering);
        if (numbering == NULL)
            return tg_error_no_memory();
        numbering->process = process;
        HASH_ADD(hh, model->numberings, process, sizeof process, numbering);
        if (find_numbering(model, process) != numbering) {
            free(numbering);
            return tg_error_no_memory();
        }
    }
    *number = ++numbering->last;
    return NULL;
}

static struct tg_error *add_worker(struct tg_openmp_model *model, struct worker *worker)
{
    if (model->n_workers == model->capacity) {
        size_t capacity = model->capacity == 0 ? 16 : 2 * model->capacity;
        struct worker **workers = reallocarray(model->workers, capacity, sizeof(struct worker *));
        if (workers == NULL)
            return tg_error_no_memory();
        model->workers = workers;
        model->capacity = capacity;
    }
    HASH_ADD(hh, model->live, key, sizeof worker->key, worker);
    if (find_worker(model, worker->key.process, worker->public.tid) != worker)
        return tg_error_no_memory();
    worker->public.index = model->n_workers;
    model->workers[model->n_workers++] = worker;
    return NULL;
}

static struct tg_error *get_worker(struct tg_openmp_model *model, const struct tg_event *event,
                                   size_t process, struct worker **worker)
{
    struct worker *found = find_worker(model, process, event->tid);
    struct tg_error *error = NULL;
    if (found == NULL) {
        found = calloc(1, sizeof *found);
        if (found == NULL)
            return tg_error_no_memory();
        found->key.process = process;
        found->key.tid = event->tid;
        found->public = (struct tg_openmp_worker){
            .process = process, .tid = event->tid, .alive = true, .first_ns = event->time_ns};
        error = next_number(model, process, &found->public.number);
        if (error == NULL)
            error = add_worker(model, found);
        if (error != NULL) {
            free(found);
            return error;
        }
    }
    *worker = found;
    return NULL;
}

static void publish_places(struct worker *worker)
{
    worker->public.places = worker->places;
}

static struct tg_error *enter(struct tg_openmp_model *model, struct worker *worker,
                              const struct tg_event *event, const struct tg_openmp_place *place)
{
    if (worker->public.n_places == TG_OPENMP_MAX_PLACES) {
        count_impossible(model, event, "a thread inside of more zones than any program nests");
        return NULL;
    }
    if (model->options.entered != NULL) {
        struct tg_error *error = model->options.entered(model->options.context, &worker->public, place);
        if (error != NULL)
            return error;
    }
    if (worker->public.n_places == worker->capacity) {
        size_t capacity = worker->capacity == 0 ? 8 : 2 * worker->capacity;
        struct tg_openmp_place *places = reallocarray(worker->places, capacity, sizeof *places);
        if (places == NULL)
            return tg_error_no_memory();
        worker->places = places;
        worker->capacity = capacity;
        publish_places(worker);
    }
    worker->places[worker->public.n_places++] = *place;
    return NULL;
}

/* Leaves the innermost place. */
static struct tg_error *leave_top(struct tg_openmp_model *model, struct worker *worker, uint64_t time_ns)
{
    struct tg_openmp_place place = worker->places[--worker->public.n_places];
    if (model->options.left == NULL)
        return NULL;
    return model->options.left(model->options.context, &worker->public, &place, time_ns);
}

static struct tg_error *leave_down_to(struct tg_openmp_model *model, struct worker *worker, size_t n_places,
                                      uint64_t time_ns)
{
    struct tg_error *error = NULL;
    while (error == NULL && worker->public.n_places > n_places)
        error = leave_top(model, worker, time_ns);
    return error;
}

/* Index of the innermost place that is like PATTERN: kind, what, and id unless 0; SIZE_MAX where there is
 * none within the innermost region. */
static size_t find_place(const struct worker *worker, const struct tg_openmp_place *pattern)
{
    for (size_t i = worker->public.n_places; i-- > 0;) {
        const struct tg_openmp_place *place = &worker->places[i];
        if (place->kind == pattern->kind && place->what == pattern->what &&
            (pattern->id == 0 || place->id == pattern->id))
            return i;
        if (place->kind == TG_OPENMP_IN_REGION)
            break;
    }
    return SIZE_MAX;
}

/* What lies inside of it and was not left before is left with it: a zone's end may go unseen. */
static struct tg_error *leave(struct tg_openmp_model *model, struct worker *worker,
                              const struct tg_event *event, const struct tg_openmp_place *pattern)
{
    size_t at = find_place(worker, pattern);
    if (at == SIZE_MAX) {
        count_impossible(model, event, "a thread leaves what it has not entered");
        return NULL;
    }
    return leave_down_to(model, worker, at, event->time_ns);
}

static struct tg_error *kill_worker(struct tg_openmp_model *model, struct worker *worker, uint64_t time_ns)
{
    (void)time_ns; /* it stays inside of what it was in: that is where it ended */
    HASH_DEL(model->live, worker);
    worker->public.alive = false;
    return NULL;
}

/* ---- copies */

static struct tg_error *copy_worker(struct tg_openmp_model *copy, const struct worker *from)
{
    struct worker *worker = calloc(1, sizeof *worker);
    struct tg_openmp_place *places = calloc(from->public.n_places + 1, sizeof *places);
    if (worker == NULL || places == NULL) {
        free(worker);
        free(places);
        return tg_error_no_memory();
    }
    if (from->public.n_places > 0)
        memcpy(places, from->places, from->public.n_places * sizeof *places);
    worker->public = from->public;
    worker->key = from->key;
    worker->places = places;
    worker->capacity = from->public.n_places + 1;
    publish_places(worker);
    copy->workers[copy->n_workers++] = worker;
    return NULL;
}

static struct tg_error *copy_workers(const struct tg_openmp_model *model, struct tg_openmp_model *copy)
{
    struct tg_error *error = NULL;
    copy->workers = calloc(model->n_workers + 1, sizeof(struct worker *));
    if (copy->workers == NULL)
        return tg_error_no_memory();
    copy->capacity = model->n_workers + 1;
    for (size_t i = 0; error == NULL && i < model->n_workers; i++)
        error = copy_worker(copy, model->workers[i]);
    for (const struct worker *from = model->live; error == NULL && from != NULL; from = from->hh.next) {
        struct worker *worker = copy->workers[from->public.index];
        HASH_ADD(hh, copy->live, key, sizeof worker->key, worker);
        if (worker->hh.tbl == NULL)
            error = tg_error_no_memory();
    }
    return error;
}

static struct tg_error *copy_team(struct tg_openmp_model *copy, const struct team *from)
{
    struct team *team = calloc(1, sizeof *team);
    struct tg_openmp_member *members = calloc(from->public.n_members + 1, sizeof *members);
    if (team != NULL && members != NULL) {
        if (from->public.n_members > 0)
            memcpy(members, from->members, from->public.n_members * sizeof *members);
        *team = *from;
        team->members = members;
        team->capacity = from->public.n_members + 1;
        team->public.members = members;
        memset(&team->hh, 0, sizeof team->hh);
        HASH_ADD(hh, copy->teams, key, sizeof team->key, team);
        if (team->hh.tbl != NULL)
            return NULL;
    }
    free(team);
    free(members);
    return tg_error_no_memory();
}

struct tg_error *tg_openmp_model_copy(const struct tg_openmp_model *model, struct tg_openmp_model **copy)
{
    struct tg_openmp_model *made = NULL;
    struct tg_error *error = tg_openmp_model_create(NULL, &made);
    if (error == NULL)
        error = copy_workers(model, made);
    for (const struct team *team = model->teams; error == NULL && team != NULL; team = team->hh.next)
        error = copy_team(made, team);
    for (const struct numbering *from = model->numberings; error == NULL && from != NULL;
         from = from->hh.next) {
        uint64_t number;
        error = next_number(made, from->process, &number);
        if (error == NULL)
            find_numbering(made, from->process)->last = from->last;
    }
    if (error != NULL) {
        tg_openmp_model_destroy(made);
        return error;
    }
    made->impossible = model->impossible;
    made->impossible_ns = model->impossible_ns;
    made->impossible_what = model->impossible_what;
    *copy = made;
    return NULL;
}

/* ---- teams */

static struct team *find_team(const struct tg_openmp_model *model, size_t process, uint64_t id)
{
    struct team_key key;
    struct team *team;
    memset(&key, 0, sizeof key);
    key.process = process;
    key.id = id;
    HASH_FIND(hh, model->teams, &key, sizeof key, team);
    return team;
}

/* The team ID, made where its beginning was not seen. */
static struct tg_error *get_team(struct tg_openmp_model *model, size_t process, uint64_t id,
                                 uint64_t begin_ns, struct team **team)
{
    struct team *found = find_team(model, process, id);
    if (found == NULL) {
        found = calloc(1, sizeof *found);
        if (found == NULL)
            return tg_error_no_memory();
        found->key.process = process;
        found->key.id = id;
        found->public =
            (struct tg_openmp_team){.process = process, .id = id, .owner = SIZE_MAX, .begin_ns = begin_ns};
        HASH_ADD(hh, model->teams, key, sizeof found->key, found);
        if (find_team(model, process, id) != found) {
            free(found);
            return tg_error_no_memory();
        }
    }
    *team = found;
    return NULL;
}

static struct tg_openmp_member *find_member(struct team *team, const struct worker *worker)
{
    for (size_t i = 0; team != NULL && i < team->public.n_members; i++)
        if (team->members[i].worker == worker->public.index)
            return &team->members[i];
    return NULL;
}

static struct tg_error *add_member(struct team *team, const struct worker *worker, uint64_t thread_num)
{
    if (team->public.n_members == team->capacity) {
        size_t capacity = team->capacity == 0 ? 4 : 2 * team->capacity;
        struct tg_openmp_member *members = reallocarray(team->members, capacity, sizeof *members);
        if (members == NULL)
            return tg_error_no_memory();
        team->members = members;
        team->public.members = members;
        team->capacity = capacity;
    }
    team->members[team->public.n_members++] =
        (struct tg_openmp_member){.worker = worker->public.index, .thread_num = thread_num};
    return NULL;
}

static void end_team_if_done(struct tg_openmp_model *model, struct team *team)
{
    if (team->is_over && team->n_ended >= team->public.n_members)
        drop_team(model, team);
}

/* ---- events */

static struct tg_openmp_place place_of(const struct tg_event *event, enum tg_openmp_place_kind kind,
                                       uint64_t what, uint64_t id)
{
    const struct event_place *place = (const struct event_place *)TG_EVENT_PAYLOAD(event);
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

static struct tg_error *begin_parallel(struct tg_openmp_model *model, struct worker *worker,
                                       const struct tg_event *event, size_t process)
{
    const struct tg_event_omp_parallel_begin *begin = &event->omp_parallel_begin;
    struct team *team = find_team(model, process, begin->new_team);
    if (team != NULL && team->public.owner != SIZE_MAX) {
        count_impossible(model, event, "a region begins that has begun already");
        return NULL;
    }
    struct tg_error *error = get_team(model, process, begin->new_team, event->time_ns, &team);
    if (error != NULL)
        return error;
    team->public.parent = begin->team;
    team->public.level = begin->level + 1;
    team->public.code = begin->code;
    team->public.body = begin->body;
    team->public.begin_ns = event->time_ns;
    team->public.owner = worker->public.index;
    return NULL;
}

/* The thread that met a region waits for its team from its own end of the body on. */
static const struct tg_openmp_place *waiting_for_join(const struct worker *worker, uint64_t team)
{
    if (worker->public.n_places == 0)
        return NULL;
    const struct tg_openmp_place *top = &worker->places[worker->public.n_places - 1];
    return top->kind == TG_OPENMP_IN_SYNC && top->what == TG_OMP_SYNC_BARRIER_JOIN && top->id == team ? top
                                                                                                      : NULL;
}

static struct tg_error *end_parallel(struct tg_openmp_model *model, struct worker *worker,
                                     const struct tg_event *event, size_t process)
{
    struct team *team = find_team(model, process, event->omp_parallel_end.ended_team);
    struct tg_error *error = NULL;
    if (waiting_for_join(worker, event->omp_parallel_end.ended_team) != NULL)
        error = leave_top(model, worker, event->time_ns);
    if (team == NULL) {
        count_impossible(model, event, "a region ends that has not begun");
        return error;
    }
    team->is_over = true;
    end_team_if_done(model, team);
    return error;
}

static struct tg_error *begin_implicit(struct tg_openmp_model *model, struct worker *worker,
                                       const struct tg_event *event, size_t process)
{
    const struct tg_event_omp_implicit_begin *begin = &event->omp_implicit_begin;
    struct team *team;
    struct tg_error *error = get_team(model, process, begin->team, event->time_ns, &team);
    if (error != NULL)
        return error;
    if (begin->team_size != 0)
        team->public.size = begin->team_size;
    if (team->public.owner == SIZE_MAX) {
        team->public.parent = begin->parent_team;
        team->public.level = begin->level;
    }
    if (find_member(team, worker) != NULL)
        count_impossible(model, event, "a thread begins a region that it is in");
    else
        error = add_member(team, worker, begin->thread_num);
    const struct tg_openmp_place place = place_of(event, TG_OPENMP_IN_REGION, 0, begin->team);
    return error != NULL ? error : enter(model, worker, event, &place);
}

static size_t find_region(const struct worker *worker, uint64_t team)
{
    for (size_t i = worker->public.n_places; i-- > 0;)
        if (worker->places[i].kind == TG_OPENMP_IN_REGION && worker->places[i].team == team)
            return i;
    return SIZE_MAX;
}

static struct tg_error *end_implicit(struct tg_openmp_model *model, struct worker *worker,
                                     const struct tg_event *event, size_t process)
{
    uint64_t id = event->omp_implicit_end.team;
    struct team *team = find_team(model, process, id);
    struct tg_openmp_member *member = find_member(team, worker);
    size_t at = find_region(worker, id);
    struct tg_error *error = NULL;
    if (at == SIZE_MAX || member == NULL || member->ended) {
        count_impossible(model, event, "a thread ends a region that it is not in");
        return NULL;
    }
    error = leave_down_to(model, worker, at, event->time_ns);
    member->ended = true;
    member->ended_ns = event->time_ns;
    team->n_ended++;
    if (error == NULL && team->public.owner == worker->public.index && !team->is_over) {
        struct tg_openmp_place join = place_of(event, TG_OPENMP_IN_SYNC, TG_OMP_SYNC_BARRIER_JOIN, id);
        join.code = team->public.code;
        error = enter(model, worker, event, &join);
    }
    end_team_if_done(model, team);
    return error;
}

static bool is_barrier(uint64_t sync)
{
    return sync == TG_OMP_SYNC_BARRIER || sync == TG_OMP_SYNC_BARRIER_IMPLICIT;
}

static struct tg_error *begin_sync(struct tg_openmp_model *model, struct worker *worker,
                                   const struct tg_event *event, size_t process)
{
    const struct tg_event_omp_sync_begin *begin = &event->omp_sync_begin;
    if (begin->sync == TG_OMP_SYNC_BARRIER_JOIN && worker->public.n_places > 0 &&
        worker->places[worker->public.n_places - 1].kind == TG_OPENMP_IN_SYNC &&
        worker->places[worker->public.n_places - 1].what == TG_OMP_SYNC_BARRIER_JOIN)
        return NULL; /* what the end of the body said already */
    struct tg_openmp_member *member = find_member(find_team(model, process, begin->team), worker);
    if (member != NULL && is_barrier(begin->sync)) {
        if (begin->instance <= member->arrived)
            count_impossible(model, event, "a thread comes to a barrier that it has been to");
        else
            member->arrived = begin->instance;
        member->sync = begin->sync;
        member->arrived_ns = event->time_ns;
        member->code = begin->code;
    }
    const struct tg_openmp_place place = place_of(event, TG_OPENMP_IN_SYNC, begin->sync, begin->instance);
    return enter(model, worker, event, &place);
}

static struct tg_error *end_sync(struct tg_openmp_model *model, struct worker *worker,
                                 const struct tg_event *event, size_t process)
{
    const struct tg_event_omp_sync_end *end = &event->omp_sync_end;
    struct tg_openmp_member *member = find_member(find_team(model, process, end->team), worker);
    if (member != NULL && is_barrier(end->sync) && end->instance > member->left)
        member->left = end->instance;
    const struct tg_openmp_place pattern = {
        .kind = TG_OPENMP_IN_SYNC, .what = end->sync, .id = is_barrier(end->sync) ? end->instance : 0};
    if (end->sync == TG_OMP_SYNC_BARRIER_JOIN && find_place(worker, &pattern) == SIZE_MAX)
        return NULL; /* the region's end came first */
    return leave(model, worker, event, &pattern);
}

static struct tg_error *enter_mutex(struct tg_openmp_model *model, struct worker *worker,
                                    const struct tg_event *event)
{
    const struct tg_event_omp_mutex_enter *got = &event->omp_mutex_enter;
    const struct tg_openmp_place waited = {
        .kind = TG_OPENMP_IN_MUTEX_WAIT, .what = got->mutex, .id = got->lock};
    size_t at = find_place(worker, &waited);
    struct tg_error *error = NULL;
    if (at != SIZE_MAX) /* a lock that was free may be got without waiting */
        error = leave_down_to(model, worker, at, event->time_ns);
    const struct tg_openmp_place place = place_of(event, TG_OPENMP_IN_MUTEX, got->mutex, got->lock);
    return error != NULL ? error : enter(model, worker, event, &place);
}

/* Locks need not be given back in the order in which they were taken. */
static struct tg_error *leave_mutex(struct tg_openmp_model *model, struct worker *worker,
                                    const struct tg_event *event)
{
    const struct tg_event_omp_mutex_leave *gone = &event->omp_mutex_leave;
    for (size_t i = worker->public.n_places; i-- > 0;) {
        const struct tg_openmp_place place = worker->places[i];
        if (place.kind != TG_OPENMP_IN_MUTEX || place.what != gone->mutex || place.id != gone->lock)
            continue;
        worker->public.n_places--;
        memmove(&worker->places[i], &worker->places[i + 1],
                (worker->public.n_places - i) * sizeof *worker->places);
        return model->options.left == NULL
                   ? NULL
                   : model->options.left(model->options.context, &worker->public, &place, event->time_ns);
    }
    count_impossible(model, event, "a thread gives back what it has not got");
    return NULL;
}

static void begin_section(struct tg_openmp_model *model, struct worker *worker, const struct tg_event *event)
{
    const struct tg_openmp_place pattern = {.kind = TG_OPENMP_IN_ZONE, .what = TG_OMP_ZONE_SECTIONS};
    size_t at = find_place(worker, &pattern);
    if (at == SIZE_MAX)
        count_impossible(model, event, "a section outside of a sections zone");
    else
        worker->places[at].section = event->omp_section.section;
}

static struct tg_error *take_zone_event(struct tg_openmp_model *model, struct worker *worker,
                                        const struct tg_event *event)
{
    struct tg_openmp_place place;
    switch ((unsigned)event->kind) {
    case TG_EVENT_OMP_ZONE_BEGIN:
        place = place_of(event, TG_OPENMP_IN_ZONE, event->omp_zone_begin.zone, 0);
        place.schedule = event->omp_zone_begin.schedule;
        return enter(model, worker, event, &place);
    case TG_EVENT_OMP_ZONE_END:
        place = place_of(event, TG_OPENMP_IN_ZONE, event->omp_zone_end.zone, 0);
        return leave(model, worker, event, &place);
    case TG_EVENT_OMP_SECTION:
        begin_section(model, worker, event);
        return NULL;
    case TG_EVENT_OMP_MUTEX_WAIT:
        place =
            place_of(event, TG_OPENMP_IN_MUTEX_WAIT, event->omp_mutex_wait.mutex, event->omp_mutex_wait.lock);
        return enter(model, worker, event, &place);
    case TG_EVENT_OMP_MUTEX_ENTER:
        return enter_mutex(model, worker, event);
    case TG_EVENT_OMP_MUTEX_LEAVE:
        return leave_mutex(model, worker, event);
    case TG_EVENT_OMP_TASK_BEGIN:
        place = place_of(event, TG_OPENMP_IN_TASK, 0, event->omp_task_begin.task);
        return enter(model, worker, event, &place);
    case TG_EVENT_OMP_TASK_END:
        if (event->omp_task_end.how == TG_OMP_TASK_FULFILLED)
            return NULL; /* by whoever fulfils its event: nobody leaves anything */
        place = place_of(event, TG_OPENMP_IN_TASK, 0, event->omp_task_end.task);
        return leave(model, worker, event, &place);
    default: /* a task's creation, a cancellation: nothing is entered */
        return NULL;
    }
}

static struct tg_error *take_openmp_event(struct tg_openmp_model *model, const struct tg_event *event,
                                          size_t process)
{
    struct worker *worker;
    struct tg_error *error = get_worker(model, event, process, &worker);
    if (error != NULL)
        return error;
    const struct event_place *at = (const struct event_place *)TG_EVENT_PAYLOAD(event);
    uint64_t code = at->code;
    worker->public.last_ns = event->time_ns;
    worker->public.last_kind = event->kind;
    if (code != 0)
        worker->public.last_code = code;
    switch ((unsigned)event->kind) {
    case TG_EVENT_OMP_PARALLEL_BEGIN:
        return begin_parallel(model, worker, event, process);
    case TG_EVENT_OMP_PARALLEL_END:
        return end_parallel(model, worker, event, process);
    case TG_EVENT_OMP_IMPLICIT_BEGIN:
        return begin_implicit(model, worker, event, process);
    case TG_EVENT_OMP_IMPLICIT_END:
        return end_implicit(model, worker, event, process);
    case TG_EVENT_OMP_SYNC_BEGIN:
        return begin_sync(model, worker, event, process);
    case TG_EVENT_OMP_SYNC_END:
        return end_sync(model, worker, event, process);
    default:
        return take_zone_event(model, worker, event);
    }
}

/* The program of PROCESS is no more: its workers are dead, and, where another one takes its place, its teams
 * are gone with its memory. */
static void end_program(struct tg_openmp_model *model, size_t process, bool replaced)
{
    struct worker *worker, *next_worker;
    HASH_ITER (hh, model->live, worker, next_worker)
        if (worker->key.process == process)
            kill_worker(model, worker, 0);
    if (!replaced)
        return;
    struct team *team, *next_team;
    HASH_ITER (hh, model->teams, team, next_team)
        if (team->key.process == process)
            drop_team(model, team);
    struct numbering *numbering = find_numbering(model, process);
    if (numbering != NULL)
        numbering->last = 0;
}

struct tg_error *tg_openmp_model_feed(struct tg_openmp_model *model, const struct tg_event *event,
                                      size_t process)
{
    struct worker *worker;
    switch ((unsigned)event->kind) {
    case TG_EVENT_THREAD_EXIT:
        worker = find_worker(model, process, event->tid);
        return worker == NULL ? NULL : kill_worker(model, worker, event->time_ns);
    case TG_EVENT_PROCESS_EXIT:
        end_program(model, process, false);
        return NULL;
    case TG_EVENT_EXEC:
        end_program(model, process, true);
        return NULL;
    default:
        break;
    }
    if (event->kind < TG_EVENT_OMP_PARALLEL_BEGIN || event->kind > TG_EVENT_OMP_CANCEL)
        return NULL;
    return take_openmp_event(model, event, process);
}

/* ---- answers */

size_t tg_openmp_model_worker_count(const struct tg_openmp_model *model)
{
    return model->n_workers;
}

const struct tg_openmp_worker *tg_openmp_model_worker_at(const struct tg_openmp_model *model, size_t i)
{
    return &model->workers[i]->public;
}

const struct tg_openmp_worker *tg_openmp_model_worker(const struct tg_openmp_model *model, size_t process,
                                                      int32_t tid)
{
    const struct worker *worker = find_worker(model, process, tid);
    return worker == NULL ? NULL : &worker->public;
}

struct tg_error *tg_openmp_model_visit_teams(const struct tg_openmp_model *model,
                                             struct tg_error *(*visit)(void *context,
                                                                       const struct tg_openmp_team *team),
                                             void *context)
{
    struct tg_error *error = NULL;
    for (const struct team *team = model->teams; error == NULL && team != NULL; team = team->hh.next)
        if (!team->is_over)
            error = visit(context, &team->public);
    return error;
}

const struct tg_openmp_team *tg_openmp_model_team(const struct tg_openmp_model *model, size_t process,
                                                  uint64_t id)
{
    const struct team *team = find_team(model, process, id);
    return team == NULL || team->is_over ? NULL : &team->public;
}

/* The lowest barrier instance that somebody has come to and not everybody has left; 0 where there is none. A
 * member that is through with the region has been to all of its barriers. */
static uint64_t lowest_instance(const struct tg_openmp_team *team)
{
    uint64_t highest = 0, lowest_left = UINT64_MAX;
    for (size_t i = 0; i < team->n_members; i++) {
        const struct tg_openmp_member *member = &team->members[i];
        if (member->arrived > highest)
            highest = member->arrived;
        if (!member->ended && member->left < lowest_left)
            lowest_left = member->left;
    }
    if (team->size > team->n_members && highest > 0)
        lowest_left = 0; /* some have not even begun */
    return lowest_left < highest ? lowest_left + 1 : 0;
}

enum tg_openmp_standing tg_openmp_member_standing(const struct tg_openmp_member *member,
                                                  const struct tg_openmp_barrier *barrier)
{
    if (barrier->sync == TG_OMP_SYNC_BARRIER_JOIN)
        return member->ended ? TG_OPENMP_WAITING : TG_OPENMP_MISSING;
    if (member->ended || member->left >= barrier->instance)
        return TG_OPENMP_PASSED;
    return member->arrived >= barrier->instance ? TG_OPENMP_WAITING : TG_OPENMP_MISSING;
}

/* When MEMBER came to BARRIER and from where, if it is still known: it may have been to others since. */
static void take_arrival(const struct tg_openmp_member *member, struct tg_openmp_barrier *barrier)
{
    bool is_join = barrier->sync == TG_OMP_SYNC_BARRIER_JOIN && barrier->instance == 0;
    uint64_t came_ns = is_join ? member->ended_ns : member->arrived_ns;
    if (is_join ? !member->ended : member->arrived != barrier->instance)
        return;
    if (barrier->since_ns == 0 || came_ns < barrier->since_ns)
        barrier->since_ns = came_ns;
    if (!is_join) {
        barrier->code = member->code;
        barrier->sync = member->sync;
    }
}

bool tg_openmp_team_barrier(const struct tg_openmp_team *team, struct tg_openmp_barrier *barrier)
{
    size_t n_ended = 0;
    for (size_t i = 0; i < team->n_members; i++)
        n_ended += team->members[i].ended;
    struct tg_openmp_barrier found = {.instance = lowest_instance(team), .sync = TG_OMP_SYNC_BARRIER};
    if (found.instance == 0) {
        if (n_ended == 0)
            return false;
        found.sync = TG_OMP_SYNC_BARRIER_JOIN;
        found.code = team->code;
    }
    for (size_t i = 0; i < team->n_members; i++)
        take_arrival(&team->members[i], &found);
    for (size_t i = 0; i < team->n_members; i++) {
        enum tg_openmp_standing standing = tg_openmp_member_standing(&team->members[i], &found);
        found.passed += standing == TG_OPENMP_PASSED;
        found.waiting += standing == TG_OPENMP_WAITING;
        found.missing += standing == TG_OPENMP_MISSING;
    }
    if (team->size > team->n_members)
        found.missing += team->size - team->n_members;
    found.is_open = found.passed > 0;
    *barrier = found;
    return true;
}
