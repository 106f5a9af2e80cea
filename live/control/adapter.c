/* A live job as the controller sees it: what the engine tells of it; its life. */
#include "live/control/adapter_state.h"

#include "live/control/thread_scene.h"
#include "live/inspect/step/place.h"
#include "recorder/engine/own_thread.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Errors in callbacks have no caller to return to: they become news. Takes ERROR. */
static void tell_error(struct tg_engine_adapter *live, struct tg_error *error)
{
    const struct tg_news news = {.kind = TG_NEWS_ERROR, .text = error == NULL ? "" : tg_error_message(error)};
    if (error != NULL)
        live->options.tell(live->options.context, &news);
    tg_error_destroy(error);
}

void tg_engine_adapter_note(struct tg_engine_adapter *live, const char *text)
{
    const struct tg_news news = {.kind = TG_NEWS_NOTE, .text = text};
    live->options.tell(live->options.context, &news);
}

static uint64_t pc_of(struct tg_thread *thread)
{
    const struct user_regs_struct *registers = tg_thread_registers(thread);
    return registers == NULL ? 0 : registers->rip;
}

/* ---- what the engine tells */

struct tg_event_mark tg_engine_adapter_latest(const struct tg_engine_adapter *live)
{
    return live->latest;
}

struct tg_loader *tg_engine_adapter_loader(const struct tg_engine_adapter *live)
{
    return live->parts.loader;
}

/* Every thread of process PID. */
static void stop_process(struct tg_engine_adapter *live, int32_t pid)
{
    struct tg_thread_id thread_id;
    if (tg_job_model_thread_id(tg_controller_job(live->controller), pid, 0, &thread_id))
        tell_error(live, tg_controller_halt_thread(live->controller, thread_id));
}

/* EVENT as news, by the numbers that the controller has now. */
static void tell_life(struct tg_engine_adapter *live, const struct tg_event *event)
{
    const struct tg_job_model *job = tg_controller_job(live->controller);
    bool is_of_thread = event->kind == TG_EVENT_THREAD_START || event->kind == TG_EVENT_THREAD_EXIT;
    struct tg_thread_id thread_id, parent;
    struct tg_news news;
    if (!tg_job_model_thread_id(job, event->pid, is_of_thread ? event->tid : 0, &thread_id) ||
        !tg_news_of_event(event, thread_id, &news))
        return;
    news.has_rank = tg_job_model_rank(job, thread_id.dpid, &news.rank);
    if (event->kind == TG_EVENT_PROCESS_START &&
        tg_job_model_thread_id(job, (int32_t)event->process_start.parent_pid, 0, &parent))
        news.other = parent.dpid;
    live->options.tell(live->options.context, &news);
}

static bool is_end(const struct tg_event *event)
{
    return event->kind == TG_EVENT_THREAD_EXIT || event->kind == TG_EVENT_PROCESS_EXIT ||
           event->kind == TG_EVENT_DETACH;
}

static void forget_modules(struct tg_engine_adapter *live, int32_t pid)
{
    const struct tg_process *process = tg_engine_find_process(live->parts.engine, pid);
    if (process != NULL)
        tg_job_modules_change(live->modules, process);
}

/* The job model has seen it before, and says whether the process is a rank itself. */
static void take_identity(struct tg_engine_adapter *live, const struct tg_event *event)
{
    const struct tg_job_model *job = tg_controller_job(live->controller);
    struct tg_thread_id process;
    int64_t rank;
    if (!tg_job_model_thread_id(job, event->pid, 0, &process) || !tg_job_model_rank(job, process.dpid, &rank))
        return;
    if (strcmp(event->identity.source, "MPIR_proctable") == 0) { /* told late: its program runs already */
        tell_error(live, tg_controller_libraries_changed(live->controller, event->pid));
        if (live->options.stops->ranks)
            stop_process(live, event->pid);
    } else {
        live->rank = event->pid;
    }
    rank = live->local_ranks > 0 ? live->local_ranks : event->identity.size;
    live->expected_ranks = rank > live->expected_ranks ? rank : live->expected_ranks;
}

int64_t tg_engine_adapter_expected_ranks(const struct tg_engine_adapter *live)
{
    return live->expected_ranks;
}

