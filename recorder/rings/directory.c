#include "recorder/rings/directory.h"

#include "format/trace/meta.h"
#include "format/trace/reader.h"
#include "recorder/rings/spare_memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

enum {
    DEFAULT_RING_BYTES = 1 << 20,
    RINGS_PER_CPU = 16, /* the default leaves room for as many in half of the file system */
    MAX_GROWTH_BYTES = 160 << 20,
    LOCK_TRIES = 20, /* a process that removes a directory holds the lock for an instant */
    LOOK_TRIES =
        2000, /* and others look whether somebody lives there, for as long as they have no processor */
    LOCK_PAUSE_NS = 5000000,
    HALF_MADE_SECONDS = 60, /* a directory without control file and younger than this is being made */
    ELSEWHERE_SECONDS = 7 * 24 * 3600, /* leftovers of another container's recorder are kept so long */
};

struct tg_agent_directory {
    char *path;
    int fd;
    int control_fd; /* holds the lock */
    void *control;  /* only for the kernel's eyes (futex): reading it here could end in SIGBUS */
};

/* ---- places */

static bool is_directory_of_ours(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISDIR(status.st_mode) && (status.st_mode & 07777) == 0700 &&
           status.st_uid == geteuid();
}

static bool is_shared_memory(const char *path)
{
    struct statfs status;
    return statfs(path, &status) == 0 && status.f_type == TMPFS_MAGIC && access(path, W_OK | X_OK) == 0;
}

/* The I-th place where directories may be, NULL behind the last one. */
static const char *place(size_t i)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR"), *temporary = getenv("TMPDIR");
    const char *const places[] = {
        is_shared_memory("/dev/shm") ? "/dev/shm" : "",
        runtime != NULL && access(runtime, W_OK | X_OK) == 0 ? runtime : "",
        temporary != NULL ? temporary : "",
        "/tmp",
    };
    for (size_t n = 0; n < sizeof places / sizeof places[0]; n++)
        if (places[n][0] == '/' && i-- == 0)
            return places[n];
    return NULL;
}

static void make_prefix(char *prefix, size_t size)
{
    snprintf(prefix, size, "tollgate-%ju-", (uintmax_t)geteuid());
}

/* Half of what the file system has left is enough for RINGS_PER_CPU rings on each processor. */
static uint64_t choose_ring_bytes(int directory)
{
    struct statvfs status;
    uint64_t bytes = DEFAULT_RING_BYTES;
    if (fstatvfs(directory, &status) != 0)
        return bytes;
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t rings = (uint64_t)(cpus > 0 ? cpus : 1) * RINGS_PER_CPU;
    uint64_t share = (uint64_t)status.f_bavail * status.f_frsize / 2 / rings;
    while (bytes > share && bytes > TG_AGENT_RING_MIN_BYTES)
        bytes /= 2;
    return bytes;
}

uint64_t tg_agent_directory_growth_bytes(const struct tg_agent_directory *directory)
{
    struct statfs status;
    if (fstatfs(directory->fd, &status) != 0 || status.f_type != TMPFS_MAGIC)
        return 0;
    uint64_t most = tg_spare_memory() / 8, quarter = (uint64_t)status.f_bavail * (uint64_t)status.f_bsize / 4;
    most = most < quarter ? most : quarter;
    return most < MAX_GROWTH_BYTES ? most : MAX_GROWTH_BYTES;
}

/* ---- removal */

