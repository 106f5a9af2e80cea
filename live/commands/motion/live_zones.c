#include "live/commands/motion/live_zones.h"

#include "analyzer/finding/words.h"
#include "live/commands/control/step.h"
#include "live/commands/focus/focus_call.h"
#include "live/commands/info/place.h"
#include "live/commands/motion/beginning.h"
#include "live/commands/motion/entered.h"
#include "live/commands/motion/gate_course.h"
#include "live/commands/motion/unseen.h"
#include "live/commands/motion/zone_exit.h"

#include <inttypes.h>
#include <stdlib.h>

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

static const char *const words_for[] = {
    [TG_TARGET_PARALLEL] = "parallel region",
    [TG_TARGET_SINGLE] = "single",
    [TG_TARGET_CRITICAL] = "critical section",
    [TG_TARGET_TASK] = "task construct",
    [TG_TARGET_SECTIONS] = "sections zone",
    [TG_TARGET_BARRIER] = "barrier",
    [TG_TARGET_MASTER] = "master",
    [TG_TARGET_LOOP] = "loop",
};

/* Where to go to. */
struct aim {
    enum tg_zone_target target;
    const char *name; /* of TARGET, as it is typed */
    bool of_each;     /* in each process */
    bool is_forced;   /* to the next that is seen, though others may come first */
    double seconds;   /* as of a gate run */
};

/* ---- without an agent: breakpoints on the runtime's functions */

/* Whether WORKER, if it is known, is at the end of a region. */
static bool is_at_join(const struct tg_openmp_worker *worker)
{
    const struct tg_openmp_place *place =
        worker == NULL || worker->n_places == 0 ? NULL : &worker->places[worker->n_places - 1];
    return place != NULL && place->kind == TG_OPENMP_IN_SYNC && place->what == TG_OMP_SYNC_BARRIER_JOIN;
}

/* WORKER, where it is known, is inside of what it has come to: says where that is. */
static struct tg_error *tell_reached(struct tg_console *console, struct tg_thread_id found,
                                     enum tg_zone_target target, const struct tg_openmp_worker *worker,
                                     FILE *out)
{
    fprintf(out, "thread %" PRIu32 ".%" PRIu32 " reaches a %s%s", found.dpid, found.dtid, words_for[target],
            target == TG_TARGET_BARRIER && is_at_join(worker) ? ", the end of the region" : "");
    if (worker != NULL && worker->n_places > 0 && target != TG_TARGET_PARALLEL && target != TG_TARGET_TASK) {
        const struct tg_verdict_input input = tg_console_words(console);
        const struct tg_openmp_place *place = &worker->places[worker->n_places - 1];
        /* what another thread than 0 alone executes is no place of its own (analyzer/models/openmp/zones.c) */
        bool is_apart = target == TG_TARGET_MASTER && place->kind != TG_OPENMP_IN_ZONE;
        tg_words_code(out, &input, worker->process, is_apart ? worker->last_code : place->code);
    }
    fputc('\n', out);
    struct tg_json *json = tg_console_data_begin(&console->data);
    if (json != NULL) {
        tg_json_begin_object(json);
        tg_json_member_unsigned(json, "dpid", found.dpid);
        tg_json_member_unsigned(json, "dtid", found.dtid);
        tg_json_end_object(json);
    }
    return tg_gate_run_look_at(console, found);
}

static struct tg_error *tell_none(enum tg_zone_target target)
{
    return tg_error_create(TG_ERROR_NOT_FOUND, "the threads in focus stopped or ended without reaching a %s",
                           words_for[target]);
}

/* Where GCC's code calls nothing there is no breakpoint. */
static struct tg_error *refuse_unseen_by_breakpoints(struct tg_console *console, const struct aim *aim)
{
    struct tg_unseen *unseen = NULL;
    struct tg_error *error =
        tg_unseen_find(console, aim->target, words_for[aim->target], aim->is_forced, false, &unseen);
    tg_unseen_destroy(unseen);
    return error;
}