/* How many ranks are on this host: launchers tell each of them. */
static int64_t find_local_ranks(const struct tg_list *variables)
{
    static const char *const names[] = {
        "OMPI_COMM_WORLD_LOCAL_SIZE=", "MPI_LOCALNRANKS=", "MV2_COMM_WORLD_LOCAL_SIZE="};
    const struct tg_string_item *items = variables->items;
    for (uint64_t i = 0; i < variables->count; i++)
        for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
            if (strncmp(items[i].text, names[k], strlen(names[k])) == 0)
                return strtol(items[i].text + strlen(names[k]), NULL, 10);
    return 0;
}

static bool is_planted(const struct tg_engine_adapter *live, uint32_t id)
{
    const struct tg_process *process;
    for (process = tg_engine_first_process(live->parts.engine); process != NULL; process = process->hh.next)
        if (tg_job_points_has(live->points, process, id) || tg_job_watches_has(live->watches, process, id))
            return true;
    return false;
}

/* Action points whose code is gone, with its library, program or process, are pending again; where no process
 * is left, those that are not in force as well. */
static void lose_points(struct tg_engine_adapter *live, bool is_over)
{
    const struct tg_action_points *points = tg_controller_points(live->controller);
    for (size_t i = 0; i < tg_action_points_count(points); i++) {
        const struct tg_action_point *point = tg_action_points_at(points, i);
        if (!point->pending &&
            (is_over || (tg_action_points_in_force(points, point->id) && !is_planted(live, point->id))))
            tell_error(live, tg_controller_lost(live->controller, point->id));
    }
}

/* PROCESS (NULL: none) has another program: to be called before anybody is told, and before action points are
 * planted in it. */
static void lose_program(struct tg_engine_adapter *live, struct tg_process *process)
{
    if (process == NULL)
        return;
    tg_job_steps_forget(live->steps, process);
    tg_job_points_begin(live->points, process);
    tg_job_watches_begin(live->watches, process);
    lose_points(live, false);
}

void tg_engine_adapter_emitted(struct tg_engine_adapter *live, const struct tg_event *event)
{
    bool ends_step = false; /* and the others of its process are to be stopped */
    live->latest.count = event->time_ns == live->latest.time_ns ? live->latest.count + 1 : 1;
    live->latest.time_ns = event->time_ns;
    switch ((unsigned)event->kind) {
    case TG_EVENT_THREAD_EXIT:
        ends_step = tg_job_steps_drop(live->steps, event->tid);
        break;
    case TG_EVENT_ENVIRONMENT:
        live->local_ranks = find_local_ranks(&event->environment.variables);
        return;
    case TG_EVENT_IDENTITY:
        break;
    case TG_EVENT_EXEC: /* other threads and all breakpoints are gone */
        lose_program(live, tg_engine_find_process(live->parts.engine, event->pid));
        break;
    case TG_EVENT_PROGRAM: /* points are planted in it at once */
        forget_modules(live, event->pid);
        break;
    case TG_EVENT_PROCESS_START:
    case TG_EVENT_THREAD_START:
    case TG_EVENT_PROCESS_EXIT:
    case TG_EVENT_DETACH:
        break;
    default:
        return;
    }
    if (is_end(event)) /* the controller forgets who it was */
        tell_life(live, event);
    tell_error(live, tg_controller_event(live->controller, event));
    if (event->kind == TG_EVENT_IDENTITY)
        take_identity(live, event);
    if (!is_end(event))
        tell_life(live, event);
    if (ends_step)
        stop_process(live, event->pid);
    live->options.changed(live->options.context);
}

static void process_started(void *context, struct tg_thread *thread, enum tg_process_origin origin,
                            struct tg_process *parent)
{
    struct tg_engine_adapter *live = context;
    (void)origin;
    if (live->kills && !thread->process->attached)
        kill(thread->process->pid, SIGKILL);
    if (parent != NULL)
        tell_error(live, tg_job_points_copy(live->points, parent, thread->process));
    if (parent != NULL)
        tell_error(live, tg_job_watches_copy(live->watches, parent, thread->process));
    if (parent != NULL && parent->space != thread->process->space)
        tg_controller_forked(live->controller, thread->process->pid);
    if (live->gates != NULL)
        tell_error(live, tg_gates_meet(live->gates, thread->process->pid));
}

