#include "analyzer/models/mpi_collectives.h"

#include "format/base/array.h"
#include "format/base/hash.h"

#include <stdlib.h>
#include <string.h>

static void drop(struct tg_mpi_collectives *collectives, struct tg_mpi_collective_entry *entry)
{
    HASH_DEL(collectives->entries, entry);
    free(entry->comers);
    free(entry);
}

void tg_mpi_collectives_deinit(struct tg_mpi_collectives *collectives)
{
    struct tg_mpi_collective_entry *entry, *next;
    HASH_ITER (hh, collectives->entries, entry, next)
        drop(collectives, entry);
}

static struct tg_mpi_collective_key key_of(const char *job, const struct tg_mpi_call *call)
{
    struct tg_mpi_collective_key key;
    memset(&key, 0, sizeof key);
    key.job = job;
    key.comm = call->comm;
    key.instance = call->instance;
    return key;
}

static struct tg_mpi_collective_entry *find(const struct tg_mpi_collectives *collectives,
                                            const struct tg_mpi_collective_key *key)
{
    struct tg_mpi_collective_entry *found;
    HASH_FIND(hh, collectives->entries, key, sizeof *key, found);
    return found;
}

static struct tg_error *get(struct tg_mpi_collectives *collectives, const char *job,
                            const struct tg_mpi_comm *comm, const struct tg_mpi_call *call,
                            struct tg_mpi_collective_entry **entry)
{
    const struct tg_mpi_collective_key key = key_of(job, call);
    struct tg_mpi_collective_entry *found = find(collectives, &key);
    if (found == NULL) {
        if (HASH_COUNT(collectives->entries) >= TG_MPI_MAX_COLLECTIVES)
            drop(collectives, collectives->entries);
        found = calloc(1, sizeof *found);
        if (found == NULL)
            return tg_error_no_memory();
        found->key = key;
        found->public = (struct tg_mpi_collective){.job = job,
                                                   .name = call->name,
                                                   .comm = call->comm,
                                                   .instance = call->instance,
                                                   .root = call->root,
                                                   .first_ns = call->since_ns,
                                                   .size = comm == NULL ? 0 : comm->size};
        HASH_ADD(hh, collectives->entries, key, sizeof found->key, found);
        if (find(collectives, &key) != found) {
            free(found);
            return tg_error_no_memory();
        }
    }
    *entry = found;
    return NULL;
}

static struct tg_mpi_comer *find_comer(const struct tg_mpi_collective_entry *entry, size_t process)
{
    for (uint64_t i = 0; i < entry->public.n_entered; i++)
        if (entry->comers[i].process == process)
            return &entry->comers[i];
    return NULL;
}

struct tg_error *tg_mpi_collectives_enter(struct tg_mpi_collectives *collectives, const char *job,
                                          struct tg_mpi_comm *comm, size_t process,
                                          const struct tg_mpi_call *call, bool *again)
{
    struct tg_mpi_collective_entry *entry;
    struct tg_error *error = comm == NULL ? NULL : tg_mpi_comm_come(comm, process, call->instance);
    if (error == NULL)
        error = get(collectives, job, comm, call, &entry);
    if (error != NULL)
        return error;
    *again = find_comer(entry, process) != NULL;
    if (*again)
        return NULL;
    size_t count = (size_t)entry->public.n_entered;
    error = TG_ARRAY_RESERVE(entry->comers, entry->capacity, count + 1);
    if (error != NULL)
        return error;
    entry->comers[count] = (struct tg_mpi_comer){.process = process,
                                                 .entered_ns = call->since_ns,
                                                 .code = call->code,
                                                 .name = call->name,
                                                 .root = call->root};
    entry->public.n_entered++;
    entry->public.last_ns = call->since_ns;
    entry->public.differs |= strcmp(entry->public.name, call->name) != 0 ||
                             (entry->public.root >= 0 && call->root >= 0 && entry->public.root != call->root);
    return NULL;
}

void tg_mpi_collectives_leave(struct tg_mpi_collectives *collectives, const char *job,
                              const struct tg_mpi_comm *comm, size_t process, const struct tg_mpi_call *call,
                              uint64_t time_ns)
{
    const struct tg_mpi_collective_key key = key_of(job, call);
    struct tg_mpi_collective_entry *entry = find(collectives, &key);
    struct tg_mpi_comer *comer = entry == NULL ? NULL : find_comer(entry, process);
    if (comer == NULL || comer->left_ns != 0)
        return;
    comer->left_ns = time_ns;
    entry->public.n_left++;
    bool is_whole = entry->public.size > 0 && entry->public.n_left >= (uint64_t)entry->public.size;
    if (is_whole || (entry->public.n_left == entry->public.n_entered &&
                     (comm == NULL || tg_mpi_comm_all_came(comm, key.instance))))
        drop(collectives, entry);
}

