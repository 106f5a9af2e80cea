#include "recorder/engine/pause.h"

#include "format/base/array.h"
#include "recorder/engine/address_space.h"
#include "recorder/engine/process_table.h"
#include "recorder/engine/restart.h"
#include "recorder/engine/stop.h"
#include "recorder/engine/tracee.h"

#include <sched.h>
#include <sys/wait.h>
#include <time.h>

enum {
    SPINS = 32,            /* looks at the threads before the tracer sleeps between them */
    SLEEP_NS = 100 * 1000, /* between looks */
};

/* A thread whose end is under way, or that waits for a vfork child, comes to no stop. */
static bool can_stop(const struct tg_tracee *tracee)
{
    return tracee->running && !tracee->paused && !tracee->exiting && !tracee->in_vfork;
}

bool tg_thread_is_stopped(const struct tg_thread *thread)
{
    const struct tg_tracee *tracee = (const struct tg_tracee *)thread;
    return !tracee->exiting && (!tracee->running || tracee->paused);
}

/* Keeps the stop for later. Without memory the thread would be lost: it is let go on from here. */
static void put_off(struct tg_engine *engine, struct tg_tracee *tracee, int status)
{
    const struct tg_early_status stop = {tracee->thread.tid, status};
    if (status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) == SIGTRAP && !tracee->listening)
        tg_restart_wait_of_paused(tracee);
    if (TG_ARRAY_APPEND(engine->paused, engine->n_paused, engine->paused_capacity, stop) == NULL) {
        tracee->paused = true;
        tracee->paused_status = status;
    } else {
        int signal = WIFSTOPPED(status) && status >> 16 == 0 ? WSTOPSIG(status) : 0;
        ptrace(PTRACE_CONT, tracee->thread.tid, NULL, signal);
    }
}

/* Looks once at each thread; returns how many are still to stop. */
static size_t look(struct tg_engine *engine, struct tg_thread *const *threads, size_t count)
{
    size_t missing = 0;
    for (size_t i = 0; i < count; i++) {
        struct tg_tracee *tracee = tg_tracee_of(threads[i]);
        int status;
        if (!can_stop(tracee))
            continue;
        pid_t tid = waitpid(threads[i]->tid, &status, __WALL | __WNOTHREAD | WNOHANG);
        if (tid > 0)
            put_off(engine, tracee, status);
        else
            missing += tid == 0;
    }
    return missing;
}

size_t tg_threads_pause(struct tg_engine *engine, struct tg_thread *const *threads, size_t count,
                        uint64_t until_ns)
{
    for (size_t i = 0; i < count; i++) {
        struct tg_tracee *tracee = tg_tracee_of(threads[i]);
        if (can_stop(tracee) && !tracee->first_stop_due) /* else the first stop comes by itself */
            ptrace(PTRACE_INTERRUPT, threads[i]->tid, NULL, NULL);
    }
    for (unsigned n = 0; look(engine, threads, count) > 0 && tg_engine_now_ns() < until_ns; n++) {
        static const struct timespec pause = {.tv_nsec = SLEEP_NS};
        if (n < SPINS)
            sched_yield();
        else
            nanosleep(&pause, NULL);
    }
    size_t stopped = 0;
    for (size_t i = 0; i < count; i++)
        stopped += tg_thread_is_stopped(threads[i]);
    return stopped;
}

/* Whether TRACEE's stop is the trap of a breakpoint of ours in front of IP. */
static bool ran_into_site(const struct tg_tracee *tracee, uint64_t ip)
{
    if (!tracee->paused || !WIFSTOPPED(tracee->paused_status) || tracee->paused_status >> 16 != 0 ||
        WSTOPSIG(tracee->paused_status) != SIGTRAP)
        return false;
    const struct tg_site *site = tg_address_space_site(tracee->thread.process->space, ip - 1);
    return site != NULL && site->planted;
}

bool tg_thread_stopped_registers(const struct tg_thread *thread, struct user_regs_struct *registers)
{
    const struct tg_tracee *tracee = (const struct tg_tracee *)thread;
    if (!tg_thread_is_stopped(thread))
        return false;
    if (tracee->regs_valid && !tracee->paused)
        *registers = tracee->regs;
    else if (ptrace(PTRACE_GETREGS, thread->tid, NULL, registers) != 0)
        return false;
    if (tracee->step.active || tracee->step.waiting)
        registers->rip = tracee->step.address; /* of the instruction whose copy runs elsewhere */
    else if (ran_into_site(tracee, registers->rip))
        registers->rip--;
    return true;
}

bool tg_pause_take(struct tg_engine *engine, pid_t *tid, int *status)
{
    while (engine->next_paused < engine->n_paused) {
        const struct tg_early_status stop = engine->paused[engine->next_paused++];
        struct tg_tracee *tracee = tg_tracee_find(engine, stop.tid);
        if (tracee != NULL)
            tracee->paused = false;
        if (!tg_stop_is_current(stop.tid, stop.status))
            continue; /* what became of the thread is told by another status */
        *tid = stop.tid;
        *status = stop.status;
        return true;
    }
    engine->next_paused = engine->n_paused = 0;
    return false;
}