/* *HAS_AGENTS: at the beginning of the program, which has some; *IS_LAUNCHER: before what the program starts or becomes. */
static struct tg_error *go_by_breakpoints(struct tg_console *console, const struct aim *aim, bool *has_agents,
                                          bool *is_launcher, FILE *out)
{
    enum tg_zone_target target = aim->target;
    struct tg_thread_id found = {0};
    struct tg_error *error =
        tg_beginning_is_new(console, out) ? NULL : refuse_unseen_by_breakpoints(console, aim);
    if (error == NULL)
        error = tg_step_to(console, functions[target], &found, out);
    if (error != NULL && tg_error_code(error) == TG_ERROR_UNSUPPORTED) {
        tg_error_destroy(error);
        error = tg_beginning_of_job(console, is_launcher, out);
        *has_agents = *is_launcher;
        if (error == NULL && !*is_launcher)
            error = tg_beginning_of_rest(console, aim->of_each, has_agents, out);
        if (error != NULL || *has_agents)
            return error;
        error = refuse_unseen_by_breakpoints(console, aim);
        if (error == NULL)
            error = tg_step_to(console, functions[target], &found, out);
    }
    if (error != NULL)
        return error;
    return found.dpid == 0 ? tell_none(target) : tell_reached(console, found, target, NULL, out);
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

/* One gate for whatever process comes. */
static struct tg_error *add_job_gate(const struct tg_gate_rule *rules, size_t n_rules,
                                     struct tg_gate_run *run)
{
    struct tg_worker_gate gate = {.in_tasks = true, .n_rules = n_rules};
    for (size_t k = 0; k < n_rules; k++)
        gate.rules[k] = rules[k];
    run->of_job = true;
    return tg_gate_run_add_gate(run, &gate);
}

/* Whether WORKER has ended its body, and its arrival at the join follows as an event of its own. */
static bool is_before_join(const struct tg_openmp_worker *worker)
{
    return worker->last_kind == TG_EVENT_OMP_IMPLICIT_END && worker->n_places > 0 &&
           worker->places[worker->n_places - 1].seen == TG_OMP_OMPT;
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
        return target == TG_TARGET_BARRIER && !is_before_join(worker);
    default:
        return false;
    }
}

struct sought {
    const struct tg_source *source;
    enum tg_zone_target target;
    const struct tg_console *console;
    const struct tg_unseen *unseen; /* zones of that kind that may be passed unseen; NULL none */
};

/* Whether WORKER is in a single that another one executes. */
static bool is_other(const struct tg_openmp_worker *worker)
{
    const struct tg_openmp_place *place =
        worker->n_places == 0 ? NULL : &worker->places[worker->n_places - 1];
    return place != NULL && place->kind == TG_OPENMP_IN_ZONE && place->what == TG_OMP_ZONE_SINGLE_OTHER;
}

/* Of a single it is who executes it, of other zones the first of its team. */
static bool was_first(const struct sought *sought, const struct tg_openmp_worker *worker,
                      const struct tg_zone_visit *visit)
{
    return sought->target == TG_TARGET_SINGLE
               ? !is_other(worker)
               : tg_zone_counter_was_first(sought->source->moment->zones, visit);
}

/* Whether nobody of its team had come to that zone before; at the end of a body, whether there may have been such. */
static bool is_new(void *context, const struct tg_openmp_worker *worker)
{
    const struct sought *sought = context;
    struct tg_zone_visit visit;
    if (find_visit(worker, sought->target, &visit))
        return was_first(sought, worker, &visit);
    if (sought->target == TG_TARGET_BARRIER)
        return false;
    return sought->unseen == NULL || tg_unseen_team(sought->unseen, sought->console, worker) != NULL;
}

/* Whether it is the first of its team there: it was stopped between its record and the gate. */
static bool is_first_there(void *context, const struct tg_openmp_worker *worker)
{
    const struct sought *sought = context;
    struct tg_zone_visit visit;
    return find_visit(worker, sought->target, &visit) && was_first(sought, worker, &visit);
}

