#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recorder/engine/engine.h"

enum { N_OBSERVERS = 20 };

/* An observer that keeps its own address in its slot of the process, and checks that it stays there. */
struct watcher {
    struct tg_observer observer;
    size_t slot;
    unsigned started, loaded, ended;
};

static void started(void *context, struct tg_thread *thread, enum tg_process_origin origin,
                    struct tg_process *parent)
{
    struct watcher *watcher = context;
    assert_int_equal(origin, TG_ORIGIN_LAUNCHED);
    assert_null(parent);
    assert_null(thread->process->data[watcher->slot]);
    thread->process->data[watcher->slot] = watcher;
    watcher->started++;
}

static void loaded(void *context, struct tg_thread *thread, bool attached)
{
    struct watcher *watcher = context;
    assert_false(attached);
    assert_ptr_equal(thread->process->data[watcher->slot], watcher);
    watcher->loaded++;
}

static void ended(void *context, struct tg_process *process)
{
    struct watcher *watcher = context;
    assert_ptr_equal(process->data[watcher->slot], watcher);
    watcher->ended++;
}

static void ignore_event(void *context, const struct tg_event *event)
{
    (void)context;
    (void)event;
}

static void test_any_number_of_observers(void **state)
{
    (void)state;
    const struct tg_engine_options options = {.sink = {.add = ignore_event}, .kill_on_exit = true};
    struct tg_engine *engine;
    struct watcher watchers[N_OBSERVERS] = {0};
    assert_null(tg_engine_create(&options, &engine));
    for (size_t i = 0; i < N_OBSERVERS; i++) {
        watchers[i].observer = (struct tg_observer){.name = "watcher",
                                                    .context = &watchers[i],
                                                    .process_started = started,
                                                    .program_loaded = loaded,
                                                    .process_ended = ended};
        assert_null(tg_engine_add_observer(engine, &watchers[i].observer, &watchers[i].slot));
        assert_int_equal(watchers[i].slot, i);
    }
    char *argv[] = {"true", NULL};
    int status = -1;
    assert_null(tg_engine_launch(engine, argv, NULL));
    assert_null(tg_engine_run(engine, &status));
    assert_int_equal(status, 0);
    for (size_t i = 0; i < N_OBSERVERS; i++) {
        assert_int_equal(watchers[i].started, 1);
        assert_int_equal(watchers[i].loaded, 1);
        assert_int_equal(watchers[i].ended, 1);
    }
    tg_engine_destroy(engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_any_number_of_observers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
