#include "live/commands/motion/blockade.h"

#include "live/commands/focus/focus_call.h"
#include "live/commands/info/wait_words.h"
#include "live/commands/motion/deadlock.h"
#include "live/source/moment.h"

#include <inttypes.h>
#include <stdlib.h>

/* Are enough: who has been released has run by then; on a busy machine one that waits for a processor may not have. */
enum { QUIET_LOOKS = 3, QUIET_LOOKS_OF_READY = 12 };
enum { QUIET_LOOKS_IN_MPI = 20 }; /* what was sent before its rank stopped is there by then */
enum { LOOKS_FOR_RING = 9 };      /* from one search for a deadlock to the next */

/* Where nobody comes: who runs, and whether all of them wait, for somebody who does not or for each other. */
struct blockade {
    const struct tg_console *console;
    const struct tg_gate_run *run;
    const struct tg_deadlock *deadlock; /* NULL: not looked for */
    struct tg_engine_adapter *engine;
    size_t n_running, n_waiting;
    bool any_ready;   /* of those who wait in OpenMP one could run */
    uint64_t last_ns; /* of their last events */
    size_t n_here;    /* of them: at a gate */
    size_t n_in_mpi;  /* inside of MPI */
    size_t n_busy;    /* neither at a gate, nor waiting in OpenMP, nor inside of MPI */
    bool has_others;  /* ranks that are not in focus run */
    uint64_t n_calls; /* of MPI that they made */
    /* of those who run and may come to a gate */
    uint64_t awaited_ns, n_awaited_calls;
    size_t n_stuck;          /* in the deadlock, or waiting for it */
    size_t n_hopeful;        /* neither there nor stuck: may still come */
    size_t waiting, in_ring; /* a process of one that waits, that is stuck; SIZE_MAX none */
    struct tg_thread_id
        stopped;          /* one of those who do not run, a held one if there is any; all 0: everybody runs */
    const char *why;      /* words about it */
    bool has_outside;     /* there is a rank that is not in focus and is stopped */
    int64_t outside_rank; /* the first such one */
    bool is_held;
};

static const struct tg_mpi_thread *find_mpi_thread(const struct blockade *blockade, size_t process,
                                                   int32_t tid)
{
    const struct tg_mpi_model *mpi = blockade->console->source->moment->mpi;
    for (size_t i = 0; i < tg_mpi_model_thread_count(mpi); i++) {
        const struct tg_mpi_thread *thread = tg_mpi_model_thread_at(mpi, i);
        if (thread->process == process && thread->tid == tid)
            return thread;
    }
    return NULL;
}

/* Whether thread TID of process PID may come to a gate of RUN. */
static bool is_awaited(const struct tg_gate_run *run, int32_t pid, int32_t tid)
{
    for (size_t i = 0; i < run->n_gates; i++)
        if ((run->gates[i].pid == 0 || run->gates[i].pid == pid) &&
            (run->gates[i].tid == 0 || run->gates[i].tid == tid))
            return true;
    return false;
}

/* Whether nothing of what PROCESS does is known: it has called neither OpenMP nor MPI. */
static bool is_unknown(const struct blockade *blockade, size_t process)
{
    const struct tg_moment *moment = blockade->console->source->moment;
    for (size_t i = 0; i < tg_mpi_model_thread_count(moment->mpi); i++)
        if (tg_mpi_model_thread_at(moment->mpi, i)->process == process)
            return false;
    for (size_t i = 0; i < tg_openmp_model_worker_count(moment->openmp); i++)
        if (tg_openmp_model_worker_at(moment->openmp, i)->process == process)
            return false;
    return true;
}

/* Whether PROCESS is known as one that starts ranks, such as the daemon that Open MPI has for a process without a launcher. */
static bool is_starter(const struct blockade *blockade, size_t process)
{
    const struct tg_mpir_model *mpir = blockade->console->source->moment->mpir;
    for (size_t i = 0; i < tg_mpir_model_count(mpir); i++) {
        const struct tg_mpir_starter *starter = tg_mpir_model_at(mpir, i);
        if (starter->process == process && (starter->is_starter || starter->is_recognised))
            return true;
    }
    return false;
}

