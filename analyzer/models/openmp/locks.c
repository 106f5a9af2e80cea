#include "analyzer/models/openmp/locks.h"

#include "format/base/hash.h"

#include <stdlib.h>
#include <string.h>

struct lock_key {
    size_t process;
    uint64_t mutex, lock;
};

struct tg_openmp_lock_entry {
    struct lock_key key;
    size_t holder;
    UT_hash_handle hh;
};

static struct tg_openmp_lock_entry *find(const struct tg_openmp_locks *locks, const struct lock_key *key)
{
    struct tg_openmp_lock_entry *entry;
    HASH_FIND(hh, locks->entries, key, sizeof *key, entry);
    return entry;
}

static void drop(struct tg_openmp_locks *locks, struct tg_openmp_lock_entry *entry)
{
    HASH_DEL(locks->entries, entry);
    free(entry);
}

void tg_openmp_locks_deinit(struct tg_openmp_locks *locks)
{
    struct tg_openmp_lock_entry *entry, *next;
    HASH_ITER (hh, locks->entries, entry, next)
        drop(locks, entry);
}

void tg_openmp_locks_drop_process(struct tg_openmp_locks *locks, size_t process)
{
    struct tg_openmp_lock_entry *entry, *next;
    HASH_ITER (hh, locks->entries, entry, next)
        if (entry->key.process == process)
            drop(locks, entry);
}

struct tg_error *tg_openmp_locks_copy(const struct tg_openmp_locks *from, struct tg_openmp_locks *to)
{
    struct tg_error *error = NULL;
    const struct tg_openmp_lock_entry *entry = from->entries;
    for (; error == NULL && entry != NULL; entry = entry->hh.next) {
        size_t former;
        error = tg_openmp_locks_enter(to, entry->key.process, entry->key.mutex, entry->key.lock,
                                      entry->holder, &former);
    }
    return error;
}

struct tg_error *tg_openmp_locks_enter(struct tg_openmp_locks *locks, size_t process, uint64_t mutex,
                                       uint64_t lock, size_t worker, size_t *former)
{
    const struct lock_key key = {.process = process, .mutex = mutex, .lock = lock};
    struct tg_openmp_lock_entry *entry = find(locks, &key);
    *former = entry == NULL ? SIZE_MAX : entry->holder;
    if (entry == NULL && HASH_COUNT(locks->entries) < TG_OPENMP_MAX_LOCKS) {
        struct tg_error *error = TG_HASH_CREATE(hh, locks->entries, key, &key, entry);
        if (error != NULL)
            return error;
    }
    if (entry != NULL)
        entry->holder = worker;
    return NULL;
}

void tg_openmp_locks_leave(struct tg_openmp_locks *locks, size_t process, uint64_t mutex, uint64_t lock,
                           size_t worker)
{
    const struct lock_key key = {.process = process, .mutex = mutex, .lock = lock};
    struct tg_openmp_lock_entry *entry = find(locks, &key);
    if (entry != NULL && entry->holder == worker)
        drop(locks, entry);
}