/* Takes FD. Everything in it goes, as far as it may; folders are not ours and stay. */
static void empty_directory(int fd)
{
    DIR *listing = fdopendir(fd);
    if (listing == NULL) {
        close(fd);
        return;
    }
    const struct dirent *entry;
    rewinddir(listing);
    while ((entry = readdir(listing)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(dirfd(listing), entry->d_name, 0);
    closedir(listing);
}

/* Reads the file NAME as text of less than SIZE bytes; false where it is not ours or not there. */
static bool read_text(int directory, const char *name, char *text, size_t size)
{
    int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    struct stat status;
    ssize_t got = -1;
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid())
        got = pread(fd, text, size - 1, 0);
    if (fd >= 0)
        close(fd);
    if (got < 0)
        return false;
    text[got] = '\0';
    return true;
}

/* Names the mount namespace and root folder of this process: paths have one meaning for all that share
 * them. */
static void describe_view(char *text, size_t size)
{
    char mounts[64];
    struct stat root = {0};
    ssize_t length = readlink("/proc/self/ns/mnt", mounts, sizeof mounts - 1);
    mounts[length > 0 ? length : 0] = '\0';
    (void)stat("/", &root);
    snprintf(text, size, "%s %ju:%ju", mounts, (uintmax_t)root.st_dev, (uintmax_t)root.st_ino);
}

/* Whether its recorder saw other files than this process does, as in another container with the same shared
 * memory: then nobody here can say whether its trace is there. */
static bool is_of_elsewhere(int directory)
{
    char here[128], there[sizeof here];
    struct stat status;
    describe_view(here, sizeof here);
    return read_text(directory, "view", there, sizeof there) && strcmp(here, there) != 0 &&
           fstat(directory, &status) == 0 && time(NULL) - status.st_mtime < ELSEWHERE_SECONDS;
}

/* Whether the interrupted trace of the directory PATH is still there: `recover` will want the rings. */
static bool is_needed(int directory, const char *path)
{
    char trace[PATH_MAX], incomplete[PATH_MAX + 16];
    struct stat status;
    if (!read_text(directory, "trace", trace, sizeof trace) || trace[0] != '/')
        return false;
    snprintf(incomplete, sizeof incomplete, "%s.incomplete", trace);
    if (lstat(incomplete, &status) != 0 || !S_ISREG(status.st_mode))
        return false;
    struct tg_trace_reader *reader = NULL;
    struct tg_error *error = tg_trace_reader_open(incomplete, &reader);
    const char *said = NULL;
    if (error == NULL)
        said = tg_trace_meta_get(tg_trace_reader_meta(reader), "agent.directory");
    bool needed = said != NULL && strcmp(said, path) == 0;
    tg_error_destroy(error);
    tg_trace_reader_close(reader);
    return needed;
}

/* Whether nobody holds the lock that recorders hold; others who only look do not count. */
static bool is_unowned(int fd)
{
    return flock(fd, LOCK_SH | LOCK_NB) == 0 && flock(fd, LOCK_UN) == 0;
}

/* The control file; -1 with errno. */
static int open_control(int directory)
{
    int fd = openat(directory, "control", O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    struct stat status;
    if (fd < 0 || (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid()))
        return fd;
    close(fd);
    errno = EINVAL;
    return -1;
}

static int give_up(int fd, int problem)
{
    if (fd >= 0) {
        close(fd);
        errno = problem;
    }
    return -1;
}

/* Opens the control file of a recorder that is dead, with a lock that keeps its directory from being taken
 * over or removed, and lets others look too; -1 with errno. */
static int look_at_control(int directory)
{
    int fd = open_control(directory);
    return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) == 0 ? fd : give_up(fd, EWOULDBLOCK);
}

/* Opens and locks the control file, also where others look at it just now; -1 with errno. */
static int lock_control(int directory)
{
    int fd = open_control(directory);
    for (int i = 0, tries = LOCK_TRIES; fd >= 0 && i < tries; i++) {
        if (i > 0)
            nanosleep(&(struct timespec){.tv_nsec = LOCK_PAUSE_NS}, NULL);
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return fd;
        if (is_unowned(fd))
            tries = LOOK_TRIES;
    }
    return give_up(fd, EWOULDBLOCK);
}

static bool is_abandoned_half_made(int directory)
{
    struct stat status;
    return fstat(directory, &status) == 0 && time(NULL) - status.st_mtime > HALF_MADE_SECONDS;
}

static void clean_one(const char *parent, const char *name)
{
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof path, "%s/%s", parent, name) >= sizeof path)
        return;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    int lock = -1;
    bool dead = false;
    if (is_directory_of_ours(fd)) {
        lock = look_at_control(fd);
        dead = lock >= 0 ? !is_of_elsewhere(fd) && !is_needed(fd, path) && flock(lock, LOCK_EX | LOCK_NB) == 0
                         : errno == ENOENT && is_abandoned_half_made(fd);
    }
    if (dead) {
        empty_directory(fd);
        rmdir(path);
    } else {
        close(fd);
    }
    if (lock >= 0)
        close(lock);
}

