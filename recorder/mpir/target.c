#include "recorder/mpir/target.h"

#include "recorder/process/environment.h"
#include "recorder/process/identity.h"
#include "recorder/process/proc_status.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COMMAND_BYTES = 8192 };

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* ---- the program of a process */

static void read_link(pid_t pid, const char *what, char path[PATH_MAX])
{
    char link[48];
    snprintf(link, sizeof link, "/proc/%d/%s", (int)pid, what);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = '\0';
}

/* PATH as PID sees it, relative ones from where it is, is the file that it runs. */
static bool is_program_of(pid_t pid, const char *path)
{
    char seen[PATH_MAX + 64], link[48];
    struct stat there, running;
    snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
    snprintf(seen, sizeof seen, path[0] == '/' ? "/proc/%d/root%s" : "/proc/%d/cwd/%s", (int)pid, path);
    return stat(link, &running) == 0 && stat(seen, &there) == 0 && running.st_dev == there.st_dev &&
           running.st_ino == there.st_ino;
}

/* NAME, or its last component, is among the first arguments: a script's interpreter has it there. */
static bool is_in_command(pid_t pid, const char *name)
{
    char path[48], text[COMMAND_BYTES + 1];
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, COMMAND_BYTES);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *at = text;
    for (int i = 0; i < 3 && at < text + n; i++, at += strlen(at) + 1)
        if (strcmp(at, name) == 0 || strcmp(base_name(at), base_name(name)) == 0)
            return true;
    return false;
}

static bool runs(pid_t pid, const char *executable)
{
    char path[PATH_MAX];
    if (executable[0] == '\0')
        return false;
    read_link(pid, "exe", path);
    return is_program_of(pid, executable) || strcmp(base_name(path), base_name(executable)) == 0 ||
           is_in_command(pid, executable);
}

/* ---- environment of the target */

static bool is_rank_by_environment(const struct tg_mpir_target *target, bool check_node)
{
    struct tg_environment environment = {0};
    struct tg_identity identity;
    if (!tg_environment_read(target->pid, &environment))
        return false;
    tg_identity_find(&environment, &identity);
    const char *node = tg_environment_get(&environment, "SLURMD_NODENAME");
    bool is_rank = identity.rank >= 0 && (uint64_t)identity.rank == target->rank &&
                   (!check_node || (node != NULL && strcmp(node, target->host) == 0));
    tg_environment_deinit(&environment);
    return is_rank;
}

bool tg_mpir_target_is_here(const struct tg_mpir_target *target)
{
    char own[PATH_MAX], other[PATH_MAX];
    read_link(getpid(), "ns/uts", own);
    read_link(target->pid, "ns/uts", other);
    return own[0] != '\0' && strcmp(own, other) == 0 && is_rank_by_environment(target, true);
}

/* ---- the verdict */

bool tg_mpir_target_is_meant(const struct tg_mpir_target *target, bool trust, char *reason, size_t size)
{
    struct tg_proc_status status, starter;
    if (!tg_proc_status_read(target->pid, &status) || tg_proc_status_is_dead(&status)) {
        snprintf(reason, size, "no such process %d", (int)target->pid);
        return false;
    }
    if (status.tgid != target->pid) {
        snprintf(reason, size, "%d is a thread of process %d", (int)target->pid, (int)status.tgid);
        return false;
    }
    if (trust)
        return true;
    if (!tg_proc_status_read(target->starter, &starter) || status.uid != starter.uid) {
        snprintf(reason, size,
                 "process %d belongs to user %u, not to the job launcher's (use --mpir-trust to acquire it)",
                 (int)target->pid, (unsigned)status.uid);
        return false;
    }
    if (runs(target->pid, target->executable) || is_rank_by_environment(target, false))
        return true;
    snprintf(reason, size,
             "process %d (%s) does not run the table's program (use --mpir-trust to acquire it)",
             (int)target->pid, status.name);
    return false;
}
