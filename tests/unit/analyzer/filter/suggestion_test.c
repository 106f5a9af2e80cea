#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/filter/suggestion.h"
#include "format/base/tcl_match.h"
#include "tests/unit/analyzer/filter/events.h"

#include <stdio.h>
#include <stdlib.h>

/* A survey of one process that dlopens LIBRARIES one by one, with a breakpoint in each of WANTED. */
static void survey_job(struct tg_filter_survey *survey, const char *const *libraries,
                       const char *const *wanted)
{
    struct script *script = calloc(1, sizeof *script);
    script_break(script, 1, "function");
    for (size_t i = 0; libraries[i] != NULL; i++)
        script_load(script, 1000 * (i + 1), 10, libraries[i]);
    for (size_t i = 0; wanted[i] != NULL; i++)
        script_plant(script, 1000000, 10, 1, 0x100, wanted[i]);
    assert_null(tg_filter_survey_init(survey));
    for (size_t i = 0; i < script->count; i++)
        assert_null(tg_filter_survey_add(survey, &script->events[i]));
    assert_null(tg_filter_survey_finish(survey, NULL, NULL));
    free(script);
}

static void expect_lists(const char *const *libraries, const char *const *wanted, const char *const *expected)
{
    struct tg_filter_survey survey;
    struct tg_suggestion_lists lists = {0};
    survey_job(&survey, libraries, wanted);
    assert_null(tg_suggestion_propose(&survey, &lists));
    size_t count = 0;
    for (; expected[count] != NULL; count++) {
        assert_true(count < lists.count);
        assert_string_equal(lists.lists[count], expected[count]);
    }
    assert_int_equal(lists.count, count);
    tg_suggestion_lists_deinit(&lists);
    tg_filter_survey_deinit(&survey);
}

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NONE      ((const char *const[]){NULL})

static void one_library_is_named_whatever_its_version_and_place(void **state)
{
    (void)state;
    expect_lists(LIST("/opt/app/libsolver.so.3.1", "/usr/lib/libm.so.6"), LIST("/opt/app/libsolver.so.3.1"),
                 LIST("*/libsolver.so*"));
    expect_lists(LIST("/opt/app/plugin", "/usr/lib/libm.so.6"), LIST("/opt/app/plugin"), LIST("*/plugin*"));
}

static void a_name_that_others_share_is_given_whole(void **state)
{
    (void)state;
    expect_lists(LIST("/opt/a/libx.so", "/opt/b/libx.so"), LIST("/opt/a/libx.so"), LIST("/opt/a/libx.so"));
    expect_lists(LIST("memfd:jit", "/opt/b/libx.so"), LIST("memfd:jit"), LIST("memfd?jit"));
}

static void several_share_a_pattern_that_matches_no_other(void **state)
{
    (void)state;
    expect_lists(LIST("/o/lib/libmine_a.so", "/o/lib/libmine_b.so", "/o/lib/libother.so"),
                 LIST("/o/lib/libmine_a.so", "/o/lib/libmine_b.so"),
                 LIST("*/libmine_a.so*:*/libmine_b.so*", "*/libmine_*", "!*/libother.so*"));
    expect_lists(LIST("/mine/liba.so", "/mine/libb.so", "/usr/lib/libc.so", "/usr/lib/libd.so"),
                 LIST("/mine/liba.so", "/mine/libb.so"),
                 LIST("*/liba.so*:*/libb.so*", "/mine/*", "!/usr/lib/*"));
}

static void special_characters_are_escaped(void **state)
{
    (void)state;
    static const char *const names[] = {"/a/lib*[x]?\\y.so", "!weird", "plain", "/p/ü ü.so", "[", "\\"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *pattern = tg_suggestion_escape(names[i]);
        assert_true(tg_tcl_match(pattern, names[i]));
        assert_true(pattern[0] != '!');
        for (size_t j = 0; j < sizeof names / sizeof *names; j++)
            assert_int_equal(tg_tcl_match(pattern, names[j]), i == j);
        free(pattern);
    }
    char *pattern = tg_suggestion_escape("/a:b/libx.so");
    assert_string_equal(pattern, "/a?b/libx.so");
    free(pattern);
    expect_lists(LIST("/o/lib[1].so", "/o/liba.so"), LIST("/o/lib[1].so"), LIST("*/lib\\[1\\].so*"));
}

