#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/filter/verdict_cache.h"

#include <string.h>

static const char *const paths[] = {"/a/liba.so", "/b/libb.so", "/c/libc.so", "", "/a/boring/libd.so"};
enum { PATHS = sizeof paths / sizeof *paths };

/* Whatever the order of asking, cached verdicts are those of the glob-list itself. */
static void verdicts_are_those_of_the_list(void **state)
{
    (void)state;
    static const char *const lists[] = {
        "*a*", "!*boring*:*a*", "*a*:!*boring*", ":::", "!", "*/libb*:", "!/b/*", "", "[a:*", "!*liba*:!"};
    struct tg_library_catalog *catalog = NULL;
    assert_null(tg_library_catalog_create(&catalog));
    struct tg_catalog_library *libraries[PATHS];
    for (size_t i = 0; i < PATHS; i++)
        assert_null(tg_library_catalog_intern(catalog, paths[i], &libraries[i]));
    for (size_t l = 0; l < sizeof lists / sizeof *lists; l++) {
        struct tg_glob_list *list = NULL;
        assert_null(tg_glob_list_create(lists[l], &list));
        struct tg_verdict_cache cache = {.list = list};
        for (unsigned subset = 0; subset < 2 << PATHS; subset++) {
            struct tg_catalog_library *some[PATHS];
            const char *names[PATHS];
            size_t count = 0;
            for (size_t i = 0; i < PATHS; i++) {
                size_t place = subset >> PATHS ? PATHS - 1 - i : i;
                if (subset >> place & 1) {
                    some[count] = libraries[place];
                    names[count++] = paths[place];
                }
            }
            struct tg_glob_verdict cached, direct = tg_glob_list_decide(list, names, count);
            assert_null(tg_verdict_cache_decide(&cache, some, count, &cached));
            assert_int_equal(cached.report, direct.report);
            assert_int_equal(cached.rule, direct.rule);
            assert_int_equal(cached.pattern, direct.pattern);
            assert_int_equal(cached.library, direct.library);
        }
        tg_verdict_cache_deinit(&cache);
        tg_glob_list_destroy(list);
    }
    tg_library_catalog_destroy(catalog);
}

static void the_catalog_keeps_each_path_once(void **state)
{
    (void)state;
    struct tg_library_catalog *catalog = NULL;
    assert_null(tg_library_catalog_create(&catalog));
    char name[32] = "/x/libcuda.so.1";
    struct tg_catalog_library *first = NULL, *again = NULL, *other = NULL;
    assert_null(tg_library_catalog_intern(catalog, name, &first));
    assert_true(first->cuda);
    strcpy(name, "/x/libfoo.so"); /* the same pointer with another text, as readers hand out */
    assert_null(tg_library_catalog_intern(catalog, name, &other));
    assert_ptr_not_equal(first, other);
    assert_false(other->cuda);
    assert_null(tg_library_catalog_intern(catalog, "/x/libcuda.so.1", &again));
    assert_ptr_equal(first, again);
    assert_int_equal(tg_library_catalog_count(catalog), 2);
    assert_ptr_equal(tg_library_catalog_at(catalog, 1), other);
    assert_null(tg_catalog_library_add_goal(first, 5, true));
    assert_null(tg_catalog_library_add_goal(first, 2, true));
    assert_null(tg_catalog_library_add_goal(first, 5, true));
    assert_int_equal(first->n_goals, 2);
    assert_int_equal(first->goals[0].goal, 2);
    assert_int_equal(first->goals[1].goal, 5);
    tg_library_catalog_destroy(catalog);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdicts_are_those_of_the_list),
        cmocka_unit_test(the_catalog_keeps_each_path_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
