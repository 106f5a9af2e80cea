#include "live/commands/motion/gate_run.h"

#include "analyzer/verdict/words.h"
#include "format/base/array.h"
#include "live/commands/focus/focus_call.h"
#include "live/commands/info/place.h"
#include "live/control/traced_job.h"
#include "live/source/moment.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const double stop_s = 30,
                    look_s = 0.25; /* for all to stop; between looks whether somebody cannot come */

void tg_gate_run_deinit(struct tg_gate_run *run)
{
    free(run->gates);
    free(run->workers);
    free(run->numbers);
    *run = (struct tg_gate_run){0};
}

struct tg_error *tg_gate_run_add_gate(struct tg_gate_run *run, const struct tg_worker_gate *gate)
{
    return TG_ARRAY_APPEND(run->gates, run->n_gates, run->max_gates, *gate);
}

struct tg_error *tg_gate_run_add_worker(struct tg_gate_run *run, const struct tg_gate_worker *worker)
{
    return TG_ARRAY_APPEND(run->workers, run->n_workers, run->max_workers, *worker);
}

int32_t tg_gate_run_pid(const struct tg_console *console, size_t process)
{
    const struct tg_process_entry *entry = tg_process_model_at(console->source->moment->processes, process);
    return entry == NULL ? 0 : entry->pid;
}

/* ---- stopping everybody */

struct standing {
    bool done; /* first: see tg_focus_call_await */
};

