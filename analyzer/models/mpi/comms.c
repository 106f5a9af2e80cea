#include "analyzer/models/mpi/comms.h"

#include <stdlib.h>
#include <string.h>

static void drop_comm(struct tg_mpi_comms *comms, struct tg_mpi_comm *comm)
{
    struct tg_mpi_comm_rank *rank, *next;
    struct tg_mpi_comm *alias, *next_alias;
    memset(comms->recent, 0, sizeof comms->recent);
    HASH_DEL(comms->entries, comm);
    if (comm->joint.is_linked && comm->same == NULL)
        HASH_ITER (hh, comms->entries, alias, next_alias)
            if (alias->same == comm) {
                HASH_DEL(comms->entries, alias);
                free(alias);
            }
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
    while (comms->entries != NULL)
        drop_comm(comms, comms->entries->same != NULL ? comms->entries->same : comms->entries);
}

enum { N_RECENT = sizeof((struct tg_mpi_comms *)0)->recent / sizeof(void *) };

static struct tg_mpi_comm *find_entry(const struct tg_mpi_comms *comms, const char *job, uint64_t comm)
{
    struct tg_mpi_comm_key key;
    struct tg_mpi_comm *found = comms->recent[comm % N_RECENT];
    if (found != NULL && found->key.comm == comm && found->key.job == job)
        return found;
    memset(&key, 0, sizeof key);
    key.job = job;
    key.comm = comm;
    HASH_FIND(hh, comms->entries, &key, sizeof key, found);
    return found;
}

struct tg_mpi_comm *tg_mpi_comms_find(const struct tg_mpi_comms *comms, const char *job, uint64_t comm)
{
    struct tg_mpi_comm *found = find_entry(comms, job, comm);
    return found != NULL && found->same != NULL ? found->same : found;
}

void tg_mpi_comms_note_call(const struct tg_mpi_comms *comms, const char *job, struct tg_mpi_call *call)
{
    enum { MOST_HALF_USES = 4096 };
    struct tg_mpi_comm *comm = tg_mpi_comms_find(comms, job, call->comm);
    if (comm == NULL)
        return;
    call->comm = comm->key.comm;
    call->comm_name = comm->name;
    if (++comm->joint.uses > MOST_HALF_USES && !comm->joint.is_linked)
        comm->joint.is_unlikely =
            true; /* the other job is not in this trace: what waits for its other half is not kept */
}

/* The entry, which may be an alias. */
static struct tg_error *get_comm(struct tg_mpi_comms *comms, const char *job, uint64_t id,
                                 struct tg_mpi_comm **comm)
{
    struct tg_mpi_comm *found = find_entry(comms, job, id);
    if (found == NULL) {
        found = calloc(1, sizeof *found);
        if (found == NULL)
            return tg_error_no_memory();
        found->key.job = job;
        found->key.comm = id;
        HASH_ADD(hh, comms->entries, key, sizeof found->key, found);
        if (find_entry(comms, job, id) != found) {
            free(found);
            return tg_error_no_memory();
        }
    }
    comms->recent[id % N_RECENT] = found;
    *comm = found;
    return NULL;
}

/* ---- ranks */

static struct tg_mpi_comm_rank *find_rank(const struct tg_mpi_comm *comm, size_t process)
{
    struct tg_mpi_comm_rank *found = comm == NULL ? NULL : comm->recent[process % N_RECENT];
    if (found != NULL && found->process == process)
        return found;
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
        found->rank = found->world_rank = -1;
        HASH_ADD(hh, comm->ranks, process, sizeof process, found);
        if (find_rank(comm, process) != found) {
            free(found);
            return tg_error_no_memory();
        }
    }
    comm->recent[process % N_RECENT] = found;
    *rank = found;
    return NULL;
}