/* A memory file system counts the directories in a directory, besides the two links that each has: thousands of others' files
 * need not be listed where there is none but OWN. */
static bool has_directories(const char *parent, const struct tg_agent_directory *own)
{
    struct statfs system;
    struct stat status;
    size_t length = strlen(parent);
    bool has_own = own != NULL && strncmp(own->path, parent, length) == 0 && own->path[length] == '/';
    return statfs(parent, &system) != 0 || system.f_type != TMPFS_MAGIC || stat(parent, &status) != 0 ||
           status.st_nlink != 2 + (nlink_t)has_own;
}

static void clean_place(const char *parent, const struct tg_agent_directory *own)
{
    char prefix[64];
    make_prefix(prefix, sizeof prefix);
    DIR *listing = has_directories(parent, own) ? opendir(parent) : NULL;
    if (listing == NULL)
        return;
    const struct dirent *entry;
    while ((entry = readdir(listing)) != NULL)
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0)
            clean_one(parent, entry->d_name);
    closedir(listing);
}

void tg_agent_directory_clean(const struct tg_agent_directory *own)
{
    const char *parent;
    for (size_t i = 0; (parent = place(i)) != NULL; i++)
        clean_place(parent, own);
}

/* ---- life */

static void release(struct tg_agent_directory *directory)
{
    if (directory->control != NULL)
        munmap(directory->control, TG_AGENT_CONTROL_BYTES);
    if (directory->fd >= 0)
        close(directory->fd);
    if (directory->control_fd >= 0)
        close(directory->control_fd); /* the lock goes with it, last of all */
    free(directory->path);
    free(directory);
}

static struct tg_agent_directory *allocate(void)
{
    struct tg_agent_directory *directory = calloc(1, sizeof *directory);
    if (directory != NULL)
        directory->fd = directory->control_fd = -1;
    return directory;
}

static struct tg_error *map_control(struct tg_agent_directory *directory)
{
    void *page =
        mmap(NULL, TG_AGENT_CONTROL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, directory->control_fd, 0);
    if (page == MAP_FAILED)
        return tg_error_create_errno(errno, "cannot map %s/control", directory->path);
    directory->control = page;
    return NULL;
}

static struct tg_error *make_directory(struct tg_agent_directory *directory, const char *parent)
{
    char prefix[64], *path = NULL;
    make_prefix(prefix, sizeof prefix);
    if (asprintf(&path, "%s/%sXXXXXX", parent, prefix) < 0)
        return tg_error_no_memory();
    if (mkdtemp(path) == NULL || chmod(path, 0700) != 0) { /* whatever the umask is */
        int problem = errno;
        free(path);
        return tg_error_create_errno(problem, "cannot create a directory for the agents' rings in %s",
                                     parent);
    }
    directory->path = path;
    directory->fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return directory->fd < 0 ? tg_error_create_errno(errno, "cannot open %s", path) : NULL;
}

