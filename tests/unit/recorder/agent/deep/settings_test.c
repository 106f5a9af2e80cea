/* TVHEAP_DEEPBIND as people write it, by statements S8 to S11 of docs/conformance.md. */
#include "recorder/agent/deep/settings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct tg_deep_settings settings;

static void take(const char *text)
{
    memset(&settings, 0xff, sizeof settings);
    tg_deep_settings_read(text, NULL, &settings);
}

static void s8_between_commas(void **state)
{
    (void)state;
    take("pass_through=true,keep_wrapper=true,tmpdir=/a,method=wrapper");
    assert_true(settings.passes_through && settings.keeps_wrapper && settings.prefers_wrapper);
    assert_string_equal(settings.directory, "/a");
    assert_string_equal(settings.warning, "");
    take(",,keep_wrapper=1,,method=audit,");
    assert_true(settings.keeps_wrapper && !settings.prefers_wrapper && !settings.passes_through);
    assert_string_equal(settings.warning, "");
    take("keep_wrapper=1,keep_wrapper=0,KEEP_WRAPPER=yes"); /* the last one counts */
    assert_true(settings.keeps_wrapper);
}

/* The document's example has no method: who wants to keep a wrapper wants one. */
static void s10_a_wrapper_that_is_kept_is_made(void **state)
{
    (void)state;
    take("keep_wrapper=true");
    assert_true(settings.keeps_wrapper && settings.prefers_wrapper);
    take("keep_wrapper=false,tmpdir=/a");
    assert_false(settings.prefers_wrapper);
    take("method=audit,keep_wrapper=true");
    assert_false(settings.prefers_wrapper);
    take(NULL);
    assert_false(settings.prefers_wrapper);
}

static void s8_the_rest_is_left_out_and_told(void **state)
{
    (void)state;
    take("keep_wrapper=true,colour=red,pass_through=maybe,nonsense,method=neither,=,tmpdir=");
    assert_true(settings.keeps_wrapper && !settings.passes_through && settings.prefers_wrapper);
    assert_string_equal(settings.directory, "/tmp");
    assert_string_equal(
        settings.warning,
        "TVHEAP_DEEPBIND: unknown setting 'colour', invalid value 'pass_through=maybe', unknown setting "
        "'nonsense', invalid value 'method=neither', unknown setting '='");
    char text[4000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    take(text);
    assert_true(strlen(settings.warning) < sizeof settings.warning);
    for (size_t i = 10; i < sizeof text - 1; i += 10)
        text[i] = ',';
    take(text);
    assert_true(strlen(settings.warning) < sizeof settings.warning);
}

/* Spellings and the defaults of both. */
static void s9_s10_booleans(void **state)
{
    (void)state;
    static const struct {
        const char *word;
        int value;
    } words[] = {
        {"true", 1}, {"TRUE", 1}, {"yes", 1}, {"on", 1}, {"1", 1},  {"false", 0},   {"No", 0},
        {"off", 0},  {"0", 0},    {"2", -1},  {"", -1},  {"t", -1}, {"truely", -1},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        for (int which = 0; which < 2; which++) {
            char text[64];
            snprintf(text, sizeof text, "%s=%s", which == 0 ? "pass_through" : "keep_wrapper", words[i].word);
            take(text);
            assert_int_equal(which == 0 ? settings.passes_through : settings.keeps_wrapper,
                             words[i].value == 1);
            assert_int_equal(settings.warning[0] != '\0', words[i].value == -1);
        }
    take(NULL);
    assert_false(settings.passes_through || settings.keeps_wrapper || settings.prefers_wrapper);
    take("");
    assert_false(settings.passes_through || settings.keeps_wrapper || settings.prefers_wrapper);
}

static void s11_directories(void **state)
{
    (void)state;
    take(NULL);
    assert_string_equal(settings.directory, "/tmp");
    tg_deep_settings_read(NULL, "/var/tmp", &settings);
    assert_string_equal(settings.directory, "/var/tmp");
    tg_deep_settings_read(NULL, "", &settings);
    assert_string_equal(settings.directory, "/tmp");
    tg_deep_settings_read("tmpdir=/here", "/var/tmp", &settings);
    assert_string_equal(settings.directory, "/here");
    take("tmpdir=/a,b, c,keep_wrapper=1"); /* a comma is part of it unless a setting follows */
    assert_string_equal(settings.directory, "/a,b, c");
    assert_true(settings.keeps_wrapper);
    take("tmpdir=/a=b,9=c,method=wrapper");
    assert_string_equal(settings.directory, "/a=b,9=c");
    char text[PATH_MAX + 40] = "tmpdir=/";
    memset(text + 8, 'd', sizeof text - 9);
    take(text);
    assert_string_equal(settings.directory, "/tmp");
    assert_true(strncmp(settings.warning, "TVHEAP_DEEPBIND: path too long '/ddd", 36) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(s8_between_commas),
        cmocka_unit_test(s10_a_wrapper_that_is_kept_is_made),
        cmocka_unit_test(s8_the_rest_is_left_out_and_told),
        cmocka_unit_test(s9_s10_booleans),
        cmocka_unit_test(s11_directories),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
