#include "recorder/process/proc_status.h"

#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct tg_error *tg_proc_status_check(void)
{
    char own[32];
    ssize_t length = readlink("/proc/self", own, sizeof own - 1);
    own[length > 0 ? length : 0] = '\0';
    if (length <= 0)
        return tg_error_create(TG_ERROR_UNSUPPORTED,
                               "there is no /proc, from which processes are known: mount it");
    if (atoi(own) == getpid())
        return NULL;
    return tg_error_create(
        TG_ERROR_UNSUPPORTED,
        "/proc is that of another pid namespace, where processes have other ids: mount the one of "
        "this namespace (unshare --mount-proc)");
}

static void take_line(const char *line, struct tg_proc_status *status)
{
    int number;
    unsigned uid, file_uid;
    if (sscanf(line, "Name: %63[^\n]", status->name) == 1 || sscanf(line, "State: %c", &status->state) == 1)
        return;
    if (sscanf(line, "Tgid: %d", &number) == 1)
        status->tgid = number;
    else if (sscanf(line, "PPid: %d", &number) == 1)
        status->parent = number;
    else if (sscanf(line, "TracerPid: %d", &number) == 1)
        status->tracer = number;
    else if (sscanf(line, "Uid: %u %*u %*u %u", &uid, &file_uid) == 2) {
        status->uid = uid;
        status->file_uid = file_uid;
    } else if (strncmp(line, "VmSize:", 7) == 0)
        status->has_memory = true;
}

bool tg_proc_status_read(pid_t tid, struct tg_proc_status *status)
{
    char path[40], line[512];
    snprintf(path, sizeof path, "/proc/%d/status", (int)tid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    struct tg_proc_status found = {0};
    while (!found.has_memory && fgets(line, sizeof line, file) != NULL)
        take_line(line, &found);
    fclose(file);
    if (found.tgid == 0) /* the process ended while it was read */
        return false;
    *status = found;
    return true;
}

bool tg_proc_status_is_dead(const struct tg_proc_status *status)
{
    return status->state == 'Z' || status->state == 'X';
}

/* The text behind "NAME:" in the status of PID, in LINE; NULL where there is none. */
static const char *find_line(pid_t pid, const char *name, char *line, int size)
{
    char path[40];
    size_t length = strlen(name);
    const char *found = NULL;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    while (file != NULL && found == NULL && fgets(line, size, file) != NULL) {
        if (strncmp(line, name, length) == 0 && line[length] == ':')
            found = line + length + 1;
    }
    if (file != NULL)
        fclose(file);
    return found;
}

pid_t tg_proc_status_own_pid(pid_t pid)
{
    char line[512];
    const char *text = find_line(pid, "NSpid", line, sizeof line);
    const char *last = text != NULL ? strrchr(text, '\t') : NULL;
    int own;
    return last != NULL && sscanf(last, "%d", &own) == 1 ? own : pid;
}

/* Runs and waits of thread TID; false where the kernel does not say. */
static bool read_schedule(pid_t tid, uint64_t *run_ns, uint64_t *wait_ns)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)tid);
    FILE *file = fopen(path, "re");
    bool known = file != NULL && fscanf(file, "%" SCNu64 " %" SCNu64, run_ns, wait_ns) == 2;
    if (file != NULL)
        fclose(file);
    return known;
}

uint64_t tg_proc_status_run_time(pid_t tid)
{
    uint64_t run_ns, wait_ns;
    return read_schedule(tid, &run_ns, &wait_ns) ? run_ns : 0;
}

uint64_t tg_proc_status_wait_time(pid_t tid)
{
    uint64_t run_ns, wait_ns;
    return read_schedule(tid, &run_ns, &wait_ns) ? wait_ns : 0;
}

bool tg_proc_status_signals(pid_t tid, uint64_t *ignored, uint64_t *caught)
{
    char path[40], line[512];
    int found = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)tid);
    FILE *file = fopen(path, "re");
    while (file != NULL && found < 2 && fgets(line, sizeof line, file) != NULL)
        found +=
            sscanf(line, "SigIgn: %" SCNx64, ignored) == 1 || sscanf(line, "SigCgt: %" SCNx64, caught) == 1;
    if (file != NULL)
        fclose(file);
    return found == 2;
}

int tg_proc_status_seccomp_filters(pid_t pid)
{
    char line[512];
    const char *text = find_line(pid, "Seccomp_filters", line, sizeof line);
    int count;
    return text != NULL && sscanf(text, "%d", &count) == 1 ? count : -1;
}

bool tg_proc_status_may_trace(pid_t pid)
{
    char line[512];
    uint64_t capabilities;
    const char *text = find_line(pid, "CapEff", line, sizeof line);
    return text != NULL && sscanf(text, "%" SCNx64, &capabilities) == 1 &&
           (capabilities >> CAP_SYS_PTRACE & 1) != 0;
}
