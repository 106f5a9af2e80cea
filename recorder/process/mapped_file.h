/* Files that a process has mapped, by name: where its loader's lists cannot be read, or not yet. */
#ifndef TG_RECORDER_PROCESS_MAPPED_FILE_H
#define TG_RECORDER_PROCESS_MAPPED_FILE_H

#include "recorder/process/mappings.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct tg_mapped_file {
    uint64_t start;  /* start of the mapping of its first byte */
    char path[4096]; /* as /proc/PID/maps has it */
};

/* Tells TAKE of each file in /proc/PID/maps whose first byte is mapped, and its base name NAME. */
void tg_mapped_file_each(pid_t pid,
                         void (*take)(void *context, const char *name, const struct tg_mapping *mapping),
                         void *context);

/* The first file in /proc/PID/maps whose base name MATCHES says yes to, and whose first byte is mapped; false
 * where there is none (FILE is then undefined). */
bool tg_mapped_file_find(pid_t pid, bool (*matches)(const char *name), struct tg_mapped_file *file);

#endif
