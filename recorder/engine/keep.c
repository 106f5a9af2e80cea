#include "recorder/engine/engine_internal.h"

#include <stdlib.h>
#include <sys/wait.h>

/* A thread is kept where it would have been resumed: tg_tracee_resume and tg_tracee_listen ask here first.
 * Its registers are in place, so that it could go on from there if the tracer died; what is left to do, a
 * step over the breakpoint that it stands at or a signal to be delivered, is done when it is let go. */

/* Has a parent that waits in vfork for TRACEE's process? It uses that parent's memory and stack, and as long
 * as it stood the parent could neither run nor stop: it is kept when it has executed its program. */
static bool is_vfork_child(struct tg_tracee *tracee)
{
    const struct tg_process *process = tracee->thread.process;
    if (tg_traced_of(tracee)->origin != TG_ORIGIN_VFORK || process->space->references == 1)
        return false;
    for (struct tg_process *other = process->engine->processes; other != NULL; other = other->hh.next)
        if (other != process && other->space == process->space)
            return true;
    return false;
}

bool tg_control_is_to_keep(struct tg_tracee *tracee)
{
    return tracee->keep_due && !is_vfork_child(tracee);
}

/* ---- keeping */

bool tg_thread_is_kept(const struct tg_thread *thread)
{
    return ((const struct tg_tracee *)thread)->kept;
}

void tg_thread_keep(struct tg_thread *thread)
{
    struct tg_tracee *tracee = tg_tracee_of(thread);
    tracee->keep_due = !tracee->exiting;
}

/* Without memory the wait for any thread finds its stop. */
static void note_interrupted(struct tg_engine *engine, pid_t tid)
{
    if (engine->n_interrupted == engine->interrupted_capacity) {
        size_t larger = engine->interrupted_capacity == 0 ? 64 : 2 * engine->interrupted_capacity;
        pid_t *moved = reallocarray(engine->interrupted, larger, sizeof *moved);
        if (moved == NULL)
            return;
        engine->interrupted = moved;
        engine->interrupted_capacity = larger;
    }
    engine->interrupted[engine->n_interrupted++] = tid;
}

void tg_thread_halt(struct tg_thread *thread)
{
    struct tg_tracee *tracee = tg_tracee_of(thread);
    if (tracee->kept || tracee->exiting || tracee->keep_due)
        return;
    tracee->keep_due = true;
    tracee->halt_due = tracee->running && !tracee->first_stop_due && !is_vfork_child(tracee);
    if (tracee->halt_due && ptrace(PTRACE_INTERRUPT, thread->tid, NULL, NULL) == 0)
        note_interrupted(thread->process->engine, thread->tid);
}

/* One look at each of them; true if there was a stop. What has not stopped yet stays in the list. */
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

/* A wait for any thread has the kernel walk the list of all that are traced, those that stand already
 * included: to collect n stops so takes n * n steps. A wait for one thread finds it at once. */
bool tg_control_collect(struct tg_engine *engine, uint64_t until_ns)
{
    bool any = false;
    while (engine->n_interrupted > 0 && collect_once(engine, until_ns))
        any = true;
    if (tg_engine_now_ns() < until_ns)
        engine->n_interrupted = 0; /* the slow ones come as any stop comes */
    return any;
}

bool tg_control_keeps(struct tg_tracee *tracee, int signal, bool listening)
{
    if (tracee->step.active || !tg_control_is_to_keep(tracee))
        return false;
    tg_tracee_store_registers(tracee);
    tracee->keep_due = false;
    tracee->stepping = false;
    tracee->kept = true;
    tracee->kept_signal = signal;
    tracee->kept_listening = listening;
    struct tg_engine *engine = tracee->thread.process->engine;
    for (unsigned i = 0; i < engine->n_observers && tracee->kept; i++)
        if (engine->observers[i]->kept != NULL)
            engine->observers[i]->kept(engine->observers[i]->context, &tracee->thread);
    return true;
}

