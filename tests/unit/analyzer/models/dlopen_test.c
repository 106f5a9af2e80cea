#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/models/dlopen.h"

#include <string.h>

static struct tg_dlopen_model *create(void)
{
    struct tg_dlopen_model *model = NULL;
    assert_null(tg_dlopen_model_create(&model));
    return model;
}

static void load(struct tg_dlopen_model *model, size_t process, enum tg_library_found found, const char *path,
                 uint64_t link_map)
{
    const struct tg_library libraries[] = {
        {.path = path, .build_id = "", .link_map = link_map, .base = link_map * 0x1000}};
    const struct tg_event event = {
        .kind = TG_EVENT_LIBRARY_LOAD,
        .stop_ns = found == TG_FOUND_LOADER ? 40 : 0,
        .library_load = {.found = found, .handle_ns = 5, .libraries = {libraries, 1}}};
    assert_null(tg_dlopen_model_feed(model, &event, process, SIZE_MAX));
}

static void decide(struct tg_dlopen_model *model, size_t process, enum tg_filter_decision decision,
                   const char *pattern)
{
    const struct tg_event event = {.kind = TG_EVENT_FILTER_DECISION,
                                   .filter_decision = {decision, TG_RULE_PATTERN, pattern, ""}};
    assert_null(tg_dlopen_model_feed(model, &event, process, SIZE_MAX));
}

static void dlopen_event(struct tg_dlopen_model *model, size_t process, enum tg_filter_decision decision,
                         const char *path, uint64_t link_map)
{
    load(model, process, decision == TG_DECISION_NOT_STOPPED ? TG_FOUND_CATCH_UP : TG_FOUND_LOADER, path,
         link_map);
    decide(model, process, decision, "*");
}

static void handled(struct tg_dlopen_model *model, size_t process, uint64_t libraries)
{
    const struct tg_event event = {.kind = TG_EVENT_DEFERRED_HANDLED,
                                   .deferred_handled = {TG_TRIGGER_SIGNAL, 1, libraries, 100}};
    assert_null(tg_dlopen_model_feed(model, &event, process, SIZE_MAX));
}

static void unload(struct tg_dlopen_model *model, size_t process, uint64_t link_map)
{
    const struct tg_library libraries[] = {{.path = "", .build_id = "", .link_map = link_map}};
    const struct tg_event event = {
        .kind = TG_EVENT_LIBRARY_UNLOAD, .stop_ns = 7, .library_unload = {.libraries = {libraries, 1}}};
    assert_null(tg_dlopen_model_feed(model, &event, process, SIZE_MAX));
}

/* "a=handled b=waiting ": last components of paths. */
static const char *loaded(const struct tg_dlopen_model *model, size_t process)
{
    static const char *const names[] = {"startup", "handled", "late", "waiting", "seen"};
    static char text[400];
    const struct tg_dlopen_process *of = tg_dlopen_model_at(model, process);
    text[0] = '\0';
    for (size_t i = 0; i < of->n_libraries; i++) {
        strcat(text, strrchr(of->libraries[i].path, '/') + 1);
        strcat(text, "=");
        strcat(text, names[of->libraries[i].state]);
        strcat(text, " ");
    }
    return text;
}

static void each_library_has_the_state_that_was_decided(void **state)
{
    (void)state;
    struct tg_dlopen_model *model = create();
    load(model, 1, TG_FOUND_STARTUP, "/l/s", 1);
    decide(model, 1, TG_DECISION_DEFERRED, "belongs to no event");
    dlopen_event(model, 1, TG_DECISION_REPORTED, "/l/r", 2);
    dlopen_event(model, 1, TG_DECISION_DEFERRED, "/l/d", 3);
    dlopen_event(model, 1, TG_DECISION_DEFERRED, "/l/e", 4);
    dlopen_event(model, 1, TG_DECISION_NOT_STOPPED, "/l/n", 5);
    assert_string_equal(loaded(model, 1), "s=startup r=handled d=waiting e=waiting n=waiting ");
    unload(model, 1, 4);
    unload(model, 1, 99);
    struct tg_dlopen_counts counts = tg_dlopen_model_at(model, 1)->counts;
    assert_int_equal(counts.waiting, 2);
    handled(model, 1, 2);
    load(model, 1, TG_FOUND_AGENT, "/l/a", 6);
    assert_string_equal(loaded(model, 1), "s=startup r=handled d=late n=late a=seen ");
    counts = tg_dlopen_model_at(model, 1)->counts;
    assert_int_equal(counts.events, 5);
    assert_int_equal(counts.libraries, 5);
    assert_int_equal(counts.reported, 1);
    assert_int_equal(counts.deferred, 2);
    assert_int_equal(counts.not_stopped, 1);
    assert_int_equal(counts.by_agent, 1);
    assert_int_equal(counts.unloads, 2);
    assert_int_equal(counts.batches, 1);
    assert_int_equal(counts.handled_late, 2);
    assert_int_equal(counts.largest_batch, 2);
    assert_int_equal(counts.waiting, 0);
    assert_int_equal(counts.stop_ns, 3 * 40 + 2 * 7);
    assert_int_equal(counts.handle_ns, 6 * 5 + 100);
    assert_int_equal(tg_dlopen_model_at(model, 0)->counts.events, 0);
    tg_dlopen_model_destroy(model);
}

