#include "recorder/process/attach_refusal.h"

#include "recorder/process/proc_status.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* PID is in another user namespace than this process. */
static bool is_in_other_user_namespace(pid_t pid)
{
    char path[32], theirs[64], own[64];
    snprintf(path, sizeof path, "/proc/%d/ns/user", (int)pid);
    ssize_t theirs_size = readlink(path, theirs, sizeof theirs);
    ssize_t own_size = readlink("/proc/self/ns/user", own, sizeof own);
    return theirs_size > 0 && own_size > 0 &&
           (theirs_size != own_size || memcmp(theirs, own, (size_t)own_size) != 0);
}

/* The kernel gives the files below /proc of a process that nobody may look into to root. */
static bool is_undumpable(pid_t pid, const struct tg_proc_status *status)
{
    char path[32];
    struct stat attributes;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    return stat(path, &attributes) == 0 && attributes.st_uid != status->uid;
}

/* What else can forbid what root, or the process's own user, may do in general; NULL: not known. */
static const char *reason_of_eperm(pid_t pid, const struct tg_proc_status *status)
{
    if (is_in_other_user_namespace(pid))
        return "it is in another user namespace (a container); run tollgate in there, or as root outside";
    if (geteuid() != 0 && is_undumpable(pid, status))
        return "its program has more rights than its user, or made itself undumpable; run tollgate as root";
    if (tg_proc_status_seccomp_filters(getpid()) > 0)
        return "ptrace is not permitted here (a container needs CAP_SYS_PTRACE or a seccomp profile that "
               "allows ptrace)";
    if (geteuid() == 0)
        return "this root may not trace (a container needs CAP_SYS_PTRACE)";
    return NULL;
}

struct tg_error *tg_attach_refusal(pid_t pid, int why)
{
    struct tg_proc_status status;
    if (why == ESRCH || !tg_proc_status_read(pid, &status))
        return tg_error_create(TG_ERROR_TARGET, "cannot attach to process %d: no such process", (int)pid);
    if (tg_proc_status_is_dead(&status))
        return tg_error_create(TG_ERROR_TARGET, "cannot attach to process %d (%s): it has already ended",
                               (int)pid, status.name);
    if (status.tracer != 0) {
        struct tg_proc_status tracer = {0};
        tg_proc_status_read(status.tracer, &tracer);
        return tg_error_create(TG_ERROR_TARGET,
                               "cannot attach to process %d (%s): already traced by process %d (%s)",
                               (int)pid, status.name, status.tracer, tracer.name);
    }
    if (!status.has_memory)
        return tg_error_create(TG_ERROR_TARGET, "cannot attach to process %d (%s): it is a kernel thread",
                               (int)pid, status.name);
    if (status.tgid == getpid())
        return tg_error_create(TG_ERROR_TARGET, "cannot attach to process %d: it is tollgate itself",
                               (int)pid);
    if (geteuid() != 0 && status.uid != geteuid())
        return tg_error_create(
            TG_ERROR_TARGET,
            "cannot attach to process %d (%s): it belongs to user %u; run tollgate as that "
            "user or as root",
            (int)pid, status.name, status.uid);
    int scope = read_yama_scope();
    if (why == EPERM && scope > 0)
        return tg_error_create(
            TG_ERROR_TARGET,
            "cannot attach to process %d (%s): /proc/sys/kernel/yama/ptrace_scope is %d, "
            "which allows attaching only for %s; launch the program with tollgate instead, or "
            "ask the administrator",
            (int)pid, status.name, scope,
            scope == 1   ? "parent processes and root"
            : scope == 2 ? "root"
                         : "nobody");
    const char *reason = why == EPERM ? reason_of_eperm(pid, &status) : NULL;
    return tg_error_create(TG_ERROR_TARGET, "cannot attach to process %d (%s): %s", (int)pid, status.name,
                           reason != NULL ? reason : strerror(why));
}
