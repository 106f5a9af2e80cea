#include "analyzer/models/openmp/statistics.h"

#include "format/base/array.h"
#include "format/base/hash.h"

#include <stdlib.h>
#include <string.h>

struct zone_key {
    size_t process;
    uint64_t kind, what, code;
};

struct lock_key {
    size_t process;
    uint64_t mutex, lock;
};

struct site_key {
    size_t process;
    uint64_t code;
};

struct zone {
    struct zone_key key;
    struct tg_openmp_zone_use use;
    UT_hash_handle hh;
};

struct lock {
    struct lock_key key;
    struct tg_openmp_lock_use use;
    uint64_t holders; /* times that workers are inside: more than one only for nested taking */
    UT_hash_handle hh;
};

struct region {
    struct site_key key;
    struct tg_openmp_region_use use;
    UT_hash_handle hh;
};

/* A region that is going on. */
struct team {
    struct site_key key; /* process and team id */
    uint64_t code, begin_ns;
    uint64_t sum_busy_ns, max_busy_ns;
    uint64_t n_ended;
    UT_hash_handle hh;
};

enum {
    MAX_DISTINCT = 1 << 16, /* zones, locks and regions told apart; what comes beyond is of no known place */
    MAX_DEPTH = 8,          /* regions in each other that waiting is told apart for */
    RECENT_BITS = 10,
    RECENT = 1 << RECENT_BITS, /* zones, and locks, that are found without their table */
};

/* A worker's waiting in one of the regions that it is in. */
struct waiting {
    uint64_t waited_ns; /* at barriers, since it began the region */
    uint64_t worked_ns; /* in tasks that it executed while it waits at a barrier */
};

/* The state of a worker during the reading. */
struct worker_state {
    struct waiting waiting[MAX_DEPTH]; /* by the regions around, 0: outside of all */
    struct lock *lock;                 /* looked up for it last; NULL: none */
    uint64_t entries;                  /* of the lock that it waits for, when it began to */
    bool found_taken;                  /* by another worker */
};

struct tg_openmp_statistics {
    struct tg_openmp_model *model;
    struct zone *zones;
    struct lock *locks;
    struct zone *recent_zones[RECENT]; /* NULL: none */
    struct lock *recent_locks[RECENT];
    struct region *regions;
    struct team *teams;
    struct tg_openmp_worker_use *workers;
    struct worker_state *states;
    size_t n_workers; /* room of both arrays */
    void *sorted[3];  /* the latest answer of each kind */
};

/* Finds or adds the RECORD_TYPE with KEY in TABLE; NULL without memory. */
#define GET(record_type, table, the_key)                                                                     \
    __extension__({                                                                                          \
        struct record_type *got;                                                                             \
        HASH_FIND(hh, table, &(the_key), sizeof(the_key), got);                                              \
        if (got == NULL && (got = calloc(1, sizeof *got)) != NULL) {                                         \
            got->key = (the_key);                                                                            \
            HASH_ADD(hh, table, key, sizeof got->key, got);                                                  \
            struct record_type *added;                                                                       \
            HASH_FIND(hh, table, &(the_key), sizeof(the_key), added);                                        \
            if (added != got) {                                                                              \
                free(got);                                                                                   \
                got = NULL;                                                                                  \
            }                                                                                                \
        }                                                                                                    \
        got;                                                                                                 \
    })

#define DROP_ALL(record_type, table)                                                                         \
    do {                                                                                                     \
        struct record_type *record, *next;                                                                   \
        HASH_ITER (hh, table, record, next) {                                                                \
            HASH_DEL(table, record);                                                                         \
            free(record);                                                                                    \
        }                                                                                                    \
    } while (0)

