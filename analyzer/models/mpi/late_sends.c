#include "analyzer/models/mpi/late_sends.h"

#include "format/base/array.h"
#include "format/base/hash.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_PAIRS = 1 << 16 };

struct key {
    struct tg_mpi_late_end receive, send;
};

struct entry {
    struct key key;
    struct tg_mpi_late_send public;
    UT_hash_handle hh;
};

struct thread_key {
    size_t process;
    uint64_t tid;
};

/* The latest call of a thread that received something late. */
struct waiter {
    struct thread_key key;
    uint64_t since_ns; /* of the call; 0: none */
    uint64_t waited_ns;
    struct key pair;
    UT_hash_handle hh;
};

struct tg_mpi_late_sends {
    struct entry **items;
    size_t count, capacity;
    struct entry *table;
    struct waiter *waiters;
    uint64_t beyond_calls, beyond_ns;
};

struct tg_error *tg_mpi_late_sends_create(struct tg_mpi_late_sends **late)
{
    *late = calloc(1, sizeof **late);
    return *late == NULL ? tg_error_no_memory() : NULL;
}

void tg_mpi_late_sends_destroy(struct tg_mpi_late_sends *late)
{
    if (late == NULL)
        return;
    struct waiter *waiter, *next;
    HASH_ITER (hh, late->waiters, waiter, next) {
        HASH_DEL(late->waiters, waiter);
        free(waiter);
    }
    HASH_CLEAR(hh, late->table);
    for (size_t i = 0; i < late->count; i++)
        free(late->items[i]);
    free(late->items);
    free(late);
}

/* The pair KEY in *FOUND; NULL: one too many. Only error: NO_MEMORY. */
static struct tg_error *find(struct tg_mpi_late_sends *late, const struct key *key, struct entry **found)
{
    HASH_FIND(hh, late->table, key, sizeof *key, *found);
    if (*found != NULL || late->count >= MAX_PAIRS)
        return NULL;
    struct tg_error *error = TG_ARRAY_RESERVE(late->items, late->capacity, late->count + 1);
    if (error == NULL)
        error = TG_HASH_CREATE(hh, late->table, key, key, *found);
    if (error != NULL)
        return error;
    (*found)->public = (struct tg_mpi_late_send){.receive = key->receive, .send = key->send};
    late->items[late->count++] = *found;
    return NULL;
}

/* Counts the call of WAITER, all of whose messages are known. */
static struct tg_error *settle(struct tg_mpi_late_sends *late, struct waiter *waiter)
{
    struct entry *found;
    if (waiter->since_ns == 0)
        return NULL;
    struct tg_error *error = find(late, &waiter->pair, &found);
    if (error != NULL)
        return error;
    if (found == NULL) {
        late->beyond_calls++;
        late->beyond_ns += waiter->waited_ns;
    } else {
        struct tg_mpi_late_send *counted = &found->public;
        counted->calls++;
        counted->total_ns += waiter->waited_ns;
        if (waiter->waited_ns > counted->longest_ns)
            counted->longest_ns = waiter->waited_ns;
    }
    waiter->since_ns = 0;
    return NULL;
}

struct tg_error *tg_mpi_late_sends_add(struct tg_mpi_late_sends *late, const struct tg_mpi_delivery *delivery)
{
    const struct tg_mpi_thread *by = delivery->by;
    const struct tg_mpi_message *sent = delivery->sent;
    uint64_t since_ns = by->call.since_ns;
    if (since_ns == 0 || sent->since_ns <= since_ns || sent->since_ns > delivery->time_ns)
        return NULL;
    struct thread_key key = {by->process, (uint32_t)by->tid};
    struct waiter *waiter = NULL;
    HASH_FIND(hh, late->waiters, &key, sizeof key, waiter);
    struct tg_error *error = waiter == NULL ? TG_HASH_CREATE(hh, late->waiters, key, &key, waiter) : NULL;
    if (error == NULL && waiter->since_ns != since_ns)
        error = settle(late, waiter);
    if (error != NULL)
        return error;
    uint64_t waited_ns = sent->since_ns - since_ns;
    if (waiter->since_ns == since_ns && waited_ns <= waiter->waited_ns)
        return NULL;
    waiter->since_ns = since_ns;
    waiter->waited_ns = waited_ns;
    memset(&waiter->pair, 0, sizeof waiter->pair);
    waiter->pair.receive.process = by->process;
    waiter->pair.receive.name = by->call.name;
    waiter->pair.receive.code = by->call.code;
    waiter->pair.send.process = sent->process;
    waiter->pair.send.name = sent->name;
    waiter->pair.send.code = sent->code;
    return NULL;
}

struct tg_error *tg_mpi_late_sends_end(struct tg_mpi_late_sends *late)
{
    struct tg_error *error = NULL;
    struct waiter *waiter, *next;
    HASH_ITER (hh, late->waiters, waiter, next)
        error = error != NULL ? error : settle(late, waiter);
    return error;
}

size_t tg_mpi_late_sends_count(const struct tg_mpi_late_sends *late)
{
    return late->count;
}

const struct tg_mpi_late_send *tg_mpi_late_sends_at(const struct tg_mpi_late_sends *late, size_t i)
{
    return &late->items[i]->public;
}

void tg_mpi_late_sends_beyond(const struct tg_mpi_late_sends *late, uint64_t *calls, uint64_t *total_ns)
{
    *calls = late->beyond_calls;
    *total_ns = late->beyond_ns;
}
