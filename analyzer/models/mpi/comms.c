#include "analyzer/models/mpi/comms.h"

#include <stdlib.h>
#include <string.h>

static void drop_comm(struct tg_mpi_comms *comms, struct tg_mpi_comm *comm)
{
    struct tg_mpi_comm_rank *rank, *next;
    HASH_DEL(comms->entries, comm);
    HASH_ITER (hh, comm->ranks, rank, next) {
        HASH_DEL(comm->ranks, rank);
        tg_mpi_sites_deinit(&rank->sites);
        free(rank);
    }
    free(comm->world_ranks);
    free(comm->other_ranks);
    free(comm);
}

void tg_mpi_comms_deinit(struct tg_mpi_comms *comms)
{
    struct tg_mpi_comm *comm, *next;
    HASH_ITER (hh, comms->entries, comm, next)
        drop_comm(comms, comm);
}

struct tg_mpi_comm *tg_mpi_comms_find(const struct tg_mpi_comms *comms, const char *job, uint64_t comm)
{
    struct tg_mpi_comm_key key;
    struct tg_mpi_comm *found;
    memset(&key, 0, sizeof key);
    key.job = job;
    key.comm = comm;
    HASH_FIND(hh, comms->entries, &key, sizeof key, found);
    return found;
}

static struct tg_error *get_comm(struct tg_mpi_comms *comms, const char *job, uint64_t id,
                                 struct tg_mpi_comm **comm)
{
    struct tg_mpi_comm *found = tg_mpi_comms_find(comms, job, id);
    if (found == NULL) {
        found = calloc(1, sizeof *found);
        if (found == NULL)
            return tg_error_no_memory();
        found->key.job = job;
        found->key.comm = id;
        HASH_ADD(hh, comms->entries, key, sizeof found->key, found);
        if (tg_mpi_comms_find(comms, job, id) != found) {
            free(found);
            return tg_error_no_memory();
        }
    }
    *comm = found;
    return NULL;
}

/* ---- ranks */

static struct tg_mpi_comm_rank *find_rank(const struct tg_mpi_comm *comm, size_t process)
{
    struct tg_mpi_comm_rank *found = NULL;
    if (comm != NULL)
        HASH_FIND(hh, comm->ranks, &process, sizeof process, found);
    return found;
}

static struct tg_error *get_rank(struct tg_mpi_comm *comm, size_t process, struct tg_mpi_comm_rank **rank)
{
    struct tg_mpi_comm_rank *found = find_rank(comm, process);
    if (found == NULL) {
        found = calloc(1, sizeof *found);
        if (found == NULL)
            return tg_error_no_memory();
        found->process = process;
        found->rank = -1;
        HASH_ADD(hh, comm->ranks, process, sizeof process, found);
        if (find_rank(comm, process) != found) {
            free(found);
            return tg_error_no_memory();
        }
    }
    *rank = found;
    return NULL;
}

static struct tg_error *set_rank(struct tg_mpi_comm *comm, size_t process, int64_t rank)
{
    struct tg_mpi_comm_rank *found;
    struct tg_error *error = get_rank(comm, process, &found);
    if (error == NULL)
        found->rank = rank;
    return error;
}

struct tg_error *tg_mpi_comm_come(struct tg_mpi_comm *comm, size_t process, const struct tg_mpi_call *call,
                                  uint64_t calls, uint64_t *nth)
{
    struct tg_mpi_comm_rank *found;
    struct tg_error *error = get_rank(comm, process, &found);
    if (error != NULL)
        return error;
    if (call->instance > found->last_instance)
        found->last_instance = call->instance;
    return tg_mpi_sites_come(&found->sites, call->name, call->code, call->instance, calls, call->since_ns,
                             nth);
}

const struct tg_mpi_sites *tg_mpi_comm_sites(const struct tg_mpi_comm *comm, size_t process)
{
    const struct tg_mpi_comm_rank *rank = find_rank(comm, process);
    return rank == NULL ? NULL : &rank->sites;
}

bool tg_mpi_comm_all_came(const struct tg_mpi_comm *comm, uint64_t instance)
{
    for (const struct tg_mpi_comm_rank *rank = comm->ranks; rank != NULL; rank = rank->hh.next)
        if (rank->last_instance < instance)
            return false;
    return true;
}

int64_t tg_mpi_comm_rank_of(const struct tg_mpi_comm *comm, size_t process)
{
    const struct tg_mpi_comm_rank *rank = find_rank(comm, process);
    return rank == NULL ? -1 : rank->rank;
}

size_t tg_mpi_comm_process_of(const struct tg_mpi_comm *comm, int64_t rank)
{
    for (const struct tg_mpi_comm_rank *of = comm == NULL ? NULL : comm->ranks; of != NULL; of = of->hh.next)
        if (of->rank == rank)
            return of->process;
    return SIZE_MAX;
}

unsigned tg_mpi_comm_group_of(const struct tg_mpi_comm *comm, size_t process, int64_t world_rank)
{
    const struct tg_mpi_comm_rank *own = comm->other_ranks == NULL ? NULL : find_rank(comm, process);
    if (own == NULL || own->rank < 0 || world_rank < 0)
        return 0;
    size_t rank = (size_t)own->rank;
    if (rank < comm->n_world_ranks && comm->world_ranks[rank] == world_rank)
        return 1;
    return rank < comm->n_other_ranks && comm->other_ranks[rank] == world_rank ? 2 : 0;
}

