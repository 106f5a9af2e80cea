#include "analyzer/models/mpi/collectives.h"

#include "analyzer/models/mpi/types.h"
#include "format/base/array.h"
#include "format/base/hash.h"

#include <stdlib.h>
#include <string.h>

static void destroy(struct tg_mpi_collective_entry *entry)
{
    free(entry->comers);
    free(entry);
}

void tg_mpi_collectives_deinit(struct tg_mpi_collectives *collectives)
{
    struct tg_mpi_collective_entry *entry, *next;
    HASH_ITER (hh, collectives->entries, entry, next) {
        HASH_DEL(collectives->entries, entry);
        destroy(entry);
    }
    struct tg_mpi_collective_entry **const kept[] = {&collectives->mistaken, &collectives->confused,
                                                     &collectives->misplaced};
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        HASH_ITER (hh_kept, *kept[i], entry, next) {
            HASH_DELETE(hh_kept, *kept[i], entry);
            destroy(entry);
        }
}

/* ---- collectives whose calls differed */

enum { COMM_KEY_BYTES = offsetof(struct tg_mpi_collective_key, instance) }; /* job and communicator */

/* Where ENTRY, which differs, is kept. */
static struct tg_mpi_collective_entry **list_of(struct tg_mpi_collectives *collectives,
                                                const struct tg_mpi_collective_entry *entry)
{
    if ((entry->public.differs & TG_MPI_MISTAKES) != 0)
        return &collectives->mistaken;
    return (entry->public.differs & TG_MPI_CONFUSIONS) != 0 ? &collectives->confused
                                                            : &collectives->misplaced;
}

/* Makes ENTRY, which differs, the first of its communicator in KEPT; false: there is an earlier one, or no room. */
static bool keep(struct tg_mpi_collective_entry **kept, struct tg_mpi_collective_entry *entry)
{
    struct tg_mpi_collective_entry *other;
    HASH_FIND(hh_kept, *kept, &entry->key, COMM_KEY_BYTES, other);
    if (other == NULL && HASH_CNT(hh_kept, *kept) >= TG_MPI_MAX_KEPT_COLLECTIVES)
        return false;
    if (other != NULL && other->key.instance <= entry->key.instance)
        return false;
    if (other != NULL) {
        HASH_DELETE(hh_kept, *kept, other);
        destroy(other);
    }
    HASH_ADD_KEYPTR(hh_kept, *kept, &entry->key, COMM_KEY_BYTES, entry);
    HASH_FIND(hh_kept, *kept, &entry->key, COMM_KEY_BYTES, other);
    return other == entry;
}

/* Notes who is who, which COMM (NULL unknown) may not live to say. */
static void note_ranks(struct tg_mpi_collective_entry *entry, const struct tg_mpi_comm *comm)
{
    for (uint64_t i = 0; comm != NULL && i < entry->public.n_entered; i++) {
        struct tg_mpi_comer *comer = &entry->comers[i];
        if (comer->comm_rank < 0)
            comer->comm_rank = tg_mpi_comm_rank_of(comm, comer->process);
        if (!comm->is_inter && comer->comm_rank >= 0 && (uint64_t)comer->comm_rank < comm->n_world_ranks)
            comer->world_rank = comm->world_ranks[comer->comm_rank];
    }
}

