/* Every rule and example of the dlopen filtering specification's "glob-list Matching Rules". */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/settings/glob_list.h"

enum { MAX_LIBRARIES = 4, NONE = 99 };

struct decide_case {
    const char *text;
    const char *libraries[MAX_LIBRARIES];
    bool report;
    enum tg_filter_rule rule;
    size_t pattern; /* index where rule is PATTERN */
    size_t library;
};

#define BY(pattern, library) TG_RULE_PATTERN, pattern, library
#define LAST_POSITIVE        TG_RULE_DEFAULT_LAST_POSITIVE, NONE, NONE
#define LAST_NEGATED         TG_RULE_DEFAULT_LAST_NEGATED, NONE, NONE
#define ALL_EMPTY            TG_RULE_DEFAULT_ALL_EMPTY, NONE, NONE

static const struct decide_case cases[] = {
    /* report what matches, defer the rest */
    {"*/libcuda.so*:*/libmylib1*:*/libmylib2.so", {"/usr/lib/libcuda.so.1"}, true, BY(0, 0)},
    {"*/libcuda.so*:*/libmylib1*:*/libmylib2.so", {"/opt/libmylib1-7.so"}, true, BY(1, 0)},
    {"*/libcuda.so*:*/libmylib1*:*/libmylib2.so", {"/opt/libmylib2.so"}, true, BY(2, 0)},
    {"*/libcuda.so*:*/libmylib1*:*/libmylib2.so", {"/opt/libmylib2.so.3"}, false, LAST_POSITIVE},
    /* defer what matches, report the rest */
    {"!*/libboring.so*:!*/libwhocares1*:!*/libwhocares2.so", {"/lib/libboring.so.2"}, false, BY(0, 0)},
    {"!*/libboring.so*:!*/libwhocares1*:!*/libwhocares2.so", {"/lib/libwhocares2.so"}, false, BY(2, 0)},
    {"!*/libboring.so*:!*/libwhocares1*:!*/libwhocares2.so", {"/lib/libmine.so"}, true, LAST_NEGATED},
    /* medium mode's examples */
    {"*/libfoo.so:*/libbar.so", {"/home/jones/libfoo.so"}, true, BY(0, 0)},
    {"*/libfoo.so:*/libbar.so", {"/home/jones/libbar.so"}, true, BY(1, 0)},
    {"*/libfoo.so:*/libbar.so", {"/usr/lib64/libompi.so"}, false, LAST_POSITIVE},
    {"/home/jones/project/lib*", {"/home/jones/project/lib/libx.so"}, true, BY(0, 0)},
    {"/home/jones/project/lib*", {"/usr/lib/libx.so"}, false, LAST_POSITIVE},
    /* positive, then negated */
    {"*/libopen-rte.so*:!/*/mware/*", {"/opt/mware/openmpi/lib/libopen-rte.so.4"}, true, BY(0, 0)},
    {"*/libopen-rte.so*:!/*/mware/*", {"/opt/mware/openmpi/lib/openmpi/mca_gizmo.so"}, false, BY(1, 0)},
    {"*/libopen-rte.so*:!/*/mware/*", {"/home/jones/project/lib/libmine.so"}, true, LAST_NEGATED},
    /* swapped: the order matters */
    {"!/*/mware/*:*/libopen-rte.so*", {"/opt/mware/openmpi/lib/libopen-rte.so.4"}, false, BY(0, 0)},
    {"!/*/mware/*:*/libopen-rte.so*", {"/opt/mware/openmpi/lib/openmpi/mca_gizmo.so"}, false, BY(0, 0)},
    {"!/*/mware/*:*/libopen-rte.so*", {"/home/jones/project/lib/libmine.so"}, false, LAST_POSITIVE},
    /* several libraries in one event: a positive match anywhere wins over negated ones */
    {"*/a.so:!*/b.so", {"/x/b.so", "/x/a.so"}, true, BY(0, 1)},
    {"*/a.so:!*/b.so", {"/x/a.so", "/x/b.so"}, true, BY(0, 0)},
    {"!*/b.so:*/a.so", {"/x/b.so", "/x/c.so", "/x/a.so"}, true, BY(1, 2)},
    {"!*/b.so:!*/c.so", {"/x/z.so", "/x/c.so", "/x/b.so"}, false, BY(1, 1)}, /* a match: no default */
    {"!*/b.so", {"/x/c.so", "/x/d.so"}, true, LAST_NEGATED},
    {"*/a.so", {"/x/c.so", "/x/d.so"}, false, LAST_POSITIVE},
    {"*/a.so:*/b.so",
     {"/x/b.so", "/x/a.so"},
     true,
     BY(1, 0)}, /* the first library decides, not the first pattern */
    {"*/a.so", {NULL}, false, LAST_POSITIVE},
    {"!*/a.so", {NULL}, true, LAST_NEGATED},
    /* empty patterns never match, not even an empty name */
    {"", {"/x/a.so"}, false, ALL_EMPTY},
    {"", {""}, false, ALL_EMPTY},
    {":", {""}, false, ALL_EMPTY},
    {":::", {"/x/a.so"}, false, ALL_EMPTY},
    {"!", {""}, true, LAST_NEGATED},
    {"!", {"/x/a.so"}, true, LAST_NEGATED},
    {"!:::", {"/x/a.so"}, true, LAST_NEGATED}, /* positive empty ones do not count as last */
    {"*/a.so:::", {"/x/b.so"}, false, LAST_POSITIVE},
    {"!*/a.so::", {"/x/b.so"}, true, LAST_NEGATED},
    {"*/a.so:!", {"/x/b.so"}, true, LAST_NEGATED}, /* the trailing negated empty pattern turns the default */
    {"*/a.so:!", {"/x/a.so"}, true, BY(0, 0)},
    {"!*/a.so:!", {"/x/a.so"}, false, BY(0, 0)},
    {"!:*/a.so", {"/x/b.so"}, false, LAST_POSITIVE},
    {"::*/a.so", {"/x/a.so"}, true, BY(2, 0)},
    /* spaces belong to the pattern */
    {"*/a.so :*/b.so", {"/x/a.so"}, false, LAST_POSITIVE},
    {"*/a.so :*/b.so", {"/x/a.so "}, true, BY(0, 0)},
    {" !*/a.so", {"/x/a.so"}, false, LAST_POSITIVE}, /* not negated: the '!' is not in front */
    {" !*/a.so", {" !/x/a.so"}, true, BY(0, 0)},
    {" ", {"/x/a.so"}, false, LAST_POSITIVE}, /* and one space is no empty pattern */
    /* only one '!' is taken off */
    {"!!x", {"!x"}, false, BY(0, 0)},
    {"!!x", {"x"}, true, LAST_NEGATED},
    {"\\!x", {"!x"}, true, BY(0, 0)},
    /* Tcl's rules, not the shell's */
    {"[!a]x", {"!x"}, true, BY(0, 0)},
    {"/lib*", {"/lib64/a/b.so"}, true, BY(0, 0)},
};

