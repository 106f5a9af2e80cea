#include "live/commands/motion/zone_exit.h"

#include "live/commands/motion/motion.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_TEAM = 1 << 16 };

/* A thread of the team, by its number. */
enum { HAS_LEFT = 1, HAS_GONE_ON = 2 };

struct leaving {
    size_t process;
    size_t worker;
    struct tg_openmp_place place;
    uint64_t epoch; /* barriers that the worker had come to in the team: who comes to a later one is out */
    bool of_team;   /* all of the team go through it; else only the worker counts */
    unsigned char *threads; /* by thread number */
    size_t n_threads;
    bool no_memory;
};

static bool is_single(uint64_t zone)
{
    return zone == TG_OMP_ZONE_SINGLE || zone == TG_OMP_ZONE_SINGLE_OTHER;
}

static bool is_critical(uint64_t mutex)
{
    return mutex == TG_OMP_MUTEX_CRITICAL || mutex == TG_OMP_MUTEX_CRITICAL_NAMED;
}

static bool is_mutex(const struct tg_openmp_place *place)
{
    return place->kind == TG_OPENMP_IN_MUTEX || place->kind == TG_OPENMP_IN_MUTEX_WAIT;
}

static bool is_join(const struct tg_openmp_place *place)
{
    return place->kind == TG_OPENMP_IN_SYNC && place->what == TG_OMP_SYNC_BARRIER_JOIN;
}

/* Whether all threads of a team go through PLACE. */
static bool is_of_team(const struct tg_openmp_place *place)
{
    if (is_mutex(place))
        return is_critical(place->what);
    if (place->kind == TG_OPENMP_IN_SYNC)
        return place->what <= TG_OMP_SYNC_BARRIER_JOIN;
    if (place->kind != TG_OPENMP_IN_ZONE)
        return place->kind == TG_OPENMP_IN_REGION;
    switch (place->what) {
    case TG_OMP_ZONE_MASKED:
    case TG_OMP_ZONE_TASKGROUP:
    case TG_OMP_ZONE_TASKLOOP:
    case TG_OMP_ZONE_TEAMS:
    case TG_OMP_ZONE_TARGET:
        return false;
    default:
        return true;
    }
}

static bool is_same(const struct tg_openmp_place *a, const struct tg_openmp_place *b)
{
    if (a->team != b->team)
        return false;
    if (is_mutex(a))
        return is_mutex(b) && a->what == b->what && a->id == b->id;
    if (a->kind != b->kind)
        return false;
    bool both_single = a->kind == TG_OPENMP_IN_ZONE && is_single(a->what) && is_single(b->what);
    return both_single || (a->what == b->what && a->id == b->id);
}

static bool is_in_place(const struct tg_openmp_worker *worker, const struct tg_openmp_place *place)
{
    for (size_t i = 0; i < worker->n_places; i++)
        if (is_same(&worker->places[i], place))
            return true;
    return false;
}

bool tg_zone_exit_has_join(const struct tg_openmp_model *model, size_t process, uint64_t team, uint64_t seen)
{
    const struct tg_openmp_team *found = tg_openmp_model_team(model, process, team);
    return seen == TG_OMP_OMPT && found != NULL && found->size > 1;
}

/* ---- threads that have left */

static bool is_leave(const struct leaving *leaving, const struct tg_event *event)
{
    const struct tg_openmp_place *place = &leaving->place;
    switch ((unsigned)event->kind) {
    case TG_EVENT_OMP_ZONE_END:
        return place->kind == TG_OPENMP_IN_ZONE &&
               (event->omp_zone_end.zone == place->what ||
                (is_single(event->omp_zone_end.zone) && is_single(place->what)));
    case TG_EVENT_OMP_MUTEX_LEAVE:
        return is_mutex(place) && event->omp_mutex_leave.lock == place->id &&
               event->omp_mutex_leave.mutex == place->what;
    case TG_EVENT_OMP_SYNC_END:
        return place->kind == TG_OPENMP_IN_SYNC && event->omp_sync_end.instance == place->id;
    default:
        return false;
    }
}

static void note(struct leaving *leaving, uint64_t thread, int what)
{
    if (thread >= MAX_TEAM)
        return;
    if (thread >= leaving->n_threads) {
        size_t n = thread + 1 < 2 * leaving->n_threads ? 2 * leaving->n_threads : (size_t)thread + 1;
        unsigned char *larger = realloc(leaving->threads, n);
        if (larger == NULL) {
            leaving->no_memory = true;
            return;
        }
        memset(larger + leaving->n_threads, 0, n - leaving->n_threads);
        leaving->threads = larger;
        leaving->n_threads = n;
    }
    leaving->threads[thread] = (unsigned char)(leaving->threads[thread] | what);
}