static struct tg_error *set_rank(struct tg_mpi_comm *comm, size_t process, int64_t rank, int64_t world_rank,
                                 unsigned side)
{
    struct tg_mpi_comm_rank *found;
    struct tg_error *error = get_rank(comm, process, &found);
    if (error != NULL)
        return error;
    found->rank = rank;
    found->world_rank = world_rank;
    found->side = side;
    return NULL;
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
    const struct tg_mpi_comm_rank *own =
        comm->other_ranks == NULL && !comm->joint.is_joint ? NULL : find_rank(comm, process);
    if (own != NULL && comm->joint.is_joint)
        return own->side;
    if (own != NULL && world_rank < 0)
        world_rank = own->world_rank;
    if (own == NULL || own->rank < 0 || world_rank < 0)
        return 0;
    size_t rank = (size_t)own->rank;
    if (rank < comm->n_world_ranks && comm->world_ranks[rank] == world_rank)
        return 1;
    return rank < comm->n_other_ranks && comm->other_ranks[rank] == world_rank ? 2 : 0;
}

bool tg_mpi_comm_has_groups(const struct tg_mpi_comm *comm, int64_t *first, int64_t *second)
{
    if (comm == NULL || !comm->is_inter)
        return false;
    *first = comm->joint.is_joint ? comm->size : (int64_t)comm->n_world_ranks;
    *second = comm->joint.is_joint ? comm->joint.remote_size : (int64_t)comm->n_other_ranks;
    return comm->joint.is_joint ? comm->joint.is_linked : *first > 0 && *second > 0;
}

bool tg_mpi_comm_is_half(const struct tg_mpi_comm *comm)
{
    return comm != NULL && comm->joint.is_joint && !comm->joint.is_linked;
}

size_t tg_mpi_comm_process_of_side(const struct tg_mpi_comm *comm, unsigned side, int64_t rank)
{
    for (const struct tg_mpi_comm_rank *of = comm->ranks; of != NULL; of = of->hh.next)
        if (of->side == side && of->rank == rank)
            return of->process;
    return SIZE_MAX;
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

/* ---- communicators between jobs */

/* The hash of JOB that its children know, see tg_mpi_link_of() in recorder/agent/mpi/comm.c. */
static uint64_t link_of(const char *job)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *job != '\0'; job++)
        hash = (hash ^ (unsigned char)*job) * UINT64_C(0x100000001b3);
    return hash | 2;
}

/* Whether ONE and OTHER may be the two sides of one intercommunicator. */
static bool may_be_same(const struct tg_mpi_comm *one, const struct tg_mpi_comm *other)
{
    const struct tg_mpi_joint *a = &one->joint, *b = &other->joint;
    const struct tg_mpi_comm *child = a->is_child ? one : other, *parent = a->is_child ? other : one;
    enum { NOT_KNOWN = 1 };
    if (one->origin != other->origin || !one->is_inter || a->remote_size != other->size ||
        b->remote_size != one->size || a->begun_ns > b->born_ns || b->begun_ns > a->born_ns)
        return false;
    if (one->origin != TG_MPI_COMM_SPAWN)
        return a->link == b->link || a->link == NOT_KNOWN || b->link == NOT_KNOWN;
    return a->is_child != b->is_child && one->key.job != other->key.job &&
           (child->joint.link == NOT_KNOWN || child->joint.link == link_of(parent->key.job));
}

/* Whether both were made from one communicator, by the same call. */
static bool have_same_origin(const struct tg_mpi_comm *one, const struct tg_mpi_comm *other)
{
    const struct tg_mpi_joint *a = &one->joint, *b = &other->joint;
    return one->origin == other->origin && a->parent_instance != 0 &&
           a->parent_instance == b->parent_instance && a->parent == b->parent &&
           a->parent_job == b->parent_job;
}

/* The only one that may be the other side of COMM; NULL: none, or several. */
static struct tg_mpi_comm *find_other_side(const struct tg_mpi_comms *comms, const struct tg_mpi_comm *comm)
{
    struct tg_mpi_comm *found = NULL;
    bool is_made = comm->joint.parent != 0;
    for (struct tg_mpi_comm *at = comms->entries; at != NULL; at = at->hh.next) {
        if (at == comm || at->same != NULL || !at->joint.is_joint || at->joint.is_linked ||
            at->joint.is_unlikely || (at->joint.parent != 0) != is_made ||
            !(is_made ? have_same_origin(comm, at) : may_be_same(comm, at)))
            continue;
        if (found != NULL)
            return NULL;
        found = at;
    }
    return found;
}

