#include "live/control/traced_job.h"

#include "format/base/short_turns.h"
#include "live/source/interrupt.h"
#include "live/source/news_queue.h"
#include "recorder/engine/event_queue.h"
#include "recorder/record/calibrate.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <tcl.h>
#include <time.h>
#include <unistd.h>

struct tg_traced_job {
    struct tg_record_options options; /* the caller's, but for the trace */
    const char *first_trace;          /* the caller's */
    char *trace;                      /* of a second or later run, NULL the caller's */
    sigset_t launch_mask;             /* for programs that are started */
    struct tg_stop_policy stops;
    pthread_t thread;
    bool has_thread;
    struct tg_recording_watch watch;
    struct tg_loader_listener listener;
    struct tg_recording *recording; /* the tracer thread's, and so is the engine */
    struct tg_engine_adapter *live;
    struct tg_news_queue *news;
    bool tells_all;                /* also what is not for people */
    struct tg_event_queue *events; /* from the thread that writes the trace to the one that takes them */
    int wake_fd;
    atomic_bool is_awake;                      /* wake_fd is readable */
    _Atomic uint64_t start_ns;                 /* of the run, as its trace has it */
    const struct tg_gate_attendant *attendant; /* of the tracer thread; NULL nobody */
    atomic_bool is_attended;                   /* there is one */

    pthread_mutex_t lock; /* for all that follows */
    pthread_cond_t changed;
    struct tg_request *first_request, **last_request;
    bool has_started, runs, has_ended, was_let_go, quits, restarts;
    struct tg_error *failure; /* of the start */
    struct tg_recording_summary summary;
    int status;
};

/* ---- telling the one who waits */

static void wake(struct tg_traced_job *job)
{
    if (!atomic_exchange(&job->is_awake, true))
        eventfd_write(job->wake_fd, 1);
}

int tg_traced_job_wake_fd(const struct tg_traced_job *job)
{
    return job->wake_fd;
}

uint64_t tg_traced_job_start_ns(const struct tg_traced_job *job)
{
    return job->start_ns;
}

void tg_traced_job_settle(struct tg_traced_job *job)
{
    eventfd_t count;
    eventfd_read(job->wake_fd, &count);
    atomic_store(&job->is_awake, false);
}

void tg_traced_job_unsettle(struct tg_traced_job *job)
{
    wake(job);
}

static void take_written(void *context, const struct tg_event *event)
{
    struct tg_traced_job *job = context;
    tg_event_queue_add(job->events, event);
    wake(job);
}

static bool is_behind(void *context)
{
    const struct tg_traced_job *job = context;
    return tg_event_queue_is_filling(job->events);
}

static void take_emitted(void *context, const struct tg_event *event)
{
    const struct tg_traced_job *job = context;
    if (job->live != NULL)
        tg_engine_adapter_emitted(job->live, event);
}

bool tg_traced_job_wants(const struct tg_traced_job *job, const struct tg_news *news)
{
    return job->tells_all || tg_news_is_for_people(news);
}

static void tell(void *context, const struct tg_news *news)
{
    struct tg_traced_job *job = context;
    if (!tg_traced_job_wants(job, news))
        return;
    tg_news_queue_add(job->news, news);
    wake(job);
}

static void take_handled(void *context, struct tg_thread *thread, const struct tg_loader_handled *handled)
{
    const struct tg_traced_job *job = context;
    if (job->live != NULL)
        tg_engine_adapter_handled(job->live, thread, handled);
}

static void take_unloaded(void *context, struct tg_thread *thread, const struct tg_break_object *object)
{
    const struct tg_traced_job *job = context;
    if (job->live != NULL)
        tg_engine_adapter_unloaded(job->live, thread, object);
}

static void tell_changed(void *context)
{
    struct tg_traced_job *job = context;
    if (job->attendant != NULL)
        job->attendant->glance(job->attendant->context, job->live);
    wake(job);
}

/* On a thread of the recording: workers have come to gates. */
static void take_gate_calls(void *context)
{
    struct tg_traced_job *job = context;
    if (!atomic_load(&job->is_attended)) {
        wake(job);
        return;
    }
    pthread_mutex_lock(&job->lock);
    if (job->runs)
        tg_engine_wake(tg_recording_parts(job->recording).engine);
    pthread_mutex_unlock(&job->lock);
}

void tg_traced_job_tell_news(struct tg_traced_job *job, const struct tg_news_sink *sink)
{
    tg_news_queue_tell(job->news, sink);
}

