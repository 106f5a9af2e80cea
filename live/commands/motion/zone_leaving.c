/* Out of zones of a live job, all workers together: what `opm all_out`, `opm step out` and `opm barrier pass` do. */
#include "live/commands/motion/live_zones.h"

#include "analyzer/finding/words.h"
#include "analyzer/models/openmp/barrier.h"
#include "live/commands/motion/deadlock.h"
#include "live/commands/motion/gate_course.h"

#include <inttypes.h>

static const uint16_t any = UINT16_MAX;

#define BIT(which) ((uint16_t)(1U << (which)))

static bool is_single(uint64_t zone)
{
    return zone == TG_OMP_ZONE_SINGLE || zone == TG_OMP_ZONE_SINGLE_OTHER;
}

static bool is_join(const struct tg_openmp_place *place)
{
    return place->kind == TG_OPENMP_IN_REGION ||
           (place->kind == TG_OPENMP_IN_SYNC && place->what == TG_OMP_SYNC_BARRIER_JOIN);
}

static bool is_barrier(const struct tg_openmp_place *place)
{
    return place->kind == TG_OPENMP_IN_SYNC && place->what <= TG_OMP_SYNC_BARRIER_JOIN;
}

static bool is_mutex(const struct tg_openmp_place *place)
{
    return place->kind == TG_OPENMP_IN_MUTEX || place->kind == TG_OPENMP_IN_MUTEX_WAIT;
}

/* What leaves PLACE. */
static struct tg_gate_rule rule_out_of(const struct tg_openmp_place *place)
{
    if (is_join(place))
        return (struct tg_gate_rule){tg_gate_kind(TG_EVENT_OMP_PARALLEL_END), any, TG_GATE_EQUAL,
                                     place->team};
    switch ((unsigned)place->kind) {
    case TG_OPENMP_IN_ZONE:
        return (struct tg_gate_rule){tg_gate_kind(TG_EVENT_OMP_ZONE_END),
                                     is_single(place->what)
                                         ? BIT(TG_OMP_ZONE_SINGLE) | BIT(TG_OMP_ZONE_SINGLE_OTHER)
                                         : BIT(place->what),
                                     TG_GATE_ANY, 0};
    case TG_OPENMP_IN_MUTEX:
    case TG_OPENMP_IN_MUTEX_WAIT:
        return (struct tg_gate_rule){tg_gate_kind(TG_EVENT_OMP_MUTEX_LEAVE), BIT(place->what), TG_GATE_EQUAL,
                                     place->id};
    case TG_OPENMP_IN_TASK:
        return (struct tg_gate_rule){tg_gate_kind(TG_EVENT_OMP_TASK_END), any, TG_GATE_EQUAL, place->id};
    default:
        if (is_barrier(place)) /* a thread from another construct sees another kind of the same barrier */
            return (struct tg_gate_rule){tg_gate_kind(TG_EVENT_OMP_SYNC_END),
                                         BIT(TG_OMP_SYNC_BARRIER) | BIT(TG_OMP_SYNC_BARRIER_IMPLICIT),
                                         TG_GATE_AT_LEAST, place->id};
        return (struct tg_gate_rule){tg_gate_kind(TG_EVENT_OMP_SYNC_END), BIT(place->what), TG_GATE_ANY, 0};
    }
}

/* Whether all of a team go through PLACE. */
static bool is_of_team(const struct tg_openmp_place *place)
{
    if (is_mutex(place))
        return place->what == TG_OMP_MUTEX_CRITICAL || place->what == TG_OMP_MUTEX_CRITICAL_NAMED;
    if (place->kind == TG_OPENMP_IN_SYNC)
        return is_barrier(place);
    return place->kind == TG_OPENMP_IN_REGION ||
           (place->kind == TG_OPENMP_IN_ZONE && tg_zone_target_of_zone(place->what) != TG_TARGET_MASTER &&
            place->what != TG_OMP_ZONE_TASKGROUP && place->what != TG_OMP_ZONE_TASKLOOP &&
            place->what != TG_OMP_ZONE_TEAMS && place->what != TG_OMP_ZONE_TARGET);
}

/* Whether it is the same construct of another worker, or its like: who is inside of it, and who waits for it. */
static bool is_like(const struct tg_openmp_place *place, const struct tg_openmp_place *other)
{
    if (is_mutex(place))
        return is_mutex(other) && other->what == place->what;
    return other->kind == place->kind &&
           (other->what == place->what ||
            (place->kind == TG_OPENMP_IN_ZONE && is_single(other->what) && is_single(place->what)));
}

