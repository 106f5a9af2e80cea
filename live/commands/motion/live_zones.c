#include "live/commands/motion/live_zones.h"

#include "analyzer/models/openmp/barrier.h"
#include "live/commands/control/step.h"
#include "live/commands/focus/focus_call.h"
#include "live/commands/motion/gate_run.h"

#include <inttypes.h>

/* Functions that compilers call at the beginning of a zone: GCC, then LLVM. The first 8 that a process has
 * count. */
static const char *const parallel[] = {"GOMP_parallel",
                                       "GOMP_parallel_sections",
                                       "GOMP_parallel_reductions",
                                       "GOMP_parallel_loop_nonmonotonic_dynamic",
                                       "GOMP_parallel_loop_nonmonotonic_guided",
                                       "GOMP_parallel_loop_maybe_nonmonotonic_runtime",
                                       "GOMP_parallel_loop_dynamic",
                                       "__kmpc_fork_call",
                                       NULL};
static const char *const single[] = {"GOMP_single_start", "GOMP_single_copy_start", "__kmpc_single", NULL};
static const char *const critical[] = {"GOMP_critical_start", "GOMP_critical_name_start", "__kmpc_critical",
                                       "__kmpc_critical_with_hint", NULL};
static const char *const task[] = {"GOMP_task",
                                   "GOMP_taskloop",
                                   "GOMP_taskloop_ull",
                                   "__kmpc_omp_task",
                                   "__kmpc_omp_task_with_deps",
                                   "__kmpc_taskloop",
                                   NULL};
static const char *const sections[] = {"GOMP_sections_start", "GOMP_sections2_start",
                                       "GOMP_parallel_sections", NULL};
static const char *const barrier[] = {"GOMP_barrier",
                                      "GOMP_barrier_cancel",
                                      "GOMP_loop_end",
                                      "GOMP_sections_end",
                                      "__kmpc_barrier",
                                      "__kmpc_cancel_barrier",
                                      NULL};
static const char *const master[] = {"__kmpc_master", "__kmpc_masked", NULL};
static const char *const loop[] = {"GOMP_loop_nonmonotonic_dynamic_start",
                                   "GOMP_loop_nonmonotonic_guided_start",
                                   "GOMP_loop_maybe_nonmonotonic_runtime_start",
                                   "GOMP_loop_dynamic_start",
                                   "GOMP_loop_ordered_dynamic_start",
                                   "__kmpc_for_static_init_4",
                                   "__kmpc_for_static_init_8",
                                   "__kmpc_dispatch_init_4",
                                   NULL};

static const char *const *const functions[] = {
    [TG_TARGET_PARALLEL] = parallel, [TG_TARGET_SINGLE] = single,     [TG_TARGET_CRITICAL] = critical,
    [TG_TARGET_TASK] = task,         [TG_TARGET_SECTIONS] = sections, [TG_TARGET_BARRIER] = barrier,
    [TG_TARGET_MASTER] = master,     [TG_TARGET_LOOP] = loop,
};

static struct tg_error *look_at(struct tg_console *console, struct tg_thread_id unit)
{
    char text[48];
    struct tg_focus focus;
    size_t position;
    /* further commands stay with all ranks, if they have been about them */
    const struct tg_ptset_arena *arena =
        console->focus.set == NULL ? NULL : tg_ptset_arena(console->focus.set, 0);
    bool is_group = console->focus.is_of_ranks || (arena != NULL && arena->width == TG_WIDTH_GROUP);
    snprintf(text, sizeof text, "%c%" PRIu32 ".%" PRIu32, is_group ? 'g' : 'd', unit.dpid, unit.dtid);
    struct tg_error *error = tg_focus_parse(&console->focus, console->source, text, &focus, &position);
    if (error != NULL)
        return error;
    tg_console_set_focus(console, &focus);
    return NULL;
}

/* To where the program's own code begins, with all of its libraries there. */
static struct tg_error *begin_program(struct tg_console *console, FILE *out)
{
    static const char *const beginning[] = {"main", "MAIN__", NULL};
    struct tg_thread_id found;
    return tg_step_to(console, beginning, &found, out);
}

