#include "recorder/agent/mpi/comm.h"

#include "recorder/agent/agent.h"
#include "recorder/agent/mpi/library.h"
#include "recorder/agent/mpi/table.h"

#include <sys/mman.h>

enum {
    N_OBJECTS = 1 << 13,
    N_FAMILIES = 1 << 11,
    RANKS_ON_STACK = 256,
    WORLD_ID = 1, /* in every process; all others are made by tg_mpi_mix */
    KIND_SHIFT = 60,
};

/* Words of an object in the table. */
enum { WORD_ID, WORD_CHILDREN, WORD_INSTANCES, WORD_RANK_SIZE, WORD_REMOTE_SIZE };

static struct tg_mpi_entry object_entries[N_OBJECTS];
static struct tg_mpi_table objects = {.entries = object_entries, .n_entries = N_OBJECTS};

/* How many communicators the same members made together: key is a mixture of the members, the word a
 * count. */
static struct tg_mpi_entry family_entries[N_FAMILIES];
static struct tg_mpi_table families = {.entries = family_entries, .n_entries = N_FAMILIES};

static bool told_of_full_table; /* __atomic */

/* ---- the table of objects */

static tg_mpi_handle whole_handle(enum tg_mpi_object_kind kind, tg_mpi_handle handle)
{
    /* files are pointers everywhere: every implementation has them from ROMIO, or like it */
    return kind == TG_MPI_OBJECT_FILE ? handle : tg_mpi_abi_handle(tg_mpi.abi, handle);
}

static uint64_t key_of(enum tg_mpi_object_kind kind, tg_mpi_handle handle)
{
    return whole_handle(kind, handle) ^ (uint64_t)kind << KIND_SHIFT;
}

static struct tg_mpi_entry *find(enum tg_mpi_object_kind kind, tg_mpi_handle handle)
{
    if (!tg_mpi_library_is_running())
        return NULL;
    return tg_mpi_table_find(&objects, key_of(kind, handle));
}

static struct tg_mpi_object read_object(const struct tg_mpi_entry *entry)
{
    uint64_t rank_size = __atomic_load_n(&entry->words[WORD_RANK_SIZE], __ATOMIC_RELAXED);
    return (struct tg_mpi_object){
        .id = __atomic_load_n(&entry->words[WORD_ID], __ATOMIC_RELAXED),
        .rank = (int)(uint32_t)rank_size,
        .size = (int)(rank_size >> 32),
        .remote_size = (int)__atomic_load_n(&entry->words[WORD_REMOTE_SIZE], __ATOMIC_RELAXED)};
}

struct tg_mpi_object tg_mpi_object(enum tg_mpi_object_kind kind, tg_mpi_handle handle)
{
    const struct tg_mpi_entry *entry = find(kind, handle);
    return entry == NULL ? (struct tg_mpi_object){0} : read_object(entry);
}

struct tg_mpi_object tg_mpi_object_of_collective(enum tg_mpi_object_kind kind, tg_mpi_handle handle)
{
    struct tg_mpi_entry *entry = find(kind, handle);
    if (entry == NULL)
        return (struct tg_mpi_object){0};
    struct tg_mpi_object object = read_object(entry);
    object.instance = __atomic_add_fetch(&entry->words[WORD_INSTANCES], 1, __ATOMIC_RELAXED);
    return object;
}

static void remember(enum tg_mpi_object_kind kind, tg_mpi_handle handle, const struct tg_mpi_object *object)
{
    uint64_t words[TG_MPI_TABLE_WORDS] = {[WORD_ID] = object->id,
                                          [WORD_RANK_SIZE] =
                                              (uint64_t)(uint32_t)object->size << 32 | (uint32_t)object->rank,
                                          [WORD_REMOTE_SIZE] = (uint64_t)object->remote_size};
    if (!tg_mpi_table_put(&objects, key_of(kind, handle), words, TG_MPI_TABLE_REFUSES) &&
        !__atomic_exchange_n(&told_of_full_table, true, __ATOMIC_RELAXED))
        tg_agent_say(TG_RECORD_NOTE, "too many communicators, windows and files at once: calls on some "
                                     "are recorded without saying on which");
}