static bool is_in(const struct tg_openmp_worker *worker, const struct tg_openmp_place *place)
{
    for (size_t i = 0; i < worker->n_places; i++) {
        const struct tg_openmp_place *other = &worker->places[i];
        if (other->team == place->team && is_like(place, other) &&
            (!is_mutex(place) || other->id == place->id))
            return true;
    }
    return false;
}

/* How often the thread THREAD_NUM of PLACE's team came to what PLACE is. */
static uint64_t visits(const struct tg_source *source, size_t process, const struct tg_openmp_place *place,
                       uint64_t thread_num)
{
    enum tg_zone_target target = is_mutex(place) ? TG_TARGET_CRITICAL : tg_zone_target_of_zone(place->what);
    const struct tg_zone_visit visit = {process, place->team, thread_num, target,
                                        is_mutex(place) ? place->id : place->code};
    return tg_zone_counter_visits(source->moment->zones, &visit);
}

/* Whether MEMBER is through with PLACE, of which WORKER's visit is the last that counts. */
static bool has_left(const struct tg_source *source, const struct tg_openmp_worker *worker,
                     const struct tg_openmp_place *place, const struct tg_openmp_member *member,
                     const struct tg_openmp_worker *other)
{
    if (is_barrier(place))
        return member->left >= place->id;
    if (member->ended)
        return true;
    if (place->kind == TG_OPENMP_IN_REGION || is_in(other, place))
        return false;
    return visits(source, worker->process, place, member->thread_num) >=
           visits(source, worker->process, place, place->thread_num);
}

/* A member that leaves the construct out shows it at the team's next barrier, or at the end of its body. */
static void add_ways_past(struct tg_worker_gate *gate, const struct tg_openmp_member *member)
{
    gate->rules[gate->n_rules++] = (struct tg_gate_rule){
        tg_gate_kind(TG_EVENT_OMP_SYNC_BEGIN), BIT(TG_OMP_SYNC_BARRIER) | BIT(TG_OMP_SYNC_BARRIER_IMPLICIT),
        TG_GATE_AT_LEAST, member->arrived + 1};
    gate->rules[gate->n_rules++] =
        (struct tg_gate_rule){tg_gate_kind(TG_EVENT_OMP_IMPLICIT_END), any, TG_GATE_ANY, 0};
}

/* One that is not a barrier or the region's end. */
static struct tg_error *add_members(struct tg_console *console, const struct tg_openmp_team *team,
                                    const struct tg_openmp_worker *worker,
                                    const struct tg_openmp_place *place, struct tg_gate_run *run)
{
    const struct tg_openmp_model *model = console->source->moment->openmp;
    int32_t pid = tg_gate_run_pid(console, worker->process);
    struct tg_worker_gate gate = {.pid = pid, .team = team->id, .n_rules = 1, .rules = {rule_out_of(place)}};
    for (size_t i = 0; i < team->n_members; i++)
        if (team->members[i].worker == worker->index && !is_barrier(place))
            add_ways_past(&gate, &team->members[i]);
    struct tg_error *error = tg_gate_run_add_gate(run, &gate);
    run->n_unknown += team->size > team->n_members ? team->size - team->n_members : 0;
    for (size_t i = 0; error == NULL && i < team->n_members; i++) {
        const struct tg_openmp_worker *other = tg_openmp_model_worker_at(model, team->members[i].worker);
        error = tg_gate_run_add_worker(
            run, &(struct tg_gate_worker){
                     .index = other->index,
                     .pid = pid,
                     .tid = other->tid,
                     .is_out = has_left(console->source, worker, place, &team->members[i], other)});
    }
    return error;
}

/* The worker alone; or who has begun the team, for the end of its region. */
static struct tg_error *add_one(struct tg_console *console, const struct tg_openmp_worker *worker,
                                const struct tg_openmp_place *place, struct tg_gate_run *run)
{
    int32_t pid = tg_gate_run_pid(console, worker->process);
    const struct tg_worker_gate gate = {.pid = pid,
                                        .tid = is_join(place) ? 0 : worker->tid,
                                        .in_tasks = true,
                                        .n_rules = 1,
                                        .rules = {rule_out_of(place)}};
    struct tg_error *error = tg_gate_run_add_gate(run, &gate);
    return error != NULL
               ? error
               : tg_gate_run_add_worker(
                     run, &(struct tg_gate_worker){.index = worker->index, .pid = pid, .tid = worker->tid});
}

