#include "recorder/stacks/open_mpi_comms.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A process: the library from 0x10000 on, with its classes, and objects behind it, at 0x20000. */
enum {
    LIBRARY = 0x10000,
    OBJECTS = 0x20000,
    PART = 0x8000,
    NAMES = LIBRARY + 0x2000,
    OWN_POINTER = LIBRARY + 0x3800,
    COMM = OBJECTS,
    COMM_BYTES = 352,
    GROUP = OBJECTS + 0x400,
    PROCESSES = OBJECTS + 0x800,
    SELF = OBJECTS + 0x1000,
    PEER = OBJECTS + 0x1100,
    TABLE = OBJECTS + 0x2000,
    ENTRIES = OBJECTS + 0x2400,
    JOB = 0x12340001,
};

static uint8_t library[PART], objects_part[PART];
static struct tg_modules *modules;

static uint8_t *at(uint64_t address, size_t size)
{
    if (address >= LIBRARY && address - LIBRARY + size <= PART)
        return library + (address - LIBRARY);
    return address >= OBJECTS && address - OBJECTS + size <= PART ? objects_part + (address - OBJECTS) : NULL;
}

static bool read_memory(void *context, uint64_t address, void *buffer, size_t size)
{
    (void)context;
    const uint8_t *from = at(address, size);
    if (from != NULL)
        memcpy(buffer, from, size);
    return from != NULL;
}
static const struct tg_inspect_memory memory = {NULL, read_memory};

static void put(uint64_t address, uint64_t value, size_t size)
{
    memcpy(at(address, size), &value, size);
}

static const struct {
    const char *name;
    int parent;
    uint64_t size;
} classes[] = {
    {"opal_object_t", -1, 16},     {"opal_list_item_t", 0, 40}, {"ompi_communicator_t", 0, COMM_BYTES},
    {"ompi_group_t", 0, 72},       {"opal_proc_t", 1, 100},     {"ompi_proc_t", 4, 120},
    {"ompi_win_t", 0, COMM_BYTES},
};
enum { OF_COMM = 2, OF_GROUP, OF_PROCESS = 5, OF_WINDOW };

static uint64_t class_at(int index)
{
    return LIBRARY + 64 * (uint64_t)index;
}

static void put_process(uint64_t address, uint32_t job, uint32_t rank)
{
    put(address, class_at(OF_PROCESS), 8);
    put(address + 40, job, 4);
    put(address + 44, rank, 4);
}

/* A communicator of ranks 5, 2 and 7 of the job, of which this one is 2, and nobody has talked to 7. */
static int set_up(void **state)
{
    (void)state;
    const struct tg_module_place place = {LIBRARY, LIBRARY + PART, "/usr/lib/libmpi.so.40", "", NULL};
    memset(library, 0, sizeof library);
    memset(objects_part, 0, sizeof objects_part);
    for (int i = 0; i < (int)(sizeof classes / sizeof *classes); i++) {
        put(class_at(i), NAMES + 40 * (uint64_t)i, 8);
        put(class_at(i) + 8, classes[i].parent >= 0 ? class_at(classes[i].parent) : 0, 8);
        put(class_at(i) + 56, classes[i].size, 8);
        memcpy(at(NAMES + 40 * (uint64_t)i, 40), classes[i].name, strlen(classes[i].name));
    }
    put_process(SELF, JOB, 2);
    put_process(PEER, JOB, 5);
    put(OWN_POINTER, SELF, 8);
    put(COMM, class_at(OF_COMM), 8);
    put(COMM + 248, GROUP, 8);
    put(COMM + 256, GROUP, 8);
    put(GROUP, class_at(OF_GROUP), 8);
    put(GROUP + 8, 2, 4);
    put(GROUP + 16, 3, 4);
    put(GROUP + 20, 1, 4);
    put(GROUP + 32, PROCESSES, 8);
    put(GROUP + 40, 4, 4);
    put(PROCESSES, PEER, 8);
    put(PROCESSES + 8, SELF, 8);
    put(PROCESSES + 16, (uint64_t)7 << 32 | (JOB & 0xffff0000) | (JOB & 0x7fff) << 1 | 1, 8);
    return tg_modules_create_of(&place, 1, NULL, &modules) == NULL ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    tg_modules_destroy(modules);
    return 0;
}

static bool read_comm(struct tg_mpi_members *members)
{
    struct tg_open_mpi_objects objects = {.modules = modules, .memory = &memory, .process = OWN_POINTER};
    return tg_open_mpi_comm_read(&objects, COMM, members);
}

static void test_members(void **state)
{
    static const int32_t ranks[] = {5, 2, 7};
    struct tg_mpi_members members;
    (void)state;
    assert_true(read_comm(&members));
    assert_int_equal(members.size, 3);
    assert_int_equal(members.rank, 1);
    assert_memory_equal(members.ranks, ranks, sizeof ranks);
    tg_mpi_members_deinit(&members);
    put(PEER + 40, JOB + 1, 4); /* of another job: its rank says nothing here */
    assert_true(read_comm(&members));
    assert_int_equal(members.size, 3);
    assert_null(members.ranks);
}