/* Whether PROCESS, which is no rank, is there for others, as launchers and shells are that have started some. */
static bool is_launcher(const struct blockade *blockade, const struct tg_job_view *view,
                        const struct tg_job_process *process)
{
    const struct tg_moment *moment = blockade->console->source->moment;
    const size_t index = process->info.dpid - 1;
    if (process->info.rank >= 0 || !is_unknown(blockade, index))
        return false;
    bool is_it = is_starter(blockade, index);
    for (size_t p = 0; !is_it && p < tg_job_view_count(view); p++) {
        const struct tg_job_process *other = tg_job_view_at(view, p);
        const struct tg_process_entry *entry = tg_moment_process(moment, other->info.dpid);
        is_it = other->info.exists && entry != NULL && entry->parent != NULL && entry->parent->index == index;
    }
    return is_it;
}

static bool is_stopped(const struct tg_job_view *view, const struct tg_job_process *process)
{
    for (size_t i = 0; i < process->n_threads; i++)
        if (!tg_job_state_is_stopped(tg_job_view_thread(view, process, i)->state))
            return false;
    return process->n_threads > 0;
}

/* Children of a process that waits for them. */
struct children {
    const struct tg_request *request;
    int32_t awaited; /* 0 any */
    size_t n_here;   /* how many end no sooner than the ones in focus get on */
};

/* False: CHILD may end at any time. */
static bool take_child(void *context, int32_t child)
{
    struct children *children = context;
    const struct tg_request *request = children->request;
    if (children->awaited != 0 && child != children->awaited)
        return true;
    for (size_t p = 0; p < tg_job_view_count(request->view); p++) {
        const struct tg_job_process *other = tg_job_view_at(request->view, p);
        if (!other->info.exists || (int32_t)other->info.tag != child)
            continue;
        children->n_here++;
        return tg_job_set_has_any(request->set, other) || is_stopped(request->view, other);
    }
    return false;
}

/* Whether TID of PROCESS waits for children to end, which can end no sooner than those in focus get on: they are in focus
 * themselves, or stopped. */
static bool waits_for_children(const struct tg_request *request, const struct tg_job_process *process,
                               int32_t tid)
{
    struct children children = {.request = request};
    int32_t pid = (int32_t)process->info.tag;
    return tg_worker_gates_waits_for_child(pid, tid, &children.awaited) &&
           tg_worker_gates_each_child(pid, take_child, &children) && children.n_here > 0;
}

/* Of one who runs. A worker that is in no region has nothing to do, but for the first thread. Beside a deadlock a thread
 * without OpenMP, which may be there for anything, is none to wait for; but a rank outside MPI, and a process that has not
 * called anything yet, may come. */
static void note_progress(struct blockade *blockade, const struct tg_request *request,
                          const struct tg_job_process *process, const struct tg_job_thread *thread,
                          const struct tg_openmp_worker *worker)
{
    int32_t pid = (int32_t)process->info.tag, tid = (int32_t)thread->tag;
    size_t index = process->info.dpid - 1;
    const struct tg_mpi_thread *mpi = find_mpi_thread(blockade, index, tid);
    bool is_here = tg_gate_run_has(blockade->run, tg_worker_gates_waits(blockade->engine, pid, tid));
    bool waits = worker != NULL && tg_deadlock_waits_for_others(worker);
    bool is_idle = worker != NULL && worker->n_places == 0 && tid != pid;
    bool is_in_mpi = mpi != NULL && mpi->in_call;
    bool is_stuck = blockade->deadlock != NULL && tg_deadlock_has(blockade->deadlock, index, tid);
    uint64_t n_calls = mpi == NULL ? 0 : mpi->calls, last_ns = worker == NULL ? 0 : worker->last_ns;
    blockade->n_calls += n_calls;
    blockade->n_here += is_here;
    blockade->n_in_mpi += is_in_mpi;
    bool is_parent =
        !is_here && !is_in_mpi && !is_idle && !waits && waits_for_children(request, process, tid);
    blockade->n_busy += !is_here && !is_in_mpi && !is_idle && !waits && !is_parent;
    blockade->last_ns = last_ns > blockade->last_ns ? last_ns : blockade->last_ns;
    if (waits)
        blockade->waiting = index;
    if (!is_awaited(blockade->run, pid, tid))
        return;
    blockade->n_awaited_calls += n_calls;
    blockade->awaited_ns = last_ns > blockade->awaited_ns ? last_ns : blockade->awaited_ns;
    blockade->n_stuck += is_stuck;
    blockade->n_hopeful += !is_here && !is_stuck && !is_idle && !is_parent &&
                           (worker != NULL || mpi != NULL || (tid == pid && is_unknown(blockade, index)));
    if (is_stuck)
        blockade->in_ring = index;
}