/* Whether nothing was told of ENTRY yet. */
static bool is_blank(const struct tg_mpi_comm *entry)
{
    return entry->ranks == NULL && entry->same == NULL && entry->world_ranks == NULL &&
           entry->other_ranks == NULL && !entry->joint.is_joint;
}

/* Makes ADDED an alias of FIRST, whose processes are on side 1. */
static struct tg_error *link_sides(struct tg_mpi_comms *comms, struct tg_mpi_comm *first,
                                   struct tg_mpi_comm *added)
{
    struct tg_mpi_comm_rank *rank, *next;
    struct tg_error *error = NULL;
    HASH_ITER (hh, added->ranks, rank, next) {
        struct tg_mpi_comm_rank *made;
        error = get_rank(first, rank->process, &made);
        if (error != NULL)
            return error;
        made->rank = rank->rank;
        made->world_rank = rank->world_rank;
        made->side = 2;
        memset(added->recent, 0, sizeof added->recent);
        HASH_DEL(added->ranks, rank);
        tg_mpi_sites_deinit(&rank->sites);
        free(rank);
    }
    first->joint.is_linked = true;
    if (first->name == NULL)
        first->name = added->name;
    free(added->world_ranks);
    free(added->other_ranks);
    added->world_ranks = added->other_ranks = NULL;
    added->same = first;
    /* calls of the second job have the id of the first from now on */
    struct tg_mpi_comm *alias;
    error = get_comm(comms, added->key.job, first->key.comm, &alias);
    if (error == NULL && alias != first && is_blank(alias))
        alias->same = first;
    return error;
}

/* What CALL of a process tells of COMM's coming to be. */
static void note_birth(struct tg_mpi_comm *comm, const struct tg_event_mpi_comm *told,
                       const struct tg_mpi_call *call, uint64_t born_ns)
{
    struct tg_mpi_joint *joint = &comm->joint;
    uint64_t begun_ns = call == NULL ? born_ns : call->since_ns;
    if (joint->begun_ns == 0 || begun_ns < joint->begun_ns)
        joint->begun_ns = begun_ns;
    if (born_ns > joint->born_ns)
        joint->born_ns = born_ns;
    if (told->link > 1 || joint->link == 0)
        joint->link = told->link;
    joint->remote_size = told->remote_size;
    joint->is_child = call == NULL || strncmp(call->name, "MPI_Comm_spawn", strlen("MPI_Comm_spawn")) != 0;
}

/* COMM, which was told by a call on PARENT, has members of another job. */
static void note_parent(struct tg_mpi_comm *comm, const struct tg_mpi_comm *parent,
                        const struct tg_mpi_call *call)
{
    bool is_one = comm->origin != TG_MPI_COMM_SPLIT && comm->origin != TG_MPI_COMM_CREATE; /* not several */
    comm->joint.parent_job = parent->key.job;
    comm->joint.parent = parent->key.comm;
    comm->joint.parent_instance =
        is_one && call != NULL && call->comm == parent->key.comm && parent->joint.is_linked ? call->instance
                                                                                            : 0;
}

static struct tg_error *join_sides(struct tg_mpi_comms *comms, struct tg_mpi_comm *comm)
{
    struct tg_mpi_comm *other =
        comm->joint.is_linked || comm->joint.is_unlikely ? NULL : find_other_side(comms, comm);
    if (other == NULL)
        return NULL;
    if (comm->joint.uses > 0 && other->joint.uses > 0) {
        comm->joint.is_unlikely = other->joint.is_unlikely = true;
        return NULL;
    }
    return other->joint.uses > 0 || comm->joint.uses == 0 ? link_sides(comms, other, comm)
                                                          : link_sides(comms, comm, other);
}