/* ---- stopped threads */

static void keep(struct tg_thread *thread, enum tg_job_state state)
{
    thread->reason.state = state;
    thread->reason.is_given = true;
    tg_thread_keep(thread);
}

static void program_loaded(void *context, struct tg_thread *thread, bool attached)
{
    struct tg_engine_adapter *live = context;
    const struct tg_stop_policy *stops = live->options.stops;
    bool is_first = !live->has_begun;
    bool is_rank = live->rank == thread->process->pid;
    live->has_begun = true;
    live->rank = 0;
    thread->reason =
        (struct tg_stop_reason){0}; /* of the program before, which a child of vfork was not kept in */
    tg_job_modules_change(live->modules, thread->process);
    if (live->gates != NULL)
        tell_error(live, tg_gates_meet(live->gates, thread->process->pid));
    tell_error(live, tg_controller_libraries_changed(live->controller, thread->process->pid));
    if (attached && stops->at_start)
        stop_process(live, thread->process->pid);
    else if ((is_first && stops->at_start) || (is_rank && stops->ranks))
        keep(thread, TG_JOB_STOPPED);
}

static bool is_fatal(int signal)
{
    return signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE ||
           signal == SIGABRT || signal == SIGTRAP || signal == SIGSYS;
}

/* Whether action point POINT, which THREAD has come to or whose value it has changed, is its process's, and its
 * condition holds or cannot be decided. */
static bool is_met(struct tg_engine_adapter *live, struct tg_thread *thread,
                   const struct tg_action_point *point)
{
    struct tg_error *error = NULL;
    bool holds = true;
    if (!tg_controller_is_meant(live->controller, point->id, thread->process->pid))
        return false;
    if (point->enabled && *point->condition != '\0')
        holds = tg_point_conditions_hold(live->conditions, thread, point->id, point->condition, &error);
    tell_error(live, tg_error_prefix(error, "action point %" PRIu32, point->id));
    return holds;
}

/* Leaves those of the action points that THREAD has come to that are met. */
static void drop_unmet(struct tg_engine_adapter *live, struct tg_thread *thread)
{
    struct tg_stop_reason *reason = &thread->reason;
    const struct tg_action_points *points = tg_controller_points(live->controller);
    size_t n_left = 0;
    for (size_t i = 0; i < reason->n_hits; i++) {
        const struct tg_action_point *point = tg_action_points_get(points, reason->hits[i]);
        bool was_asked = point == NULL || point->kind == TG_ACTION_WATCH; /* by want_write */
        if (was_asked || is_met(live, thread, point))
            reason->hits[n_left++] = reason->hits[i];
    }
    reason->n_hits = n_left;
    if (n_left == 0 && !reason->is_given)
        *reason = (struct tg_stop_reason){0}; /* no action point is left */
}

static bool is_watchpoint(const struct tg_engine_adapter *live, uint32_t id)
{
    const struct tg_action_point *point = tg_action_points_get(tg_controller_points(live->controller), id);
    return point != NULL && point->kind == TG_ACTION_WATCH;
}

/* Handlers have said which action points the thread is at: keeps it for those whose conditions hold. */
static void stopped(void *context, struct tg_thread *thread, const struct tg_stop *stop)
{
    struct tg_engine_adapter *live = context;
    if (stop->trigger == TG_TRIGGER_BREAKPOINT)
        drop_unmet(live, thread);
    if (stop->trigger == TG_TRIGGER_BREAKPOINT && thread->reason.n_hits > 0)
        keep(thread, is_watchpoint(live, thread->reason.hits[0]) ? TG_JOB_WATCHPOINT : TG_JOB_BREAKPOINT);
    else if (stop->trigger == TG_TRIGGER_SIGNAL && is_fatal(stop->signal) && live->options.stops->signals)
        keep(thread, TG_JOB_ERROR);
    else if (stop->trigger == TG_TRIGGER_BREAKPOINT || stop->trigger == TG_TRIGGER_SIGNAL)
        tg_job_steps_interrupted(live->steps, thread);
    thread->reason.signal = thread->reason.state == TG_JOB_ERROR ? stop->signal : 0;
}

/* ---- watchpoints */

