#include "recorder/engine/engine_internal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* How tg_engine_run is woken: waitpid has no way to wait for a request too, and a signal that comes between
 * the check of the flag and the call would be missed. So a request arms a timer that repeats until it was
 * seen; its signal interrupts the tracer thread's waitpid. */
enum { WAKE_INTERVAL_NS = 5 * 1000 * 1000, STOPS_BEFORE_CALLS_NS = 2 * 1000 * 1000 };

#define WAKE_SIGNAL SIGRTMAX

uint64_t tg_engine_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* ---- life */

/* Runs in the wake signal's handler while the tracer is blocked in PTRACE_SEIZE: waits for threads that an
 * exec is ending. Those in PTRACE_EVENT_EXIT are let go at once, everything else is kept for later. */
static void collect_early(struct tg_engine *engine)
{
    int status;
    while (engine->n_early < TG_MAX_EARLY) {
        pid_t tid = waitpid(-1, &status, __WALL | __WNOTHREAD | WNOHANG);
        if (tid <= 0)
            return;
        if (WIFSTOPPED(status) && status >> 16 == PTRACE_EVENT_EXIT)
            ptrace(PTRACE_CONT, tid, NULL, NULL);
        else
            engine->early[engine->n_early++] = (struct tg_early_status){tid, status};
    }
}

/* Mostly its arrival is all: waitpid returns EINTR. */
static void wake(int signal, siginfo_t *info, void *context)
{
    int interrupted_errno = errno;
    struct tg_engine *engine = info->si_code == SI_TIMER ? info->si_value.sival_ptr : NULL;
    (void)signal;
    (void)context;
    if (engine != NULL && engine->seizing)
        collect_early(engine);
    errno = interrupted_errno;
}

/* What the tool was started with. Later is too late: Tcl and the console ignore SIGPIPE for themselves. */
static sigset_t ignored_at_start;

