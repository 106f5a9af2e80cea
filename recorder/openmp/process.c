#include "recorder/openmp/process.h"

#include "format/base/array.h"
#include "format/base/hash.h"

#include <stdlib.h>
#include <string.h>

/* ---- works */

bool tg_openmp_works_add(struct tg_openmp_works *works, const struct tg_openmp_work *work)
{
    return works->count < TG_OPENMP_MAX_OPEN &&
           TG_ARRAY_APPEND(works->items, works->count, works->capacity, *work) == NULL;
}

bool tg_openmp_works_take(struct tg_openmp_works *works, uint64_t id, uint64_t body,
                          struct tg_openmp_work *work)
{
    for (size_t i = 0; i < works->count; i++) {
        if (works->items[i].body != body || (id != 0 && works->items[i].id != id))
            continue;
        *work = works->items[i];
        TG_ARRAY_REMOVE(works->items, works->count, i);
        return true;
    }
    return false;
}

static bool copy_works(struct tg_openmp_works *copy, const struct tg_openmp_works *works)
{
    for (size_t i = 0; i < works->count; i++)
        if (!tg_openmp_works_add(copy, &works->items[i]))
            return false;
    return true;
}

/* ---- processes */

struct tg_openmp_process *tg_openmp_process_create(void)
{
    return calloc(1, sizeof(struct tg_openmp_process));
}

void tg_openmp_process_destroy(struct tg_openmp_process *process)
{
    if (process == NULL)
        return;
    struct tg_openmp_site *site, *next_site;
    HASH_ITER (hh, process->sites, site, next_site) {
        HASH_DEL(process->sites, site);
        free(site);
    }
    struct tg_openmp_thread *thread, *next_thread;
    HASH_ITER (hh, process->threads, thread, next_thread) {
        HASH_DEL(process->threads, thread);
        free(thread);
    }
    free(process->regions.items);
    free(process->tasks.items);
    free(process);
}

static struct tg_openmp_thread *find_thread(const struct tg_openmp_process *process, pid_t tid)
{
    struct tg_openmp_thread *thread;
    HASH_FIND(hh, process->threads, &tid, sizeof tid, thread);
    return thread;
}

static bool copy_thread(struct tg_openmp_process *copy, const struct tg_openmp_thread *thread, pid_t tid)
{
    struct tg_openmp_thread *twin = thread == NULL ? NULL : tg_openmp_process_thread(copy, tid);
    if (twin == NULL)
        return thread == NULL;
    memcpy(twin->calls, thread->calls, sizeof twin->calls);
    memcpy(twin->frames, thread->frames, sizeof twin->frames);
    twin->n_calls = thread->n_calls;
    twin->n_frames = thread->n_frames;
    return true;
}

struct tg_openmp_process *tg_openmp_process_copy(const struct tg_openmp_process *process, pid_t from,
                                                 pid_t to)
{
    struct tg_openmp_process *copy = tg_openmp_process_create();
    if (copy == NULL)
        return NULL;
    copy->wanted = process->wanted;
    copy->looks = process->looks;
    copy->knows_thread_num = process->knows_thread_num;
    copy->thread_num_offset = process->thread_num_offset;
    copy->runtime_start = process->runtime_start;
    copy->runtime_end = process->runtime_end;
    copy->last_team = process->last_team;
    copy->last_task = process->last_task;
    bool is_whole = copy_works(&copy->regions, &process->regions) &&
                    copy_works(&copy->tasks, &process->tasks) &&
                    copy_thread(copy, find_thread(process, from), to);
    for (const struct tg_openmp_site *site = process->sites; is_whole && site != NULL; site = site->hh.next)
        is_whole = tg_openmp_process_add_site(copy, site->address, site->entry) != NULL;
    if (!is_whole) {
        tg_openmp_process_destroy(copy);
        return NULL;
    }
    return copy;
}

struct tg_openmp_site *tg_openmp_process_add_site(struct tg_openmp_process *process, uint64_t address,
                                                  const struct tg_gomp_entry *entry)
{
    struct tg_openmp_site *site;
    if (TG_HASH_CREATE(hh, process->sites, address, &address, site) == NULL)
        site->entry = entry;
    return site;
}

const struct tg_openmp_site *tg_openmp_process_site(const struct tg_openmp_process *process, uint64_t address)
{
    struct tg_openmp_site *site;
    HASH_FIND(hh, process->sites, &address, sizeof address, site);
    return site;
}

/* ---- threads */

struct tg_openmp_thread *tg_openmp_process_thread(struct tg_openmp_process *process, pid_t tid)
{
    struct tg_openmp_thread *thread = find_thread(process, tid);
    if (thread == NULL && TG_HASH_CREATE(hh, process->threads, tid, &tid, thread) == NULL)
        thread->n_frames = 1;
    return thread;
}

void tg_openmp_process_end_thread(struct tg_openmp_process *process, pid_t tid)
{
    struct tg_openmp_thread *thread = find_thread(process, tid);
    if (thread == NULL)
        return;
    HASH_DEL(process->threads, thread);
    free(thread);
}

static bool is_region_body(const struct tg_openmp_call *call)
{
    return call->entry == NULL && !call->is_task;
}

void tg_openmp_thread_unwind(struct tg_openmp_thread *thread, uint64_t sp)
{
    while (thread->n_calls > 0 && thread->calls[thread->n_calls - 1].sp <= sp) {
        thread->n_calls--;
        if (is_region_body(&thread->calls[thread->n_calls]) && thread->n_frames > 1)
            thread->n_frames--;
    }
}

bool tg_openmp_thread_return(struct tg_openmp_thread *thread, uint64_t address, uint64_t sp,
                             struct tg_openmp_call *call)
{
    if (sp > 0)
        tg_openmp_thread_unwind(thread, sp - 1);
    if (thread->n_calls == 0)
        return false;
    const struct tg_openmp_call *top = &thread->calls[thread->n_calls - 1];
    if (top->return_address != address || top->sp != sp)
        return false;
    *call = *top;
    thread->n_calls--;
    return true;
}
