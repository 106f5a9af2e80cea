#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "format/settings/dlopen_filter.h"

static const struct tg_library openmpi[] = {
    {.path = "/opt/mware/openmpi/lib/openmpi/mca_gizmo.so"},
    {.path = "/opt/mware/openmpi/lib/libopen-rte.so.4", .dependency = 1},
};
static const struct tg_list both = {.items = openmpi, .count = 2};
static const struct tg_list plugin_only = {.items = openmpi, .count = 1};
static const struct tg_list nothing = {.items = NULL, .count = 0};

static void slow_reports_everything(void **state)
{
    (void)state;
    struct tg_dlopen_filter filter;
    assert_null(tg_dlopen_filter_init(&filter));
    assert_int_equal(filter.mode, TG_FILTER_SLOW);
    assert_string_equal(tg_glob_list_text(filter.list), "");
    assert_null(tg_dlopen_filter_set(&filter, true, "!*")); /* the list waits until the mode changes */
    struct tg_event_filter_decision decision = tg_dlopen_filter_decide(&filter, &plugin_only);
    assert_int_equal(filter.mode, TG_FILTER_SLOW);
    assert_int_equal(decision.decision, TG_DECISION_REPORTED);
    assert_int_equal(decision.rule, TG_RULE_ALWAYS_RECALCULATE);
    assert_string_equal(decision.pattern, "");
    assert_string_equal(decision.library, "");
    tg_dlopen_filter_deinit(&filter);
}

static void medium_decides_by_the_list(void **state)
{
    (void)state;
    struct tg_dlopen_filter filter;
    assert_null(tg_dlopen_filter_init(&filter));
    assert_null(tg_dlopen_filter_set(&filter, false, "*/libopen-rte.so*:!/*/mware/*"));
    assert_int_equal(filter.mode, TG_FILTER_MEDIUM);
    struct tg_event_filter_decision decision = tg_dlopen_filter_decide(&filter, &both);
    assert_int_equal(decision.decision, TG_DECISION_REPORTED);
    assert_int_equal(decision.rule, TG_RULE_PATTERN);
    assert_string_equal(decision.pattern, "*/libopen-rte.so*");
    assert_string_equal(decision.library, openmpi[1].path);

    decision = tg_dlopen_filter_decide(&filter, &plugin_only);
    assert_int_equal(decision.decision, TG_DECISION_DEFERRED);
    assert_string_equal(decision.pattern, "!/*/mware/*");
    assert_string_equal(decision.library, openmpi[0].path);

    decision = tg_dlopen_filter_decide(&filter, &nothing);
    assert_int_equal(decision.decision, TG_DECISION_REPORTED);
    assert_int_equal(decision.rule, TG_RULE_DEFAULT_LAST_NEGATED);
    assert_string_equal(decision.pattern, "");
    tg_dlopen_filter_deinit(&filter);
}

static void fast_stops_for_nothing(void **state)
{
    (void)state;
    struct tg_dlopen_filter filter;
    assert_null(tg_dlopen_filter_init(&filter));
    assert_null(tg_dlopen_filter_set(&filter, false, ""));
    assert_int_equal(filter.mode, TG_FILTER_FAST);
    struct tg_event_filter_decision decision = tg_dlopen_filter_decide(&filter, &both);
    assert_int_equal(decision.decision, TG_DECISION_NOT_STOPPED);
    assert_int_equal(decision.rule, TG_RULE_NO_STOP);

    /* empty patterns are a list: stops that all end deferred, which is medium mode */
    assert_null(tg_dlopen_filter_set(&filter, false, ":::"));
    assert_int_equal(filter.mode, TG_FILTER_MEDIUM);
    decision = tg_dlopen_filter_decide(&filter, &both);
    assert_int_equal(decision.decision, TG_DECISION_DEFERRED);
    assert_int_equal(decision.rule, TG_RULE_DEFAULT_ALL_EMPTY);
    tg_dlopen_filter_deinit(&filter);
}

static void modes_have_names(void **state)
{
    (void)state;
    struct tg_dlopen_filter filter;
    assert_null(tg_dlopen_filter_init(&filter));
    assert_null(tg_dlopen_filter_set_mode(&filter, "fast", NULL));
    assert_int_equal(filter.mode, TG_FILTER_FAST);
    assert_null(tg_dlopen_filter_set_mode(&filter, "fast", ""));
    assert_int_equal(filter.mode, TG_FILTER_FAST);
    assert_null(tg_dlopen_filter_set_mode(&filter, "medium", "!*/boring*"));
    assert_int_equal(filter.mode, TG_FILTER_MEDIUM);
    assert_string_equal(tg_glob_list_text(filter.list), "!*/boring*");
    assert_null(tg_dlopen_filter_set_mode(&filter, "slow", NULL));
    assert_int_equal(filter.mode, TG_FILTER_SLOW);
    tg_dlopen_filter_deinit(&filter);
}

static void contradictions_are_usage_errors_and_change_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *mode, *match, *says;
    } wrong[] = {
        {"medium", NULL, "--match GLOBLIST"}, {"medium", "", "--match GLOBLIST"},
        {"fast", "*", "use mode medium"},     {"Slow", NULL, "did you mean 'slow'?"},
        {"", NULL, "slow, medium or fast"},
    };
    struct tg_dlopen_filter filter;
    assert_null(tg_dlopen_filter_init(&filter));
    assert_null(tg_dlopen_filter_set(&filter, false, "*/kept"));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct tg_error *error = tg_dlopen_filter_set_mode(&filter, wrong[i].mode, wrong[i].match);
        assert_non_null(error);
        assert_int_equal(tg_error_code(error), TG_ERROR_USAGE);
        assert_non_null(strstr(tg_error_message(error), wrong[i].says));
        tg_error_destroy(error);
        assert_int_equal(filter.mode, TG_FILTER_MEDIUM);
        assert_string_equal(tg_glob_list_text(filter.list), "*/kept");
    }
    tg_dlopen_filter_deinit(&filter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slow_reports_everything),
        cmocka_unit_test(medium_decides_by_the_list),
        cmocka_unit_test(fast_stops_for_nothing),
        cmocka_unit_test(modes_have_names),
        cmocka_unit_test(contradictions_are_usage_errors_and_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