const struct tg_event *tg_traced_job_first_event(struct tg_traced_job *job)
{
    return tg_event_queue_first(job->events);
}

void tg_traced_job_pop_event(struct tg_traced_job *job)
{
    tg_event_queue_pop(job->events);
}

uint64_t tg_traced_job_take_missed(struct tg_traced_job *job)
{
    return tg_event_queue_take_lost(job->events);
}

/* ---- requests */

/* On the tracer thread. */
static void serve(void *context)
{
    struct tg_traced_job *job = context;
    pthread_mutex_lock(&job->lock);
    while (job->first_request != NULL) {
        struct tg_request *request = job->first_request;
        job->first_request = request->next;
        if (request->next == NULL)
            job->last_request = &job->first_request;
        pthread_mutex_unlock(&job->lock);
        tg_request_serve(request, job->live);
        pthread_mutex_lock(&job->lock);
        request->is_answered = true;
        pthread_cond_broadcast(&job->changed);
    }
    pthread_mutex_unlock(&job->lock);
    if (job->attendant != NULL)
        job->attendant->attend(job->attendant->context, job->live);
}

void tg_traced_job_set_attendant(struct tg_traced_job *job, const struct tg_gate_attendant *attendant)
{
    job->attendant = attendant;
    atomic_store(&job->is_attended, attendant != NULL);
}

struct tg_error *tg_traced_job_ask(struct tg_traced_job *job, struct tg_request *request)
{
    request->next = NULL;
    request->is_answered = false;
    pthread_mutex_lock(&job->lock);
    *job->last_request = request;
    job->last_request = &request->next;
    pthread_cond_broadcast(&job->changed);
    if (job->runs)
        tg_engine_wake(tg_recording_parts(job->recording).engine);
    while (!request->is_answered)
        pthread_cond_wait(&job->changed, &job->lock);
    pthread_mutex_unlock(&job->lock);
    return request->error;
}

struct tg_error *tg_traced_job_call(struct tg_traced_job *job, tg_request_work *work, void *context)
{
    struct tg_request request = {.about = TG_REQUEST_NOBODY, .work = work, .context = context};
    return tg_traced_job_ask(job, &request);
}

/* ---- the tracer thread */

/* Blocks the signals of the thread that talks to people; launched programs have the mask that the tool was
 * given. */
static void block_signals(void)
{
    static const int theirs[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH, SIGUSR1, SIGUSR2};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof theirs / sizeof theirs[0]; i++)
        sigaddset(&set, theirs[i]);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

/* RECORDING and LIVE are of an earlier run, where there was one; then they stay where this fails. */
static struct tg_error *start(struct tg_traced_job *job)
{
    struct tg_stop_cost cost = {0};
    const struct tg_engine_adapter_options options = {
        .context = job, .tell = tell, .changed = tell_changed, .stops = &job->stops};
    struct tg_recording *recording = NULL, *former_recording = job->recording;
    struct tg_engine_adapter *live = NULL, *former_live = job->live;
    pid_t pid;
    pthread_sigmask(SIG_SETMASK, &job->launch_mask, NULL);
    tg_error_destroy(tg_calibrate_stop_cost(&cost));
    struct tg_error *error = tg_recording_create(&job->options, &cost, &job->watch, &recording);
    block_signals();
    if (error == NULL) {
        const struct tg_recording_parts parts = tg_recording_parts(recording);
        job->start_ns = parts.start_ns; /* before its first event */
        error = tg_engine_adapter_create(&parts, &options, &live);
    }
    if (error == NULL) {
        job->recording = recording;
        job->live = live;
        error = tg_recording_start(recording, &pid);
    }
    if (error != NULL) {
        job->recording = former_recording;
        job->live = former_live;
    } else {
        recording = former_recording;
        live = former_live;
    }
    tg_recording_destroy(recording);
    tg_engine_adapter_destroy(live);
    return error;
}

static void set_started(struct tg_traced_job *job, struct tg_error *error)
{
    pthread_mutex_lock(&job->lock);
    job->failure = error;
    job->has_started = true;
    job->restarts = false;
    job->runs = error == NULL;
    job->has_ended = job->has_ended && error != NULL;
    if (job->runs && job->first_request != NULL) /* asked meanwhile */
        tg_engine_wake(tg_recording_parts(job->recording).engine);
    pthread_cond_broadcast(&job->changed);
    pthread_mutex_unlock(&job->lock);
}