static struct tg_error *look_standing(const struct tg_request *request)
{
    struct standing *standing = request->context;
    standing->done = true;
    for (size_t p = 0; p < tg_job_view_count(request->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(request->view, p);
        for (size_t i = 0; process->info.exists && i < process->n_threads; i++)
            if (tg_job_set_has(request->set, process, i) &&
                !tg_job_state_is_stopped(tg_job_view_thread(request->view, process, i)->state))
                standing->done = false;
    }
    return NULL;
}

struct tg_error *tg_gate_run_settle(struct tg_console *console, FILE *out)
{
    struct standing standing = {0};
    struct tg_error *error = tg_focus_call_halt(console);
    if (error == NULL)
        error =
            tg_focus_call_await(console, &tg_focus_call_defaults, look_standing, &standing.done, stop_s, out);
    if (error == NULL)
        tg_console_catch_up(console);
    return error != NULL ? error : tg_focus_refresh(&console->focus, console->source);
}

void tg_gate_run_tell_worker(const struct tg_console *console, const struct tg_openmp_worker *worker,
                             FILE *out)
{
    const struct tg_verdict_input input = tg_console_words(console);
    fprintf(out, "worker %" PRIu64 ": ", worker->number);
    tg_words_worker_state(out, &input, worker);
    fputc('\n', out);
}

/* ---- agents */

struct asking {
    size_t n_processes, n_agents;
};

static struct tg_error *count_agents(const struct tg_request *request)
{
    struct asking *asking = request->context;
    for (size_t p = 0; p < tg_job_view_count(request->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(request->view, p);
        if (!process->info.exists || !tg_job_set_has_any(request->set, process))
            continue;
        asking->n_processes++;
        asking->n_agents += tg_worker_gates_has_agent(request->engine, (int32_t)process->info.tag);
    }
    return NULL;
}

struct tg_error *tg_gate_run_has_agents(struct tg_console *console, bool *has_agents)
{
    struct asking asking = {0};
    struct tg_error *error = tg_focus_call_run(console, &tg_focus_call_defaults, count_agents, &asking, NULL);
    *has_agents = asking.n_processes > 0 && asking.n_agents == asking.n_processes;
    return error;
}

/* ---- gates */

struct going {
    bool done; /* first: see tg_focus_call_await */
    struct tg_gate_run *run;
    const char *name;
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

static bool is_of_run(const struct tg_gate_run *run, uint32_t number)
{
    for (size_t i = 0; i < run->n_gates; i++)
        if (number != 0 && run->numbers[i] == number)
            return true;
    return false;
}

static size_t find_worker(const struct tg_gate_run *run, uint64_t pid, uint64_t tid)
{
    for (size_t i = 0; i < run->n_workers; i++)
        if ((uint64_t)run->workers[i].pid == pid && (uint64_t)run->workers[i].tid == tid)
            return i;
    return SIZE_MAX;
}

/* Those in focus, but for workers that are where they are to be, and for all others of a run of the workers alone. */
static struct tg_error *resume(const struct tg_request *request, const struct tg_gate_run *run)
{
    TG_AUTO_JOB_SET struct tg_job_set set = {0};
    struct tg_error *error = tg_job_set_init(&set, request->view);
    for (size_t p = 0; error == NULL && p < tg_job_view_count(request->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(request->view, p);
        for (size_t i = 0; i == 0 || i < process->n_threads; i++) {
            uint64_t tid =
                i < process->n_threads ? tg_job_view_thread(request->view, process, i)->tag : UINT64_MAX;
            size_t worker = find_worker(run, process->info.tag, tid);
            bool runs = worker == SIZE_MAX ? !run->alone : !run->workers[worker].is_out;
            if (runs && tg_job_set_has(request->set, process, i))
                tg_job_set_add(&set, process, i);
        }
    }
    return error != NULL ? error : tg_controller_go(request->controller, request->view, &set, NULL);
}

static bool has_gate(const struct tg_gate_run *run, const struct tg_job_process *process)
{
    for (size_t i = 0; i < run->n_gates; i++)
        if ((uint64_t)run->gates[i].pid == process->info.tag)
            return true;
    return false;
}

/* Who is to come must be able to. */
static struct tg_error *check_workers(const struct tg_request *request, const struct tg_gate_run *run)
{
    for (size_t p = 0; p < tg_job_view_count(request->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(request->view, p);
        for (size_t i = 0; process->info.exists && i < process->n_threads; i++) {
            const struct tg_job_thread *thread = tg_job_view_thread(request->view, process, i);
            size_t worker = find_worker(run, process->info.tag, thread->tag);
            bool is_to_come = worker == SIZE_MAX
                                  ? run->n_unknown > 0 && !thread->is_manager && has_gate(run, process)
                                  : !run->workers[worker].is_out;
            if (is_to_come && (thread->held || process->info.held))
                return tg_error_create(TG_ERROR_USAGE,
                                       "thread %" PRIu32 ".%" PRIu32
                                       " is held and cannot come; `dunhold` releases it",
                                       process->info.dpid, thread->dtid);
        }
    }
    return NULL;
}

/* How many of the workers are to come to gate I, where it is the only one of its process: no need to look before. */
static uint32_t count_to_come(const struct tg_gate_run *run, size_t i)
{
    uint32_t n_to_come = 0;
    for (size_t k = 0; k < run->n_gates; k++)
        if (k != i && run->gates[k].pid == run->gates[i].pid)
            return 0;
    for (size_t k = 0; k < run->n_workers; k++)
        n_to_come += run->workers[k].pid == run->gates[i].pid && !run->workers[k].is_out;
    return n_to_come;
}

static struct tg_error *open_and_go(const struct tg_request *request)
{
    struct going *going = request->context;
    struct tg_gate_run *run = going->run;
    struct tg_error *error = check_workers(request, run);
    run->numbers = error == NULL ? calloc(run->n_gates + 1, sizeof *run->numbers) : NULL;
    if (error == NULL && run->numbers == NULL)
        error = tg_error_no_memory();
    for (size_t i = 0; error == NULL && i < run->n_gates; i++) {
        run->gates[i].calls_from = count_to_come(run, i);
        error = tg_worker_gates_open(request->engine, &run->gates[i], &run->numbers[i]);
    }
    if (error == NULL)
        error = resume(request, run);
    if (error != NULL)
        close_all(run, request->engine);
    return error;
}

/* ---- waiting */

/* Whether all that are to come have, or one where nobody is named: then nobody runs on. Who is stopped comes no more. */
static struct tg_error *look(const struct tg_request *request)
{
    struct going *going = request->context;
    struct tg_gate_run *run = going->run;
    size_t n_running = 0, n_here = 0, n_lost = 0;
    for (size_t p = 0; p < tg_job_view_count(request->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(request->view, p);
        for (size_t i = 0; process->info.exists && i < process->n_threads; i++) {
            const struct tg_job_thread *thread = tg_job_view_thread(request->view, process, i);
            bool runs = !tg_job_state_is_stopped(thread->state);
            size_t worker = find_worker(run, process->info.tag, thread->tag);
            n_running += runs && tg_job_set_has(request->set, process, i);
            n_lost += !runs && worker != SIZE_MAX && !run->workers[worker].is_out;
        }
    }
    for (size_t i = 0; i < run->n_gates; i++)
        n_here += tg_worker_gates_count(request->engine, run->numbers[i]);
    size_t n_to_come = run->n_unknown;
    for (size_t i = 0; i < run->n_workers; i++)
        n_to_come += !run->workers[i].is_out;
    bool are_here = n_here > 0 && n_here >= n_to_come;
    going->done = n_running == 0 || n_lost > 0 || are_here;
    return are_here ? tg_controller_halt(request->controller, request->view, request->set) : NULL;
}

static bool waits_for_others(const struct tg_openmp_worker *worker)
{
    if (!worker->alive || worker->n_places == 0)
        return false;
    enum tg_openmp_place_kind kind = worker->places[worker->n_places - 1].kind;
    return kind == TG_OPENMP_IN_MUTEX_WAIT || kind == TG_OPENMP_IN_SYNC;
}

static struct tg_error *note_who_waits(const struct tg_request *request)
{
    struct tg_gate_run *run = request->context;
    run->n_here = run->n_unplaced = 0;
    for (size_t i = 0; i < run->n_gates; i++) {
        run->n_here += tg_worker_gates_count(request->engine, run->numbers[i]);
        run->n_unplaced += tg_worker_gates_unplaced(request->engine, run->numbers[i]);
    }
    for (size_t i = 0; i < run->n_workers; i++)
        run->workers[i].waits =
            is_of_run(run, tg_worker_gates_waits(request->engine, run->workers[i].pid, run->workers[i].tid));
    return NULL;
}

/* Whether nobody who has not come can: they all wait for others, and have since the last look. */
static struct tg_error *look_for_stuck(struct tg_console *console, struct tg_gate_run *run, bool *stuck)
{
    struct tg_error *error = tg_focus_call_run_all(console, note_who_waits, run, NULL);
    *stuck = error == NULL && run->n_workers > 0;
    for (size_t i = 0; error == NULL && i < run->n_workers; i++) {
        struct tg_gate_worker *worker = &run->workers[i];
        const struct tg_openmp_worker *known =
            tg_openmp_model_worker_at(console->source->moment->openmp, worker->index);
        if (worker->is_out || worker->waits)
            continue;
        worker->cannot = !known->alive ||
                         (waits_for_others(known) && worker->is_stuck && worker->before_ns == known->last_ns);
        worker->is_stuck = true;
        worker->before_ns = known->last_ns;
        *stuck = *stuck && worker->cannot;
    }
    return error;
}

/* Where nobody comes: who runs, and whether all of them wait for somebody who does not. */
struct blockade {
    const struct tg_console *console;
    size_t n_running, n_waiting;
    uint64_t last_ns; /* of their last events */
    struct tg_thread_id
        stopped; /* one of those who do not run, a held one if there is any; all 0: everybody runs */
    bool is_held;
};

static void note_thread(struct blockade *blockade, const struct tg_job_process *process,
                        const struct tg_job_thread *thread)
{
    if (tg_job_state_is_stopped(thread->state)) {
        bool is_held = thread->held || process->info.held;
        if (blockade->stopped.dpid == 0 || (is_held && !blockade->is_held)) {
            blockade->stopped = (struct tg_thread_id){process->info.dpid, thread->dtid};
            blockade->is_held = is_held;
        }
        return;
    }
    const struct tg_openmp_worker *worker = tg_openmp_model_worker(
        blockade->console->source->moment->openmp, process->info.dpid - 1, (int32_t)thread->tag);
    blockade->n_running++;
    if (worker == NULL || !waits_for_others(worker))
        return;
    blockade->n_waiting++;
    if (worker->last_ns > blockade->last_ns)
        blockade->last_ns = worker->last_ns;
}

/* Of the processes in focus, whose workers wait for each other alone. */
static struct tg_error *note_blockade(const struct tg_request *request)
{
    for (size_t p = 0; p < tg_job_view_count(request->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(request->view, p);
        if (!process->info.exists || !tg_job_set_has_any(request->set, process))
            continue;
        for (size_t i = 0; i < process->n_threads; i++) {
            const struct tg_job_thread *thread = tg_job_view_thread(request->view, process, i);
            if (!thread->is_manager && thread->state != TG_JOB_NONEXISTENT)
                note_thread(request->context, process, thread);
        }
    }
    return NULL;
}

/* *LAST_NS: what it was at the look before. An error of a run to which nobody can come; the run is over then. */
static struct tg_error *look_for_blockade(struct tg_console *console, uint64_t *last_ns,
                                          struct tg_error **blocked)
{
    struct blockade blockade = {.console = console};
    struct tg_error *error =
        tg_focus_call_run(console, &tg_focus_call_defaults, note_blockade, &blockade, NULL);
    bool is_blocked = error == NULL && blockade.n_running > 0 && blockade.n_waiting == blockade.n_running &&
                      blockade.stopped.dpid != 0 && blockade.last_ns == *last_ns;
    *last_ns = blockade.last_ns;
    if (is_blocked)
        *blocked = tg_error_create(
            TG_ERROR_USAGE,
            "nobody can come: %zu thread%s and wait%s for others, but thread %" PRIu32 ".%" PRIu32 " is %s",
            blockade.n_running, blockade.n_running == 1 ? " runs" : "s run",
            blockade.n_running == 1 ? "s" : "", blockade.stopped.dpid, blockade.stopped.dtid,
            blockade.is_held ? "held; `dunhold` releases it" : "stopped, and not in focus");
    return error;
}

/* Waits until the first worker has come. Each wait is twice as long as the one before, so that the message about a
 * long wait has the time to come. */
static struct tg_error *await_first(struct tg_console *console, struct going *going,
                                    struct tg_error **blocked, FILE *out)
{
    uint64_t last_ns = UINT64_MAX;
    for (double seconds = look_s;; seconds *= 2) {
        int status;
        struct tg_error *error =
            tg_focus_call_await(console, &tg_focus_call_defaults, look, &going->done, seconds, out);
        if (error == NULL || tg_error_code(error) != TG_ERROR_TARGET ||
            tg_traced_job_has_ended(console->options.live, &status))
            return error;
        tg_error_destroy(error);
        error = look_for_blockade(console, &last_ns, blocked);
        if (error != NULL || *blocked != NULL)
            return error;
    }
}

static struct tg_error *await(struct tg_console *console, struct going *going, FILE *out)
{
    struct tg_error *error;
    for (bool stuck = false;;) {
        error = tg_focus_call_await(console, &tg_focus_call_defaults, look, &going->done, look_s, out);
        if (error == NULL || tg_error_code(error) != TG_ERROR_TARGET)
            return error;
        int status;
        if (tg_traced_job_has_ended(console->options.live, &status))
            return error;
        tg_error_destroy(error);
        error = look_for_stuck(console, going->run, &stuck);
        if (error != NULL || stuck)
            return error;
    }
}

/* ---- what has become of it */

static bool has_come(const struct tg_request *request, const struct tg_gate_run *run, uint64_t pid,
                     uint64_t tid)
{
    return is_of_run(run, tg_worker_gates_waits(request->engine, (int32_t)pid, (int32_t)tid));
}

struct arrivals {
    const struct tg_console *console;
    struct tg_gate_run *run;
    size_t n_passed; /* who were not meant, and go on */
    size_t n_kept;   /* who were not, and stay */
};

static const struct tg_openmp_worker *worker_of(const struct arrivals *arrivals,
                                                const struct tg_job_process *process, uint64_t tid)
{
    return tg_openmp_model_worker(arrivals->console->source->moment->openmp, process->info.dpid - 1,
                                  (int32_t)tid);
}

/* Whether the thread ends the run: it is at a gate and meant, or was stopped on its way there. */
static bool is_the_one(const struct tg_gate_run *run, const struct tg_openmp_worker *worker, bool has_come)
{
    if (has_come)
        return run->is_meant == NULL || run->is_meant(run->context, worker);
    return run->is_arriving != NULL && worker->last_ns > run->begun_ns &&
           run->is_arriving(run->context, worker);
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
            if (worker != NULL && is_the_one(run, worker, has_come(request, run, process->info.tag, tid)) &&
                (run->first == NULL || worker->last_ns < run->first->last_ns))
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

/* Nobody who was meant has come: those who have are let pass, or stay for a while. */
static struct tg_error *let_pass(const struct tg_request *request)
{
    struct arrivals *arrivals = request->context;
    for (size_t p = 0; p < tg_job_view_count(request->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(request->view, p);
        for (size_t i = 0; process->info.exists && i < process->n_threads; i++) {
            uint64_t tid = tg_job_view_thread(request->view, process, i)->tag;
            const struct tg_openmp_worker *worker = worker_of(arrivals, process, tid);
            if (!has_come(request, arrivals->run, process->info.tag, tid) || worker == NULL)
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
    struct going *going = request->context;
    return resume(request, going->run);
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
        if (error == NULL && run->first == NULL)
            error = tg_focus_call_run_all(console, let_pass, &arrivals, NULL);
        run->is_there = run->first != NULL;
        *again = run->first == NULL && arrivals.n_passed + arrivals.n_kept > 0;
        run->n_keeping += arrivals.n_kept > 0;
        return error;
    }
    if (error == NULL)
        error = tg_focus_call_run_all(console, note_who_waits, run, NULL);
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

struct tg_error *tg_gate_run_go(struct tg_console *console, struct tg_gate_run *run, const char *name,
                                FILE *out)
{
    struct going going = {.run = run, .name = name};
    run->begun_ns = last_event_ns(console->source->moment->openmp);
    struct tg_error *error = tg_focus_call_run(console, &tg_focus_call_defaults, open_and_go, &going, out);
    if (error != NULL)
        return error;
    for (bool again = true; error == NULL && again;) {
        struct tg_error *blocked = NULL;
        again = false;
        error =
            run->n_workers == 0 ? await_first(console, &going, &blocked, out) : await(console, &going, out);
        uint64_t last_ns = last_event_ns(console->source->moment->openmp);
        if (error == NULL)
            error = tg_gate_run_settle(console, out);
        if (error == NULL)
            error = take_result(console, &going, &again);
        if (error == NULL && blocked != NULL && run->first == NULL) {
            /* records that were still on their way may say otherwise */
            again |= last_event_ns(console->source->moment->openmp) != last_ns;
            error = again ? NULL : blocked;
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
