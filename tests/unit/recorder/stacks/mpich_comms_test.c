#include "recorder/stacks/mpich_comms.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What the library writes to, with eight communicators of the program's, MPI_COMM_WORLD of four ranks, of which this one is the third, and
 * MPI_COMM_SELF. */
enum {
    PART = 0x4000,
    START = 0x70000,
    BYTES = 872,
    FIRST = 0x100,
    WORLD = FIRST + 8 * BYTES,
    SELF = WORLD + BYTES,
    LIST = 0x3000,
    NAME = 116,
    MAP = 784,
    OWN = 2,
};

static uint8_t part[PART];

static bool read_memory(void *context, uint64_t address, void *buffer, size_t size)
{
    (void)context;
    if (address < START || address - START > PART || size > PART - (address - START))
        return false;
    memcpy(buffer, part + (address - START), size);
    return true;
}
static const struct tg_inspect_memory memory = {NULL, read_memory};

static void put(size_t offset, uint64_t value, size_t size)
{
    memcpy(part + offset, &value, size);
}

static void put_comm(size_t at, uint32_t handle, uint32_t number, int size, int rank)
{
    put(at, handle, 4);
    put(at + 4, 1, 4);
    put(at + 64, number << 16 | number, 4);
    put(at + 68, (uint32_t)size, 4);
    put(at + 72, (uint32_t)rank, 4);
    put(at + 88, (uint32_t)size, 4);
}

static void put_map(size_t at, int mode, int size, int offset, int stride)
{
    put(at + MAP, (uint32_t)mode, 4);
    put(at + MAP + 8, (uint32_t)size, 4);
    put(at + MAP + 12, (uint32_t)offset, 4);
    put(at + MAP + 16, (uint32_t)stride, 4);
    put(at + MAP + 20, 1, 4);
}

static int set_up(void **state)
{
    (void)state;
    memset(part, 0, sizeof part);
    for (uint32_t i = 0; i < 8; i++)
        put(FIRST + i * BYTES, 0x84000000 + i, 4);
    put_comm(WORLD, TG_MPICH_WORLD, 0, 4, OWN);
    put_map(WORLD, 1, 4, 0, 0);
    memcpy(part + WORLD + NAME, "MPI_COMM_WORLD", 15);
    put_comm(SELF, TG_MPICH_SELF, 1, 1, 0);
    put_map(SELF, 3, 1, OWN, 0);
    memcpy(part + SELF + NAME, "MPI_COMM_SELF", 14);
    return 0;
}

static void check(uint32_t handle, int32_t size, int32_t rank, const int32_t *ranks)
{
    struct tg_mpich_comms comms;
    struct tg_mpi_members members;
    assert_true(tg_mpich_comms_find_in(part, PART, START, &memory, &comms));
    assert_true(tg_mpich_comm_read(&comms, &memory, handle, &members));
    assert_int_equal(members.size, size);
    assert_int_equal(members.rank, rank);
    assert_int_equal(members.ranks != NULL, ranks != NULL);
    if (ranks != NULL)
        assert_memory_equal(members.ranks, ranks, (size_t)size * sizeof *ranks);
    tg_mpi_members_deinit(&members);
}

/* The library says of each communicator how its members are counted in the job. */
static void test_members(void **state)
{
    static const int32_t all[] = {0, 1, 2, 3}, own[] = {OWN}, even[] = {0, 2}, listed[] = {3, 2, 0};
    (void)state;
    check(TG_MPICH_WORLD, 4, OWN, all);
    check(TG_MPICH_SELF, 1, 0, own);
    put_comm(FIRST + BYTES, 0x84000001, 0x1f0, 2, 1);
    put_map(FIRST + BYTES, 5, 2, 0, 2);
    check(0x84000001, 2, 1, even);
    put_comm(FIRST + 2 * BYTES, 0x84000002, 0x1e0, 3, 1);
    put_map(FIRST + 2 * BYTES, 8, 3, 0, 0);
    put(FIRST + 2 * BYTES + MAP + 32, START + LIST, 8);
    memcpy(part + LIST, listed, sizeof listed);
    check(0x84000002, 3, 1, listed);
}

