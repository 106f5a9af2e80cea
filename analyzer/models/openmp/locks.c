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
    size_t holder; /* SIZE_MAX: nobody */
    UT_hash_handle hh;
};

/* Where the lock of KEY is if it was found lately. */
static struct tg_openmp_lock_entry **find_recent(struct tg_openmp_locks *locks, const struct lock_key *key)
{
    uint64_t sum = key->lock + (key->lock >> 6) + (key->lock >> 12) + key->process * 31 + key->mutex * 7;
    return &locks->recent[sum % (sizeof locks->recent / sizeof *locks->recent)];
}

static struct tg_openmp_lock_entry *find(struct tg_openmp_locks *locks, const struct lock_key *key)
{
    struct tg_openmp_lock_entry **recent = find_recent(locks, key), *entry = *recent;
    if (entry != NULL && entry->key.lock == key->lock && entry->key.process == key->process &&
        entry->key.mutex == key->mutex)
        return entry;
    HASH_FIND(hh, locks->entries, key, sizeof *key, entry);
    if (entry != NULL)
        *recent = entry;
    return entry;
}

static void drop(struct tg_openmp_locks *locks, struct tg_openmp_lock_entry *entry)
{
    struct tg_openmp_lock_entry **recent = find_recent(locks, &entry->key);
    if (*recent == entry)
        *recent = NULL;
    locks->n_left -= entry->holder == SIZE_MAX;
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
        if (entry->holder == SIZE_MAX)
            continue;
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
    bool has_room = HASH_COUNT(locks->entries) - locks->n_left < TG_OPENMP_MAX_LOCKS;
    if (entry == NULL && has_room) {
        struct tg_error *error = TG_HASH_CREATE(hh, locks->entries, key, &key, entry);
        if (error != NULL)
            return error;
    } else if (*former == SIZE_MAX && entry != NULL) {
        if (!has_room)
            return NULL;
        locks->n_left--;
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
    if (entry == NULL || entry->holder != worker)
        return;
    if (locks->n_left >= TG_OPENMP_MAX_LEFT_LOCKS) {
        drop(locks, entry);
        return;
    }
    entry->holder = SIZE_MAX;
    locks->n_left++;
}