static void add_hit(struct tg_thread *thread, uint32_t id)
{
    if (thread->reason.n_hits < TG_STOP_MAX_HITS)
        thread->reason.hits[thread->reason.n_hits++] = id;
}

static bool want_write(void *context, struct tg_thread *thread, uint32_t id)
{
    struct tg_engine_adapter *live = context;
    const struct tg_action_points *points = tg_controller_points(live->controller);
    const struct tg_action_point *point = tg_action_points_get(points, id);
    return point != NULL && tg_action_points_in_force(points, id) && is_met(live, thread, point);
}

/* NEWS are about THREAD and action point ID. */
static void tell_of_point(struct tg_engine_adapter *live, struct tg_thread *thread, struct tg_news news)
{
    const struct tg_job_model *job = tg_controller_job(live->controller);
    news.kind = TG_NEWS_WATCHED;
    news.pid = thread->process->pid;
    news.tid = thread->tid;
    if (!tg_job_model_thread_id(job, news.pid, news.tid, &news.thread))
        return;
    news.has_rank = tg_job_model_rank(job, news.thread.dpid, &news.rank);
    live->options.tell(live->options.context, &news);
}

static void take_write(void *context, struct tg_thread *thread, const struct tg_watch_write *write)
{
    struct tg_engine_adapter *live = context;
    char place[TG_PLACE_SIZE];
    uint64_t pc = pc_of(thread) - 1, code; /* in the instruction that wrote */
    (void)tg_engine_adapter_look(live, thread, &pc, &code);
    tg_engine_adapter_place(live, thread->process->pid, pc, place);
    add_hit(thread, write->id);
    tell_of_point(live, thread,
                  (struct tg_news){.point = write->id,
                                   .name = write->text,
                                   .before = write->before,
                                   .after = write->after,
                                   .place = *place == '\0' ? NULL : place,
                                   .other = write->n_others,
                                   .pc = pc});
    tg_adapter_add_write(live, thread, write);
}

/* The watchpoint's variable is no more: THREAD, which left it, stops and what the point says. */
static void leave_watched(void *context, struct tg_thread *thread, uint32_t id, const char *function)
{
    struct tg_engine_adapter *live = context;
    const struct tg_action_points *points = tg_controller_points(live->controller);
    const struct tg_action_point *point = tg_action_points_get(points, id);
    char text[TG_PLACE_SIZE];
    if (point == NULL)
        return;
    bool stops_process = point->stop_when_hit != TG_BARRIER_STOP_NONE;
    snprintf(text, sizeof text, "deleted: %s%s returned", *function == '\0' ? "its function" : function,
             " has");
    tell_of_point(live, thread, (struct tg_news){.point = id, .name = point->location, .text = text});
    tell_error(live, tg_controller_delete(live->controller, id));
    keep(thread, TG_JOB_WATCHPOINT);
    if (stops_process)
        stop_process(live, thread->process->pid);
}

/* The step of THREAD, which stays where it is, is over; whoever ran for it is stopped. */
static void end_step(struct tg_engine_adapter *live, struct tg_thread *thread, bool all)
{
    if (tg_thread_is_kept(thread))
        all |= tg_job_steps_drop(live->steps, thread->tid);
    if (all)
        stop_process(live, thread->process->pid);
}

static void kept(void *context, struct tg_thread *thread, const struct tg_stop_reason *given)
{
    struct tg_engine_adapter *live = context;
    struct tg_stop_reason reason = *given;
    int32_t pid = thread->process->pid, tid = thread->tid;
    uint64_t pc = pc_of(thread);
    enum tg_job_step step = TG_JOB_STEP_NONE;
    if (!reason.is_given) {
        reason = (struct tg_stop_reason){.state = TG_JOB_STOPPED};
        step = tg_job_steps_kept(live->steps, thread);
    }
    if (step == TG_JOB_STEP_ON)
        return;
    if (reason.n_hits > 0) /* a thread that no point concerns goes on, also with its step */
        tell_error(live, tg_controller_hit(live->controller, pid, tid, pc, reason.hits, reason.n_hits));
    else
        tell_error(live, tg_controller_stopped(live->controller, pid, tid, reason.state, pc));
    if (reason.state == TG_JOB_ERROR) /* what its process is about to end by */
        stop_process(live, pid);
    tg_adapter_add_stop(live, thread, &reason, pc, step != TG_JOB_STEP_NONE);
    tg_adapter_add_script_hits(live, thread, &reason);
    end_step(live, thread, step == TG_JOB_STEP_ALL);
    live->options.changed(live->options.context);
}

