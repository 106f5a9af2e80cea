#include "analyzer/finding/polling.h"

#include "analyzer/models/mpi_name.h"
#include "analyzer/models/stack_places.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Polls are told each 0.4 s, and later where the machine is crowded. */
static const uint64_t fresh_ns = UINT64_C(1500000000);
/* A thread that does more between two polls has other work. */
static const uint64_t most_gap_ns = 3000;

uint64_t tg_polling_moment(const struct tg_verdict_input *input, size_t process)
{
    uint64_t moment_ns = input->judged_ns != 0 ? input->judged_ns : input->now_ns;
    if (process >= tg_process_model_count(input->processes))
        return moment_ns;
    const struct tg_process_entry *entry = tg_process_model_at(input->processes, process);
    if (moment_ns == 0)
        moment_ns = entry->last_ns;
    return entry->n_kept > 0 && entry->kept_ns < moment_ns ? entry->kept_ns : moment_ns;
}

static bool is_fresh(const struct tg_verdict_input *input, const struct tg_mpi_thread *thread)
{
    return thread->polled_ns != 0 &&
           thread->polled_ns + fresh_ns >= tg_polling_moment(input, thread->process);
}

/* Whether what THREAD's last recorded call was for is still to come. */
static bool is_still_wanted(const struct tg_verdict_input *input, const struct tg_mpi_thread *thread)
{
    struct tg_mpi_message message;
    bool is_wanted = thread->found_nothing;
    for (size_t i = 0; !is_wanted && i < thread->n_requests; i++)
        is_wanted = tg_mpi_model_request(input->mpi, thread->process, thread->requests[i], &message) ||
                    tg_mpi_model_started(input->mpi, thread->process, thread->requests[i]) != NULL ||
                    tg_mpi_model_partitioned(input->mpi, thread->process, thread->requests[i]) != NULL;
    return is_wanted;
}

/* ---- by stacks */

static bool is_sleep(const char *function)
{
    static const char *const names[] = {"usleep",        "nanosleep",       "clock_nanosleep", "sched_yield",
                                        "pthread_yield", "clock_nanosleep", "select",          "poll"};
    while (*function == '_')
        function++;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strncmp(function, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* Where THREAD's last stack shows it, if that is newer than its last recorded call. */
enum sight {
    ELSEWHERE, /* or not known */
    IN_POLL,   /* in that call, or in the line of it */
    ASLEEP,    /* in the function of it */
};

static enum sight see(const struct tg_verdict_input *input, const struct tg_mpi_thread *thread)
{
    char name[512] = "", line[340];
    const struct tg_last_stack *stack =
        input->stacks == NULL ? NULL : tg_stack_model_find(input->stacks, thread->process, thread->tid);
    if (stack == NULL || stack->count == 0 || stack->time_ns < thread->left_ns)
        return ELSEWHERE;
    const struct tg_stack_place place = tg_stack_place_find(input->stacks, stack);
    if (strcmp(place.inside, thread->call.name) == 0 ||
        (tg_mpi_name(place.inside, name, sizeof name) &&
         strcmp(name, thread->call.name) == 0)) /* Fortran's */
        return IN_POLL;
    *name = '\0';
    if (input->namer.name == NULL || !place.is_known || place.at.is_python || place.at.line == 0)
        return ELSEWHERE;
    const char *slash = strrchr(place.at.file, '/');
    snprintf(line, sizeof line, "(%.300s:%" PRIu64 ")", slash == NULL ? place.at.file : slash + 1,
             place.at.line);
    input->namer.name(input->namer.context, thread->process, thread->call.code, name, sizeof name);
    size_t length = strlen(place.at.function);
    if (length > 0 && strncmp(name, place.at.function, length) == 0 && name[length] == ' ' &&
        is_sleep(place.inside))
        return ASLEEP;
    return strstr(name, line) != NULL ? IN_POLL : ELSEWHERE;
}

/* ---- all together */

/* Whether THREAD was told to poll lately, with nothing of weight in between. */
static bool is_tight(const struct tg_verdict_input *input, const struct tg_mpi_thread *thread)
{
    return is_fresh(input, thread) && thread->poll_gap_ns <= most_gap_ns;
}

static bool may_poll(const struct tg_verdict_input *input, const struct tg_mpi_thread *thread)
{
    return !thread->in_call && tg_mpi_call_polls(thread->call.name) && is_still_wanted(input, thread);
}

bool tg_polling_is(const struct tg_verdict_input *input, const struct tg_mpi_thread *thread)
{
    return may_poll(input, thread) && (is_tight(input, thread) || see(input, thread) != ELSEWHERE);
}

bool tg_polling_is_wait(const struct tg_verdict_input *input, const struct tg_mpi_thread *thread)
{
    return may_poll(input, thread) && is_fresh(input, thread) && !thread->polls_various &&
           (is_tight(input, thread) || see(input, thread) == ASLEEP);
}

bool tg_polling_waits(const struct tg_verdict_input *input, const struct tg_mpi_thread *thread)
{
    return thread->in_call ? tg_mpi_call_waits(thread->call.name) : tg_polling_is_wait(input, thread);
}
