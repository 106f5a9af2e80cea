#include "live/source/zone_counter.h"

#include "format/base/array.h"
#include "format/base/hash.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_THREADS = 1 << 16, /* of a team that are counted; what others come to is never the first */
    MAX_ZONES = 4096,      /* constructs of a team */
};

/* A construct of a team: how often each thread has met it. */
struct zone {
    enum tg_zone_target target;
    uint64_t code;  /* or the lock of a critical section */
    uint64_t most;  /* of any thread */
    uint64_t first; /* the thread that came so often first */
    uint32_t *counts;
    size_t n_counts;
    struct tg_zone_sections sections; /* of such a zone */
};

/* How many sections zones a process has met. */
struct process {
    size_t index;
    uint64_t n_sections;
    UT_hash_handle hh;
};

struct team_key {
    size_t process;
    uint64_t id;
};

struct team {
    struct team_key key;
    struct zone *zones;
    size_t n_zones, capacity;
    UT_hash_handle hh;
};

struct tg_zone_counter {
    struct team *teams;
    struct team *last; /* events come in runs of one team */
    struct process *processes;
    bool is_first;
};

static const struct {
    const char *name;
    enum tg_zone_target target;
} names[] = {
    {"parallel", TG_TARGET_PARALLEL}, {"single", TG_TARGET_SINGLE},     {"critical", TG_TARGET_CRITICAL},
    {"task", TG_TARGET_TASK},         {"sections", TG_TARGET_SECTIONS}, {"barrier", TG_TARGET_BARRIER},
    {"master", TG_TARGET_MASTER},     {"masked", TG_TARGET_MASTER},     {"loop", TG_TARGET_LOOP},
};

enum tg_zone_target tg_zone_target_by_name(const char *name)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].name, name) == 0)
            return names[i].target;
    return TG_TARGET_NONE;
}

enum tg_zone_target tg_zone_target_of_zone(uint64_t zone)
{
    switch (zone) {
    case TG_OMP_ZONE_SINGLE:
    case TG_OMP_ZONE_SINGLE_OTHER:
        return TG_TARGET_SINGLE;
    case TG_OMP_ZONE_SECTIONS:
        return TG_TARGET_SECTIONS;
    case TG_OMP_ZONE_MASKED:
        return TG_TARGET_MASTER;
    case TG_OMP_ZONE_LOOP:
    case TG_OMP_ZONE_ORDERED_LOOP:
    case TG_OMP_ZONE_DOACROSS_LOOP:
        return TG_TARGET_LOOP;
    default:
        return TG_TARGET_NONE;
    }
}

static bool is_critical(uint64_t mutex)
{
    return mutex == TG_OMP_MUTEX_CRITICAL || mutex == TG_OMP_MUTEX_CRITICAL_NAMED;
}

enum tg_zone_target tg_zone_target_of(const struct tg_event *event)
{
    switch ((unsigned)event->kind) {
    case TG_EVENT_OMP_PARALLEL_BEGIN:
        return TG_TARGET_PARALLEL;
    case TG_EVENT_OMP_TASK_CREATE:
        return TG_TARGET_TASK;
    case TG_EVENT_OMP_ZONE_BEGIN:
        return tg_zone_target_of_zone(event->omp_zone_begin.zone);
    case TG_EVENT_OMP_MUTEX_WAIT:
        return is_critical(event->omp_mutex_wait.mutex) ? TG_TARGET_CRITICAL : TG_TARGET_NONE;
    case TG_EVENT_OMP_SYNC_BEGIN:
        return event->omp_sync_begin.sync <= TG_OMP_SYNC_BARRIER_JOIN ? TG_TARGET_BARRIER : TG_TARGET_NONE;
    case TG_EVENT_OMP_IMPLICIT_END: /* libgomp's arrival at the join; under OMPT it has an event of its own */
        return event->omp_implicit_end.seen == TG_OMP_OMPT ? TG_TARGET_NONE : TG_TARGET_BARRIER;
    default:
        return TG_TARGET_NONE;
    }
}