static void run(struct tg_traced_job *job)
{
    int status = 0;
    struct tg_recording_summary summary;
    struct tg_error *error = tg_recording_run(job->recording, &status);
    pthread_mutex_lock(&job->lock);
    job->runs = false;
    pthread_mutex_unlock(&job->lock);
    if (error != NULL)
        tell(job, &(struct tg_news){.kind = TG_NEWS_ERROR, .text = tg_error_message(error)});
    tg_error_destroy(error);
    tg_recording_finish(job->recording, &summary);
    pthread_mutex_lock(&job->lock);
    job->has_ended = true;
    job->status = status;
    job->summary = summary;
    pthread_cond_broadcast(&job->changed);
    pthread_mutex_unlock(&job->lock);
    wake(job);
}

/* Until nobody asks any more: false; or it is to be run once more. */
static bool answer(struct tg_traced_job *job)
{
    pthread_mutex_lock(&job->lock);
    while (!job->quits && !job->restarts) {
        if (job->first_request == NULL)
            pthread_cond_wait(&job->changed, &job->lock);
        pthread_mutex_unlock(&job->lock);
        serve(job);
        pthread_mutex_lock(&job->lock);
    }
    bool restarts = job->restarts && !job->quits;
    pthread_mutex_unlock(&job->lock);
    return restarts;
}

static void *trace(void *context)
{
    struct tg_traced_job *job = context;
    bool has_job;
    tg_short_turns_begin();
    do {
        struct tg_error *error = start(job);
        bool is_well = error == NULL;
        set_started(job, error);
        if (is_well)
            run(job);
        has_job = job->recording != NULL; /* of this run, or of a former one that still answers */
    } while (has_job && answer(job));
    tg_recording_destroy(job->recording);
    tg_engine_adapter_destroy(job->live);
    Tcl_FinalizeThread(); /* of conditions */
    return NULL;
}

/* ---- life */

static struct tg_error *set_up(struct tg_traced_job *job)
{
    job->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (job->wake_fd < 0)
        return tg_error_create(TG_ERROR_LIMIT, "cannot create an eventfd: too many files are open");
    struct tg_error *error = tg_event_queue_create(0, &job->events);
    if (error == NULL)
        error = tg_news_queue_create(&job->news);
    if (error != NULL)
        return error;
    Tcl_FindExecutable(NULL); /* before the thread, which ends with its part of Tcl */
    int why = pthread_create(&job->thread, NULL, trace, job);
    job->has_thread = why == 0;
    return why == 0 ? NULL : tg_error_create_errno(why, "cannot create the thread that traces");
}

static struct tg_error *await_start(struct tg_traced_job *job)
{
    pthread_mutex_lock(&job->lock);
    while (!job->has_started)
        pthread_cond_wait(&job->changed, &job->lock);
    struct tg_error *failure = job->failure;
    job->failure = NULL;
    pthread_mutex_unlock(&job->lock);
    return failure;
}

struct tg_error *tg_traced_job_create(const struct tg_record_options *options,
                                      const struct tg_stop_policy *stops, bool tells_all,
                                      struct tg_traced_job **job)
{
    struct tg_traced_job *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->options = *options;
    made->first_trace = options->trace;
    pthread_sigmask(SIG_SETMASK, NULL, &made->launch_mask);
    made->stops = *stops;
    made->tells_all = tells_all;
    made->listener =
        (struct tg_loader_listener){.context = made, .handled = take_handled, .unloaded = take_unloaded};
    made->watch = (struct tg_recording_watch){.context = made,
                                              .written = take_written,
                                              .is_behind = is_behind,
                                              .emitted = take_emitted,
                                              .serve = serve,
                                              .gates_called = take_gate_calls,
                                              .libraries = &made->listener};
    made->last_request = &made->first_request;
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->changed, NULL);
    struct tg_error *error = set_up(made);
    if (error == NULL)
        error = await_start(made);
    if (error != NULL) {
        tg_traced_job_destroy(made);
        return error;
    }
    *job = made;
    return NULL;
}

static struct tg_error *count_processes(const struct tg_request *request)
{
    struct tg_job_view *view;
    struct tg_error *error = tg_controller_latest_view(request->controller, &view);
    if (error == NULL)
        *(size_t *)request->context = tg_job_view_count(view);
    return error;
}

void tg_traced_job_await_attached(struct tg_traced_job *job)
{
    enum { ROUNDS = 2000, ROUND_US = 1000 };
    int status;
    for (int i = 0; i < ROUNDS && !tg_traced_job_has_ended(job, &status); i++) {
        size_t n_known = 0;
        TG_AUTO_ERROR struct tg_error *error = tg_traced_job_call(job, count_processes, &n_known);
        if (error != NULL || n_known >= job->options.n_pids)
            return;
        usleep(ROUND_US);
    }
}

