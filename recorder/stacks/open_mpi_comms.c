#include "recorder/stacks/open_mpi_comms.h"

#include <stdlib.h>

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

/* The group of the communicator at ADDRESS, which has its address twice, as its own and as the other one: an intercommunicator has
 * two. */
static bool read_group(struct tg_open_mpi_objects *objects, uint64_t address, struct group *group)
{
    enum { MAX_WORDS = 80 };
    uint64_t words[MAX_WORDS], size = tg_open_mpi_object_size(objects, address, "ompi_communicator_t");
    if (size == 0 || size > sizeof words || !tg_open_mpi_read(objects, address, words, size))
        return false;
    for (size_t i = 1; i + 1 < size / sizeof *words; i++)
        if (tg_open_mpi_object_size(objects, words[i], "ompi_group_t") >= sizeof *group)
            return words[i + 1] == words[i] && tg_open_mpi_read(objects, words[i], group, sizeof *group);
    return false;
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

bool tg_open_mpi_comm_read(struct tg_open_mpi_objects *objects, uint64_t address,
                           struct tg_mpi_members *members)
{
    struct group group;
    struct tg_open_mpi_name own;
    uint64_t self;
    *members = (struct tg_mpi_members){.size = 0};
    if (!read_group(objects, address, &group) || !tg_open_mpi_name_own(objects, &self, &own) ||
        group.references <= 0 || group.count <= 0 || group.count > TG_MPI_MAX_MEMBERS || group.rank < 0 ||
        group.rank >= group.count || (group.flags & IS_DENSE) == 0)
        return false;
    uint64_t *processes = calloc((size_t)group.count, sizeof *processes);
    if (processes != NULL &&
        tg_open_mpi_read(objects, group.processes, processes, (size_t)group.count * sizeof *processes) &&
        processes[group.rank] == self) { /* the library says twice who it is itself */
        members->size = group.count;
        members->rank = group.rank;
        members->ranks = read_ranks(objects, processes, (size_t)group.count, own.job);
    }
    free(processes);
    return members->size > 0;
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
