#include "recorder/stacks/mpich_requests.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A process: the library from 0x10000 on; requests at 0x20000, and UCX's at 0x30000, each of which ends 0x400 behind the other. */
enum {
    LIBRARY = 0x10000,
    REQUESTS = 0x20000,
    OF_UCX = 0x30000,
    PART = 0x8000,
    REQUEST_BYTES = 272,
    MANY = 20, /* more than there are messages of */
    CALLBACK = LIBRARY + 0x100,
    SEND = 1,
    RECEIVE = 2,
    RECEIVE_AGAIN = 4,
};
static const uint64_t MASK = 0xffffffff9fffffff, NO_RANK = 0xffff00009fffffff, NO_TAG = 0xffffffff90000000;

static uint8_t requests_part[PART], ucx_part[PART];
static struct tg_modules *modules;
static bool needs_all;

static uint8_t *at(uint64_t address, size_t size)
{
    if (address >= REQUESTS && address - REQUESTS + size <= PART)
        return requests_part + (address - REQUESTS);
    return address >= OF_UCX && address - OF_UCX + size <= PART ? ucx_part + (address - OF_UCX) : NULL;
}

static bool read_memory(void *context, uint64_t address, void *buffer, size_t size)
{
    (void)context;
    const uint8_t *from = at(address, size);
    if (from != NULL)
        memcpy(buffer, from, size);
    return from != NULL;
}

static void put(uint64_t address, uint64_t value, size_t size)
{
    memcpy(at(address, size), &value, size);
}

static int set_up(void **state)
{
    (void)state;
    const struct tg_module_place place = {LIBRARY, LIBRARY + PART, "/usr/lib/libmpich.so.12", "", NULL};
    needs_all = true;
    memset(requests_part, 0, sizeof requests_part);
    memset(ucx_part, 0, sizeof ucx_part);
    return tg_modules_create_of(&place, 1, NULL, &modules) == NULL ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    tg_modules_destroy(modules);
    return 0;
}

/* MPI_COMM_WORLD, and MPI_COMM_SELF behind it. */
enum { WORLD = OF_UCX + 0x7000, COMM_BYTES = 0x200 };
static const struct tg_mpich_comms comms = {.world = WORLD, .bytes = COMM_BYTES, .name = 116};

static uint64_t request_at(uint32_t index)
{
    return REQUESTS + REQUEST_BYTES * (uint64_t)index;
}

static uint32_t handle_of(uint32_t index)
{
    return 0xac000000u + index;
}

static void put_request(uint32_t index, int kind, int count)
{
    uint64_t address = request_at(index);
    put(address, handle_of(index), 4);
    put(address + 4, 2, 4);
    put(address + 8, (uint32_t)kind, 4);
    put(address + 16, address + 24, 8);
    put(address + 24, (uint32_t)count, 4);
}

static void put_match(uint32_t index, uint64_t tag, uint64_t mask)
{
    uint64_t end = OF_UCX + 0x400 * (uint64_t)(index + 1);
    put(request_at(index) + 176, end, 8);
    put(end - 256, request_at(index), 8);
    put(end - 80, tag, 8);
    put(end - 72, mask, 8);
    put(end - 64, 7 + index, 8);
    put(end - 56, CALLBACK, 8);
}

static bool read_requests(const uint32_t *handles, size_t count, struct tg_mpi_requests *requests)
{
    const struct tg_inspect_memory memory = {NULL, read_memory};
    const uint64_t words[] = {3, request_at(1), REQUESTS + 8, 0x7fff0000};
    const struct tg_mpich_call call = {.modules = modules,
                                       .memory = &memory,
                                       .words = words,
                                       .n_words = sizeof words / sizeof *words,
                                       .comms = &comms};
    *requests = (struct tg_mpi_requests){.needs_all = needs_all, .count = count};
    return tg_mpich_requests_read(&call, handles, count, requests);
}

