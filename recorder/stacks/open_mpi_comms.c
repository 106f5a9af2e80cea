#include "recorder/stacks/open_mpi_comms.h"

#include <stdlib.h>
#include <string.h>

/* ompi_group_t of Open MPI 3 to 5. */
struct group {
    uint64_t class;
    int32_t references, padding;
    int32_t count, rank;
    int32_t fortran_index, padding_2;
    uint64_t processes; /* address of as many addresses of processes */
    uint32_t flags, padding_3;
};
enum { IS_DENSE = 4 };

/* What a communicator or a window has in memory. */
struct object {
    uint64_t words[80];
    uint64_t size;
};
static const char COMMUNICATOR[] = "ompi_communicator_t", WINDOW[] = "ompi_win_t";

static bool read_object(struct tg_open_mpi_objects *objects, uint64_t address, const char *class,
                        struct object *object)
{
    object->size = tg_open_mpi_object_size(objects, address, class);
    return object->size > 0 && object->size <= sizeof object->words &&
           tg_open_mpi_read(objects, address, object->words, object->size);
}

/* The first group of OBJECT, whose address a communicator has twice, as its own and as the other one; where it has that of another
 * group behind it, *REMOTE is this one (an intercommunicator), else 0. A window has it once. */
static bool read_group(struct tg_open_mpi_objects *objects, const struct object *object, bool is_window,
                       struct group *group, uint64_t *remote)
{
    const uint64_t *words = object->words;
    for (size_t i = 1; i + 1 < object->size / sizeof *words; i++) {
        if (tg_open_mpi_object_size(objects, words[i], "ompi_group_t") < sizeof *group)
            continue;
        bool has_other = !is_window && words[i + 1] != words[i];
        *remote = has_other ? words[i + 1] : 0;
        return tg_open_mpi_read(objects, words[i], group, sizeof *group) &&
               (!has_other ||
                tg_open_mpi_object_size(objects, words[i + 1], "ompi_group_t") >= sizeof *group);
    }
    return false;
}

/* What is behind the name in a communicator up to Open MPI 4.1: 0 in MPI_COMM_WORLD, 1 in MPI_COMM_SELF. Of later releases, whose processes
 * number their communicators each for itself, it is nothing of that kind. */
struct number {
    uint32_t number;
    int32_t rank;
};

static struct number number_at(const struct object *object, size_t offset)
{
    struct number number;
    memcpy(&number, (const uint8_t *)object->words + offset, sizeof number);
    return number;
}

/* Where the numbers are; 0: not known. */
static size_t find_numbers(struct tg_open_mpi_objects *objects)
{
    static const char of_world[] = "MPI_COMM_WORLD", of_self[] = "MPI_COMM_SELF";
    enum { NAME_BYTES = 64 };
    struct object world, self;
    struct group group;
    uint64_t remote;
    if (!read_object(objects, objects->world, COMMUNICATOR, &world) ||
        !read_object(objects, objects->self, COMMUNICATOR, &self) || world.size != self.size ||
        !read_group(objects, &world, false, &group, &remote))
        return 0;
    const uint8_t *bytes = (const uint8_t *)world.words,
                  *name = memmem(bytes, world.size, of_world, sizeof of_world);
    size_t offset = name != NULL ? (size_t)(name - bytes) : world.size;
    if (offset + NAME_BYTES + sizeof(struct number) > world.size ||
        memcmp((const uint8_t *)self.words + offset, of_self, sizeof of_self) != 0)
        return 0;
    struct number in_world = number_at(&world, offset + NAME_BYTES),
                  in_self = number_at(&self, offset + NAME_BYTES);
    return in_world.number == 0 && in_world.rank == group.rank && in_self.number == 1 && in_self.rank == 0
               ? offset + NAME_BYTES
               : 0;
}

/* The number that all members of the communicator OBJECT, in which this process has RANK, know it by; 0: not known. */
static uint32_t read_number(struct tg_open_mpi_objects *objects, const struct object *object, int32_t rank)
{
    size_t offset = find_numbers(objects);
    struct number number = {0};
    if (offset != 0 && offset + sizeof number <= object->size)
        number = number_at(object, offset);
    return number.rank == rank ? number.number : 0;
}

/* A process that nobody has talked to is no object yet: its name is in the word itself. */
static bool read_name(struct tg_open_mpi_objects *objects, uint64_t word, struct tg_open_mpi_name *name)
{
    enum { FAMILY = 0xffff0000, LOCAL = 0x7fff };
    if (word % 2 == 0)
        return tg_open_mpi_name_read(objects, word, name);
    *name = (struct tg_open_mpi_name){.job = (uint32_t)((word & FAMILY) | (word >> 1 & LOCAL)),
                                      .rank = (uint32_t)(word >> 32)};
    return name->rank <= INT32_MAX;
}

