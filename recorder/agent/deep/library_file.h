/* The file of a library that is not loaded: what it needs, and what it defines. */
#ifndef TG_RECORDER_AGENT_DEEP_LIBRARY_FILE_H
#define TG_RECORDER_AGENT_DEEP_LIBRARY_FILE_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>

struct tg_deep_library {
    const unsigned char *bytes; /* the file, mapped */
    size_t size;
    const ElfW(Dyn) * dynamic;
    size_t n_dynamic;
    const char *strings;
    size_t n_strings; /* bytes; the last one is NUL */
};

/* False where it is no library that the loader would take. */
bool tg_deep_library_open(const char *path, struct tg_deep_library *library);
void tg_deep_library_close(struct tg_deep_library *library);

/* The I-th entry of TAG, a string; NULL: there are not so many. */
const char *tg_deep_library_string(const struct tg_deep_library *library, int64_t tag, size_t i);

/* Whether it defines the function NAME for others. */
bool tg_deep_library_defines(const struct tg_deep_library *library, const char *name);

#endif
