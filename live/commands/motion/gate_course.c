#include "live/commands/motion/gate_course.h"

#include "live/commands/focus/focus_call.h"
#include "live/commands/motion/blockade.h"
#include "live/commands/motion/gate_wait.h"
#include "live/source/moment.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- gates up, and away */

struct going {
    const struct tg_console *console;
    struct tg_gate_run *run;
    const char *name;
    struct tg_gate_attendance *attendance; /* NULL: it is whoever comes first that ends the run */
};

static void close_all(struct tg_gate_run *run, struct tg_engine_adapter *engine)
{
    for (size_t i = 0; run->numbers != NULL && i < run->n_gates; i++) {
        if (run->numbers[i] != 0)
            tg_worker_gates_close(engine, run->numbers[i]);
        run->numbers[i] = 0;
    }
}

static struct tg_error *close_gates(const struct tg_request *request)
{
    close_all(request->context, request->engine);
    return NULL;
}

/* Index of the first gate that is of process PID; SIZE_MAX none. */
static size_t find_gate(const struct tg_gate_run *run, uint64_t pid)
{
    for (size_t i = 0; i < run->n_gates; i++)
        if (run->gates[i].pid == 0 || (uint64_t)run->gates[i].pid == pid)
            return i;
    return SIZE_MAX;
}

/* Whether threads of the process that are no workers of the run go on with it: in ranks that are not where the others
 * are nobody does, or they would run past it. */
static bool goes_along(const struct tg_gate_run *run, const struct tg_job_process *process)
{
    return !run->alone && (!run->of_process || find_gate(run, process->info.tag) != SIZE_MAX);
}

/* Adds the launchers of RANK to SET, whether they are in focus or not: nobody leaves MPI_Init, for one, without them. */
static void add_launchers(const struct tg_request *request, const struct going *going,
                          const struct tg_job_process *rank, struct tg_job_set *set)
{
    const struct tg_process_entry *entry = tg_moment_process(going->console->source->moment, rank->info.dpid);
    while (entry != NULL && (entry = entry->parent) != NULL) {
        const struct tg_job_process *above = tg_job_view_process(request->view, (uint32_t)entry->index + 1);
        for (size_t i = 0; above != NULL && above->info.rank < 0 && i < above->n_threads; i++)
            tg_job_set_add(set, above, i);
    }
}

/* Resumes the threads in focus, but for workers that are where they are to be, and for all others in a run of the
 * workers alone. */