/* What contradicts itself is unknown: this rank elsewhere, a rank twice or of no job, another job's table, another count. */
static void test_contradictions(void **state)
{
    (void)state;
    put_comm(FIRST + BYTES, 0x84000001, 0x1f0, 2, 1);
    put_map(FIRST + BYTES, 5, 2, 1, 2);
    check(0x84000001, 2, 1, NULL);
    put_map(FIRST + BYTES, 5, 2, OWN, 0);
    check(0x84000001, 2, 1, NULL);
    put_map(FIRST + BYTES, 5, 2, -1, 3);
    check(0x84000001, 2, 1, NULL);
    put_map(FIRST + BYTES, 5, 3, 0, 2);
    check(0x84000001, 2, 1, NULL);
    put_map(FIRST + BYTES, 5, 2, 0, 2);
    put(FIRST + BYTES + MAP + 4, 1, 4);
    check(0x84000001, 2, 1, NULL);
}

/* Intercommunicators have two sizes; of one that was freed, or whose handle is another one, nothing is said. */
static void test_others(void **state)
{
    struct tg_mpich_comms comms;
    struct tg_mpi_members members;
    (void)state;
    put_comm(FIRST + BYTES, 0x84000001, 0x1f0, 2, 1);
    put(FIRST + BYTES + 68, 3, 4);
    assert_true(tg_mpich_comms_find_in(part, PART, START, &memory, &comms));
    assert_false(tg_mpich_comm_read(&comms, &memory, 0x84000001, &members));
    put(FIRST + BYTES + 68, 2, 4);
    assert_true(tg_mpich_comm_read(&comms, &memory, 0x84000001, &members));
    tg_mpi_members_deinit(&members);
    put(FIRST + BYTES + 4, 0, 4);
    assert_false(tg_mpich_comm_read(&comms, &memory, 0x84000001, &members));
    assert_false(tg_mpich_comm_read(&comms, &memory, 0x84000009, &members));
    assert_false(tg_mpich_comm_read(&comms, &memory, 0xc4000000, &members));
}

/* Further ones are in blocks, whose addresses are where the library says how large each is, and where the first is. */
static void test_blocks(void **state)
{
    enum { ABOUT = 0x40, BLOCKS = 0x3100, BLOCK = 0x3200 };
    static const int32_t even[] = {0, 2};
    struct tg_mpich_comms comms;
    struct tg_mpi_members members;
    (void)state;
    put(ABOUT - 24, START + BLOCKS, 8);
    put(ABOUT, BYTES, 8);
    put(ABOUT + 8, START + FIRST, 8);
    put(BLOCKS, START + BLOCK, 8);
    put(BLOCK, 0xc4000000, 4);
    put_comm(BLOCK + BYTES, 0xc4000001, 0x1e0, 2, 1);
    put_map(BLOCK + BYTES, 5, 2, 0, 2);
    check(0xc4000001, 2, 1, even);
    assert_true(tg_mpich_comms_find_in(part, PART, START, &memory, &comms));
    assert_true(tg_mpich_comm_of_messages(&comms, &memory, 0x1e0, &members));
    tg_mpi_members_deinit(&members);
    assert_false(tg_mpich_comm_read(&comms, &memory, 0xc4000002, &members));
    assert_false(tg_mpich_comm_read(&comms, &memory, 0xc4001000, &members));
    put(BLOCK, 0xc4000002, 4); /* something else */
    assert_true(tg_mpich_comms_find_in(part, PART, START, &memory, &comms));
    assert_int_equal(comms.blocks, 0);
    assert_false(tg_mpich_comm_read(&comms, &memory, 0xc4000001, &members));
}

/* An intercommunicator has the other group first, then its own, and no number that both know. */
static void test_two_groups(void **state)
{
    static const int32_t own[] = {0, 2}, remote[] = {1, 2, 3};
    struct tg_mpich_comms comms;
    struct tg_mpi_members members;
    (void)state;
    put_comm(FIRST + BYTES, 0x84000001, 0x1f0, 2, 1);
    put(FIRST + BYTES + 68, 3, 4);
    put(FIRST + BYTES + 112, 1, 4);
    put_map(FIRST + BYTES, 3, 3, 1, 0);
    put_map(FIRST + BYTES + 40, 5, 2, 0, 2);
    assert_true(tg_mpich_comms_find_in(part, PART, START, &memory, &comms));
    assert_true(tg_mpich_comm_read(&comms, &memory, 0x84000001, &members));
    assert_true(members.size == 2 && members.remote_size == 3 && members.number == 0);
    assert_memory_equal(members.ranks, own, sizeof own);
    assert_memory_equal(members.remote_ranks, remote, sizeof remote);
    tg_mpi_members_deinit(&members);
    put_map(FIRST + BYTES, 3, 3, 2, 0); /* a rank of no job */
    assert_true(tg_mpich_comm_read(&comms, &memory, 0x84000001, &members));
    assert_true(members.ranks == NULL && members.remote_ranks == NULL);
    put(FIRST + BYTES + 68, 0, 4);
    assert_false(tg_mpich_comm_read(&comms, &memory, 0x84000001, &members));
}

