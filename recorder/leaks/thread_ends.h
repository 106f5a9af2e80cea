/* The threads of a process as a search for leaks begins with them: their registers, and where their stacks are.
 *
 * Where a process ends, its threads do so one after the other, and the search comes with the last one's last stop. The others
 * were ended where they stood, and what their stacks refer to is referred to, though they may have gone by then: so their
 * registers are kept from their own last stops on. A thread that ended by itself has left its stack, and refers to nothing. */
#ifndef TG_RECORDER_LEAKS_THREAD_ENDS_H
#define TG_RECORDER_LEAKS_THREAD_ENDS_H

#include "format/base/error.h"
#include "recorder/engine/engine.h"
#include "recorder/leaks/leak_roots.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/user.h>

/* Of one process; all zero at first. */
struct tg_thread_ends {
    struct user_regs_struct *registers; /* of threads that were ended where they stood */
    size_t count, capacity;
    bool misses_some;
};

/* Takes note of THREAD, which is in its last stop (TG_TRIGGER_EXIT). On the tracer thread. */
void tg_thread_ends_note(struct tg_thread_ends *ends, struct tg_thread *thread);
/* Empties ENDS, also for another program of the process. */
void tg_thread_ends_deinit(struct tg_thread_ends *ends);

struct tg_leak_threads {
    uint64_t *words; /* n_words of registers */
    struct tg_leak_thread *stacks;
    size_t n_words, count;
    bool are_all; /* no thread's registers are missing */
};

/* PROCESS's threads: those that are stopped, for which it may wait some milliseconds, as they may be on their way to a last stop,
 * and those of ENDS. THREADS is to be freed also after an error. On the tracer thread. Errors: NO_MEMORY. */
struct tg_error *tg_leak_threads_read(const struct tg_process *process, const struct tg_thread_ends *ends,
                                      struct tg_leak_threads *threads);
void tg_leak_threads_deinit(struct tg_leak_threads *threads);

#endif