/* Of one request the address is on the stack: the others are beside it. What is complete from the beginning has no object. */
static void test_messages(void **state)
{
    (void)state;
    const uint32_t handles[] = {handle_of(0), 0x6c000001,   handle_of(1), 0x2c000000,
                                handle_of(2), handle_of(3), handle_of(4)};
    struct tg_mpi_requests requests;
    put_request(0, RECEIVE, 1);
    put_match(0, (uint64_t)3 << 32 | 10, MASK);
    put_request(1, RECEIVE, 0);
    put_request(2, SEND, 1);
    put_request(3, RECEIVE, 1);
    put_match(3, (uint64_t)0x1f0 << 48 | 11, NO_RANK);
    put_request(4, RECEIVE, 1);
    put_match(4, (uint64_t)2 << 32, NO_TAG);
    assert_true(read_requests(handles, 7, &requests));
    assert_int_equal(requests.n_pending, 4);
    assert_int_equal(requests.n_messages, 4);
    const struct tg_mpi_message_request *messages = requests.messages;
    assert_true(!messages[0].sends && messages[0].is_world && messages[0].rank == 3 && messages[0].tag == 10);
    assert_true(messages[1].sends && messages[1].peer == TG_MPI_UNKNOWN && messages[1].tag == TG_MPI_UNKNOWN);
    assert_true(!messages[1].is_world && !messages[1].is_other && !messages[0].is_other);
    assert_true(!messages[2].is_world && messages[2].is_other && messages[2].peer == TG_MPI_ANY &&
                messages[2].tag == 11);
    assert_true(messages[3].rank == 2 && messages[3].tag == TG_MPI_ANY);
}

/* Of more requests than there are messages of, the later ones count, and so do their receives' numbers. */
static void test_many(void **state)
{
    (void)state;
    uint32_t handles[MANY];
    struct tg_mpi_requests requests;
    for (uint32_t i = 0; i < MANY; i++) {
        handles[i] = handle_of(i);
        put_request(i, RECEIVE, 1);
        put_match(i, (uint64_t)3 << 32 | i, MASK);
    }
    assert_true(read_requests(handles, MANY, &requests));
    assert_int_equal(requests.n_pending, MANY);
    assert_int_equal(requests.n_messages, TG_MPI_MAX_MESSAGES);
    uint64_t mark = requests.mark;
    assert_true(read_requests(handles, MANY, &requests));
    assert_true(requests.mark == mark);
    put(OF_UCX + 0x400 * (uint64_t)MANY - 64, 99, 8); /* the next message of the same request */
    assert_true(read_requests(handles, MANY, &requests));
    assert_true(requests.mark != mark);
}

/* A persistent request that was started is another one. */
static void test_persistent(void **state)
{
    (void)state;
    const uint32_t handle = handle_of(1);
    struct tg_mpi_requests requests;
    put_request(1, RECEIVE_AGAIN, 0);
    assert_true(read_requests(&handle, 1, &requests));
    assert_int_equal(requests.n_pending, 0);
    put_request(2, RECEIVE, 1);
    put_match(2, (uint64_t)3 << 32 | 10, MASK);
    put(request_at(1) + 16, request_at(2) + 24, 8);
    assert_true(read_requests(&handle, 1, &requests));
    assert_int_equal(requests.n_messages, 1);
    assert_int_equal(requests.messages[0].rank, 3);
    put(request_at(2), 0x6c000001, 4); /* complete from the beginning */
    put(request_at(2) + 4, 0, 4);
    put(request_at(2) + 24, 0, 4);
    assert_true(read_requests(&handle, 1, &requests));
    assert_int_equal(requests.n_pending, 0);
}

