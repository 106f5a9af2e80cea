/* Where a process keeps pointers outside of its heap: all that it may write, and memory of no file that it has made read-only, but
 * for the areas of the allocator, what of a stack is not in use, and what the agent has for itself. Not searched is what of a
 * file's private mapping is read-only: data of the program that it has sealed are not told from constants there. */
#ifndef TG_RECORDER_LEAKS_LEAK_ROOTS_H
#define TG_RECORDER_LEAKS_LEAK_ROOTS_H

#include "format/base/error.h"
#include "recorder/leaks/leak_search.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A thread that is stopped. */
struct tg_leak_thread {
    uint64_t stack_pointer;
    uint64_t thread_pointer; /* fs_base: struct pthread of glibc, which knows the extent of its stack */
};

struct tg_leak_roots_options {
    pid_t tid; /* thread whose /proc/TID/maps and memory are read */
    const struct tg_leak_thread *threads;
    size_t n_threads;
    bool
        are_all; /* these are all threads of the process: a stack of none of them is one that the thread library keeps for later ones */
    const char *agent_directory; /* of the rings, NULL none */
};

/* *ROOTS is the caller's to free. Left out of a stack is what lies below the stack pointer in [stack], or in what the
 * thread library says is the thread's own stack, and what of that library's stacks no thread has any more; of a stack that nobody knows the extent of (a coroutine's, a thread's of
 * another library) nothing, because what is below may be the program's data. Errors: TARGET where the mappings cannot be
 * read; NO_MEMORY. */
struct tg_error *tg_leak_roots_find(const struct tg_leak_roots_options *options, struct tg_leak_root **roots,
                                    size_t *count);

#endif
