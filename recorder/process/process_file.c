#include "recorder/process/process_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The name is the traced program's choice, and opening a device can do things: only a place is taken. */
enum { OPEN_FLAGS = O_PATH | O_CLOEXEC };

/* An absolute PATH inside PID's root, absolute symbolic links included. */
static int open_in_root(pid_t pid, const char *path)
{
    char name[PATH_MAX + 64];
    snprintf(name, sizeof name, "/proc/%d/root", (int)pid);
    int root = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return open(path, OPEN_FLAGS);
    struct open_how how = {.flags = OPEN_FLAGS, .resolve = RESOLVE_IN_ROOT};
    int fd = (int)syscall(SYS_openat2, root, path, &how, sizeof how);
    int error = fd < 0 ? errno : 0;
    close(root);
    if (error == ENOSYS || error == EPERM ||
        error == EAGAIN) { /* old kernel, a filter, a race with a rename */
        int n = snprintf(name, sizeof name, "/proc/%d/root%s", (int)pid, path);
        if (n > 0 && (size_t)n < sizeof name)
            fd = open(name, OPEN_FLAGS);
    }
    return fd;
}

/* "/proc/self/REST" of the process named: REST, or NULL. */
static const char *behind_self(const char *path)
{
    static const char *const selves[] = {"/proc/self/", "/proc/thread-self/"};
    for (size_t i = 0; i < sizeof selves / sizeof *selves; i++)
        if (strncmp(path, selves[i], strlen(selves[i])) == 0)
            return path + strlen(selves[i]);
    return NULL;
}

int tg_process_file_open(pid_t pid, const char *path)
{
    char name[PATH_MAX + 64];
    const char *rest = behind_self(path);
    int n;
    if (path[0] == '\0')
        n = snprintf(name, sizeof name, "/proc/%d/exe", (int)pid);
    else if (rest != NULL)
        n = snprintf(name, sizeof name, "/proc/%d/%s", (int)pid, rest);
    else if (path[0] == '/')
        return open_in_root(pid, path);
    else if (strchr(path, '/') != NULL)
        n = snprintf(name, sizeof name, "/proc/%d/cwd/%s", (int)pid, path);
    else
        return -1;
    return n > 0 && (size_t)n < sizeof name ? open(name, OPEN_FLAGS) : -1;
}

bool tg_process_file_shares_root(pid_t pid)
{
    char name[32];
    const unsigned wanted = STATX_INO | STATX_MNT_ID;
    struct statx here, there;
    snprintf(name, sizeof name, "/proc/%d/root", (int)pid);
    return statx(AT_FDCWD, "/", 0, wanted, &here) == 0 && statx(AT_FDCWD, name, 0, wanted, &there) == 0 &&
           (here.stx_mask & there.stx_mask & wanted) == wanted && here.stx_mnt_id == there.stx_mnt_id &&
           here.stx_ino == there.stx_ino;
}

bool tg_process_file_is_mapped(pid_t pid, int fd, uint64_t start, uint64_t end)
{
    char name[96], mapped[PATH_MAX], opened[PATH_MAX];
    snprintf(name, sizeof name, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid, start, end);
    ssize_t n = readlink(name, mapped, sizeof mapped);
    if (n <= 0 || (size_t)n >= sizeof mapped)
        return false;
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    static const char deleted[] = " (deleted)";
    size_t mark = sizeof deleted - 1;
    if ((size_t)n > mark && memcmp(mapped + n - mark, deleted, mark) == 0)
        return false; /* two deleted files of one name look alike */
    return readlink(name, opened, sizeof opened) == n && memcmp(mapped, opened, (size_t)n) == 0;
}
