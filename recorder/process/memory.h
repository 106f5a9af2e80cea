/* Memory of a traced process. PID is a process or thread id; inside a stop give the stopped thread's: the
 * thread group leader may have ended before its threads, and then has no memory any more. */
#ifndef TG_RECORDER_PROCESS_MEMORY_H
#define TG_RECORDER_PROCESS_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* One remote range and where it goes. */
struct tg_memory_range {
    uint64_t address;
    void *buffer;
    size_t size;
};

/* Reads all of [address, address + size); false where any byte cannot be read (BUFFER may then be partly
 * filled). process_vm_readv, then /proc/PID/mem, then PTRACE_PEEKDATA. */
bool tg_memory_read(pid_t pid, uint64_t address, void *buffer, size_t size);

/* Reads up to SIZE bytes, returns how many could be read from the start (0 for none). */
size_t tg_memory_read_some(pid_t pid, uint64_t address, void *buffer, size_t size);

/* Several ranges by one system call; returns how many ranges were read whole, from the first on. COUNT is at
 * most 1024. */
size_t tg_memory_read_ranges(pid_t pid, const struct tg_memory_range *ranges, size_t count);

/* A NUL-terminated string of at most SIZE - 1 bytes; false where it cannot be read or does not end within
 * SIZE. */
bool tg_memory_read_string(pid_t pid, uint64_t address, char *buffer, size_t size);

/* Writes through page protections (by /proc/PID/mem where process_vm_writev cannot, else PTRACE_POKEDATA); PID's thread must be traced and
 * stopped for the latter. False where any byte could not be written. A private mapping gets its own copy of
 * the page: the file and other processes never see the write. */
bool tg_memory_write(pid_t pid, uint64_t address, const void *buffer, size_t size);

/* The memory that PID has now, as a file (the caller's to close; -1 where it cannot be had): also when PID
 * has executed another program since, it is this memory and no other, and nothing can be read or written
 * there any more. */
int tg_memory_open(pid_t pid);
/* As tg_memory_read_some; of any other file, the bytes at that offset. */
size_t tg_memory_file_read(int fd, uint64_t address, void *buffer, size_t size);
bool tg_memory_file_write(int fd, uint64_t address, const void *buffer, size_t size);

#endif
