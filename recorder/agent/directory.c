#include "recorder/agent/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_TRIES = 1000 }; /* names of rings that exist already: pids come round */

/* Path of the directory; set once, before there is a second thread that could ask. A path and no descriptor:
 * descriptors of the agent would be seen by the program, and closed by it. */
static char directory_path[PATH_MAX];
static ino_t pid_namespace; /* of that time; 0: not known */
static uint32_t next_ring;  /* __atomic */

static ino_t current_pid_namespace(void)
{
    struct stat status;
    return stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

/* Whether this process was forked into another pid namespace: its ids are not those by which the recorder knows it. */
static bool has_other_ids(void)
{
    ino_t here = pid_namespace == 0 ? 0 : current_pid_namespace();
    return here != 0 && here != pid_namespace;
}

static bool is_ours(const struct stat *status, mode_t type, mode_t mode)
{
    return (status->st_mode & S_IFMT) == type && (status->st_mode & 07777) == mode &&
           status->st_uid == geteuid();
}

static int open_directory(void)
{
    int fd = open(directory_path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat status;
    if (fd >= 0 && (fstat(fd, &status) != 0 || !is_ours(&status, S_IFDIR, 0700))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* Returns the control file's descriptor, -1 where there is none of ours. */
static int open_control(int flags)
{
    int directory = open_directory();
    if (directory < 0)
        return -1;
    int fd = openat(directory, "control", flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    close(directory);
    struct stat status;
    if (fd >= 0 && (fstat(fd, &status) != 0 || !is_ours(&status, S_IFREG, 0600) ||
                    status.st_size < TG_AGENT_CONTROL_BYTES)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static bool is_understood(const struct tg_agent_control *control)
{
    uint64_t bytes = control->ring_bytes;
    return control->magic == TG_AGENT_CONTROL_MAGIC && control->protocol == TG_AGENT_PROTOCOL &&
           bytes >= TG_AGENT_RING_MIN_BYTES && bytes <= TG_AGENT_RING_MAX_BYTES && (bytes & (bytes - 1)) == 0;
}

struct tg_agent_control *tg_agent_directory_open(const char *path)
{
    int saved = errno;
    struct tg_agent_control *control = NULL;
    if (path[0] == '/' && strlen(path) < sizeof directory_path) {
        strcpy(directory_path, path);
        pid_namespace = current_pid_namespace();
        int fd = open_control(O_RDWR);
        void *page = fd < 0 ? MAP_FAILED
                            : mmap(NULL, TG_AGENT_CONTROL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (fd >= 0)
            close(fd);
        if (page != MAP_FAILED)
            control = page;
    }
    if (control != NULL && !is_understood(control)) {
        munmap(control, TG_AGENT_CONTROL_BYTES);
        control = NULL;
    }
    errno = saved;
    return control;
}

/* A file beyond the limit is not just refused: SIGXFSZ kills whoever makes it. */
static bool is_allowed(uint64_t size)
{
    struct rlimit limit;
    bool allowed =
        getrlimit(RLIMIT_FSIZE, &limit) == 0 && (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= size);
    errno = EFBIG;
    return allowed;
}

static bool allocate(int fd, int mode, uint64_t size)
{
    int result;
    do
        result = fallocate(fd, mode, 0, (off_t)size);
    while (result != 0 && errno == EINTR);
    return result == 0;
}

/* Maps FD, whose first MIN_BYTES of data are memory. Room that is only promised would kill the program with SIGBUS where the file
 * system is full: the other data are made memory when they are used (ring.c), as most rings are never so full. A kernel before 5.14
 * cannot be asked for that (MADV_POPULATE_WRITE): there all of them are. *REAL_BYTES are. */
static void *map_file(int fd, uint64_t data_bytes, uint64_t *real_bytes)
{
    enum { PAGE_BYTES = 4096, POPULATE_WRITE = 23 };
    size_t size = TG_AGENT_RING_DATA_OFFSET + data_bytes;
    void *mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mapped == MAP_FAILED)
        return NULL;
    *real_bytes = TG_AGENT_RING_MIN_BYTES;
    if (madvise(mapped, PAGE_BYTES, POPULATE_WRITE) == 0)
        return mapped;
    *real_bytes = data_bytes;
    if (allocate(fd, 0, size))
        return mapped;
    munmap(mapped, size);
    return NULL;
}

/* The file gets its size when its header is memory: the recorder looks at files that have one. */
static struct tg_agent_ring_header *map_ring(int directory, const char *name, uint64_t data_bytes,
                                             uint64_t *real_bytes)
{
    uint64_t size = TG_AGENT_RING_DATA_OFFSET + data_bytes;
    int fd = is_allowed(size)
                 ? openat(directory, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)
                 : -1;
    if (fd < 0)
        return NULL;
    void *mapped = NULL;
    /* the program's umask must not decide */
    if (fchmod(fd, 0600) == 0 &&
        allocate(fd, FALLOC_FL_KEEP_SIZE, TG_AGENT_RING_DATA_OFFSET + TG_AGENT_RING_MIN_BYTES) &&
        ftruncate(fd, (off_t)size) == 0)
        mapped = map_file(fd, data_bytes, real_bytes);
    if (mapped == NULL) {
        unlinkat(directory, name, 0);
        errno = ENOMEM;
    }
    close(fd);
    return mapped;
}

struct tg_agent_ring_header *tg_agent_directory_make_ring(int pid, uint64_t data_bytes, uint64_t *real_bytes)
{
    int saved = errno;
    int directory = has_other_ids() ? -1 : open_directory();
    struct tg_agent_ring_header *header = NULL;
    for (int i = 0; directory >= 0 && header == NULL && i < MAX_TRIES; i++) {
        char name[64];
        uint32_t number = __atomic_fetch_add(&next_ring, 1, __ATOMIC_RELAXED);
        snprintf(name, sizeof name, "ring.%d.%u", pid, number);
        header = map_ring(directory, name, data_bytes, real_bytes);
        if (header == NULL && errno != EEXIST)
            break;
    }
    if (directory >= 0)
        close(directory);
    errno = saved;
    return header;
}

bool tg_agent_directory_is_abandoned(void)
{
    int saved = errno;
    bool abandoned = false;
    int fd = open_control(O_RDONLY);
    if (fd >= 0) {
        abandoned = flock(fd, LOCK_SH | LOCK_NB) == 0;
        close(fd);
    }
    errno = saved;
    return abandoned;
}
