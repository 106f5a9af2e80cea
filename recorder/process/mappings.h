/* What a process has mapped, one mapping after the other, as /proc/PID/maps tells it. */
#ifndef TG_RECORDER_PROCESS_MAPPINGS_H
#define TG_RECORDER_PROCESS_MAPPINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct tg_mapping {
    uint64_t start, end;
    uint64_t offset; /* of START in the file, in bytes */
    uint64_t inode;  /* 0: no file */
    unsigned major, minor;
    bool readable, writable, executable, shared;
    const char
        *path; /* "[heap]" and the like for some that have no file, else ""; a newline in it is "\012" */
};

enum { TG_MAPPINGS_BUFFER_BYTES = 4096 }; /* what the kernel gives at a time */

/* Begun by tg_mappings_open; its members are its own. */
struct tg_mappings {
    FILE *file;
    char *line;
    size_t capacity;
    char buffer[TG_MAPPINGS_BUFFER_BYTES];
};

/* False with errno where it cannot be read. Call tg_mappings_close in either case. MAPPINGS must not move in between. */
bool tg_mappings_open(struct tg_mappings *mappings, pid_t pid);

/* The next one, by ascending address; its path is good until the next call. False behind the last. */
bool tg_mappings_next(struct tg_mappings *mappings, struct tg_mapping *mapping);

void tg_mappings_close(struct tg_mappings *mappings);

/* The mapping of PID that holds ADDRESS; its path is NULL (not kept). False where there is none or it cannot be read. */
bool tg_mapping_find(pid_t pid, uint64_t address, struct tg_mapping *mapping);

/* The file that PID has mapped there, whatever became of its name, as a place (O_PATH); -1 where the kernel does not allow
 * it. */
int tg_mapping_open(pid_t pid, const struct tg_mapping *mapping);

#endif
