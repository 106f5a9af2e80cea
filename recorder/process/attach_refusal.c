#include "recorder/process/attach_refusal.h"

#include "recorder/process/proc_status.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KTHREADD = 2 }; /* the parent of all kernel threads */

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

/* The text of the file NAME of PID ("self") in /proc, cut off; its size, 0 none. */
static size_t read_file(const char *pid, const char *name, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%s/%s", pid, name);
    FILE *file = fopen(path, "re");
    size_t length = file != NULL ? fread(text, 1, size, file) : 0;
    if (file != NULL)
        fclose(file);
    return length;
}

/* PID is in another user namespace than this process: its ids have another meaning. Which namespace it is in may only be
 * read by who may attach. */
static bool is_in_other_user_namespace(pid_t pid)
{
    char number[16], theirs[256], own[256];
    snprintf(number, sizeof number, "%d", (int)pid);
    size_t size = read_file("self", "uid_map", own, sizeof own); /* 0: a new namespace without a map */
    return read_file(number, "uid_map", theirs, sizeof theirs) != size || memcmp(theirs, own, size) != 0;
}

/* The kernel gives the files below /proc of a process that nobody may look into to root. */
static bool is_undumpable(pid_t pid, const struct tg_proc_status *status)
{
    char path[32];
    struct stat attributes;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    return stat(path, &attributes) == 0 && attributes.st_uid != status->uid;
}

/* A process whose id in its own pid namespace (a container) is PID; 0 none. */
static pid_t find_in_namespaces(pid_t pid)
{
    pid_t found = 0;
    DIR *directory = opendir("/proc");
    for (struct dirent *entry; directory != NULL && found == 0 && (entry = readdir(directory)) != NULL;) {
        pid_t outside = (pid_t)strtol(entry->d_name, NULL, 10);
        if (outside > 0 && outside != pid && tg_proc_status_own_pid(outside) == pid)
            found = outside;
    }
    if (directory != NULL)
        closedir(directory);
    return found;
}

/* ---- reasons, and what to do */

static void name_absence(pid_t pid, char *text, size_t size)
{
    struct tg_proc_status status;
    if (kill(pid, 0) != 0 && errno == EPERM) {
        snprintf(text, size,
                 "it belongs to another user, whose processes /proc hides (hidepid); run tollgate as root");
        return;
    }
    pid_t outside = find_in_namespaces(pid);
    if (outside != 0 && tg_proc_status_read(outside, &status))
        snprintf(text, size, "no such process; process %d (%s) has that id inside its container: give %d",
                 (int)outside, status.name, (int)outside);
    else
        snprintf(text, size, "no such process");
}

/* PID: a thread that traces. */
static void name_tracer(pid_t pid, char *text, size_t size)
{
    struct tg_proc_status tracer = {.tgid = pid};
    if (tg_proc_status_read(pid, &tracer) && tracer.tgid != pid)
        tg_proc_status_read(tracer.tgid, &tracer);
    snprintf(text, size, "already traced by process %d (%s); ask that one, or detach it there first",
             (int)tracer.tgid, tracer.name);
}

static void name_process(pid_t pid, char *text, size_t size)
{
    struct tg_proc_status process = {0};
    tg_proc_status_read(pid, &process);
    snprintf(text, size, "it is a thread of process %d (%s): give %d", (int)pid, process.name, (int)pid);
}

/* What is so of a process that nobody could attach to; false: nothing. */
static bool name_state(pid_t pid, const struct tg_proc_status *status, char *text, size_t size)
{
    struct tg_proc_status parent = {0};
    if (!status->has_memory && (pid == KTHREADD || status->parent == KTHREADD))
        snprintf(
            text, size,
            "it is a kernel thread, which no program can trace; root reads in /proc/%d/stack where it is",
            (int)pid);
    else if (tg_proc_status_is_dead(status) || !status->has_memory) {
        tg_proc_status_read(status->parent, &parent);
        snprintf(text, size,
                 "it has already ended, but its parent, process %d (%s), has not waited for it yet",
                 (int)status->parent, parent.name);
    } else if (status->tracer != 0)
        name_tracer(status->tracer, text, size);
    else if (status->tgid == getpid())
        snprintf(
            text, size,
            "it is tollgate itself: give the id of a launcher (mpirun), of a rank, or of another program");
    else
        return false;
    return true;
}