static struct tg_error *make_room(struct tg_openmp_statistics *s, size_t worker)
{
    if (worker < s->n_workers)
        return NULL;
    size_t former = s->n_workers, capacity = former, states_capacity = former;
    struct tg_error *error = TG_ARRAY_RESERVE(s->workers, capacity, worker + 1);
    if (error == NULL)
        error = TG_ARRAY_RESERVE(s->states, states_capacity, capacity);
    if (error != NULL)
        return error;
    memset(s->workers + former, 0, (capacity - former) * sizeof *s->workers);
    memset(s->states + former, 0, (capacity - former) * sizeof *s->states);
    s->n_workers = capacity;
    return NULL;
}

static uint64_t since(uint64_t from_ns, uint64_t to_ns)
{
    return to_ns > from_ns ? to_ns - from_ns : 0;
}

/* ---- what is told by the model */

static bool is_barrier(uint64_t sync)
{
    return sync == TG_OMP_SYNC_BARRIER || sync == TG_OMP_SYNC_BARRIER_IMPLICIT ||
           sync == TG_OMP_SYNC_BARRIER_JOIN;
}

/* Of the region around WORKER that is DEEPER regions further in than what its stack says. */
static struct waiting *waiting_of(struct tg_openmp_statistics *s, const struct tg_openmp_worker *worker,
                                  size_t deeper)
{
    size_t depth = deeper;
    for (size_t i = 0; i < worker->n_places; i++)
        depth += worker->places[i].kind == TG_OPENMP_IN_REGION;
    return &s->states[worker->index].waiting[depth < MAX_DEPTH ? depth : MAX_DEPTH - 1];
}

/* A place among the recent ones for what is told apart by these three. */
static size_t recent_place(size_t process, uint64_t kind, uint64_t id)
{
    const uint64_t golden =
        UINT64_C(0x9e3779b97f4a7c15); /* spreads numbers that differ little over the upper bits */
    return (id + (kind << 16) + ((uint64_t)process << 24)) * golden >> (64 - RECENT_BITS);
}

/* The zone of PLACE, or the one of no known place where there are too many; NULL without memory. */
static struct zone *get_zone(struct tg_openmp_statistics *s, size_t process,
                             const struct tg_openmp_place *place)
{
    struct zone **recent =
        &s->recent_zones[recent_place(process, place->kind * 8 + place->what, place->code)];
    struct zone *zone = *recent;
    if (zone != NULL && zone->key.process == process && zone->key.kind == place->kind &&
        zone->key.what == place->what && zone->key.code == place->code)
        return zone;
    struct zone_key key;
    memset(&key, 0, sizeof key);
    key.process = process;
    key.kind = place->kind;
    key.what = place->what;
    key.code = place->code;
    HASH_FIND(hh, s->zones, &key, sizeof key, zone);
    if (zone == NULL && HASH_COUNT(s->zones) >= MAX_DISTINCT)
        key.code = 0;
    if (zone == NULL && (zone = GET(zone, s->zones, key)) != NULL) {
        zone->use.process = process;
        zone->use.kind = place->kind;
        zone->use.what = place->what;
        zone->use.code = zone->key.code;
    }
    *recent = zone;
    return zone;
}

static struct tg_error *count_zone(struct tg_openmp_statistics *s, size_t process,
                                   const struct tg_openmp_place *place, uint64_t spent_ns)
{
    struct zone *zone = get_zone(s, process, place);
    if (zone == NULL)
        return tg_error_no_memory();
    zone->use.is_inferred = place->kind == TG_OPENMP_IN_ZONE && place->seen == TG_OMP_INFERRED;
    zone->use.count += !place->is_suspended;
    zone->use.total_ns += spent_ns;
    if (place->before_ns + spent_ns > zone->use.max_ns)
        zone->use.max_ns = place->before_ns + spent_ns;
    return NULL;
}