/* Whether there were ranks, none is left, and all others run. */
static struct tg_error *look_for_launchers(const struct tg_request *request)
{
    struct tg_job_view *view;
    bool *are_ending = request->context;
    size_t n_ranks = 0;
    struct tg_error *error = tg_controller_latest_view(request->controller, &view);
    *are_ending = error == NULL;
    for (size_t p = 0; error == NULL && p < tg_job_view_count(view); p++) {
        const struct tg_job_process *process = tg_job_view_at(view, p);
        n_ranks += process->info.rank >= 0;
        *are_ending = *are_ending && (process->info.rank < 0 || !process->info.exists);
        for (size_t i = 0; process->info.exists && i < process->n_threads; i++)
            *are_ending =
                *are_ending && !tg_job_state_is_stopped(tg_job_view_thread(view, process, i)->state);
    }
    *are_ending = *are_ending && n_ranks > 0;
    return error;
}

void tg_traced_job_await_launchers(struct tg_traced_job *job)
{
    enum { ROUNDS = 500, ROUND_US = 10000 };
    int status;
    for (int i = 0; i < ROUNDS && !tg_traced_job_has_ended(job, &status); i++) {
        bool are_ending = false;
        TG_AUTO_ERROR struct tg_error *error = tg_traced_job_call(job, look_for_launchers, &are_ending);
        if (error != NULL || !are_ending)
            return;
        usleep(ROUND_US);
    }
}

static struct tg_error *kill_all(const struct tg_request *request)
{
    tg_engine_adapter_kill(request->engine);
    return NULL;
}

static struct tg_error *detach_all(const struct tg_request *request)
{
    struct tg_traced_job *job = request->context;
    tg_engine_adapter_leave(request->engine);
    tg_recording_request_stop(job->recording);
    return NULL;
}

void tg_traced_job_end(struct tg_traced_job *job, enum tg_job_end how)
{
    pthread_mutex_lock(&job->lock);
    bool has_ended = job->has_ended;
    job->was_let_go = !has_ended && how == TG_JOB_END_DETACH;
    pthread_mutex_unlock(&job->lock);
    if (has_ended)
        return;
    tg_error_destroy(
        tg_traced_job_call(job, how == TG_JOB_END_KILL ? kill_all : detach_all, job)); /* always NULL */
    pthread_mutex_lock(&job->lock);
    while (!job->has_ended)
        pthread_cond_wait(&job->changed, &job->lock);
    pthread_mutex_unlock(&job->lock);
}

void tg_traced_job_destroy(struct tg_traced_job *job)
{
    if (job == NULL)
        return;
    pthread_mutex_lock(&job->lock);
    job->quits = true;
    pthread_cond_broadcast(&job->changed);
    pthread_mutex_unlock(&job->lock);
    if (job->has_thread)
        pthread_join(job->thread, NULL);
    tg_news_queue_destroy(job->news);
    tg_event_queue_destroy(job->events);
    if (job->wake_fd >= 0)
        close(job->wake_fd);
    pthread_cond_destroy(&job->changed);
    pthread_mutex_destroy(&job->lock);
    free(job->trace);
    free(job);
}

struct tg_error *tg_traced_job_restart(struct tg_traced_job *job, const char *trace)
{
    char *copy = strdup(trace);
    if (copy == NULL)
        return tg_error_no_memory();
    char *former = job->trace;
    job->trace = job->options.trace = copy;
    pthread_mutex_lock(&job->lock);
    job->has_started = false;
    job->restarts = true;
    pthread_cond_broadcast(&job->changed);
    pthread_mutex_unlock(&job->lock);
    struct tg_error *error = await_start(job);
    free(former);
    return error;
}

const char *tg_traced_job_first_trace(const struct tg_traced_job *job)
{
    return job->first_trace;
}

const char *tg_traced_job_trace(const struct tg_traced_job *job)
{
    return job->options.trace;
}

bool tg_traced_job_has_command(const struct tg_traced_job *job)
{
    return job->options.command != NULL;
}

struct tg_stop_policy *tg_traced_job_stops(struct tg_traced_job *job)
{
    return &job->stops;
}

bool tg_traced_job_has_ended(struct tg_traced_job *job, int *status)
{
    pthread_mutex_lock(&job->lock);
    bool has_ended = job->has_ended;
    *status = job->status;
    pthread_mutex_unlock(&job->lock);
    return has_ended;
}