static const char yama_path[] = "/proc/sys/kernel/yama/ptrace_scope";

static void name_yama_of_all(int scope, char *text, size_t size)
{
    snprintf(text, size,
             "%s is %d: nobody may trace until the machine is booted anew; start the job with "
             "`tollgate record --no-ptrace'",
             yama_path, scope);
}

/* False: Yama allows it. */
static bool name_yama(char *text, size_t size)
{
    int scope = read_yama_scope();
    if (scope >= 3)
        name_yama_of_all(scope, text, size);
    else if (scope == 2 && !tg_proc_status_may_trace(getpid()))
        snprintf(text, size, "%s is 2: only root may trace; run tollgate as root", yama_path);
    else if (scope == 1 && !tg_proc_status_may_trace(getpid()))
        snprintf(text, size,
                 "%s is 1: only root may trace what it did not start; run tollgate as root, or write 0 there "
                 "as root",
                 yama_path);
    else
        return false;
    return true;
}

bool tg_attach_refusal_of_own(char *text, size_t size)
{
    int scope = read_yama_scope();
    if (scope >= 3)
        name_yama_of_all(scope, text, size);
    else if (scope == 2 && !tg_proc_status_may_trace(getpid()))
        snprintf(text, size,
                 "%s is 2: only root may trace, also what it started itself; run tollgate as root, or start "
                 "the job with `tollgate record --no-ptrace'",
                 yama_path);
    else
        return false;
    return true;
}

/* What else can forbid what root, or the process's own user, may do in general. */
static const char *reason_of_eperm(pid_t pid, const struct tg_proc_status *status)
{
    if (is_in_other_user_namespace(pid))
        return "it is in another user namespace (a container); run tollgate in there, or as root outside";
    if (geteuid() != 0 && is_undumpable(pid, status))
        return "its program has more rights than its user, or made itself undumpable; run tollgate as root";
    if (tg_proc_status_seccomp_filters(getpid()) > 0)
        return "ptrace is not permitted here (a container needs CAP_SYS_PTRACE or a seccomp profile that "
               "allows ptrace)";
    if (geteuid() == 0 && !tg_proc_status_may_trace(getpid()))
        return "this root may not trace (a container needs CAP_SYS_PTRACE)";
    return "the kernel does not permit it, perhaps by a security module (AppArmor, SELinux), whose refusals "
           "are in "
           "the system's log";
}

void tg_attach_refusal_reason(pid_t pid, int why, char *text, size_t size)
{
    struct tg_proc_status status;
    if (!tg_proc_status_read(pid, &status))
        name_absence(pid, text, size);
    else if (name_state(pid, &status, text, size))
        return;
    else if (why == ESRCH && status.tgid != pid)
        name_process(status.tgid, text, size);
    else if (why == ESRCH)
        snprintf(text, size, "it was ending, or executing another program; try again");
    else if (geteuid() != 0 && status.uid != geteuid())
        snprintf(text, size, "it belongs to user %u; run tollgate as that user or as root", status.uid);
    else if (why == EPERM && name_yama(text, size))
        return;
    else
        snprintf(text, size, "%s", why == EPERM ? reason_of_eperm(pid, &status) : strerror(why));
}

struct tg_error *tg_attach_refusal(pid_t pid, int why)
{
    char reason[300];
    struct tg_proc_status status;
    bool is_there = tg_proc_status_read(pid, &status);
    tg_attach_refusal_reason(pid, why, reason, sizeof reason);
    return is_there ? tg_error_create(TG_ERROR_TARGET, "cannot attach to process %d (%s): %s", (int)pid,
                                      status.name, reason)
                    : tg_error_create(TG_ERROR_TARGET, "cannot attach to process %d: %s", (int)pid, reason);
}
