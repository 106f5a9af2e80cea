#include "analyzer/models/mpi/callers.h"

#include "format/base/array.h"
#include "format/base/hash.h"

#include <stdlib.h>
#include <string.h>

void tg_mpi_callers_deinit(struct tg_mpi_callers *callers)
{
    HASH_CLEAR(hh, callers->live);
    HASH_CLEAR(hh, callers->by_process);
    for (size_t i = 0; i < callers->n_threads; i++) {
        free(callers->threads[i]->requests);
        free(callers->threads[i]);
    }
    for (size_t i = 0; i < callers->n_processes; i++)
        free(callers->processes[i]);
    free(callers->threads);
    free(callers->processes);
    *callers = (struct tg_mpi_callers){0};
}

/* ---- processes */

enum { N_RECENT = sizeof((struct tg_mpi_callers *)0)->recent_threads / sizeof(void *) };

struct tg_mpi_process_entry *tg_mpi_callers_find_process(const struct tg_mpi_callers *callers, size_t process)
{
    struct tg_mpi_process_entry *found = callers->recent_processes[process % N_RECENT];
    if (found != NULL && found->public.process == process)
        return found;
    HASH_FIND(hh, callers->by_process, &process, sizeof process, found);
    return found;
}

struct tg_error *tg_mpi_callers_get_process(struct tg_mpi_callers *callers, struct tg_string_pool *names,
                                            size_t index, struct tg_mpi_process_entry **process)
{
    struct tg_mpi_process_entry *found = tg_mpi_callers_find_process(callers, index);
    if (found == NULL) {
        struct tg_error *error =
            TG_ARRAY_RESERVE(callers->processes, callers->process_capacity, callers->n_processes + 1);
        if (error != NULL)
            return error;
        found = calloc(1, sizeof *found);
        if (found == NULL)
            return tg_error_no_memory();
        found->public = (struct tg_mpi_process){.process = index, .rank = -1, .alive = true};
        error = tg_string_pool_intern(names, "", &found->public.job);
        if (error == NULL)
            error = TG_HASH_ADD(hh, callers->by_process, public.process, found);
        if (error != NULL) {
            free(found);
            return error;
        }
        callers->processes[callers->n_processes++] = found;
    }
    callers->recent_processes[index % N_RECENT] = found;
    *process = found;
    return NULL;
}

/* ---- threads */

static size_t recent_place(size_t process, int64_t tid)
{
    return ((uint64_t)tid + process * 17) % N_RECENT;
}

struct tg_mpi_thread_entry *tg_mpi_callers_find_thread(const struct tg_mpi_callers *callers, size_t process,
                                                       int32_t tid)
{
    struct tg_mpi_thread_key key;
    struct tg_mpi_thread_entry *found = callers->recent_threads[recent_place(process, tid)];
    if (found != NULL && found->key.tid == tid && found->key.process == process)
        return found;
    memset(&key, 0, sizeof key);
    key.process = process;
    key.tid = tid;
    HASH_FIND(hh, callers->live, &key, sizeof key, found);
    return found;
}

struct tg_error *tg_mpi_callers_get_thread(struct tg_mpi_callers *callers, size_t process, int32_t tid,
                                           struct tg_mpi_thread_entry **thread)
{
    struct tg_mpi_thread_entry *found = tg_mpi_callers_find_thread(callers, process, tid);
    if (found == NULL) {
        struct tg_error *error =
            TG_ARRAY_RESERVE(callers->threads, callers->thread_capacity, callers->n_threads + 1);
        if (error != NULL)
            return error;
        found = calloc(1, sizeof *found);
        if (found == NULL)
            return tg_error_no_memory();
        found->key.process = process;
        found->key.tid = tid;
        found->public = (struct tg_mpi_thread){.process = process, .tid = tid, .alive = true};
        error = TG_HASH_ADD(hh, callers->live, key, found);
        if (error != NULL) {
            free(found);
            return error;
        }
        callers->threads[callers->n_threads++] = found;
    }
    callers->recent_threads[recent_place(process, tid)] = found;
    *thread = found;
    return NULL;
}

void tg_mpi_callers_kill_thread(struct tg_mpi_callers *callers, struct tg_mpi_thread_entry *thread,
                                uint64_t time_ns)
{
    struct tg_mpi_thread_entry **recent =
        &callers->recent_threads[recent_place(thread->key.process, thread->key.tid)];
    if (*recent == thread)
        *recent = NULL;
    HASH_DEL(callers->live, thread);
    thread->public.alive = false;
    thread->public.ended_ns = time_ns;
}

void tg_mpi_callers_kill_threads(struct tg_mpi_callers *callers, size_t process, uint64_t time_ns)
{
    struct tg_mpi_thread_entry *thread, *next;
    HASH_ITER (hh, callers->live, thread, next)
        if (thread->key.process == process)
            tg_mpi_callers_kill_thread(callers, thread, time_ns);
}

struct tg_error *tg_mpi_thread_set_requests(struct tg_mpi_thread_entry *thread, const uint64_t *requests,
                                            size_t count)
{
    struct tg_error *error = TG_ARRAY_RESERVE(thread->requests, thread->capacity, count);
    if (error != NULL || count == 0)
        return error;
    memcpy(thread->requests, requests, count * sizeof *requests);
    thread->public.requests = thread->requests;
    thread->public.n_requests = count;
    return NULL;
}

/* ---- copies */

static struct tg_error *copy_threads(const struct tg_mpi_callers *from, struct tg_mpi_callers *to)
{
    struct tg_error *error = TG_ARRAY_RESERVE(to->threads, to->thread_capacity, from->n_threads);
    if (error != NULL)
        return error;
    for (size_t i = 0; i < from->n_threads; i++) {
        struct tg_mpi_thread_entry *thread = calloc(1, sizeof *thread);
        if (thread == NULL)
            return tg_error_no_memory();
        thread->public = from->threads[i]->public;
        thread->key = from->threads[i]->key;
        thread->traits = from->threads[i]->traits;
        thread->public.requests = NULL;
        to->threads[to->n_threads++] = thread;
        error = tg_mpi_thread_set_requests(thread, from->threads[i]->requests,
                                           from->threads[i]->public.n_requests);
        if (error != NULL)
            return error;
        if (!thread->public.alive)
            continue;
        error = TG_HASH_ADD(hh, to->live, key, thread);
        if (error != NULL)
            return error;
    }
    return error;
}

struct tg_error *tg_mpi_callers_copy(const struct tg_mpi_callers *from, struct tg_string_pool *names,
                                     struct tg_mpi_callers *to)
{
    struct tg_error *error = copy_threads(from, to);
    for (size_t i = 0; error == NULL && i < from->n_processes; i++) {
        struct tg_mpi_process_entry *process;
        error = tg_mpi_callers_get_process(to, names, from->processes[i]->public.process, &process);
        if (error == NULL)
            process->public = from->processes[i]->public;
    }
    return error;
}
