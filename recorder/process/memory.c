#include "recorder/process/memory.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PAGE_BYTES = 4096, MAX_RANGES = 1024 };

static int open_memory(pid_t pid, int flags)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
    return open(path, flags | O_CLOEXEC);
}

int tg_memory_open(pid_t pid)
{
    return open_memory(pid, O_RDWR);
}

size_t tg_memory_file_read(int fd, uint64_t address, void *buffer, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t n = pread(fd, (char *)buffer + done, size - done, (off_t)(address + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    return done;
}

/* Reads through page protections and, for a traced thread, past PR_SET_DUMPABLE. */
static size_t read_by_file(pid_t pid, uint64_t address, void *buffer, size_t size)
{
    int fd = open_memory(pid, O_RDONLY);
    if (fd < 0)
        return 0;
    size_t done = tg_memory_file_read(fd, address, buffer, size);
    close(fd);
    return done;
}

/* The last way: needs no permission beyond being the tracer, but a system call a word. */
static size_t read_by_peek(pid_t pid, uint64_t address, void *buffer, size_t size)
{
    size_t done = 0;
    while (done < size) {
        uint64_t at = address + done;
        uint64_t word_address = at & ~(uint64_t)7;
        errno = 0;
        long word = ptrace(PTRACE_PEEKDATA, pid, (void *)word_address, NULL);
        if (errno != 0)
            break;
        size_t skip = (size_t)(at - word_address);
        size_t n = sizeof word - skip < size - done ? sizeof word - skip : size - done;
        memcpy((char *)buffer + done, (char *)&word + skip, n);
        done += n;
    }
    return done;
}

size_t tg_memory_read_some(pid_t pid, uint64_t address, void *buffer, size_t size)
{
    struct iovec local = {buffer, size};
    struct iovec remote = {(void *)address, size};
    ssize_t n = process_vm_readv(pid, &local, 1, &remote, 1, 0);
    size_t done = n > 0 ? (size_t)n : 0;
    /* The rest is behind a page that cannot be read so: execute-only, PROT_NONE, not dumpable, or not
     * mapped at all. */
    if (done < size)
        done += read_by_file(pid, address + done, (char *)buffer + done, size - done);
    if (done == 0 && size > 0)
        done = read_by_peek(pid, address, buffer, size);
    return done;
}

bool tg_memory_read(pid_t pid, uint64_t address, void *buffer, size_t size)
{
    return tg_memory_read_some(pid, address, buffer, size) == size;
}

size_t tg_memory_read_ranges(pid_t pid, const struct tg_memory_range *ranges, size_t count)
{
    assert(count <= MAX_RANGES);
    if (count == 0)
        return 0;
    struct iovec local[MAX_RANGES], remote[MAX_RANGES];
    for (size_t i = 0; i < count; i++) {
        local[i] = (struct iovec){ranges[i].buffer, ranges[i].size};
        remote[i] = (struct iovec){(void *)ranges[i].address, ranges[i].size};
    }
    ssize_t n = process_vm_readv(pid, local, count, remote, count, 0);
    size_t left = n > 0 ? (size_t)n : 0;
    size_t whole = 0;
    while (whole < count && left >= ranges[whole].size) {
        left -= ranges[whole].size;
        whole++;
    }
    /* One bad page must not hide a range that another way could still read. */
    while (whole < count &&
           tg_memory_read(pid, ranges[whole].address, ranges[whole].buffer, ranges[whole].size))
        whole++;
    return whole;
}

bool tg_memory_read_string(pid_t pid, uint64_t address, char *buffer, size_t size)
{
    size_t done = 0;
    while (done < size) {
        uint64_t at = address + done;
        size_t to_page_end = PAGE_BYTES - (size_t)(at % PAGE_BYTES); /* the next page may not be there */
        size_t want = to_page_end < size - done ? to_page_end : size - done;
        size_t n = tg_memory_read_some(pid, at, buffer + done, want);
        if (memchr(buffer + done, '\0', n) != NULL)
            return true;
        if (n < want)
            return false;
        done += n;
    }
    return false;
}

bool tg_memory_file_write(int fd, uint64_t address, const void *buffer, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t n = pwrite(fd, (const char *)buffer + done, size - done, (off_t)(address + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    return done == size;
}

static bool write_by_file(pid_t pid, uint64_t address, const void *buffer, size_t size)
{
    int fd = open_memory(pid, O_WRONLY);
    if (fd < 0)
        return false;
    bool is_done = tg_memory_file_write(fd, address, buffer, size);
    close(fd);
    return is_done;
}

static bool write_by_poke(pid_t pid, uint64_t address, const void *buffer, size_t size)
{
    size_t done = 0;
    while (done < size) {
        uint64_t at = address + done;
        uint64_t word_address = at & ~(uint64_t)7;
        size_t skip = (size_t)(at - word_address);
        long word;
        size_t n = sizeof word - skip < size - done ? sizeof word - skip : size - done;
        errno = 0;
        word = ptrace(PTRACE_PEEKDATA, pid, (void *)word_address, NULL);
        if (errno != 0)
            return false;
        memcpy((char *)&word + skip, (const char *)buffer + done, n);
        if (ptrace(PTRACE_POKEDATA, pid, (void *)word_address, (void *)word) != 0)
            return false;
        done += n;
    }
    return true;
}

/* In one system call, where the pages may be written to. */
static bool write_at_once(pid_t pid, uint64_t address, const void *buffer, size_t size)
{
    const struct iovec local = {(void *)(uintptr_t)buffer, size}; // NOLINT: only read from
    const struct iovec remote = {(void *)address, size};
    return process_vm_writev(pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

bool tg_memory_write(pid_t pid, uint64_t address, const void *buffer, size_t size)
{
    return write_at_once(pid, address, buffer, size) || write_by_file(pid, address, buffer, size) ||
           write_by_poke(pid, address, buffer, size);
}
