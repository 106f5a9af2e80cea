#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "analyzer/models/totals.h"

static void feed(struct tg_totals *model, struct tg_event event)
{
    assert_null(tg_totals_feed(model, &event));
}

static void breakpoints_are_followed_by_id(void **state)
{
    (void)state;
    struct tg_totals *model = NULL;
    assert_null(tg_totals_create(&model));
    feed(model,
         (struct tg_event){.pid = 1, .kind = TG_EVENT_BREAKPOINT_HIT, .breakpoint_hit = {.breakpoint = 9}});
    feed(model, (struct tg_event){.kind = TG_EVENT_BREAKPOINT_SPEC, .breakpoint_spec = {1, "init"}});
    feed(model, (struct tg_event){.kind = TG_EVENT_BREAKPOINT_PLANTED,
                                  .breakpoint_planted = {.breakpoint = 1, .library = "/l.so"}});
    feed(model, (struct tg_event){
                    .kind = TG_EVENT_BREAKPOINT_PLANTED,
                    .breakpoint_planted = {.breakpoint = 1, .library = "/l.so", .late = 1, .window_ns = 70}});
    feed(model, (struct tg_event){.kind = TG_EVENT_BREAKPOINT_REMOVED,
                                  .breakpoint_removed = {.breakpoint = 1, .library = "/l.so"}});
    tg_totals_finish(model);
    assert_int_equal(model->n_breakpoints, 2);
    assert_string_equal(model->breakpoints[0].text, "init");
    assert_int_equal(model->breakpoints[0].planted, 2);
    assert_int_equal(model->breakpoints[0].late, 1);
    assert_int_equal(model->breakpoints[0].longest_window_ns, 70);
    assert_int_equal(model->breakpoints[0].removed, 1);
    assert_int_equal(model->breakpoints[1].breakpoint, 9);
    assert_int_equal(model->breakpoints[1].hits, 1);
    tg_totals_destroy(model);
}

static void losses_add_up_by_source_and_reason(void **state)
{
    (void)state;
    struct tg_totals *model = NULL;
    assert_null(tg_totals_create(&model));
    for (uint64_t count = 0; count < 4; count++)
        feed(model, (struct tg_event){.time_ns = 10 + count,
                                      .kind = TG_EVENT_LOSS,
                                      .loss = {TG_LOSS_WRITER_QUEUE, count, "full"}});
    feed(model, (struct tg_event){.kind = TG_EVENT_LOSS, .loss = {TG_LOSS_LIMIT, 1, "full"}});
    feed(model, (struct tg_event){.kind = TG_EVENT_LOSS, .loss = {TG_LOSS_LIMIT, UINT64_MAX - 2, "full"}});
    assert_int_equal(model->losses[1].count, 1); /* a scribbled number is none */
    assert_int_equal(model->losses[1].unknown, 1);
    assert_int_equal(model->n_losses, 2);
    assert_int_equal(model->losses[0].events, 4);
    assert_int_equal(model->losses[0].count, 6);
    assert_int_equal(model->losses[0].unknown, 1);
    assert_int_equal(model->losses[0].first_ns, 10);
    tg_totals_destroy(model);
}

static void programs_without_the_agent_are_noted(void **state)
{
    (void)state;
    struct tg_totals *model = NULL;
    assert_null(tg_totals_create(&model));
    feed(model, (struct tg_event){.pid = 5, .kind = TG_EVENT_AGENT, .agent = {TG_AGENT_WATCHING, ""}});
    feed(model,
         (struct tg_event){.pid = 6, .kind = TG_EVENT_AGENT, .agent = {TG_AGENT_ASIDE, "a static program"}});
    feed(model,
         (struct tg_event){.pid = 7, .kind = TG_EVENT_AGENT, .agent = {TG_AGENT_ASIDE, "a static program"}});
    assert_int_equal(model->n_notes, 1);
    assert_string_equal(model->notes[0].text, "without the agent: a static program");
    assert_int_equal(model->notes[0].count, 2);
    assert_int_equal(model->notes[0].first_pid, 6);
    tg_totals_destroy(model);
}

static void any_number_of_different_notes_is_bounded_and_said(void **state)
{
    (void)state;
    struct tg_totals *model = NULL;
    assert_null(tg_totals_create(&model));
    for (int i = 0; i < TG_TOTALS_MAX_DISTINCT + 5; i++) {
        char text[32];
        snprintf(text, sizeof text, "note %d", i);
        feed(model, (struct tg_event){.pid = i, .kind = TG_EVENT_NOTE, .note = {text}});
        feed(model, (struct tg_event){.pid = 7, .kind = TG_EVENT_NOTE, .note = {"the same"}});
    }
    assert_int_equal(model->n_notes, TG_TOTALS_MAX_DISTINCT);
    assert_int_equal(model->beyond_limit, 6);
    assert_int_equal(model->notes[1].count, TG_TOTALS_MAX_DISTINCT + 5);
    tg_totals_destroy(model);
}

static void settings_that_do_not_change_are_one_period(void **state)
{
    (void)state;
    struct tg_totals *model = NULL;
    assert_null(tg_totals_create(&model));
    char match[] = "*/a*";
    feed(model,
         (struct tg_event){.time_ns = 1, .kind = TG_EVENT_FILTER_SETTINGS, .filter_settings = {1, match}});
    match[2] = 'b';
    feed(model,
         (struct tg_event){.time_ns = 2, .kind = TG_EVENT_FILTER_SETTINGS, .filter_settings = {1, match}});
    feed(model,
         (struct tg_event){.time_ns = 3, .kind = TG_EVENT_FILTER_SETTINGS, .filter_settings = {1, match}});
    assert_int_equal(model->n_settings, 2);
    assert_string_equal(model->settings[0].match, "*/a*");
    assert_string_equal(model->settings[1].match, "*/b*");
    feed(model, (struct tg_event){.kind = TG_EVENT_FILTER_DECISION, .filter_decision = {.decision = 1}});
    feed(model, (struct tg_event){.kind = TG_EVENT_FILTER_DECISION, .filter_decision = {.decision = 77}});
    feed(model, (struct tg_event){.kind = TG_EVENT_DEFERRED_HANDLED,
                                  .stop_ns = 3,
                                  .deferred_handled = {.events = 2, .libraries = 5}});
    assert_int_equal(model->filter.decisions[TG_DECISION_DEFERRED], 1);
    assert_int_equal(model->filter.largest_batch, 5);
    uint64_t events = 0, stops = 0;
    for (size_t i = 0; i < model->n_kinds; i++) {
        events += model->kinds[i].events;
        stops += model->kinds[i].stops;
    }
    assert_int_equal(events, 6);
    assert_int_equal(stops, 1);
    tg_totals_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(breakpoints_are_followed_by_id),
        cmocka_unit_test(losses_add_up_by_source_and_reason),
        cmocka_unit_test(programs_without_the_agent_are_noted),
        cmocka_unit_test(any_number_of_different_notes_is_bounded_and_said),
        cmocka_unit_test(settings_that_do_not_change_are_one_period),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