/* A window has the address of a communicator, one alone. */
static void test_window(void **state)
{
    enum { WINDOWS = 0x2400, WINDOW_BYTES = 256 };
    static const int32_t even[] = {0, 2};
    struct tg_mpich_comms comms;
    struct tg_mpi_members members;
    (void)state;
    put_comm(FIRST + BYTES, 0x84000001, 0x1f0, 2, 1);
    put_map(FIRST + BYTES, 5, 2, 0, 2);
    for (uint32_t i = 0; i < 3; i++)
        put(WINDOWS + i * WINDOW_BYTES, 0xa0000000 + i, 4);
    put(WINDOWS + WINDOW_BYTES + 104, START + FIRST + BYTES, 8);
    assert_true(tg_mpich_comms_find_in(part, PART, START, &memory, &comms));
    assert_int_equal(tg_mpich_comm_at(&comms, &memory, START + FIRST + BYTES), 0x84000001);
    assert_int_equal(tg_mpich_comm_at(&comms, &memory, START + FIRST + BYTES + 8), 0);
    assert_true(tg_mpich_window_read(&comms, &memory, 0xa0000001, &members));
    assert_memory_equal(members.ranks, even, sizeof even);
    tg_mpi_members_deinit(&members);
    assert_false(tg_mpich_window_read(&comms, &memory, 0xa0000000, &members));
    assert_false(tg_mpich_window_read(&comms, &memory, 0xa0000008, &members));
    assert_false(tg_mpich_window_read(&comms, &memory, 0x84000001, &members));
    put(WINDOWS + WINDOW_BYTES + 112, START + WORLD, 8);
    assert_false(tg_mpich_window_read(&comms, &memory, 0xa0000001, &members));
}

/* Messages have a number of the communicator, which only one of those in use may have. */
static void test_messages(void **state)
{
    struct tg_mpich_comms comms;
    struct tg_mpi_members members;
    (void)state;
    put_comm(FIRST + BYTES, 0x84000001, 0x1f0, 2, 1);
    put_map(FIRST + BYTES, 5, 2, 0, 2);
    assert_true(tg_mpich_comms_find_in(part, PART, START, &memory, &comms));
    assert_true(tg_mpich_comm_of_messages(&comms, &memory, 0x1f0, &members));
    assert_int_equal(members.ranks[1], OWN);
    tg_mpi_members_deinit(&members);
    assert_false(tg_mpich_comm_of_messages(&comms, &memory, 0x1f2, &members));
    put_comm(FIRST + 3 * BYTES, 0x84000003, 0x1f0, 2, 1);
    assert_false(tg_mpich_comm_of_messages(&comms, &memory, 0x1f0, &members));
}

/* Before MPI is initialized, or with another name, or of another form, nothing is found. */
static void test_nothing(void **state)
{
    struct tg_mpich_comms comms;
    (void)state;
    put(SELF + 72, 1, 4);
    assert_false(tg_mpich_comms_find_in(part, PART, START, &memory, &comms));
    put(SELF + 72, 0, 4);
    assert_true(tg_mpich_comms_find_in(part, PART, START, &memory, &comms));
    put(WORLD + 68, 0, 4);
    assert_false(tg_mpich_comms_find_in(part, PART, START, &memory, &comms));
    put(WORLD + 68, 4, 4);
    put(WORLD, 0, 4);
    assert_false(tg_mpich_comms_find_in(part, PART, START, &memory, &comms));
    memset(part, 0, sizeof part);
    assert_false(tg_mpich_comms_find_in(part, PART, START, &memory, &comms));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_members, set_up),    cmocka_unit_test_setup(test_contradictions, set_up),
        cmocka_unit_test_setup(test_others, set_up),     cmocka_unit_test_setup(test_messages, set_up),
        cmocka_unit_test_setup(test_nothing, set_up),    cmocka_unit_test_setup(test_blocks, set_up),
        cmocka_unit_test_setup(test_two_groups, set_up), cmocka_unit_test_setup(test_window, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
