#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/models/library.h"

static void load(struct tg_library_model *model, size_t process, uint64_t time_ns, uint64_t stop_ns,
                 enum tg_library_found found, const struct tg_library *libraries, uint64_t count)
{
    struct tg_event event = {.time_ns = time_ns,
                             .stop_ns = stop_ns,
                             .pid = 1,
                             .kind = TG_EVENT_LIBRARY_LOAD,
                             .library_load = {.found = found, .libraries = {libraries, count}}};
    assert_null(tg_library_model_feed(model, &event, process));
}

static const struct tg_library libc = {.path = "/lib/libc.so.6", .build_id = "c0", .dependency = 1};
static const struct tg_library plug = {.path = "/lib/plug.so", .build_id = "aa"};
static const struct tg_library rebuilt = {.path = "/lib/plug.so", .build_id = "bb"};
static const struct tg_library other = {.path = "/lib/other.so", .build_id = ""};

static struct tg_library_model *create(void)
{
    struct tg_library_model *model = NULL;
    assert_null(tg_library_model_create(&model));
    return model;
}

static void a_stop_is_shared_by_what_was_asked_for(void **state)
{
    (void)state;
    struct tg_library_model *model = create();
    const struct tg_library two_asked[] = {plug, libc, other};
    load(model, 0, 50, 101, TG_FOUND_LOADER, two_asked, 3);
    const struct tg_library all_dependencies[] = {libc};
    load(model, 1, 10, 30, TG_FOUND_STARTUP, all_dependencies, 1);
    const struct tg_library_use *uses[3];
    assert_int_equal(tg_library_model_count(model), 3);
    tg_library_model_by_cost(model, uses);
    assert_string_equal(uses[0]->path, plug.path);
    assert_int_equal(uses[0]->stop_ns, 51);
    assert_int_equal(uses[1]->stop_ns, 50);
    assert_int_equal(uses[2]->stop_ns, 30);
    tg_library_model_by_time(model, uses);
    assert_string_equal(uses[0]->path, libc.path);
    assert_int_equal(uses[0]->first_ns, 10);
    assert_int_equal(uses[0]->first_process, 1);
    assert_false(uses[0]->startup);
    assert_int_equal(uses[0]->processes, 2);
    struct tg_library_totals totals = tg_library_model_totals(model);
    assert_int_equal(totals.load_stop_ns, 131);
    assert_int_equal(totals.objects, 4);
    tg_library_model_destroy(model);
}

static void processes_are_counted_once_each(void **state)
{
    (void)state;
    struct tg_library_model *model = create();
    for (int round = 0; round < 3; round++)
        for (size_t process = 0; process < 1000; process++)
            load(model, process, 5, 0, TG_FOUND_LOADER, &plug, 1);
    load(model, 0, 6, 0, TG_FOUND_LOADER, &rebuilt, 1);
    const struct tg_library_use *uses[2];
    assert_int_equal(tg_library_model_count(model), 2);
    tg_library_model_by_time(model, uses);
    assert_int_equal(uses[0]->processes, 1000);
    assert_int_equal(uses[0]->loads, 3000);
    assert_int_equal(uses[1]->processes, 1);
    assert_string_equal(uses[1]->build_id, "bb");
    tg_library_model_destroy(model);
}

static void unloads_and_null_events_are_counted(void **state)
{
    (void)state;
    struct tg_library_model *model = create();
    load(model, 0, 1, 10, TG_FOUND_LOADER, &plug, 1);
    struct tg_event event = {.time_ns = 2,
                             .stop_ns = 7,
                             .kind = TG_EVENT_LIBRARY_UNLOAD,
                             .library_unload = {.libraries = {&plug, 1}}};
    assert_null(tg_library_model_feed(model, &event, 0));
    event = (struct tg_event){.time_ns = 3, .stop_ns = 5, .kind = TG_EVENT_LIBRARY_NULL};
    assert_null(tg_library_model_feed(model, &event, 0));
    event = (struct tg_event){.time_ns = 3, .stop_ns = 900, .kind = TG_EVENT_SIGNAL};
    assert_null(tg_library_model_feed(model, &event, 0));
    load(model, 0, 4, 0, TG_FOUND_LOADER, NULL, 0);
    struct tg_library_totals totals = tg_library_model_totals(model);
    assert_int_equal(totals.load_events, 2);
    assert_int_equal(totals.unload_events, 1);
    assert_int_equal(totals.null_events, 1);
    assert_int_equal(totals.null_stop_ns, 5);
    assert_int_equal(totals.unload_stop_ns, 7);
    const struct tg_library_use *use;
    tg_library_model_by_time(model, &use);
    assert_int_equal(use->unloads, 1);
    assert_int_equal(use->loads, 1);
    tg_library_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stop_is_shared_by_what_was_asked_for),
        cmocka_unit_test(processes_are_counted_once_each),
        cmocka_unit_test(unloads_and_null_events_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
