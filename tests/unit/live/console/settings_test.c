/* The settings that dset knows. */
#include "format/settings/settings.h"
#include "live/console/settings.h"

#include "tests/support/trace_fixture.h"

#include <stdio.h>
#include <string.h>

static int set_up(void **state)
{
    struct tg_console_settings *settings = NULL;
    assert_fine(tg_console_settings_create(&settings));
    *state = settings;
    return 0;
}

static int tear_down(void **state)
{
    tg_console_settings_destroy(*state);
    return 0;
}

/* Every default is a value, and dunset gives it back. */
static void test_defaults(void **state)
{
    for (const struct tg_setting *setting = tg_setting_table; setting->name != NULL; setting++) {
        assert_string_equal(tg_console_settings_text(*state, setting->name), setting->initial);
        assert_fine(tg_console_settings_set(*state, setting->name, setting->initial));
        assert_fine(tg_console_settings_set(*state, setting->name, NULL));
        assert_string_equal(tg_console_settings_text(*state, setting->name), setting->initial);
        assert_ptr_equal(tg_setting_find(setting->name), setting);
        assert_null(strchr(setting->meaning, '\n'));
    }
}

static void test_types(void **state)
{
    assert_fine(tg_console_settings_set(*state, "dlopen_always_recalculate", "No"));
    assert_string_equal(tg_console_settings_text(*state, "TV::dlopen_always_recalculate"), "false");
    assert_false(tg_console_settings_bool(*state, "TV::dlopen_always_recalculate"));
    assert_fine(tg_console_settings_set(*state, "MAX_LIST", "0030"));
    assert_int_equal(tg_console_settings_number(*state, "MAX_LIST"), 30);
    assert_fine(tg_console_settings_set(*state, "BARRIER_STOP_ALL", "none"));
    assert_fine(tg_console_settings_set(*state, "SEARCH_PATH", "/a b:\x1b"));
    assert_string_equal(tg_console_settings_text(*state, "SEARCH_PATH"), "/a b:\x1b");
}

static void test_refused(void **state)
{
    static const struct {
        const char *name, *value, *message;
    } all[] = {
        {"TV::dlopen_always_recalculate", "maybe", "invalid value 'maybe'; give true or false"},
        {"MAX_LIST", "0", "a number from 1 to 10000"},
        {"MAX_LIST", "12x", "a number from"},
        {"MAX_LIST", "", "a number from"},
        {"MAX_LIST", "99999999999999999999", "a number from"},
        {"BARRIER_STOP_ALL", "\x1b", "'\\x1b'; give group, process, none or thread"},
        {"ASSEMBLER_SYNTAX", "Intel", "give att or intel"},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        expect_error(tg_console_settings_set(*state, all[i].name, all[i].value), TG_ERROR_USAGE,
                     all[i].message);
        assert_string_equal(tg_console_settings_text(*state, all[i].name),
                            tg_setting_find(all[i].name)->initial);
    }
    expect_error(tg_console_settings_set(*state, "max_list", "1"), TG_ERROR_NOT_FOUND, "'max_list'");
    assert_null(tg_setting_find("max_list"));
    assert_null(tg_setting_find("barrier_stop_all"));
    assert_ptr_equal(tg_setting_find("TV::MAX_LIST"), tg_setting_find("MAX_LIST"));
    assert_ptr_equal(tg_setting_find("TV::barrier_stop_all"), tg_setting_find("BARRIER_STOP_ALL"));
}

/* A settings file may set whatever dset may. */
static void test_files(void **state)
{
    (void)state;
    for (const struct tg_setting *setting = tg_setting_table; setting->name != NULL; setting++) {
        char text[512];
        struct tg_settings settings = {0};
        snprintf(text, sizeof text, "dset %s {%s}", setting->name, setting->initial);
        assert_null(tg_settings_parse("rc", text, strlen(text), &settings));
        assert_int_equal(settings.n_notes, 0);
        bool of_filter = settings.has_always_recalculate || settings.match != NULL;
        assert_int_equal(settings.n_console, of_filter ? 0 : 1);
        if (!of_filter)
            assert_null(tg_console_settings_set(*state, settings.console[0].name, settings.console[0].value));
        tg_settings_deinit(&settings);
    }
}

static struct tg_error *changed(void *context, const char *value)
{
    unsigned *calls = context;
    ++*calls;
    return strcmp(value, "5") == 0 ? tg_error_create(TG_ERROR_LIMIT, "not five") : NULL;
}

static void test_watched(void **state)
{
    unsigned calls = 0;
    tg_console_settings_watch(*state, "MAX_LIST", changed, &calls);
    assert_fine(tg_console_settings_set(*state, "MAX_LIST", "4"));
    assert_int_equal(calls, 1);
    assert_fine(tg_console_settings_set(*state, "MAX_LIST", "04")); /* the same */
    assert_int_equal(calls, 1);
    expect_error(tg_console_settings_set(*state, "MAX_LIST", "5"), TG_ERROR_LIMIT, "not five");
    assert_int_equal(tg_console_settings_number(*state, "MAX_LIST"), 4);
    assert_fine(tg_console_settings_set(*state, "MAX_LIST", NULL));
    assert_int_equal(calls, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_defaults, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_types, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_watched, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
