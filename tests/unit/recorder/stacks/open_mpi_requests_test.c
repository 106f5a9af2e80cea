#include "recorder/stacks/open_mpi_requests.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A process: the library from 0x10000 on, with its classes, and objects behind it, at 0x20000; the stack is at 0x30000. */
enum {
    LIBRARY = 0x10000,
    OBJECTS = 0x20000,
    STACK = 0x30000,
    PART = 0x8000,
    NAMES = LIBRARY + 0x2000,
    WORLD = OBJECTS,
    OTHER = OBJECTS + 0x100,
    TYPE = LIBRARY + 0x3000,
    SELF = OBJECTS + 0x200,
    PEER = OBJECTS + 0x300,
    OWN_POINTER = LIBRARY + 0x3800,
    REQUESTS = OBJECTS + 0x1000,
    REQUEST_BYTES = 0x400,
    MANY = 20, /* more than there are messages of */
    BASE_BYTES = 624,
    WAITING = STACK + 0x40,
};

struct memory {
    uint8_t library[PART], objects[PART], stack[PART];
};

static struct memory memory;
static struct tg_modules *modules;
static bool needs_all;
static uint64_t world;

static uint8_t *at(uint64_t address, size_t size)
{
    static const uint64_t starts[] = {LIBRARY, OBJECTS, STACK};
    uint8_t *const parts[] = {memory.library, memory.objects, memory.stack};
    for (size_t i = 0; i < 3; i++)
        if (address >= starts[i] && address - starts[i] + size <= PART)
            return parts[i] + (address - starts[i]);
    return NULL;
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

static const struct {
    const char *name;
    int parent;
    uint64_t size;
} classes[] = {
    {"opal_object_t", -1, 16},
    {"opal_list_item_t", 0, 40},
    {"opal_free_list_item_t", 1, 56},
    {"ompi_request_t", 2, 160},
    {"mca_pml_base_request_t", 3, BASE_BYTES},
    {"mca_pml_base_send_request_t", 4, 700},
    {"mca_pml_base_recv_request_t", 4, 640},
    {"ompi_communicator_t", 0, 400},
    {"opal_datatype_t", 0, 200},
    {"opal_proc_t", 1, 100},
    {"ompi_proc_t", 9, 120},
    {"ompi_coll_libnbc_request_t", 3, 240},
};
enum { OF_REQUEST = 3, OF_SEND = 5, OF_RECEIVE, OF_COMMUNICATOR, OF_TYPE, OF_PROCESS = 10, OF_COLLECTIVE };

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

static int set_up(void **state)
{
    (void)state;
    const struct tg_module_place place = {LIBRARY, LIBRARY + PART, "/usr/lib/libmpi.so.40", "", NULL};
    needs_all = true;
    world = WORLD;
    memset(&memory, 0, sizeof memory);
    for (int i = 0; i < (int)(sizeof classes / sizeof *classes); i++) {
        put(class_at(i), NAMES + 40 * (uint64_t)i, 8);
        put(class_at(i) + 8, classes[i].parent >= 0 ? class_at(classes[i].parent) : 0, 8);
        put(class_at(i) + 56, classes[i].size, 8);
        memcpy(at(NAMES + 40 * (uint64_t)i, 40), classes[i].name, strlen(classes[i].name));
    }
    put(WORLD, class_at(OF_COMMUNICATOR), 8);
    put(OTHER, class_at(OF_COMMUNICATOR), 8);
    put(TYPE, class_at(OF_TYPE), 8);
    put_process(SELF, 77, 0);
    put_process(PEER, 77, 3);
    put(OWN_POINTER, SELF, 8);
    return tg_modules_create_of(&place, 1, NULL, &modules) == NULL ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    tg_modules_destroy(modules);
    return 0;
}

static uint64_t request_at(int index)
{
    return REQUESTS + REQUEST_BYTES * (uint64_t)index;
}

static void put_request(int index, bool sends, uint64_t complete, uint64_t communicator, int peer, int tag)
{
    uint64_t address = request_at(index), end = address + BASE_BYTES;
    put(address, class_at(sends ? OF_SEND : OF_RECEIVE), 8);
    put(address + 8, 1, 4);
    put(address + 88, complete, 8);
    put(address + 96, 2, 4);
    put(address + 104, (uint32_t)-32766, 4);
    put(address + 120, LIBRARY + 0x100, 8);
    put(address + 152, communicator, 8);
    put(address + 168, sends ? 1 : 2, 4);
    put(address + 176, communicator, 8);
    put(address + 184, TYPE, 8);
    put(end - 32, 10, 8);
    put(end - 24, (uint32_t)peer, 4);
    put(end - 20, (uint32_t)tag, 4);
    put(end - 16, PEER, 8);
}

static bool read_requests(size_t count, struct tg_mpi_requests *requests)
{
    const struct tg_inspect_memory inspect = {NULL, read_memory};
    const struct tg_open_mpi_call call = {.modules = modules,
                                          .memory = &inspect,
                                          .world = world,
                                          .process = OWN_POINTER,
                                          .frames = {STACK, STACK + 0x1000}};
    uint64_t addresses[MANY];
    for (size_t i = 0; i < count; i++)
        addresses[i] = request_at((int)i);
    *requests = (struct tg_mpi_requests){.needs_all = needs_all, .is_one = count == 1, .count = count};
    return tg_open_mpi_requests_read(&call, addresses, count, requests);
}

/* Of those that are not complete there are the messages; peers are those of the job, where the communicator is another one as
 * well. */
static void test_messages(void **state)
{
    (void)state;
    struct tg_mpi_requests requests;
    put_request(0, false, WAITING, WORLD, 3, 10);
    put_request(1, true, 1, WORLD, 3, 11);
    put_request(2, true, WAITING, OTHER, 1, 12);
    put(WAITING, 2, 4);
    assert_true(read_requests(3, &requests));
    assert_int_equal(requests.n_pending, 2);
    assert_int_equal(requests.n_messages, 2);
    const struct tg_mpi_message_request *first = &requests.messages[0], *second = &requests.messages[1];
    assert_true(!first->sends && first->is_world && first->is_small && first->peer == 3 && first->rank == 3 &&
                first->tag == 10);
    assert_true(second->sends && !second->is_world && second->peer == 1 && second->rank == 3 &&
                second->tag == 12);
    assert_true(second->is_other && !first->is_other);
    world = 0; /* not known: neither is whether they are in it */
    assert_true(read_requests(3, &requests));
    assert_true(!first->is_world && !first->is_other && first->rank == 3);
    assert_true(!second->is_world && !second->is_other);
    world = WORLD;
    put_process(PEER, 78, 3); /* of another job */
    put_request(0, false, 1, WORLD, 3, 10);
    put(WAITING, 1, 4);
    assert_true(read_requests(3, &requests));
    assert_int_equal(requests.messages[0].rank, TG_MPI_UNKNOWN);
}

/* Of more requests than there are messages of, the later ones count, and so do their messages' numbers. */
static void test_many(void **state)
{
    (void)state;
    struct tg_mpi_requests requests;
    for (int i = 0; i < MANY; i++)
        put_request(i, false, WAITING, WORLD, 3, i);
    put(WAITING, MANY, 4);
    assert_true(read_requests(MANY, &requests));
    assert_int_equal(requests.n_pending, MANY);
    assert_int_equal(requests.n_messages, TG_MPI_MAX_MESSAGES);
    uint64_t mark = requests.mark;
    assert_true(read_requests(MANY, &requests));
    assert_true(requests.mark == mark);
    put(request_at(MANY - 1) + BASE_BYTES - 8, 1, 8); /* the next message of the same request */
    assert_true(read_requests(MANY, &requests));
    assert_true(requests.mark != mark);
}

/* MPI_Wait tells only by its library's choice that it waits for a request. */
static void test_one(void **state)
{
    (void)state;
    struct tg_mpi_requests requests;
    put_request(0, false, 0, WORLD, -1, -1);
    put(request_at(0) + BASE_BYTES - 16, 0, 8);
    assert_true(read_requests(1, &requests));
    assert_int_equal(requests.n_messages, 1);
    assert_true(requests.messages[0].peer == -1 && requests.messages[0].tag == -1);
    put_request(1, false, 0, WORLD, 3, 1);
    assert_false(read_requests(2, &requests)); /* others are always told */
}

/* MPI_REQUEST_NULL is an object, not active, and so are persistent requests that were not started. */
static void put_inactive(int index)
{
    put_request(index, false, 1, WORLD, 3, 1);
    put(request_at(index) + 96, 1, 4);
}

/* MPI_Waitany waits where none of several is complete; what is not active does not count. */
static void test_any(void **state)
{
    (void)state;
    struct tg_mpi_requests requests;
    put_inactive(0);
    put(request_at(0), class_at(OF_REQUEST), 8); /* MPI_REQUEST_NULL */
    put_inactive(1);
    put_request(2, false, WAITING, WORLD, 3, 10);
    put(WAITING, 1, 4);
    needs_all = false;
    assert_true(read_requests(3, &requests));
    assert_true(requests.n_pending == 1 && requests.n_messages == 1 && requests.messages[0].tag == 10);
    put_request(1, false, 1, WORLD, 3, 1); /* comes back with this one */
    assert_false(read_requests(3, &requests));
    needs_all = true;
    assert_true(read_requests(3, &requests));
    assert_int_equal(requests.n_pending, 1);
}

/* A search among classes that are made of each other ends. */
static void test_round(void **state)
{
    (void)state;
    struct tg_mpi_requests requests;
    put_request(0, false, WAITING, WORLD, 3, 10);
    put(WAITING, 1, 4);
    put(class_at(OF_REQUEST + 1) + 8, class_at(OF_RECEIVE), 8); /* the one that it is made of is made of it */
    assert_false(read_requests(1, &requests));
}

/* Messages of a rank to itself. */
static void test_own(void **state)
{
    (void)state;
    struct tg_mpi_requests requests;
    put_request(0, false, WAITING, WORLD, 0, 10);
    put(request_at(0) + BASE_BYTES - 16, SELF, 8);
    put(WAITING, 1, 4);
    assert_true(read_requests(1, &requests));
    assert_true(requests.n_messages == 1 && requests.messages[0].rank == 0);
}

/* Requests of collective calls have no messages, but a communicator: one, or several of which nothing is said. */
static void test_collective(void **state)
{
    (void)state;
    struct tg_mpi_requests requests;
    for (int i = 0; i < 2; i++) {
        put_request(i, false, WAITING, OTHER, 3, 10);
        put(request_at(i), class_at(OF_COLLECTIVE), 8);
        put(request_at(i) + 92, 0, 4);
    }
    put_request(2, false, WAITING, WORLD, 3, 10);
    put(WAITING, 3, 4);
    assert_true(read_requests(3, &requests));
    assert_true(requests.n_pending == 3 && requests.n_messages == 1 && requests.n_collective == 2);
    assert_int_equal(requests.comm, OTHER);
    put(request_at(1) + 152, WORLD, 8);
    assert_true(read_requests(3, &requests));
    assert_true(requests.n_collective == 2 && requests.comm == 0);
    put(request_at(1) + 152, SELF, 8); /* no communicator */
    put(request_at(0) + 152, SELF, 8);
    assert_true(read_requests(3, &requests));
    assert_true(requests.n_collective == 2 && requests.comm == 0);
}

/* A call of one message has the address of its request: others of the tag have to be of the same message. */
static void test_message(void **state)
{
    (void)state;
    const struct tg_inspect_memory inspect = {NULL, read_memory};
    const struct tg_open_mpi_call call = {.modules = modules,
                                          .memory = &inspect,
                                          .world = world,
                                          .process = OWN_POINTER,
                                          .frames = {STACK, STACK + 0x1000}};
    const uint64_t words[] = {7, LIBRARY, request_at(0), request_at(1), request_at(0)};
    struct tg_mpi_message_request message;
    put_request(0, false, 0, WORLD, 3, 5);
    put_request(1, true, 0, WORLD, 3, 6);
    assert_true(tg_open_mpi_message_find(&call, words, 5, false, 5, &message));
    assert_true(!message.sends && message.peer == 3);
    assert_true(tg_open_mpi_message_find(&call, words, 5, true, 6, &message));
    assert_true(message.sends);
    assert_false(tg_open_mpi_message_find(&call, words, 5, true, 5, &message));
    assert_false(tg_open_mpi_message_find(&call, words, 5, false, 6, &message));
    put_request(1, false, 0, OTHER, 1, 5);
    assert_false(tg_open_mpi_message_find(&call, words, 5, false, 5, &message));
    put_request(1, false, 1, OTHER, 1, 5); /* complete */
    assert_true(tg_open_mpi_message_find(&call, words, 5, false, 5, &message));
}

/* What does not fit is unknown: a number of requests, a class, a peer. */
static void test_doubts(void **state)
{
    (void)state;
    struct tg_mpi_requests requests;
    put_request(0, false, WAITING, WORLD, 3, 10);
    put_request(1, false, WAITING, WORLD, 3, 11);
    put(WAITING, 1, 4);
    assert_false(read_requests(2, &requests));
    put(WAITING, 2, 4);
    assert_true(read_requests(2, &requests));
    assert_int_equal(requests.n_messages, 2);
    put(request_at(1) + 88, WAITING + 8, 8);
    assert_false(read_requests(2, &requests));
    put(request_at(1) + 88, OBJECTS, 8); /* not on the stack */
    assert_false(read_requests(2, &requests));
    put(request_at(1) + 88, WAITING, 8);
    put(request_at(1) + BASE_BYTES - 24, 4, 4); /* another rank than its process */
    assert_true(read_requests(2, &requests));
    assert_int_equal(requests.n_pending, 2);
    assert_int_equal(requests.n_messages, 1);
    put(class_at(OF_REQUEST) + 56, 168, 8); /* another release */
    assert_false(read_requests(2, &requests));
}

/* MPI_Sendrecv has the address of its receive on the stack: one that is complete, or of another message, is none that it waits for. */
static void test_receiving(void **state)
{
    (void)state;
    const struct tg_inspect_memory inspect = {NULL, read_memory};
    const struct tg_open_mpi_call call = {.modules = modules,
                                          .memory = &inspect,
                                          .world = world,
                                          .process = OWN_POINTER,
                                          .frames = {STACK, STACK + 0x1000}};
    const uint64_t words[] = {7, LIBRARY, request_at(0), request_at(1)};
    put_request(0, false, 0, WORLD, 3, 5);
    put_request(1, true, 0, WORLD, 3, 6);
    assert_true(tg_open_mpi_is_receiving(&call, words, 4, 3, 5));
    assert_false(tg_open_mpi_is_receiving(&call, words, 4, 3, 6));
    assert_false(tg_open_mpi_is_receiving(&call, words, 4, 2, 5));
    assert_false(tg_open_mpi_is_receiving(&call, words, 2, 3, 5));
    put_request(0, false, 1, WORLD, 3, 5);
    assert_false(tg_open_mpi_is_receiving(&call, words, 4, 3, 5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_receiving, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_collective, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_message, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_messages, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_any, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_round, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_own, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_doubts, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
