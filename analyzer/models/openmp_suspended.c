#include "analyzer/models/openmp_suspended.h"

#include "format/base/array.h"
#include "format/base/hash.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

struct suspended_key {
    size_t process;
    uint64_t task;
};

struct tg_openmp_suspended_entry {
    struct suspended_key key;
    struct tg_openmp_place *places;
    size_t count;
    UT_hash_handle hh;
};

static struct tg_openmp_suspended_entry *find(const struct tg_openmp_suspended *suspended, size_t process,
                                              uint64_t task)
{
    const struct suspended_key key = {.process = process, .task = task};
    struct tg_openmp_suspended_entry *entry;
    HASH_FIND(hh, suspended->entries, &key, sizeof key, entry);
    return entry;
}

static void drop(struct tg_openmp_suspended *suspended, struct tg_openmp_suspended_entry *entry)
{
    HASH_DEL(suspended->entries, entry);
    free(entry->places);
    free(entry);
}

void tg_openmp_suspended_deinit(struct tg_openmp_suspended *suspended)
{
    struct tg_openmp_suspended_entry *entry, *next;
    HASH_ITER (hh, suspended->entries, entry, next)
        drop(suspended, entry);
}

struct tg_error *tg_openmp_suspended_copy(const struct tg_openmp_suspended *from,
                                          struct tg_openmp_suspended *to)
{
    struct tg_error *error = NULL;
    const struct tg_openmp_suspended_entry *entry = from->entries;
    for (; error == NULL && entry != NULL; entry = entry->hh.next)
        error = tg_openmp_suspended_put(to, entry->key.process, entry->key.task, entry->places, entry->count);
    return error;
}

struct tg_error *tg_openmp_suspended_put(struct tg_openmp_suspended *suspended, size_t process, uint64_t task,
                                         const struct tg_openmp_place *places, size_t count)
{
    struct tg_openmp_suspended_entry *entry = find(suspended, process, task);
    if (entry != NULL)
        drop(suspended, entry);
    if (count == 0 || HASH_COUNT(suspended->entries) >= TG_OPENMP_MAX_SUSPENDED)
        return NULL;
    entry = calloc(1, sizeof *entry);
    if (entry == NULL)
        return tg_error_no_memory();
    size_t capacity = 0;
    entry->key = (struct suspended_key){.process = process, .task = task};
    struct tg_error *error = TG_ARRAY_COPY(entry->places, entry->count, capacity, places, count);
    if (error == NULL)
        error = TG_HASH_ADD(hh, suspended->entries, key, entry);
    if (error != NULL) {
        free(entry->places);
        free(entry);
    }
    return error;
}

struct tg_openmp_place *tg_openmp_suspended_take(struct tg_openmp_suspended *suspended, size_t process,
                                                 uint64_t task, size_t *count)
{
    struct tg_openmp_suspended_entry *entry = find(suspended, process, task);
    struct tg_openmp_place *places = entry == NULL ? NULL : entry->places;
    *count = entry == NULL ? 0 : entry->count;
    if (entry != NULL) {
        HASH_DEL(suspended->entries, entry);
        free(entry);
    }
    return places;
}

void tg_openmp_suspended_drop_process(struct tg_openmp_suspended *suspended, size_t process)
{
    struct tg_openmp_suspended_entry *entry, *next;
    HASH_ITER (hh, suspended->entries, entry, next)
        if (entry->key.process == process)
            drop(suspended, entry);
}