/* Goes on to the beginning of the program where its libraries, our agent among them, are still to come. */
static struct tg_error *begin_if_new(struct tg_console *console, FILE *out)
{
    static const char *const nowhere[] = {NULL};
    struct tg_thread_id found;
    bool has_agents = false;
    struct tg_error *error = tg_gate_run_has_agents(console, &has_agents);
    if (error != NULL || has_agents)
        return error;
    error = tg_step_to(console, nowhere, &found, out); /* says how far the program is */
    bool is_new = error != NULL && tg_error_code(error) == TG_ERROR_UNSUPPORTED;
    tg_error_destroy(error);
    return is_new ? begin_program(console, out) : NULL;
}

/* ---- without an agent: breakpoints on the runtime's functions */

static struct tg_error *tell_reached(struct tg_console *console, struct tg_thread_id found,
                                     enum tg_zone_target target, const char *name, FILE *out)
{
    fprintf(out, "thread %" PRIu32 ".%" PRIu32 " reaches a %s%s\n", found.dpid, found.dtid, name,
            target == TG_TARGET_PARALLEL ? " region" : "");
    struct tg_json *json = tg_console_data_begin(&console->data);
    if (json != NULL) {
        tg_json_begin_object(json);
        tg_json_member_unsigned(json, "dpid", found.dpid);
        tg_json_member_unsigned(json, "dtid", found.dtid);
        tg_json_end_object(json);
    }
    return look_at(console, found);
}

static struct tg_error *tell_none(const char *name)
{
    return tg_error_create(TG_ERROR_NOT_FOUND, "the threads in focus stopped or ended without reaching a %s",
                           name);
}

/* *HAS_AGENTS: at the beginning of the program, which has some. */
static struct tg_error *go_by_breakpoints(struct tg_console *console, enum tg_zone_target target,
                                          const char *name, bool *has_agents, FILE *out)
{
    struct tg_thread_id found = {0};
    struct tg_error *error = tg_step_to(console, functions[target], &found, out);
    if (error != NULL && tg_error_code(error) == TG_ERROR_UNSUPPORTED) {
        tg_error_destroy(error);
        error = begin_program(console, out);
        if (error == NULL)
            error = tg_gate_run_has_agents(console, has_agents);
        if (error != NULL || *has_agents)
            return error;
        error = tg_step_to(console, functions[target], &found, out);
    }
    if (error != NULL)
        return error;
    return found.dpid == 0 ? tell_none(name) : tell_reached(console, found, target, name, out);
}

/* ---- the next zone */

static const uint16_t any = UINT16_MAX;

#define BIT(which) ((uint16_t)(1U << (which)))

/* What a worker does as it comes to a zone of kind TARGET. */
static struct tg_gate_rule rule_for(enum tg_zone_target target)
{
    uint32_t zone = tg_gate_kind(TG_EVENT_OMP_ZONE_BEGIN);
    switch ((unsigned)target) {
    case TG_TARGET_PARALLEL:
        return (struct tg_gate_rule){.kinds = tg_gate_kind(TG_EVENT_OMP_PARALLEL_BEGIN), .which = any};
    case TG_TARGET_SINGLE:
        return (struct tg_gate_rule){zone, BIT(TG_OMP_ZONE_SINGLE) | BIT(TG_OMP_ZONE_SINGLE_OTHER), 0, 0};
    case TG_TARGET_CRITICAL:
        return (struct tg_gate_rule){tg_gate_kind(TG_EVENT_OMP_MUTEX_WAIT),
                                     BIT(TG_OMP_MUTEX_CRITICAL) | BIT(TG_OMP_MUTEX_CRITICAL_NAMED), 0, 0};
    case TG_TARGET_TASK:
        return (struct tg_gate_rule){.kinds = tg_gate_kind(TG_EVENT_OMP_TASK_CREATE), .which = any};
    case TG_TARGET_SECTIONS:
        return (struct tg_gate_rule){zone, BIT(TG_OMP_ZONE_SECTIONS), 0, 0};
    case TG_TARGET_BARRIER:
        return (struct tg_gate_rule){tg_gate_kind(TG_EVENT_OMP_SYNC_BEGIN),
                                     BIT(TG_OMP_SYNC_BARRIER) | BIT(TG_OMP_SYNC_BARRIER_IMPLICIT) |
                                         BIT(TG_OMP_SYNC_BARRIER_JOIN),
                                     0, 0};
    case TG_TARGET_MASTER:
        return (struct tg_gate_rule){zone, BIT(TG_OMP_ZONE_MASKED), 0, 0};
    default:
        return (struct tg_gate_rule){
            zone, BIT(TG_OMP_ZONE_LOOP) | BIT(TG_OMP_ZONE_ORDERED_LOOP) | BIT(TG_OMP_ZONE_DOACROSS_LOOP), 0,
            0};
    }
}

