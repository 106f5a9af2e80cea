#include "recorder/stacks/mpich_comms.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

/* MPI_COMM_WORLD and MPI_COMM_SELF are beside each other, and each has its handle, its name, how many processes it is of, and which
 * of them this one is. Where a field is in the one, it is in the other. */
enum {
    FIRST_DIRECT = 0x84000000, /* handles of what the program makes */
    FIRST_IN_BLOCK = 0xc4000000,
    FIRST_WINDOW = 0xa0000000,
    MAX_WINDOWS = 8,
    BLOCK_SHIFT = 12, /* of further ones: the number of the block, and that in it */
    MAX_BLOCKS = 1 << 14,
    MAX_DIRECT = 64,
    MAX_COMM_BYTES = 4096,
    MIN_NAME = 80, /* offset */
    /* from the name back, in all of MPICH 3.3 to 4.2: remote_size, rank, attributes, local_size, two groups, comm_kind, name */
    BEFORE_NAME = 52,
    OF_NUMBERS = 0,
    OF_REMOTE_SIZE = 4,
    OF_RANK = 8,
    OF_LOCAL_SIZE = 24,
    OF_KIND = 48,
    IS_INTER = 1, /* kinds */
};

/* MPIDI_rank_map_t. */
struct map {
    int32_t mode, table, size;
    int32_t offset, stride, block_size;
    uint64_t owner, ranks;
};
enum {
    IS_SAME = 1, /* modes; those without `within` are of the table that is named: 0, that of MPI_COMM_WORLD */
    IS_OFFSET = 2,
    IS_OFFSET_WITHIN,
    IS_STRIDE,
    IS_STRIDE_WITHIN,
    IS_BLOCK,
    IS_BLOCK_WITHIN,
    IS_LIST,
    IS_LIST_WITHIN,
};

static bool read_memory(const struct tg_inspect_memory *memory, uint64_t address, void *buffer, size_t size)
{
    return memory->read(memory->context, address, buffer, size);
}

static int32_t number_at(const uint8_t *bytes, size_t offset)
{
    int32_t number;
    memcpy(&number, bytes + offset, sizeof number);
    return number;
}

/* Sizes and rank of the communicator that begins at BYTES. The numbers of the two groups of an intercommunicator differ. */
static bool read_size(const uint8_t *bytes, size_t name, struct tg_mpi_members *members)
{
    const uint8_t *fields = bytes + name - BEFORE_NAME;
    int32_t size = number_at(fields, OF_LOCAL_SIZE), rank = number_at(fields, OF_RANK),
            remote_size = number_at(fields, OF_REMOTE_SIZE), kind = number_at(fields, OF_KIND);
    if (size <= 0 || rank < 0 || rank >= size || remote_size <= 0 || (kind != 0 && kind != IS_INTER) ||
        (kind == 0 && remote_size != size))
        return false;
    members->size = size;
    members->rank = rank;
    members->remote_size = kind == IS_INTER ? remote_size : 0;
    members->number = kind == IS_INTER ? 0 : (uint32_t)number_at(fields, OF_NUMBERS) >> 16;
    return true;
}

/* ---- where they are */

/* The handle at which the communicator with NAME at OFFSET of BYTES begins. */
static bool find_handle(const uint8_t *bytes, size_t offset, uint32_t handle, size_t *start)
{
    enum { MAX_NAME = 512 };
    for (size_t back = MIN_NAME; back <= MAX_NAME && back <= offset; back += 4)
        if ((offset - back) % 8 == 0 && (uint32_t)number_at(bytes, offset - back) == handle) {
            *start = offset - back;
            return true;
        }
    return false;
}

/* The one place where the map of MPI_COMM_WORLD, at WORLD, is that of all processes, and that of MPI_COMM_SELF of this one. */
static size_t find_map(const uint8_t *world, size_t size, int32_t n_ranks, int32_t rank)
{
    size_t found = 0, n = 0;
    for (size_t at = MIN_NAME; at + sizeof(struct map) <= size; at += 8) {
        struct map of_world, of_self;
        memcpy(&of_world, world + at, sizeof of_world);
        memcpy(&of_self, world + size + at, sizeof of_self);
        if (of_world.mode != IS_SAME || of_world.table != 0 || of_world.size != n_ranks ||
            of_self.size != 1 || of_self.table != 0 ||
            (of_self.mode != IS_OFFSET_WITHIN && of_self.mode != IS_OFFSET) || of_self.offset != rank)
            continue;
        found = at;
        n++;
    }
    return n == 1 ? found : 0;
}