bool tg_traced_job_was_let_go(struct tg_traced_job *job)
{
    pthread_mutex_lock(&job->lock);
    bool was_let_go = job->was_let_go;
    pthread_mutex_unlock(&job->lock);
    return was_let_go;
}

struct syncing {
    struct tg_traced_job *job;
    bool has_goal, is_done;
    uint64_t n_events;
};

static struct tg_error *sync_trace(const struct tg_request *request)
{
    struct syncing *syncing = request->context;
    struct tg_recording *recording = syncing->job->recording;
    if (recording != NULL && !syncing->has_goal)
        tg_recording_settle(recording);
    if (recording != NULL && !syncing->has_goal)
        syncing->n_events = tg_recording_flush(recording);
    syncing->is_done =
        recording == NULL || (syncing->has_goal && tg_recording_is_flushed(recording, syncing->n_events));
    syncing->has_goal = true;
    return NULL;
}

static struct tg_error *look(const struct tg_request *request)
{
    const struct tg_traced_job *job = request->context;
    return job->recording == NULL ? tg_error_create(TG_ERROR_NOT_FOUND, "the job has ended")
                                  : tg_recording_look(job->recording);
}

struct tg_error *tg_traced_job_look(struct tg_traced_job *job)
{
    return tg_traced_job_call(job, look, job);
}

struct leak_search {
    struct tg_traced_job *job;
    int32_t pid;
};

static struct tg_error *search_leaks(const struct tg_request *request)
{
    const struct leak_search *search = request->context;
    struct tg_recording *recording = search->job->recording;
    return recording == NULL ? tg_error_create(TG_ERROR_NOT_FOUND, "the job has ended")
                             : tg_recording_search_leaks(recording, search->pid);
}

struct tg_error *tg_traced_job_search_leaks(struct tg_traced_job *job, int32_t pid)
{
    struct leak_search search = {job, pid};
    return tg_traced_job_call(job, search_leaks, &search);
}

struct guard_look {
    struct tg_traced_job *job;
    int32_t pid;
    struct tg_guard_check *check;
};

static struct tg_error *check_guards(const struct tg_request *request)
{
    const struct guard_look *look = request->context;
    struct tg_recording *recording = look->job->recording;
    return recording == NULL ? tg_error_create(TG_ERROR_NOT_FOUND, "the job has ended")
                             : tg_recording_check_guards(recording, look->pid, look->check);
}

struct tg_error *tg_traced_job_check_guards(struct tg_traced_job *job, int32_t pid,
                                            struct tg_guard_check *check)
{
    struct guard_look look = {job, pid, check};
    return tg_traced_job_call(job, check_guards, &look);
}

const struct tg_agent_heap *tg_traced_job_heap(const struct tg_traced_job *job)
{
    return &job->options.heap;
}

struct wish {
    struct tg_traced_job *job;
    const struct tg_agent_heap_wishes *wishes;
    const char *text;
};

static struct tg_error *pass_wish(const struct tg_request *request)
{
    const struct wish *wish = request->context;
    struct tg_recording *recording = wish->job->recording;
    return recording == NULL ? tg_error_create(TG_ERROR_NOT_FOUND, "the job has ended")
                             : tg_recording_wish(recording, wish->wishes, wish->text);
}

struct tg_error *tg_traced_job_wish(struct tg_traced_job *job, const struct tg_agent_heap_wishes *wishes,
                                    const char *text)
{
    struct wish wish = {job, wishes, text};
    return tg_traced_job_call(job, pass_wish, &wish);
}

struct tg_error *tg_traced_job_sync(struct tg_traced_job *job)
{
    enum { PAUSE_NS = 5 * 1000 * 1000, MOST_PAUSES = 2000 };
    struct syncing syncing = {.job = job};
    for (size_t i = 0; i < MOST_PAUSES; i++) {
        struct tg_error *error = tg_traced_job_call(job, sync_trace, &syncing);
        if (error != NULL || syncing.is_done)
            return error;
        if (tg_interrupt_pending())
            return tg_error_create(TG_ERROR_USAGE, "interrupted");
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    }
    return tg_error_create(TG_ERROR_LIMIT, "the trace's file does not have the latest events yet: "
                                           "the disk is slow, or is full; try again");
}

struct tg_recording_summary tg_traced_job_summary(struct tg_traced_job *job)
{
    pthread_mutex_lock(&job->lock);
    struct tg_recording_summary summary = job->summary;
    pthread_mutex_unlock(&job->lock);
    return summary;
}