__attribute__((constructor)) static void note_ignored_signals(void)
{
    sigemptyset(&ignored_at_start);
    for (int signal = 1; signal < NSIG; signal++) {
        struct sigaction action;
        if (sigaction(signal, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
            sigaddset(&ignored_at_start, signal);
    }
}

static void keep_launch_signals(struct tg_engine *engine)
{
    pthread_sigmask(SIG_SETMASK, NULL, &engine->launch_mask);
    engine->launch_ignored = ignored_at_start;
}

/* The signal's action is the process's: of engines that there are at a time the last one gives it back. */
static pthread_mutex_t wake_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned wake_users;
static struct sigaction former_wake_action;

static void give_back_wake_action(void)
{
    pthread_mutex_lock(&wake_lock);
    if (--wake_users == 0)
        sigaction(WAKE_SIGNAL, &former_wake_action, NULL);
    pthread_mutex_unlock(&wake_lock);
}

static struct tg_error *set_up_timers(struct tg_engine *engine)
{
    struct sigaction action = {.sa_sigaction = wake, .sa_flags = SA_SIGINFO}; /* no SA_RESTART */
    sigemptyset(&action.sa_mask);
    struct sigevent event = {
        .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = WAKE_SIGNAL, .sigev_value.sival_ptr = engine};
    event._sigev_un._tid = gettid();
    if (timer_create(CLOCK_MONOTONIC, &event, &engine->wake_timer) != 0)
        return tg_error_create_errno(errno, "cannot create the engine's timer");
    engine->has_wake_timer = true;
    if (timer_create(CLOCK_MONOTONIC, &event, &engine->post_timer) != 0)
        return tg_error_create_errno(errno, "cannot create the engine's second timer");
    engine->has_post_timer = true;
    pthread_mutex_lock(&wake_lock);
    if (wake_users++ == 0)
        sigaction(WAKE_SIGNAL, &action, &former_wake_action);
    pthread_mutex_unlock(&wake_lock);
    engine->has_wake_action = true;
    sigset_t wake_set;
    sigemptyset(&wake_set);
    sigaddset(&wake_set, WAKE_SIGNAL);
    pthread_sigmask(SIG_UNBLOCK, &wake_set, NULL);
    return NULL;
}

struct tg_error *tg_engine_create(const struct tg_engine_options *options, struct tg_engine **engine)
{
    struct tg_engine *created = calloc(1, sizeof *created);
    if (created == NULL)
        return tg_error_no_memory();
    created->sink = options->sink;
    created->hold = options->hold;
    created->emitted = options->emitted;
    created->kill_on_exit = options->kill_on_exit;
    created->own_group = options->own_group;
    created->standard_input = options->standard_input;
    pthread_mutex_init(&created->posted_lock, NULL);
    keep_launch_signals(created);
    struct tg_error *error = tg_insn_decoder_create(&created->decoder);
    if (error == NULL)
        error = set_up_timers(created);
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
    tg_detach_all(engine, "the recorder ended");
    if (engine->has_post_timer) {
        tg_control_drop_posted(engine);
        timer_delete(engine->post_timer);
    }
    pthread_mutex_destroy(&engine->posted_lock);
    if (engine->has_wake_timer) {
        timer_delete(engine->wake_timer);
        if (engine->has_wake_action)
            give_back_wake_action();
        sigset_t wake_set;
        sigemptyset(&wake_set);
        sigaddset(&wake_set, WAKE_SIGNAL);
        if (sigismember(&engine->launch_mask, WAKE_SIGNAL))
            pthread_sigmask(SIG_BLOCK, &wake_set, NULL);
    }
    tg_adoption_drop_ghosts(engine);
    tg_attach_guard_destroy(engine->guard);
    tg_stop_events_deinit(&engine->stop_events);
    tg_insn_decoder_destroy(engine->decoder);
    tg_error_destroy(engine->failure);
    free(engine->interrupted);
    free(engine);
}

unsigned tg_engine_add_observer(struct tg_engine *engine, const struct tg_observer *observer)
{
    assert(engine->n_observers < TG_ENGINE_MAX_OBSERVERS);
    engine->observers[engine->n_observers] = observer;
    return engine->n_observers++;
}

/* ---- events */

struct tg_event *tg_engine_emit_as(struct tg_engine *engine, const struct tg_event *event)
{
    struct tg_event stamped = *event, *kept = NULL;
    stamped.stop_ns = 0;
    if (engine->in_stop)
        stamped.time_ns = engine->stop_time_ns;
    else if (stamped.time_ns == 0)
        stamped.time_ns = tg_engine_now_ns();
    if (engine->in_stop)
        kept = tg_stop_events_add(&engine->stop_events, &stamped);
    else
        engine->sink.add(engine->sink.context, &stamped);
    if (engine->emitted != NULL)
        engine->emitted(engine->sink.context, &stamped);
    return kept;
}

struct tg_event *tg_engine_emit(struct tg_engine *engine, struct tg_thread *thread,
                                const struct tg_event *event)
{
    struct tg_event named = *event;
    named.pid = thread == NULL ? 0 : thread->process->pid;
    named.tid = thread == NULL ? 0 : thread->tid;
    return tg_engine_emit_as(engine, &named);
}

struct tg_thread *tg_engine_stopped_thread(const struct tg_engine *engine)
{
    return engine->in_stop && engine->current != NULL ? &engine->current->thread : NULL;
}

void tg_engine_begin_stop(struct tg_engine *engine, struct tg_tracee *tracee)
{
    struct tg_traced_process *traced = tg_traced_of(tracee);
    engine->in_stop = true;
    engine->stop_time_ns = tg_engine_now_ns();
    engine->resume_time_ns = 0;
    if (engine->hold != NULL)
        engine->hold(engine->sink.context, engine->stop_time_ns);
    engine->current = tracee;
    traced->process.previous_stop_ns = traced->last_stop_ns;
    traced->last_stop_ns = engine->stop_time_ns;
    tg_tracee_mark_stopped(tracee);
}

void tg_engine_end_stop(struct tg_engine *engine)
{
    engine->in_stop = false;
    engine->current = NULL;
    if (engine->stop_events.first != NULL) {
        uint64_t end_ns = engine->resume_time_ns != 0 ? engine->resume_time_ns : tg_engine_now_ns();
        tg_stop_events_flush(&engine->stop_events, end_ns - engine->stop_time_ns, engine->sink.add,
                             engine->sink.context);
    }
    if (engine->stop_events.lost > 0) {
        struct tg_event event = {.kind = TG_EVENT_LOSS,
                                 .loss = {.source = TG_LOSS_LIMIT,
                                          .count = engine->stop_events.lost,
                                          .reason = "no memory for the events of a stop"}};
        engine->stop_events.lost = 0;
        tg_engine_emit(engine, NULL, &event);
    }
    if (engine->hold != NULL)
        engine->hold(engine->sink.context, UINT64_MAX);
}

void tg_engine_fail(struct tg_engine *engine, struct tg_error *error)
{
    if (engine->failure == NULL)
        engine->failure = error;
    else
        tg_error_destroy(error);
    atomic_store(&engine->stop_requested, true);
}

/* ---- the loop */

void tg_engine_set_ticking(struct tg_engine *engine, bool ticking)
{
    const long interval_ns = ticking ? WAKE_INTERVAL_NS : 0;
    const struct itimerspec timer = {.it_interval = {.tv_nsec = interval_ns},
                                     .it_value = {.tv_nsec = interval_ns}};
    timer_settime(engine->wake_timer, 0, &timer, NULL);
}

void tg_engine_request_stop(struct tg_engine *engine)
{
    atomic_store(&engine->stop_requested, true);
    tg_engine_set_ticking(engine, true);
}

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
}

/* Handles the stops that are there already, for a short time: a call that asks who stands finds many of them,
 * where hundreds of threads come to a stop, and is not made anew for each. */
static void handle_waiting(struct tg_engine *engine)
{
    uint64_t until_ns = tg_engine_now_ns() + STOPS_BEFORE_CALLS_NS;
    tg_control_collect(engine, until_ns);
    while (engine->processes != NULL && !atomic_load(&engine->stop_requested) &&
           tg_engine_now_ns() < until_ns) {
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
    while (engine->processes != NULL && !atomic_load(&engine->stop_requested)) {
        int wait_status;
        if (atomic_load(&engine->has_posted)) {
            handle_waiting(engine);
            tg_control_run_posted(engine);
            if (engine->n_early > 0) /* a call attached to a process */
                tg_dispatch_early(engine);
            continue; /* everything may be gone */
        }
        if (engine->n_interrupted > 0 &&
            tg_control_collect(engine, tg_engine_now_ns() + STOPS_BEFORE_CALLS_NS))
            continue;
        if (engine->parked != NULL || engine->looking_again) {
            tg_adoption_look_again(engine);
            if (engine->processes == NULL)
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
    if (engine->processes != NULL)
        tg_detach_all(engine,
                      engine->failure == NULL ? "the recorder was asked to stop" : "the recorder failed");
    tg_engine_set_ticking(engine, false);
    atomic_store(&engine->stop_requested, false);
    struct tg_error *error = engine->failure;
    engine->failure = NULL;
    if (error == NULL && status != NULL)
        *status = engine->launched_status;
    return error;
}