/* ENTRY is over, or forgotten. */
static void drop(struct tg_mpi_collectives *collectives, struct tg_mpi_collective_entry *entry,
                 const struct tg_mpi_comm *comm)
{
    HASH_DEL(collectives->entries, entry);
    if (entry->public.differs != 0) {
        note_ranks(entry, comm);
        if (keep(list_of(collectives, entry), entry))
            return;
    }
    destroy(entry);
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

/* Of COMM (NULL unknown), 0 where not all of its members are known. */
static int64_t known_size(const struct tg_mpi_comm *comm)
{
    return comm == NULL || comm->is_inter || tg_mpi_comm_is_half(comm) ? 0 : comm->size;
}

static struct tg_error *get(struct tg_mpi_collectives *collectives, const char *job,
                            const struct tg_mpi_comm *comm, const struct tg_mpi_call *call,
                            struct tg_mpi_collective_entry **entry)
{
    const struct tg_mpi_collective_key key = key_of(job, call);
    struct tg_mpi_collective_entry *found = find(collectives, &key);
    if (found == NULL) {
        if (HASH_COUNT(collectives->entries) >= TG_MPI_MAX_COLLECTIVES)
            drop(collectives, collectives->entries, NULL);
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
                                                   .size = known_size(comm)};
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

/* Bytes that every rank has to pass to the collective of CALL; UINT64_MAX: ranks may differ. */
static uint64_t common_bytes(const struct tg_mpi_comm *comm, size_t process, const struct tg_mpi_call *call)
{
    if (comm == NULL || comm->size <= 0 || comm->is_inter)
        return UINT64_MAX;
    enum tg_mpi_sharing sharing = tg_mpi_call_sharing(call->name);
    if (sharing == TG_MPI_BYTES_EQUAL)
        return call->bytes;
    int64_t rank = tg_mpi_comm_rank_of(comm, process);
    if (sharing == TG_MPI_BYTES_OWN || rank < 0)
        return UINT64_MAX;
    return rank == call->root ? call->bytes / (uint64_t)comm->size : call->bytes;
}

static bool is_known(const char *name)
{
    return name != NULL && *name != '\0';
}

/* What COMER says otherwise than FIRST. */
static unsigned difference(const struct tg_mpi_comer *comer, const struct tg_mpi_comer *first)
{
    if (comer->name != first->name && !tg_mpi_call_is_same(comer->name, first->name))
        return TG_MPI_DIFFERS_CALL;
    unsigned differs = 0;
    if (comer->root >= 0 && first->root >= 0 && comer->root != first->root)
        differs |= TG_MPI_DIFFERS_ROOT;
    if (comer->bytes != first->bytes && comer->bytes != UINT64_MAX && first->bytes != UINT64_MAX)
        differs |= TG_MPI_DIFFERS_BYTES;
    if (!tg_mpi_types_match(comer->type, first->type))
        differs |= TG_MPI_DIFFERS_TYPE;
    if (is_known(comer->op) && is_known(first->op) && strcmp(comer->op, first->op) != 0)
        differs |= TG_MPI_DIFFERS_OP;
    return differs;
}

struct tg_error *tg_mpi_collectives_enter(struct tg_mpi_collectives *collectives, const char *job,
                                          struct tg_mpi_comm *comm, size_t process,
                                          const struct tg_mpi_call *call, uint64_t calls, bool *again)
{
    struct tg_mpi_collective_entry *entry;
    uint64_t nth = 0;
    bool is_start = tg_mpi_is_start(call->instance); /* where it was made is what has an order */
    struct tg_error *error =
        comm == NULL || is_start ? NULL : tg_mpi_comm_come(comm, process, call, calls, &nth);
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
    struct tg_mpi_comer *comer = &entry->comers[count], *first = &entry->comers[0];
    *comer = (struct tg_mpi_comer){.process = process,
                                   .entered_ns = call->since_ns,
                                   .code = call->code,
                                   .name = call->name,
                                   .root = call->root,
                                   .bytes = common_bytes(comm, process, call),
                                   .type = tg_mpi_call_has_one_type(call->name) ? call->type : NULL,
                                   .op = call->op,
                                   .nth = nth,
                                   .comm_rank = tg_mpi_comm_rank_of(comm, process), /* COMM may be freed */
                                   .world_rank = -1};
    entry->public.n_entered++;
    entry->public.last_ns = call->since_ns;
    entry->public.differs |= difference(comer, first);
    if (comm != NULL && !is_start &&
        tg_mpi_lockstep_meet(&comm->lockstep, call->instance, comer->name, comer->code, first->name,
                             first->code))
        entry->public.differs |= TG_MPI_DIFFERS_PLACE;
    return NULL;
}

/* All of COMM have left ENTRY. */
static void tell_lockstep(const struct tg_mpi_collective_entry *entry, struct tg_mpi_comm *comm)
{
    const struct tg_mpi_comer *first = &entry->comers[0];
    bool is_one = true;
    for (uint64_t i = 1; i < entry->public.n_entered; i++)
        is_one = is_one && entry->comers[i].name == first->name &&
                 tg_mpi_site_low(entry->comers[i].code) == tg_mpi_site_low(first->code);
    tg_mpi_lockstep_whole(&comm->lockstep, entry->key.instance, first->name, first->code, is_one);
}

/* Whether only the root's group of an intercommunicator has come to ENTRY: the other one, which may not be known yet, is
 * still to come. */
static bool lacks_other_group(const struct tg_mpi_collective_entry *entry)
{
    enum { ROOT_NOBODY = -2, ROOT_SELF = -4 };
    bool has_group = false;
    for (uint64_t i = 0; i < entry->public.n_entered; i++) {
        if (entry->comers[i].root >= 0)
            return false;
        has_group |= entry->comers[i].root == ROOT_NOBODY || entry->comers[i].root == ROOT_SELF;
    }
    return has_group;
}

void tg_mpi_collectives_leave(struct tg_mpi_collectives *collectives, const char *job,
                              struct tg_mpi_comm *comm, size_t process, const struct tg_mpi_call *call,
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
    if (is_whole && comm != NULL && !tg_mpi_is_start(key.instance))
        tell_lockstep(entry, comm);
    if (is_whole || (entry->public.n_left == entry->public.n_entered && !lacks_other_group(entry) &&
                     (comm == NULL || tg_mpi_comm_all_came(comm, key.instance))))
        drop(collectives, entry, comm);
}

/* ---- the first that differ */

/* Adds ENTRY to the N that were found, in place of a later one of its communicator; returns how many there are. */
static size_t add_first(const struct tg_mpi_collective_entry *entry,
                        const struct tg_mpi_collective_entry **first, size_t n, size_t most)
{
    for (size_t i = 0; i < n; i++) {
        if (first[i]->key.job != entry->key.job || first[i]->key.comm != entry->key.comm)
            continue;
        if (entry->key.instance < first[i]->key.instance)
            first[i] = entry;
        return n;
    }
    if (n < most)
        first[n++] = entry;
    return n;
}

size_t tg_mpi_collectives_first(const struct tg_mpi_collectives *collectives, unsigned sought,
                                const struct tg_mpi_collective_entry **first, size_t most)
{
    const struct tg_mpi_collective_entry *const kept[] = {collectives->mistaken, collectives->confused,
                                                          collectives->misplaced};
    size_t n = 0;
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        for (const struct tg_mpi_collective_entry *entry = kept[i]; entry != NULL;
             entry = entry->hh_kept.next)
            if ((entry->public.differs & sought) != 0)
                n = add_first(entry, first, n, most);
    for (const struct tg_mpi_collective_entry *entry = collectives->entries; entry != NULL;
         entry = entry->hh.next)
        if ((entry->public.differs & sought) != 0)
            n = add_first(entry, first, n, most);
    return n;
}

/* ---- copies */

static struct tg_error *copy_entry(const struct tg_mpi_collective_entry *from,
                                   struct tg_mpi_collective_entry **copy)
{
    struct tg_mpi_collective_entry *entry = calloc(1, sizeof *entry);
    if (entry == NULL)
        return tg_error_no_memory();
    entry->key = from->key;
    entry->public = from->public;
    size_t count = 0;
    struct tg_error *error =
        TG_ARRAY_COPY(entry->comers, count, entry->capacity, from->comers, (size_t)from->public.n_entered);
    if (error != NULL) {
        destroy(entry);
        return error;
    }
    *copy = entry;
    return NULL;
}

static struct tg_error *copy_kept(const struct tg_mpi_collective_entry *from,
                                  struct tg_mpi_collective_entry **kept)
{
    struct tg_error *error = NULL;
    for (; error == NULL && from != NULL; from = from->hh_kept.next) {
        struct tg_mpi_collective_entry *entry;
        error = copy_entry(from, &entry);
        if (error == NULL && !keep(kept, entry)) {
            destroy(entry);
            error = tg_error_no_memory();
        }
    }
    return error;
}

struct tg_error *tg_mpi_collectives_copy(const struct tg_mpi_collectives *from, struct tg_mpi_collectives *to)
{
    struct tg_error *error = NULL;
    const struct tg_mpi_collective_entry *entry = from->entries;
    for (; error == NULL && entry != NULL; entry = entry->hh.next) {
        struct tg_mpi_collective_entry *made = NULL;
        error = copy_entry(entry, &made);
        if (error == NULL)
            error = TG_HASH_ADD(hh, to->entries, key, made);
        if (error != NULL && made != NULL)
            destroy(made);
    }
    if (error == NULL)
        error = copy_kept(from->mistaken, &to->mistaken);
    if (error == NULL)
        error = copy_kept(from->confused, &to->confused);
    return error != NULL ? error : copy_kept(from->misplaced, &to->misplaced);
}

/* ---- arrivals */

static struct tg_mpi_arrival arrival_of(const struct tg_mpi_comm *comm, const struct tg_mpi_comer *comer)
{
    int64_t known = tg_mpi_comm_rank_of(comm, comer->process), rank = known >= 0 ? known : comer->comm_rank;
    /* the members of an intercommunicator are those of one group: which one is not said */
    bool is_told = comm != NULL && !comm->is_inter && rank >= 0 && (uint64_t)rank < comm->n_world_ranks;
    return (struct tg_mpi_arrival){
        .standing = comer->left_ns == 0 ? TG_MPI_WAITING : TG_MPI_PASSED,
        .comm_rank = rank,
        .world_rank = is_told ? comm->world_ranks[rank] : comer->world_rank,
        .process = comer->process,
        .entered_ns = comer->entered_ns,
        .left_ns = comer->left_ns,
        .code = comer->code,
        .name = comer->name,
        .root = comer->root,
        .bytes = comer->bytes,
        .type = comer->type,
        .op = comer->op,
        .nth = comer->nth,
    };
}

/* Ranks that arrivals are made for, the first N_FIRST of side 1 where the communicator has two sides, or of all; 0: for
 * those alone who have come. */
static size_t count_ranks(const struct tg_mpi_comm *comm, size_t n_comers, size_t *n_first)
{
    enum { MAX_RANKS = 1 << 20 };
    int64_t first, second;
    if (!tg_mpi_comm_has_groups(comm, &first, &second)) {
        first = known_size(comm);
        second = 0;
    }
    *n_first = 0;
    if (first <= 0 || second < 0 || first > MAX_RANKS || second > MAX_RANKS ||
        (uint64_t)(first + second) < n_comers)
        return 0;
    *n_first = (size_t)first;
    return (size_t)(first + second);
}

/* The index of RANK of SIDE among N arrivals, the first N_FIRST of side 1; SIZE_MAX none. */
static size_t index_of(int64_t rank, unsigned side, size_t n_first, size_t n)
{
    size_t begin = side == 2 ? n_first : 0, end = side == 2 || side == 0 ? n : n_first;
    return rank < 0 || (uint64_t)rank >= end - begin ? SIZE_MAX : begin + (size_t)rank;
}

/* The rank in MPI_COMM_WORLD of number I of COMM, or of its second group; -1 unknown. */
static int64_t world_rank_of(const struct tg_mpi_comm *comm, size_t i, bool of_second)
{
    if (comm->joint.is_joint && comm->is_inter)
        return -1;
    if (of_second)
        return i < comm->n_other_ranks ? comm->other_ranks[i] : -1;
    return i < comm->n_world_ranks ? comm->world_ranks[i] : -1;
}

/* As if nobody were known to have come but those who are beyond it. */
static void fill_missing(const struct tg_mpi_comm *comm, uint64_t instance, struct tg_mpi_arrival *arrivals,
                         size_t n_first, size_t count)
{
    bool has_sides = comm->is_inter;
    for (size_t i = 0; i < count; i++)
        arrivals[i] = (struct tg_mpi_arrival){
            .standing = TG_MPI_MISSING,
            .comm_rank = (int64_t)(i < n_first ? i : i - n_first),
            .world_rank = world_rank_of(comm, i < n_first ? i : i - n_first, has_sides && i >= n_first),
            .process = SIZE_MAX,
            .side = !has_sides    ? 0
                    : i < n_first ? 1
                                  : 2};
    for (const struct tg_mpi_comm_rank *rank = comm->ranks; rank != NULL; rank = rank->hh.next) {
        unsigned side = has_sides ? tg_mpi_comm_group_of(comm, rank->process, -1) : 0;
        size_t at = has_sides && side == 0 ? SIZE_MAX : index_of(rank->rank, side, n_first, count);
        if (at == SIZE_MAX || arrivals[at].process != SIZE_MAX)
            continue;
        arrivals[at].process = rank->process;
        if (rank->last_instance >= instance) /* and it is not among those that are still there */
            arrivals[at].standing = TG_MPI_PASSED;
    }
}

/* Of two sides: who waits as a root, or for one, needs nobody of its own side, and of the other one the root alone where that is
 * the other one's. */
static void excuse(struct tg_mpi_arrival *arrivals, size_t n)
{
    enum { ROOT_NONE = -3 };
    const struct tg_mpi_arrival *waiting = NULL;
    for (size_t i = 0; i < n && waiting == NULL; i++)
        if (arrivals[i].standing == TG_MPI_WAITING && arrivals[i].root != ROOT_NONE)
            waiting = &arrivals[i];
    for (size_t i = 0; waiting != NULL && i < n; i++)
        if (arrivals[i].standing == TG_MPI_MISSING &&
            (arrivals[i].side == waiting->side ||
             (waiting->root >= 0 && arrivals[i].comm_rank != waiting->root)))
            arrivals[i].standing = TG_MPI_PASSED;
}

struct tg_mpi_arrival *tg_mpi_collective_arrivals(const struct tg_mpi_collective_entry *entry,
                                                  const struct tg_mpi_comm *comm, size_t *count)
{
    size_t n_comers = (size_t)entry->public.n_entered, n_first;
    size_t n_ranks = count_ranks(comm, n_comers, &n_first), n = n_ranks > 0 ? n_ranks : n_comers;
    struct tg_mpi_arrival *arrivals = calloc(n + 1, sizeof *arrivals);
    if (arrivals == NULL)
        return NULL;
    if (n_ranks > 0)
        fill_missing(comm, entry->key.instance, arrivals, n_first, n);
    bool has_sides = n_ranks > 0 && comm->is_inter;
    for (size_t i = 0; i < n_comers; i++) {
        struct tg_mpi_arrival arrival = arrival_of(comm, &entry->comers[i]);
        if (has_sides)
            arrival.side = tg_mpi_comm_group_of(comm, arrival.process, -1);
        if (has_sides && arrival.side != 0 && arrival.world_rank < 0 && arrival.comm_rank >= 0)
            arrival.world_rank = world_rank_of(comm, (size_t)arrival.comm_rank, arrival.side == 2);
        size_t at = n_ranks == 0 ? i : index_of(arrival.comm_rank, has_sides ? arrival.side : 0, n_first, n);
        if (at != SIZE_MAX)
            arrivals[at] = arrival;
    }
    if (has_sides)
        excuse(arrivals, n);
    *count = n;
    return arrivals;
}