static const char *why_stopped(const struct tg_job_thread *thread, bool is_held, bool is_in_focus)
{
    if (is_held)
        return "held; `dunhold` releases it";
    if (thread->state == TG_JOB_BREAKPOINT || thread->state == TG_JOB_WATCHPOINT)
        return "stopped at an action point";
    if (thread->state == TG_JOB_ERROR)
        return "stopped by a signal";
    return is_in_focus ? "stopped" : "stopped, and not in focus";
}

static void note_stopped(struct blockade *blockade, const struct tg_job_process *process,
                         const struct tg_job_thread *thread, bool is_in_focus)
{
    bool is_held = thread->held || process->info.held;
    if (blockade->stopped.dpid != 0 && (!is_held || blockade->is_held))
        return;
    blockade->stopped = (struct tg_thread_id){process->info.dpid, thread->dtid};
    blockade->is_held = is_held;
    blockade->why = why_stopped(thread, is_held, is_in_focus);
}

static void note_thread(struct blockade *blockade, const struct tg_request *request,
                        const struct tg_job_process *process, const struct tg_job_thread *thread,
                        bool is_in_focus)
{
    if (tg_job_state_is_stopped(thread->state)) {
        note_stopped(blockade, process, thread, is_in_focus);
        return;
    }
    const struct tg_openmp_worker *worker = tg_openmp_model_worker(
        blockade->console->source->moment->openmp, process->info.dpid - 1, (int32_t)thread->tag);
    note_progress(blockade, request, process, thread, worker);
    blockade->n_running++;
    if (worker == NULL || !tg_deadlock_waits_for_others(worker))
        return;
    blockade->n_waiting++;
    blockade->any_ready = blockade->any_ready || tg_worker_gates_chance((int32_t)thread->tag).is_ready;
}

