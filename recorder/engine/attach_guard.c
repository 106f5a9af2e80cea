#include "recorder/engine/attach_guard.h"

#include "recorder/process/guard_process.h"
#include "recorder/process/mappings.h"
#include "recorder/process/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    INT3 = 0xcc,
    PAGE_BYTES = 4096,
    MAX_PROCESSES = 1 << 16,
    CONTROL = 7,   /* number of the debug register that says what is watched */
    TRIES = 20000, /* of 50 us */
    SPINS = 8,     /* tries of SEIZE in each of them: the next write may be soon */
    PAGES_AT_ONCE = 512,
    MAX_OTHERS = 512, /* bytes of a page that differ and are no int3: displaced instructions; else it is
                         another file */
};

/* Bits of /proc/PID/pagemap for a page (Documentation/admin-guide/mm/pagemap.rst): it is there, and no
 * longer the file's. */
static const uint64_t is_there = UINT64_C(3) << 62, of_file = UINT64_C(1) << 61;

/* Memory of the tracer and the guard. */
struct shared {
    int32_t pids[MAX_PROCESSES];    /* 0: free */
    uint8_t watched[MAX_PROCESSES]; /* 1: the process may have debug registers in use */
};

struct tg_attach_guard {
    int line;
    struct shared *shared;
    size_t next; /* the first place that may be free */
};

/* ---- in the guard's process */

/* One process whose code is looked at. */
struct patient {
    pid_t pid;
    int memory;
    int pagemap;
    int file; /* of the mapping */
};

static void restore_page(struct patient *patient, const struct tg_mapping *mapping, uint64_t address)
{
    uint8_t now[PAGE_BYTES], then[PAGE_BYTES];
    ssize_t n = pread(patient->file, then, sizeof then, (off_t)(address - mapping->start + mapping->offset));
    if (n <= 0 || tg_memory_file_read(patient->memory, address, now, (size_t)n) != (size_t)n)
        return;
    size_t n_others = 0;
    for (size_t i = 0; i < (size_t)n; i++)
        n_others += now[i] != then[i] && now[i] != INT3;
    for (size_t i = 0; i < (size_t)n && n_others <= MAX_OTHERS; i++)
        if (now[i] == INT3 && then[i] != INT3)
            (void)tg_memory_file_write(patient->memory, address + i, &then[i], 1);
}

static void restore_pages(struct patient *patient, const struct tg_mapping *mapping)
{
    uint64_t flags[PAGES_AT_ONCE];
    for (uint64_t at = mapping->start; at < mapping->end; at += (uint64_t)PAGES_AT_ONCE * PAGE_BYTES) {
        uint64_t n = (mapping->end - at) / PAGE_BYTES;
        ssize_t got = pread(patient->pagemap, flags, (n < PAGES_AT_ONCE ? n : PAGES_AT_ONCE) * sizeof *flags,
                            (off_t)(at / PAGE_BYTES * sizeof *flags));
        for (size_t i = 0; got > 0 && i < (size_t)got / sizeof *flags; i++)
            if ((flags[i] & is_there) && !(flags[i] & of_file))
                restore_page(patient, mapping, at + i * PAGE_BYTES);
    }
}

static int open_mapped(const char *path)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return -1;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
        return fd;
    close(fd);
    return -1;
}

static void restore_mapping(struct patient *patient, const struct tg_mapping *mapping)
{
    if (!mapping->executable || mapping->shared || mapping->inode == 0)
        return;
    patient->file = open_mapped(mapping->path);
    if (patient->file < 0)
        return;
    restore_pages(patient, mapping);
    close(patient->file);
}

static int open_of(pid_t pid, const char *name, int flags)
{
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    return open(path, flags | O_CLOEXEC);
}

/* Puts back the bytes under int3s in PID's code, as its files have them. */
static void restore(pid_t pid)
{
    struct patient patient = {
        .pid = pid, .memory = tg_memory_open(pid), .pagemap = open_of(pid, "pagemap", O_RDONLY)};
    struct tg_mappings mappings;
    struct tg_mapping mapping;
    tg_mappings_open(&mappings, pid);
    while (patient.memory >= 0 && patient.pagemap >= 0 && tg_mappings_next(&mappings, &mapping))
        restore_mapping(&patient, &mapping);
    tg_mappings_close(&mappings);
    if (patient.memory >= 0)
        close(patient.memory);
    if (patient.pagemap >= 0)
        close(patient.pagemap);
}

/* Children of PID that the tracer may not have heard of. */
static void restore_children(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *threads = opendir(path);
    const struct dirent *entry;
    while (threads != NULL && (entry = readdir(threads)) != NULL) {
        snprintf(path, sizeof path, "/proc/%d/task/%.16s/children", (int)pid, entry->d_name);
        FILE *children = entry->d_name[0] == '.' ? NULL : fopen(path, "re");
        int child;
        while (children != NULL && fscanf(children, "%d", &child) == 1)
            restore(child);
        if (children != NULL)
            fclose(children);
    }
    if (threads != NULL)
        closedir(threads);
}

/* ---- debug registers of a dead tracer */