struct tg_error *tg_zone_counter_create(struct tg_zone_counter **counter)
{
    struct tg_zone_counter *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    *counter = made;
    return NULL;
}

static void drop_team(struct tg_zone_counter *counter, struct team *team)
{
    HASH_DEL(counter->teams, team);
    if (counter->last == team)
        counter->last = NULL;
    for (size_t i = 0; i < team->n_zones; i++)
        free(team->zones[i].counts);
    free(team->zones);
    free(team);
}

void tg_zone_counter_destroy(struct tg_zone_counter *counter)
{
    if (counter == NULL)
        return;
    struct team *team, *next;
    HASH_ITER (hh, counter->teams, team, next)
        drop_team(counter, team);
    struct process *process, *behind;
    HASH_ITER (hh, counter->processes, process, behind) {
        HASH_DEL(counter->processes, process);
        free(process);
    }
    free(counter);
}

static struct process *need_process(struct tg_zone_counter *counter, size_t index)
{
    struct process *process = NULL;
    HASH_FIND(hh, counter->processes, &index, sizeof index, process);
    if (process == NULL && TG_HASH_CREATE(hh, counter->processes, index, &index, process) != NULL)
        return NULL;
    return process;
}

static struct team *find_team(const struct tg_zone_counter *counter, size_t process, uint64_t id)
{
    struct team *team = counter->last;
    if (team != NULL && team->key.process == process && team->key.id == id)
        return team;
    struct team_key key;
    memset(&key, 0, sizeof key);
    key.process = process;
    key.id = id;
    HASH_FIND(hh, counter->teams, &key, sizeof key, team);
    return team;
}

static struct team *need_team(struct tg_zone_counter *counter, size_t process, uint64_t id)
{
    struct team *team = find_team(counter, process, id);
    if (team == NULL) {
        struct team_key key;
        memset(&key, 0, sizeof key);
        key.process = process;
        key.id = id;
        if (TG_HASH_CREATE(hh, counter->teams, key, &key, team) != NULL)
            return NULL;
    }
    counter->last = team;
    return team;
}

static struct tg_error *copy_zones(const struct team *from, struct team *to)
{
    to->zones = calloc(from->n_zones + 1, sizeof *to->zones);
    if (to->zones == NULL)
        return tg_error_no_memory();
    to->capacity = from->n_zones + 1;
    for (; to->n_zones < from->n_zones; to->n_zones++) {
        const struct zone *zone = &from->zones[to->n_zones];
        uint32_t *counts = calloc(zone->n_counts + 1, sizeof *counts);
        if (counts == NULL)
            return tg_error_no_memory();
        if (zone->n_counts > 0)
            memcpy(counts, zone->counts, zone->n_counts * sizeof *counts);
        to->zones[to->n_zones] = *zone;
        to->zones[to->n_zones].counts = counts;
    }
    return NULL;
}

struct tg_error *tg_zone_counter_copy(const struct tg_zone_counter *counter, struct tg_zone_counter **copy)
{
    struct tg_zone_counter *made = NULL;
    struct tg_error *error = tg_zone_counter_create(&made);
    for (const struct team *from = counter->teams; error == NULL && from != NULL; from = from->hh.next) {
        struct team *team = need_team(made, from->key.process, from->key.id);
        error = team == NULL ? tg_error_no_memory() : copy_zones(from, team);
    }
    for (const struct process *from = counter->processes; error == NULL && from != NULL;
         from = from->hh.next) {
        struct process *process = need_process(made, from->index);
        if (process == NULL)
            error = tg_error_no_memory();
        else
            process->n_sections = from->n_sections;
    }
    if (error != NULL) {
        tg_zone_counter_destroy(made);
        return error;
    }
    made->is_first = counter->is_first;
    *copy = made;
    return NULL;
}

