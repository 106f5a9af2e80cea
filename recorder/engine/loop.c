#include "recorder/engine/adoption.h"
#include "recorder/engine/attach_guard.h"
#include "recorder/engine/detach.h"
#include "recorder/engine/dispatch.h"
#include "recorder/engine/observers.h"
#include "recorder/engine/parked.h"
#include "recorder/engine/process_table.h"
#include "recorder/engine/removal.h"
#include "recorder/engine/stop.h"
#include "recorder/engine/wake.h"
#include "recorder/process/proc_status.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { STOPS_BEFORE_CALLS_NS = 2 * 1000 * 1000 };

/* ---- life */

static void drop_parked(struct tg_engine *engine)
{
    struct tg_parked_stop *parked, *next;
    HASH_ITER (hh, engine->parked, parked, next) {
        int status;
        tg_adoption_restore(engine, parked->tid);
        ptrace(PTRACE_DETACH, parked->tid, NULL, NULL);
        tg_parked_take(engine, parked->tid, &status);
    }
}

/* Begins with those that are not being detached yet, and lets go what can go. */
static void begin_detach(struct tg_engine *engine, const char *reason)
{
    struct tg_process *process, *next;
    HASH_ITER (hh, engine->processes, process, next)
        if (!tg_traced(process)->detaching)
            tg_detach_begin(process, reason);
    tg_dispatch_paused(engine);     /* of threads that rested */
    if (engine->detach_in_progress) /* the last stop of those that had begun may be there already */
        tg_detach_advance(engine);
}

static void detach_all(struct tg_engine *engine, const char *reason)
{
    struct tg_process *process, *next;
    tg_dispatch_early(engine);
    tg_dispatch_parked(engine);
    begin_detach(engine, reason);
    while (engine->processes != NULL) {
        int status;
        pid_t tid = waitpid(-1, &status, __WALL | __WNOTHREAD);
        if (tid > 0)
            tg_dispatch(engine, tid, status);
        else if (errno != EINTR)
            break;
        /* An observer may have attached to more processes meanwhile, and the stops of some be collected. */
        tg_dispatch_early(engine);
        tg_dispatch_parked(engine);
        begin_detach(engine, reason);
    }
    HASH_ITER (hh, engine->processes, process, next)
        tg_process_remove(process); /* reaped by somebody else */
    drop_parked(engine);
}

struct tg_error *tg_engine_create(const struct tg_engine_options *options, struct tg_engine **engine)
{
    struct tg_engine *created = calloc(1, sizeof *created);
    if (created == NULL)
        return tg_error_no_memory();
    created->stop_wait.wanted = &created->has_requests;
    created->sink = options->sink;
    created->hold = options->hold;
    created->emitted = options->emitted;
    created->serve = options->serve;
    created->kill_on_exit = options->kill_on_exit;
    created->own_group = options->own_group;
    created->standard_input = options->standard_input;
    pthread_mutex_init(&created->request_lock, NULL);
    struct tg_error *error = tg_proc_status_check();
    if (error == NULL)
        error = tg_insn_decoder_create(&created->decoder);
    if (error == NULL)
        error = tg_wake_init(created);
    if (error != NULL) {
        tg_engine_destroy(created);
        return error;
    }
    *engine = created;
    return NULL;
}

void tg_engine_destroy(struct tg_engine *engine)
{
    if (engine == NULL)
        return;
    detach_all(engine, "the recorder ended");
    tg_wake_deinit(engine);
    pthread_mutex_destroy(&engine->request_lock);
    tg_adoption_drop_ghosts(engine);
    tg_attach_guard_destroy(engine->guard);
    tg_stop_events_deinit(&engine->stop_events);
    tg_insn_decoder_destroy(engine->decoder);
    tg_error_destroy(engine->failure);
    free(engine->interrupted);
    free(engine->paused);
    free(engine->observers);
    free(engine);
}

/* ---- the loop */

/* waitpid knows no children any more, but the table does: somebody else reaped them. */
static void lose_everything(struct tg_engine *engine)
{
    struct tg_process *process, *next;
    HASH_ITER (hh, engine->processes, process, next) {
        struct tg_event event = {.kind = TG_EVENT_PROCESS_EXIT, .process_exit = {.how = TG_EXIT_LOST}};
        if (process->threads != NULL)
            tg_engine_emit(engine, process->threads, &event);
        tg_process_remove(process);
    }
    if (engine->launched_is_apart) {
        const struct tg_event event = {.kind = TG_EVENT_PROCESS_EXIT,
                                       .pid = engine->launched_pid,
                                       .tid = engine->launched_pid,
                                       .process_exit = {.how = TG_EXIT_LOST}};
        tg_engine_emit_as(engine, &event);
    }
    engine->launched_is_apart = false;
}