/* A gate for anybody in each process in focus that is alive. */
static struct tg_error *add_gates(const struct tg_console *console, const struct tg_gate_rule *rules,
                                  size_t n_rules, struct tg_gate_run *run)
{
    const struct tg_process_model *processes = console->source->moment->processes;
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < tg_process_model_count(processes); i++) {
        const struct tg_process_entry *entry = tg_process_model_at(processes, i);
        if (entry->end != TG_PROCESS_RUNNING || !tg_focus_has(&console->focus, i))
            continue;
        struct tg_worker_gate gate = {.pid = entry->pid, .in_tasks = true, .n_rules = n_rules};
        for (size_t k = 0; k < n_rules; k++)
            gate.rules[k] = rules[k];
        error = tg_gate_run_add_gate(run, &gate);
    }
    return error;
}

/* The zone of kind TARGET that WORKER has come to; false: it is at none. */
static bool find_visit(const struct tg_openmp_worker *worker, enum tg_zone_target target,
                       struct tg_zone_visit *visit)
{
    if (worker->n_places == 0)
        return false;
    const struct tg_openmp_place *place = &worker->places[worker->n_places - 1];
    *visit = (struct tg_zone_visit){worker->process, place->team, place->thread_num, target, place->code};
    switch ((unsigned)place->kind) {
    case TG_OPENMP_IN_ZONE:
        return tg_zone_target_of_zone(place->what) == target;
    case TG_OPENMP_IN_MUTEX_WAIT:
        visit->code = place->id;
        return target == TG_TARGET_CRITICAL;
    case TG_OPENMP_IN_SYNC:
        visit->code = place->what == TG_OMP_SYNC_BARRIER_JOIN;
        return target == TG_TARGET_BARRIER;
    default:
        return false;
    }
}

struct sought {
    const struct tg_source *source;
    enum tg_zone_target target;
};

/* Whether nobody of its team had come to that zone before. */
static bool is_new(void *context, const struct tg_openmp_worker *worker)
{
    const struct sought *sought = context;
    struct tg_zone_visit visit;
    return !find_visit(worker, sought->target, &visit) ||
           tg_zone_counter_was_first(sought->source->moment->zones, &visit);
}

/* Whether it is the first of its team there: it was stopped between its record and the gate. */
static bool is_first_there(void *context, const struct tg_openmp_worker *worker)
{
    const struct sought *sought = context;
    struct tg_zone_visit visit;
    return find_visit(worker, sought->target, &visit) &&
           tg_zone_counter_was_first(sought->source->moment->zones, &visit);
}