static void enter_function(void *context, const struct tg_process *process, uint64_t *address, uint64_t *line)
{
    struct tg_engine_adapter *live = context;
    struct tg_thread *thread = tg_process_own_thread(process);
    struct tg_modules *modules = thread == NULL ? NULL : tg_job_modules_of(live->modules, process);
    if (modules == NULL)
        return;
    const struct tg_inspect_memory memory = tg_thread_scene_memory(thread);
    struct tg_debug_row row;
    const char *name;
    uint64_t offset;
    if (tg_modules_symbol_at(modules, *address, &name, &offset) && offset != 0)
        return; /* a copy of an inlined function, in the midst of another one */
    *address = tg_step_place_first_line(modules, &memory, *address);
    if (*line != 0 && tg_modules_row_at(modules, *address, &row) && row.line > 0)
        *line = (uint64_t)row.line;
}

/* A thread has come to action point ID. */
static void take_hit(void *context, struct tg_thread *thread, uint32_t id)
{
    (void)context;
    add_hit(thread, id);
}

static void process_ended(void *context, struct tg_process *process)
{
    struct tg_engine_adapter *live = context;
    tg_job_points_forget(live->points, process);
    tg_job_watches_forget(live->watches, process);
    /* the engine's table still has the process */
    lose_points(live, tg_engine_first_process(live->parts.engine) == process && process->hh.next == NULL);
    tg_job_steps_forget(live->steps, process);
    tg_job_modules_forget(live->modules, process);
    if (live->gates != NULL)
        tg_gates_forget(live->gates, process->pid);
}

/* ---- life */

struct tg_error *tg_engine_adapter_create(const struct tg_recording_parts *parts,
                                          const struct tg_engine_adapter_options *options,
                                          struct tg_engine_adapter **live)
{
    struct tg_engine_adapter *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->options = *options;
    made->parts = *parts;
    made->observer = (struct tg_observer){
        .name = "controller",
        .context = made,
        .process_started = process_started,
        .program_loaded = program_loaded,
        .stopped = stopped,
        .kept = kept,
        .process_ended = process_ended,
    };
    struct tg_error *error = tg_controller_create(&tg_adapter_orders, made, &made->controller);
    size_t slot;
    if (error == NULL)
        error = tg_engine_add_observer(parts->engine, &made->observer, &slot);
    if (error == NULL)
        error = tg_job_points_create(parts, slot, take_hit, enter_function, made, &made->points);
    if (error == NULL)
        error = tg_job_modules_create(parts->images, &made->modules);
    const struct tg_job_watches_callbacks watching = {
        .context = made, .wants = want_write, .written = take_write, .left = leave_watched};
    if (error == NULL)
        error = tg_job_watches_create(made->modules, &watching, &made->watches);
    if (error == NULL)
        error = tg_manager_threads_create(&made->managers);
    if (error == NULL)
        error = tg_point_conditions_create(made->modules, &made->conditions);
    if (error == NULL)
        error = tg_job_steps_create(made->modules, &made->steps);
    if (error != NULL) {
        tg_engine_adapter_destroy(made);
        return error;
    }
    *live = made;
    return NULL;
}

void tg_engine_adapter_destroy(struct tg_engine_adapter *live)
{
    if (live == NULL)
        return;
    tg_controller_destroy(live->controller);
    tg_job_points_destroy(live->points);
    tg_job_watches_destroy(live->watches);
    tg_point_conditions_destroy(live->conditions);
    tg_job_steps_destroy(live->steps);
    tg_job_modules_destroy(live->modules);
    tg_manager_threads_destroy(live->managers);
    tg_gates_destroy(live->gates);
    free(live->stops);
    free(live->script_hits);
    free(live);
}

struct tg_controller *tg_engine_adapter_controller(struct tg_engine_adapter *live)
{
    return live->controller;
}

