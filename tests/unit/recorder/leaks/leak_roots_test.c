/* The roots of a search in this very process, in mappings and stacks that the test makes. */
#include "recorder/leaks/leak_roots.h"

#include "recorder/agent/contract.h"
#include "tests/unit/sanitizer.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { PAGE = 4096, PAGES = 32 };

/* A mapping with what a program may have in one: data at page 2, a thread's stack in pages [8, 24), more data behind. */
static char *room;
static struct tg_leak_root *roots;
static size_t n_roots;
static uint64_t some_data = 1, *volatile some_block;

static int setup(void **state)
{
    (void)state;
    room = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(room, MAP_FAILED);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    munmap(room, PAGES * PAGE);
    free(roots);
    roots = NULL;
    return 0;
}

static void find(const struct tg_leak_thread *threads, size_t count, const char *agent_directory)
{
    const struct tg_leak_roots_options options = {
        .tid = getpid(), .threads = threads, .n_threads = count, .agent_directory = agent_directory};
    free(roots);
    assert_null(tg_leak_roots_find(&options, &roots, &n_roots));
}

static bool has(const void *place)
{
    bool found = false;
    for (size_t i = 0; i < n_roots; i++) {
        assert_true(roots[i].size_bytes > 0);
        found = found || (uintptr_t)place - roots[i].address < roots[i].size_bytes;
    }
    return found;
}

/* Writes what struct pthread says of a stack of pages [8, 24), somewhere in its last page: there is its thread pointer. */
static struct tg_leak_thread make_thread(size_t offset, uint64_t start, uint64_t size, uint64_t guard)
{
    char *thread = room + 23 * PAGE + 1024;
    const uint64_t words[] = {start, size, guard};
    memset(thread, 0x11, 24 * PAGE - (size_t)(thread - room));
    memcpy(thread + offset, words, sizeof words);
    return (struct tg_leak_thread){.stack_pointer = (uintptr_t)room + 16 * PAGE,
                                   .thread_pointer = (uintptr_t)thread};
}

static uint64_t page(size_t n)
{
    return (uintptr_t)room + n * PAGE;
}

/* What is below the pointer is left out of the thread's own stack, wherever struct pthread tells its extent; data that the
 * same mapping has below and behind it is searched (pthread_attr_setstack). */
static void a_thread_says_where_its_stack_is(void **state)
{
    (void)state;
    const size_t offsets[] = {0x690, 0x698, 8, 0};
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        struct tg_leak_thread thread = make_thread(offsets[i], page(8), 16 * PAGE, i % 2 * PAGE);
        find(&thread, 1, NULL);
        assert_true(has(room + 2 * PAGE) && has(room + 8 * PAGE - 1));
        assert_false(has(room + 8 * PAGE) || has(room + 16 * PAGE - 129));
        assert_true(has(room + 16 * PAGE - 128) && has(room + 24 * PAGE - 1) && has(room + 31 * PAGE));
    }
}

/* A coroutine's stack in a mapping with other data: nobody says where it begins, so that all of it counts. So it does where
 * the words do not fit together. */
static void of_unknown_stacks_all_counts(void **state)
{
    (void)state;
    struct tg_leak_thread thread = {.stack_pointer = (uintptr_t)room + 16 * PAGE};
    find(&thread, 1, NULL);
    assert_true(has(room) && has(room + 15 * PAGE) && has(room + 31 * PAGE));
    const struct {
        uint64_t start, size, guard;
    } wrong[] = {
        {page(8), 16 * PAGE, 17 * PAGE},    /* a larger guard */
        {page(8) + 8, 16 * PAGE, 0},        /* no whole pages */
        {page(8), 6 * PAGE, 0},             /* the pointer is not in it */
        {page(17), 7 * PAGE, 0},            /* likewise */
        {page(8), 24 * PAGE, 0},            /* the thread is not at its end */
        {page(8), UINT64_MAX - PAGE + 1, 0} /* nor is this any extent */
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        thread = make_thread(0x690, wrong[i].start, wrong[i].size, wrong[i].guard);
        find(&thread, 1, NULL);
        assert_true(has(room) && has(room + 9 * PAGE) && has(room + 15 * PAGE));
    }
    thread = make_thread(0x690, page(8), 16 * PAGE, 0);
    thread.stack_pointer = (uintptr_t)&some_data; /* the thread is in a coroutine elsewhere */
    find(&thread, 1, NULL);
    assert_true(has(room + 9 * PAGE) && has(&some_data));
}

