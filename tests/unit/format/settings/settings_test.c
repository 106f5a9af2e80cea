#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <tcl.h>

#include "format/settings/settings.h"

#define ALWAYS "TV::dlopen_always_recalculate"
#define MATCH  "TV::dlopen_recalculate_on_match"

enum { UNSET = -1 };

static struct tg_settings parse_bytes(const char *text, size_t size)
{
    struct tg_settings settings = {0};
    struct tg_error *error = tg_settings_parse("rc", text, size, &settings);
    if (error != NULL)
        fail_msg("\"%s\": %s", text, tg_error_message(error));
    return settings;
}

static const struct {
    const char *text;
    int always;
    const char *match;
    const char *notes; /* joined by newlines, without "rc:" */
} good[] = {
    {"", UNSET, NULL, ""},
    /* the specification's own examples */
    {"dset " ALWAYS " false\ndset " MATCH " \"\"\n", false, "", ""},
    {"dset " ALWAYS " true", true, NULL, ""},
    {"dset " ALWAYS " false\ndset " MATCH " {*/libfoo.so:*/libbar.so}\n", false, "*/libfoo.so:*/libbar.so",
     ""},
    {"dset " MATCH " {!/*/mware/*:*/libopen-rte.so*}", UNSET, "!/*/mware/*:*/libopen-rte.so*", ""},
    /* forms of words */
    {"dset " MATCH " */a.so", UNSET, "*/a.so", ""},
    {"dset " MATCH " \"*/a b.so\"", UNSET, "*/a b.so", ""},
    {"dset " MATCH " {*/a[0-9] .so:$x}", UNSET, "*/a[0-9] .so:$x", ""},
    {"dset " MATCH " */a\\[0-9\\].so", UNSET, "*/a[0-9].so", ""},
    {"dset " MATCH " {a\\[b\\]}", UNSET, "a\\[b\\]", ""},
    {"dset \\\n  " MATCH " \\\n {}", UNSET, "", ""},
    {"dset " MATCH " {*}", UNSET, "*", ""},
    {"dset " MATCH " \xff\xc3\xa4", UNSET, "\xff\xc3\xa4", ""},
    {"dset {" MATCH "} a; \"dset\" ::" ALWAYS " on;", true, "a", ""},
    {"::dset " MATCH " a", UNSET, "a", ""},
    {"dset -set_as_default " ALWAYS " no\ndset -set_as_default " MATCH " x", false, "x", ""},
    {"dset " MATCH " a\ndset " MATCH " b", UNSET, "b", ""}, /* the last one wins */
    /* comments and line ends */
    {"# dset " MATCH " a\n  #\\\ndset " MATCH " b\ndset " MATCH " c ;# d", UNSET, "c", ""},
    {"dset " MATCH " a\r\ndset " ALWAYS " true\r\n", true, "a", ""},
    {"dset " MATCH " a\rdset " ALWAYS " true\r", true, "a", ""},
    {"dset " MATCH " a\\\r\n  \r\n", UNSET, "a", ""},
    {"\xef\xbb\xbf"
     "dset " MATCH " a",
     UNSET, "a", ""},
    {"dset " MATCH " a\n\x1a", UNSET, "a", ""},
    {"dset " MATCH " a\n\x1a{", UNSET, "a", " skipped: text after Control-Z, which ends a script"},
    /* names without TV::, and with it */
    {"dset dlopen_always_recalculate false\ndset dlopen_recalculate_on_match {*/a}", false, "*/a", ""},
    {"dset ::dlopen_recalculate_on_match a", UNSET, "a", ""},
    {"dset dlopen_recalculate_on_match a\ndset " MATCH " b", UNSET, "b", ""},
    {"dset dlopen_recalculate_on_matches a", UNSET, NULL,
     "1: skipped: not a variable of tollgate (dset dlopen_recalculate_on_matches a)"},
    {"dset barrier_stop_all group", UNSET, NULL,
     "1: skipped: not a variable of tollgate (dset barrier_stop_all group)"},
    /* skipped settings: one note a command */
    {"set x 1\ndset " ALWAYS " 1", true, NULL, "1: skipped: only dset is supported (set x 1)"},
    {"if {$x} {\n  dset " MATCH " a\n} else {\n dset " MATCH " b\n}\ndset " MATCH " c", UNSET, "c",
     "1: skipped: only dset is supported (if {$x} {...)"},
    {"dset TV::other {a b}", UNSET, NULL, "1: skipped: not a variable of tollgate (dset TV::other {a b})"},
    {"dset " ALWAYS "s true", UNSET, NULL, "1: skipped: not a variable of tollgate (dset " ALWAYS "s true)"},
    {"dset " MATCH, UNSET, NULL, "1: skipped: dset without a value (dset " MATCH ")"},
    {"dset", UNSET, NULL, "1: skipped: dset without a variable (dset)"},
    {"dset -set_as_default", UNSET, NULL, "1: skipped: dset without a variable (dset -set_as_default)"},
    {"dset -all", UNSET, NULL, "1: skipped: unknown option of dset (dset -all)"},
    {"dset " MATCH " $x", UNSET, NULL,
     "1: skipped: $, [...] and {*} are not evaluated: write the value itself (dset " MATCH " $x)"},
    {"dset " MATCH " a[b]", UNSET, NULL,
     "1: skipped: $, [...] and {*} are not evaluated: write the value itself (dset " MATCH " a[b])"},
    {"dset " MATCH " {*}{a}", UNSET, NULL,
     "1: skipped: $, [...] and {*} are not evaluated: write the value itself (dset " MATCH " {*}{a})"},
    {"dset TV::$x 1", UNSET, NULL,
     "1: skipped: $, [...] and {*} are not evaluated: variable unknown (dset TV::$x 1)"},
    {"\n[dset] a b c", UNSET, NULL, "2: skipped: only dset is supported ([dset] a b c)"},
    {"aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff", UNSET, NULL,
     "1: skipped: only dset is supported (aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff)"},
    {"aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffg", UNSET, NULL,
     "1: skipped: only dset is supported (aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff...)"},
};