static struct lock *search_lock(struct tg_openmp_statistics *s, size_t process,
                                const struct tg_openmp_place *place)
{
    struct lock **recent = &s->recent_locks[recent_place(process, place->what, place->id)];
    struct lock *lock = *recent;
    if (lock != NULL && lock->key.process == process && lock->key.mutex == place->what &&
        lock->key.lock == place->id && (lock->use.entries != 0 || lock->use.code != 0))
        return lock;
    struct lock_key key;
    memset(&key, 0, sizeof key);
    key.process = process;
    key.mutex = place->what;
    key.lock = place->id;
    HASH_FIND(hh, s->locks, &key, sizeof key, lock);
    if (lock == NULL && HASH_COUNT(s->locks) >= MAX_DISTINCT)
        key.lock = 0;
    if (lock == NULL)
        lock = GET(lock, s->locks, key);
    if (lock != NULL && lock->use.entries == 0 && lock->use.code == 0) {
        lock->use.process = process;
        lock->use.mutex = place->what;
        lock->use.lock = key.lock;
        lock->use.code = key.lock == place->id ? place->code : 0;
    }
    *recent = lock;
    return lock;
}

/* The lock of PLACE, which WORKER comes to or leaves, or the one of no known address where there are too many; NULL without
 * memory. A thread that waits for one then has it, and gives it back. */
static struct lock *get_lock(struct tg_openmp_statistics *s, const struct tg_openmp_worker *worker,
                             const struct tg_openmp_place *place)
{
    struct lock **last = &s->states[worker->index].lock, *lock = *last;
    if (lock == NULL || lock->key.lock != place->id || lock->key.mutex != place->what ||
        (lock->use.entries == 0 && lock->use.code == 0))
        *last = lock = search_lock(s, worker->process, place);
    return lock;
}

static bool has_lock(const struct tg_openmp_worker *worker, const struct tg_openmp_place *place)
{
    for (size_t i = 0; i < worker->n_places; i++)
        if (worker->places[i].kind == TG_OPENMP_IN_MUTEX && worker->places[i].what == place->what &&
            worker->places[i].id == place->id)
            return true;
    return false;
}

static struct tg_error *entered(void *context, const struct tg_openmp_worker *worker,
                                const struct tg_openmp_place *place)
{
    struct tg_openmp_statistics *s = context;
    struct tg_error *error = make_room(s, worker->index);
    if (error != NULL)
        return error;
    struct worker_state *state = &s->states[worker->index];
    if (place->kind == TG_OPENMP_IN_REGION)
        *waiting_of(s, worker, 1) = (struct waiting){0};
    if (place->kind == TG_OPENMP_IN_SYNC && is_barrier(place->what))
        waiting_of(s, worker, 0)->worked_ns = 0;
    if ((place->kind != TG_OPENMP_IN_MUTEX_WAIT && place->kind != TG_OPENMP_IN_MUTEX) || place->is_continued)
        return NULL;
    struct lock *lock = get_lock(s, worker, place);
    if (lock == NULL)
        return tg_error_no_memory();
    if (place->kind == TG_OPENMP_IN_MUTEX_WAIT) {
        state->found_taken = lock->holders > 0 && !has_lock(worker, place);
        state->entries = lock->use.entries;
        lock->use.contended += state->found_taken;
    } else {
        lock->use.entries++;
        lock->holders++;
    }
    return NULL;
}

static struct tg_error *left_lock(struct tg_openmp_statistics *s, const struct tg_openmp_worker *worker,
                                  const struct tg_openmp_place *place, uint64_t spent_ns)
{
    struct lock *lock = get_lock(s, worker, place);
    if (lock == NULL)
        return tg_error_no_memory();
    bool waited = place->kind == TG_OPENMP_IN_MUTEX_WAIT;
    uint64_t *sum_ns = waited ? &lock->use.wait_ns : &lock->use.hold_ns;
    uint64_t *max_ns = waited ? &lock->use.max_wait_ns : &lock->use.max_hold_ns;
    *sum_ns += spent_ns;
    if (place->before_ns + spent_ns > *max_ns)
        *max_ns = place->before_ns + spent_ns;
    if (place->is_suspended) /* the task goes on later, still inside */
        return NULL;
    if (waited) {
        const struct worker_state *state = &s->states[worker->index];
        s->workers[worker->index].lock_ns += spent_ns;
        lock->use.contended += !state->found_taken && lock->use.entries != state->entries;
    } else if (lock->holders > 0) {
        lock->holders--;
    }
    return NULL;
}