/* Whether it has come to a new single before the one who executes it. */
static bool waits_for_executor(void *context, const struct tg_openmp_worker *worker)
{
    const struct sought *sought = context;
    struct tg_zone_visit visit;
    return is_other(worker) && find_visit(worker, sought->target, &visit) &&
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

/* "the next barrier" is none that a team is at already: says so. */
static struct tg_error *tell_barrier_before(struct tg_console *console, FILE *out)
{
    uint64_t instance = 0;
    struct tg_error *error = tg_live_zone_reached_barrier(console, &instance);
    if (error == NULL && instance != 0)
        fprintf(out,
                "barrier %" PRIu64
                " has already been reached and does not count (`opm barrier pass` stops behind it)\n",
                instance);
    return error;
}

/* ---- what a run has come to */

struct tg_error *tg_live_zone_look_at(struct tg_console *console, const struct tg_openmp_worker *worker)
{
    struct tg_thread_id id = {0};
    struct tg_error *error = id_of(console, worker, &id);
    return error != NULL ? error : tg_gate_run_look_at(console, id);
}

/* Of a run that is for each process, who is there and who is not. */
static void tell_processes(const struct tg_console *console, const struct tg_gate_run *run, FILE *out)
{
    const struct tg_verdict_input input = tg_console_words(console);
    fprintf(out, "%zu of %zu process%s %s there\n", tg_gate_run_count_come(run), run->n_gates,
            run->n_gates == 1 ? "" : "es", run->n_gates == 1 ? "is" : "are");
    for (size_t i = 0; i < run->n_gates; i++) {
        size_t process = tg_moment_find_pid(console->source->moment, run->gates[i].pid);
        if (run->have_come[i] || process == SIZE_MAX)
            continue;
        tg_words_process(out, &input, process);
        fputs(" is not: ", out);
        tg_words_process_state(out, &input, process);
        fputc('\n', out);
    }
}

/* What has become of RUN, which was to go to a zone of kind TARGET. */
static struct tg_error *tell_run(struct tg_console *console, enum tg_zone_target target,
                                 const struct tg_gate_run *run, FILE *out)
{
    struct tg_thread_id found = {0};
    if (run->first == NULL)
        return tell_none(target);
    tg_entered_note(console, target, run->first);
    struct tg_error *error = id_of(console, run->first, &found);
    if (error == NULL && run->of_each)
        tell_processes(console, run, out);
    return error != NULL ? error : tell_reached(console, found, target, run->first, out);
}

/* Gates for AIM: of a job that is still to come, or in each process in focus; at the end of bodies, too, where zones may be
 * passed unseen, and for barriers, of which the end of a region is one. */
static struct tg_error *add_next_gates(struct tg_console *console, const struct aim *aim,
                                       const struct tg_unseen *unseen, bool is_launcher,
                                       struct tg_gate_run *run)
{
    const struct tg_gate_rule rules[] = {rule_for(aim->target),
                                         {.kinds = tg_gate_kind(TG_EVENT_OMP_IMPLICIT_END), .which = any}};
    const size_t n_rules = unseen == NULL && aim->target != TG_TARGET_BARRIER ? 1 : 2;
    return is_launcher || tg_beginning_is_to_come(console) ? add_job_gate(rules, n_rules, run)
                                                           : add_gates(console, rules, n_rules, run);
}

/* A focus that nobody has set was "ranks" before a run that came to nothing, and is so again, where there are some yet. */
static void return_to_ranks(struct tg_console *console)
{
    struct tg_focus focus;
    size_t position;
    if (tg_focus_is_plainly_of_ranks(&console->focus))
        return;
    struct tg_error *error = tg_focus_parse(&console->focus, console->source, "ranks", &focus, &position);
    if (error == NULL)
        tg_console_set_focus(console, &focus);
    tg_error_destroy(error);
}

/* IS_LAUNCHER: of whatever the programs in focus start or become. *RANKS: no zone was reached, but there are ranks now, which
 * are the focus. */
static struct tg_error *go_by_gates(struct tg_console *console, const struct aim *aim, bool is_launcher,
                                    bool *ranks, FILE *out)
{
    struct tg_unseen *unseen = NULL;
    struct sought sought = {.source = console->source, .target = aim->target, .console = console};
    struct tg_gate_run run = {.is_meant = is_new,
                              .is_arriving = is_first_there,
                              .is_kept = waits_for_executor,
                              .context = &sought,
                              .of_each = aim->of_each,
                              .seconds = aim->seconds};
    char command[64];
    const bool was_of_ranks = tg_focus_is_plainly_of_ranks(&console->focus);
    snprintf(command, sizeof command, "opm next %s", aim->name);
    /* what programs become that have not begun stays in the focus */
    struct tg_error *error = is_launcher ? tg_gate_run_halt(console, out) : tg_gate_run_settle(console, out);
    if (error == NULL && aim->target == TG_TARGET_BARRIER)
        error = tell_barrier_before(console, out);
    if (error == NULL)
        error = tg_unseen_find(console, aim->target, words_for[aim->target], aim->is_forced, true, &unseen);
    sought.unseen = unseen;
    if (error == NULL)
        error = add_next_gates(console, aim, unseen, is_launcher, &run);
    if (error == NULL)
        error = tg_gate_course_run(console, &run, command, out);
    *ranks = run.of_job && run.first == NULL && console->focus.is_of_ranks;
    if (error == NULL && is_launcher && run.first != NULL &&
        unseen == NULL) /* the program is known only now */
        error = tg_unseen_find(console, aim->target, words_for[aim->target], true, true, &unseen);
    const struct tg_openmp_team *passed =
        error == NULL && run.first != NULL ? tg_unseen_team(unseen, console, run.first) : NULL;
    if (passed != NULL) {
        error = tg_live_zone_look_at(console, run.first);
        if (error == NULL)
            error = tg_unseen_tell(unseen, console, passed, words_for[aim->target]);
    } else if (error == NULL && !*ranks) {
        error = tell_run(console, aim->target, &run, out);
        if (error == NULL && run.first != NULL)
            tg_unseen_note(unseen, console, run.first, run.begun_ns, out);
    }
    if (error != NULL && passed == NULL && was_of_ranks)
        return_to_ranks(console);
    tg_gate_run_deinit(&run);
    tg_unseen_destroy(unseen);
    return error;
}

static struct tg_error *go(struct tg_console *console, const struct aim *aim, FILE *out)
{
    bool has_agents = false, is_launcher = false, ranks = false;
    enum tg_zone_target target = aim->target;
    if (target == TG_TARGET_NONE)
        return tg_error_create(TG_ERROR_USAGE, "which zone? Give parallel, single, critical, task, sections, "
                                               "barrier, master or loop");
    struct tg_error *error = tg_beginning_of_rest(console, aim->of_each, &has_agents, out);
    if (error == NULL && !has_agents) {
        error = go_by_breakpoints(console, aim, &has_agents, &is_launcher, out);
        if (error != NULL || !has_agents)
            return error;
    }
    if (error == NULL)
        error = go_by_gates(console, aim, is_launcher, &ranks, out);
    return error == NULL && ranks ? go(console, aim, out) : error;
}

struct tg_error *tg_live_zone_go(struct tg_console *console, enum tg_zone_target target, const char *name,
                                 bool force, FILE *out)
{
    return go(console, &(struct aim){.target = target, .name = name, .is_forced = force}, out);
}

struct tg_error *tg_live_zone_go_within(struct tg_console *console, enum tg_zone_target target,
                                        const char *name, double seconds, FILE *out)
{
    return go(console, &(struct aim){.target = target, .name = name, .seconds = seconds}, out);
}

struct tg_error *tg_live_zone_go_each(struct tg_console *console, enum tg_zone_target target,
                                      const char *name, bool force, FILE *out)
{
    return go(console, &(struct aim){.target = target, .name = name, .of_each = true, .is_forced = force},
              out);
}

/* ---- into zones */

/* To the first that comes to a gate of RUN, which ends here; NONE is the error where nobody does. ERROR: of making
 * the run. */
static struct tg_error *go_to_first(struct tg_console *console, struct tg_error *error,
                                    struct tg_gate_run *run, const char *command, const char *none, FILE *out)
{
    if (error == NULL)
        error = tg_gate_course_run(console, run, command, out);
    if (error == NULL && run->first == NULL)
        error = tg_error_create(TG_ERROR_NOT_FOUND, "%s", none);
    if (error == NULL)
        tg_gate_run_tell_worker(console, run->first, out);
    if (error == NULL)
        error = tg_live_zone_look_at(console, run->first);
    tg_gate_run_deinit(run);
    return error;
}

/* To where anybody in focus enters a zone; RULE. IS_LAUNCHER: or anybody that the programs in focus start or become. */
static struct tg_error *step_anybody(struct tg_console *console, const struct tg_gate_rule *rule,
                                     bool is_launcher, FILE *out)
{
    static const char none[] = "the threads in focus stopped or ended without entering a zone";
    struct tg_gate_run run = {0};
    if (!is_launcher && !tg_beginning_is_to_come(console)) {
        struct tg_error *naming = tg_gate_run_settle(console, out); /* all ranks, not the first one */
        if (naming == NULL)
            naming = add_gates(console, rule, 1, &run);
        return go_to_first(console, naming, &run, "opm step", none, out);
    }
    struct tg_error *error = go_to_first(console, add_job_gate(rule, 1, &run), &run, "opm step", none, out);
    if (error == NULL || tg_error_code(error) != TG_ERROR_NOT_FOUND || !console->focus.is_of_ranks)
        return error;
    tg_error_destroy(error); /* there are ranks now, at their beginning */
    return tg_live_zone_step(console, NULL, out);
}

/* Whether libgomp is about to give WORKER a section: others would take them all, and more than them, meanwhile. */
static bool is_before_section(const struct tg_openmp_worker *worker)
{
    const struct tg_openmp_place *place =
        worker->n_places == 0 ? NULL : &worker->places[worker->n_places - 1];
    return place != NULL && place->kind == TG_OPENMP_IN_ZONE && place->what == TG_OMP_ZONE_SECTIONS &&
           place->seen == TG_OMP_WRAPPED && place->section == 0;
}

/* WORKER alone to GATE; *IS_THERE: it has come there, else it waits for somebody. */
static struct tg_error *step_alone(struct tg_console *console, const struct tg_openmp_worker *worker,
                                   const struct tg_worker_gate *gate, bool *is_there, FILE *out)
{
    struct tg_gate_run run = {.alone = true};
    const struct tg_gate_worker alone = {.index = worker->index, .pid = gate->pid, .tid = gate->tid};
    struct tg_error *error = tg_gate_run_add_gate(&run, gate);
    if (error == NULL)
        error = tg_gate_run_add_worker(&run, &alone);
    if (error == NULL)
        error = tg_gate_course_run(console, &run, "opm step", out);
    *is_there = error == NULL && run.workers[0].waits;
    if (*is_there) {
        tg_gate_run_tell_worker(console, worker, out);
        error = tg_live_zone_look_at(console, worker);
    }
    tg_gate_run_deinit(&run);
    return error;
}

/* Whether the end of the region that WORKER is in is an arrival of its own. */
static bool has_join(const struct tg_console *console, const struct tg_openmp_worker *worker)
{
    for (size_t i = worker->n_places; i-- > 0;)
        if (worker->places[i].kind == TG_OPENMP_IN_REGION)
            return tg_zone_exit_has_join(console->source->moment->openmp, worker->process,
                                         worker->places[i].team, worker->places[i].seen);
    return false;
}

struct tg_error *tg_live_zone_step(struct tg_console *console, const struct tg_openmp_worker *worker,
                                   FILE *out)
{
    struct tg_gate_rule rule = {
        .kinds = tg_gate_kind(TG_EVENT_OMP_IMPLICIT_BEGIN) | tg_gate_kind(TG_EVENT_OMP_ZONE_BEGIN) |
                 tg_gate_kind(TG_EVENT_OMP_SECTION) | tg_gate_kind(TG_EVENT_OMP_SYNC_BEGIN) |
                 tg_gate_kind(TG_EVENT_OMP_MUTEX_ENTER) | tg_gate_kind(TG_EVENT_OMP_TASK_BEGIN),
        .which = any};
    struct tg_gate_run run = {0};
    if (tg_entered_take(console, worker)) {
        tg_gate_run_tell_worker(console, worker, out);
        return NULL;
    }
    bool is_launcher = false;
    struct tg_error *error = tg_beginning_of_new(console, &is_launcher, out);
    if (error != NULL)
        return error;
    if (worker == NULL)
        return step_anybody(console, &rule, is_launcher, out);
    /* behind the last zone of its region there is the end of that, or it would run on through the program */
    if (!has_join(console, worker))
        rule.kinds |= tg_gate_kind(TG_EVENT_OMP_IMPLICIT_END);
    const struct tg_worker_gate gate = {.pid = tg_gate_run_pid(console, worker->process),
                                        .tid = worker->tid,
                                        .in_tasks = true,
                                        .n_rules = 1,
                                        .rules = {rule}};
    bool is_there = false;
    if (is_before_section(worker))
        error = step_alone(console, worker, &gate, &is_there, out);
    if (error != NULL || is_there)
        return error;
    return go_to_first(console, tg_gate_run_add_gate(&run, &gate), &run, "opm step",
                       "the worker stopped or ended without entering another zone", out);
}

/* Behind what nobody can come before who has still to enter a critical section that PLACE's team is at: its next
 * barrier, or the end of its region. */
static struct tg_error *add_ends(const struct tg_console *console, const struct tg_openmp_worker *worker,
                                 const struct tg_openmp_place *place, struct tg_gate_run *run)
{
    const struct tg_openmp_team *team =
        tg_openmp_model_team(console->source->moment->openmp, worker->process, place->team);
    uint64_t n_arrived = UINT64_MAX;
    for (size_t i = 0; team != NULL && i < team->n_members; i++)
        if (team->members[i].worker == worker->index)
            n_arrived = team->members[i].arrived;
    if (n_arrived == UINT64_MAX)
        return NULL; /* no team */
    struct tg_worker_gate gate = {
        .pid = tg_gate_run_pid(console, worker->process),
        .n_rules = 1,
        .rules = {{tg_gate_kind(TG_EVENT_OMP_PARALLEL_END), any, TG_GATE_EQUAL, place->team}}};
    struct tg_error *error = tg_gate_run_add_gate(run, &gate);
    gate.team = place->team;
    gate.rules[0] = (struct tg_gate_rule){tg_gate_kind(TG_EVENT_OMP_SYNC_END),
                                          BIT(TG_OMP_SYNC_BARRIER) | BIT(TG_OMP_SYNC_BARRIER_IMPLICIT),
                                          TG_GATE_AT_LEAST, n_arrived + 1};
    return error != NULL ? error : tg_gate_run_add_gate(run, &gate);
}

/* Whether WORKER is inside of the critical section LOCK. */
static bool is_inside(const struct tg_openmp_worker *worker, uint64_t lock)
{
    for (size_t i = 0; i < worker->n_places; i++)
        if (worker->places[i].kind == TG_OPENMP_IN_MUTEX && worker->places[i].id == lock)
            return true;
    return false;
}

struct tg_error *tg_live_zone_next_critical(struct tg_console *console, const struct tg_openmp_worker *worker,
                                            const struct tg_openmp_place *place, FILE *out)
{
    static const char none[] = "no other worker enters this critical section any more";
    const uint64_t lock = place->id;
    const struct tg_gate_rule rule = {tg_gate_kind(TG_EVENT_OMP_MUTEX_ENTER), BIT(place->what), TG_GATE_EQUAL,
                                      lock};
    const struct tg_worker_gate gate = {
        .pid = tg_gate_run_pid(console, worker->process), .in_tasks = true, .n_rules = 1, .rules = {rule}};
    struct tg_gate_run run = {.of_process = true};
    struct tg_error *error = tg_gate_run_add_gate(&run, &gate);
    if (error == NULL)
        error = add_ends(console, worker, place, &run);
    if (error == NULL)
        error = tg_gate_course_run(console, &run, "opm critical next", out);
    if (error == NULL && run.first == NULL)
        error = tg_error_create(TG_ERROR_NOT_FOUND, "%s", none);
    else if (error == NULL && !is_inside(run.first, lock))
        error =
            tg_error_create(TG_ERROR_NOT_FOUND, "%s: the team has come to %s", none,
                            run.first->n_places == 0 ? "the end of its region" : "what follows a barrier");
    if (error == NULL)
        tg_gate_run_tell_worker(console, run.first, out);
    if (error == NULL)
        error = tg_live_zone_look_at(console, run.first);
    tg_gate_run_deinit(&run);
    return error;
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
        error = tg_gate_course_run(console, &run, "opm sections step-by-step", out);
    if (error == NULL && !run.is_there)
        error = tg_error_create(TG_ERROR_NOT_FOUND, "the worker stopped or ended within the section");
    *is_over = true;
    for (size_t i = 0; i < worker->n_places; i++)
        if (worker->places[i].kind == TG_OPENMP_IN_ZONE && worker->places[i].what == TG_OMP_ZONE_SECTIONS)
            *is_over = false;
    tg_gate_run_deinit(&run);
    return error;
}