/* Whether CALL is one that makes what TOLD tells of. One that began earlier (MPI_Comm_idup) is another one's by then. */
static bool makes(const struct tg_mpi_call *call, const struct tg_event_mpi_comm *told)
{
    static const struct {
        const char *beginning;
        enum tg_mpi_comm_origin origin;
    } makers[] = {{"MPI_Comm_dup", TG_MPI_COMM_DUP},
                  {"MPI_Comm_split", TG_MPI_COMM_SPLIT},
                  {"MPI_Comm_create", TG_MPI_COMM_CREATE},
                  {"MPI_Cart_", TG_MPI_COMM_CREATE},
                  {"MPI_Graph_create", TG_MPI_COMM_CREATE},
                  {"MPI_Dist_graph_create", TG_MPI_COMM_CREATE},
                  {"MPI_Cart_sub", TG_MPI_COMM_SPLIT},
                  {"MPI_Comm_spawn", TG_MPI_COMM_SPAWN},
                  {"MPI_Intercomm_create", TG_MPI_COMM_INTERCOMM},
                  {"MPI_Comm_accept", TG_MPI_COMM_INTERCOMM},
                  {"MPI_Comm_connect", TG_MPI_COMM_INTERCOMM},
                  {"MPI_Comm_join", TG_MPI_COMM_INTERCOMM},
                  {"MPI_Intercomm_merge", TG_MPI_COMM_MERGE},
                  {"MPI_Win_", TG_MPI_COMM_WINDOW},
                  {"MPI_File_open", TG_MPI_COMM_FILE}};
    for (size_t i = 0; call != NULL && call->name != NULL && i < sizeof makers / sizeof *makers; i++)
        if (told->origin == makers[i].origin && (told->parent == 0 || call->comm == told->parent) &&
            strncmp(call->name, makers[i].beginning, strlen(makers[i].beginning)) == 0)
            return true;
    return false;
}

struct tg_error *tg_mpi_comms_take(struct tg_mpi_comms *comms, const char *job, size_t process,
                                   int64_t world_rank, const struct tg_event_mpi_comm *told,
                                   const struct tg_mpi_call *call, uint64_t born_ns)
{
    struct tg_mpi_comm *entry;
    struct tg_error *error = get_comm(comms, job, told->comm, &entry);
    if (error != NULL)
        return error;
    struct tg_mpi_comm *comm = entry->same != NULL ? entry->same : entry;
    const struct tg_mpi_comm *parent = tg_mpi_comms_find(comms, job, told->parent);
    if (comm == entry) {
        if (told->size > 0)
            comm->size = told->size;
        comm->origin = (enum tg_mpi_comm_origin)told->origin;
        comm->parent = told->parent;
        comm->is_inter = is_inter(comms, job, told);
    }
    if (comm == entry && comm->made_by == NULL && call != NULL && call->code != 0 && makes(call, told)) {
        comm->made_by = call->name;
        comm->maker = process;
        comm->made_in = call->code;
    }
    bool is_made = parent != NULL && parent != comm && parent->joint.is_joint && told->link == 0;
    if (comm == entry && (told->link != 0 || is_made)) {
        comm->joint.is_joint = true;
        if (is_made)
            note_parent(comm, parent, call);
        else
            note_birth(comm, told, call, born_ns);
    }
    if (told->rank >= 0)
        error = set_rank(comm, process, told->rank, world_rank,
                         !comm->joint.is_joint ? 0
                         : comm == entry       ? 1
                                               : 2);
    if (error == NULL && comm == entry)
        error = take_members(comm, &told->members);
    return error != NULL || comm != entry || !comm->joint.is_joint ? error : join_sides(comms, comm);
}

void tg_mpi_comms_leave(struct tg_mpi_comms *comms, const char *job, uint64_t comm, size_t process)
{
    struct tg_mpi_comm *found = tg_mpi_comms_find(comms, job, comm);
    struct tg_mpi_comm_rank *rank = find_rank(found, process);
    if (rank == NULL)
        return;
    memset(found->recent, 0, sizeof found->recent);
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
        made->side = rank->side;
        made->last_instance = rank->last_instance;
        error = tg_mpi_sites_copy(&rank->sites, &made->sites);
    }
    if (error != NULL)
        return error;
    comm->size = from->size;
    comm->lockstep = from->lockstep;
    comm->joint = from->joint;
    comm->origin = from->origin;
    comm->parent = from->parent;
    comm->name = from->name;
    comm->made_by = from->made_by;
    comm->maker = from->maker;
    comm->made_in = from->made_in;
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
    for (const struct tg_mpi_comm *comm = from->entries; error == NULL && comm != NULL; comm = comm->hh.next)
        if (comm->same != NULL)
            find_entry(to, comm->key.job, comm->key.comm)->same =
                find_entry(to, comm->same->key.job, comm->same->key.comm);
    return error;
}