/* The worker that met the construct of TEAM: it has number 0 in it. */
static const struct tg_openmp_worker *beginner_of(const struct tg_openmp_model *model,
                                                  const struct tg_openmp_team *team)
{
    if (team->owner != SIZE_MAX)
        return tg_openmp_model_worker_at(model, team->owner);
    for (size_t i = 0; i < team->n_members; i++)
        if (team->members[i].thread_num == 0)
            return tg_openmp_model_worker_at(model, team->members[i].worker);
    return NULL;
}

static struct tg_error *add_place(struct tg_console *console, const struct tg_openmp_worker *worker,
                                  const struct tg_openmp_place *place, struct tg_gate_run *run)
{
    const struct tg_openmp_model *model = console->source->moment->openmp;
    const struct tg_openmp_team *team = tg_openmp_model_team(model, worker->process, place->team);
    if (team != NULL && is_join(place)) {
        const struct tg_openmp_worker *beginner = beginner_of(model, team);
        run->n_staying += team->size > 1 ? team->size - 1 : 0;
        return add_one(console, beginner == NULL ? worker : beginner, place, run);
    }
    return team == NULL || !is_of_team(place) ? add_one(console, worker, place, run)
                                              : add_members(console, team, worker, place, run);
}

static bool has_several_processes(const struct tg_console *console, const struct tg_gate_run *run)
{
    const struct tg_openmp_model *model = console->source->moment->openmp;
    for (size_t i = 1; i < run->n_workers; i++)
        if (tg_openmp_model_worker_at(model, run->workers[i].index)->process !=
            tg_openmp_model_worker_at(model, run->workers[0].index)->process)
            return true;
    return false;
}

/* "worker 3 cannot arrive: ...", "worker 3 of rank 2 has ended": those who have not come, and why. */
static struct tg_error *tell_missing(const struct tg_console *console, const struct tg_gate_run *run,
                                     FILE *out)
{
    TG_AUTO_DEADLOCK struct tg_deadlock deadlock = {0};
    struct tg_error *error = tg_deadlock_find(console, &deadlock);
    const struct tg_verdict_input input = tg_console_words(console);
    const bool tells_process = has_several_processes(console, run);
    const char *text = NULL;
    for (size_t i = 0; error == NULL && i < run->n_workers; i++) {
        const struct tg_gate_worker *worker = &run->workers[i];
        const struct tg_openmp_worker *known =
            tg_openmp_model_worker_at(console->source->moment->openmp, worker->index);
        if (worker->is_out || worker->waits)
            continue;
        bool is_stuck = worker->cannot && tg_deadlock_has(&deadlock, known->process, known->tid);
        fprintf(out, "worker %" PRIu64, known->number);
        if (tells_process) {
            fputs(" of ", out);
            tg_words_process(out, &input, known->process);
        }
        fprintf(out, " %s\n",
                !known->alive ? "has ended"
                : is_stuck    ? "cannot arrive: it is in a deadlock, or waits for one who is"
                : worker->cannot
                    ? "cannot arrive: it waits for others that do not come (`where` says for whom)"
                    : "was stopped before it left the zone");
        if (is_stuck && text == NULL)
            text = tg_deadlock_text(&deadlock, known->process);
    }
    if (text != NULL)
        fprintf(out, "%s\n", text);
    return error;
}

/* "4 workers are behind it", and who is not, and why. */
static struct tg_error *tell_result(const struct tg_console *console, const struct tg_gate_run *run,
                                    FILE *out)
{
    size_t n_out = 0, n_missing = 0, n_all = run->n_workers + run->n_unknown;
    for (size_t i = 0; i < run->n_workers; i++) {
        n_out += run->workers[i].is_out;
        n_missing += !run->workers[i].is_out && !run->workers[i].waits;
    }
    size_t n_there = run->n_here + n_out, n_told = n_there + n_missing;
    fprintf(out, "%zu of %zu worker%s %s out and stopped behind it\n", n_there, n_all, n_all == 1 ? "" : "s",
            n_all == 1 ? "is" : "are");
    if (run->n_staying > 0 && n_there > 0)
        fprintf(out,
                "a region's end releases only the worker that began it: the %zu other%s of the team%s wait%s "
                "for the next region\n",
                run->n_staying, run->n_staying == 1 ? "" : "s", run->n_workers == 1 ? "" : "s",
                run->n_staying == 1 ? "s" : "");
    if (n_out > 0)
        fprintf(out, "%zu of them had left it before, and may have gone on\n", n_out);
    if (run->n_unplaced > 0)
        fprintf(out, "%zu could not be made to wait and may have run further\n", run->n_unplaced);
    if (n_told < n_all)
        fprintf(out, "%zu had not begun with %s team, and %s not come\n", n_all - n_told,
                n_all - n_told == 1 ? "its" : "their", n_all - n_told == 1 ? "has" : "have");
    return n_missing == 0 ? NULL : tell_missing(console, run, out);
}

