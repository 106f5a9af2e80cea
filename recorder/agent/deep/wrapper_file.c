#include "recorder/agent/deep/wrapper_file.h"

#include "recorder/agent/wrapper_name.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_TRIES = 100 };

/* A file beyond the limit is not just refused: SIGXFSZ. */
static bool is_allowed(size_t size)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
           (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= size);
}

static int fill(int fd, const unsigned char *bytes, size_t size)
{
    if (fchmod(fd, 0600) != 0) /* whatever the umask is */
        return errno;
    while (size > 0) {
        ssize_t written = write(fd, bytes, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return written < 0 ? errno : ENOSPC;
        bytes += written;
        size -= (size_t)written;
    }
    return 0;
}

/* The loader takes for the same what has the same name, also when the descriptor is another file's by then: each has
 * its own way of writing the same path. */
static bool name_by_descriptor(struct tg_deep_file *file)
{
    static unsigned next; /* __atomic */
    unsigned number = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED);
    int length = snprintf(file->path, sizeof file->path, "/proc/%d/fd", (int)getpid());
    for (int i = 0; i < TG_WRAPPER_NAME_BITS; i++)
        length += snprintf(file->path + length, sizeof file->path - (size_t)length, "%s",
                           (number >> i & 1) != 0 ? "/." : "/");
    snprintf(file->path + length, sizeof file->path - (size_t)length, "/%d", file->fd);
    return access(file->path, R_OK) == 0;
}

static bool name_at_random(const char *directory, struct tg_deep_file *file)
{
    uint64_t random[2];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return false;
    int length = snprintf(file->path, sizeof file->path, "%s/" TG_WRAPPER_NAME "%016llx%016llx.so", directory,
                          (unsigned long long)random[0], (unsigned long long)random[1]);
    return length > 0 && (size_t)length < sizeof file->path;
}

static int create_named(const char *directory, struct tg_deep_file *file)
{
    for (int i = 0; i < MAX_TRIES; i++) {
        if (!name_at_random(directory, file))
            return EIO;
        file->fd = open(file->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        file->has_name = file->fd >= 0;
        if (file->fd >= 0 || errno != EEXIST)
            return file->fd >= 0 ? 0 : errno;
    }
    return EEXIST;
}

/* Out of the way of the numbers that constructors of the library get. */
static void move(struct tg_deep_file *file)
{
    enum { FIRST = 512 };
    int moved = file->fd < 0 ? -1 : fcntl(file->fd, F_DUPFD_CLOEXEC, FIRST);
    if (moved >= 0) {
        close(file->fd);
        file->fd = moved;
    }
}

int tg_deep_file_create(const char *directory, bool is_kept, const unsigned char *bytes, size_t size,
                        struct tg_deep_file *file)
{
    *file = (struct tg_deep_file){.fd = -1, .is_kept = is_kept};
    int problem = is_allowed(size) ? 0 : EFBIG;
    if (problem == 0 && !is_kept)
        file->fd = open(directory, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
    move(file);
    if (file->fd >= 0 && !name_by_descriptor(file)) { /* no /proc */
        close(file->fd);
        file->fd = -1;
    }
    if (problem == 0 && file->fd < 0)
        problem = create_named(directory, file);
    if (problem == 0)
        problem = fill(file->fd, bytes, size);
    if (problem != 0) {
        file->is_kept = false;
        tg_deep_file_release(file);
    }
    return problem;
}

void tg_deep_file_release(struct tg_deep_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    if (file->has_name && !file->is_kept)
        unlink(file->path);
    file->fd = -1;
    file->has_name = false;
}
