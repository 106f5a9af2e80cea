#include "recorder/engine/wake.h"

#include <errno.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WAKE_INTERVAL_NS = 5 * 1000 * 1000 };

#define WAKE_SIGNAL SIGRTMAX

/* Runs in the wake signal's handler while the tracer is blocked in PTRACE_SEIZE: waits for threads that an
 * exec is ending. Threads in PTRACE_EVENT_EXIT are resumed at once, everything else is kept for later. */
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

/* Signals that were ignored when the tool was started. Later is too late: Tcl and the console ignore SIGPIPE
 * for themselves. */
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

struct tg_error *tg_wake_init(struct tg_engine *engine)
{
    struct sigaction action = {.sa_sigaction = wake, .sa_flags = SA_SIGINFO}; /* no SA_RESTART */
    sigemptyset(&action.sa_mask);
    struct sigevent event = {
        .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = WAKE_SIGNAL, .sigev_value.sival_ptr = engine};
    event._sigev_un._tid = gettid();
    keep_launch_signals(engine);
    if (timer_create(CLOCK_MONOTONIC, &event, &engine->wake_timer) != 0)
        return tg_error_create_errno(errno, "cannot create the engine's timer");
    engine->has_wake_timer = true;
    if (timer_create(CLOCK_MONOTONIC, &event, &engine->request_timer) != 0)
        return tg_error_create_errno(errno, "cannot create the engine's second timer");
    engine->has_request_timer = true;
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

void tg_wake_deinit(struct tg_engine *engine)
{
    if (engine->has_request_timer)
        timer_delete(engine->request_timer);
    if (!engine->has_wake_timer)
        return;
    timer_delete(engine->wake_timer);
    if (engine->has_wake_action)
        give_back_wake_action();
    sigset_t wake_set;
    sigemptyset(&wake_set);
    sigaddset(&wake_set, WAKE_SIGNAL);
    if (sigismember(&engine->launch_mask, WAKE_SIGNAL))
        pthread_sigmask(SIG_BLOCK, &wake_set, NULL);
}

void tg_wake_set_ticking(struct tg_engine *engine, bool ticking)
{
    const long interval_ns = ticking ? WAKE_INTERVAL_NS : 0;
    const struct itimerspec timer = {.it_interval = {.tv_nsec = interval_ns},
                                     .it_value = {.tv_nsec = interval_ns}};
    timer_settime(engine->wake_timer, 0, &timer, NULL);
}

/* A wake-up at once, and again until the loop has seen the request: the first may come right before the waitpid. */
static const struct itimerspec waking = {.it_interval = {.tv_nsec = 500 * 1000}, .it_value = {.tv_nsec = 1}};
static const struct itimerspec quiet;

static void set_requested(struct tg_engine *engine, bool requested)
{
    pthread_mutex_lock(&engine->request_lock);
    atomic_store(&engine->has_requests, requested);
    timer_settime(engine->request_timer, 0, requested ? &waking : &quiet, NULL);
    pthread_mutex_unlock(&engine->request_lock);
}

void tg_engine_wake(struct tg_engine *engine)
{
    set_requested(engine, true);
}

void tg_wake_serve(struct tg_engine *engine)
{
    set_requested(engine, false);
    if (engine->serve != NULL)
        engine->serve(engine->sink.context);
}

void tg_engine_passes_on(struct tg_engine *engine, int signal, pid_t sender, const char *name)
{
    if (signal <= 0 || signal >= NSIG)
        return;
    pthread_mutex_lock(&engine->request_lock);
    struct tg_passed_on *passed = &engine->passed_on[signal];
    *passed = (struct tg_passed_on){.is_set = true, .sender = sender};
    snprintf(passed->name, sizeof passed->name, "%s", name);
    pthread_mutex_unlock(&engine->request_lock);
}

bool tg_wake_find_asker(struct tg_engine *engine, int signal, struct tg_passed_on *asker)
{
    *asker = (struct tg_passed_on){0};
    if (signal <= 0 || signal >= NSIG)
        return false;
    pthread_mutex_lock(&engine->request_lock);
    *asker = engine->passed_on[signal];
    pthread_mutex_unlock(&engine->request_lock);
    return asker->is_set;
}

void tg_engine_request_stop(struct tg_engine *engine)
{
    atomic_store(&engine->stop_requested, true);
    tg_wake_set_ticking(engine, true);
}

void tg_engine_fail(struct tg_engine *engine, struct tg_error *error)
{
    if (engine->failure == NULL)
        engine->failure = error;
    else
        tg_error_destroy(error);
    atomic_store(&engine->stop_requested, true);
}