/* Of a zone at whose end GCC's code calls nothing: those who left it are where they were next seen. */
static void tell_inferred(const struct tg_openmp_place *place, FILE *out)
{
    bool is_of_gcc =
        place->seen == TG_OMP_INFERRED || (place->seen == TG_OMP_WRAPPED && is_single(place->what));
    if (place->kind == TG_OPENMP_IN_ZONE && is_of_gcc)
        fputs("GCC's code calls nothing at its end: each is where it was next seen, at a barrier or what "
              "comes next\n",
              out);
}

static bool has_part(const struct tg_console *console, const struct tg_gate_run *run, size_t process)
{
    const struct tg_openmp_model *model = console->source->moment->openmp;
    for (size_t i = 0; i < run->n_workers; i++)
        if (tg_openmp_model_worker_at(model, run->workers[i].index)->process == process)
            return true;
    return false;
}

/* Ranks in focus that have no such team yet: they are not among those who were counted. */
static void tell_absent(const struct tg_console *console, const struct tg_gate_run *run, FILE *out)
{
    const struct tg_process_model *processes = console->source->moment->processes;
    size_t n_absent = 0;
    int64_t first = -1;
    for (size_t i = 0; i < tg_process_model_count(processes); i++) {
        const struct tg_process_entry *entry = tg_process_model_at(processes, i);
        if (entry->end != TG_PROCESS_RUNNING || entry->rank < 0 || !tg_focus_has(&console->focus, i) ||
            has_part(console, run, i))
            continue;
        if (n_absent++ == 0)
            first = entry->rank;
    }
    if (n_absent == 1)
        fprintf(out, "rank %" PRId64 " is not there yet, and did not run\n", first);
    else if (n_absent > 1)
        fprintf(out, "rank %" PRId64 " and %zu more are not there yet, and did not run\n", first,
                n_absent - 1);
}

/* Whether the processes of all workers of RUN are no more. */
static bool have_all_ended(struct tg_console *console, const struct tg_gate_run *run)
{
    tg_console_catch_up(console);
    const struct tg_moment *moment = console->source->moment;
    for (size_t i = 0; i < run->n_workers; i++) {
        const struct tg_openmp_worker *worker =
            tg_openmp_model_worker_at(moment->openmp, run->workers[i].index);
        const struct tg_process_entry *entry = tg_process_model_at(moment->processes, worker->process);
        if (entry == NULL || entry->end == TG_PROCESS_RUNNING)
            return false;
    }
    return run->n_workers > 0;
}

static struct tg_error *run_out(struct tg_console *console, struct tg_gate_run *run, const char *name,
                                FILE *out)
{
    struct tg_error *error = tg_gate_course_run(console, run, name, out);
    if (error != NULL && tg_error_code(error) == TG_ERROR_NOT_FOUND && have_all_ended(console, run)) {
        tg_error_destroy(error); /* of the focus, which was theirs */
        error = NULL;
        run->n_here = 0;
        for (size_t i = 0; i < run->n_workers; i++)
            run->workers[i].waits = run->workers[i].is_out = false;
    }
    if (error == NULL)
        error = tell_result(console, run, out);
    if (error == NULL)
        tell_absent(console, run, out);
    return error;
}

/* The innermost place of a worker of another process that is like PLACE. */
static const struct tg_openmp_place *find_like(const struct tg_openmp_worker *worker,
                                               const struct tg_openmp_place *place)
{
    for (size_t i = worker->n_places; i-- > 0;)
        if (is_like(place, &worker->places[i]))
            return &worker->places[i];
    return NULL;
}