/* What the library knows of where its communicators are (MPIR_Object_alloc_t) has how large each is, then the address of the first, and
 * before these that of the addresses of its blocks. */
static uint64_t find_blocks(const uint8_t *bytes, size_t size, const struct tg_mpich_comms *comms,
                            const struct tg_inspect_memory *memory)
{
    enum { BEFORE = 40, MAX_TRIES = 64 };
    size_t n_tries = 0;
    for (size_t i = BEFORE; i + 16 <= size; i += 8) {
        uint64_t words[2], address, block;
        uint32_t handle;
        memcpy(words, bytes + i, sizeof words);
        for (size_t back = 8;
             words[0] == comms->bytes && words[1] == comms->first && back <= BEFORE && n_tries++ < MAX_TRIES;
             back += 8) {
            memcpy(&address, bytes + i - back, sizeof address);
            if (read_memory(memory, address, &block, sizeof block) &&
                read_memory(memory, block, &handle, sizeof handle) && handle == FIRST_IN_BLOCK)
                return address;
        }
    }
    return 0;
}

/* Windows, which are beside each other as well, from the first one on that a program makes. */
static void find_windows(const uint8_t *bytes, size_t size, uint64_t address, struct tg_mpich_comms *comms)
{
    enum { MIN_BYTES = 128, MAX_TRIES = 64 };
    size_t n_tries = 0;
    for (size_t i = 0; i + 4 <= size && n_tries < MAX_TRIES; i += 8) {
        if ((uint32_t)number_at(bytes, i) != FIRST_WINDOW)
            continue;
        n_tries++;
        for (size_t apart = MIN_BYTES; apart <= MAX_COMM_BYTES && i + 2 * apart + 4 <= size; apart += 8)
            if ((uint32_t)number_at(bytes, i + apart) == FIRST_WINDOW + 1 &&
                (uint32_t)number_at(bytes, i + 2 * apart) == FIRST_WINDOW + 2) {
                comms->windows = address + i;
                comms->window_bytes = apart;
                return;
            }
    }
}

bool tg_mpich_comms_find_in(const uint8_t *bytes, size_t size, uint64_t address,
                            const struct tg_inspect_memory *memory, struct tg_mpich_comms *comms)
{
    static const char of_world[] = "MPI_COMM_WORLD", of_self[] = "MPI_COMM_SELF";
    const uint8_t *at = bytes;
    while ((at = memmem(at, size - (size_t)(at - bytes), of_world, sizeof of_world)) != NULL) {
        size_t offset = (size_t)(at++ - bytes), world;
        struct tg_mpi_members all, own;
        size_t left = size - offset - 1;
        const uint8_t *other =
            memmem(at, left < MAX_COMM_BYTES + 16 ? left : MAX_COMM_BYTES + 16, of_self, sizeof of_self);
        size_t apart = other == NULL ? 0 : (size_t)(other - bytes) - offset;
        if (offset % 4 != 0 || apart % 8 != 0 || apart < MIN_NAME || apart > MAX_COMM_BYTES ||
            !find_handle(bytes, offset, TG_MPICH_WORLD, &world) || world + 2 * apart > size ||
            (uint32_t)number_at(bytes, world + apart) != TG_MPICH_SELF ||
            !read_size(bytes + world, offset - world, &all) ||
            !read_size(bytes + world + apart, offset - world, &own) || own.size != 1 ||
            all.remote_size != 0 || own.remote_size != 0)
            continue;
        *comms = (struct tg_mpich_comms){.world = address + world,
                                         .bytes = apart,
                                         .name = offset - world,
                                         .map = find_map(bytes + world, apart, all.size, all.rank)};
        for (size_t i = 0; i + 4 <= size && comms->first == 0; i += 8)
            if ((uint32_t)number_at(bytes, i) == FIRST_DIRECT && i + 2 * apart <= size &&
                (uint32_t)number_at(bytes, i + apart) == FIRST_DIRECT + 1)
                comms->first = address + i;
        if (comms->first != 0)
            comms->blocks = find_blocks(bytes, size, comms, memory);
        find_windows(bytes, size, address, comms);
        return true;
    }
    return false;
}

