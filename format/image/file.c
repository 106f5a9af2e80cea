#include "format/image/file.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The name is the traced program's choice, and opening a device can do things: only a place is taken at
 * first. */
enum { OPEN_FLAGS = O_PATH | O_CLOEXEC };

int tg_image_file_descriptors(void)
{
    return open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int tg_image_file_reopen(int descriptors, int place, struct stat *status)
{
    if (fstat(place, status) != 0 || !S_ISREG(status->st_mode))
        return -1;
    char name[64];
    snprintf(name, sizeof name, descriptors < 0 ? "/proc/self/fd/%d" : "%d", place);
    return openat(descriptors < 0 ? AT_FDCWD : descriptors, name, O_RDONLY | O_CLOEXEC);
}

int tg_image_file_read(int place)
{
    struct stat status;
    int fd = tg_image_file_reopen(-1, place, &status);
    close(place);
    return fd;
}

int tg_image_file_open_here(const char *path)
{
    if (path[0] != '/' || strncmp(path, "/proc/", 6) == 0)
        return -1;
    return open(path, OPEN_FLAGS);
}

/* The name may come to mean something else between the two steps. Not a device: nobody makes one, or moves
 * one to where libraries are, who could not open it himself, and those elsewhere are not reached without
 * links. */
int tg_image_file_read_here(const char *path, uint64_t *size_bytes)
{
    struct stat status;
    if (path[0] != '/' || strncmp(path, "/proc/", 6) == 0 ||
        fstatat(AT_FDCWD, path, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode))
        return -1;
    struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
                           .resolve = RESOLVE_NO_SYMLINKS};
    *size_bytes = status.st_size < 0 ? 0 : (uint64_t)status.st_size;
    return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
}
