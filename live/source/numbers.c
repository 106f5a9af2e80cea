#include "live/source/numbers.h"

#include "format/base/hash.h"

#include <stdlib.h>

struct process {
    uint64_t key; /* index in the process model */
    struct tg_numbered_process public;
    UT_hash_handle hh;
};

struct thread {
    uint64_t key; /* pid and tid: of a tid that is used again the latest */
    struct tg_numbered_thread public;
    UT_hash_handle hh;
};

struct tg_control_numbers {
    struct process *processes;
    struct thread *threads;
};

struct tg_error *tg_control_numbers_create(struct tg_control_numbers **numbers)
{
    struct tg_control_numbers *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    *numbers = made;
    return NULL;
}

void tg_control_numbers_destroy(struct tg_control_numbers *numbers)
{
    struct process *process, *next_process;
    struct thread *thread, *next_thread;
    if (numbers == NULL)
        return;
    HASH_ITER (hh, numbers->processes, process, next_process) {
        HASH_DEL(numbers->processes, process);
        free(process);
    }
    HASH_ITER (hh, numbers->threads, thread, next_thread) {
        HASH_DEL(numbers->threads, thread);
        free(thread);
    }
    free(numbers);
}

static struct tg_error *put_process(struct tg_control_numbers *numbers, uint64_t key,
                                    const struct tg_numbered_process *public)
{
    struct process *process = NULL;
    HASH_FIND(hh, numbers->processes, &key, sizeof key, process);
    if (process == NULL) {
        struct tg_error *error = TG_HASH_CREATE(hh, numbers->processes, key, &key, process);
        if (error != NULL)
            return error;
    }
    process->public = *public;
    return NULL;
}

static struct thread *find_thread(const struct tg_control_numbers *numbers, uint64_t key)
{
    struct thread *thread = NULL;
    HASH_FIND(hh, numbers->threads, &key, sizeof key, thread);
    return thread;
}

static struct tg_error *put_thread(struct tg_control_numbers *numbers, uint64_t key,
                                   const struct tg_numbered_thread *public)
{
    struct thread *thread = find_thread(numbers, key);
    if (thread == NULL) {
        struct tg_error *error = TG_HASH_CREATE(hh, numbers->threads, key, &key, thread);
        if (error != NULL)
            return error;
    }
    thread->public = *public;
    return NULL;
}

struct tg_error *tg_control_numbers_copy(const struct tg_control_numbers *numbers,
                                         struct tg_control_numbers **copy)
{
    struct tg_control_numbers *made = NULL;
    struct tg_error *error = tg_control_numbers_create(&made);
    const struct process *process = numbers->processes;
    const struct thread *thread = numbers->threads;
    for (; error == NULL && process != NULL; process = process->hh.next)
        error = put_process(made, process->key, &process->public);
    for (; error == NULL && thread != NULL; thread = thread->hh.next)
        error = put_thread(made, thread->key, &thread->public);
    if (error == NULL)
        *copy = made;
    else
        tg_control_numbers_destroy(made);
    return error;
}

static bool is_number(uint64_t number)
{
    return number > 0 && number <= UINT32_MAX;
}

static uint64_t key_of(const struct tg_event *event)
{
    return (uint64_t)(uint32_t)event->pid << 32 | (uint32_t)event->tid;
}

struct tg_error *tg_control_numbers_feed(struct tg_control_numbers *numbers, const struct tg_event *event,
                                         size_t process)
{
    const struct tg_event_control_process *told = &event->control_process;
    struct thread *thread;
    switch ((unsigned)event->kind) {
    case TG_EVENT_CONTROL_PROCESS:
        if (!is_number(told->dpid) || !is_number(told->control_group) || !is_number(told->share_group) ||
            !is_number(told->workers_group))
            return NULL;
        return put_process(
            numbers, process,
            &(struct tg_numbered_process){process, (uint32_t)told->dpid, (uint32_t)told->control_group,
                                          (uint32_t)told->share_group, (uint32_t)told->workers_group});
    case TG_EVENT_CONTROL_THREAD:
        if (!is_number(event->control_thread.dpid) || !is_number(event->control_thread.dtid))
            return NULL;
        return put_thread(numbers, key_of(event),
                          &(struct tg_numbered_thread){(uint32_t)event->control_thread.dpid,
                                                       (uint32_t)event->control_thread.dtid, event->tid,
                                                       event->control_thread.manager != 0, false});
    case TG_EVENT_THREAD_EXIT:
        thread = find_thread(numbers, key_of(event));
        if (thread != NULL)
            thread->public.has_ended = true;
        return NULL;
    default:
        return NULL;
    }
}

/* ---- the list */

size_t tg_control_numbers_count(const struct tg_control_numbers *numbers)
{
    return HASH_COUNT(numbers->processes);
}

static int compare_processes(const void *left, const void *right)
{
    const struct tg_numbered_process *a = left, *b = right;
    if (a->dpid != b->dpid)
        return a->dpid < b->dpid ? -1 : 1;
    return a->process > b->process ? -1 : a->process < b->process; /* of equal ones the latest */
}

static int compare_threads(const void *left, const void *right)
{
    const struct tg_numbered_thread *a = left, *b = right;
    if (a->dpid != b->dpid)
        return a->dpid < b->dpid ? -1 : 1;
    if (a->dtid != b->dtid)
        return a->dtid < b->dtid ? -1 : 1;
    return a->tid < b->tid ? -1 : a->tid > b->tid;
}

struct tg_error *tg_control_numbers_list(const struct tg_control_numbers *numbers,
                                         struct tg_numbered_process **processes, size_t *n_processes,
                                         struct tg_numbered_thread **threads, size_t *n_threads)
{
    struct tg_numbered_process *by_dpid = calloc(HASH_COUNT(numbers->processes) + 1u, sizeof *by_dpid);
    struct tg_numbered_thread *by_dtid = calloc(HASH_COUNT(numbers->threads) + 1u, sizeof *by_dtid);
    size_t n = 0, m = 0, kept = 0;
    if (by_dpid == NULL || by_dtid == NULL) {
        free(by_dpid);
        free(by_dtid);
        return tg_error_no_memory();
    }
    for (const struct process *process = numbers->processes; process != NULL; process = process->hh.next)
        by_dpid[n++] = process->public;
    for (const struct thread *thread = numbers->threads; thread != NULL; thread = thread->hh.next)
        by_dtid[m++] = thread->public;
    qsort(by_dpid, n, sizeof *by_dpid, compare_processes);
    qsort(by_dtid, m, sizeof *by_dtid, compare_threads);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || by_dpid[kept - 1].dpid != by_dpid[i].dpid)
            by_dpid[kept++] = by_dpid[i];
    *n_processes = kept;
    kept = 0;
    for (size_t i = 0; i < m; i++)
        if (kept == 0 || by_dtid[kept - 1].dpid != by_dtid[i].dpid ||
            by_dtid[kept - 1].dtid != by_dtid[i].dtid)
            by_dtid[kept++] = by_dtid[i];
    *n_threads = kept;
    *processes = by_dpid;
    *threads = by_dtid;
    return NULL;
}
