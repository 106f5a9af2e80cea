#include "live/commands/motion/gate_wait.h"

#include "live/commands/control/run.h"
#include "live/commands/focus/focus_call.h"
#include "live/commands/motion/blockade.h"
#include "live/commands/motion/deadlock.h"
#include "live/control/traced_job.h"
#include "live/source/moment.h"

#include <inttypes.h>
#include <string.h>

static const double look_s = 0.25; /* between looks whether somebody cannot come */

struct waiting {
    bool done; /* first: see tg_focus_call_await */
    struct tg_gate_run *run;
};

static bool is_alive(const struct tg_job_view *view, int32_t pid)
{
    for (size_t p = 0; p < tg_job_view_count(view); p++)
        if (tg_job_view_at(view, p)->info.tag == (uint64_t)pid)
            return tg_job_view_at(view, p)->info.exists;
    return false;
}

static bool has_thread(const struct tg_job_view *view, const struct tg_worker_gate *gate)
{
    for (size_t p = 0; p < tg_job_view_count(view); p++) {
        const struct tg_job_process *process = tg_job_view_at(view, p);
        for (size_t i = 0; process->info.tag == (uint64_t)gate->pid && i < process->n_threads; i++)
            if (tg_job_view_thread(view, process, i)->tag == (uint64_t)gate->tid)
                return process->info.exists;
    }
    return false;
}

/* Whether nobody can come any more: all who were to come have ended; of a run without workers, all threads that its gates are
 * of. */
static bool are_gone(const struct tg_job_view *view, const struct tg_gate_run *run)
{
    size_t n_gone = 0;
    for (size_t i = 0; i < run->n_workers; i++) {
        if (!run->workers[i].is_out && !run->workers[i].is_gone)
            return false;
        n_gone += run->workers[i].is_gone;
    }
    if (run->n_workers > 0)
        return n_gone > 0 && run->n_unknown == 0;
    for (size_t i = 0; i < run->n_gates; i++)
        if (run->gates[i].tid == 0 || has_thread(view, &run->gates[i]))
            return false;
    return true;
}