/* Two threads in one mapping without a page between them. */
static void stacks_side_by_side(void **state)
{
    (void)state;
    struct tg_leak_thread threads[2] = {make_thread(0x690, page(8), 16 * PAGE, 0)};
    char *second = room + 7 * PAGE + 512;
    const uint64_t words[] = {page(1), 7 * PAGE, PAGE};
    memcpy(second + 64, words, sizeof words);
    threads[1] = (struct tg_leak_thread){.stack_pointer = (uintptr_t)room + 4 * PAGE,
                                         .thread_pointer = (uintptr_t)second};
    find(threads, 2, NULL);
    assert_true(has(room) && has(room + 4 * PAGE) && has(room + 7 * PAGE) && has(room + 16 * PAGE));
    assert_false(has(room + PAGE) || has(room + 3 * PAGE) || has(room + 8 * PAGE) || has(room + 15 * PAGE));
}

/* Of the program's own stack what is below its pointer is not in use. */
static void the_first_threads_stack(void **state)
{
    (void)state;
    volatile char here[2 * PAGE] = {0};
    struct tg_leak_thread thread = {.stack_pointer = (uintptr_t)here + PAGE};
    find(&thread, 1, NULL);
    assert_true(has((const void *)(here + PAGE)) && has((const void *)(here + PAGE - 128)));
    assert_false(has((const void *)(here + PAGE - 129)) || has((const void *)here));
}

static pthread_barrier_t both;

static void *leave_address(void *address)
{
    volatile char here[64] = {1};
    *(volatile void **)address = here;
    pthread_barrier_wait(&both);
    pthread_barrier_wait(&both);
    return NULL;
}

/* The thread library keeps the stacks of threads that have ended: what these have left there refers to nothing. */
static void stacks_that_threads_have_left(void **state)
{
    (void)state;
    void *volatile address = NULL;
    pthread_t other;
    pthread_barrier_init(&both, NULL, 2);
    assert_int_equal(pthread_create(&other, NULL, leave_address, (void *)&address), 0);
    pthread_barrier_wait(&both);
    struct tg_leak_roots_options options = {
        .tid = getpid(),
        .threads = &(struct tg_leak_thread){.thread_pointer = (uint64_t)other},
        .n_threads = 1,
        .are_all = true,
    };
    assert_null(tg_leak_roots_find(&options, &roots, &n_roots));
    assert_true(has(address)); /* the thread has not ended */
    pthread_barrier_wait(&both);
    assert_int_equal(pthread_join(other, NULL), 0);
    options.n_threads = 0;
    free(roots);
    assert_null(tg_leak_roots_find(&options, &roots, &n_roots));
    assert_false(has(address));
    options.are_all = false;
    free(roots);
    assert_null(tg_leak_roots_find(&options, &roots, &n_roots));
    assert_true(has(address));
}

/* Pages that the program has written and then sealed are searched, and those that nobody may read are not. */
static void what_was_made_read_only(void **state)
{
    (void)state;
    room[2 * PAGE] = room[4 * PAGE] = room[6 * PAGE] = 1;
    assert_int_equal(mprotect(room + 2 * PAGE, PAGE, PROT_READ), 0);
    assert_int_equal(mprotect(room + 4 * PAGE, PAGE, PROT_READ | PROT_EXEC), 0);
    assert_int_equal(mprotect(room + 6 * PAGE, PAGE, PROT_NONE), 0);
    find(NULL, 0, NULL);
    assert_true(has(room + PAGE) && has(room + 2 * PAGE) && has(room + 4 * PAGE) && has(room + 5 * PAGE));
    assert_false(has(room + 6 * PAGE));
}

