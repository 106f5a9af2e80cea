#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/filter/check.h"
#include "tests/unit/analyzer/filter/events.h"

#include <stdlib.h>
#include <string.h>

static struct tg_filter_check *new_check(void)
{
    struct tg_filter_check *check = NULL;
    assert_null(tg_filter_check_create(&check));
    return check;
}

static void predict(struct tg_filter_check *check, int32_t pid, enum tg_filter_decision decision,
                    const char *pattern)
{
    struct tg_filter_prediction prediction = {.kind = TG_PREDICTED_DECISION,
                                              .pid = pid,
                                              .decision = decision,
                                              .rule = TG_RULE_PATTERN,
                                              .pattern = pattern,
                                              .library = "/l.so"};
    assert_null(tg_filter_check_predict(check, &prediction));
}

static void record(struct tg_filter_check *check, int32_t pid, enum tg_filter_decision decision,
                   const char *pattern)
{
    struct tg_event event = {.pid = pid, .kind = TG_EVENT_FILTER_DECISION};
    event.filter_decision = (struct tg_event_filter_decision){decision, TG_RULE_PATTERN, pattern, "/l.so"};
    assert_null(tg_filter_check_add(check, &event));
}

static struct tg_filter_check_result finish(struct tg_filter_check *check)
{
    struct tg_filter_check_result result;
    tg_filter_check_finish(check, &result);
    tg_filter_check_destroy(check);
    return result;
}

static void equal_pairs_agree_in_either_order(void **state)
{
    (void)state;
    struct tg_filter_check *check = new_check();
    predict(check, 1, TG_DECISION_REPORTED, "a");
    predict(check, 2, TG_DECISION_DEFERRED, "b");
    record(check, 2, TG_DECISION_DEFERRED, "b");
    record(check, 1, TG_DECISION_REPORTED, "a");
    record(check, 1, TG_DECISION_DEFERRED, "c");
    record(check, 1, TG_DECISION_DEFERRED, "d");
    predict(check, 1, TG_DECISION_DEFERRED, "c");
    predict(check, 1, TG_DECISION_DEFERRED, "d");
    struct tg_filter_check_result result = finish(check);
    assert_int_equal(result.decisions, 4);
    assert_int_equal(result.decisions_differ, 0);
    assert_string_equal(result.first, "");
}

static void every_kind_of_difference_counts(void **state)
{
    (void)state;
    struct tg_filter_check *check = new_check();
    predict(check, 1, TG_DECISION_REPORTED, "a");
    record(check, 1, TG_DECISION_DEFERRED, "a");
    predict(check, 1, TG_DECISION_REPORTED, "a");
    record(check, 1, TG_DECISION_REPORTED, "b");
    predict(check, 1, TG_DECISION_REPORTED, "alone");
    record(check, 2, TG_DECISION_REPORTED, "alone");
    struct tg_filter_check_result result = finish(check);
    assert_int_equal(result.decisions, 2);
    assert_int_equal(result.decisions_differ, 4);
    assert_string_equal(result.first,
                        "pid 1 at 0 ns: recorded deferred by pattern \"a\", predicted reported by "
                        "pattern \"a\"");
}

static void an_ended_process_keeps_no_partner(void **state)
{
    (void)state;
    struct tg_filter_check *check = new_check();
    predict(check, 1, TG_DECISION_REPORTED, "a");
    struct tg_event exit = {.pid = 1, .kind = TG_EVENT_PROCESS_EXIT};
    assert_null(tg_filter_check_add(check, &exit));
    record(check, 1, TG_DECISION_REPORTED, "a"); /* the pid is somebody else's now */
    assert_int_equal(finish(check).decisions_differ, 2);
}

static void startup_decisions_are_no_events_decisions(void **state)
{
    (void)state;
    struct tg_filter_check *check = new_check();
    struct tg_event load = {.pid = 1, .kind = TG_EVENT_LIBRARY_LOAD};
    load.library_load.found = TG_FOUND_STARTUP;
    assert_null(tg_filter_check_add(check, &load));
    record(check, 1, TG_DECISION_REPORTED, "a");
    assert_int_equal(finish(check).decisions_differ, 0);
}

static void handlings_are_compared_by_trigger_events_and_libraries(void **state)
{
    (void)state;
    struct tg_filter_check *check = new_check();
    for (uint64_t i = 0; i < 4; i++) {
        struct tg_filter_prediction prediction = {.kind = TG_PREDICTED_HANDLING,
                                                  .pid = 1,
                                                  .trigger = TG_TRIGGER_SIGNAL,
                                                  .events = 2,
                                                  .n_libraries = 3};
        struct tg_event event = {.pid = 1, .kind = TG_EVENT_DEFERRED_HANDLED};
        event.deferred_handled = (struct tg_event_deferred_handled){
            i == 1 ? TG_TRIGGER_ENTRY : TG_TRIGGER_SIGNAL, i == 2 ? 9 : 2, i == 3 ? 9 : 3, 100};
        assert_null(tg_filter_check_predict(check, &prediction));
        assert_null(tg_filter_check_add(check, &event));
    }
    struct tg_filter_check_result result = finish(check);
    assert_int_equal(result.handlings, 4);
    assert_int_equal(result.handlings_differ, 3);
    assert_string_equal(result.first, "pid 1 at 0 ns: recorded 3 libraries of 2 events handled at entry, "
                                      "predicted 3 libraries of 2 events handled at signal");
}

static void a_flood_without_partners_is_bounded(void **state)
{
    (void)state;
    struct tg_filter_check *check = new_check();
    for (int i = 0; i < 10000; i++)
        predict(check, 1, TG_DECISION_REPORTED, "a");
    assert_int_equal(finish(check).decisions_differ, 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_pairs_agree_in_either_order),
        cmocka_unit_test(every_kind_of_difference_counts),
        cmocka_unit_test(an_ended_process_keeps_no_partner),
        cmocka_unit_test(startup_decisions_are_no_events_decisions),
        cmocka_unit_test(handlings_are_compared_by_trigger_events_and_libraries),
        cmocka_unit_test(a_flood_without_partners_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