int64_t tg_mpi_comm_peer_of_group(const struct tg_mpi_comm *comm, unsigned group, int64_t rank)
{
    const int64_t *peers = group == 1 ? comm->other_ranks : comm->world_ranks;
    size_t count = group == 1 ? comm->n_other_ranks : comm->n_world_ranks;
    return group == 0 || rank < 0 || (uint64_t)rank >= count ? -1 : peers[rank];
}

/* ---- what processes say */

/* Rank 0 tells; of an intercommunicator that of each group. */
static struct tg_error *take_members(struct tg_mpi_comm *comm, const struct tg_list *members)
{
    const struct tg_mpi_member *items = members->items;
    bool is_second = comm->is_inter && comm->world_ranks != NULL && comm->other_ranks == NULL &&
                     members->count > 0 && items[0].world_rank != comm->world_ranks[0];
    if (members->count == 0 || (comm->world_ranks != NULL && !is_second))
        return NULL;
    int64_t *ranks = calloc(members->count, sizeof *ranks);
    if (ranks == NULL)
        return tg_error_no_memory();
    for (uint64_t i = 0; i < members->count; i++)
        ranks[i] = items[i].world_rank;
    *(is_second ? &comm->other_ranks : &comm->world_ranks) = ranks;
    *(is_second ? &comm->n_other_ranks : &comm->n_world_ranks) = members->count;
    return NULL;
}

/* Copies and parts of an intercommunicator are such, too; merged it is none. */
static bool is_inter(const struct tg_mpi_comms *comms, const char *job, const struct tg_event_mpi_comm *told)
{
    const struct tg_mpi_comm *parent = tg_mpi_comms_find(comms, job, told->parent);
    bool is_like_parent = told->origin == TG_MPI_COMM_DUP || told->origin == TG_MPI_COMM_SPLIT ||
                          told->origin == TG_MPI_COMM_CREATE;
    return told->origin == TG_MPI_COMM_SPAWN || told->origin == TG_MPI_COMM_INTERCOMM ||
           (is_like_parent && parent != NULL && parent->is_inter);
}

struct tg_error *tg_mpi_comms_take(struct tg_mpi_comms *comms, const char *job, size_t process,
                                   const struct tg_event_mpi_comm *told)
{
    struct tg_mpi_comm *comm;
    struct tg_error *error = get_comm(comms, job, told->comm, &comm);
    if (error == NULL && told->size > 0)
        comm->size = told->size;
    if (error == NULL) {
        comm->origin = (enum tg_mpi_comm_origin)told->origin;
        comm->parent = told->parent;
        comm->is_inter = is_inter(comms, job, told);
    }
    if (error == NULL && told->rank >= 0)
        error = set_rank(comm, process, told->rank);
    return error != NULL ? error : take_members(comm, &told->members);
}

void tg_mpi_comms_leave(struct tg_mpi_comms *comms, const char *job, uint64_t comm, size_t process)
{
    struct tg_mpi_comm *found = tg_mpi_comms_find(comms, job, comm);
    struct tg_mpi_comm_rank *rank = find_rank(found, process);
    if (rank == NULL)
        return;
    HASH_DEL(found->ranks, rank);
    tg_mpi_sites_deinit(&rank->sites);
    free(rank);
    if (found->ranks == NULL)
        drop_comm(comms, found);
}

/* ---- copies */

static struct tg_error *copy_ranks(const int64_t *from, size_t count, int64_t **to, size_t *n_to)
{
    if (from == NULL)
        return NULL;
    *to = malloc(count * sizeof **to);
    if (*to == NULL)
        return tg_error_no_memory();
    memcpy(*to, from, count * sizeof **to);
    *n_to = count;
    return NULL;
}

static struct tg_error *copy_comm(const struct tg_mpi_comm *from, struct tg_mpi_comms *to)
{
    struct tg_mpi_comm *comm;
    struct tg_error *error = get_comm(to, from->key.job, from->key.comm, &comm);
    const struct tg_mpi_comm_rank *rank = from->ranks;
    for (; error == NULL && rank != NULL; rank = rank->hh.next) {
        struct tg_mpi_comm_rank *made;
        error = get_rank(comm, rank->process, &made);
        if (error != NULL)
            break;
        made->rank = rank->rank;
        made->last_instance = rank->last_instance;
        error = tg_mpi_sites_copy(&rank->sites, &made->sites);
    }
    if (error != NULL)
        return error;
    comm->size = from->size;
    comm->lockstep = from->lockstep;
    comm->origin = from->origin;
    comm->parent = from->parent;
    comm->name = from->name;
    comm->is_inter = from->is_inter;
    error = copy_ranks(from->world_ranks, from->n_world_ranks, &comm->world_ranks, &comm->n_world_ranks);
    return error != NULL
               ? error
               : copy_ranks(from->other_ranks, from->n_other_ranks, &comm->other_ranks, &comm->n_other_ranks);
}

struct tg_error *tg_mpi_comms_copy(const struct tg_mpi_comms *from, struct tg_mpi_comms *to)
{
    struct tg_error *error = NULL;
    for (const struct tg_mpi_comm *comm = from->entries; error == NULL && comm != NULL; comm = comm->hh.next)
        error = copy_comm(comm, to);
    return error;
}
