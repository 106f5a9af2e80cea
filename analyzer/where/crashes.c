#include "analyzer/where/crashes.h"

#include "analyzer/output/stack_words.h"
#include "analyzer/where/members.h"
#include "format/base/signal_name.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

struct innermost {
    size_t left;
    bool raises;
};

static bool take_call(void *context, const struct tg_stack_call *call)
{
    static const char *const names[] = {
        "abort", "raise", "gsignal", "pthread_kill", "__pthread_kill_implementation", "kill"};
    struct innermost *innermost = context;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        innermost->raises |= strcmp(call->function, names[i]) == 0;
    return --innermost->left > 0 && !innermost->raises;
}

/* Whether the thread itself raised the signal: its innermost calls say so. */
static bool raised(const struct tg_where_threads *threads, const struct tg_where_thread *thread)
{
    struct innermost innermost = {.left = 4};
    tg_stack_each_call(threads->stacks, thread->stack, take_call, &innermost);
    return innermost.raises;
}

static bool is_ended(const struct tg_where_thread *thread)
{
    return thread->stack->reason == TG_STACK_FATAL_SIGNAL && thread->stack->signal != 0;
}

static bool is_crash(const struct tg_where_threads *threads, const struct tg_where_thread *thread)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    if (!is_ended(thread))
        return false;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        if (thread->stack->signal == faults[i])
            return true;
    return raised(threads, thread);
}

bool tg_where_has_crashes(const struct tg_where_threads *threads)
{
    for (size_t i = 0; i < threads->count; i++)
        if (is_crash(threads, &threads->threads[i]))
            return true;
    return false;
}

static void write_crash(FILE *stream, const struct tg_where_threads *threads, const size_t *group,
                        size_t count)
{
    const struct tg_where_thread *thread = &threads->threads[group[0]];
    char signal[32];
    fprintf(stream, "%s ended ", tg_signal_name(thread->stack->signal, signal, sizeof signal));
    tg_where_write_members(stream, threads, group, count);
    fputs(": ", stream);
    tg_stack_words_place(stream, &thread->path.place);
    fputs(".\n", stream);
}

static bool is_alike(const struct tg_where_thread *a, const struct tg_where_thread *b)
{
    return a->stack->signal == b->stack->signal && a->is_rank == b->is_rank &&
           tg_stack_place_is_same(&a->path.place, &b->path.place);
}

/* Threads that were ended from elsewhere, by signal. */
static void write_ended(FILE *stream, const struct tg_where_threads *threads, size_t *group, bool *is_told)
{
    char signal[32];
    for (size_t i = 0; i < threads->count; i++) {
        size_t n = 0;
        const struct tg_where_thread *first = &threads->threads[i];
        if (is_told[i] || !is_ended(first))
            continue;
        for (size_t k = i; k < threads->count; k++) {
            const struct tg_where_thread *thread = &threads->threads[k];
            if (is_told[k] || !is_ended(thread) || thread->stack->signal != first->stack->signal)
                continue;
            is_told[k] = true;
            group[n++] = k;
        }
        fprintf(stream, "%s from elsewhere ended ",
                tg_signal_name(first->stack->signal, signal, sizeof signal));
        tg_where_write_members(stream, threads, group, n);
        fputs(".\n", stream);
    }
}

bool tg_where_crashes_write(FILE *stream, const struct tg_where_threads *threads)
{
    enum { SHOWN = 8 };
    size_t *group = calloc(threads->count + 1, sizeof *group), told = 0;
    bool *is_told = calloc(threads->count + 1, sizeof *is_told);
    for (size_t i = 0; group != NULL && is_told != NULL && i < threads->count; i++) {
        size_t n = 0;
        if (is_told[i] || !is_crash(threads, &threads->threads[i]))
            continue;
        for (size_t k = i; k < threads->count; k++)
            if (!is_told[k] && is_alike(&threads->threads[i], &threads->threads[k]) &&
                is_crash(threads, &threads->threads[k])) {
                is_told[k] = true;
                group[n++] = k;
            }
        if (told++ < SHOWN)
            write_crash(stream, threads, group, n);
    }
    if (told > SHOWN)
        fprintf(stream, "... and at %zu more places\n", told - SHOWN);
    if (group != NULL && is_told != NULL)
        write_ended(stream, threads, group, is_told);
    free(group);
    free(is_told);
    return told > 0;
}
