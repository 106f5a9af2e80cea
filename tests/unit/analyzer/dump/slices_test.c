#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/dump/slices.h"
#include "tests/unit/analyzer/dump/program_symbolizer.h"

#include <stdlib.h>
#include <string.h>

struct fixture {
    struct tg_selection selection;
    struct tg_dump dump;
    struct tg_slices *slices;
    char *text;
    size_t size;
};

static const struct tg_process_entry rank = {.pid = 7}, another = {.pid = 7, .generation = 2};

static void set_up(struct fixture *fixture, bool with_names)
{
    *fixture = (struct fixture){.dump = {.start_ns = 1000}};
    n_asked = 0;
    fixture->dump.selection = &fixture->selection;
    fixture->dump.stream = open_memstream(&fixture->text, &fixture->size);
    assert_non_null(fixture->dump.stream);
    if (with_names)
        assert_null(tg_code_names_create(&services, &fixture->dump.names));
    assert_null(tg_slices_create(&fixture->dump, &fixture->slices));
}

/* Ends the fixture: EXPECTED was written. */
static void check(struct fixture *fixture, const char *expected)
{
    tg_slices_flush(fixture->slices);
    assert_int_equal(fclose(fixture->dump.stream), 0);
    assert_string_equal(fixture->text, expected);
    tg_slices_destroy(fixture->slices);
    tg_code_names_destroy(fixture->dump.names);
    free(fixture->text);
}

static void run_program(struct fixture *fixture, const char *path)
{
    const struct tg_event event = {
        .kind = TG_EVENT_PROGRAM,
        .pid = 7,
        .tid = 7,
        .program = {.path = path, .build_id = "", .interpreter = "", .base = 1000}};
    assert_null(tg_code_names_feed(fixture->dump.names, &event));
}

static void write_region(struct fixture *fixture, uint64_t start_ns)
{
    const struct tg_openmp_place region = {
        .kind = TG_OPENMP_IN_REGION, .team = 3, .thread_num = 1, .code = 1101, .since_ns = start_ns};
    assert_null(tg_slices_write_place(fixture->slices, &rank, 8, &region, start_ns + 50));
}

static void names_are_looked_up_once_as_long_as_they_are_the_same(void **state)
{
    struct fixture fixture;
    (void)state;
    set_up(&fixture, true);
    run_program(&fixture, "/solver");
    write_region(&fixture, 2000);
    unsigned n_first = n_asked;
    write_region(&fixture, 3000);
    assert_int_equal(n_asked, n_first);
    run_program(&fixture, "/printer"); /* after an exec */
    write_region(&fixture, 4000);
    assert_int_not_equal(n_asked, n_first);
    check(&fixture,
          ",\n    {\"ph\": \"X\", \"name\": \"parallel in /solver (a.c:100)\", \"pid\": 7, \"tid\": 8, "
          "\"ts\": 1.000, "
          "\"dur\": 0.050, \"cat\": \"openmp\", \"args\": {\"code\": \"0x44d\", \"function\": \"/solver\", "
          "\"file\": \"dir/a.c\", \"line\": 100, \"team\": 3, \"thread_num\": 1}}"
          ",\n    {\"ph\": \"X\", \"name\": \"parallel in /solver (a.c:100)\", \"pid\": 7, \"tid\": 8, "
          "\"ts\": 2.000, "
          "\"dur\": 0.050, \"cat\": \"openmp\", \"args\": {\"code\": \"0x44d\", \"function\": \"/solver\", "
          "\"file\": \"dir/a.c\", \"line\": 100, \"team\": 3, \"thread_num\": 1}}"
          ",\n    {\"ph\": \"X\", \"name\": \"parallel in /printer (a.c:100)\", \"pid\": 7, \"tid\": 8, "
          "\"ts\": 3.000, "
          "\"dur\": 0.050, \"cat\": \"openmp\", \"args\": {\"code\": \"0x44d\", \"function\": \"/printer\", "
          "\"file\": \"dir/a.c\", \"line\": 100, \"team\": 3, \"thread_num\": 1}}");
}