/* Two groups, a group in which this process is not where it says, one of another form, no group, no communicator. */
static void test_others(void **state)
{
    static const struct {
        uint64_t address, value;
        size_t size;
    } changes[] = {
        {COMM + 256, SELF, 8}, {GROUP + 20, 0, 4}, {GROUP + 20, 3, 4}, {GROUP + 16, 0, 4},
        {GROUP + 40, 2, 4},    {GROUP, 0, 8},      {COMM, 0, 8},       {OWN_POINTER, 0, 8},
    };
    struct tg_mpi_members members;
    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        uint64_t before = 0;
        memcpy(&before, at(changes[i].address, changes[i].size), changes[i].size);
        put(changes[i].address, changes[i].value, changes[i].size);
        assert_false(read_comm(&members));
        put(changes[i].address, before, changes[i].size);
    }
    assert_true(read_comm(&members));
    tg_mpi_members_deinit(&members);
}

/* An intercommunicator's ranks are those of the other group; where half of it is not known, nothing is. */
static void test_two_groups(void **state)
{
    static const int32_t own[] = {5, 2, 7}, remote[] = {9, 5};
    const uint64_t other = GROUP + 0x100, its_processes = PROCESSES + 0x100;
    struct tg_mpi_members members;
    (void)state;
    put(COMM + 256, other, 8);
    put(other, class_at(OF_GROUP), 8);
    put(other + 8, 1, 4);
    put(other + 16, 2, 4);
    put(other + 20, (uint32_t)-32766, 4);
    put(other + 32, its_processes, 8);
    put(other + 40, 4, 4);
    put(its_processes, (uint64_t)9 << 32 | (JOB & 0xffff0000) | (JOB & 0x7fff) << 1 | 1, 8);
    put(its_processes + 8, PEER, 8);
    assert_true(read_comm(&members));
    assert_memory_equal(members.ranks, own, sizeof own);
    assert_int_equal(members.remote_size, 2);
    assert_memory_equal(members.remote_ranks, remote, sizeof remote);
    tg_mpi_members_deinit(&members);
    put(its_processes, 0, 8);
    assert_false(read_comm(&members));
    put(other + 40, 2, 4);
    assert_false(read_comm(&members));
}

/* A window has one group, once. */
static void test_window(void **state)
{
    static const int32_t ranks[] = {5, 2, 7};
    struct tg_open_mpi_objects objects = {.modules = modules, .memory = &memory, .process = OWN_POINTER};
    struct tg_mpi_members members;
    (void)state;
    assert_false(tg_open_mpi_window_read(&objects, COMM, &members));
    put(COMM, class_at(OF_WINDOW), 8);
    put(COMM + 256, 0x1234, 8);
    assert_true(tg_open_mpi_window_read(&objects, COMM, &members));
    assert_memory_equal(members.ranks, ranks, sizeof ranks);
    tg_mpi_members_deinit(&members);
    assert_false(read_comm(&members));
}

/* Up to Open MPI 4.1 the number behind the name is the same at all members: 0 and 1 of MPI_COMM_WORLD and MPI_COMM_SELF. */
static void test_number(void **state)
{
    const uint64_t world = OBJECTS + 0x3000, self = OBJECTS + 0x3400;
    struct tg_open_mpi_objects objects = {
        .modules = modules, .memory = &memory, .process = OWN_POINTER, .world = world, .self = self};
    struct tg_mpi_members members;
    (void)state;
    memcpy(at(world, COMM_BYTES), at(COMM, COMM_BYTES), COMM_BYTES);
    memcpy(at(self, COMM_BYTES), at(COMM, COMM_BYTES), COMM_BYTES);
    memcpy(at(world + 80, 15), "MPI_COMM_WORLD", 15);
    memcpy(at(self + 80, 14), "MPI_COMM_SELF", 14);
    put(world + 148, 1, 4);
    put(self + 144, 1, 4);
    put(COMM + 144, 7, 4);
    put(COMM + 148, 1, 4);
    for (int i = 0; i < 4; i++) {
        put(self + 144, i != 1, 4); /* a later release, whose numbers are each process's own */
        put(COMM + 148, i == 2 ? 2 : 1, 4);
        objects.self = i == 3 ? 0 : self;
        assert_true(tg_open_mpi_comm_read(&objects, COMM, &members));
        assert_int_equal(members.number, i == 0 ? 7 : 0);
        tg_mpi_members_deinit(&members);
    }
}

/* Fortran's programs have numbers: the table that begins with MPI_COMM_WORLD has them. */
static void test_numbers(void **state)
{
    const struct tg_open_mpi_objects objects = {
        .modules = modules, .memory = &memory, .process = OWN_POINTER};
    uint64_t address;
    (void)state;
    put(TABLE + 64, ENTRIES, 8);
    put(ENTRIES, 0x555, 8);
    put(ENTRIES + 24, COMM, 8);
    assert_true(tg_open_mpi_comm_find(&objects, TABLE, 0x555, 3, &address));
    assert_int_equal(address, COMM);
    assert_false(tg_open_mpi_comm_find(&objects, TABLE, 0x555, 2, &address));
    assert_false(tg_open_mpi_comm_find(&objects, TABLE, 0x556, 3, &address));
    assert_false(tg_open_mpi_comm_find(&objects, TABLE, 0x555, -1, &address));
    assert_false(tg_open_mpi_comm_find(&objects, 0, 0x555, 3, &address));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_members, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_numbers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_two_groups, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_window, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_number, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