/* The thread of WORKER, as it is called. */
static struct tg_error *find_thread(const struct tg_request *request)
{
    struct tg_thread_id *found = request->context;
    for (size_t p = 0; p < tg_job_view_count(request->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(request->view, p);
        for (size_t i = 0; process->info.dpid == found->dpid && i < process->n_threads; i++) {
            const struct tg_job_thread *thread = tg_job_view_thread(request->view, process, i);
            if (thread->tag == found->dtid) {
                found->dtid = thread->dtid;
                return NULL;
            }
        }
    }
    return tg_error_create(TG_ERROR_NOT_FOUND, "the thread has ended");
}

static struct tg_error *id_of(struct tg_console *console, const struct tg_openmp_worker *worker,
                              struct tg_thread_id *id)
{
    *id = (struct tg_thread_id){(uint32_t)worker->process + 1, (uint32_t)worker->tid};
    return tg_focus_call_run_all(console, find_thread, id, NULL);
}

static struct tg_error *go_by_gates(struct tg_console *console, enum tg_zone_target target, const char *name,
                                    FILE *out)
{
    struct sought sought = {console->source, target};
    struct tg_gate_run run = {.is_meant = is_new, .is_arriving = is_first_there, .context = &sought};
    const struct tg_gate_rule rule = rule_for(target);
    char command[64];
    snprintf(command, sizeof command, "opm next %s", name);
    struct tg_thread_id found = {0};
    struct tg_error *error = tg_gate_run_settle(console, out);
    if (error == NULL)
        error = add_gates(console, &rule, 1, &run);
    if (error == NULL)
        error = tg_gate_run_go(console, &run, command, out);
    if (error == NULL && run.first != NULL)
        error = id_of(console, run.first, &found);
    if (error == NULL)
        error = found.dpid == 0 ? tell_none(name) : tell_reached(console, found, target, name, out);
    tg_gate_run_deinit(&run);
    return error;
}

struct tg_error *tg_live_zone_go(struct tg_console *console, enum tg_zone_target target, const char *name,
                                 FILE *out)
{
    bool has_agents = false;
    if (target == TG_TARGET_NONE)
        return tg_error_create(TG_ERROR_USAGE, "which zone? Give parallel, single, critical, task, sections, "
                                               "barrier, master or loop");
    struct tg_error *error = tg_gate_run_has_agents(console, &has_agents);
    if (error == NULL && !has_agents) {
        error = go_by_breakpoints(console, target, name, &has_agents, out);
        if (error != NULL || !has_agents)
            return error;
    }
    return error != NULL ? error : go_by_gates(console, target, name, out);
}

/* ---- into zones */

/* To the first that comes to a gate of RUN, which ends here; NONE is the error where nobody does. ERROR: of making
 * the run. */
static struct tg_error *go_to_first(struct tg_console *console, struct tg_error *error,
                                    struct tg_gate_run *run, const char *command, const char *none, FILE *out)
{
    struct tg_thread_id found = {0};
    if (error == NULL)
        error = tg_gate_run_go(console, run, command, out);
    if (error == NULL && run->first == NULL)
        error = tg_error_create(TG_ERROR_NOT_FOUND, "%s", none);
    if (error == NULL)
        error = id_of(console, run->first, &found);
    if (error == NULL)
        tg_gate_run_tell_worker(console, run->first, out);
    if (error == NULL)
        error = look_at(console, found);
    tg_gate_run_deinit(run);
    return error;
}

struct tg_error *tg_live_zone_step(struct tg_console *console, const struct tg_openmp_worker *worker,
                                   FILE *out)
{
    const struct tg_gate_rule rule = {
        .kinds = tg_gate_kind(TG_EVENT_OMP_IMPLICIT_BEGIN) | tg_gate_kind(TG_EVENT_OMP_ZONE_BEGIN) |
                 tg_gate_kind(TG_EVENT_OMP_SECTION) | tg_gate_kind(TG_EVENT_OMP_SYNC_BEGIN) |
                 tg_gate_kind(TG_EVENT_OMP_MUTEX_ENTER) | tg_gate_kind(TG_EVENT_OMP_TASK_BEGIN),
        .which = any};
    struct tg_gate_run run = {0};
    struct tg_error *error = begin_if_new(console, out);
    if (error != NULL)
        return error;
    if (worker == NULL)
        return go_to_first(console, add_gates(console, &rule, 1, &run), &run, "opm step",
                           "the threads in focus stopped or ended without entering a zone", out);
    const struct tg_worker_gate gate = {.pid = tg_gate_run_pid(console, worker->process),
                                        .tid = worker->tid,
                                        .in_tasks = true,
                                        .n_rules = 1,
                                        .rules = {rule}};
    return go_to_first(console, tg_gate_run_add_gate(&run, &gate), &run, "opm step",
                       "the worker stopped or ended without entering another zone", out);
}

struct tg_error *tg_live_zone_next_critical(struct tg_console *console, const struct tg_openmp_worker *worker,
                                            const struct tg_openmp_place *place, FILE *out)
{
    const struct tg_gate_rule rule = {tg_gate_kind(TG_EVENT_OMP_MUTEX_ENTER), BIT(place->what), TG_GATE_EQUAL,
                                      place->id};
    const struct tg_worker_gate gate = {
        .pid = tg_gate_run_pid(console, worker->process), .in_tasks = true, .n_rules = 1, .rules = {rule}};
    struct tg_gate_run run = {0};
    struct tg_error *error = tg_gate_run_add_gate(&run, &gate);
    return go_to_first(console, error, &run, "opm critical next",
                       "nobody else enters this critical section any more", out);
}

struct tg_error *tg_live_zone_next_section(struct tg_console *console, const struct tg_openmp_worker *worker,
                                           bool *is_over, FILE *out)
{
    struct tg_gate_run run = {.alone = true};
    const struct tg_gate_worker alone = {
        .index = worker->index, .pid = tg_gate_run_pid(console, worker->process), .tid = worker->tid};
    const struct tg_worker_gate gate = {
        .pid = alone.pid,
        .tid = alone.tid,
        .n_rules = 2,
        .rules = {{.kinds = tg_gate_kind(TG_EVENT_OMP_SECTION), .which = any},
                  {.kinds = tg_gate_kind(TG_EVENT_OMP_ZONE_END), .which = BIT(TG_OMP_ZONE_SECTIONS)}}};
    struct tg_error *error = tg_gate_run_add_gate(&run, &gate);
    if (error == NULL)
        error = tg_gate_run_add_worker(&run, &alone);
    if (error == NULL)
        error = tg_gate_run_go(console, &run, "opm sections step-by-step", out);
    if (error == NULL && !run.is_there)
        error = tg_error_create(TG_ERROR_NOT_FOUND, "the worker stopped or ended within the section");
    *is_over = true;
    for (size_t i = 0; i < worker->n_places; i++)
        if (worker->places[i].kind == TG_OPENMP_IN_ZONE && worker->places[i].what == TG_OMP_ZONE_SECTIONS)
            *is_over = false;
    tg_gate_run_deinit(&run);
    return error;
}

/* ---- out of zones, all together */

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
        if (is_barrier(place)) /* who came from another construct has another kind of the same one */
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

static bool is_in(const struct tg_openmp_worker *worker, const struct tg_openmp_place *place)
{
    for (size_t i = 0; i < worker->n_places; i++) {
        const struct tg_openmp_place *other = &worker->places[i];
        if (other->team != place->team)
            continue;
        if (is_mutex(place)
                ? is_mutex(other) && other->what == place->what && other->id == place->id
                : other->kind == place->kind &&
                      (other->what == place->what || (place->kind == TG_OPENMP_IN_ZONE &&
                                                      is_single(other->what) && is_single(place->what))))
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

/* Who met the construct of TEAM: it has number 0 in it. */
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
        return add_one(console, beginner == NULL ? worker : beginner, place, run);
    }
    return team == NULL || !is_of_team(place) ? add_one(console, worker, place, run)
                                              : add_members(console, team, worker, place, run);
}

/* "4 workers are behind it", and who is not, and why. */
static void tell_result(const struct tg_console *console, const struct tg_gate_run *run, FILE *out)
{
    const struct tg_openmp_model *model = console->source->moment->openmp;
    size_t n_there = run->n_here, n_all = run->n_workers + run->n_unknown;
    for (size_t i = 0; i < run->n_workers; i++)
        n_there += run->workers[i].is_out;
    fprintf(out, "%zu of %zu worker%s %s out and stopped behind it\n", n_there, n_all, n_all == 1 ? "" : "s",
            n_all == 1 ? "is" : "are");
    if (run->n_unplaced > 0)
        fprintf(out, "%zu could not be made to wait and may have run further\n", run->n_unplaced);
    for (size_t i = 0; i < run->n_workers; i++) {
        const struct tg_gate_worker *worker = &run->workers[i];
        const struct tg_openmp_worker *known = tg_openmp_model_worker_at(model, worker->index);
        if (worker->is_out || worker->waits)
            continue;
        fprintf(out, "worker %" PRIu64 " %s\n", known->number,
                !known->alive    ? "has ended"
                : worker->cannot ? "cannot come: it waits for others that are stopped (`where` says for what)"
                                 : "was stopped before it was out");
    }
}

static struct tg_error *run_out(struct tg_console *console, struct tg_gate_run *run, const char *name,
                                FILE *out)
{
    struct tg_error *error = tg_gate_run_go(console, run, name, out);
    if (error == NULL)
        tell_result(console, run, out);
    return error;
}

/* The innermost place of a worker of another process that is like PLACE. */
static const struct tg_openmp_place *find_like(const struct tg_openmp_worker *worker,
                                               const struct tg_openmp_place *place)
{
    for (size_t i = worker->n_places; i-- > 0;)
        if (worker->places[i].kind == place->kind && worker->places[i].what == place->what)
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
    struct tg_gate_run run = {0};
    const struct tg_openmp_place kept = *place; /* WORKER's places change as events are taken */
    struct tg_error *error = add_place(console, worker, &kept, &run);
    if (error == NULL)
        error = add_others(console, worker, &kept, &run);
    if (error == NULL)
        error = run_out(console, &run, name, out);
    tg_gate_run_deinit(&run);
    return error;
}

/* ---- barriers */

struct passing {
    struct tg_console *console;
    struct tg_gate_run *run;
    const struct tg_openmp_worker *worker; /* of its process its teams alone are meant; NULL: all */
    /* a barrier that somebody is at: other processes' teams on the same level are to come as far */
    bool is_found;
    uint64_t level, instance;
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
    return team->n_members > 0 && is_ours && tg_focus_has(&passing->console->focus, team->process);
}

static bool to_pass(const struct passing *passing, const struct tg_openmp_team *team,
                    struct tg_openmp_barrier *at)
{
    return tg_openmp_barrier_to_pass(team, passing->worker == NULL ? SIZE_MAX : passing->worker->index, at);
}

static struct tg_error *find_barrier(void *context, const struct tg_openmp_team *team)
{
    struct passing *passing = context;
    struct tg_openmp_barrier at;
    if (!is_meant(passing, team) || passing->is_found || !to_pass(passing, team, &at))
        return NULL;
    passing->is_found = true;
    passing->level = team->level;
    passing->instance = at.instance;
    return NULL;
}

static struct tg_error *add_barrier(void *context, const struct tg_openmp_team *team)
{
    const struct passing *passing = context;
    const struct tg_openmp_model *model = passing->console->source->moment->openmp;
    struct tg_openmp_barrier at;
    bool is_at = to_pass(passing, team, &at);
    if (!is_meant(passing, team) || (!is_at && team->level != passing->level))
        return NULL;
    const struct tg_openmp_place place = {.kind = TG_OPENMP_IN_SYNC,
                                          .what = is_at ? at.sync : TG_OMP_SYNC_BARRIER,
                                          .team = team->id,
                                          .id = is_at ? at.instance : passing->instance};
    return add_place(passing->console, tg_openmp_model_worker_at(model, team->members[0].worker), &place,
                     passing->run);
}

struct tg_error *tg_live_zone_pass_barrier(struct tg_console *console, FILE *out)
{
    struct tg_gate_run run = {0};
    struct passing passing = {.console = console, .run = &run};
    const struct tg_openmp_model *model = console->source->moment->openmp;
    if (console->focus.has_thread)
        passing.worker = tg_focus_worker(&console->focus, console->source);
    struct tg_error *error = tg_openmp_model_visit_teams(model, find_barrier, &passing);
    if (error == NULL && !passing.is_found)
        error =
            tg_error_create(TG_ERROR_NOT_FOUND, "no team is at a barrier (`opm next barrier` goes to one)");
    if (error == NULL)
        error = tg_openmp_model_visit_teams(model, add_barrier, &passing);
    if (error == NULL)
        error = run_out(console, &run, "opm barrier pass", out);
    tg_gate_run_deinit(&run);
    return error;
}
