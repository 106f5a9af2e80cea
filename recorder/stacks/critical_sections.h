/* Owners of the critical sections of OpenMP that threads wait for. Neither GCC's runtime nor LLVM's usual kind of lock says
 * so; that a thread is inside of one shows where its calls return to. */
#ifndef TG_RECORDER_STACKS_CRITICAL_SECTIONS_H
#define TG_RECORDER_STACKS_CRITICAL_SECTIONS_H

#include "recorder/stacks/call_stack.h"
#include "recorder/stacks/critical_code.h"
#include "recorder/stacks/waits.h"

/* What is known of one process's code; to be ended. */
struct tg_criticals {
    const struct tg_stack_process *process;
    const struct tg_inspect_memory *memory;
    struct tg_critical_memo *memos; /* of functions that are called, and of places, by address */
    size_t n_places;
    size_t n_bytes; /* code that was read */
};

/* One thread's. */
struct tg_critical_thread {
    uint64_t wanted; /* lock that it waits for, 0 none or unknown */
    uint64_t *held;
    size_t n_held;
};

/* PROCESS and MEMORY must outlive the result. */
void tg_criticals_begin(const struct tg_stack_process *process, const struct tg_inspect_memory *memory,
                        struct tg_criticals *criticals);
void tg_criticals_end(struct tg_criticals *criticals);

/* Whether the thread with STACK waits at the beginning of a critical section, or at that of an atomic operation of GCC's. */
bool tg_critical_is_awaited(const struct tg_stack_process *process, const struct tg_inspect_memory *memory,
                            const struct tg_call_stack *stack);

/* What STACK tells, of a stopped thread; THREAD is to be deinitialized. */
void tg_critical_thread_init(struct tg_criticals *criticals, const struct tg_call_stack *stack,
                             struct tg_critical_thread *thread);
void tg_critical_thread_deinit(struct tg_critical_thread *thread);

/* Of COUNT THREADS of a process the one that has what INDEX waits for; SIZE_MAX unknown. */
size_t tg_critical_owner(const struct tg_critical_thread *threads, size_t count, size_t index);

/* Makes WAIT, whose threads are known, one for the section that THREAD waits for and thread OWNER has. */
void tg_critical_wait_make(const struct tg_critical_thread *thread, pid_t owner, struct tg_wait *wait);

#endif
