/* A core file of a 64-bit x86 process, as Linux and gdb write it: what the process was, its threads with their registers, what
 * it had mapped, and its memory as far as it is there. Everything in it is untrusted; a file that was cut off is read as far
 * as it goes. */
#ifndef TG_RECORDER_PROCESS_CORE_FILE_H
#define TG_RECORDER_PROCESS_CORE_FILE_H

#include "format/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

struct tg_core_thread {
    pid_t tid;
    struct user_regs_struct registers;
};

/* A part of a file that was mapped. */
struct tg_core_mapping {
    uint64_t start, end, offset; /* the last one of the file, bytes */
    const char *path;            /* untrusted bytes */
};

struct tg_core_segment; /* core_file.c's */

struct tg_core_file {
    pid_t pid;
    char program[17], command[81]; /* as the kernel cut them; untrusted */
    int signal;                    /* signal that ended the process, 0 unknown or none */
    bool has_fault;
    uint64_t fault;                 /* address, of a signal that has one */
    struct tg_core_thread *threads; /* the first is the one that got the signal */
    size_t n_threads, threads_capacity;
    struct tg_core_mapping *mappings; /* as the kernel tells them: by address */
    size_t n_mappings, mappings_capacity;
    uint64_t *auxiliary;    /* pairs of type and value */
    size_t n_auxiliary;     /* pairs */
    uint64_t size, missing; /* bytes of the file, and those that it should have behind its end */

    int fd;
    struct tg_core_segment *segments; /* by address */
    size_t n_segments;
    uint8_t *notes;
};

/* Reads the file at PATH. INPUT error: it is no such file, or has no thread. */
struct tg_error *tg_core_file_open(const char *path, struct tg_core_file **core);
/* The same of FD, which it takes, also on failure. */
struct tg_error *tg_core_file_read(int fd, struct tg_core_file **core);
/* NULL is accepted. */
void tg_core_file_close(struct tg_core_file *core);

/* Whether PATH begins as a core file does, of whatever machine. */
bool tg_core_file_is_one(const char *path);

/* Bytes of memory at ADDRESS; returns how many, from the first on, the file has. */
size_t tg_core_file_memory(const struct tg_core_file *core, uint64_t address, void *buffer, size_t size);

/* Whether the process had something at ADDRESS that the file should have, and has not: it was cut off. */
bool tg_core_file_is_cut(const struct tg_core_file *core, uint64_t address);

/* The value of the auxiliary vector's first entry of TYPE, 0 where there is none. */
uint64_t tg_core_file_auxiliary(const struct tg_core_file *core, uint64_t type);

/* The environment that the process began with, as /proc/PID/environ has it; for the caller to free. NULL where it is not
 * found. */
char *tg_core_file_environment(const struct tg_core_file *core, size_t *size);

#endif