/* MPI_Waitany waits where none of several is complete; what is not active does not count. */
static void test_any(void **state)
{
    (void)state;
    uint32_t handles[] = {handle_of(1), 0x2c000000, handle_of(2)};
    struct tg_mpi_requests requests;
    put_request(1, RECEIVE, 1);
    put_match(1, (uint64_t)3 << 32 | 10, MASK);
    put_request(2, RECEIVE_AGAIN, 0);
    needs_all = false;
    assert_true(read_requests(handles, 3, &requests));
    assert_true(requests.n_pending == 1 && requests.n_messages == 1);
    put_request(2, RECEIVE, 0); /* comes back with this one */
    assert_false(read_requests(handles, 3, &requests));
    handles[2] = 0x6c000001; /* a send that was complete at once */
    assert_false(read_requests(handles, 3, &requests));
    needs_all = true;
    assert_true(read_requests(handles, 3, &requests));
    assert_int_equal(requests.n_pending, 1);
    put_request(3, RECEIVE_AGAIN, 0); /* was started, and is complete */
    put_request(4, RECEIVE, 0);
    put(request_at(3) + 16, request_at(4) + 24, 8);
    handles[2] = handle_of(3);
    needs_all = false;
    assert_false(read_requests(handles, 3, &requests));
}

/* Of collective calls, generalized requests and the like there are no messages. */
static void test_kinds(void **state)
{
    (void)state;
    enum { FIRST = 5, LAST = 16 };
    const uint32_t handle = handle_of(1);
    struct tg_mpi_requests requests;
    for (int kind = FIRST; kind <= LAST; kind++) {
        put_request(1, kind, 1);
        put_match(1, (uint64_t)3 << 32 | 10, MASK);
        assert_true(read_requests(&handle, 1, &requests));
        assert_true(requests.n_pending == 1 && requests.n_messages == 0);
    }
    put_request(1, 0, 1); /* of no kind */
    assert_false(read_requests(&handle, 1, &requests));
    put_request(1, LAST + 1, 1);
    assert_false(read_requests(&handle, 1, &requests));
}

/* That of a collective call has the communicator's address; a generalized one's is MPI_COMM_SELF. */
static void test_collective(void **state)
{
    (void)state;
    static const struct {
        int kind;
        uint64_t comm;
        bool is_collective;
    } cases[] = {{10, WORLD, true},      {11, WORLD, true}, {10, WORLD + COMM_BYTES, false},
                 {10, WORLD + 8, false}, {9, WORLD, false}, {12, WORLD, false}};
    const uint32_t handle = handle_of(1);
    struct tg_mpi_requests requests;
    put(WORLD, TG_MPICH_WORLD, 4);
    put(WORLD + COMM_BYTES, TG_MPICH_SELF, 4);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_request(1, cases[i].kind, 1);
        put(request_at(1) + 40, cases[i].comm, 8);
        assert_true(read_requests(&handle, 1, &requests));
        assert_true(requests.n_pending == 1 && requests.n_messages == 0);
        assert_int_equal(requests.n_collective, cases[i].is_collective);
        assert_int_equal(requests.comm, cases[i].is_collective ? (uint64_t)TG_MPICH_WORLD : 0);
    }
}

/* In an intercommunicator, the rank is one of the other group. */
static void test_other_group(void **state)
{
    enum { FIRST = OF_UCX + 0x7400, MAP = 400, NUMBER = 7 };
    const struct tg_inspect_memory memory = {NULL, read_memory};
    const struct tg_mpich_comms found = {
        .world = WORLD, .bytes = COMM_BYTES, .name = 116, .first = FIRST, .map = MAP};
    const uint64_t words[] = {request_at(1)};
    const struct tg_mpich_call call = {
        .modules = modules, .memory = &memory, .words = words, .n_words = 1, .comms = &found};
    const uint32_t handle = handle_of(1);
    struct tg_mpi_requests requests = {.needs_all = true, .count = 1};
    (void)state;
    put(WORLD, TG_MPICH_WORLD, 4);
    put(WORLD + 68, 4, 4);
    put(WORLD + 88, 4, 4);
    put(FIRST, 0x84000000, 4);
    put(FIRST + 4, 1, 4);
    put(FIRST + 64, NUMBER << 16, 4);
    put(FIRST + 68, 2, 4); /* ranks 2 and 3; this one is 0, alone */
    put(FIRST + 88, 1, 4);
    put(FIRST + 112, 1, 4);
    put(FIRST + MAP, 3, 4);
    put(FIRST + MAP + 8, 2, 4);
    put(FIRST + MAP + 12, 2, 4);
    put(FIRST + MAP + 40, 3, 4);
    put(FIRST + MAP + 48, 1, 4);
    put_request(1, RECEIVE, 1);
    put_match(1, (uint64_t)NUMBER << 48 | (uint64_t)1 << 32 | 10, MASK);
    assert_true(tg_mpich_requests_read(&call, &handle, 1, &requests));
    assert_true(requests.n_messages == 1 && requests.messages[0].peer == 1);
    assert_int_equal(requests.messages[0].rank, 3);
}

