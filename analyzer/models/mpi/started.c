#include "analyzer/models/mpi/started.h"

#include "analyzer/models/mpi/collectives.h"
#include "analyzer/models/mpi/request_key.h"
#include "format/base/hash.h"

#include <stdlib.h>

struct tg_mpi_started_entry {
    struct tg_mpi_request_key key;
    struct tg_mpi_started public;
    UT_hash_handle hh;
};

static void drop(struct tg_mpi_started_calls *calls, struct tg_mpi_started_entry *entry)
{
    HASH_DEL(calls->entries, entry);
    free(entry);
}

void tg_mpi_started_calls_deinit(struct tg_mpi_started_calls *calls)
{
    struct tg_mpi_started_entry *entry, *next;
    HASH_ITER (hh, calls->entries, entry, next)
        drop(calls, entry);
}

struct tg_error *tg_mpi_started_calls_copy(const struct tg_mpi_started_calls *from,
                                           struct tg_mpi_started_calls *to)
{
    struct tg_error *error = NULL;
    const struct tg_mpi_started_entry *entry = from->entries;
    for (; error == NULL && entry != NULL; entry = entry->hh.next)
        error = tg_mpi_started_calls_add(to, &entry->public);
    return error;
}

struct tg_error *tg_mpi_started_calls_add(struct tg_mpi_started_calls *calls,
                                          const struct tg_mpi_started *started)
{
    if (HASH_COUNT(calls->entries) >= TG_MPI_MAX_COLLECTIVES)
        drop(calls, calls->entries);
    const struct tg_mpi_request_key key = tg_mpi_request_key(started->process, started->request);
    struct tg_mpi_started_entry *added;
    struct tg_error *error = TG_HASH_CREATE(hh, calls->entries, key, &key, added);
    if (error == NULL)
        added->public = *started;
    return error;
}

static struct tg_mpi_started_entry *find(const struct tg_mpi_started_calls *calls, size_t process,
                                         uint64_t request)
{
    const struct tg_mpi_request_key key = tg_mpi_request_key(process, request);
    struct tg_mpi_started_entry *found;
    HASH_FIND(hh, calls->entries, &key, sizeof key, found);
    return found;
}

struct tg_mpi_started *tg_mpi_started_calls_find(const struct tg_mpi_started_calls *calls, size_t process,
                                                 uint64_t request)
{
    struct tg_mpi_started_entry *found = find(calls, process, request);
    return found == NULL ? NULL : &found->public;
}

struct tg_error *tg_mpi_started_calls_visit(const struct tg_mpi_started_calls *calls,
                                            struct tg_error *(*visit)(void *context,
                                                                      const struct tg_mpi_started *started),
                                            void *context)
{
    struct tg_error *error = NULL;
    const struct tg_mpi_started_entry *entry = calls->entries;
    for (; error == NULL && entry != NULL; entry = entry->hh.next)
        if (entry->public.is_active)
            error = visit(context, &entry->public);
    return error;
}

bool tg_mpi_started_calls_take(struct tg_mpi_started_calls *calls, size_t process, uint64_t request,
                               struct tg_mpi_started *started)
{
    struct tg_mpi_started_entry *found = find(calls, process, request);
    if (found == NULL || !found->public.is_active)
        return false;
    *started = found->public;
    if (found->public.is_persistent)
        found->public.is_active = false;
    else
        drop(calls, found);
    return true;
}

void tg_mpi_started_calls_forget(struct tg_mpi_started_calls *calls, size_t process, uint64_t request)
{
    struct tg_mpi_started_entry *found = find(calls, process, request);
    if (found != NULL)
        drop(calls, found);
}