static void wait_a_moment(void)
{
    static const struct timespec moment = {.tv_nsec = 50 * 1000};
    nanosleep(&moment, NULL);
}

/* Waits for TID to stop, a second at most. */
static bool await_stop(pid_t tid, int *status)
{
    for (unsigned i = 0; i < TRIES; i++) {
        if (waitpid(tid, status, __WALL | WNOHANG) == tid)
            return WIFSTOPPED(*status);
        wait_a_moment();
    }
    return false;
}

/* The signal that TID, stopped with STATUS, goes on with: not that of a watchpoint. */
static int signal_of(pid_t tid, int status)
{
    siginfo_t info;
    if (status >> 16 != 0)
        return 0;
    bool is_watch = WSTOPSIG(status) == SIGTRAP && ptrace(PTRACE_GETSIGINFO, tid, NULL, &info) == 0 &&
                    info.si_code == TRAP_HWBKPT;
    return is_watch ? 0 : WSTOPSIG(status);
}

/* Empties the debug registers of TID as soon as its tracer is gone. */
static void unwatch_thread(pid_t tid)
{
    int status = 0;
    bool is_seized = false;
    for (unsigned i = 0; i < TRIES * SPINS && !is_seized; i++) {
        is_seized = ptrace(PTRACE_SEIZE, tid, NULL, NULL) == 0;
        if (!is_seized && errno != EPERM)
            return;
        if (!is_seized && i % SPINS == 0)
            wait_a_moment();
    }
    if (!is_seized || ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) != 0 || !await_stop(tid, &status))
        return;
    ptrace(PTRACE_POKEUSER, tid, offsetof(struct user, u_debugreg) + CONTROL * sizeof(uint64_t), 0);
    ptrace(PTRACE_DETACH, tid, NULL, signal_of(tid, status));
}

static void unwatch(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *threads = opendir(path);
    const struct dirent *entry;
    while (threads != NULL && (entry = readdir(threads)) != NULL)
        if (entry->d_name[0] != '.')
            unwatch_thread((pid_t)strtol(entry->d_name, NULL, 10));
    if (threads != NULL)
        closedir(threads);
}

static void keep_guard(int line, void *context)
{
    struct shared *shared = context;
    const int32_t *pids = shared->pids;
    char byte;
    if (chdir("/") != 0)
        return;
    while (read(line, &byte, 1) < 0 && errno == EINTR)
        ;
    for (size_t i = 0; i < MAX_PROCESSES; i++) { /* first: a program's next write may be soon */
        pid_t pid = __atomic_load_n(&pids[i], __ATOMIC_ACQUIRE);
        if (pid > 0 && __atomic_load_n(&shared->watched[i], __ATOMIC_ACQUIRE) != 0)
            unwatch(pid);
    }
    for (size_t i = 0; i < MAX_PROCESSES; i++) {
        pid_t pid = __atomic_load_n(&pids[i], __ATOMIC_ACQUIRE);
        if (pid > 0)
            restore(pid);
    }
    for (size_t i = 0; i < MAX_PROCESSES; i++) {
        pid_t pid = __atomic_load_n(&pids[i], __ATOMIC_ACQUIRE);
        if (pid > 0)
            restore_children(pid);
    }
}

/* ---- in the tracer */

struct tg_error *tg_attach_guard_create(struct tg_attach_guard **guard)
{
    struct tg_attach_guard *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->shared =
        mmap(NULL, sizeof *made->shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct tg_error *error = made->shared == MAP_FAILED ? tg_error_no_memory() : NULL;
    if (error == NULL)
        error = tg_guard_process_start(keep_guard, made->shared, &made->line);
    if (error == NULL) {
        *guard = made;
        return NULL;
    }
    if (made->shared != MAP_FAILED)
        munmap(made->shared, sizeof *made->shared);
    free(made);
    return error;
}

void tg_attach_guard_destroy(struct tg_attach_guard *guard)
{
    if (guard == NULL)
        return;
    close(guard->line);
    munmap(guard->shared, sizeof *guard->shared);
    free(guard);
}

size_t tg_attach_guard_add(struct tg_attach_guard *guard, pid_t pid)
{
    for (size_t i = guard->next; i < MAX_PROCESSES; i++)
        if (guard->shared->pids[i] == 0) {
            __atomic_store_n(&guard->shared->watched[i], 0, __ATOMIC_RELEASE);
            __atomic_store_n(&guard->shared->pids[i], pid, __ATOMIC_RELEASE);
            guard->next = i + 1;
            return i;
        }
    return SIZE_MAX;
}

void tg_attach_guard_watched(struct tg_attach_guard *guard, size_t place)
{
    if (place != SIZE_MAX)
        __atomic_store_n(&guard->shared->watched[place], 1, __ATOMIC_RELEASE);
}

void tg_attach_guard_remove(struct tg_attach_guard *guard, size_t place)
{
    if (place == SIZE_MAX)
        return;
    __atomic_store_n(&guard->shared->pids[place], 0, __ATOMIC_RELEASE);
    guard->next = place < guard->next ? place : guard->next;
}