/* The ranks of PROCESSES, COUNT of them; NULL where one is of another job, or no process. */
static int32_t *read_ranks(struct tg_open_mpi_objects *objects, const uint64_t *processes, size_t count,
                           uint32_t job)
{
    int32_t *ranks = calloc(count, sizeof *ranks);
    struct tg_open_mpi_name name;
    for (size_t i = 0; ranks != NULL && i < count; i++) {
        if (!read_name(objects, processes[i], &name) || name.job != job) {
            free(ranks);
            return NULL;
        }
        ranks[i] = (int32_t)name.rank;
    }
    return ranks;
}

static bool is_plausible(const struct group *group)
{
    return group->references > 0 && group->count > 0 && group->count <= TG_MPI_MAX_MEMBERS &&
           (group->flags & IS_DENSE) != 0;
}

/* The addresses of the processes of GROUP, to be freed; NULL: not known. */
static uint64_t *read_processes(struct tg_open_mpi_objects *objects, const struct group *group)
{
    uint64_t *processes = calloc((size_t)group->count, sizeof *processes);
    if (processes != NULL &&
        tg_open_mpi_read(objects, group->processes, processes, (size_t)group->count * sizeof *processes))
        return processes;
    free(processes);
    return NULL;
}

/* The other group of an intercommunicator, at ADDRESS, of JOB. */
static void read_remote(struct tg_open_mpi_objects *objects, uint64_t address, uint32_t job,
                        struct tg_mpi_members *members)
{
    struct group group;
    if (!tg_open_mpi_read(objects, address, &group, sizeof group) || !is_plausible(&group))
        return;
    uint64_t *processes = read_processes(objects, &group);
    members->remote_size = group.count;
    if (processes != NULL)
        members->remote_ranks = read_ranks(objects, processes, (size_t)group.count, job);
    free(processes);
}

static bool read_members(struct tg_open_mpi_objects *objects, const struct object *object, bool is_window,
                         struct tg_mpi_members *members)
{
    struct group group;
    struct tg_open_mpi_name own;
    uint64_t self, remote;
    if (!read_group(objects, object, is_window, &group, &remote) ||
        !tg_open_mpi_name_own(objects, &self, &own) || !is_plausible(&group) || group.rank < 0 ||
        group.rank >= group.count)
        return false;
    uint64_t *processes = read_processes(objects, &group);
    if (processes != NULL && processes[group.rank] == self) { /* the library says twice who it is itself */
        members->size = group.count;
        members->rank = group.rank;
        members->number = is_window || remote != 0 ? 0 : read_number(objects, object, group.rank);
        members->ranks = read_ranks(objects, processes, (size_t)group.count, own.job);
    }
    free(processes);
    if (members->size > 0 && remote != 0)
        read_remote(objects, remote, own.job, members);
    if (remote != 0 && members->remote_ranks == NULL) /* half of them is not enough */
        tg_mpi_members_deinit(members);
    return members->size > 0;
}

bool tg_open_mpi_comm_read(struct tg_open_mpi_objects *objects, uint64_t address,
                           struct tg_mpi_members *members)
{
    struct object object;
    *members = (struct tg_mpi_members){.size = 0};
    return read_object(objects, address, COMMUNICATOR, &object) &&
           read_members(objects, &object, false, members);
}

bool tg_open_mpi_window_read(struct tg_open_mpi_objects *objects, uint64_t address,
                             struct tg_mpi_members *members)
{
    struct object object;
    *members = (struct tg_mpi_members){.size = 0};
    return read_object(objects, address, WINDOW, &object) && read_members(objects, &object, true, members);
}

bool tg_open_mpi_comm_find(const struct tg_open_mpi_objects *objects, uint64_t table, uint64_t world,
                           int32_t number, uint64_t *address)
{
    enum { MAX_WORDS = 20, MAX_NUMBER = 1 << 20 };
    uint64_t words[MAX_WORDS], first;
    if (table == 0 || world == 0 || number < 0 || number > MAX_NUMBER ||
        !tg_open_mpi_read(objects, table, words, sizeof words))
        return false;
    for (size_t i = 0; i < MAX_WORDS; i++)
        if (words[i] != 0 && words[i] % 8 == 0 && tg_open_mpi_read(objects, words[i], &first, sizeof first) &&
            first == world)
            return tg_open_mpi_read(objects, words[i] + 8 * (uint64_t)number, address, sizeof *address) &&
                   *address != 0;
    return false;
}