/* Whether a stop or an end may come. */
static bool is_awaiting(const struct tg_engine *engine)
{
    return (engine->processes != NULL || engine->launched_is_apart) && !atomic_load(&engine->stop_requested);
}

/* Looks once at each of the interrupted threads; true if there was a stop. Threads that have not stopped yet
 * stay in the list. */
static bool collect_once(struct tg_engine *engine, uint64_t until_ns)
{
    size_t kept = 0, i = 0;
    bool any = false;
    while (i < engine->n_interrupted && engine->processes != NULL && !atomic_load(&engine->stop_requested) &&
           tg_engine_now_ns() < until_ns) {
        int status;
        pid_t tid = engine->interrupted[i++];
        pid_t stopped = waitpid(tid, &status, __WALL | __WNOTHREAD | WNOHANG);
        if (stopped == 0)
            engine->interrupted[kept++] = tid;
        if (stopped <= 0)
            continue;
        any = true;
        tg_dispatch(engine, tid, status); /* may interrupt more */
        if (engine->n_early > 0)
            tg_dispatch_early(engine);
    }
    while (i < engine->n_interrupted)
        engine->interrupted[kept++] = engine->interrupted[i++];
    engine->n_interrupted = kept;
    return any;
}

/* Handles stops of threads that were interrupted to be kept, as far as they have come, until UNTIL_NS
 * (tg_engine_now_ns) at most; true if there was one. A wait for any thread has the kernel walk the list of
 * all that are traced, those that are stopped already included: collecting n stops takes n * n steps. A wait
 * for one thread finds it at once. */
static bool collect_interrupted(struct tg_engine *engine, uint64_t until_ns)
{
    bool any = false;
    while (engine->n_interrupted > 0 && collect_once(engine, until_ns))
        any = true;
    if (tg_engine_now_ns() < until_ns)
        engine->n_interrupted = 0; /* the slow ones come as any stop comes */
    return any;
}

/* Handles the stops that are there already, for a short time: a call that asks who is stopped finds many of
 * them, where hundreds of threads come to a stop, and is not made anew for each. */
static void handle_waiting(struct tg_engine *engine)
{
    uint64_t until_ns = tg_engine_now_ns() + STOPS_BEFORE_CALLS_NS;
    collect_interrupted(engine, until_ns);
    while (is_awaiting(engine) && tg_engine_now_ns() < until_ns) {
        int status;
        pid_t tid = waitpid(-1, &status, __WALL | __WNOTHREAD | WNOHANG);
        if (tid <= 0)
            return;
        tg_dispatch(engine, tid, status);
        if (engine->n_early > 0)
            tg_dispatch_early(engine);
    }
}

struct tg_error *tg_engine_run(struct tg_engine *engine, int *status)
{
    tg_dispatch_early(engine);
    while (is_awaiting(engine)) {
        int wait_status;
        if (atomic_load(&engine->has_requests)) {
            handle_waiting(engine);
            tg_wake_serve(engine);
            tg_dispatch_paused(engine); /* of threads that a request had a look at */
            if (engine->detach_in_progress)
                tg_detach_advance(engine);
            if (engine->n_early > 0) /* a request attached to a process */
                tg_dispatch_early(engine);
            continue; /* everything may be gone */
        }
        if (engine->n_interrupted > 0 &&
            collect_interrupted(engine, tg_engine_now_ns() + STOPS_BEFORE_CALLS_NS))
            continue;
        if (engine->parked != NULL || engine->looking_again) {
            tg_adoption_look_again(engine);
            tg_dispatch_parked(engine);
            tg_dispatch_paused(engine);
            if (engine->detach_in_progress)
                tg_detach_advance(engine);
            if (!is_awaiting(engine))
                break;
        }
        pid_t tid = tg_stop_wait(&engine->stop_wait, -1, HASH_CNT(by_tid, engine->tracees), &wait_status);
        if (tid > 0)
            tg_dispatch(engine, tid, wait_status);
        else if (errno == ECHILD)
            lose_everything(engine);
        else if (errno != EINTR)
            tg_engine_fail(engine, tg_error_create_errno(errno, "cannot wait for the traced processes"));
        if (engine->n_early > 0) /* collected while a process was attached in the stop just handled */
            tg_dispatch_early(engine);
    }
    if (engine->processes != NULL && engine->failure == NULL) {
        tg_dispatch_parked(engine); /* events of a process that was attached just now */
        tg_observers_job_leaving(engine);
        tg_dispatch_paused(engine);
    }
    if (engine->processes != NULL)
        detach_all(engine,
                   engine->failure == NULL ? "the recorder was asked to stop" : "the recorder failed");
    tg_wake_set_ticking(engine, false);
    atomic_store(&engine->stop_requested, false);
    struct tg_error *error = engine->failure;
    engine->failure = NULL;
    if (error == NULL && status != NULL)
        *status = engine->launched_status;
    return error;
}