/* Looks in what the library at MODULE writes to. */
static bool find_in(struct tg_modules *modules, const struct tg_module *module,
                    const struct tg_inspect_memory *memory, struct tg_mpich_comms *comms)
{
    enum { MAX_BYTES = 64 << 20 };
    uint64_t bias;
    struct tg_debug_info *info = tg_modules_debug_info(modules, module, &bias);
    const struct tg_elf_object *object = info == NULL ? NULL : tg_image_object(tg_debug_info_image(info));
    bool is_found = false;
    for (size_t i = 0; object != NULL && !is_found && i < object->n_segments; i++) {
        const struct tg_elf_segment *segment = &object->segments[i];
        if (segment->type != PT_LOAD || segment->memory_size <= segment->file_size ||
            segment->memory_size > MAX_BYTES)
            continue;
        uint64_t start = (segment->address + bias + 7) & ~(uint64_t)7,
                 size = segment->address + bias + segment->memory_size - start;
        uint8_t *bytes = malloc(size);
        is_found = bytes != NULL && read_memory(memory, start, bytes, size) &&
                   tg_mpich_comms_find_in(bytes, size, start, memory, comms);
        free(bytes);
    }
    return is_found;
}

bool tg_mpich_comms_find(struct tg_modules *modules, const struct tg_inspect_memory *memory,
                         struct tg_mpich_comms *comms)
{
    *comms = (struct tg_mpich_comms){.world = 0};
    for (size_t i = 0; i < tg_modules_count(modules); i++) {
        const struct tg_module *module = tg_modules_at(modules, i);
        const char *slash = strrchr(module->path, '/');
        if (slash != NULL && strncmp(slash, "/libmpich.so", strlen("/libmpich.so")) == 0 &&
            find_in(modules, module, memory, comms))
            return true;
    }
    return false;
}

/* ---- members */

/* The rank in the job of member I; -1: not known. */
static int32_t rank_of(const struct map *map, const int32_t *list, int32_t i)
{
    int64_t rank = -1;
    switch (map->mode) {
    case IS_SAME:
        rank = i;
        break;
    case IS_OFFSET:
    case IS_OFFSET_WITHIN:
        rank = (int64_t)i + map->offset;
        break;
    case IS_STRIDE:
    case IS_STRIDE_WITHIN:
        rank = (int64_t)i * map->stride + map->offset;
        break;
    case IS_BLOCK:
    case IS_BLOCK_WITHIN:
        if (map->block_size > 0)
            rank =
                (int64_t)(i / map->block_size) * ((int64_t)map->stride - map->block_size) + i + map->offset;
        break;
    case IS_LIST:
    case IS_LIST_WITHIN:
        rank = list[i];
        break;
    default:
        break;
    }
    return rank >= 0 && rank <= INT32_MAX ? (int32_t)rank : -1;
}