/* NULL with *FULL false: no memory. */
static struct zone *need_zone(struct team *team, enum tg_zone_target target, uint64_t code, bool *full)
{
    for (size_t i = 0; i < team->n_zones; i++)
        if (team->zones[i].target == target && team->zones[i].code == code)
            return &team->zones[i];
    *full = team->n_zones == MAX_ZONES;
    if (*full)
        return NULL;
    if (TG_ARRAY_APPEND(team->zones, team->n_zones, team->capacity,
                        (struct zone){.target = target, .code = code}) != NULL)
        return NULL;
    return &team->zones[team->n_zones - 1];
}

static struct tg_error *count(struct tg_zone_counter *counter, struct zone *zone, uint64_t thread)
{
    if (thread >= MAX_THREADS)
        return NULL;
    if (thread >= zone->n_counts) {
        size_t n = thread + 1 < 2 * zone->n_counts ? 2 * zone->n_counts : (size_t)thread + 1;
        uint32_t *counts = reallocarray(zone->counts, n, sizeof *counts);
        if (counts == NULL)
            return tg_error_no_memory();
        memset(counts + zone->n_counts, 0, (n - zone->n_counts) * sizeof *counts);
        zone->counts = counts;
        zone->n_counts = n;
    }
    counter->is_first = ++zone->counts[thread] > zone->most;
    if (counter->is_first) {
        zone->most = zone->counts[thread];
        zone->first = thread;
    }
    return NULL;
}

/* A thread comes to the construct that CODE tells from others of its kind. */
static struct tg_error *come(struct tg_zone_counter *counter, size_t process, enum tg_zone_target target,
                             uint64_t team_id, uint64_t thread, uint64_t code)
{
    bool full = false;
    struct team *team = need_team(counter, process, team_id);
    struct zone *zone = team == NULL ? NULL : need_zone(team, target, code, &full);
    if (zone == NULL)
        return full ? NULL : tg_error_no_memory();
    return count(counter, zone, thread);
}

/* A thread came to the sections zone of BEGIN. The first one makes it a new one. */
static struct tg_error *come_to_sections(struct tg_zone_counter *counter, size_t index,
                                         const struct tg_event_omp_zone_begin *begin)
{
    bool full = false;
    struct team *team = counter->is_first ? need_team(counter, index, begin->team) : NULL;
    struct zone *zone = team == NULL ? NULL : need_zone(team, TG_TARGET_SECTIONS, begin->code, &full);
    struct process *process = zone == NULL ? NULL : need_process(counter, index);
    if (process == NULL)
        return counter->is_first && !full ? tg_error_no_memory() : NULL;
    zone->sections = (struct tg_zone_sections){++process->n_sections, begin->count, 0};
    return NULL;
}

/* The construct is that one of the team's that the thread came to last, as the newest ones are. */
static void begin_section(struct tg_zone_counter *counter, size_t process,
                          const struct tg_event_omp_section *section)
{
    struct team *team = find_team(counter, process, section->team);
    struct zone *found = NULL;
    for (size_t i = 0; team != NULL && i < team->n_zones; i++) {
        struct zone *zone = &team->zones[i];
        bool is_in = zone->target == TG_TARGET_SECTIONS && section->thread_num < zone->n_counts &&
                     zone->counts[section->thread_num] == zone->most;
        if (is_in && (found == NULL || zone->sections.number < found->sections.number))
            found = zone->sections.begun < zone->sections.count || zone->sections.count == 0 ? zone : found;
    }
    if (found != NULL && section->section == 0)
        found->sections.begun = UINT64_MAX;
    else if (found != NULL && found->sections.begun != UINT64_MAX)
        found->sections.begun++;
}

static void end_process(struct tg_zone_counter *counter, size_t process)
{
    struct team *team, *next;
    HASH_ITER (hh, counter->teams, team, next)
        if (team->key.process == process)
            drop_team(counter, team);
    struct process *ended = NULL;
    HASH_FIND(hh, counter->processes, &process, sizeof process, ended);
    if (ended != NULL)
        HASH_DEL(counter->processes, ended);
    free(ended);
}