/* Data of the program is searched; what cannot be written, the allocator's own memory and the agent's tables are not. */
static void what_is_left_out(void **state)
{
    (void)state;
    static const char constant[] = "text";
    struct tg_agent_heap_table table = {.size_bytes = 4 * PAGE};
    some_block = malloc(64);
    table.magic[0] = TG_AGENT_HEAP_TABLE_MAGIC;
    table.magic[1] = ~TG_AGENT_HEAP_TABLE_MAGIC;
    /* a mapping of its own: with the room the kernel might join it */
    char *tables = mmap(NULL, 10 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(tables, MAP_FAILED);
    assert_int_equal(mprotect(tables + PAGE, 8 * PAGE, PROT_READ | PROT_WRITE), 0);
    memcpy(tables + PAGE, &table, sizeof table);
    find(NULL, 0, NULL);
    assert_true(has(&some_data) && has((const void *)&some_block));
    assert_false(has(constant));
#if !IS_SANITIZED /* a sanitizer's malloc has mappings of its own */
    assert_false(has((const void *)some_block));
#endif
    assert_false(has(tables + PAGE) || has(tables + 4 * PAGE) || has(tables));
    assert_true(has(tables + 5 * PAGE) && has(tables + 8 * PAGE));
    assert_int_equal(madvise(tables + 2 * PAGE, 2 * PAGE, MADV_WIPEONFORK), 0); /* now it is three mappings */
    find(NULL, 0, NULL);
    assert_false(has(tables + PAGE) || has(tables + 2 * PAGE) || has(tables + 4 * PAGE));
    assert_true(has(tables + 5 * PAGE) && has(tables + 8 * PAGE));
    munmap(tables, 10 * PAGE);
    free((void *)some_block);
}

/* Rings that are mapped from the recorder's directory; files of a directory whose name only begins alike are data. */
static void the_agents_files(void **state)
{
    (void)state;
    char name[] = "/tmp/tg_leak_roots_XXXXXX", like[sizeof name];
    int file = mkstemp(name);
    assert_true(file >= 0 && ftruncate(file, PAGE) == 0);
    char *mapped = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    assert_ptr_not_equal(mapped, MAP_FAILED);
    find(NULL, 0, "/tmp");
    assert_false(has(mapped));
    find(NULL, 0, "/tm");
    assert_true(has(mapped));
    memcpy(like, name, sizeof like);
    like[sizeof like - 2] = '\0';
    find(NULL, 0, like);
    assert_true(has(mapped));
    munmap(mapped, PAGE);
    close(file);
    unlink(name);
}

/* libc's data, where its allocator has its own pointers, is told. */
static void libcs_data(void **state)
{
    (void)state;
    unsigned told = 0;
    find(NULL, 0, NULL);
    for (size_t i = 0; i < n_roots; i++) {
        told += roots[i].is_allocators;
        assert_false(roots[i].is_allocators &&
                     (uintptr_t)&some_data - roots[i].address < roots[i].size_bytes);
    }
    assert_true(told >= 1);
}

static void a_process_that_is_gone(void **state)
{
    (void)state;
    const struct tg_leak_roots_options options = {.tid = INT32_MAX};
    struct tg_error *error = tg_leak_roots_find(&options, &roots, &n_roots);
    assert_non_null(error);
    tg_error_destroy(error);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_thread_says_where_its_stack_is),
        TEST(of_unknown_stacks_all_counts),
        TEST(stacks_side_by_side),
        TEST(the_first_threads_stack),
        TEST(stacks_that_threads_have_left),
        TEST(what_was_made_read_only),
        TEST(what_is_left_out),
        TEST(the_agents_files),
        TEST(libcs_data),
        TEST(a_process_that_is_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