void tg_control_halted(struct tg_tracee *tracee)
{
    struct tg_engine *engine = tracee->thread.process->engine;
    if (!tracee->keep_due || tg_traced_of(tracee)->detaching)
        return;
    for (unsigned i = 0; i < engine->n_observers; i++)
        if (engine->observers[i]->halted != NULL)
            engine->observers[i]->halted(engine->observers[i]->context, &tracee->thread);
}

bool tg_control_stepped(struct tg_tracee *tracee)
{
    if (!tracee->stepping)
        return false;
    tracee->stepping = false;
    if (!tracee->called_off) {
        tracee->keep_due = true;
        tg_control_halted(tracee);
    }
    return true;
}

/* The trap that this asks for comes before the thread runs anything. */
bool tg_control_steps(struct tg_tracee *tracee)
{
    bool steps = tracee->stepping && !tracee->called_off && !tg_traced_of(tracee)->detaching;
    if (steps) {
        tracee->stepping = false;
        tracee->keep_due = true;
        tracee->halt_due = true;
        ptrace(PTRACE_INTERRUPT, tracee->thread.tid, NULL, NULL);
    }
    return steps;
}

/* ---- letting go */

static void go_on(struct tg_tracee *tracee)
{
    tracee->kept = false;
    if (tracee->step.waiting && tracee->step.awaited == 0)
        tg_step_go_on(tracee);
    else if (tracee->kept_listening)
        tg_tracee_listen(tracee);
    else if (!tracee->step.waiting)
        tg_tracee_resume(tracee, tracee->kept_signal);
}

void tg_thread_go(struct tg_thread *thread)
{
    struct tg_tracee *tracee = tg_tracee_of(thread);
    tracee->keep_due = false;
    tracee->called_off = true;
    if (tracee->kept)
        go_on(tracee);
}

void tg_thread_step(struct tg_thread *thread)
{
    struct tg_tracee *tracee = tg_tracee_of(thread);
    if (!tracee->kept)
        return;
    tracee->stepping = true;
    tracee->called_off = false;
    go_on(tracee);
}

/* ---- calls from other threads */

struct tg_posted {
    struct tg_posted *next;
    void (*call)(void *context);
    void *context;
};

/* The first wake-up at once; again for as long as the call waits, for it may come in front of the waitpid. */
static const struct itimerspec waking = {.it_interval = {.tv_nsec = 2 * 1000 * 1000},
                                         .it_value = {.tv_nsec = 1}};
static const struct itimerspec quiet;

bool tg_engine_post(struct tg_engine *engine, void (*call)(void *context), void *context)
{
    struct tg_posted *posted = malloc(sizeof *posted);
    if (posted == NULL)
        return false;
    pthread_mutex_lock(&engine->posted_lock);
    *posted = (struct tg_posted){.next = engine->posted, .call = call, .context = context};
    engine->posted = posted;
    atomic_store(&engine->has_posted, true);
    timer_settime(engine->post_timer, 0, &waking, NULL);
    pthread_mutex_unlock(&engine->posted_lock);
    return true;
}

/* What was posted so far, first one first. */
static struct tg_posted *take_posted(struct tg_engine *engine)
{
    pthread_mutex_lock(&engine->posted_lock);
    struct tg_posted *latest = engine->posted;
    engine->posted = NULL;
    atomic_store(&engine->has_posted, false);
    timer_settime(engine->post_timer, 0, &quiet, NULL);
    pthread_mutex_unlock(&engine->posted_lock);
    struct tg_posted *first = NULL;
    while (latest != NULL) {
        struct tg_posted *next = latest->next;
        latest->next = first;
        first = latest;
        latest = next;
    }
    return first;
}

void tg_control_run_posted(struct tg_engine *engine)
{
    struct tg_posted *posted = take_posted(engine);
    while (posted != NULL) {
        struct tg_posted *next = posted->next;
        posted->call(posted->context);
        free(posted);
        posted = next;
    }
    if (engine->detach_in_progress)
        tg_detach_advance(engine);
}

void tg_control_drop_posted(struct tg_engine *engine)
{
    struct tg_posted *posted = take_posted(engine);
    while (posted != NULL) {
        struct tg_posted *next = posted->next;
        free(posted);
        posted = next;
    }
}