/* The same in the other processes in focus: of each the first worker that is at the like. */
static struct tg_error *add_others(struct tg_console *console, const struct tg_openmp_worker *worker,
                                   const struct tg_openmp_place *place, struct tg_gate_run *run)
{
    const struct tg_openmp_model *model = console->source->moment->openmp;
    struct tg_error *error = NULL;
    size_t n_workers = tg_openmp_model_worker_count(model), last = worker->process;
    for (size_t i = 0; error == NULL && i < n_workers; i++) {
        const struct tg_openmp_worker *other = tg_openmp_model_worker_at(model, i);
        const struct tg_openmp_place *like = other->alive ? find_like(other, place) : NULL;
        bool is_known = other->process == worker->process || other->process == last;
        for (size_t k = 0; k < run->n_workers && !is_known; k++)
            is_known = tg_openmp_model_worker_at(model, run->workers[k].index)->process == other->process;
        if (is_known || like == NULL || !tg_focus_has(&console->focus, other->process))
            continue;
        last = other->process;
        error = add_place(console, other, like, run);
    }
    return error;
}

struct tg_error *tg_live_zone_leave(struct tg_console *console, const struct tg_openmp_worker *worker,
                                    const struct tg_openmp_place *place, const char *name, FILE *out)
{
    struct tg_gate_run run = {.of_process = true};
    const struct tg_openmp_place kept = *place; /* WORKER's places change as events are taken */
    struct tg_error *error = add_place(console, worker, &kept, &run);
    if (error == NULL)
        error = add_others(console, worker, &kept, &run);
    if (error == NULL)
        error = run_out(console, &run, name, out);
    if (error == NULL)
        tell_inferred(&kept, out);
    tg_gate_run_deinit(&run);
    return error;
}

/* ---- barriers */

struct passing {
    struct tg_console *console;
    struct tg_gate_run *run;
    const struct tg_openmp_worker *worker; /* of its process its teams alone are meant; NULL: all */
    /* a barrier that somebody is at: other processes' teams on the same level are to come as far */
    bool is_found, is_join;
    uint64_t level, instance;
    size_t n_left_out; /* teams that wait for workers of inner teams, which are at a barrier themselves */
};

static bool is_member(const struct tg_openmp_team *team, const struct tg_openmp_worker *worker)
{
    for (size_t i = 0; i < team->n_members; i++)
        if (team->members[i].worker == worker->index)
            return true;
    return false;
}

static bool is_meant(const struct passing *passing, const struct tg_openmp_team *team)
{
    bool is_ours = passing->worker == NULL || passing->worker->process != team->process ||
                   is_member(team, passing->worker);
    const struct tg_process_entry *entry =
        tg_process_model_at(passing->console->source->moment->processes, team->process);
    bool runs =
        entry != NULL && entry->end == TG_PROCESS_RUNNING; /* a dead one's teams stay where they were */
    return team->n_members > 0 && is_ours && runs && tg_focus_has(&passing->console->focus, team->process);
}

static bool to_pass(const struct passing *passing, const struct tg_openmp_team *team,
                    struct tg_openmp_barrier *at)
{
    return tg_openmp_barrier_to_pass(team, passing->worker == NULL ? SIZE_MAX : passing->worker->index, at);
}

/* A team whose barrier AT lacks a worker that is inside of another team, which is at a barrier, too. */
struct outer {
    const struct passing *passing;
    const struct tg_openmp_team *team;
    const struct tg_openmp_barrier *at;
    bool lacks_inner;
};

/* The team with which TEAM is, in the end, inside of OUTER: one that was met there; NULL: it is not. */
static const struct tg_openmp_team *team_within(const struct tg_openmp_model *model,
                                                const struct tg_openmp_team *team,
                                                const struct tg_openmp_team *outer)
{
    while (team != NULL && team->process == outer->process && team->parent != outer->id)
        team = team->parent == 0 ? NULL : tg_openmp_model_team(model, team->process, team->parent);
    return team;
}

static struct tg_error *look_at_inner(void *context, const struct tg_openmp_team *team)
{
    struct outer *outer = context;
    const struct tg_openmp_model *model = outer->passing->console->source->moment->openmp;
    struct tg_openmp_barrier at;
    if (team == outer->team || team->process != outer->team->process || !to_pass(outer->passing, team, &at))
        return NULL;
    const struct tg_openmp_team *within = team_within(model, team, outer->team);
    for (size_t i = 0; within != NULL && i < outer->team->n_members; i++)
        if (outer->team->members[i].worker == within->owner &&
            tg_openmp_barrier_standing(&outer->team->members[i], outer->at) == TG_OPENMP_MISSING)
            outer->lacks_inner = true;
    return NULL;
}

