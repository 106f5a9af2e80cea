#include "recorder/engine_internal.h"
#include "recorder/proc_status.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- why it cannot be */

static int read_yama_scope(void)
{
    int scope = 0;
    FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
    if (file != NULL) {
        if (fscanf(file, "%d", &scope) != 1)
            scope = 0;
        fclose(file);
    }
    return scope;
}

/* Why PTRACE_SEIZE of PID failed with WHY, in words that say what to do. */
static struct tg_error *explain(pid_t pid, int why)
{
    struct tg_proc_status status;
    if (why == ESRCH || !tg_proc_status_read(pid, &status))
        return tg_error_create(TG_ERROR_TARGET, "cannot attach to process %d: there is no such process",
                               (int)pid);
    if (tg_proc_status_is_dead(&status))
        return tg_error_create(TG_ERROR_TARGET, "cannot attach to process %d (%s): it has ended already",
                               (int)pid, status.name);
    if (status.tracer != 0) {
        struct tg_proc_status tracer = {0};
        tg_proc_status_read(status.tracer, &tracer);
        return tg_error_create(TG_ERROR_TARGET,
                               "cannot attach to process %d (%s): process %d (%s) is tracing it already",
                               (int)pid, status.name, status.tracer, tracer.name);
    }
    if (!status.has_memory)
        return tg_error_create(TG_ERROR_TARGET, "cannot attach to process %d (%s): it is a kernel thread",
                               (int)pid, status.name);
    if (status.tgid == getpid())
        return tg_error_create(TG_ERROR_TARGET, "cannot attach to process %d: that is tollgate itself",
                               (int)pid);
    if (geteuid() != 0 && status.uid != geteuid())
        return tg_error_create(
            TG_ERROR_TARGET,
            "cannot attach to process %d (%s): it belongs to user %u; run tollgate as that "
            "user or as root",
            (int)pid, status.name, status.uid);
    int scope = read_yama_scope();
    if (why == EPERM && scope > 0)
        return tg_error_create(TG_ERROR_TARGET,
                               "cannot attach to process %d (%s): /proc/sys/kernel/yama/ptrace_scope is %d, "
                               "which permits it to %s; launch the program with tollgate instead, or ask the "
                               "administrator",
                               (int)pid, status.name, scope,
                               scope == 1   ? "parents and root only"
                               : scope == 2 ? "root only"
                                            : "nobody");
    return tg_error_create(TG_ERROR_TARGET, "cannot attach to process %d (%s): %s", (int)pid, status.name,
                           strerror(why));
}

/* ---- seizing */

/* Seizes TID unless it is ours already; sets ADDED. A thread that ends meanwhile is no error. */
static struct tg_error *seize_thread(struct tg_process *process, pid_t tid, bool *added)
{
    if (tg_tracee_find(process->engine, tid) != NULL)
        return NULL;
    if (ptrace(PTRACE_SEIZE, tid, NULL, (long)TG_TRACE_OPTIONS) != 0) {
        int why = errno;
        struct tg_proc_status status;
        if (tid == process->pid)
            return explain(tid, why);
        if (!tg_proc_status_read(tid, &status) || tg_proc_status_is_dead(&status) ||
            status.tracer == getpid()) /* cloned by a thread that is ours: its first stop will come */
            return NULL;
        return explain(tid, why);
    }
    struct tg_tracee *tracee = tg_tracee_add(process, tid);
    if (tracee == NULL) {
        ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
        return tg_error_no_memory();
    }
    *added = true;
    return NULL;
}

static struct tg_error *scan_threads(struct tg_process *process, bool *added)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/%d/task", (int)process->pid);
    DIR *folder = opendir(path);
    if (folder == NULL)
        return explain(process->pid, errno == ENOENT ? ESRCH : errno);
    struct tg_error *error = NULL;
    struct dirent *entry;
    while (error == NULL && (entry = readdir(folder)) != NULL) {
        int tid = atoi(entry->d_name);
        if (tid > 0)
            error = seize_thread(process, tid, added);
    }
    closedir(folder);
    return error;
}

/*
 * Threads that are ours bring theirs with them (PTRACE_O_TRACECLONE); one that is not yet may create others
 * while the folder is read. So it is read until it shows nothing new twice.
 */
static struct tg_error *seize_all(struct tg_process *process)
{
    for (int unchanged = 0; unchanged < 2; unchanged++) {
        bool added = false;
        struct tg_error *error = scan_threads(process, &added);
        if (error != NULL)
            return error;
        if (added)
            unchanged = -1;
    }
    return NULL;
}

static struct tg_error *check_pid(struct tg_engine *engine, pid_t pid)
{
    struct tg_proc_status status;
    if (pid <= 0 || !tg_proc_status_read(pid, &status))
        return explain(pid, ESRCH);
    if (status.tgid != pid)
        return tg_error_create(TG_ERROR_TARGET,
                               "cannot attach to %d: it is a thread of process %d; give the process",
                               (int)pid, status.tgid);
    if (tg_process_find(engine, pid) != NULL)
        return tg_error_create(TG_ERROR_TARGET, "process %d is being recorded already", (int)pid);
    return NULL;
}

/* One stopped thread is enough to begin with: the others are not disturbed. */
static void interrupt_one(struct tg_process *process)
{
    struct tg_thread *chosen = NULL;
    for (struct tg_thread *thread = process->threads; thread != NULL; thread = thread->hh.next) {
        struct tg_proc_status status;
        if (tg_proc_status_read(thread->tid, &status) && !tg_proc_status_is_dead(&status) &&
            (chosen == NULL || thread->tid == process->pid))
            chosen = thread;
    }
    if (chosen != NULL)
        ptrace(PTRACE_INTERRUPT, chosen->tid, NULL, NULL);
}

struct tg_error *tg_engine_attach(struct tg_engine *engine, pid_t pid)
{
    struct tg_error *error = check_pid(engine, pid);
    if (error != NULL)
        return error;
    struct tg_address_space *space = tg_address_space_create();
    if (space == NULL)
        return tg_error_no_memory();
    struct tg_process *process = tg_process_add(engine, pid, TG_ORIGIN_ATTACHED, space);
    if (process == NULL) {
        tg_address_space_unref(space);
        return tg_error_no_memory();
    }
    process->attached = true;
    error = seize_all(process);
    if (error != NULL && process->threads == NULL) {
        tg_process_remove(process);
        return error;
    }
    if (error != NULL) { /* partly ours: let it go again, whole */
        tg_detach_begin(process, "it could not be attached");
        return error;
    }
    interrupt_one(process);
    return NULL;
}