static void end_team(struct tg_zone_counter *counter, size_t process, uint64_t id)
{
    struct team *team = find_team(counter, process, id);
    if (team != NULL)
        drop_team(counter, team);
}

struct tg_error *tg_zone_counter_feed(struct tg_zone_counter *counter, const struct tg_event *event,
                                      size_t process)
{
    counter->is_first = false;
    switch ((unsigned)event->kind) {
    case TG_EVENT_PROCESS_EXIT:
    case TG_EVENT_EXEC:
        end_process(counter, process);
        return NULL;
    case TG_EVENT_OMP_PARALLEL_END:
        end_team(counter, process, event->omp_parallel_end.ended_team);
        return NULL;
    case TG_EVENT_OMP_PARALLEL_BEGIN:
    case TG_EVENT_OMP_TASK_CREATE:
        counter->is_first = true;
        return NULL;
    case TG_EVENT_OMP_SECTION:
        begin_section(counter, process, &event->omp_section);
        return NULL;
    default:
        break;
    }
    enum tg_zone_target target = tg_zone_target_of(event);
    if (target == TG_TARGET_NONE)
        return NULL;
    if (event->kind == TG_EVENT_OMP_IMPLICIT_END) {
        const struct tg_event_omp_implicit_end *end = &event->omp_implicit_end;
        return come(counter, process, target, end->team, end->thread_num, true);
    }
    if (target == TG_TARGET_BARRIER) { /* all barriers of a team are one sequence, joins one more */
        const struct tg_event_omp_sync_begin *sync = &event->omp_sync_begin;
        return come(counter, process, target, sync->team, sync->thread_num,
                    sync->sync == TG_OMP_SYNC_BARRIER_JOIN);
    }
    if (target == TG_TARGET_CRITICAL) {
        const struct tg_event_omp_mutex_wait *wait = &event->omp_mutex_wait;
        return come(counter, process, target, wait->team, wait->thread_num, wait->lock);
    }
    const struct tg_event_omp_zone_begin *zone = &event->omp_zone_begin;
    struct tg_error *error = come(counter, process, target, zone->team, zone->thread_num, zone->code);
    return error != NULL || target != TG_TARGET_SECTIONS ? error : come_to_sections(counter, process, zone);
}

bool tg_zone_counter_is_first(const struct tg_zone_counter *counter)
{
    return counter->is_first;
}

static const struct zone *find_visited(const struct tg_zone_counter *counter,
                                       const struct tg_zone_visit *visit)
{
    const struct team *team = find_team(counter, visit->process, visit->team);
    for (size_t i = 0; team != NULL && i < team->n_zones; i++)
        if (team->zones[i].target == visit->target && team->zones[i].code == visit->code)
            return &team->zones[i];
    return NULL;
}

bool tg_zone_counter_was_first(const struct tg_zone_counter *counter, const struct tg_zone_visit *visit)
{
    const struct zone *zone = find_visited(counter, visit);
    return zone == NULL || (zone->first == visit->thread_num && visit->thread_num < zone->n_counts &&
                            zone->counts[visit->thread_num] == zone->most);
}

uint64_t tg_zone_counter_visits(const struct tg_zone_counter *counter, const struct tg_zone_visit *visit)
{
    const struct zone *zone = find_visited(counter, visit);
    return zone == NULL || visit->thread_num >= zone->n_counts ? 0 : zone->counts[visit->thread_num];
}

bool tg_zone_counter_sections(const struct tg_zone_counter *counter, size_t process, uint64_t team,
                              uint64_t code, struct tg_zone_sections *sections)
{
    const struct tg_zone_visit visit = {process, team, 0, TG_TARGET_SECTIONS, code};
    const struct zone *zone = find_visited(counter, &visit);
    if (zone == NULL || zone->sections.number == 0)
        return false;
    *sections = zone->sections;
    return true;
}
