/* `opm step` and `opm step out`: into the next zone of the current worker, and until all are out of one. */
#include "live/motion.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- into the next zone */

struct stepping {
    const struct tg_focus *focus;
    bool has_worker;
    size_t process;
    int32_t tid;
};

static bool enters(const struct tg_event *event)
{
    switch ((unsigned)event->kind) {
    case TG_EVENT_OMP_IMPLICIT_BEGIN:
    case TG_EVENT_OMP_ZONE_BEGIN:
    case TG_EVENT_OMP_SECTION:
    case TG_EVENT_OMP_SYNC_BEGIN:
    case TG_EVENT_OMP_MUTEX_ENTER:
    case TG_EVENT_OMP_TASK_BEGIN:
        return true;
    default:
        return false;
    }
}

static bool is_inside(void *context, const struct tg_source *source)
{
    const struct stepping *stepping = context;
    const struct tg_process_entry *entry = source->moment->entry;
    if (entry == NULL || !enters(source->event))
        return false;
    if (stepping->has_worker)
        return entry->index == stepping->process && source->event->tid == stepping->tid;
    return tg_focus_has(stepping->focus, entry->index);
}

static struct tg_error *step_in(struct tg_console *console)
{
    const struct tg_openmp_worker *worker = tg_focus_worker(&console->focus, console->source);
    struct stepping stepping = {.focus = &console->focus, .has_worker = worker != NULL};
    if (worker != NULL) {
        stepping.process = worker->process;
        stepping.tid = worker->tid;
    }
    struct tg_error *error = tg_motion_until(console, is_inside, &stepping, "zone that this worker enters");
    if (error == NULL)
        tg_motion_follow(console);
    return error;
}

/* ---- until all are out */

/* The zone that the current worker is in. */
struct leaving {
    size_t process;
    size_t worker;
    struct tg_openmp_place place;
    uint64_t epoch; /* barriers that the worker had come to in the team: who comes to a later one is out */
    bool of_team;   /* all of the team go through it; else only the worker counts */
    bool *has_left; /* by thread number: seen leaving it */
    size_t n_has_left;
    bool no_memory;
};

enum { MAX_TEAM = 1 << 16 };

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

/* Remembers who leaves the zone by EVENT. */
static void take_leave(struct leaving *leaving, const struct tg_event *event)
{
    const struct tg_openmp_place *place = &leaving->place;
    uint64_t team, thread;
    if (event->kind == TG_EVENT_OMP_ZONE_END && place->kind == TG_OPENMP_IN_ZONE) {
        const struct tg_event_omp_zone_end *end = &event->omp_zone_end;
        if (end->zone != place->what && !(is_single(end->zone) && is_single(place->what)))
            return;
        team = end->team;
        thread = end->thread_num;
    } else if (event->kind == TG_EVENT_OMP_MUTEX_LEAVE && is_mutex(place)) {
        if (event->omp_mutex_leave.lock != place->id || event->omp_mutex_leave.mutex != place->what)
            return;
        team = event->omp_mutex_leave.team;
        thread = event->omp_mutex_leave.thread_num;
    } else {
        return;
    }
    if (team != place->team || thread >= MAX_TEAM)
        return;
    if (thread >= leaving->n_has_left) {
        bool *larger = realloc(leaving->has_left, thread + 1);
        if (larger == NULL) {
            leaving->no_memory = true;
            return;
        }
        memset(larger + leaving->n_has_left, 0, thread + 1 - leaving->n_has_left);
        leaving->has_left = larger;
        leaving->n_has_left = thread + 1;
    }
    leaving->has_left[thread] = true;
}

/* Whether MEMBER is through with the zone. */
static bool is_out(const struct leaving *leaving, const struct tg_openmp_member *member,
                   const struct tg_openmp_worker *worker)
{
    const struct tg_openmp_place *place = &leaving->place;
    if (member->ended)
        return true;
    if (place->kind == TG_OPENMP_IN_REGION || is_in_place(worker, place))
        return false; /* also for good: who died in it never leaves it */
    if (place->kind == TG_OPENMP_IN_SYNC)
        return member->left >= place->id;
    return member->arrived > leaving->epoch ||
           (member->thread_num < leaving->n_has_left && leaving->has_left[member->thread_num]);
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

static struct tg_error *step_out(struct tg_console *console)
{
    const struct tg_openmp_model *model = console->source->moment->openmp;
    const struct tg_openmp_worker *worker = tg_focus_worker(&console->focus, console->source);
    if (worker == NULL)
        return tg_error_create(TG_ERROR_NOT_FOUND, "there is no current worker; choose one with dfocus");
    if (worker->n_places == 0)
        return tg_error_create(TG_ERROR_NOT_FOUND, "worker %" PRIu64 " is not inside of a zone",
                               worker->number);
    struct leaving leaving = {
        .process = worker->process, .worker = worker->index, .place = worker->places[worker->n_places - 1]};
    const struct tg_openmp_team *team = tg_openmp_model_team(model, worker->process, leaving.place.team);
    leaving.of_team = team != NULL && is_of_team(&leaving.place);
    for (size_t i = 0; team != NULL && i < team->n_members; i++)
        if (team->members[i].worker == worker->index)
            leaving.epoch = team->members[i].arrived;
    /* The current worker stays the one that it is. */
    console->focus.worker = worker->index;
    struct tg_error *error = tg_motion_until(console, are_all_out, &leaving, "end of this zone");
    if (error == NULL && leaving.no_memory)
        error = tg_error_no_memory();
    free(leaving.has_left);
    return error;
}

static struct tg_error *run(struct tg_console *console, int argc, Tcl_Obj *const *argv, FILE *out)
{
    bool goes_out = argc == 1 && strcmp(Tcl_GetString(argv[0]), "out") == 0;
    if (argc > 1 || (argc == 1 && !goes_out))
        return tg_console_usage(&tg_console_opm_step);
    struct tg_error *error = goes_out ? step_out(console) : step_in(console);
    return error != NULL ? error : tg_console_print_place(console, out);
}

static const char *const words[] = {"out", NULL};

const struct tg_console_command tg_console_opm_step = {
    .name = "opm step",
    .arguments = "?out?",
    .summary = "goes to where the current worker enters its next zone; out: until all are out of this one",
    .example = "opm step out",
    .more =
        "out goes on until the last thread of the team has left the zone that the current worker is in. A\n"
        "thread that goes through without entering it (a nowait, a condition) counts when it comes to the\n"
        "next barrier or to the end of the region.",
    .words = words,
    .run = run,
};
