/* What stopped threads wait for in the kernel. */
#ifndef TG_RECORDER_STACKS_WAITS_H
#define TG_RECORDER_STACKS_WAITS_H

#include "format/base/error.h"
#include "format/event/event.h"
#include "format/image/elf_object.h"
#include "recorder/stacks/kmp_locks.h"
#include "recorder/stacks/nest_locks.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/user.h>

/* A thread of a process that was stopped. */
struct tg_halted_thread {
    pid_t tid;
    bool is_stopped; /* else it ended, or could not be stopped in time: it sleeps in the kernel */
    bool is_gone;
    bool is_suspended; /* process stopped before: by SIGSTOP, or from a terminal */
    int signal;        /* signal that the thread was about to take, and takes when it goes on; 0 none */
    struct user_regs_struct registers; /* where stopped */
};

/* A thread by its id, or by the address of its control block. */
struct tg_halted_key {
    uint64_t key;
    size_t index;
};

/* All that were stopped together. */
struct tg_halted_threads {
    const struct tg_halted_thread *items;
    size_t count;
    struct tg_halted_key *by_tid, *by_control_block; /* sorted; of the latter those that are stopped */
    size_t n_stopped;
    struct tg_halted_key
        *by_settings; /* sorted; of OpenMP, by which they are owners of nest locks; NULL not known */
    size_t n_settings;
    struct tg_halted_key *by_number; /* sorted; of LLVM's runtime; NULL not known */
    size_t n_numbers;
    uint64_t streams; /* see tg_streams_find(); 0 not known */
};

/* ITEMS stay the caller's and must outlive the result. Only error: NO_MEMORY; THREADS is empty then. */
struct tg_error *tg_halted_threads_init(const struct tg_halted_thread *items, size_t count,
                                        struct tg_halted_threads *threads);
void tg_halted_threads_deinit(struct tg_halted_threads *threads);

/* Finds out by LOCKS, in the MEMORY of their process, by which numbers THREADS own nest locks. */
void tg_halted_threads_find_settings(struct tg_halted_threads *threads, const struct tg_nest_locks *locks,
                                     const struct tg_elf_memory *memory);

/* Finds out the numbers by which THREADS own locks of LLVM's runtime, in the MEMORY of their process. */
void tg_halted_threads_find_numbers(struct tg_halted_threads *threads, const struct tg_kmp_numbers *numbers,
                                    const struct tg_elf_memory *memory);

/* One thread's. */
struct tg_wait {
    pid_t pid, tid;
    struct tg_event_thread_wait is; /* the wait; without partners yet */
    uint64_t inode;                 /* of the pipe or socket, 0 none */
    pid_t child;                    /* child that is waited for, 0 none */
};

/* Whether THREAD was in a system call that waits, when it was stopped. */
bool tg_wait_is_asleep(const struct tg_halted_thread *thread);

/* Whether that call is one with a time limit, which the kernel goes on with by restart_syscall. */
bool tg_wait_restarts(const struct tg_halted_thread *thread);

/* Whether the thread is in restart_syscall: it was interrupted before, and has not come back to the program. */
bool tg_wait_is_restart(const struct tg_halted_thread *thread);

/* Whether it was, or had just been, in one that moved data: memory of another process, or through a file or socket. */
bool tg_wait_is_copying(const struct tg_halted_thread *thread);

/* Whether thread INDEX of THREADS, of process PID with MEMORY, waits for something of these kinds; while it is stopped.
 * IS_THERE: it still runs, and its open files can be asked about. */
bool tg_wait_find(pid_t pid, const struct tg_elf_memory *memory, bool is_there,
                  const struct tg_halted_threads *threads, size_t index, struct tg_wait *wait);

/* The same of thread INDEX, which waits for LOCK of LLVM's runtime by its stack: so far as its owner is one of THREADS. */
bool tg_wait_find_kmp(pid_t pid, const struct tg_halted_threads *threads, size_t index,
                      const struct tg_kmp_wait *lock, struct tg_wait *wait);

/* Emits a thread_wait event of WAIT, with those of COUNT processes that have the other end of what it is for. To be asked
 * while the job runs. */
void tg_wait_tell(const struct tg_wait *wait, const pid_t *pids, size_t count,
                  void (*emit)(void *context, pid_t pid, pid_t tid, const struct tg_event *event),
                  void *context);

#endif