static void settings_are_read_and_the_rest_is_noted(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct tg_settings settings = parse_bytes(good[i].text, strlen(good[i].text));
        assert_int_equal(settings.has_always_recalculate, good[i].always != UNSET);
        if (good[i].always != UNSET)
            assert_int_equal(settings.always_recalculate, good[i].always);
        if (good[i].match == NULL)
            assert_null(settings.match);
        else
            assert_string_equal(settings.match, good[i].match);
        const char *expected = good[i].notes;
        for (size_t n = 0; n < settings.n_notes; n++) {
            size_t length = strcspn(expected, "\n");
            assert_int_equal(strlen(settings.notes[n]), length + 3);
            assert_memory_equal(settings.notes[n], "rc:", 3);
            assert_memory_equal(settings.notes[n] + 3, expected, length);
            expected += length + (expected[length] == '\n');
        }
        assert_string_equal(expected, "");
        tg_settings_deinit(&settings);
    }
}

static const struct {
    const char *text;
    const char *says;
} bad[] = {
    {"\ndset " ALWAYS " maybe", "rc:2: " ALWAYS ": expected true or false, not 'maybe'"},
    {"dset BARRIER_STOP_ALL all", "rc:1: BARRIER_STOP_ALL: expected group, process or none, not 'all'"},
    {"dset " ALWAYS " {}", "rc:1: " ALWAYS ": expected true or false, not ''"},
    {"dset " ALWAYS " o", "not 'o'"},
    {"dset " ALWAYS " trues", "not 'trues'"},
    {"dset " ALWAYS " -1", "not '-1'"},
    {"dset " MATCH " */a.so */b.so",
     "rc:1: " MATCH ": expected one value; put {braces} around a value with blanks"},
    {"dset " MATCH " \\0", "rc:1: " MATCH ": the value contains a NUL byte"},
    {"a\n\ndset " MATCH " {*/a\nb\n", "rc:3: missing close-brace for this brace"},
    {"dset " MATCH " \"a\n", "rc:1: missing closing quote for this quote"},
    {"proc p {} {\n  if {1} {\n}\n", "rc:1: missing close-brace for this brace"},
    {"dset " MATCH " {a}b", "rc:1: extra characters after the closing brace"},
    {"proc p {} {\n  q \"}\"\n}\n",
     "rc:2: extra characters after the closing brace"}, /* quotes mean nothing there */
    {"set a [b\n", "rc:1: missing `]` for this `[`"},
    {"\xff\xfe"
     "d\0s",
     "rc:1: text in UTF-16"},
};

