#include "recorder/engine/address_space.h"
#include "recorder/engine/attach_guard.h"
#include "recorder/engine/detach.h"
#include "recorder/engine/forking.h"
#include "recorder/engine/parked.h"
#include "recorder/engine/process_table.h"
#include "recorder/engine/removal.h"
#include "recorder/engine/wake.h"
#include "recorder/process/attach_refusal.h"
#include "recorder/process/guard_process.h"
#include "recorder/process/proc_status.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- seizing */

enum {
    MAX_ATTEMPTS = 200,
    GUARD_WAIT_NS = 5000000, /* for the guard of a recorder that was killed to let its processes go */
    MAX_GUARD_WAITS = 600,
};

struct scan {
    bool added;   /* a thread was seized */
    bool retry;   /* one could not be for now: it is about to end, or in an exec */
    int attempts; /* scans that ended so */
    bool guarded; /* one of them is in the hands of a guard (attach_guard.h), which lets it go soon */
    int guard_waits;
};

/* A thread that executes a program holds a lock that PTRACE_SEIZE needs, until every other thread of its
 * process has ended and, where it is traced, was waited for: by the very thread that is in PTRACE_SEIZE. So
 * the engine's timer ticks meanwhile, and its signal handler waits for them. */
static long seize(struct tg_engine *engine, pid_t tid, bool kill_on_exit)
{
    engine->seizing = true;
    tg_wake_set_ticking(engine, true);
    long result =
        ptrace(PTRACE_SEIZE, tid, NULL, (long)(TG_TRACE_OPTIONS | (kill_on_exit ? PTRACE_O_EXITKILL : 0)));
    int why = errno;
    tg_wake_set_ticking(engine, false);
    if (engine->looking_again || atomic_load(&engine->stop_requested)) /* others need it, too */
        tg_wake_set_ticking(engine, true);
    engine->seizing = false;
    errno = why;
    return result;
}

static bool is_guard(pid_t pid)
{
    struct tg_proc_status status;
    return tg_proc_status_read(pid, &status) && strcmp(status.name, TG_GUARD_NAME) == 0;
}

/* Why TID could not be seized: NULL where that is no matter. */
static struct tg_error *judge_failure(struct tg_process *process, pid_t tid, int why, struct scan *scan)
{
    struct tg_proc_status status;
    if (!tg_proc_status_read(tid, &status) || tg_proc_status_is_dead(&status))
        return NULL;
    if (status.tracer == gettid())
        return NULL; /* cloned by a thread that is ours: its first stop will come */
    if (status.tracer != 0 && scan->guard_waits < MAX_GUARD_WAITS && is_guard(status.tracer)) {
        scan->guarded = true;
        return NULL;
    }
    if (status.tracer != 0 || why != EPERM || (process->threads == NULL && scan->attempts > 2) ||
        scan->attempts >= MAX_ATTEMPTS)
        return tg_attach_refusal(tid, why);
    scan->retry = true;
    return NULL;
}

static bool is_ours(pid_t tid)
{
    struct tg_proc_status status;
    return tg_proc_status_read(tid, &status) && status.tracer == gettid();
}

static struct tg_error *seize_thread(struct tg_process *process, pid_t tid, struct scan *scan)
{
    struct tg_engine *engine = process->engine;
    bool known = tg_tracee_find(engine, tid) != NULL;
    bool ours = is_ours(tid);
    if (ours && (known || tid != process->pid))
        return NULL; /* not known: cloned by a thread that is ours, its first stop will come */
    bool kill_on_exit = engine->kill_on_exit && !process->attached;
    if (!ours && seize(engine, tid, kill_on_exit) != 0)
        return judge_failure(process, tid, errno, scan);
    /* A thread in an exec becomes the leader while PTRACE_SEIZE waits for it: then that is what was
     * seized. */
    if (!ours && !is_ours(tid)) {
        scan->retry = true;
        return NULL;
    }
    struct tg_tracee *tracee = known ? tg_tracee_find(engine, tid) : tg_tracee_add(process, tid);
    if (tracee == NULL)
        return tg_error_no_memory();
    tracee->fork_unknown = true;
    scan->added = true;
    return NULL;
}

/* Forgets threads that an exec ended, or renamed to the leader. */
static void prune(struct tg_process *process)
{
    struct tg_thread *thread, *next;
    struct tg_proc_status status;
    HASH_ITER (hh, process->threads, thread, next)
        if (!tg_proc_status_read(thread->tid, &status))
            tg_tracee_remove(tg_tracee_of(thread));
}