static struct tg_error *write_file(const struct tg_agent_directory *directory, const char *name,
                                   const void *bytes, size_t size, int *kept)
{
    int fd = openat(directory->fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    int problem = 0;
    if (fd < 0 || fchmod(fd, 0600) != 0)
        problem = errno;
    else if (pwrite(fd, bytes, size, 0) != (ssize_t)size)
        problem = errno != 0 ? errno : ENOSPC;
    if (problem == 0 && kept != NULL)
        *kept = fd;
    else if (fd >= 0)
        close(fd);
    return problem == 0 ? NULL : tg_error_create_errno(problem, "cannot create %s/%s", directory->path, name);
}

/* The control file appears under its name when it is complete and locked: who finds it without a lock knows
 * that its recorder is dead. */
static struct tg_error *make_control(struct tg_agent_directory *directory,
                                     const struct tg_agent_directory_options *options)
{
    _Alignas(8) unsigned char page[TG_AGENT_GATES_OFFSET] = {0};
    const struct tg_agent_control control = {
        .magic = TG_AGENT_CONTROL_MAGIC,
        .protocol = TG_AGENT_PROTOCOL,
        .flags = options->flags,
        .clock = options->clock,
        .heap = options->heap,
        .ring_bytes = options->ring_bytes != 0 ? options->ring_bytes : choose_ring_bytes(directory->fd),
    };
    memcpy(page, &control, sizeof control);
    struct tg_error *error = write_file(directory, "control.new", page, sizeof page, &directory->control_fd);
    if (error != NULL)
        return error;
    if (!tg_agent_directory_reserve(directory, TG_AGENT_FILTER_OFFSET, TG_AGENT_FILTER_BYTES) ||
        flock(directory->control_fd, LOCK_EX | LOCK_NB) != 0 ||
        renameat(directory->fd, "control.new", directory->fd, "control") != 0)
        return tg_error_create_errno(errno, "cannot create %s/control", directory->path);
    return map_control(directory);
}

/* The absolute path of FILE, which need not be there yet; NULL without memory or folder. */
static char *absolute_path(const char *file)
{
    const char *slash = strrchr(file, '/');
    char *folder = slash == NULL ? realpath(".", NULL) : slash == file ? strdup("/") : NULL;
    if (slash != NULL && slash != file) {
        char *copy = strndup(file, (size_t)(slash - file));
        folder = copy == NULL ? NULL : realpath(copy, NULL);
        free(copy);
    }
    char *path = NULL;
    if (folder != NULL && asprintf(&path, "%s/%s", strcmp(folder, "/") == 0 ? "" : folder,
                                   slash == NULL ? file : slash + 1) < 0)
        path = NULL;
    free(folder);
    return path;
}

static struct tg_error *note_trace(struct tg_agent_directory *directory, const char *trace)
{
    char *path = trace == NULL ? NULL : absolute_path(trace);
    struct tg_error *error = NULL;
    char view[128];
    describe_view(view, sizeof view);
    if (path != NULL)
        error = write_file(directory, "trace", path, strlen(path), NULL);
    if (path != NULL && error == NULL)
        error = write_file(directory, "view", view, strlen(view), NULL);
    free(path);
    return error;
}

static bool is_possible_size(uint64_t bytes)
{
    return bytes >= TG_AGENT_RING_MIN_BYTES && bytes <= TG_AGENT_RING_MAX_BYTES && (bytes & (bytes - 1)) == 0;
}

/* Nothing is left where it cannot be made as a whole. */
static struct tg_error *make_at(const char *parent, const struct tg_agent_directory_options *options,
                                struct tg_agent_directory **directory)
{
    struct tg_agent_directory *made = allocate();
    if (made == NULL)
        return tg_error_no_memory();
    struct tg_error *error = make_directory(made, parent);
    if (error == NULL)
        error = note_trace(made, options->trace);
    if (error == NULL)
        error = make_control(made, options);
    if (error != NULL) {
        tg_agent_directory_destroy(made);
        return error;
    }
    *directory = made;
    return NULL;
}

/* Whether what others left there may be in the way: less than half of it is free. */
static bool is_short(const char *parent)
{
    struct statvfs status;
    return statvfs(parent, &status) != 0 || status.f_bavail < status.f_blocks / 2;
}

/* In the first place that takes it: one that is full does not. */
struct tg_error *tg_agent_directory_create(const struct tg_agent_directory_options *options,
                                           struct tg_agent_directory **directory)
{
    if (options->ring_bytes != 0 && !is_possible_size(options->ring_bytes))
        return tg_error_create(TG_ERROR_USAGE, "invalid ring size %ju: use a power of two from %d to %d",
                               (uintmax_t)options->ring_bytes, TG_AGENT_RING_MIN_BYTES,
                               TG_AGENT_RING_MAX_BYTES);
    const char *parent = place(0);
    if (parent == NULL || is_short(parent))
        tg_agent_directory_clean(NULL);
    struct tg_error *error = parent == NULL ? tg_error_create(TG_ERROR_OS, "no place for the agents' rings")
                                            : make_at(parent, options, directory);
    for (size_t i = 1; error != NULL && (parent = place(i)) != NULL; i++) {
        tg_error_destroy(error);
        error = make_at(parent, options, directory);
    }
    return error;
}

static struct tg_error *check_control(const struct tg_agent_directory *directory)
{
    struct tg_agent_control control = tg_agent_directory_control(directory);
    if (control.magic != TG_AGENT_CONTROL_MAGIC)
        return tg_error_create(TG_ERROR_INPUT, "%s/control: not a control file of tollgate", directory->path);
    if (control.protocol != TG_AGENT_PROTOCOL)
        return tg_error_create(TG_ERROR_UNSUPPORTED,
                               "%s/control: protocol %u instead of %d, by another version of tollgate",
                               directory->path, control.protocol, TG_AGENT_PROTOCOL);
    return NULL;
}

static struct tg_error *take_over(struct tg_agent_directory *directory)
{
    directory->fd = open(directory->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (directory->fd < 0 && errno == ENOENT)
        return tg_error_create(TG_ERROR_NOT_FOUND, "%s: no such directory", directory->path);
    if (directory->fd < 0)
        return tg_error_create_errno(errno, "cannot open %s", directory->path);
    if (!is_directory_of_ours(directory->fd))
        return tg_error_create(TG_ERROR_INPUT, "%s: not a private directory of this user (mode 0700)",
                               directory->path);
    directory->control_fd = lock_control(directory->fd);
    if (directory->control_fd < 0 && errno == EWOULDBLOCK)
        return tg_error_create(TG_ERROR_EXISTS, "%s: its recorder is still running", directory->path);
    if (directory->control_fd < 0)
        return tg_error_create(TG_ERROR_INPUT, "%s: no control file of this user", directory->path);
    struct tg_error *error = check_control(directory);
    return error != NULL ? error : map_control(directory);
}

struct tg_error *tg_agent_directory_open(const char *path, struct tg_agent_directory **directory)
{
    struct tg_agent_directory *made = allocate();
    if (made == NULL || (made->path = strdup(path)) == NULL) {
        free(made);
        return tg_error_no_memory();
    }
    struct tg_error *error = take_over(made);
    if (error != NULL) {
        release(made);
        return error;
    }
    *directory = made;
    return NULL;
}

/* By write, not through the mapping: an agent may have cut the file short. */
static void say_over(const struct tg_agent_directory *directory)
{
    const uint32_t over = 1;
    if (directory->control_fd >= 0 &&
        pwrite(directory->control_fd, &over, sizeof over, offsetof(struct tg_agent_control, over)) < 0)
        return; /* then agents that wait see it by the lock */
}

void tg_agent_directory_close(struct tg_agent_directory *directory)
{
    if (directory == NULL)
        return;
    say_over(directory);
    release(directory);
}

void tg_agent_directory_destroy(struct tg_agent_directory *directory)
{
    if (directory == NULL)
        return;
    say_over(directory);
    if (directory->fd >= 0)
        empty_directory(directory->fd);
    directory->fd = -1;
    if (directory->path != NULL)
        rmdir(directory->path);
    release(directory);
}

const char *tg_agent_directory_path(const struct tg_agent_directory *directory)
{
    return directory->path;
}

int tg_agent_directory_fd(const struct tg_agent_directory *directory)
{
    return directory->fd;
}

struct tg_agent_control tg_agent_directory_control(const struct tg_agent_directory *directory)
{
    struct tg_agent_control control = {0};
    if (pread(directory->control_fd, &control, sizeof control, 0) != (ssize_t)sizeof control)
        control = (struct tg_agent_control){0};
    return control;
}

static char *word_at(const struct tg_agent_directory *directory, size_t offset)
{
    return (char *)directory->control + offset;
}

/* Sleeps until the word at OFFSET is another one than SEEN. */
static void wait_at(const struct tg_agent_directory *directory, size_t offset, uint32_t seen,
                    uint64_t timeout_ns)
{
    static const struct timespec second = {.tv_sec = 1};
    const struct timespec timeout = {.tv_sec = (time_t)(timeout_ns / 1000000000),
                                     .tv_nsec = (long)(timeout_ns % 1000000000)};
    const bool limited = timeout_ns != TG_AGENT_DIRECTORY_NO_LIMIT;
    if (syscall(SYS_futex, word_at(directory, offset), FUTEX_WAIT, seen, limited ? &timeout : NULL, NULL,
                0) != 0 &&
        errno == EFAULT)
        nanosleep(limited ? &timeout : &second, NULL); /* the file was cut short */
}

/* Makes the word at OFFSET, which was WORD, another one, and wakes who sleeps on it. */
static void call_at(const struct tg_agent_directory *directory, size_t offset, uint32_t word)
{
    word++;
    if (pwrite(directory->control_fd, &word, sizeof word, (off_t)offset) == (ssize_t)sizeof word)
        syscall(SYS_futex, word_at(directory, offset), FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

void tg_agent_directory_wait(const struct tg_agent_directory *directory, uint32_t seen, uint64_t timeout_ns)
{
    wait_at(directory, offsetof(struct tg_agent_control, attention), seen, timeout_ns);
}

void tg_agent_directory_call(const struct tg_agent_directory *directory)
{
    call_at(directory, offsetof(struct tg_agent_control, attention),
            tg_agent_directory_control(directory).attention);
}

uint32_t tg_agent_directory_gate_calls(const struct tg_agent_directory *directory)
{
    uint32_t calls;
    return tg_agent_directory_read(directory, offsetof(struct tg_agent_control, gate_calls), &calls,
                                   sizeof calls)
               ? calls
               : 0;
}

void tg_agent_directory_wait_gates(const struct tg_agent_directory *directory, uint32_t seen)
{
    wait_at(directory, offsetof(struct tg_agent_control, gate_calls), seen, TG_AGENT_DIRECTORY_NO_LIMIT);
}

void tg_agent_directory_call_gates(const struct tg_agent_directory *directory)
{
    call_at(directory, offsetof(struct tg_agent_control, gate_calls),
            tg_agent_directory_gate_calls(directory));
}

bool tg_agent_directory_read(const struct tg_agent_directory *directory, uint64_t offset, void *bytes,
                             size_t size)
{
    errno = ENODATA; /* of a file that was cut short */
    return pread(directory->control_fd, bytes, size, (off_t)offset) == (ssize_t)size;
}

bool tg_agent_directory_write(const struct tg_agent_directory *directory, uint64_t offset, const void *bytes,
                              size_t size)
{
    errno = ENOSPC;
    return pwrite(directory->control_fd, bytes, size, (off_t)offset) == (ssize_t)size;
}

bool tg_agent_directory_reserve(const struct tg_agent_directory *directory, uint64_t offset, uint64_t size)
{
    do
        errno = posix_fallocate(directory->control_fd, (off_t)offset, (off_t)size);
    while (errno == EINTR);
    return errno == 0;
}

void tg_agent_directory_wake(const struct tg_agent_directory *directory, uint64_t offset)
{
    syscall(SYS_futex, (char *)directory->control + offset, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}