static struct team *find_team(const struct tg_openmp_statistics *s, size_t process, uint64_t id)
{
    struct site_key key;
    struct team *team;
    memset(&key, 0, sizeof key);
    key.process = process;
    key.code = id;
    HASH_FIND(hh, s->teams, &key, sizeof key, team);
    return team;
}

static void left_region(struct tg_openmp_statistics *s, const struct tg_openmp_worker *worker,
                        const struct tg_openmp_place *place, uint64_t spent_ns)
{
    uint64_t waited_ns = waiting_of(s, worker, 1)->waited_ns;
    uint64_t busy_ns = spent_ns > waited_ns ? spent_ns - waited_ns : 0;
    if (place->level <= 1)
        s->workers[worker->index].region_ns += spent_ns;
    struct team *team = find_team(s, worker->process, place->team);
    if (team == NULL)
        return; /* the region is over, or its beginning was not seen */
    team->sum_busy_ns += busy_ns;
    if (busy_ns > team->max_busy_ns)
        team->max_busy_ns = busy_ns;
    team->n_ended++;
}

static void left_barrier(struct tg_openmp_statistics *s, const struct tg_openmp_worker *worker,
                         uint64_t spent_ns)
{
    struct waiting *waiting = waiting_of(s, worker, 0);
    uint64_t waited_ns = since(waiting->worked_ns, spent_ns);
    waiting->worked_ns = 0;
    waiting->waited_ns += waited_ns;
    s->workers[worker->index].barrier_ns += waited_ns;
}

/* Innermost: what it just left, it did there. */
static bool is_at_barrier(const struct tg_openmp_worker *worker)
{
    const struct tg_openmp_place *top = worker->n_places == 0 ? NULL : &worker->places[worker->n_places - 1];
    return top != NULL && top->kind == TG_OPENMP_IN_SYNC && is_barrier(top->what);
}

static struct tg_error *left(void *context, const struct tg_openmp_worker *worker,
                             const struct tg_openmp_place *place, uint64_t time_ns)
{
    struct tg_openmp_statistics *s = context;
    uint64_t spent_ns = since(place->since_ns, time_ns);
    struct tg_error *error = make_room(s, worker->index);
    if (error == NULL)
        error = count_zone(s, worker->process, place, spent_ns);
    if (error != NULL)
        return error;
    switch (place->kind) {
    case TG_OPENMP_IN_REGION:
        left_region(s, worker, place, spent_ns);
        return NULL;
    case TG_OPENMP_IN_MUTEX_WAIT:
    case TG_OPENMP_IN_MUTEX:
        return left_lock(s, worker, place, spent_ns);
    case TG_OPENMP_IN_SYNC:
        if (is_barrier(place->what))
            left_barrier(s, worker, spent_ns);
        return NULL;
    case TG_OPENMP_IN_TASK:
        s->workers[worker->index].tasks += !place->is_suspended;
        if (is_at_barrier(worker))
            waiting_of(s, worker, 0)->worked_ns += spent_ns; /* not spent waiting */
        return NULL;
    case TG_OPENMP_IN_ZONE:
        return NULL;
    }
    return NULL;
}

/* ---- life */

struct tg_error *tg_openmp_statistics_create(struct tg_openmp_statistics **statistics)
{
    struct tg_openmp_statistics *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    const struct tg_openmp_model_options options = {.entered = entered, .left = left, .context = made};
    struct tg_error *error = tg_openmp_model_create(&options, &made->model);
    if (error != NULL) {
        free(made);
        return error;
    }
    *statistics = made;
    return NULL;
}