/* Of the processes in focus, whose workers wait for each other alone. */
static struct tg_error *note_blockade(const struct tg_request *request)
{
    struct blockade *blockade = request->context;
    blockade->engine = request->engine;
    for (size_t p = 0; p < tg_job_view_count(request->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(request->view, p);
        bool is_in_focus = tg_job_set_has_any(request->set, process);
        bool is_above = is_launcher(blockade, request->view, process);
        for (size_t i = 0; process->info.exists && i < process->n_threads; i++) {
            const struct tg_job_thread *thread = tg_job_view_thread(request->view, process, i);
            if (thread->is_manager || thread->state == TG_JOB_NONEXISTENT ||
                (is_above && !tg_job_state_is_stopped(thread->state)))
                continue;
            if (is_in_focus)
                note_thread(blockade, request, process, thread, tg_job_set_has(request->set, process, i));
            else if (process->info.rank >= 0 && !tg_job_state_is_stopped(thread->state))
                blockade->has_others = true;
            else if (process->info.rank >= 0 &&
                     (!blockade->has_outside || process->info.rank < blockade->outside_rank)) {
                blockade->has_outside = true;
                blockade->outside_rank = process->info.rank;
            }
        }
    }
    return NULL;
}

static struct tg_error *look_at_all(struct tg_console *console, struct blockade *blockade)
{
    return blockade->run->of_job
               ? tg_focus_call_run_all(console, note_blockade, blockade, NULL)
               : tg_focus_call_run(console, &tg_focus_call_defaults, note_blockade, blockade, NULL);
}

static void count_looks(struct tg_blockade_watch *watch, const struct blockade *blockade)
{
    bool is_quiet = blockade->last_ns == watch->last_ns && blockade->n_calls == watch->n_calls;
    bool do_wait =
        blockade->awaited_ns == watch->awaited_ns && blockade->n_awaited_calls == watch->n_awaiting;
    *watch = (struct tg_blockade_watch){
        .last_ns = blockade->last_ns,
        .n_calls = blockade->n_calls,
        .awaited_ns = blockade->awaited_ns,
        .n_awaiting = blockade->n_awaited_calls,
        .has_told = watch->has_told,
        .dpid = blockade->waiting == SIZE_MAX ? 0 : (uint32_t)blockade->waiting + 1,
        .n_looks = is_quiet ? watch->n_looks + 1 : 0,
        .n_awaited_looks = do_wait ? watch->n_awaited_looks + 1 : 0};
}

/* Whether all who have not come wait in MPI, or for one who does, and a rank is stopped that is not in focus. */
static bool is_outside(const struct blockade *blockade, const struct tg_blockade_watch *watch)
{
    return blockade->stopped.dpid == 0 && blockade->has_outside && !blockade->has_others &&
           blockade->n_busy == 0 && blockade->n_in_mpi > 0 && watch->n_looks >= QUIET_LOOKS_IN_MPI;
}

static struct tg_error *note_detached(void *context, const struct tg_openmp_team *team)
{
    *(bool *)context |= team->tasks_detached > 0;
    return NULL;
}

/* Whether a task is over for OpenMP only when somebody, of whom nothing is known, says so. */
static bool has_detached(const struct tg_console *console)
{
    bool has_any = false;
    (void)tg_openmp_model_visit_teams(console->source->moment->openmp, note_detached, &has_any);
    return has_any;
}

static struct tg_error *say_stopped(const struct blockade *blockade)
{
    return tg_error_create(
        TG_ERROR_USAGE,
        "no thread can arrive: %zu thread%s and wait%s for others, but thread %" PRIu32 ".%" PRIu32 " is %s",
        blockade->n_running, blockade->n_running == 1 ? " runs" : "s run",
        blockade->n_running == 1 ? "s" : "", blockade->stopped.dpid, blockade->stopped.dtid, blockade->why);
}

static struct tg_error *say_outside(const struct blockade *blockade)
{
    return tg_error_create(TG_ERROR_USAGE,
                           "no thread can arrive: all that run wait in MPI, but rank %" PRId64
                           " is stopped and not in focus (`dfocus ranks` chooses all ranks)",
                           blockade->outside_rank);
}

/* The error where all wait for each other; TEXT says how, if that is known. */
static struct tg_error *say_closed(const char *text)
{
    return tg_error_create(TG_ERROR_USAGE, "no thread can arrive. %s",
                           text != NULL ? text : "All threads in focus wait for each other (see `where`).");
}

/* Some of those who may come cannot, but others may. */
static struct tg_error *tell_deadlock(struct tg_console *console, const struct tg_deadlock *deadlock,
                                      const struct blockade *blockade)
{
    const char *text = tg_deadlock_text(deadlock, blockade->in_ring);
    char *note = NULL;
    if (asprintf(&note, "%zu thread%s cannot arrive, and others may. %s", blockade->n_stuck,
                 blockade->n_stuck == 1 ? "" : "s", text != NULL ? text : "") < 0)
        return tg_error_no_memory();
    tg_wait_words_note(console, note);
    free(note);
    return NULL;
}

/* Threads that run wait for others that run too: whether for good. A deadlock is looked for now and then: that may take time. */
static struct tg_error *look_for_ring(struct tg_console *console, struct tg_gate_run *run,
                                      struct tg_blockade_watch *watch, struct tg_error **blocked,
                                      bool *is_over)
{
    if (watch->n_awaited_looks < QUIET_LOOKS || (watch->n_awaited_looks - QUIET_LOOKS) % LOOKS_FOR_RING != 0)
        return NULL;
    TG_AUTO_DEADLOCK struct tg_deadlock deadlock = {0};
    struct blockade blockade = {
        .console = console, .run = run, .deadlock = &deadlock, .waiting = SIZE_MAX, .in_ring = SIZE_MAX};
    struct tg_error *error = tg_deadlock_find(console, &deadlock);
    if (error == NULL)
        error = look_at_all(console, &blockade);
    if (error != NULL)
        return error;
    bool is_ring = blockade.n_stuck > 0 && blockade.n_hopeful == 0;
    bool nobody_moves = watch->n_looks >= (blockade.any_ready ? QUIET_LOOKS_OF_READY : QUIET_LOOKS) &&
                        blockade.stopped.dpid == 0 && blockade.n_busy == 0 && blockade.n_here == 0;
    const char *mismatch = nobody_moves && !blockade.has_others ? tg_deadlock_mismatch(&deadlock) : NULL;
    if (blockade.n_stuck > 0 && blockade.n_hopeful > 0 && !watch->has_told)
        error = tell_deadlock(console, &deadlock, &blockade);
    watch->has_told |= blockade.n_stuck > 0;
    run->n_stuck = is_ring ? tg_deadlock_count(&deadlock) : 0;
    *is_over = is_ring && blockade.n_here > 0 && run->of_each;
    watch->dpid = blockade.in_ring == SIZE_MAX ? watch->dpid : (uint32_t)blockade.in_ring + 1;
    if (is_ring && blockade.n_here == 0)
        *blocked = say_closed(tg_deadlock_text(&deadlock, blockade.in_ring));
    else if (mismatch != NULL)
        *blocked = say_closed(mismatch);
    else if (nobody_moves && blockade.n_waiting > 0 && blockade.n_in_mpi == 0 && !has_detached(console))
        *blocked = say_closed(tg_deadlock_wait(&deadlock, blockade.waiting));
    return error;
}

/* How many quiet looks are enough. Who is inside of MPI tells nothing until it leaves, and needs a processor for that, as do
 * those whose messages it waits for, launchers too. */
static size_t enough_looks(const struct blockade *blockade)
{
    return blockade->n_in_mpi > 0 ? QUIET_LOOKS_IN_MPI
           : blockade->any_ready  ? QUIET_LOOKS_OF_READY
                                  : QUIET_LOOKS;
}

struct tg_error *tg_blockade_look(struct tg_console *console, struct tg_gate_run *run,
                                  struct tg_blockade_watch *watch, struct tg_error **blocked, bool *is_over)
{
    struct blockade blockade = {.console = console, .run = run, .waiting = SIZE_MAX, .in_ring = SIZE_MAX};
    struct tg_error *error = look_at_all(console, &blockade);
    if (error != NULL)
        return error;
    count_looks(watch, &blockade);
    if (blockade.n_running == 0)
        return NULL;
    bool is_quiet = watch->n_looks >= enough_looks(&blockade);
    /* nor does anybody leave MPI_Init, for one, with a rank that is held */
    bool all_in_mpi = blockade.n_here == 0 && blockade.n_busy == 0 && !blockade.has_others;
    bool is_blocked =
        is_quiet && blockade.stopped.dpid != 0 && (blockade.n_waiting == blockade.n_running || all_in_mpi);
    error = look_for_ring(console, run, watch, blocked, is_over);
    if (error != NULL || *blocked != NULL || *is_over)
        return error;
    *is_over = is_quiet && run->of_each && blockade.n_here > 0 && blockade.n_busy == 0;
    if (blockade.n_here == 0 && is_outside(&blockade, watch))
        *blocked = say_outside(&blockade);
    else if (is_blocked && !*is_over)
        *blocked = say_stopped(&blockade);
    return NULL;
}

struct tg_error *tg_blockade_is_outside(struct tg_console *console, const struct tg_gate_run *run,
                                        struct tg_blockade_watch *watch, bool *is_so)
{
    struct blockade blockade = {.console = console, .run = run, .waiting = SIZE_MAX, .in_ring = SIZE_MAX};
    struct tg_error *error = look_at_all(console, &blockade);
    if (error != NULL)
        return error;
    count_looks(watch, &blockade);
    *is_so = is_outside(&blockade, watch);
    return NULL;
}

struct tg_error *tg_blockade_holds(struct tg_console *console, const struct tg_gate_run *run, bool *holds)
{
    TG_AUTO_DEADLOCK struct tg_deadlock deadlock = {0};
    struct tg_error *error = tg_deadlock_find(console, &deadlock);
    *holds = error == NULL && tg_deadlock_count(&deadlock) >= run->n_stuck;
    return error;
}