/* ---- groups */

/* A group's members, as ranks in MPI_COMM_WORLD. */
struct members {
    tg_mpi_handle group, world_group;
    int size;
    int rank; /* of this process */
};

static void members_open(struct members *members, tg_mpi_handle comm, bool remote)
{
    *members = (struct members){0};
    if (remote)
        tg_pmpi_Comm_remote_group(comm, &members->group);
    else
        tg_pmpi_Comm_group(comm, &members->group);
    tg_pmpi_Comm_group(tg_mpi.world, &members->world_group);
    tg_pmpi_Group_size(members->group, &members->size);
    tg_pmpi_Group_rank(members->group, &members->rank);
}

static void members_close(struct members *members)
{
    tg_pmpi_Group_free(&members->group);
    tg_pmpi_Group_free(&members->world_group);
}

static void translate(const struct members *members, int first, int count, int *world_ranks)
{
    int ranks[RANKS_ON_STACK];
    for (int done = 0; done < count;) {
        int n = count - done < RANKS_ON_STACK ? count - done : RANKS_ON_STACK;
        for (int i = 0; i < n; i++)
            ranks[i] = first + done + i;
        tg_pmpi_Group_translate_ranks(members->group, n, ranks, members->world_group, world_ranks + done);
        done += n;
    }
}

/* The world rank of member 0; of a group without members, and of who is not in this world, MPI_UNDEFINED. */
static int first_member(const struct members *members)
{
    int world_rank = tg_mpi.abi->undefined;
    if (members->size > 0)
        translate(members, 0, 1, &world_rank);
    return world_rank;
}

static uint64_t mix_members(const struct members *members)
{
    int world_ranks[RANKS_ON_STACK];
    uint64_t mixed = 0;
    for (int first = 0; first < members->size; first += RANKS_ON_STACK) {
        int n = members->size - first < RANKS_ON_STACK ? members->size - first : RANKS_ON_STACK;
        translate(members, first, n, world_ranks);
        for (int i = 0; i < n; i++)
            mixed = tg_mpi_mix(mixed, (uint64_t)world_ranks[i], 0);
    }
    return mixed;
}

/* ---- records */

static void record_object(const struct tg_mpi_object *object, uint64_t parent, tg_mpi_handle handle,
                          enum tg_mpi_origin origin, const int *world_ranks, int n_members)
{
    enum { FIXED_WORDS = 7 };
    uint64_t *arguments = tg_agent_begin(TG_RECORD_MPI_COMM, FIXED_WORDS + (size_t)n_members);
    if (arguments == NULL)
        return;
    const uint64_t fixed[FIXED_WORDS] = {object->id,
                                         parent,
                                         handle,
                                         (uint64_t)origin,
                                         (uint64_t)(int64_t)object->rank,
                                         (uint64_t)object->size,
                                         (uint64_t)n_members};
    for (int i = 0; i < FIXED_WORDS; i++)
        arguments[i] = fixed[i];
    for (int i = 0; i < n_members; i++)
        arguments[FIXED_WORDS + i] = world_ranks[i] < 0 ? UINT64_MAX : (uint64_t)world_ranks[i];
    tg_agent_commit();
}

/* Records what was born; its first member tells who all of them are. */
static void record_birth(const struct tg_mpi_object *object, uint64_t parent, tg_mpi_handle handle,
                         enum tg_mpi_origin origin, const struct members *members)
{
    int on_stack[RANKS_ON_STACK], *world_ranks = on_stack;
    int n = members->rank != 0                     ? 0
            : members->size < TG_AGENT_MAX_MEMBERS ? members->size
                                                   : TG_AGENT_MAX_MEMBERS;
    size_t n_bytes = (size_t)n * sizeof *world_ranks;
    if (n > RANKS_ON_STACK) {
        world_ranks = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (world_ranks == MAP_FAILED) {
            world_ranks = on_stack;
            n = 0;
        }
    }
    translate(members, 0, n, world_ranks);
    record_object(object, parent, handle, origin, world_ranks, n);
    if (world_ranks != on_stack)
        munmap(world_ranks, n_bytes);
}