void tg_openmp_statistics_destroy(struct tg_openmp_statistics *statistics)
{
    if (statistics == NULL)
        return;
    DROP_ALL(zone, statistics->zones);
    DROP_ALL(lock, statistics->locks);
    DROP_ALL(region, statistics->regions);
    DROP_ALL(team, statistics->teams);
    for (size_t i = 0; i < sizeof statistics->sorted / sizeof statistics->sorted[0]; i++)
        free(statistics->sorted[i]);
    free(statistics->workers);
    free(statistics->states);
    tg_openmp_model_destroy(statistics->model);
    free(statistics);
}

/* ---- feeding */

static struct tg_error *begin_team(struct tg_openmp_statistics *s, const struct tg_event *event,
                                   size_t process)
{
    struct site_key key;
    memset(&key, 0, sizeof key);
    key.process = process;
    key.code = event->omp_parallel_begin.new_team;
    struct team *team = GET(team, s->teams, key);
    if (team == NULL)
        return tg_error_no_memory();
    team->code = event->omp_parallel_begin.code;
    team->begin_ns = event->time_ns;
    return NULL;
}

static struct tg_error *end_team(struct tg_openmp_statistics *s, const struct tg_event *event, size_t process)
{
    struct team *team = find_team(s, process, event->omp_parallel_end.ended_team);
    if (team == NULL)
        return NULL; /* the region's beginning was not seen */
    struct site_key key;
    memset(&key, 0, sizeof key);
    key.process = process;
    key.code = team->code;
    struct region *region;
    HASH_FIND(hh, s->regions, &key, sizeof key, region);
    if (region == NULL && HASH_COUNT(s->regions) >= MAX_DISTINCT)
        key.code = 0;
    region = GET(region, s->regions, key);
    if (region == NULL)
        return tg_error_no_memory();
    struct tg_openmp_region_use *use = &region->use;
    use->process = process;
    use->code = key.code;
    use->count++;
    if (team->n_ended > use->threads)
        use->threads = team->n_ended;
    use->total_ns += team->begin_ns == 0 ? 0 : since(team->begin_ns, event->time_ns);
    use->busy_ns += team->n_ended == 0 ? 0 : team->sum_busy_ns / team->n_ended;
    use->max_busy_ns += team->max_busy_ns;
    HASH_DEL(s->teams, team);
    free(team);
    return NULL;
}

/* The program of PROCESS is no more: its regions will not end. */
static void drop_teams(struct tg_openmp_statistics *s, size_t process)
{
    struct team *team, *next;
    HASH_ITER (hh, s->teams, team, next)
        if (team->key.process == process) {
            HASH_DEL(s->teams, team);
            free(team);
        }
}

struct tg_error *tg_openmp_statistics_feed(struct tg_openmp_statistics *statistics,
                                           const struct tg_event *event, size_t process)
{
    struct tg_error *error = NULL;
    if (event->kind == TG_EVENT_OMP_PARALLEL_BEGIN)
        error = begin_team(statistics, event, process);
    if (error == NULL)
        error = tg_openmp_model_feed(statistics->model, event, process);
    if (error == NULL && event->kind == TG_EVENT_OMP_PARALLEL_END)
        error = end_team(statistics, event, process);
    if (event->kind == TG_EVENT_EXEC || event->kind == TG_EVENT_PROCESS_EXIT)
        drop_teams(statistics, process);
    return error;
}

/* Whether all there is to do with events of KIND is the model's: so it is with most. */
static bool is_the_models(unsigned kind)
{
    return kind > TG_EVENT_OMP_PARALLEL_END && tg_event_has_place(kind);
}