struct tg_thread *tg_engine_adapter_thread(struct tg_engine_adapter *live, struct tg_thread_id thread_id)
{
    int32_t pid, tid;
    if (!tg_job_model_name(tg_controller_job(live->controller), thread_id, &pid, &tid))
        return NULL;
    return tg_adapter_find_thread(live, pid, tid);
}

struct tg_gates *tg_engine_adapter_gates(struct tg_engine_adapter *live)
{
    if (live->gates != NULL || live->parts.rings == NULL)
        return live->gates;
    tell_error(live, tg_gates_create(live->parts.rings, &live->gates));
    const struct tg_process *process =
        live->gates == NULL ? NULL : tg_engine_first_process(live->parts.engine);
    for (; process != NULL; process = process->hh.next)
        tell_error(live, tg_gates_meet(live->gates, process->pid));
    return live->gates;
}

/* Nobody is to wait for us any more. */
static void close_gates(struct tg_engine_adapter *live)
{
    if (live->gates != NULL)
        tg_gates_close_all(live->gates);
}

void tg_engine_adapter_record(struct tg_engine_adapter *live, const struct tg_event *event)
{
    tg_engine_emit(live->parts.engine, NULL, event);
}

void tg_engine_adapter_leave(struct tg_engine_adapter *live)
{
    close_gates(live);
    tell_error(live, tg_controller_end(live->controller, false));
}

/* Records that PROCESS is killed from here: the kernel tells nobody who sent a SIGKILL. */
static void record_kill(const struct tg_engine_adapter *live, const struct tg_process *process)
{
    struct tg_thread *thread = tg_process_own_thread(process);
    const struct tg_event event = {
        .kind = TG_EVENT_SIGNAL,
        .signal = {.signal = SIGKILL, .code = SI_USER, .sender_pid = getpid(), .sender = "tollgate"}};
    if (thread != NULL)
        tg_engine_emit(live->parts.engine, thread, &event);
}

void tg_engine_adapter_kill(struct tg_engine_adapter *live)
{
    live->kills = true;
    close_gates(live);
    tell_error(live, tg_controller_end(live->controller, true));
    for (struct tg_process *process = tg_engine_first_process(live->parts.engine); process != NULL;
         process = process->hh.next) {
        if (process->attached)
            tg_engine_release(process, "the job it was attached to was killed");
        else
            record_kill(live, process);
    }
    for (struct tg_process *process = tg_engine_first_process(live->parts.engine); process != NULL;
         process = process->hh.next) {
        if (!process->attached)
            kill(process->pid, SIGKILL);
    }
    pid_t apart = tg_engine_launched_apart(live->parts.engine);
    if (apart != 0) /* another one traces it */
        kill(apart, SIGKILL);
}

struct tg_error *tg_engine_adapter_attach(struct tg_engine_adapter *live, int32_t pid)
{
    return tg_engine_attach(live->parts.engine, pid);
}

bool tg_engine_adapter_has_run(const struct tg_engine_adapter *live)
{
    return live->has_run;
}

void tg_engine_adapter_release(struct tg_engine_adapter *live, int32_t pid)
{
    struct tg_process *process = tg_engine_find_process(live->parts.engine, pid);
    if (process != NULL)
        tg_engine_release(process, "user request");
}

void tg_engine_adapter_handled(struct tg_engine_adapter *live, const struct tg_thread *thread,
                               const struct tg_loader_handled *handled)
{
    tg_job_modules_change(live->modules, thread->process);
    tg_job_points_look_in(live->points, handled);
    tell_error(live, tg_controller_libraries_changed(live->controller, thread->process->pid));
    tg_job_points_look_in(live->points, NULL);
}

void tg_engine_adapter_unloaded(struct tg_engine_adapter *live, struct tg_thread *thread,
                                const struct tg_break_object *object)
{
    tg_job_modules_change(live->modules, thread->process);
    if (tg_job_points_unloaded(live->points, thread, object))
        lose_points(live, false);
    tg_job_steps_unloaded(live->steps, thread->process, object->header, object->size_bytes);
}

struct tg_job_steps *tg_engine_adapter_steps(struct tg_engine_adapter *live)
{
    return live->steps;
}

struct tg_error *tg_engine_adapter_set_managers(struct tg_engine_adapter *live, const char *libraries)
{
    return tg_manager_threads_set(live->managers, libraries);
}
