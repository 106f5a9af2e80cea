#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recorder/process/memory.h"
#include "recorder/process/still_memory.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096 };

/* Three pages: readable text, read-only text, a hole; and a child with a copy of them. */
struct fixture {
    char *pages;
    pid_t child;
};

static int set_up(void **state)
{
    static struct fixture fixture;
    fixture.pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(fixture.pages, MAP_FAILED);
    memset(fixture.pages, 'a', 2 * PAGE);
    strcpy(fixture.pages + PAGE - 3, "across");
    assert_int_equal(mprotect(fixture.pages + PAGE, PAGE, PROT_READ), 0);
    assert_int_equal(munmap(fixture.pages + 2 * PAGE, PAGE), 0);
    fixture.child = fork();
    assert_int_not_equal(fixture.child, -1);
    if (fixture.child == 0)
        for (;;)
            pause();
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    kill(fixture->child, SIGKILL);
    waitpid(fixture->child, NULL, 0);
    munmap(fixture->pages, 2 * PAGE);
    return 0;
}

static void a_read_is_whole_or_says_so(void **state)
{
    struct fixture *f = *state;
    uint64_t pages = (uint64_t)f->pages;
    char buffer[64];
    assert_true(tg_memory_read(f->child, pages + PAGE - 3, buffer, 7));
    assert_string_equal(buffer, "across");
    assert_false(tg_memory_read(f->child, pages + 2 * PAGE - 10, buffer, 20));
    assert_int_equal(tg_memory_read_some(f->child, pages + 2 * PAGE - 10, buffer, 20), 10);
    assert_int_equal(tg_memory_read_some(f->child, pages + 2 * PAGE, buffer, 20), 0);
    assert_int_equal(tg_memory_read_some(f->child, UINT64_MAX - 8, buffer, 20), 0);
    assert_true(tg_memory_read(f->child, 0, buffer, 0));
}

static void ranges_count_up_to_the_first_bad_one(void **state)
{
    struct fixture *f = *state;
    uint64_t pages = (uint64_t)f->pages;
    char a[4], b[4], c[4];
    struct tg_memory_range ranges[] = {
        {pages, a, sizeof a}, {pages + PAGE - 3, b, sizeof b}, {pages + 2 * PAGE - 2, c, sizeof c}};
    assert_int_equal(tg_memory_read_ranges(f->child, ranges, 3), 2);
    assert_memory_equal(a, "aaaa", 4);
    assert_memory_equal(b, "acro", 4);
    assert_int_equal(tg_memory_read_ranges(f->child, ranges + 2, 1), 0);
    assert_int_equal(tg_memory_read_ranges(f->child, NULL, 0), 0);
}

static void a_string_ends_inside_its_bound(void **state)
{
    struct fixture *f = *state;
    uint64_t pages = (uint64_t)f->pages;
    char buffer[PAGE + 16];
    assert_true(tg_memory_read_string(f->child, pages + PAGE - 3, buffer, 7));
    assert_string_equal(buffer, "across");
    assert_false(tg_memory_read_string(f->child, pages + PAGE - 3, buffer, 6));
    assert_true(tg_memory_read_string(f->child, pages, buffer, sizeof buffer));
    assert_int_equal(strlen(buffer), PAGE + 3);
    assert_false(
        tg_memory_read_string(f->child, pages + PAGE + 10, buffer, sizeof buffer)); /* hits the hole */
    assert_false(tg_memory_read_string(f->child, pages, buffer, 0));
}

static void a_write_reaches_the_child_alone(void **state)
{
    struct fixture *f = *state;
    uint64_t pages = (uint64_t)f->pages;
    char buffer[4];
    assert_true(tg_memory_write(f->child, pages + 5, "xyz", 3));
    assert_true(tg_memory_read(f->child, pages + 4, buffer, 4));
    assert_memory_equal(buffer, "axyz", 4);
    assert_memory_equal(f->pages + 4, "aaaa", 4);
    assert_false(tg_memory_write(f->child, pages + 2 * PAGE, "x", 1));
}

static void still_memory_reads_as_the_process_has_it(void **state)
{
    struct fixture *f = *state;
    uint64_t pages = (uint64_t)f->pages;
    char buffer[64];
    struct tg_still_memory *still = tg_still_memory_create(f->child);
    assert_non_null(still);
    const struct tg_elf_memory memory = tg_still_memory_reader(still);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(memory.read(memory.context, pages + PAGE - 3, buffer, 7), 7);
        assert_string_equal(buffer, "across");
        assert_int_equal(memory.read(memory.context, pages + PAGE, buffer, 4), 4);
        assert_memory_equal(buffer, "oss", 4);
        assert_int_equal(memory.read(memory.context, pages + 2 * PAGE - 10, buffer, 20), 10);
        assert_int_equal(memory.read(memory.context, pages + 2 * PAGE, buffer, 20), 0);
    }
    /* what was read once is not read again */
    assert_true(tg_memory_write(f->child, pages + PAGE, "new", 4));
    assert_int_equal(memory.read(memory.context, pages + PAGE, buffer, 4), 4);
    assert_memory_equal(buffer, "oss", 4);
    tg_still_memory_destroy(still);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_read_is_whole_or_says_so),
        cmocka_unit_test(ranges_count_up_to_the_first_bad_one),
        cmocka_unit_test(a_string_ends_inside_its_bound),
        cmocka_unit_test(still_memory_reads_as_the_process_has_it),
        cmocka_unit_test(a_write_reaches_the_child_alone),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
