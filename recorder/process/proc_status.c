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

/* The text behind "NAME:" where LINE begins with that, else NULL. */
static const char *behind(const char *line, const char *name)
{
    size_t length = strlen(name);
    return strncmp(line, name, length) == 0 && line[length] == ':' ? line + length + 1 : NULL;
}

static int last_number(const char *text, int otherwise)
{
    const char *last = strrchr(text, '\t');
    int number;
    return last != NULL && sscanf(last, "%d", &number) == 1 ? number : otherwise;
}

/* In the order of the file. */
static void take_line(const char *line, struct tg_proc_status *status)
{
    const char *text;
    if ((text = behind(line, "Name")) != NULL)
        sscanf(text, " %63[^\n]", status->name);
    else if ((text = behind(line, "State")) != NULL)
        sscanf(text, " %c", &status->state);
    else if ((text = behind(line, "Tgid")) != NULL)
        status->tgid = atoi(text);
    else if ((text = behind(line, "PPid")) != NULL)
        status->parent = atoi(text);
    else if ((text = behind(line, "TracerPid")) != NULL)
        status->tracer = atoi(text);
    else if ((text = behind(line, "Uid")) != NULL)
        sscanf(text, "%u %*u %*u %u", &status->uid, &status->file_uid);
    else if ((text = behind(line, "NSpid")) != NULL)
        status->own_pid = last_number(text, 0);
    else if (behind(line, "VmSize") != NULL)
        status->has_memory = true;
    else if ((text = behind(line, "Seccomp_filters")) != NULL)
        status->seccomp_filters = atoi(text);
}

bool tg_proc_status_read(pid_t tid, struct tg_proc_status *status)
{
    char path[40], line[512];
    snprintf(path, sizeof path, "/proc/%d/status", (int)tid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    struct tg_proc_status found = {.seccomp_filters = -1};
    while (found.seccomp_filters < 0 && fgets(line, sizeof line, file) != NULL)
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
    const char *found = NULL;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    while (file != NULL && found == NULL && fgets(line, size, file) != NULL)
        found = behind(line, name);
    if (file != NULL)
        fclose(file);
    return found;
}

pid_t tg_proc_status_own_pid(pid_t pid)
{
    char line[512];
    const char *text = find_line(pid, "NSpid", line, sizeof line);
    return text != NULL ? last_number(text, pid) : pid;
}

bool tg_proc_status_is_copy(pid_t pid)
{
    enum { FORKED_WITHOUT_EXEC = 0x40 }; /* the kernel's PF_FORKNOEXEC */
    char path[40], text[1024];
    unsigned flags = 0; /* systems that only imitate Linux have none at all */
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    text[file != NULL ? fread(text, 1, sizeof text - 1, file) : 0] = '\0';
    if (file != NULL)
        fclose(file);
    const char *behind_name = strrchr(text, ')'); /* a name may have any of these, and newlines */
    bool is_known =
        behind_name != NULL && sscanf(behind_name, ") %*c %*d %*d %*d %*d %*d %u", &flags) == 1 && flags != 0;
    return !is_known || (flags & FORKED_WITHOUT_EXEC) != 0;
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

/* Two sets of signals by their formats for a line of /proc/TID/status. */
static bool read_signals(pid_t tid, const char *first_form, uint64_t *first, const char *second_form,
                         uint64_t *second)
{
    char path[40], line[512];
    int found = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)tid);
    FILE *file = fopen(path, "re");
    while (file != NULL && found < 2 && fgets(line, sizeof line, file) != NULL)
        found += sscanf(line, first_form, first) == 1 || sscanf(line, second_form, second) == 1;
    if (file != NULL)
        fclose(file);
    return found == 2;
}

bool tg_proc_status_signals(pid_t tid, uint64_t *ignored, uint64_t *caught)
{
    return read_signals(tid, "SigIgn: %" SCNx64, ignored, "SigCgt: %" SCNx64, caught);
}

bool tg_proc_status_waiting_signals(pid_t tid, uint64_t *blocked, uint64_t *pending)
{
    return read_signals(tid, "SigPnd: %" SCNx64, pending, "SigBlk: %" SCNx64, blocked);
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