static void errors_name_file_and_line_and_change_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct tg_settings settings = parse_bytes("x\ndset " MATCH " kept", strlen("x\ndset " MATCH " kept"));
        struct tg_error *error = tg_settings_parse("rc", bad[i].text, strlen(bad[i].text), &settings);
        if (error == NULL)
            fail_msg("\"%s\" was taken", bad[i].text);
        assert_int_equal(tg_error_code(error), TG_ERROR_INPUT);
        if (strstr(tg_error_message(error), bad[i].says) == NULL)
            fail_msg("'%s' lacks '%s'", tg_error_message(error), bad[i].says);
        tg_error_destroy(error);
        assert_string_equal(settings.match, "kept");
        assert_false(settings.has_always_recalculate);
        assert_int_equal(settings.n_notes, 1);
        tg_settings_deinit(&settings);
    }
}

/* Every word of up to five letters of the boolean words, in both cases, and the plain numbers: as libtcl
 * says. */
static void booleans_are_those_of_libtcl(void **state)
{
    (void)state;
    static const char *const stems[] = {"true",  "false", "yes",  "no",    "on", "off", "yep", "offs",
                                        "truth", "t f",   "0",    "1",     "00", "01",  "2",   "10",
                                        "99999", "",      "TrUe", "FaLsE", "O",  "oN",  "nO"};
    for (size_t i = 0; i < sizeof stems / sizeof *stems; i++) {
        for (size_t length = 0; length <= strlen(stems[i]); length++) {
            char text[128];
            snprintf(text, sizeof text, "dset " ALWAYS " {%.*s}", (int)length, stems[i]);
            char word[16] = "";
            memcpy(word, stems[i], length);
            int expected = 0;
            bool accepted = Tcl_GetBoolean(NULL, word, &expected) == TCL_OK;
            struct tg_settings settings = {0};
            struct tg_error *error = tg_settings_parse("rc", text, strlen(text), &settings);
            if ((error == NULL) != accepted || (accepted && settings.always_recalculate != (expected != 0)))
                fail_msg("'%s'", word);
            tg_error_destroy(error);
            tg_settings_deinit(&settings);
        }
    }
}

static void nul_bytes_do_no_harm(void **state)
{
    (void)state;
    static const char skipped[] = "s\0t x\ndset TV::\0 1\ndset " MATCH " a";
    struct tg_settings settings = parse_bytes(skipped, sizeof skipped - 1);
    assert_string_equal(settings.match, "a");
    assert_int_equal(settings.n_notes, 2);
    assert_string_equal(settings.notes[0], "rc:1: skipped: only dset is supported (s t x)");
    tg_settings_deinit(&settings);

    static const char longer_name[] = "dset " MATCH "\0x a";
    settings = parse_bytes(longer_name, sizeof longer_name - 1);
    assert_null(settings.match);
    tg_settings_deinit(&settings);

    static const char value[] = "dset " MATCH " {a\0b}";
    struct tg_error *error = tg_settings_parse("rc", value, sizeof value - 1, &settings);
    assert_non_null(error);
    assert_int_equal(tg_error_code(error), TG_ERROR_INPUT);
    tg_error_destroy(error);
}

/* The variables of the live console are kept for it, each once, with the place that set it last. */
static void variables_of_the_console_are_kept(void **state)
{
    (void)state;
    static const char text[] = "dset BARRIER_STOP_ALL process\ndset MAX_LIST 40\n"
                               "dset TV::barrier_stop_when_done group\ndset ::TV::BARRIER_STOP_ALL none\n";
    static const char *const expected[][3] = {{"BARRIER_STOP_ALL", "none", "rc:4"},
                                              {"MAX_LIST", "40", "rc:2"},
                                              {"BARRIER_STOP_WHEN_DONE", "group", "rc:3"}};
    struct tg_settings settings = parse_bytes(text, strlen(text));
    assert_null(tg_settings_parse("later", "dset " ALWAYS " false", strlen("dset " ALWAYS " false"),
                                  &settings)); /* on top of them */
    assert_string_equal(settings.filter_where, "later:1");
    assert_int_equal(settings.n_notes, 0);
    assert_int_equal(settings.n_console, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(settings.console[i].name, expected[i][0]);
        assert_string_equal(settings.console[i].value, expected[i][1]);
        assert_string_equal(settings.console[i].where, expected[i][2]);
    }
    tg_settings_deinit(&settings);
}

