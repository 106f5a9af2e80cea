#include "recorder/agent/mpi/comm.h"

#include "recorder/agent/environment.h"
#include "recorder/agent/mpi/library.h"
#include "recorder/agent/mpi/world.h"

enum { N_FAMILIES = 1 << 11 };

/* How many communicators the same members made together: key is a mixture of the members, the word a
 * count. */
static struct tg_mpi_entry family_entries[N_FAMILIES];
static struct tg_mpi_table families = {.entries = family_entries, .n_entries = N_FAMILIES};

static struct tg_mpi_entry *find(enum tg_mpi_object_kind kind, tg_mpi_handle handle)
{
    return tg_mpi_world_is_running() ? tg_mpi_objects_find(kind, handle) : NULL;
}

struct tg_mpi_object tg_mpi_object(enum tg_mpi_object_kind kind, tg_mpi_handle handle)
{
    const struct tg_mpi_entry *entry = find(kind, handle);
    return entry == NULL ? (struct tg_mpi_object){0} : tg_mpi_objects_read(entry);
}

uint64_t tg_mpi_object_id(enum tg_mpi_object_kind kind, tg_mpi_handle handle)
{
    const struct tg_mpi_entry *entry = find(kind, handle);
    return entry == NULL ? 0 : __atomic_load_n(&entry->words[TG_MPI_OBJECT_ID], __ATOMIC_RELAXED);
}

/* A locked addition waits until all that was stored before has left for the cache, the records too. */
static uint64_t count_one(uint64_t *count)
{
    if (!__atomic_load_n(&tg_mpi.takes_turns, __ATOMIC_RELAXED))
        return __atomic_add_fetch(count, 1, __ATOMIC_RELAXED);
    uint64_t counted = __atomic_load_n(count, __ATOMIC_RELAXED) + 1;
    __atomic_store_n(count, counted, __ATOMIC_RELAXED);
    return counted;
}

struct tg_mpi_object tg_mpi_object_of_collective(enum tg_mpi_object_kind kind, tg_mpi_handle handle)
{
    struct tg_mpi_entry *entry = find(kind, handle);
    if (entry == NULL)
        return (struct tg_mpi_object){0};
    struct tg_mpi_object object = tg_mpi_objects_read(entry);
    object.instance = count_one(&entry->words[TG_MPI_OBJECT_INSTANCES]);
    return object;
}

/* ---- births */

struct tg_mpi_birth tg_mpi_birth_begin(tg_mpi_handle parent, enum tg_mpi_origin origin)
{
    struct tg_mpi_birth birth = {.origin = origin};
    struct tg_mpi_entry *entry = find(TG_MPI_OBJECT_COMM, parent);
    if (entry != NULL) {
        birth.parent = __atomic_load_n(&entry->words[TG_MPI_OBJECT_ID], __ATOMIC_RELAXED);
        birth.nth = __atomic_add_fetch(&entry->words[TG_MPI_OBJECT_CHILDREN], 1, __ATOMIC_RELAXED);
    }
    return birth;
}

static bool is_no_comm(tg_mpi_handle handle)
{
    return handle == 0 || handle == tg_mpi.comm_null || !tg_mpi_world_is_running();
}

/* Both sides of an intercommunicator find the same first member: the one of lower rank. */
static int first_of_both(const struct tg_mpi_members *members, const struct tg_mpi_members *remote)
{
    int first = tg_mpi_members_first(members), other = remote == NULL ? first : tg_mpi_members_first(remote);
    return other < first ? other : first;
}

void tg_mpi_comm_born(tg_mpi_handle handle, const struct tg_mpi_birth *birth)
{
    handle = tg_mpi_abi_handle(tg_mpi.abi, handle);
    if (is_no_comm(handle) || birth->parent == 0)
        return;
    int is_inter = 0;
    tg_pmpi_Comm_test_inter(handle, &is_inter);
    struct tg_mpi_members members, remote = {0};
    tg_mpi_members_open(&members, handle, false);
    if (is_inter)
        tg_mpi_members_open(&remote, handle, true);
    int first = first_of_both(&members, is_inter ? &remote : NULL);
    struct tg_mpi_object object = {.id = tg_mpi_mix(birth->parent, birth->nth, (uint64_t)first),
                                   .rank = members.rank,
                                   .size = members.size,
                                   .remote_size = remote.size};
    if (is_inter && birth->link != 0)
        object.link = birth->link;
    else if (is_inter && remote.size > 0 && tg_mpi_members_first(&remote) < 0)
        object.link = TG_MPI_LINK_UNKNOWN;
    tg_mpi_objects_add(TG_MPI_OBJECT_COMM, handle, &object, birth->parent, birth->origin, &members);
    tg_mpi_members_close(&members);
    if (is_inter)
        tg_mpi_members_close(&remote);
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
    struct tg_mpi_members members, remote = {0};
    tg_mpi_members_open(&members, handle, false);
    uint64_t mine = tg_mpi_members_mix(&members), theirs = 0;
    if (is_inter) {
        tg_mpi_members_open(&remote, handle, true);
        theirs = tg_mpi_members_mix(&remote);
        tg_mpi_members_close(&remote);
    }
    uint64_t key =
        mine < theirs ? tg_mpi_mix(mine, theirs, (uint64_t)tag) : tg_mpi_mix(theirs, mine, (uint64_t)tag);
    uint64_t nth = count_in_family(key);
    struct tg_mpi_object object = {.id = tg_mpi_mix(key, nth, (uint64_t)origin),
                                   .rank = members.rank,
                                   .size = members.size,
                                   .remote_size = remote.size};
    if (nth != 0)
        tg_mpi_objects_add(TG_MPI_OBJECT_COMM, handle, &object, parent, origin, &members);
    tg_mpi_members_close(&members);
}