/* Whether TEAM's barrier AT can be passed only when an inner team has gone past its own. */
static bool lacks_inner(const struct passing *passing, const struct tg_openmp_team *team,
                        const struct tg_openmp_barrier *at)
{
    struct outer outer = {.passing = passing, .team = team, .at = at};
    (void)tg_openmp_model_visit_teams(passing->console->source->moment->openmp, look_at_inner, &outer);
    return outer.lacks_inner;
}

static struct tg_error *find_barrier(void *context, const struct tg_openmp_team *team)
{
    struct passing *passing = context;
    struct tg_openmp_barrier at;
    if (!is_meant(passing, team) || passing->is_found || !to_pass(passing, team, &at) ||
        lacks_inner(passing, team, &at))
        return NULL;
    passing->is_found = true;
    passing->is_join = at.sync == TG_OMP_SYNC_BARRIER_JOIN;
    passing->level = team->level;
    passing->instance = at.instance;
    return NULL;
}

static struct tg_error *add_barrier(void *context, const struct tg_openmp_team *team)
{
    struct passing *passing = context;
    const struct tg_openmp_model *model = passing->console->source->moment->openmp;
    struct tg_openmp_barrier at;
    bool is_at = to_pass(passing, team, &at);
    if (!is_meant(passing, team) || (!is_at && team->level != passing->level))
        return NULL;
    if (is_at && lacks_inner(passing, team, &at)) {
        passing->n_left_out++;
        return NULL;
    }
    const struct tg_openmp_place place = {.kind = TG_OPENMP_IN_SYNC,
                                          .what = is_at              ? at.sync
                                                  : passing->is_join ? TG_OMP_SYNC_BARRIER_JOIN
                                                                     : TG_OMP_SYNC_BARRIER,
                                          .team = team->id,
                                          .id = is_at ? at.instance : passing->instance};
    return add_place(passing->console, tg_openmp_model_worker_at(model, team->members[0].worker), &place,
                     passing->run);
}

struct tg_error *tg_live_zone_reached_barrier(struct tg_console *console, uint64_t *instance)
{
    struct passing passing = {.console = console};
    if (console->focus.has_thread)
        passing.worker = tg_focus_worker(&console->focus, console->source);
    struct tg_error *error =
        tg_openmp_model_visit_teams(console->source->moment->openmp, find_barrier, &passing);
    *instance = passing.is_found ? passing.instance : 0;
    return error;
}

/* Of a current worker only its own teams are meant: where another one is at a barrier that is said. */
static struct tg_error *refuse_pass(struct tg_console *console, const struct tg_openmp_worker *worker)
{
    struct passing others = {.console = console};
    struct tg_error *error =
        tg_openmp_model_visit_teams(console->source->moment->openmp, find_barrier, &others);
    if (error != NULL)
        return error;
    if (worker == NULL || !others.is_found)
        return tg_error_create(TG_ERROR_NOT_FOUND,
                               "no team is at a barrier (`opm next barrier` goes to one)");
    const uint32_t dpid = (uint32_t)worker->process + 1;
    return tg_error_create(TG_ERROR_NOT_FOUND,
                           "no team of worker %" PRIu64
                           " is at a barrier, but another one is (`info barrier`): `dfocus p%" PRIu32
                           " {opm barrier pass}` passes those of all teams",
                           worker->number, dpid);
}

struct tg_error *tg_live_zone_pass_barrier(struct tg_console *console, FILE *out)
{
    struct tg_gate_run run = {.of_process = true};
    struct passing passing = {.console = console, .run = &run};
    const struct tg_openmp_model *model = console->source->moment->openmp;
    if (console->focus.has_thread)
        passing.worker = tg_focus_worker(&console->focus, console->source);
    struct tg_error *error = tg_openmp_model_visit_teams(model, find_barrier, &passing);
    if (error == NULL && !passing.is_found)
        error = refuse_pass(console, passing.worker);
    if (error == NULL)
        error = tg_openmp_model_visit_teams(model, add_barrier, &passing);
    if (error == NULL)
        error = run_out(console, &run, "opm barrier pass", out);
    if (error == NULL && passing.n_left_out > 0)
        fprintf(out, "%zu outer team%s, which wait%s for workers of these, %s left at the barrier\n",
                passing.n_left_out, passing.n_left_out == 1 ? "" : "s", passing.n_left_out == 1 ? "s" : "",
                passing.n_left_out == 1 ? "was" : "were");
    tg_gate_run_deinit(&run);
    return error;
}