static struct tg_error *scan_threads(struct tg_process *process, struct scan *scan)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/%d/task", (int)process->pid);
    DIR *folder = opendir(path);
    if (folder == NULL)
        return tg_attach_refusal(process->pid, errno == ENOENT ? ESRCH : errno);
    struct tg_error *error = NULL;
    struct dirent *entry;
    while (error == NULL && (entry = readdir(folder)) != NULL) {
        int tid = atoi(entry->d_name);
        if (tid > 0)
            error = seize_thread(process, tid, scan);
    }
    closedir(folder);
    return error;
}

/* Threads that are ours bring theirs with them (PTRACE_O_TRACECLONE); one that is not yet, or was not when it
 * began to, may create others while the folder is read. So it is read until it shows nothing new twice. */
static struct tg_error *seize_all(struct tg_process *process)
{
    struct scan scan = {0};
    for (int unchanged = 0; unchanged < 2; unchanged++) {
        scan.added = scan.retry = scan.guarded = false;
        struct tg_error *error = scan_threads(process, &scan);
        if (error != NULL)
            return error;
        if (scan.retry) {
            scan.attempts++;
            sched_yield();
        }
        if (scan.guarded) {
            scan.guard_waits++;
            nanosleep(&(struct timespec){.tv_nsec = GUARD_WAIT_NS}, NULL);
        }
        tg_forking_await(process);
        if (scan.added || scan.retry || scan.guarded)
            unchanged = -1;
    }
    prune(process);
    return process->threads == NULL ? tg_attach_refusal(process->pid, EPERM) : NULL;
}

static struct tg_error *check_pid(struct tg_engine *engine, pid_t pid)
{
    struct tg_proc_status status;
    if (pid <= 0 || !tg_proc_status_read(pid, &status) || status.tgid != pid)
        return tg_attach_refusal(pid, ESRCH);
    struct tg_process *known = tg_process_find(engine, pid);
    if (known == NULL)
        return NULL;
    if (tg_traced(known)->detaching)
        return tg_error_create(TG_ERROR_TARGET, "process %d is still being detached; try again", (int)pid);
    return tg_error_create(TG_ERROR_TARGET, "process %d is already being recorded", (int)pid);
}

/* One stopped thread is enough to begin with: those that wait are not disturbed. */
static void interrupt_one(struct tg_process *process)
{
    struct tg_thread *chosen = NULL;
    for (struct tg_thread *thread = process->threads; thread != NULL; thread = thread->hh.next) {
        struct tg_proc_status status;
        if (tg_parked_has(process->engine, thread->tid))
            return;
        if (tg_proc_status_read(thread->tid, &status) && !tg_proc_status_is_dead(&status) &&
            (chosen == NULL || thread->tid == process->pid))
            chosen = thread;
    }
    if (chosen != NULL)
        ptrace(PTRACE_INTERRUPT, chosen->tid, NULL, NULL);
}

static void create_guard(struct tg_engine *engine)
{
    TG_AUTO_ERROR struct tg_error *error = tg_attach_guard_create(&engine->guard);
    char text[200];
    if (error == NULL)
        return;
    snprintf(text, sizeof text, "breakpoints would stay in attached processes if the recorder was killed: %s",
             tg_error_message(error));
    tg_engine_emit(engine, NULL, &(struct tg_event){.kind = TG_EVENT_NOTE, .note = {.text = text}});
}

static struct tg_error *attach(struct tg_engine *engine, pid_t pid, bool attached)
{
    struct tg_error *error = check_pid(engine, pid);
    if (error != NULL)
        return error;
    struct tg_address_space *space = tg_address_space_create();
    if (space == NULL)
        return tg_error_no_memory();
    if (attached && engine->guard == NULL)
        create_guard(engine);
    struct tg_process *process = tg_process_add(engine, pid, TG_ORIGIN_ATTACHED, space);
    if (process == NULL) {
        tg_address_space_unref(space);
        return tg_error_no_memory();
    }
    process->attached = attached;
    error = seize_all(process);
    if (error != NULL && process->threads == NULL) {
        tg_process_remove(process);
        return error;
    }
    if (error != NULL) { /* partly ours: let it go again, whole */
        tg_detach_begin(process, "attaching failed");
        return error;
    }
    interrupt_one(process);
    return NULL;
}

struct tg_error *tg_engine_attach(struct tg_engine *engine, pid_t pid)
{
    return attach(engine, pid, true);
}

struct tg_error *tg_engine_acquire(struct tg_engine *engine, pid_t pid)
{
    return attach(engine, pid, false);
}