static void limits_hold(void **state)
{
    (void)state;
    char *text = malloc(TG_SETTINGS_MAX_BYTES + 1);
    assert_non_null(text);
    memset(text, '\n', TG_SETTINGS_MAX_BYTES + 1);
    struct tg_settings settings = {0};
    struct tg_error *error = tg_settings_parse("rc", text, TG_SETTINGS_MAX_BYTES + 1, &settings);
    assert_non_null(error);
    assert_int_equal(tg_error_code(error), TG_ERROR_LIMIT);
    tg_error_destroy(error);

    for (size_t i = 0; i + 2 <= TG_SETTINGS_MAX_BYTES; i += 2)
        memcpy(text + i, "a\n", 2);
    settings = parse_bytes(text, TG_SETTINGS_MAX_BYTES);
    assert_int_equal(settings.n_notes, TG_SETTINGS_MAX_NOTES);
    assert_string_equal(settings.notes[TG_SETTINGS_MAX_NOTES - 1], "rc: skipped: 504289 more commands");
    /* another file on top adds nothing, and does no harm */
    assert_null(tg_settings_parse("rc", text, 4, &settings));
    assert_int_equal(settings.n_notes, TG_SETTINGS_MAX_NOTES);
    tg_settings_deinit(&settings);
    free(text);
}

static void formatted_settings_read_back(void **state)
{
    (void)state;
    static const struct {
        const char *match, *line;
    } cases[] = {
        {"", "dset " MATCH " \"\"\n"},
        {"*/libfoo.so:*/libbar.so", "dset " MATCH " {*/libfoo.so:*/libbar.so}\n"},
        {"*", "dset " MATCH " {*}\n"},
        {"a b ", "dset " MATCH " {a b }\n"},
        {"[a]$x{b}", "dset " MATCH " {[a]$x{b}}\n"},
        {"\\[a\\]", "dset " MATCH " {\\[a\\]}\n"},
        {"a\\", "dset " MATCH " \"a\\\\\"\n"},
        {"a}", "dset " MATCH " \"a\\}\"\n"},
        {"}{", "dset " MATCH " \"\\}\\{\"\n"},
        {"{\\}", "dset " MATCH " \"\\{\\\\\\}\"\n"},
        {"a\\\nb\r\x1a"
         "1\"$[",
         "dset " MATCH " \"a\\\\\\012b\\015\\0321\\\"\\$\\[\"\n"},
        {"\xff\xc3\xa4 \xe2", "dset " MATCH " {\xff\xc3\xa4 \xe2}\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = tg_settings_format(i % 2 == 0, cases[i].match);
        assert_non_null(text);
        assert_non_null(strstr(text, i % 2 == 0 ? "dset " ALWAYS " true\n" : "dset " ALWAYS " false\n"));
        assert_string_equal(strchr(text, '\n') + 1, cases[i].line);
        struct tg_settings settings = parse_bytes(text, strlen(text));
        assert_int_equal(settings.always_recalculate, i % 2 == 0);
        assert_string_equal(settings.match, cases[i].match);
        assert_int_equal(settings.n_notes, 0);
        tg_settings_deinit(&settings);
        free(text);
    }
}

static void files_are_read(void **state)
{
    (void)state;
    char folder[] = "/tmp/tg-settings-XXXXXX";
    assert_non_null(mkdtemp(folder));
    char path[64];
    snprintf(path, sizeof path, "%s/rc", folder);
    struct tg_settings settings = {0};
    struct tg_error *error = tg_settings_read(path, &settings);
    assert_non_null(error);
    assert_int_equal(tg_error_code(error), TG_ERROR_NOT_FOUND);
    assert_non_null(strstr(tg_error_message(error), path));
    tg_error_destroy(error);

    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("dset " MATCH " a\nfoo\n", file);
    assert_int_equal(fclose(file), 0);
    assert_null(tg_settings_read(path, &settings));
    assert_string_equal(settings.match, "a");
    assert_int_equal(settings.n_notes, 1);
    assert_memory_equal(settings.notes[0], path, strlen(path));
    assert_memory_equal(settings.notes[0] + strlen(path), ":2: ", 4);

    error = tg_settings_read(folder, &settings);
    assert_non_null(error);
    assert_int_equal(tg_error_code(error), TG_ERROR_OS);
    tg_error_destroy(error);

    error = tg_settings_read("/dev/zero", &settings);
    assert_non_null(error);
    assert_int_equal(tg_error_code(error), TG_ERROR_LIMIT);
    tg_error_destroy(error);
    tg_settings_deinit(&settings);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_are_read_and_the_rest_is_noted),
        cmocka_unit_test(errors_name_file_and_line_and_change_nothing),
        cmocka_unit_test(booleans_are_those_of_libtcl),
        cmocka_unit_test(nul_bytes_do_no_harm),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(variables_of_the_console_are_kept),
        cmocka_unit_test(formatted_settings_read_back),
        cmocka_unit_test(files_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
