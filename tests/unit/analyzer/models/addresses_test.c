#include "analyzer/models/addresses.h"
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
/* clang-format on */

static const struct tg_library libc = {
    .path = "/lib/libc.so.6", .build_id = "c0", .base = 0x7000, .size_bytes = 0x100};
static const struct tg_library plug = {
    .path = "/lib/plug.so", .build_id = "aa", .base = 0x8000, .size_bytes = 0x80};
static const struct tg_library low = {
    .path = "/lib/low.so", .base = 0x100, .size_bytes = 0x10, .build_id = ""};
static const struct tg_library instead = {
    .path = "/lib/x.so", .build_id = "", .base = 0x8000, .size_bytes = 0x40};

static struct tg_addresses *model;

static int create(void **state)
{
    (void)state;
    assert_null(tg_addresses_create(&model));
    return 0;
}

static int destroy(void **state)
{
    (void)state;
    tg_addresses_destroy(model);
    return 0;
}

static void feed(struct tg_event event)
{
    assert_null(tg_addresses_feed(model, &event));
}

static void start(int pid, const char *program, uint64_t base)
{
    feed((struct tg_event){.kind = TG_EVENT_PROCESS_START, .pid = pid});
    feed((struct tg_event){.kind = TG_EVENT_PROGRAM,
                           .pid = pid,
                           .program = {.path = program, .build_id = "p0", .interpreter = "", .base = base}});
}

static void load(int pid, const struct tg_library *library)
{
    feed((struct tg_event){
        .kind = TG_EVENT_LIBRARY_LOAD, .pid = pid, .library_load = {.libraries = {library, 1}}});
}

static void unload(int pid, const struct tg_library *library)
{
    feed((struct tg_event){
        .kind = TG_EVENT_LIBRARY_UNLOAD, .pid = pid, .library_unload = {.libraries = {library, 1}}});
}

/* PATH NULL: nothing is there. */
static void expect(int pid, uint64_t address, const char *path)
{
    const struct tg_mapped_object *object = tg_addresses_find(model, pid, address);
    if (path == NULL)
        assert_null(object);
    else
        assert_string_equal(object == NULL ? "nothing" : object->path, path);
}

static void objects_have_their_extent(void **state)
{
    (void)state;
    start(1, "/bin/program", 0x5000);
    load(1, &plug);
    load(1, &low);
    load(1, &libc);
    expect(1, 0x7000, "/lib/libc.so.6");
    expect(1, 0x70ff, "/lib/libc.so.6");
    expect(1, 0x8000, "/lib/plug.so");
    expect(1, 0x10f, "/lib/low.so");
    expect(1, 0x110, NULL); /* below the program */
    expect(1, 0xff, NULL);
    expect(1, 0x5000, "/bin/program");
    expect(1, 0x7100, "/bin/program"); /* the end of the program is not known */
    expect(2, 0x7000, NULL);
    assert_int_equal(tg_addresses_find(model, 1, 0x7010)->base, 0x7000);
    assert_string_equal(tg_addresses_find(model, 1, 0x7010)->build_id, "c0");
}

static void what_is_unloaded_is_gone(void **state)
{
    (void)state;
    load(1, &plug);
    load(1, &libc);
    unload(1, &plug);
    expect(1, 0x8000, NULL);
    expect(1, 0x7000, "/lib/libc.so.6");
    unload(1, &plug); /* again: nothing happens */
    unload(7, &plug);
    load(1, &instead);
    load(1, &plug); /* without an unload that anybody saw */
    expect(1, 0x8050, "/lib/plug.so");
}

static void children_inherit_and_go_their_way(void **state)
{
    (void)state;
    start(1, "/bin/program", 0x5000);
    load(1, &plug);
    feed((struct tg_event){.kind = TG_EVENT_PROCESS_START,
                           .pid = 2,
                           .process_start = {.origin = TG_ORIGIN_FORK, .parent_pid = 1}});
    unload(1, &plug);
    expect(1, 0x8000, "/bin/program");
    expect(2, 0x8000, "/lib/plug.so");
    feed((struct tg_event){.kind = TG_EVENT_EXEC, .pid = 2, .exec = {.path = "/bin/other"}});
    expect(2, 0x8000, NULL);
    expect(2, 0x5000, NULL);
    start(2, "/bin/other", 0);
    expect(2, 1, "/bin/other");
    feed((struct tg_event){.kind = TG_EVENT_PROCESS_EXIT, .pid = 1});
    expect(1, 0x5000, NULL);
    /* the kernel uses the pid again, for a process that has no parent here */
    feed((struct tg_event){.kind = TG_EVENT_PROCESS_START,
                           .pid = 2,
                           .process_start = {.origin = TG_ORIGIN_FORK, .parent_pid = INT64_MAX}});
    expect(2, 1, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(objects_have_their_extent, create, destroy),
        cmocka_unit_test_setup_teardown(what_is_unloaded_is_gone, create, destroy),
        cmocka_unit_test_setup_teardown(children_inherit_and_go_their_way, create, destroy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