/* ---- copies */

static struct tg_error *copy_entry(const struct tg_mpi_collective_entry *from, struct tg_mpi_collectives *to)
{
    struct tg_mpi_collective_entry *entry = calloc(1, sizeof *entry);
    if (entry == NULL)
        return tg_error_no_memory();
    entry->key = from->key;
    entry->public = from->public;
    size_t count = 0;
    struct tg_error *error =
        TG_ARRAY_COPY(entry->comers, count, entry->capacity, from->comers, (size_t)from->public.n_entered);
    if (error == NULL)
        error = TG_HASH_ADD(hh, to->entries, key, entry);
    if (error != NULL) {
        free(entry->comers);
        free(entry);
    }
    return error;
}

struct tg_error *tg_mpi_collectives_copy(const struct tg_mpi_collectives *from, struct tg_mpi_collectives *to)
{
    struct tg_error *error = NULL;
    const struct tg_mpi_collective_entry *entry = from->entries;
    for (; error == NULL && entry != NULL; entry = entry->hh.next)
        error = copy_entry(entry, to);
    return error;
}

/* ---- arrivals */

static struct tg_mpi_arrival arrival_of(const struct tg_mpi_comm *comm, const struct tg_mpi_comer *comer)
{
    int64_t rank = tg_mpi_comm_rank_of(comm, comer->process);
    bool is_told = comm != NULL && rank >= 0 && (uint64_t)rank < comm->n_world_ranks;
    return (struct tg_mpi_arrival){
        .standing = comer->left_ns == 0 ? TG_MPI_WAITING : TG_MPI_PASSED,
        .comm_rank = rank,
        .world_rank = is_told ? comm->world_ranks[rank] : -1,
        .process = comer->process,
        .entered_ns = comer->entered_ns,
        .left_ns = comer->left_ns,
        .code = comer->code,
        .name = comer->name,
        .root = comer->root,
    };
}

/* As if nobody were known to have come but those who are beyond it. */
static void fill_missing(const struct tg_mpi_comm *comm, uint64_t instance, struct tg_mpi_arrival *arrivals,
                         size_t count)
{
    for (size_t i = 0; i < count; i++)
        arrivals[i] =
            (struct tg_mpi_arrival){.standing = TG_MPI_MISSING,
                                    .comm_rank = (int64_t)i,
                                    .world_rank = i < comm->n_world_ranks ? comm->world_ranks[i] : -1,
                                    .process = SIZE_MAX};
    for (const struct tg_mpi_comm_rank *rank = comm->ranks; rank != NULL; rank = rank->hh.next) {
        if ((uint64_t)rank->rank >= count || arrivals[rank->rank].process != SIZE_MAX)
            continue;
        arrivals[rank->rank].process = rank->process;
        if (rank->last_instance >= instance) /* and it is not among those that are still there */
            arrivals[rank->rank].standing = TG_MPI_PASSED;
    }
}

struct tg_mpi_arrival *tg_mpi_collective_arrivals(const struct tg_mpi_collective_entry *entry,
                                                  const struct tg_mpi_comm *comm, size_t *count)
{
    enum { MAX_RANKS = 1 << 20 };
    size_t n_comers = (size_t)entry->public.n_entered;
    bool by_rank =
        comm != NULL && comm->size > 0 && comm->size <= MAX_RANKS && (uint64_t)comm->size >= n_comers;
    size_t n = by_rank ? (size_t)comm->size : n_comers;
    struct tg_mpi_arrival *arrivals = calloc(n + 1, sizeof *arrivals);
    if (arrivals == NULL)
        return NULL;
    if (by_rank)
        fill_missing(comm, entry->key.instance, arrivals, n);
    for (size_t i = 0; i < n_comers; i++) {
        const struct tg_mpi_arrival arrival = arrival_of(comm, &entry->comers[i]);
        if (!by_rank)
            arrivals[i] = arrival;
        else if (arrival.comm_rank >= 0 && (uint64_t)arrival.comm_rank < n)
            arrivals[arrival.comm_rank] = arrival;
    }
    *count = n;
    return arrivals;
}