/* ---- births */

struct tg_mpi_birth tg_mpi_birth_begin(tg_mpi_handle parent, enum tg_mpi_origin origin)
{
    struct tg_mpi_birth birth = {.origin = origin};
    struct tg_mpi_entry *entry = find(TG_MPI_OBJECT_COMM, parent);
    if (entry != NULL) {
        birth.parent = __atomic_load_n(&entry->words[WORD_ID], __ATOMIC_RELAXED);
        birth.nth = __atomic_add_fetch(&entry->words[WORD_CHILDREN], 1, __ATOMIC_RELAXED);
    }
    return birth;
}

static bool is_no_comm(tg_mpi_handle handle)
{
    return handle == 0 || handle == tg_mpi.comm_null || !tg_mpi_library_is_running();
}

/* Both sides of an intercommunicator find the same first member: the one of lower rank. */
static int first_of_both(const struct members *members, const struct members *remote)
{
    int first = first_member(members), other = remote == NULL ? first : first_member(remote);
    return other < first ? other : first;
}

void tg_mpi_comm_born(tg_mpi_handle handle, const struct tg_mpi_birth *birth)
{
    handle = tg_mpi_abi_handle(tg_mpi.abi, handle);
    if (is_no_comm(handle) || birth->parent == 0)
        return;
    int is_inter = 0;
    tg_pmpi_Comm_test_inter(handle, &is_inter);
    struct members members, remote = {0};
    members_open(&members, handle, false);
    if (is_inter)
        members_open(&remote, handle, true);
    int first = first_of_both(&members, is_inter ? &remote : NULL);
    struct tg_mpi_object object = {.id = tg_mpi_mix(birth->parent, birth->nth, (uint64_t)first),
                                   .rank = members.rank,
                                   .size = members.size,
                                   .remote_size = remote.size};
    remember(TG_MPI_OBJECT_COMM, handle, &object);
    record_birth(&object, birth->parent, handle, birth->origin, &members);
    members_close(&members);
    if (is_inter)
        members_close(&remote);
}

/* Counts what the family KEY made; 0 where there is no room to count. */
static uint64_t count_in_family(uint64_t key)
{
    struct tg_mpi_entry *entry = tg_mpi_table_find(&families, key);
    if (entry == NULL) {
        const uint64_t words[TG_MPI_TABLE_WORDS] = {0};
        if (!tg_mpi_table_put(&families, key, words, TG_MPI_TABLE_REFUSES))
            return 0;
        entry = tg_mpi_table_find(&families, key);
    }
    return entry == NULL ? 0 : __atomic_add_fetch(&entry->words[0], 1, __ATOMIC_RELAXED);
}

void tg_mpi_comm_born_of_members(tg_mpi_handle handle, uint64_t parent, int tag, enum tg_mpi_origin origin)
{
    handle = tg_mpi_abi_handle(tg_mpi.abi, handle);
    if (is_no_comm(handle))
        return;
    int is_inter = 0;
    tg_pmpi_Comm_test_inter(handle, &is_inter);
    struct members members, remote = {0};
    members_open(&members, handle, false);
    uint64_t mine = mix_members(&members), theirs = 0;
    if (is_inter) {
        members_open(&remote, handle, true);
        theirs = mix_members(&remote);
        members_close(&remote);
    }
    uint64_t key =
        mine < theirs ? tg_mpi_mix(mine, theirs, (uint64_t)tag) : tg_mpi_mix(theirs, mine, (uint64_t)tag);
    uint64_t nth = count_in_family(key);
    struct tg_mpi_object object = {.id = tg_mpi_mix(key, nth, (uint64_t)origin),
                                   .rank = members.rank,
                                   .size = members.size,
                                   .remote_size = remote.size};
    if (nth != 0) {
        remember(TG_MPI_OBJECT_COMM, handle, &object);
        record_birth(&object, parent, handle, origin, &members);
    }
    members_close(&members);
}

