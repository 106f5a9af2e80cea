#include "recorder/agent/mpi/objects.h"

#include "recorder/agent/mpi/library.h"
#include "recorder/agent/record.h"

#include <sys/mman.h>

enum {
    N_OBJECTS = 1 << 13,
    RANKS_ON_STACK = 256,
    KIND_SHIFT = 60,
};

static struct tg_mpi_entry object_entries[N_OBJECTS];
static struct tg_mpi_table objects = {.entries = object_entries, .n_entries = N_OBJECTS};

static bool told_of_full_table; /* __atomic */

/* ---- the table */

tg_mpi_handle tg_mpi_objects_handle(enum tg_mpi_object_kind kind, tg_mpi_handle handle)
{
    /* files are pointers everywhere: every implementation has them from ROMIO, or like it */
    return kind == TG_MPI_OBJECT_FILE ? handle : tg_mpi_abi_handle(tg_mpi.abi, handle);
}

static uint64_t key_of(enum tg_mpi_object_kind kind, tg_mpi_handle handle)
{
    return tg_mpi_objects_handle(kind, handle) ^ (uint64_t)kind << KIND_SHIFT;
}

struct tg_mpi_entry *tg_mpi_objects_find(enum tg_mpi_object_kind kind, tg_mpi_handle handle)
{
    return tg_mpi_table_find(&objects, key_of(kind, handle));
}

struct tg_mpi_object tg_mpi_objects_read(const struct tg_mpi_entry *entry)
{
    uint64_t rank_size = __atomic_load_n(&entry->words[TG_MPI_OBJECT_RANK_SIZE], __ATOMIC_RELAXED);
    return (struct tg_mpi_object){
        .id = __atomic_load_n(&entry->words[TG_MPI_OBJECT_ID], __ATOMIC_RELAXED),
        .rank = (int)(uint32_t)rank_size,
        .size = (int)(rank_size >> 32),
        .remote_size = (int)__atomic_load_n(&entry->words[TG_MPI_OBJECT_REMOTE_SIZE], __ATOMIC_RELAXED)};
}

bool tg_mpi_objects_take(enum tg_mpi_object_kind kind, tg_mpi_handle handle,
                         uint64_t words[TG_MPI_TABLE_WORDS])
{
    return tg_mpi_table_take(&objects, key_of(kind, handle), words);
}

void tg_mpi_objects_put_back(enum tg_mpi_object_kind kind, tg_mpi_handle handle,
                             const uint64_t words[TG_MPI_TABLE_WORDS])
{
    tg_mpi_table_put(&objects, key_of(kind, handle), words, TG_MPI_TABLE_REFUSES);
}

static void remember(enum tg_mpi_object_kind kind, tg_mpi_handle handle, const struct tg_mpi_object *object)
{
    uint64_t words[TG_MPI_TABLE_WORDS] = {[TG_MPI_OBJECT_ID] = object->id,
                                          [TG_MPI_OBJECT_RANK_SIZE] =
                                              (uint64_t)(uint32_t)object->size << 32 | (uint32_t)object->rank,
                                          [TG_MPI_OBJECT_REMOTE_SIZE] = (uint64_t)object->remote_size};
    if (!tg_mpi_table_put(&objects, key_of(kind, handle), words, TG_MPI_TABLE_REFUSES) &&
        !__atomic_exchange_n(&told_of_full_table, true, __ATOMIC_RELAXED))
        tg_agent_say(TG_RECORD_NOTE, "too many communicators, windows and files at once: calls on some "
                                     "are recorded without their number");
}

/* ---- members */

tg_mpi_handle tg_mpi_world_group(void)
{
    tg_mpi_handle group = 0;
    if (tg_mpi.session != 0)
        tg_pmpi_Group_from_session_pset(tg_mpi.session, "mpi://WORLD", &group);
    else
        tg_pmpi_Comm_group(tg_mpi.world, &group);
    return group;
}

void tg_mpi_members_open(struct tg_mpi_members *members, tg_mpi_handle comm, bool remote)
{
    *members = (struct tg_mpi_members){0};
    if (remote)
        tg_pmpi_Comm_remote_group(comm, &members->group);
    else
        tg_pmpi_Comm_group(comm, &members->group);
    members->world_group = tg_mpi_world_group();
    tg_pmpi_Group_size(members->group, &members->size);
    tg_pmpi_Group_rank(members->group, &members->rank);
}

void tg_mpi_members_close(struct tg_mpi_members *members)
{
    tg_pmpi_Group_free(&members->group);
    tg_pmpi_Group_free(&members->world_group);
}

static void translate(const struct tg_mpi_members *members, int first, int count, int *world_ranks)
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
int tg_mpi_members_first(const struct tg_mpi_members *members)
{
    int world_rank = tg_mpi.abi->undefined;
    if (members->size > 0)
        translate(members, 0, 1, &world_rank);
    return world_rank;
}

uint64_t tg_mpi_members_mix(const struct tg_mpi_members *members)
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
    enum { FIXED_WORDS = 9 };
    uint64_t *arguments = tg_agent_begin(TG_RECORD_MPI_COMM, FIXED_WORDS + (size_t)n_members);
    if (arguments == NULL)
        return;
    const uint64_t fixed[FIXED_WORDS] = {object->id,
                                         parent,
                                         handle,
                                         (uint64_t)origin,
                                         (uint64_t)(int64_t)object->rank,
                                         (uint64_t)object->size,
                                         (uint64_t)object->remote_size,
                                         object->link,
                                         (uint64_t)n_members};
    for (int i = 0; i < FIXED_WORDS; i++)
        arguments[i] = fixed[i];
    for (int i = 0; i < n_members; i++)
        arguments[FIXED_WORDS + i] = world_ranks[i] < 0 ? UINT64_MAX : (uint64_t)world_ranks[i];
    tg_agent_commit();
}

/* Records what was born; its first member tells who all of them are. */
static void record_birth(const struct tg_mpi_object *object, uint64_t parent, tg_mpi_handle handle,
                         enum tg_mpi_origin origin, const struct tg_mpi_members *members)
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

void tg_mpi_objects_add(enum tg_mpi_object_kind kind, tg_mpi_handle handle,
                        const struct tg_mpi_object *object, uint64_t parent, enum tg_mpi_origin origin,
                        const struct tg_mpi_members *members)
{
    remember(kind, handle, object);
    record_birth(object, parent, handle, origin, members);
}

void tg_mpi_objects_record_group(tg_mpi_handle group, tg_mpi_handle among)
{
    int ranks[RANKS_ON_STACK];
    int size = 0;
    tg_pmpi_Group_size(group, &size);
    int n = size < 0 ? 0 : size < RANKS_ON_STACK ? size : 0; /* of more it is not told */
    const struct tg_mpi_members members = {.group = group, .world_group = among, .size = n};
    translate(&members, 0, n, ranks);
    uint64_t *arguments = n == 0 ? NULL : tg_agent_begin(TG_RECORD_MPI_GROUP, 1 + (size_t)n);
    if (arguments == NULL)
        return;
    arguments[0] = (uint64_t)n;
    for (int i = 0; i < n; i++)
        arguments[1 + i] = (uint64_t)(int64_t)ranks[i];
    tg_agent_commit();
}

void tg_mpi_objects_record_freed(tg_mpi_handle handle, const struct tg_mpi_object *object)
{
    record_object(object, 0, handle, TG_MPI_ORIGIN_FREED, NULL, 0);
}