static void forks_have_what_their_parent_has(void **state)
{
    (void)state;
    struct tg_dlopen_model *model = create();
    dlopen_event(model, 0, TG_DECISION_REPORTED, "/l/r", 2);
    dlopen_event(model, 0, TG_DECISION_DEFERRED, "/l/d", 3);
    const struct tg_event start = {.kind = TG_EVENT_PROCESS_START,
                                   .process_start = {.origin = TG_ORIGIN_FORK}};
    const struct tg_event exec = {.kind = TG_EVENT_EXEC}, exit = {.kind = TG_EVENT_PROCESS_EXIT};
    assert_null(tg_dlopen_model_feed(model, &start, 1, 0));
    handled(model, 0, 1);
    assert_string_equal(loaded(model, 1), "r=handled d=late ");
    struct tg_dlopen_model *copy = NULL;
    assert_null(tg_dlopen_model_copy(model, &copy));
    assert_null(tg_dlopen_model_feed(model, &exec, 1, SIZE_MAX));
    assert_string_equal(loaded(model, 1), "");
    assert_string_equal(loaded(copy, 1), "r=handled d=late ");
    assert_null(tg_dlopen_model_feed(model, &exit, 0, SIZE_MAX));
    assert_string_equal(loaded(model, 0), "");
    assert_int_equal(tg_dlopen_model_at(model, 0)->counts.events, 2);
    tg_dlopen_model_destroy(model);
    assert_string_equal(loaded(copy, 0), "r=handled d=late ");
    dlopen_event(copy, 0, TG_DECISION_REPORTED, "/l/more", 9);
    assert_string_equal(loaded(copy, 0), "r=handled d=late more=handled ");
    struct tg_dlopen_counts sum = {0};
    for (size_t i = 0; i < tg_dlopen_model_count(copy); i++)
        tg_dlopen_counts_add(&sum, &tg_dlopen_model_at(copy, i)->counts);
    assert_int_equal(sum.events, 3);
    tg_dlopen_model_destroy(copy);
}

static void the_latest_decisions_are_kept(void **state)
{
    (void)state;
    struct tg_dlopen_model *model = create();
    assert_null(tg_dlopen_model_recent(model, 0));
    for (uint64_t i = 0; i < TG_DLOPEN_MAX_RECENT + 3; i++)
        dlopen_event(model, i, i % 2 ? TG_DECISION_REPORTED : TG_DECISION_DEFERRED, "/l/x", i + 1);
    for (size_t i = 0; i < TG_DLOPEN_MAX_RECENT; i++) {
        const struct tg_dlopen_decision *decision = tg_dlopen_model_recent(model, i);
        assert_int_equal(decision->process, TG_DLOPEN_MAX_RECENT + 2 - i);
        assert_int_equal(decision->decision,
                         decision->process % 2 ? TG_DECISION_REPORTED : TG_DECISION_DEFERRED);
        assert_string_equal(decision->library, "/l/x");
        assert_int_equal(decision->n_libraries, 1);
    }
    assert_null(tg_dlopen_model_recent(model, TG_DLOPEN_MAX_RECENT));
    tg_dlopen_model_destroy(model);
}

static void a_cuda_driver_that_is_not_reported_counts(void **state)
{
    (void)state;
    struct tg_dlopen_model *model = create();
    dlopen_event(model, 0, TG_DECISION_REPORTED, "/usr/lib/libcuda.so.1", 1);
    dlopen_event(model, 1, TG_DECISION_DEFERRED, "/usr/lib/libcuda.so.1", 1);
    dlopen_event(model, 2, TG_DECISION_NOT_STOPPED, "/usr/lib/libcudart.so.1", 1);
    assert_int_equal(tg_dlopen_model_at(model, 0)->counts.cuda_missed, 0);
    assert_int_equal(tg_dlopen_model_at(model, 1)->counts.cuda_missed, 1);
    assert_int_equal(tg_dlopen_model_at(model, 2)->counts.cuda_missed, 0);
    tg_dlopen_model_destroy(model);
}

static void more_libraries_than_are_kept_are_counted(void **state)
{
    (void)state;
    struct tg_dlopen_model *model = create();
    for (uint64_t i = 0; i < TG_DLOPEN_MAX_LIBRARIES + 5; i++)
        dlopen_event(model, 0, TG_DECISION_DEFERRED, "/l/x", i + 1);
    const struct tg_dlopen_process *process = tg_dlopen_model_at(model, 0);
    assert_int_equal(process->n_libraries, TG_DLOPEN_MAX_LIBRARIES);
    assert_int_equal(process->counts.libraries, TG_DLOPEN_MAX_LIBRARIES + 5);
    handled(model, 0, TG_DLOPEN_MAX_LIBRARIES + 5);
    assert_int_equal(process->counts.waiting, 0);
    tg_dlopen_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_library_has_the_state_that_was_decided),
        cmocka_unit_test(forks_have_what_their_parent_has),
        cmocka_unit_test(the_latest_decisions_are_kept),
        cmocka_unit_test(a_cuda_driver_that_is_not_reported_counts),
        cmocka_unit_test(more_libraries_than_are_kept_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