/* Whether all threads that are expected have come, or, where none is named, the first one. Stopped threads cannot come. */
static struct tg_error *look(const struct tg_request *request)
{
    struct waiting *going = request->context;
    struct tg_gate_run *run = going->run;
    size_t n_running = 0, n_here = 0, n_lost = 0;
    for (size_t i = 0; i < run->n_workers; i++)
        run->workers[i].is_gone = !is_alive(request->view, run->workers[i].pid);
    for (size_t p = 0; p < tg_job_view_count(request->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(request->view, p);
        for (size_t i = 0; process->info.exists && i < process->n_threads; i++) {
            const struct tg_job_thread *thread = tg_job_view_thread(request->view, process, i);
            bool runs = !tg_job_state_is_stopped(thread->state);
            size_t worker = tg_gate_run_find_worker(run, process->info.tag, thread->tag);
            n_running += runs && tg_job_set_has(request->set, process, i);
            n_lost += !runs && worker != SIZE_MAX && !run->workers[worker].is_out;
        }
    }
    size_t n_to_come = 0;
    for (size_t i = 0; i < run->n_gates; i++) {
        size_t n_at_gate = tg_worker_gates_count(request->engine, run->numbers[i]);
        n_here += n_at_gate;
        n_to_come += run->of_each && n_at_gate == 0 && is_alive(request->view, run->gates[i].pid);
    }
    bool are_here = run->of_each ? n_here > 0 && n_to_come == 0 : tg_gate_attendance_is_complete(run, n_here);
    bool is_gone = are_gone(request->view, run);
    going->done = n_running == 0 || n_lost > 0 || are_here || is_gone;
    return are_here || is_gone ? tg_controller_halt(request->controller, request->view, request->set) : NULL;
}

struct tg_error *tg_gate_wait_note(const struct tg_request *request)
{
    struct tg_gate_run *run = request->context;
    run->n_here = run->n_unplaced = 0;
    for (size_t i = 0; i < run->n_gates; i++) {
        run->n_here += tg_worker_gates_count(request->engine, run->numbers[i]);
        run->n_unplaced += tg_worker_gates_unplaced(request->engine, run->numbers[i]);
    }
    for (size_t i = 0; i < run->n_workers; i++)
        run->workers[i].waits = tg_gate_run_has(
            run, tg_worker_gates_waits(request->engine, run->workers[i].pid, run->workers[i].tid));
    return NULL;
}

/* Whether a worker that waits for others has gone on waiting since the last look, although it could have run: on a busy
 * machine one that has been released may not have had a processor yet. */
static bool has_waited_on(const struct tg_gate_worker *worker, const struct tg_openmp_worker *known,
                          struct tg_gate_chance chance)
{
    bool has_run = chance.run_ns == 0 || chance.run_ns != worker->before.run_ns;
    return tg_deadlock_waits_for_others(known) && worker->is_stuck && worker->before_ns == known->last_ns &&
           (!chance.is_ready || has_run);
}

/* Whether nobody who has not come can, now and at the last look: they all wait for others. *N_LOOKS: at which that was
 * so, one after another. */
static struct tg_error *look_for_stuck(struct tg_console *console, struct tg_gate_run *run, size_t *n_looks,
                                       bool *stuck)
{
    struct tg_error *error = tg_focus_call_run_all(console, tg_gate_wait_note, run, NULL);
    bool all_wait = error == NULL && run->n_workers > 0;
    for (size_t i = 0; error == NULL && i < run->n_workers; i++) {
        struct tg_gate_worker *worker = &run->workers[i];
        const struct tg_openmp_worker *known =
            tg_openmp_model_worker_at(console->source->moment->openmp, worker->index);
        if (worker->is_out || worker->waits)
            continue;
        struct tg_gate_chance chance = tg_worker_gates_chance(worker->tid);
        worker->cannot = !known->alive || has_waited_on(worker, known, chance);
        worker->is_stuck = true;
        worker->before_ns = known->last_ns;
        worker->before = chance;
        all_wait = all_wait && worker->cannot;
    }
    *n_looks = all_wait ? *n_looks + 1 : 0;
    *stuck = *n_looks > 1;
    return error;
}

/* How long to wait until the next look, and whether there is one. */
static double until_look(const struct tg_gate_run *run, double waited, bool *is_last)
{
    *is_last = run->seconds > 0 && run->seconds - waited <= look_s;
    return !*is_last ? look_s : run->seconds > waited ? run->seconds - waited : 0;
}

struct tg_error *tg_gate_wait_first(struct tg_console *console, struct tg_gate_run *run,
                                    struct tg_error **blocked, FILE *out)
{
    struct waiting waiting = {.run = run};
    struct tg_focus_patience patience = {0};
    struct tg_blockade_watch watch = {0};
    double waited = 0;
    for (bool is_over = false, is_last;;) {
        int status;
        const double seconds = until_look(run, waited, &is_last);
        struct tg_error *error = tg_focus_call_await_with(console, &tg_focus_call_defaults, look,
                                                          &waiting.done, seconds, &patience, out);
        waited += seconds;
        if (error == NULL || tg_error_code(error) != TG_ERROR_TARGET ||
            tg_traced_job_has_ended(console->options.live, &status))
            return error;
        tg_error_destroy(error);
        if (is_last)
            return tg_error_create(TG_ERROR_TARGET, "still running after %g seconds", run->seconds);
        error = tg_blockade_look(console, run, &watch, blocked, &is_over);
        if (error != NULL || *blocked != NULL || is_over)
            return error;
    }
}

struct tg_error *tg_gate_wait_all(struct tg_console *console, struct tg_gate_run *run,
                                  struct tg_gate_attendance *attendance, FILE *out)
{
    struct waiting waiting = {.run = run};
    struct tg_focus_patience patience = {0};
    struct tg_blockade_watch watch = {0};
    size_t n_looks = 0;
    for (bool stuck = false, is_outside = false;;) {
        int status;
        struct tg_error *error = tg_focus_call_await_with(console, &tg_focus_call_defaults, look,
                                                          &waiting.done, look_s, &patience, out);
        if (error == NULL || tg_error_code(error) != TG_ERROR_TARGET)
            return error;
        if (tg_traced_job_has_ended(console->options.live, &status))
            return error;
        tg_error_destroy(error);
        error = tg_gate_attendance_relax(attendance);
        if (error == NULL)
            error = look_for_stuck(console, run, &n_looks, &stuck);
        if (error == NULL && !stuck)
            error = tg_blockade_is_outside(console, run, &watch, &is_outside);
        for (size_t i = 0; error == NULL && is_outside && i < run->n_workers; i++)
            run->workers[i].cannot = !run->workers[i].is_out && !run->workers[i].waits;
        if (error != NULL || stuck || is_outside)
            return error;
    }
}

/* ---- the first process of a job that comes to a gate */

struct beginning {
    struct tg_gate_run *run;
    uint32_t dpid; /* of who has come; 0 nobody */
    struct tg_blockade_watch watch;
    struct tg_error *blocked;
};

static bool is_at_gate(const struct tg_request *request, const struct tg_gate_run *run,
                       const struct tg_job_process *process)
{
    for (size_t i = 0; process->info.exists && i < process->n_threads; i++) {
        uint64_t tid = tg_job_view_thread(request->view, process, i)->tag;
        if (tg_gate_run_has(run,
                            tg_worker_gates_waits(request->engine, (int32_t)process->info.tag, (int32_t)tid)))
            return true;
    }
    return false;
}

/* Whether somebody is at the gate. Then its process is stopped; of a job of ranks all of these. */
static bool has_begun(const struct tg_request *request, void *context)
{
    struct beginning *beginning = context;
    const struct tg_gate_run *run = beginning->run;
    const struct tg_job_view *view = request->view;
    TG_AUTO_JOB_SET struct tg_job_set set = {0};
    bool is_of_ranks = false;
    if (tg_worker_gates_count(request->engine, run->numbers[0]) == 0)
        return false;
    for (size_t p = 0; p < tg_job_view_count(view) && beginning->dpid == 0; p++) {
        const struct tg_job_process *process = tg_job_view_at(view, p);
        if (!is_at_gate(request, run, process))
            continue;
        beginning->dpid = process->info.dpid;
        is_of_ranks = process->info.rank >= 0;
    }
    TG_AUTO_ERROR struct tg_error *error = tg_job_set_init(&set, view);
    for (size_t p = 0; error == NULL && p < tg_job_view_count(view); p++) {
        const struct tg_job_process *process = tg_job_view_at(view, p);
        bool is_meant = is_of_ranks ? process->info.rank >= 0 : process->info.dpid == beginning->dpid;
        for (size_t i = 0; is_meant && (i == 0 || i < process->n_threads); i++)
            tg_job_set_add(&set, process, i);
    }
    if (error == NULL)
        error = tg_controller_halt(request->controller, view, &set);
    return beginning->dpid != 0;
}

static struct tg_error *look_at_job(struct tg_console *console, void *context, bool *is_over)
{
    struct beginning *beginning = context;
    struct tg_error *error =
        tg_blockade_look(console, beginning->run, &beginning->watch, &beginning->blocked, is_over);
    *is_over = *is_over || beginning->blocked != NULL;
    return error;
}

struct tg_error *tg_gate_wait_job(struct tg_console *console, struct tg_gate_run *run,
                                  struct tg_error **blocked, FILE *out)
{
    struct beginning beginning = {.run = run};
    const struct tg_run_limits limits = {.seconds = run->seconds > 0 ? run->seconds : -1,
                                         .is_over = has_begun,
                                         .look = look_at_job,
                                         .look_s = look_s,
                                         .context = &beginning};
    struct tg_error *error = tg_run_continue(console, &limits, out);
    *blocked = beginning.blocked;
    if (error != NULL)
        return error;
    run->has_begun = beginning.dpid != 0;
    uint32_t dpid = run->has_begun ? beginning.dpid : *blocked != NULL ? beginning.watch.dpid : 0;
    if (dpid == 0)
        return NULL;
    tg_console_catch_up(console);
    error = tg_focus_go_to_ranks(&console->focus, console->source);
    return error != NULL || console->focus.is_of_ranks
               ? error
               : tg_gate_run_look_at(console, (struct tg_thread_id){dpid, 1});
}