/* A call of one message has the address of its request: others of the tag have to be of the same message. */
static void test_message(void **state)
{
    (void)state;
    const struct tg_inspect_memory memory = {NULL, read_memory};
    const uint64_t words[] = {3, request_at(1), request_at(0), request_at(2)};
    const struct tg_mpich_call call = {.modules = modules, .memory = &memory, .words = words, .n_words = 4};
    struct tg_mpi_message_request message;
    put_request(0, RECEIVE, 1);
    put_match(0, (uint64_t)3 << 32 | 10, MASK);
    put_request(1, SEND, 1);
    put_request(2, RECEIVE, 1);
    put_match(2, (uint64_t)2 << 32 | 11, MASK);
    assert_true(tg_mpich_receive_find(&call, 10, &message));
    assert_int_equal(message.peer, 3);
    assert_false(tg_mpich_receive_find(&call, 12, &message));
    put_match(2, (uint64_t)2 << 32 | 10, MASK);
    assert_false(tg_mpich_receive_find(&call, 10, &message));
    put_request(2, RECEIVE, 0);
    assert_true(tg_mpich_receive_find(&call, 10, &message));
}

/* What does not fit is unknown. */
static void test_doubts(void **state)
{
    (void)state;
    const uint32_t handles[] = {handle_of(1), handle_of(2)};
    struct tg_mpi_requests requests;
    put_request(1, RECEIVE, 1);
    put_match(1, (uint64_t)3 << 32 | 10, MASK);
    assert_true(read_requests(handles, 1, &requests));
    assert_int_equal(requests.n_messages, 1);
    put(OF_UCX + 0x800 - 256, request_at(2), 8); /* UCX's request is another one's */
    assert_true(read_requests(handles, 1, &requests));
    assert_true(requests.n_pending == 1 && requests.n_messages == 0);
    put(OF_UCX + 0x800 - 256, request_at(1), 8);
    put(OF_UCX + 0x800 - 72, MASK - 1, 8);
    assert_true(read_requests(handles, 1, &requests));
    assert_int_equal(requests.n_messages, 0);
    assert_false(read_requests(handles, 2, &requests)); /* the second is not there */
    put_request(2, RECEIVE, 1);
    assert_true(read_requests(handles, 2, &requests));
    put(request_at(2), handle_of(3), 4); /* has another handle */
    assert_false(read_requests(handles, 2, &requests));
    put_request(2, RECEIVE, 1);
    put(request_at(2) + 16, request_at(2), 8); /* counts elsewhere */
    assert_false(read_requests(handles, 2, &requests));
}

/* MPI_Sendrecv has the address of its receive on the stack: one that is complete, or of another message, is none that it waits for. */
static void test_receiving(void **state)
{
    (void)state;
    const struct tg_inspect_memory memory = {NULL, read_memory};
    const uint64_t words[] = {3, request_at(1), request_at(0)};
    const struct tg_mpich_call call = {.modules = modules, .memory = &memory, .words = words, .n_words = 3};
    put_request(0, RECEIVE, 1);
    put_match(0, (uint64_t)3 << 32 | 10, MASK);
    put_request(1, SEND, 1);
    assert_true(tg_mpich_is_receiving(&call, 3, 10));
    assert_false(tg_mpich_is_receiving(&call, 3, 11));
    assert_false(tg_mpich_is_receiving(&call, 2, 10));
    put_request(0, RECEIVE, 0);
    assert_false(tg_mpich_is_receiving(&call, 3, 10));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_receiving, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_collective, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_message, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_other_group, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_messages, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_persistent, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_any, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_kinds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_doubts, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