void tg_mpi_object_born(enum tg_mpi_object_kind kind, tg_mpi_handle handle, tg_mpi_handle comm,
                        const struct tg_mpi_birth *birth)
{
    handle = tg_mpi_objects_handle(kind, handle);
    comm = tg_mpi_abi_handle(tg_mpi.abi, comm);
    struct tg_mpi_object object = tg_mpi_object(TG_MPI_OBJECT_COMM, comm);
    if (handle == 0 || object.id == 0 || birth->parent == 0)
        return;
    struct tg_mpi_members members;
    tg_mpi_members_open(&members, comm, false);
    object.id = tg_mpi_mix(birth->parent, birth->nth, (uint64_t)tg_mpi_members_first(&members));
    tg_mpi_objects_add(kind, handle, &object, birth->parent, birth->origin, &members);
    tg_mpi_members_close(&members);
}

uint64_t tg_mpi_link_of(const char *text, char stop)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    if (text == NULL)
        return 0;
    for (; *text != '\0' && *text != stop; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash | 2;
}

/* Open MPI tells spawned processes the port that their parents wait at, which begins with the name of the parents' job. */
void tg_mpi_comm_found_parent(tg_mpi_handle handle)
{
    if (find(TG_MPI_OBJECT_COMM, handle) == NULL) {
        const struct tg_mpi_birth birth = {
            .parent = TG_MPI_WORLD_ID,
            .nth = 0,
            .origin = TG_MPI_ORIGIN_SPAWN,
            .link = tg_mpi_link_of(tg_agent_environment_get("OMPI_PARENT_PORT"), '.')};
        tg_mpi_comm_born(handle, &birth);
    }
}

void tg_mpi_comm_find_parent(void)
{
    tg_mpi_handle parent = tg_mpi.comm_null;
    if (tg_mpi_world_is_running() && tg_pmpi_Comm_get_parent(&parent) == 0)
        tg_mpi_comm_found_parent(parent);
}

/* ---- deaths */

struct tg_mpi_death tg_mpi_death_begin(enum tg_mpi_object_kind kind, tg_mpi_handle handle)
{
    struct tg_mpi_death death = {.kind = kind, .handle = handle};
    death.known = tg_mpi_world_is_running() && tg_mpi_objects_take(kind, handle, death.words);
    return death;
}

void tg_mpi_death_end(const struct tg_mpi_death *death, bool freed)
{
    if (!death->known)
        return;
    if (!freed) {
        tg_mpi_objects_put_back(death->kind, death->handle, death->words);
        return;
    }
    uint64_t rank_size = death->words[TG_MPI_OBJECT_RANK_SIZE];
    struct tg_mpi_object object = {.id = death->words[TG_MPI_OBJECT_ID],
                                   .rank = (int)(uint32_t)rank_size,
                                   .size = (int)(rank_size >> 32)};
    tg_mpi_objects_record_freed(tg_mpi_objects_handle(death->kind, death->handle), &object);
}

/* ---- groups */

void tg_mpi_group_tell(tg_mpi_handle group, tg_mpi_handle window)
{
    tg_mpi_handle among = 0;
    group = tg_mpi_abi_handle(tg_mpi.abi, group);
    window = tg_mpi_abi_handle(tg_mpi.abi, window);
    if (group == 0 || group == tg_mpi.group_null || find(TG_MPI_OBJECT_WINDOW, window) == NULL ||
        tg_pmpi_Win_get_group(window, &among) != 0)
        return; /* a handle that is none: the library is about to say so */
    tg_mpi_objects_record_group(group, among);
    tg_pmpi_Group_free(&among);
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
