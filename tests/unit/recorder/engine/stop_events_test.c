#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recorder/engine/stop_events.h"

#include <stdio.h>
#include <string.h>

struct received {
    size_t count;
    uint64_t stop_ns[4];
    char texts[4][64];
    uint64_t libraries;
    char last_path[64];
};

static void receive(void *context, const struct tg_event *event)
{
    struct received *received = context;
    if (received->count < 4) {
        received->stop_ns[received->count] = event->stop_ns;
        if (event->kind == TG_EVENT_NOTE)
            snprintf(received->texts[received->count], sizeof received->texts[0], "%s", event->note.text);
    }
    if (event->kind == TG_EVENT_LIBRARY_LOAD) {
        const struct tg_library *libraries = event->library_load.libraries.items;
        received->libraries = event->library_load.libraries.count;
        snprintf(received->last_path, sizeof received->last_path, "%s",
                 libraries[received->libraries - 1].path);
        assert_string_equal(libraries[0].build_id, ""); /* was NULL */
    }
    received->count++;
}

static void events_are_deep_copies_and_the_first_bears_the_cost(void **state)
{
    (void)state;
    struct tg_stop_events events = {0};
    struct received received = {0};
    char text[16] = "before";
    struct tg_event event = {.kind = TG_EVENT_NOTE, .note = {.text = text}};
    assert_non_null(tg_stop_events_add(&events, &event));
    strcpy(text, "after");
    assert_non_null(tg_stop_events_add(&events, &event));
    strcpy(text, "gone");
    tg_stop_events_flush(&events, 77, receive, &received);
    assert_int_equal(received.count, 2);
    assert_string_equal(received.texts[0], "before");
    assert_string_equal(received.texts[1], "after");
    assert_int_equal(received.stop_ns[0], 77);
    assert_int_equal(received.stop_ns[1], 0);
    tg_stop_events_flush(&events, 5, receive, &received);
    assert_int_equal(received.count, 2); /* nothing is handed on twice */
    tg_stop_events_deinit(&events);
}

static void what_the_copy_says_can_still_be_changed(void **state)
{
    (void)state;
    struct tg_stop_events events = {0};
    struct received received = {0};
    struct tg_event event = {.kind = TG_EVENT_NOTE};
    struct tg_event *copy = tg_stop_events_add(&events, &event);
    assert_string_equal(copy->note.text, ""); /* was NULL */
    copy->note.text = "later";
    tg_stop_events_flush(&events, 1, receive, &received);
    assert_string_equal(received.texts[0], "later");
    tg_stop_events_deinit(&events);
}

static void lists_of_any_length_are_copied_with_their_strings(void **state)
{
    (void)state;
    enum { MANY = 3000 };
    static char paths[MANY][64];
    static struct tg_library libraries[MANY];
    struct tg_stop_events events = {0};
    for (int round = 0; round < 3; round++) {
        struct received received = {0};
        for (int i = 0; i < MANY; i++) {
            snprintf(paths[i], sizeof paths[i], "/lib/lib%d-%d.so", round, i);
            libraries[i] = (struct tg_library){.path = paths[i]};
        }
        struct tg_event event = {.kind = TG_EVENT_LIBRARY_LOAD,
                                 .library_load = {.libraries = {libraries, MANY}}};
        assert_non_null(tg_stop_events_add(&events, &event));
        memset(paths, 'x', sizeof paths);
        tg_stop_events_flush(&events, 1, receive, &received);
        char expected[64];
        snprintf(expected, sizeof expected, "/lib/lib%d-%d.so", round, MANY - 1);
        assert_int_equal(received.libraries, MANY);
        assert_string_equal(received.last_path, expected);
    }
    tg_stop_events_deinit(&events);
}

static void an_impossible_event_is_counted_as_lost(void **state)
{
    (void)state;
    struct tg_stop_events events = {0};
    struct received received = {0};
    struct tg_event unknown = {.kind = (enum tg_event_kind)0x7fff};
    struct tg_event endless = {.kind = TG_EVENT_LIBRARY_LOAD,
                               .library_load = {.libraries = {NULL, UINT64_MAX / 2}}};
    assert_null(tg_stop_events_add(&events, &unknown));
    assert_null(tg_stop_events_add(&events, &endless));
    assert_int_equal(events.lost, 2);
    tg_stop_events_flush(&events, 1, receive, &received);
    assert_int_equal(received.count, 0);
    tg_stop_events_deinit(&events);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_are_deep_copies_and_the_first_bears_the_cost),
        cmocka_unit_test(what_the_copy_says_can_still_be_changed),
        cmocka_unit_test(lists_of_any_length_are_copied_with_their_strings),
        cmocka_unit_test(an_impossible_event_is_counted_as_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