static struct tg_glob_list *make_list(const char *text)
{
    struct tg_glob_list *list = NULL;
    struct tg_error *error = tg_glob_list_create(text, &list);
    if (error != NULL)
        fail_msg("\"%s\": %s", text, tg_error_message(error));
    return list;
}

static void every_rule_of_the_specification_holds(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct decide_case *c = &cases[i];
        size_t count = 0;
        while (count < MAX_LIBRARIES && c->libraries[count] != NULL)
            count++;
        struct tg_glob_list *list = make_list(c->text);
        struct tg_glob_verdict verdict = tg_glob_list_decide(list, c->libraries, count);
        if (verdict.report != c->report || verdict.rule != c->rule)
            fail_msg("case %zu, \"%s\" on %s: report %d by rule %d", i, c->text, c->libraries[0],
                     verdict.report, (int)verdict.rule);
        if (c->rule == TG_RULE_PATTERN) {
            assert_int_equal(verdict.pattern, c->pattern);
            assert_int_equal(verdict.library, c->library);
        }
        tg_glob_list_destroy(list);
    }
}

static void a_library_fares_by_the_first_pattern_that_matches(void **state)
{
    (void)state;
    struct tg_glob_list *list = make_list("*/x*:!*/xa*:*/xab*:!*/b*");
    struct tg_glob_match match = tg_glob_list_match(list, "/lib/xab.so");
    assert_true(match.matched);
    assert_false(match.negated);
    assert_int_equal(match.pattern, 0);
    match = tg_glob_list_match(list, "/lib/b.so");
    assert_true(match.matched);
    assert_true(match.negated);
    assert_int_equal(match.pattern, 3);
    assert_false(tg_glob_list_match(list, "/lib/c.so").matched);
    tg_glob_list_destroy(list);
}