static void a_cuda_driver_is_always_reported(void **state)
{
    (void)state;
    expect_lists(LIST("/usr/lib/libcuda.so.1", "/o/liba.so"), NONE, LIST("*/libcuda.so*"));
    expect_lists(LIST("/usr/lib/libcuda.so.1", "/o/liba.so"), LIST("/o/liba.so"),
                 LIST("*/liba.so*:*/libcuda.so*"));
}

static void nothing_wanted_needs_no_list(void **state)
{
    (void)state;
    expect_lists(LIST("/o/liba.so"), NONE, NONE);
    expect_lists(LIST("/o/liba.so"), LIST("/bin/program"), NONE); /* in no dlopened library */
}

static struct tg_filter_outcome outcome_of(uint64_t cost_ns, uint64_t late)
{
    return (struct tg_filter_outcome){.cost.ns = cost_ns, .planting.late = late};
}

static void the_cheapest_that_plants_in_time_wins(void **state)
{
    (void)state;
    struct tg_filter_outcome slow = outcome_of(1000, 0), fast = outcome_of(10, 1), cheap = outcome_of(500, 0),
                             dear = outcome_of(700, 0), same = outcome_of(503, 0), cuda = outcome_of(20, 0),
                             never = outcome_of(20, 0);
    cuda.defers_cuda = true;
    never.planting.never = 1;
    struct tg_suggestion_trial trials[] = {
        {TG_FILTER_SLOW, "", &slow},         {TG_FILTER_FAST, "", &fast},
        {TG_FILTER_MEDIUM, "a:b:c", &cheap}, {TG_FILTER_MEDIUM, "d", &dear},
        {TG_FILTER_MEDIUM, "e:f", &same},    {TG_FILTER_MEDIUM, "g", &cuda},
        {TG_FILTER_MEDIUM, "h", &never},
    };
    assert_int_equal(tg_suggestion_choose(trials, 7, 0), 4); /* within 1% of the cheapest, and shorter */
    same.round_trips = 1;
    assert_int_equal(tg_suggestion_choose(trials, 7, 0),
                     2); /* a round trip more weighs more than a short list */
    assert_int_equal(tg_suggestion_choose(trials, 4, 0), 2);
    assert_int_equal(tg_suggestion_choose(trials, 2, 0), 0); /* only Slow is left */
    fast.planting.late = 0;
    assert_int_equal(tg_suggestion_choose(trials, 7, 0), 1);
}

/* Text to be pasted gives a shell the very text. */
static void the_command_line_survives_a_shell(void **state)
{
    (void)state;
    static const char *const lists[] = {
        "*/liba.so*:!/b c/*", "a'b", "$HOME`x`\"!", "\\[x]", "tab\there\nline", "\xc3\xbc\xff", ""};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        char *line = tg_suggestion_command_line(TG_FILTER_MEDIUM, lists[i]);
        const char *word = strstr(line, "on_match ") + strlen("on_match ");
        for (const unsigned char *p = (const unsigned char *)line; *p != '\0'; p++)
            assert_true(*p >= ' ' && *p < 0x7f);
        char read_back[200];
        char *script = NULL;
        assert_true(asprintf(&script, "printf '%%s' %s", word) > 0);
        assert_int_equal(setenv("SCRIPT", script, 1), 0);
        FILE *shell = popen("bash -c \"$SCRIPT\"", "r");
        assert_non_null(shell);
        size_t size = fread(read_back, 1, sizeof read_back - 1, shell);
        read_back[size] = '\0';
        assert_int_equal(pclose(shell), 0);
        assert_string_equal(read_back, lists[i]);
        free(script);
        free(line);
    }
    char *slow = tg_suggestion_command_line(TG_FILTER_SLOW, "");
    assert_string_equal(slow, "-dlopen_always_recalculate");
    free(slow);
    char *fast = tg_suggestion_command_line(TG_FILTER_FAST, "");
    assert_string_equal(fast, "-no_dlopen_always_recalculate -dlopen_recalculate_on_match \"\"");
    free(fast);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_library_is_named_whatever_its_version_and_place),
        cmocka_unit_test(a_name_that_others_share_is_given_whole),
        cmocka_unit_test(several_share_a_pattern_that_matches_no_other),
        cmocka_unit_test(special_characters_are_escaped),
        cmocka_unit_test(a_cuda_driver_is_always_reported),
        cmocka_unit_test(nothing_wanted_needs_no_list),
        cmocka_unit_test(the_cheapest_that_plants_in_time_wins),
        cmocka_unit_test(the_command_line_survives_a_shell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
