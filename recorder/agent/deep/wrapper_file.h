/* The file of a wrapper while the dynamic loader opens it. */
#ifndef TG_RECORDER_AGENT_DEEP_WRAPPER_FILE_H
#define TG_RECORDER_AGENT_DEEP_WRAPPER_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct tg_deep_file {
    int fd;
    bool is_kept;
    bool has_name;            /* in the directory: to be deleted */
    char path[PATH_MAX + 64]; /* to open it by; no two files of a process have the same */
};

/* Makes a file of SIZE BYTES in DIRECTORY that nobody else may read or write: without a name where the file system
 * knows such files, so that nothing is left of it whatever happens; otherwise, and where it IS_KEPT, with a name that
 * cannot be guessed. Returns 0, or errno's value. */
int tg_deep_file_create(const char *directory, bool is_kept, const unsigned char *bytes, size_t size,
                        struct tg_deep_file *file);

/* The loader has it: closes it, and deletes it unless it is kept. */
void tg_deep_file_release(struct tg_deep_file *file);

#endif