void tg_mpi_object_born(enum tg_mpi_object_kind kind, tg_mpi_handle handle, tg_mpi_handle comm,
                        const struct tg_mpi_birth *birth)
{
    handle = whole_handle(kind, handle);
    comm = tg_mpi_abi_handle(tg_mpi.abi, comm);
    struct tg_mpi_object object = tg_mpi_object(TG_MPI_OBJECT_COMM, comm);
    if (handle == 0 || object.id == 0 || birth->parent == 0)
        return;
    struct members members;
    members_open(&members, comm, false);
    object.id = tg_mpi_mix(birth->parent, birth->nth, (uint64_t)first_member(&members));
    remember(kind, handle, &object);
    record_birth(&object, birth->parent, handle, birth->origin, &members);
    members_close(&members);
}

void tg_mpi_comm_found_parent(tg_mpi_handle handle)
{
    if (find(TG_MPI_OBJECT_COMM, handle) == NULL) {
        const struct tg_mpi_birth birth = {.parent = WORLD_ID, .nth = 0, .origin = TG_MPI_ORIGIN_SPAWN};
        tg_mpi_comm_born(handle, &birth);
    }
}

void tg_mpi_comm_introduce_world(void)
{
    struct members members;
    members_open(&members, tg_mpi.world, false);
    struct tg_mpi_object world = {.id = WORLD_ID, .rank = members.rank, .size = members.size};
    remember(TG_MPI_OBJECT_COMM, tg_mpi.world, &world);
    record_birth(&world, 0, tg_mpi.world, TG_MPI_ORIGIN_WORLD, &members);
    members_close(&members);

    members_open(&members, tg_mpi.self, false);
    struct tg_mpi_object self = {.id = tg_mpi_mix(WORLD_ID, 0, (uint64_t)tg_mpi.world_rank), .size = 1};
    remember(TG_MPI_OBJECT_COMM, tg_mpi.self, &self);
    record_birth(&self, 0, tg_mpi.self, TG_MPI_ORIGIN_SELF, &members);
    members_close(&members);
}

/* ---- deaths */

struct tg_mpi_death tg_mpi_death_begin(enum tg_mpi_object_kind kind, tg_mpi_handle handle)
{
    struct tg_mpi_death death = {.handle = whole_handle(kind, handle), .key = key_of(kind, handle)};
    death.known = tg_mpi_library_is_running() && tg_mpi_table_take(&objects, death.key, death.words);
    return death;
}

void tg_mpi_death_end(const struct tg_mpi_death *death, bool freed)
{
    if (!death->known)
        return;
    if (!freed) {
        tg_mpi_table_put(&objects, death->key, death->words, TG_MPI_TABLE_REFUSES);
        return;
    }
    uint64_t rank_size = death->words[WORD_RANK_SIZE];
    struct tg_mpi_object object = {
        .id = death->words[WORD_ID], .rank = (int)(uint32_t)rank_size, .size = (int)(rank_size >> 32)};
    record_object(&object, 0, death->handle, TG_MPI_ORIGIN_FREED, NULL, 0);
}

/* ---- topologies */

int tg_mpi_comm_neighbours(tg_mpi_handle handle)
{
    struct tg_mpi_object object = tg_mpi_object(TG_MPI_OBJECT_COMM, handle);
    int topology = 0, count = 0, in = 0, weighted = 0;
    if (object.id == 0 || tg_pmpi_Topo_test(handle, &topology) != 0)
        return 0;
    if (topology == tg_mpi.abi->topology_cart) {
        tg_pmpi_Cartdim_get(handle, &count);
        count *= 2;
    } else if (topology == tg_mpi.abi->topology_graph) {
        tg_pmpi_Graph_neighbors_count(handle, object.rank, &count);
    } else if (topology == tg_mpi.abi->topology_dist_graph) {
        tg_pmpi_Dist_graph_neighbors_count(handle, &in, &count, &weighted);
    }
    return count;
}