static int compare(const void *a, const void *b)
{
    const int32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Whether RANKS, COUNT of them, are each another one of the job's N_RANKS. */
static bool are_distinct(const int32_t *ranks, size_t count, int32_t n_ranks)
{
    int32_t *sorted = malloc(count * sizeof *sorted);
    if (sorted == NULL)
        return false;
    memcpy(sorted, ranks, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare);
    bool are = sorted[0] >= 0 && sorted[count - 1] < n_ranks;
    for (size_t i = 1; i < count && are; i++)
        are = sorted[i] != sorted[i - 1];
    free(sorted);
    return are;
}

/* The ranks of MAP, COUNT of them, to be freed; NULL: not known. */
static int32_t *read_map(const struct tg_inspect_memory *memory, const struct map *map, int32_t size,
                         const struct tg_mpi_members *world)
{
    size_t count = (size_t)size;
    bool is_list = map->mode == IS_LIST || map->mode == IS_LIST_WITHIN;
    int32_t *ranks = calloc(count, sizeof *ranks), *list = is_list ? calloc(count, sizeof *list) : NULL;
    bool is_known =
        ranks != NULL && map->size == size && map->table == 0 &&
        (!is_list || (list != NULL && read_memory(memory, map->ranks, list, count * sizeof *list)));
    for (size_t i = 0; is_known && i < count; i++)
        ranks[i] = rank_of(map, list, (int32_t)i);
    free(list);
    if (is_known && are_distinct(ranks, count, world->size))
        return ranks;
    free(ranks);
    return NULL;
}

/* Reads who the members of the communicator at BYTES are in the job, in which this process is WORLD's; not where that is not what they
 * say themselves. An intercommunicator has the other group first, then its own one. */
static void read_ranks(const struct tg_mpich_comms *comms, const struct tg_inspect_memory *memory,
                       const uint8_t *bytes, const struct tg_mpi_members *world,
                       struct tg_mpi_members *members)
{
    bool is_inter = members->remote_size > 0;
    struct map map, remote;
    if (comms->map + (is_inter ? 2 : 1) * sizeof map > comms->bytes)
        return;
    memcpy(&map, bytes + comms->map + (is_inter ? sizeof map : 0), sizeof map);
    members->ranks = read_map(memory, &map, members->size, world);
    if (members->ranks != NULL && members->ranks[members->rank] != world->rank) {
        free(members->ranks);
        members->ranks = NULL;
    }
    if (members->ranks == NULL || !is_inter)
        return;
    memcpy(&remote, bytes + comms->map, sizeof remote);
    members->remote_ranks = read_map(memory, &remote, members->remote_size, world);
    if (members->remote_ranks == NULL) {
        free(members->ranks);
        members->ranks = NULL;
    }
}

static bool read_world(const struct tg_mpich_comms *comms, const struct tg_inspect_memory *memory,
                       uint8_t *bytes, struct tg_mpi_members *world)
{
    return comms->world != 0 && read_memory(memory, comms->world, bytes, comms->bytes) &&
           (uint32_t)number_at(bytes, 0) == TG_MPICH_WORLD && read_size(bytes, comms->name, world);
}

/* The communicator at ADDRESS, whose handle is HANDLE. */
static bool read_comm(const struct tg_mpich_comms *comms, const struct tg_inspect_memory *memory,
                      uint64_t address, uint32_t handle, struct tg_mpi_members *members)
{
    uint8_t bytes[MAX_COMM_BYTES];
    struct tg_mpi_members world = {.size = 0};
    if (!read_world(comms, memory, bytes, &world) || !read_memory(memory, address, bytes, comms->bytes) ||
        (uint32_t)number_at(bytes, 0) != handle || number_at(bytes, 4) <= 0 ||
        !read_size(bytes, comms->name, members) || members->size > TG_MPI_MAX_MEMBERS ||
        members->remote_size > TG_MPI_MAX_MEMBERS)
        return false;
    if (comms->map != 0)
        read_ranks(comms, memory, bytes, &world, members);
    return true;
}

/* 0: unknown. */
static uint64_t address_in_block(const struct tg_mpich_comms *comms, const struct tg_inspect_memory *memory,
                                 uint32_t number)
{
    uint64_t block, place = comms->blocks + 8 * (uint64_t)(number >> BLOCK_SHIFT);
    return comms->blocks != 0 && read_memory(memory, place, &block, sizeof block) && block != 0
               ? block + (number & ((1 << BLOCK_SHIFT) - 1)) * comms->bytes
               : 0;
}

/* 0: unknown. */
static uint64_t address_of(const struct tg_mpich_comms *comms, const struct tg_inspect_memory *memory,
                           uint32_t handle)
{
    if (comms->world == 0)
        return 0;
    if (handle == TG_MPICH_WORLD || handle == TG_MPICH_SELF)
        return comms->world + (handle - TG_MPICH_WORLD) * comms->bytes;
    if (comms->first != 0 && handle >= FIRST_DIRECT && handle < FIRST_DIRECT + MAX_DIRECT)
        return comms->first + (handle - FIRST_DIRECT) * comms->bytes;
    if (handle >= FIRST_IN_BLOCK && handle < FIRST_IN_BLOCK + (MAX_BLOCKS << BLOCK_SHIFT))
        return address_in_block(comms, memory, handle - FIRST_IN_BLOCK);
    return 0;
}

bool tg_mpich_comm_read(const struct tg_mpich_comms *comms, const struct tg_inspect_memory *memory,
                        uint32_t handle, struct tg_mpi_members *members)
{
    uint64_t address = address_of(comms, memory, handle);
    *members = (struct tg_mpi_members){.size = 0};
    struct tg_mpi_members found = {.size = 0};
    if (address == 0 || !read_comm(comms, memory, address, handle, &found))
        return false;
    *members = found;
    return true;
}

uint32_t tg_mpich_comm_at(const struct tg_mpich_comms *comms, const struct tg_inspect_memory *memory,
                          uint64_t address)
{
    uint32_t handle;
    return address >= 4096 && address % 8 == 0 && read_memory(memory, address, &handle, sizeof handle) &&
                   address_of(comms, memory, handle) == address
               ? handle
               : 0;
}

bool tg_mpich_window_read(const struct tg_mpich_comms *comms, const struct tg_inspect_memory *memory,
                          uint32_t handle, struct tg_mpi_members *members)
{
    uint64_t words[MAX_COMM_BYTES / 8];
    uint32_t found = 0, at;
    size_t n = 0, number = handle - FIRST_WINDOW;
    *members = (struct tg_mpi_members){.size = 0};
    if (comms->windows == 0 || number >= MAX_WINDOWS ||
        !read_memory(memory, comms->windows + number * comms->window_bytes, words, comms->window_bytes) ||
        (uint32_t)words[0] != handle)
        return false;
    for (size_t i = 1; i < comms->window_bytes / sizeof *words; i++)
        if ((at = tg_mpich_comm_at(comms, memory, words[i])) != 0) {
            found = at;
            n++;
        }
    return n == 1 && tg_mpich_comm_read(comms, memory, found, members);
}

/* Counts in N the communicators at ADDRESS if that has HANDLE, and its messages have NUMBER; then FOUND is HANDLE. False where there is
 * none with HANDLE. */
static bool count_numbered(const struct tg_mpich_comms *comms, const struct tg_inspect_memory *memory,
                           uint64_t address, uint32_t handle, uint32_t number, uint32_t *found, size_t *n)
{
    uint8_t bytes[MAX_COMM_BYTES];
    if (address == 0 || !read_memory(memory, address, bytes, comms->name) ||
        (uint32_t)number_at(bytes, 0) != handle)
        return false;
    bool is_used = number_at(bytes, 4) > 0;
    const uint8_t *fields = bytes + comms->name - BEFORE_NAME;
    if (is_used && (uint32_t)number_at(fields, OF_NUMBERS) >> 16 == number) {
        *found = handle;
        (*n)++;
    }
    return true;
}

bool tg_mpich_comm_of_messages(const struct tg_mpich_comms *comms, const struct tg_inspect_memory *memory,
                               uint32_t number, struct tg_mpi_members *members)
{
    enum { MAX_SCANNED = 256 };
    uint32_t found = 0;
    size_t n = 0;
    *members = (struct tg_mpi_members){.size = 0};
    for (uint32_t i = 0; comms->first != 0 && i < MAX_DIRECT; i++)
        if (!count_numbered(comms, memory, comms->first + i * comms->bytes, FIRST_DIRECT + i, number, &found,
                            &n))
            break;
    for (uint32_t i = 0; comms->blocks != 0 && i < MAX_SCANNED; i++)
        if (!count_numbered(comms, memory, address_in_block(comms, memory, i), FIRST_IN_BLOCK + i, number,
                            &found, &n))
            break;
    return n == 1 && tg_mpich_comm_read(comms, memory, found, members);
}
