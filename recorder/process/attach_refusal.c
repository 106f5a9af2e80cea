#include "recorder/process/attach_refusal.h"

#include "recorder/process/proc_status.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
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
    return tg_error_create(TG_ERROR_TARGET, "cannot attach to process %d (%s): %s", (int)pid, status.name,
                           strerror(why));
}
