#include "recorder/leaks/thread_ends.h"

#include "format/base/array.h"
#include "recorder/process/proc_status.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <time.h>

enum {
    MAX_THREADS = 1 << 12,
    LAST_STOPS_NS = 50 * 1000 * 1000, /* for all threads; one in an uninterruptible sleep takes longer */
    REGISTERS = sizeof(struct user_regs_struct) / sizeof(uint64_t),
};

void tg_thread_ends_note(struct tg_thread_ends *ends, struct tg_thread *thread)
{
    const struct user_regs_struct *registers = tg_thread_registers(thread);
    if (tg_thread_ending(thread) == TG_THREAD_ENDING_ALONE)
        return;
    if (registers == NULL || ends->count == MAX_THREADS ||
        TG_ARRAY_APPEND(ends->registers, ends->count, ends->capacity, *registers) != NULL)
        ends->misses_some = true;
}

void tg_thread_ends_deinit(struct tg_thread_ends *ends)
{
    free(ends->registers);
    *ends = (struct tg_thread_ends){0};
}

/* Where a process ends, the other threads are on their way to their last stop, and have no registers before it. */
static bool read_registers(pid_t tid, uint64_t until_ns, struct user_regs_struct *registers)
{
    static const struct timespec moment = {.tv_nsec = 50 * 1000};
    struct tg_proc_status status;
    while (ptrace(PTRACE_GETREGS, tid, NULL, registers) != 0) {
        if (errno != ESRCH || tg_engine_now_ns() > until_ns || !tg_proc_status_read(tid, &status) ||
            tg_proc_status_is_dead(&status))
            return false;
        nanosleep(&moment, NULL);
    }
    return true;
}

static void add(struct tg_leak_threads *threads, const struct user_regs_struct *registers)
{
    memcpy(threads->words + threads->n_words, registers, sizeof *registers);
    threads->n_words += REGISTERS;
    threads->stacks[threads->count++] = (struct tg_leak_thread){registers->rsp, registers->fs_base};
}

/* Whether one of the first N_STOPPED is the thread of THREAD_POINTER: the last one to end, whose last stop it is; or a later one
 * that has the stack of one that was ended alone (seccomp can). */
static bool is_there(const struct tg_leak_threads *threads, size_t n_stopped, uint64_t thread_pointer)
{
    for (size_t i = 0; i < n_stopped; i++)
        if (threads->stacks[i].thread_pointer == thread_pointer)
            return true;
    return false;
}

struct tg_error *tg_leak_threads_read(const struct tg_process *process, const struct tg_thread_ends *ends,
                                      struct tg_leak_threads *threads)
{
    size_t most = 0;
    uint64_t until_ns = tg_engine_now_ns() + LAST_STOPS_NS;
    for (const struct tg_thread *t = process->threads; t != NULL && most < MAX_THREADS; t = t->hh.next)
        most++;
    *threads = (struct tg_leak_threads){.are_all = !ends->misses_some && !process->has_unseen_ends};
    threads->words = malloc((most + ends->count + 1) * REGISTERS * sizeof(uint64_t));
    threads->stacks = malloc((most + ends->count + 1) * sizeof *threads->stacks);
    if (threads->words == NULL || threads->stacks == NULL)
        return tg_error_no_memory();
    for (struct tg_thread *t = process->threads; t != NULL && threads->count < most; t = t->hh.next) {
        struct user_regs_struct registers;
        if (tg_thread_has_ended(t))
            continue;
        if (read_registers(t->tid, until_ns, &registers))
            add(threads, &registers);
        else
            threads->are_all = false;
    }
    size_t n_stopped = threads->count;
    for (size_t i = 0; i < ends->count; i++)
        if (!is_there(threads, n_stopped, ends->registers[i].fs_base))
            add(threads, &ends->registers[i]);
    return NULL;
}

void tg_leak_threads_deinit(struct tg_leak_threads *threads)
{
    free(threads->words);
    free(threads->stacks);
}