/* Remembers who leaves the zone by EVENT, and who does something after having left it. */
static void take_leave(struct leaving *leaving, const struct tg_event *event)
{
    if (event->kind < TG_EVENT_OMP_PARALLEL_BEGIN || event->kind > TG_EVENT_OMP_CANCEL)
        return;
    const struct tg_omp_place *at = (const void *)TG_EVENT_PAYLOAD(event);
    uint64_t thread = at->thread_num;
    if (at->team != leaving->place.team)
        return;
    if (thread < leaving->n_threads && (leaving->threads[thread] & HAS_LEFT) != 0) {
        note(leaving, thread, HAS_GONE_ON);
        return;
    }
    if (is_leave(leaving, event))
        note(leaving, thread, HAS_LEFT);
}

static bool has_left(const struct leaving *leaving, uint64_t thread)
{
    return thread < leaving->n_threads && (leaving->threads[thread] & HAS_LEFT) != 0;
}

/* Whether MEMBER is through with the zone. */
static bool is_out(const struct leaving *leaving, const struct tg_openmp_member *member,
                   const struct tg_openmp_worker *worker)
{
    const struct tg_openmp_place *place = &leaving->place;
    if (is_join(place))
        return false; /* a worker's region ends with the team's */
    if (member->ended)
        return true;
    if (place->kind == TG_OPENMP_IN_REGION || is_in_place(worker, place))
        return false; /* also for good: who died in it never leaves it */
    if (place->kind == TG_OPENMP_IN_SYNC)
        return member->left >= place->id;
    return member->arrived > leaving->epoch || has_left(leaving, member->thread_num);
}

static bool are_all_out(void *context, const struct tg_source *source)
{
    struct leaving *leaving = context;
    const struct tg_openmp_model *model = source->moment->openmp;
    if (source->moment->entry == NULL || source->moment->entry->index != leaving->process)
        return false;
    take_leave(leaving, source->event);
    if (leaving->no_memory)
        return true;
    if (!leaving->of_team)
        return !is_in_place(tg_openmp_model_worker_at(model, leaving->worker), &leaving->place);
    const struct tg_openmp_team *team = tg_openmp_model_team(model, leaving->process, leaving->place.team);
    if (team == NULL)
        return true;
    if (team->n_members < team->size)
        return false;
    for (size_t i = 0; i < team->n_members; i++)
        if (!is_out(leaving, &team->members[i], tg_openmp_model_worker_at(model, team->members[i].worker)))
            return false;
    return true;
}

static void summarise(const struct leaving *leaving, const struct tg_openmp_model *model,
                      struct tg_zone_exit *exit)
{
    const struct tg_openmp_team *team = tg_openmp_model_team(model, leaving->process, leaving->place.team);
    *exit = (struct tg_zone_exit){.out = 1};
    if (!leaving->of_team)
        return;
    if (team == NULL) {
        exit->out = leaving->n_threads;
        return;
    }
    exit->out = team->n_members;
    bool waits = leaving->place.kind == TG_OPENMP_IN_SYNC || leaving->place.kind == TG_OPENMP_IN_REGION;
    for (size_t i = 0; i < team->n_members; i++) {
        const struct tg_openmp_member *member = &team->members[i];
        bool seen = member->thread_num < leaving->n_threads &&
                    (leaving->threads[member->thread_num] & HAS_GONE_ON) != 0;
        exit->gone_on += seen || (!waits && member->arrived > leaving->epoch);
    }
}

struct tg_error *tg_zone_exit_run(struct tg_console *console, const struct tg_openmp_worker *worker,
                                  const struct tg_openmp_place *place, const char *what,
                                  struct tg_zone_exit *exit)
{
    const struct tg_openmp_model *model = console->source->moment->openmp;
    struct leaving leaving = {.process = worker->process, .worker = worker->index, .place = *place};
    const struct tg_openmp_team *team = tg_openmp_model_team(model, worker->process, place->team);
    leaving.of_team = team != NULL && is_of_team(place);
    for (size_t i = 0; team != NULL && i < team->n_members; i++) {
        if (team->members[i].worker == worker->index)
            leaving.epoch = team->members[i].arrived;
        if (place->kind == TG_OPENMP_IN_SYNC && !is_join(place) && team->members[i].left >= place->id)
            note(&leaving, team->members[i].thread_num,
                 team->members[i].arrived > place->id ? HAS_LEFT | HAS_GONE_ON : HAS_LEFT);
    }
    /* The current worker stays the one that it is. */
    console->focus.worker = worker->index;
    struct tg_error *error = tg_motion_until(console, are_all_out, &leaving, what);
    if (error == NULL && leaving.no_memory)
        error = tg_error_no_memory();
    if (error == NULL && exit != NULL)
        summarise(&leaving, console->source->moment->openmp, exit);
    free(leaving.threads);
    return error;
}