static void locks_and_tasks_are_told_from_each_other(void **state)
{
    static const struct tg_openmp_place places[] = {
        {.kind = TG_OPENMP_IN_MUTEX_WAIT, .what = TG_OMP_MUTEX_LOCK, .id = 0x20, .since_ns = 1001},
        {.kind = TG_OPENMP_IN_MUTEX, .what = TG_OMP_MUTEX_CRITICAL, .id = 0x30, .since_ns = 1010},
        {.kind = TG_OPENMP_IN_TASK, .id = 12345678901, .since_ns = 1000},
        {.kind = TG_OPENMP_IN_SYNC, .what = TG_OMP_SYNC_TASKWAIT, .id = 4, .since_ns = 1000}};
    struct fixture fixture;
    (void)state;
    set_up(&fixture, false);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        assert_null(tg_slices_write_place(fixture.slices, &another, 7, &places[i], 2000999));
    check(&fixture, ",\n    {\"ph\": \"X\", \"name\": \"wait: lock\", \"pid\": 20000007, \"tid\": 20000007, "
                    "\"ts\": 0.001, \"dur\": "
                    "1999.998, \"cat\": \"openmp\", \"args\": {\"code\": \"0x0\", \"team\": 0, "
                    "\"thread_num\": 0, \"lock\": \"0x20\"}}"
                    ",\n    {\"ph\": \"X\", \"name\": \"critical\", \"pid\": 20000007, \"tid\": 20000007, "
                    "\"ts\": 0.010, \"dur\": "
                    "1999.989, \"cat\": \"openmp\", \"args\": {\"code\": \"0x0\", \"team\": 0, "
                    "\"thread_num\": 0, \"lock\": \"0x30\"}}"
                    ",\n    {\"ph\": \"X\", \"name\": \"task 12345678901\", \"pid\": 20000007, \"tid\": "
                    "20000007, \"ts\": 0.000, "
                    "\"dur\": 1999.999, \"cat\": \"openmp\", \"args\": {\"code\": \"0x0\", \"team\": 0, "
                    "\"thread_num\": 0}}"
                    ",\n    {\"ph\": \"X\", \"name\": \"wait: taskwait\", \"pid\": 20000007, \"tid\": "
                    "20000007, \"ts\": 0.000, "
                    "\"dur\": 1999.999, \"cat\": \"openmp\", \"args\": {\"code\": \"0x0\", \"team\": 0, "
                    "\"thread_num\": 0, "
                    "\"instance\": 4}}");
}

static void a_name_that_json_escapes_and_all_numbers_of_a_call(void **state)
{
    const struct tg_mpi_call call = {.name = "MPI_\"x\"\n",
                                     .comm = UINT64_MAX,
                                     .instance = UINT64_MAX,
                                     .peer = INT64_MIN,
                                     .tag = -1,
                                     .root = INT64_MAX,
                                     .bytes = UINT64_MAX,
                                     .code = UINT64_MAX,
                                     .since_ns = 1000};
    const struct tg_event_mpi_leave leave = {.bytes = UINT64_MAX, .result = INT64_MIN};
    struct fixture fixture;
    (void)state;
    set_up(&fixture, false);
    assert_null(tg_slices_write_call(fixture.slices, &rank, INT32_MAX, &call, &leave, UINT64_MAX));
    tg_slices_write_flow(fixture.slices, 's', &rank, 7, 41, 1999);
    tg_slices_write_flow(fixture.slices, 'f', &rank, 7, 41, 2000);
    check(&fixture,
          ",\n    {\"ph\": \"X\", \"name\": \"MPI_\\\"x\\\"\\n\", \"pid\": 7, \"tid\": 2147483647, \"ts\": "
          "0.000, "
          "\"dur\": 18446744073709550.615, \"cat\": \"mpi\", \"args\": {\"code\": \"0xffffffffffffffff\", "
          "\"comm\": \"0xffffffffffffffff\", \"instance\": 18446744073709551615, \"peer\": "
          "-9223372036854775808, "
          "\"tag\": -1, \"root\": 9223372036854775807, \"bytes\": 18446744073709551615, "
          "\"received_bytes\": 18446744073709551615, \"result\": -9223372036854775808}}"
          ",\n    {\"ph\": \"s\", \"name\": \"message\", \"pid\": 7, \"tid\": 7, \"ts\": 0.999, \"cat\": "
          "\"mpi\", \"id\": 41}"
          ",\n    {\"ph\": \"f\", \"name\": \"message\", \"pid\": 7, \"tid\": 7, \"ts\": 1.000, \"cat\": "
          "\"mpi\", \"id\": 41, "
          "\"bp\": \"e\"}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_looked_up_once_as_long_as_they_are_the_same),
        cmocka_unit_test(locks_and_tasks_are_told_from_each_other),
        cmocka_unit_test(a_name_that_json_escapes_and_all_numbers_of_a_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
