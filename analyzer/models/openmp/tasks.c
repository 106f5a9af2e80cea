#include "analyzer/models/openmp/tasks.h"

#include "format/base/array.h"
#include "format/base/hash.h"

#include <stdlib.h>
#include <string.h>

struct tg_openmp_task_entry *tg_openmp_tasks_find(const struct tg_openmp_tasks *tasks, size_t process,
                                                  uint64_t id)
{
    struct tg_openmp_task_key key;
    struct tg_openmp_task_entry *entry;
    memset(&key, 0, sizeof key);
    key.process = process;
    key.id = id;
    HASH_FIND(hh, tasks->entries, &key, sizeof key, entry);
    return entry;
}

static void free_entry(struct tg_openmp_task_entry *entry)
{
    free(entry->places);
    free(entry->dependences);
    free(entry);
}

void tg_openmp_tasks_drop(struct tg_openmp_tasks *tasks, struct tg_openmp_task_entry *task)
{
    if (task == NULL)
        return;
    HASH_DEL(tasks->entries, task);
    free_entry(task);
}

void tg_openmp_tasks_deinit(struct tg_openmp_tasks *tasks)
{
    struct tg_openmp_task_entry *entry, *next;
    HASH_ITER (hh, tasks->entries, entry, next)
        tg_openmp_tasks_drop(tasks, entry);
}

void tg_openmp_tasks_drop_process(struct tg_openmp_tasks *tasks, size_t process)
{
    struct tg_openmp_task_entry *entry, *next;
    HASH_ITER (hh, tasks->entries, entry, next)
        if (entry->key.process == process)
            tg_openmp_tasks_drop(tasks, entry);
}

struct tg_error *tg_openmp_tasks_get(struct tg_openmp_tasks *tasks, size_t process, uint64_t id,
                                     struct tg_openmp_task_entry **task)
{
    *task = tg_openmp_tasks_find(tasks, process, id);
    if (*task != NULL || HASH_COUNT(tasks->entries) >= TG_OPENMP_MAX_TASKS)
        return NULL;
    struct tg_openmp_task_entry *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->key.process = process;
    made->key.id = id;
    made->public =
        (struct tg_openmp_task){.process = process, .id = id, .creator = SIZE_MAX, .runner = SIZE_MAX};
    struct tg_error *error = TG_HASH_ADD(hh, tasks->entries, key, made);
    if (error != NULL) {
        free(made);
        return error;
    }
    *task = made;
    return NULL;
}

struct tg_error *tg_openmp_task_depend(struct tg_openmp_task_entry *task, const struct tg_list *dependences)
{
    size_t count = dependences->count < TG_OPENMP_MAX_DEPENDENCES ? (size_t)dependences->count
                                                                  : TG_OPENMP_MAX_DEPENDENCES;
    size_t capacity = 0;
    if (count == 0 || task->dependences != NULL)
        return NULL;
    struct tg_error *error = TG_ARRAY_COPY(task->dependences, task->public.n_dependences, capacity,
                                           (const struct tg_omp_dependence *)dependences->items, count);
    task->public.dependences = task->dependences;
    return error;
}

struct tg_error *tg_openmp_task_put(struct tg_openmp_task_entry *task, const struct tg_openmp_place *places,
                                    size_t count)
{
    size_t capacity = 0;
    free(task->places);
    task->places = NULL;
    task->n_places = 0;
    struct tg_error *error =
        count == 0 ? NULL : TG_ARRAY_COPY(task->places, task->n_places, capacity, places, count);
    task->public.places = task->places;
    task->public.n_places = task->n_places;
    return error;
}

static struct tg_error *copy_task(const struct tg_openmp_task_entry *from, struct tg_openmp_tasks *to)
{
    struct tg_openmp_task_entry *task;
    const struct tg_list dependences = {.items = from->dependences, .count = from->public.n_dependences};
    struct tg_error *error = tg_openmp_tasks_get(to, from->key.process, from->key.id, &task);
    if (error != NULL || task == NULL)
        return error;
    task->public = from->public;
    task->public.dependences = NULL;
    task->public.n_dependences = 0;
    error = tg_openmp_task_depend(task, &dependences);
    return error != NULL ? error : tg_openmp_task_put(task, from->places, from->n_places);
}

struct tg_error *tg_openmp_tasks_copy(const struct tg_openmp_tasks *from, struct tg_openmp_tasks *to)
{
    struct tg_error *error = NULL;
    const struct tg_openmp_task_entry *task = from->entries;
    for (; error == NULL && task != NULL; task = task->hh.next)
        error = copy_task(task, to);
    return error;
}
