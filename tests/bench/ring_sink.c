/* The floor under a recorder: runs a command with the agent, counts what its threads record, and keeps
 * nothing of it. What the command costs beyond that is the recorder's.
 *
 * usage: ring_sink AGENT COMMAND...      AGENT may be empty; "records bytes" on standard error at the end */
#include "recorder/agent/contract.h"

#include <dirent.h>
#include <err.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    RING_BYTES = 1 << 22,
    MAX_RINGS = 256,
    /* as the recorder: between looks where much comes, and where little does */
    BUSY_NS = 1000000,
    CALM_NS = 10000000,
    MUCH_BYTES = RING_BYTES / 64,
};

static struct {
    char name[NAME_MAX + 1];
    struct tg_agent_ring_header *header;
} rings[MAX_RINGS];
static int n_rings;
static unsigned long n_records, n_bytes;

static void find_rings(const char *path)
{
    DIR *directory = opendir(path);
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
        int known = strncmp(entry->d_name, "ring.", 5) != 0 || n_rings == MAX_RINGS;
        for (int i = 0; i < n_rings; i++)
            known |= strcmp(rings[i].name, entry->d_name) == 0;
        if (known)
            continue;
        int fd = openat(dirfd(directory), entry->d_name, O_RDWR | O_CLOEXEC);
        struct stat status;
        struct tg_agent_ring_header *header = MAP_FAILED;
        if (fd >= 0 && fstat(fd, &status) == 0 && status.st_size == TG_AGENT_RING_DATA_OFFSET + RING_BYTES)
            header = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (fd >= 0)
            close(fd);
        if (header == MAP_FAILED)
            continue;
        strcpy(rings[n_rings].name, entry->d_name);
        rings[n_rings++].header = header;
    }
    if (directory != NULL)
        closedir(directory);
}

static void empty(struct tg_agent_ring_header *header)
{
    const unsigned char *data = (const unsigned char *)header + TG_AGENT_RING_DATA_OFFSET;
    uint64_t head = __atomic_load_n(&header->head, __ATOMIC_ACQUIRE), tail = header->tail;
    n_bytes += head - tail;
    while (tail < head) {
        uint64_t word = *(const uint64_t *)(const void *)(data + tail % RING_BYTES + 8);
        n_records += (word & 0xff) != TG_RECORD_PAD;
        tail += (word >> TG_AGENT_WORDS_SHIFT & 0xfff) * 8;
    }
    __atomic_store_n(&header->tail, tail, __ATOMIC_SEQ_CST);
    if (__atomic_exchange_n(&header->waiting, 0, __ATOMIC_SEQ_CST) != 0)
        syscall(SYS_futex, &header->waiting, FUTEX_WAKE, 1, NULL, NULL, 0);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        errx(2, "usage: ring_sink AGENT COMMAND...");
    char directory[] = "/dev/shm/ring-sink-XXXXXX", path[64];
    if (mkdtemp(directory) == NULL)
        err(1, "%s", directory);
    snprintf(path, sizeof path, "%s/control", directory);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    const struct tg_agent_control contents = {.magic = TG_AGENT_CONTROL_MAGIC,
                                              .protocol = TG_AGENT_PROTOCOL,
                                              .flags = TG_AGENT_OPENMP | TG_AGENT_MPI,
                                              .clock = TG_AGENT_CLOCK_TSC,
                                              .ring_bytes = RING_BYTES};
    if (fd < 0 || ftruncate(fd, TG_AGENT_CONTROL_BYTES) != 0 || flock(fd, LOCK_EX) != 0 ||
        pwrite(fd, &contents, sizeof contents, 0) != sizeof contents)
        err(1, "%s", path);
    struct tg_agent_control *control = mmap(NULL, TG_AGENT_CONTROL_BYTES, PROT_READ, MAP_SHARED, fd, 0);
    if (control == MAP_FAILED)
        err(1, "%s", path);
    setenv(TG_AGENT_VARIABLE, directory, 1);
    pid_t child = fork();
    if (child == 0) {
        setenv("LD_PRELOAD", argv[1], 1);
        execvp(argv[2], argv + 2);
        err(127, "%s", argv[2]);
    }
    int status = 0;
    uint32_t n_found = 0;
    long interval_ns = BUSY_NS;
    for (bool over = false; !over;) {
        unsigned long n_before = n_bytes;
        uint32_t attention = __atomic_load_n(&control->attention, __ATOMIC_ACQUIRE);
        over = waitpid(child, &status, WNOHANG) == child;
        uint32_t n_made = __atomic_load_n(&control->rings_made, __ATOMIC_ACQUIRE);
        if (n_made != n_found)
            find_rings(directory);
        n_found = n_made;
        for (int i = 0; i < n_rings; i++)
            empty(rings[i].header);
        interval_ns = n_bytes - n_before > MUCH_BYTES ? BUSY_NS : interval_ns + interval_ns / 2;
        const struct timespec interval = {.tv_nsec = interval_ns < CALM_NS ? interval_ns : CALM_NS};
        interval_ns = interval.tv_nsec;
        if (!over)
            syscall(SYS_futex, &control->attention, FUTEX_WAIT, attention, &interval, NULL, 0);
    }
    for (int i = 0; i < n_rings; i++) {
        snprintf(path, sizeof path, "%s/%.32s", directory, rings[i].name);
        unlink(path);
    }
    snprintf(path, sizeof path, "%s/control", directory);
    unlink(path);
    rmdir(directory);
    fprintf(stderr, "%lu %lu\n", n_records, n_bytes);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