static void patterns_are_kept_as_written(void **state)
{
    (void)state;
    struct tg_glob_list *list = make_list("a: !b :!:!!c:");
    assert_string_equal(tg_glob_list_text(list), "a: !b :!:!!c:");
    assert_int_equal(tg_glob_list_count(list), 5);
    assert_string_equal(tg_glob_list_pattern(list, 0), "a");
    assert_string_equal(tg_glob_list_pattern(list, 1), " !b ");
    assert_string_equal(tg_glob_list_pattern(list, 2), "!");
    assert_string_equal(tg_glob_list_pattern(list, 3), "!!c");
    assert_string_equal(tg_glob_list_pattern(list, 4), "");
    assert_false(tg_glob_list_is_empty_text(list));
    tg_glob_list_destroy(list);

    list = make_list("");
    assert_true(tg_glob_list_is_empty_text(list));
    assert_int_equal(tg_glob_list_count(list), 0);
    tg_glob_list_destroy(list);

    list = make_list(":"); /* two empty patterns are not an empty text */
    assert_false(tg_glob_list_is_empty_text(list));
    assert_int_equal(tg_glob_list_count(list), 2);
    tg_glob_list_destroy(list);
    tg_glob_list_destroy(NULL);
}

static void considering_one_by_one_is_deciding(void **state)
{
    (void)state;
    struct tg_glob_list *list = make_list("!*/b:*/a");
    struct tg_glob_verdict verdict = tg_glob_list_default(list);
    assert_true(tg_glob_list_consider(list, "/c", 0, &verdict));
    assert_int_equal(verdict.rule, TG_RULE_DEFAULT_LAST_POSITIVE);
    assert_true(tg_glob_list_consider(list, "/b", 1, &verdict));
    assert_int_equal(verdict.rule, TG_RULE_PATTERN);
    assert_false(verdict.report);
    assert_true(tg_glob_list_consider(list, "/b", 2, &verdict));
    assert_int_equal(verdict.library, 1);
    assert_false(tg_glob_list_consider(list, "/a", 3, &verdict));
    assert_true(verdict.report);
    assert_false(tg_glob_list_consider(list, "/a", 4, &verdict));
    assert_int_equal(verdict.library, 3);
    tg_glob_list_destroy(list);
}

static void beyond_the_limits_is_an_error(void **state)
{
    (void)state;
    char *text = malloc(TG_GLOB_LIST_MAX_BYTES + 2);
    assert_non_null(text);
    memset(text, ':', TG_GLOB_LIST_MAX_BYTES);
    text[TG_GLOB_LIST_MAX_BYTES] = '\0';
    struct tg_glob_list *list = make_list(text);
    assert_int_equal(tg_glob_list_count(list), TG_GLOB_LIST_MAX_BYTES + 1);
    tg_glob_list_destroy(list);

    memset(text, 'a', TG_GLOB_LIST_MAX_BYTES + 1);
    text[TG_GLOB_LIST_MAX_BYTES + 1] = '\0';
    list = NULL;
    struct tg_error *error = tg_glob_list_create(text, &list);
    assert_non_null(error);
    assert_int_equal(tg_error_code(error), TG_ERROR_LIMIT);
    assert_null(list);
    tg_error_destroy(error);

    char *end = stpcpy(text, "*/fine:[a-]");
    for (unsigned i = 0; i < 300; i++)
        end = stpcpy(end, "x*");
    error = tg_glob_list_create(text, &list);
    assert_non_null(error);
    assert_int_equal(tg_error_code(error), TG_ERROR_LIMIT);
    assert_non_null(strstr(tg_error_message(error), "pattern 2 "));
    assert_null(list);
    tg_error_destroy(error);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rule_of_the_specification_holds),
        cmocka_unit_test(a_library_fares_by_the_first_pattern_that_matches),
        cmocka_unit_test(patterns_are_kept_as_written),
        cmocka_unit_test(considering_one_by_one_is_deciding),
        cmocka_unit_test(beyond_the_limits_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