struct tg_error *tg_openmp_statistics_feed_run(struct tg_openmp_statistics *statistics,
                                               const struct tg_event *events, const size_t *processes,
                                               size_t count)
{
    struct tg_error *error = NULL;
    for (size_t i = 0, end; error == NULL && i < count; i = end) {
        for (end = i; end < count && is_the_models(events[end].kind);)
            end++;
        error = tg_openmp_model_feed_run(statistics->model, events + i, processes + i, end - i);
        for (; error == NULL && end < count && !is_the_models(events[end].kind); end++)
            error = tg_openmp_statistics_feed(statistics, &events[end], processes[end]);
    }
    return error;
}

/* ---- answers */

const struct tg_openmp_model *tg_openmp_statistics_model(const struct tg_openmp_statistics *statistics)
{
    return statistics->model;
}

static int descending(uint64_t a, uint64_t b)
{
    return a < b ? 1 : a > b ? -1 : 0;
}

/* uthash keeps the order of addition, and glibc's qsort merges where there is memory: but only an explicit
 * tie-break is sure. */
static int compare_zones(const void *a, const void *b)
{
    const struct tg_openmp_zone_use *x = a, *y = b;
    int order = descending(x->total_ns, y->total_ns);
    if (order == 0)
        order = descending(x->count, y->count);
    if (order == 0)
        order = descending(y->process, x->process);
    return order != 0 ? order : descending(y->code, x->code);
}

static int compare_locks(const void *a, const void *b)
{
    const struct tg_openmp_lock_use *x = a, *y = b;
    int order = descending(x->wait_ns, y->wait_ns);
    if (order == 0)
        order = descending(x->entries, y->entries);
    if (order == 0)
        order = descending(y->process, x->process);
    if (order == 0)
        order = descending(y->mutex, x->mutex);
    return order != 0 ? order : descending(y->lock, x->lock);
}

static int compare_regions(const void *a, const void *b)
{
    const struct tg_openmp_region_use *x = a, *y = b;
    int order = descending(x->total_ns, y->total_ns);
    if (order == 0)
        order = descending(y->process, x->process);
    return order != 0 ? order : descending(y->code, x->code);
}

/* The uses of TABLE in an array of the statistics' own. */
#define SORTED(statistics, slot, record_type, table, use_type, compare, count)                               \
    __extension__({                                                                                          \
        size_t n = HASH_COUNT(table), at = 0;                                                                \
        struct use_type *uses = n == 0 ? NULL : calloc(n, sizeof *uses);                                     \
        for (const struct record_type *of = table; uses != NULL && of != NULL; of = of->hh.next)             \
            uses[at++] = of->use;                                                                            \
        if (uses != NULL)                                                                                    \
            qsort(uses, n, sizeof *uses, compare);                                                           \
        free((statistics)->sorted[slot]);                                                                    \
        (statistics)->sorted[slot] = uses;                                                                   \
        *(count) = uses == NULL ? 0 : n;                                                                     \
        uses;                                                                                                \
    })

const struct tg_openmp_zone_use *tg_openmp_statistics_zones(struct tg_openmp_statistics *statistics,
                                                            size_t *count)
{
    return SORTED(statistics, 0, zone, statistics->zones, tg_openmp_zone_use, compare_zones, count);
}

const struct tg_openmp_lock_use *tg_openmp_statistics_locks(struct tg_openmp_statistics *statistics,
                                                            size_t *count)
{
    return SORTED(statistics, 1, lock, statistics->locks, tg_openmp_lock_use, compare_locks, count);
}

const struct tg_openmp_region_use *tg_openmp_statistics_regions(struct tg_openmp_statistics *statistics,
                                                                size_t *count)
{
    return SORTED(statistics, 2, region, statistics->regions, tg_openmp_region_use, compare_regions, count);
}

struct tg_openmp_worker_use tg_openmp_statistics_worker(const struct tg_openmp_statistics *statistics,
                                                        size_t worker)
{
    if (worker < statistics->n_workers)
        return statistics->workers[worker];
    return (struct tg_openmp_worker_use){0};
}