static struct tg_error *resume(const struct tg_request *request, const struct going *going)
{
    const struct tg_gate_run *run = going->run;
    TG_AUTO_JOB_SET struct tg_job_set set = {0};
    struct tg_error *error = tg_job_set_init(&set, request->view);
    for (size_t p = 0; error == NULL && p < tg_job_view_count(request->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(request->view, p);
        for (size_t i = 0; i == 0 || i < process->n_threads; i++) {
            uint64_t tid =
                i < process->n_threads ? tg_job_view_thread(request->view, process, i)->tag : UINT64_MAX;
            size_t worker = tg_gate_run_find_worker(run, process->info.tag, tid);
            bool runs = worker == SIZE_MAX ? goes_along(run, process) : !run->workers[worker].is_out;
            if (runs && tg_job_set_has(request->set, process, i))
                tg_job_set_add(&set, process, i);
        }
        if (process->info.rank >= 0 && tg_job_set_has_any(&set, process))
            add_launchers(request, going, process, &set);
    }
    return error != NULL ? error : tg_controller_go(request->controller, request->view, &set, NULL);
}

/* Whether a gate of RUN is for thread TID of process PID alone. */
static bool is_awaited(const struct tg_gate_run *run, uint64_t pid, uint64_t tid)
{
    for (size_t i = 0; i < run->n_gates; i++)
        if ((uint64_t)run->gates[i].pid == pid && (uint64_t)run->gates[i].tid == tid)
            return true;
    return false;
}

/* Workers that are to come must be able to, and where it is anybody, one of those in focus. */
static struct tg_error *check_workers(const struct tg_request *request, const struct tg_gate_run *run)
{
    size_t n_threads = 0, n_held = 0;
    for (size_t p = 0; p < tg_job_view_count(request->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(request->view, p);
        for (size_t i = 0; process->info.exists && i < process->n_threads; i++) {
            const struct tg_job_thread *thread = tg_job_view_thread(request->view, process, i);
            size_t worker = tg_gate_run_find_worker(run, process->info.tag, thread->tag);
            bool is_to_come = worker == SIZE_MAX ? run->n_unknown > 0 && !thread->is_manager &&
                                                       find_gate(run, process->info.tag) != SIZE_MAX
                                                 : !run->workers[worker].is_out;
            bool is_held = thread->held || process->info.held;
            if (is_held && (is_to_come || is_awaited(run, process->info.tag, thread->tag)))
                return tg_error_create(TG_ERROR_USAGE,
                                       "thread %" PRIu32 ".%" PRIu32
                                       " is held and cannot arrive; `dunhold` releases it",
                                       process->info.dpid, thread->dtid);
            if (thread->is_manager || !tg_job_set_has(request->set, process, i))
                continue;
            n_threads++;
            n_held += is_held;
        }
    }
    if (!run->of_job && run->n_workers == 0 && n_threads > 0 && n_held == n_threads)
        return tg_error_create(TG_ERROR_USAGE,
                               "no thread can arrive: all in focus are held; `dunhold` releases them");
    return NULL;
}

/* Whether gate I is of a process that is held before its program begins, and that others may come before. */
static bool is_left_out(const struct tg_gate_run *run, struct tg_engine_adapter *engine, size_t i)
{
    return run->n_workers == 0 && !run->of_each && run->n_gates > 1 && run->gates[i].pid != 0 &&
           !tg_worker_gates_has_agent(engine, run->gates[i].pid);
}

static struct tg_error *open_and_go(const struct tg_request *request)
{
    struct going *going = request->context;
    struct tg_gate_run *run = going->run;
    struct tg_error *error = check_workers(request, run);
    if (error == NULL) {
        run->numbers = calloc(run->n_gates + 1, sizeof *run->numbers);
        run->have_come = calloc(run->n_gates + 1, sizeof *run->have_come);
    }
    if (error == NULL && (run->numbers == NULL || run->have_come == NULL))
        error = tg_error_no_memory();
    for (size_t i = 0; error == NULL && i < run->n_gates; i++) {
        if (is_left_out(run, request->engine, i))
            continue;
        error = tg_worker_gates_open(request->engine, &run->gates[i], &run->numbers[i]);
    }
    if (error == NULL && going->attendance != NULL)
        tg_gate_attendance_begin(going->attendance);
    if (error == NULL && !run->of_job)
        error = resume(request, going);
    if (error != NULL)
        close_all(run, request->engine);
    return error;
}

/* ---- what has become of it */

static bool has_come(const struct tg_request *request, const struct tg_gate_run *run, uint64_t pid,
                     uint64_t tid)
{
    return tg_gate_run_has(run, tg_worker_gates_waits(request->engine, (int32_t)pid, (int32_t)tid));
}

struct arrivals {
    const struct tg_console *console;
    struct tg_gate_run *run;
    size_t n_passed; /* workers that were not meant, and go on */
    size_t n_kept;   /* workers that were not meant, and stay */
};

static const struct tg_openmp_worker *worker_of(const struct arrivals *arrivals,
                                                const struct tg_job_process *process, uint64_t tid)
{
    return tg_openmp_model_worker(arrivals->console->source->moment->openmp, process->info.dpid - 1,
                                  (int32_t)tid);
}

/* Whether the thread ends the run: it is at a gate and meant, or was stopped on its way there. One that was stopped on its way
 * before the run began was told then, and comes to the gate with nothing new. */
static bool is_the_one(const struct tg_gate_run *run, const struct tg_openmp_worker *worker, bool has_come)
{
    bool is_new = worker->last_ns > run->begun_ns;
    if (has_come)
        return run->is_meant == NULL || (is_new && run->is_meant(run->context, worker));
    return run->is_arriving != NULL && is_new && run->is_arriving(run->context, worker);
}

/* Of those who have come to a run without workers the first that is meant. Models say what threads are at. */
static struct tg_error *choose_first(const struct tg_request *request)
{
    struct arrivals *arrivals = request->context;
    struct tg_gate_run *run = arrivals->run;
    for (size_t p = 0; p < tg_job_view_count(request->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(request->view, p);
        for (size_t i = 0; process->info.exists && i < process->n_threads; i++) {
            uint64_t tid = tg_job_view_thread(request->view, process, i)->tag;
            const struct tg_openmp_worker *worker = worker_of(arrivals, process, tid);
            size_t gate = find_gate(run, process->info.tag);
            if (worker == NULL || gate == SIZE_MAX ||
                !is_the_one(run, worker, has_come(request, run, process->info.tag, tid)))
                continue;
            run->have_come[gate] = true;
            if (run->first == NULL || worker->last_ns < run->first->last_ns)
                run->first = worker;
        }
    }
    return NULL;
}

enum { MAX_KEEPING = 50 }; /* stops until who is kept goes on all the same */

static bool is_kept(const struct tg_gate_run *run, const struct tg_openmp_worker *worker)
{
    return run->is_kept != NULL && run->n_keeping < MAX_KEEPING && run->is_kept(run->context, worker);
}

/* Nobody who was meant has come, or not to each gate: those who have are let pass, or stay for a while. */
static struct tg_error *let_pass(const struct tg_request *request)
{
    struct arrivals *arrivals = request->context;
    for (size_t p = 0; p < tg_job_view_count(request->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(request->view, p);
        for (size_t i = 0; process->info.exists && i < process->n_threads; i++) {
            uint64_t tid = tg_job_view_thread(request->view, process, i)->tag;
            const struct tg_openmp_worker *worker = worker_of(arrivals, process, tid);
            size_t gate = find_gate(arrivals->run, process->info.tag);
            if (!has_come(request, arrivals->run, process->info.tag, tid) || worker == NULL ||
                (gate != SIZE_MAX && arrivals->run->have_come[gate]))
                continue;
            if (is_kept(arrivals->run, worker)) {
                arrivals->n_kept++;
                continue;
            }
            tg_worker_gates_pass(request->engine, (int32_t)process->info.tag, (int32_t)tid);
            arrivals->n_passed++;
        }
    }
    return NULL;
}

static struct tg_error *note_end(const struct tg_request *request)
{
    const struct going *going = request->context;
    tg_engine_adapter_record(
        request->engine,
        &(struct tg_event){.kind = TG_EVENT_CONTROL_COMMAND, .control_command = {.command = going->name}});
    return NULL;
}

static struct tg_error *go_on(const struct tg_request *request)
{
    return resume(request, request->context);
}

/* All are stopped; what of the run is true now. AGAIN: only such have come as were not meant. */
static struct tg_error *take_result(struct tg_console *console, struct going *going, bool *again)
{
    struct tg_gate_run *run = going->run;
    struct arrivals arrivals = {.console = console, .run = run};
    struct tg_error *error = tg_focus_call_run_all(console, note_end, going, NULL);
    if (error == NULL)
        tg_console_catch_up(console);
    if (error == NULL && run->n_workers == 0) {
        error = tg_focus_call_run_all(console, choose_first, &arrivals, NULL);
        run->is_there = run->first != NULL && (!run->of_each || tg_gate_run_count_come(run) == run->n_gates);
        if (error == NULL && !run->is_there)
            error = tg_focus_call_run_all(console, let_pass, &arrivals, NULL);
        *again = !run->is_there && arrivals.n_passed + arrivals.n_kept > 0;
        run->n_keeping += arrivals.n_kept > 0;
        return error;
    }
    if (error == NULL)
        error = tg_focus_call_run_all(console, tg_gate_wait_note, run, NULL);
    run->is_there = error == NULL;
    for (size_t i = 0; i < run->n_workers; i++)
        run->is_there &= run->workers[i].is_out || run->workers[i].waits || run->workers[i].cannot;
    return error;
}

static uint64_t last_event_ns(const struct tg_openmp_model *model)
{
    uint64_t last_ns = 0;
    for (size_t i = 0; i < tg_openmp_model_worker_count(model); i++)
        if (tg_openmp_model_worker_at(model, i)->last_ns > last_ns)
            last_ns = tg_openmp_model_worker_at(model, i)->last_ns;
    return last_ns;
}

/* Of a run that nobody can come to, by what was known at LAST_NS: records that were still on their way may say
 * otherwise, *AGAIN. A deadlock is one whatever others did. */
static struct tg_error *check_blocked(struct tg_console *console, const struct tg_gate_run *run,
                                      uint64_t last_ns, bool *again)
{
    bool holds = true;
    struct tg_error *error = run->n_stuck == 0 ? NULL : tg_blockade_holds(console, run, &holds);
    *again |= run->n_stuck == 0 ? last_event_ns(console->source->moment->openmp) != last_ns : !holds;
    return error;
}

struct tg_error *tg_gate_course_run(struct tg_console *console, struct tg_gate_run *run, const char *name,
                                    FILE *out)
{
    struct going going = {.console = console, .run = run, .name = name};
    run->begun_ns = last_event_ns(console->source->moment->openmp);
    struct tg_error *error = run->of_job || run->n_workers == 0
                                 ? NULL
                                 : tg_gate_attendance_create(console, run, &going.attendance);
    if (error == NULL)
        error = tg_focus_call_run(console, &tg_focus_call_defaults, open_and_go, &going, out);
    if (error != NULL) {
        tg_gate_attendance_end(going.attendance);
        return error;
    }
    for (bool again = true; error == NULL && again;) {
        struct tg_error *blocked = NULL;
        again = false;
        error = run->of_job           ? tg_gate_wait_job(console, run, &blocked, out)
                : run->n_workers == 0 ? tg_gate_wait_first(console, run, &blocked, out)
                                      : tg_gate_wait_all(console, run, going.attendance, out);
        uint64_t last_ns = last_event_ns(console->source->moment->openmp);
        /* a focus that is whatever ranks there are stays that where the job has only come to its ranks */
        if (error == NULL)
            error = run->of_job && !run->has_begun ? tg_gate_run_halt(console, out)
                                                   : tg_gate_run_settle(console, out);
        tg_gate_attendance_end(going.attendance); /* all are stopped */
        going.attendance = NULL;
        if (error == NULL)
            error = take_result(console, &going, &again);
        if (error == NULL && blocked != NULL && run->first == NULL)
            error = check_blocked(console, run, last_ns, &again);
        if (error == NULL && blocked != NULL && run->first == NULL && !again)
            error = blocked;
        /* the focus was there when the gates were opened: its threads have ended, and nobody has come */
        if (error != NULL && error != blocked && tg_error_code(error) == TG_ERROR_NOT_FOUND &&
            run->n_workers == 0 && run->first == NULL) {
            tg_error_destroy(error);
            error = NULL;
        }
        if (error != blocked)
            tg_error_destroy(blocked);
        if (error == NULL && again)
            error = tg_focus_call_run(console, &tg_focus_call_defaults, go_on, &going, out);
    }
    struct tg_error *closing = tg_focus_call_run_all(console, close_gates, run, out);
    if (error == NULL)
        return closing;
    tg_error_destroy(closing);
    return error;
}
