/* Where a process keeps pointers outside of its heap: all that it may write, but for the areas of the allocator, what of
 * a stack is not in use, and what the agent has for itself. */
#ifndef TG_RECORDER_LEAKS_LEAK_ROOTS_H
#define TG_RECORDER_LEAKS_LEAK_ROOTS_H

#include "format/base/error.h"
#include "recorder/leaks/leak_search.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct tg_leak_roots_options {
    pid_t tid;                      /* whose /proc/TID/maps and memory */
    const uint64_t *stack_pointers; /* of the threads that are stopped: what is below is not in use */
    size_t n_stack_pointers;
    const char *agent_directory; /* of the rings, NULL none */
};

/* *ROOTS is the caller's to free. Errors: TARGET where the mappings cannot be read; NO_MEMORY. */
struct tg_error *tg_leak_roots_find(const struct tg_leak_roots_options *options, struct tg_leak_root **roots,
                                    size_t *count);

#endif
