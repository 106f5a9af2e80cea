#include "live/commands/control/point_location.h"

#include "tests/support/trace_fixture.h"

#include <stdlib.h>
#include <string.h>

/* A job with function work and line 7 of a file "header", both in a file of their own. */
static char *file_of(void *context, const char *spec)
{
    (void)context;
    bool is_known = strcmp(spec, "work") == 0 || strcmp(spec, "libx`work") == 0;
    return is_known ? strdup("/src/a.c") : strcmp(spec, "header:7") == 0 ? strdup("/include/header") : NULL;
}

static const struct tg_location_code code = {file_of, NULL};

/* SPEC NULL: it is refused with an error that says FUNCTION. */
static const struct {
    const char *text, *spec, *function;
} cases[] = {
    {"12", "/src/here.c:12", NULL},
    {"#12", "/src/here.c:12", NULL},
    {"a.c#12", "a.c:12", NULL},
    {"#a.c#12", "a.c:12", NULL},
    {"a.c#work#12", "a.c:12", "work"},
    {"#a.c#work#12", "a.c:12", "work"},
    {"##work#12", "/src/a.c:12", "work"},
    {"work#12", "/src/a.c:12", "work"},
    {"header#7", "header:7", NULL},
    {"nothing#7", "nothing:7", NULL},
    {"##libx#a.c#12", "libx`a.c:12", NULL},
    {"##libx#a.c#work#12", "libx`a.c:12", "work"},
    {"##libx##work#12", "libx`/src/a.c:12", "work"},
    {"##libx##work", "libx`work", NULL},
    {"##work", "work", NULL},
    {"#work", "work", NULL},
    {"a.c#work", "work", NULL},
    {"work", "work", NULL},
    {"libx`work", "libx`work", NULL},
    {"*0x10", "*0x10", NULL},
    {"##nothing#7", NULL, "no process has line information for function 'nothing'"},
    {"a#b#c#1", NULL, "is not a location"},
    {"##libx#a.c#work#x", NULL, "is not a location"},
    {"#libx##a.c#work#1", NULL, "is not a location"},
    {"####7", NULL, "is not a location"},
    {"a.c#work#", NULL, "is not a location"},
    {"#", NULL, "is not a location"},
    {"######", NULL, "is not a location"},
    {"#######", NULL, "is not a location"},
};

static void locations_are_specifications(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *spec = NULL, *function = NULL;
        TG_AUTO_ERROR struct tg_error *error =
            tg_location_parse(cases[i].text, "/src/here.c", &code, &spec, &function);
        if (cases[i].spec == NULL) {
            assert_non_null(error);
            assert_non_null(strstr(tg_error_message(error), cases[i].function));
            assert_null(spec);
            assert_null(function);
            continue;
        }
        assert_null(error);
        assert_string_equal(spec, cases[i].spec);
        assert_string_equal(function == NULL ? "" : function,
                            cases[i].function == NULL ? "" : cases[i].function);
        free(spec);
        free(function);
    }
}

static void a_line_needs_a_file(void **state)
{
    (void)state;
    char *spec = NULL, *function = NULL;
    TG_AUTO_ERROR struct tg_error *error = tg_location_parse("12", NULL, &code, &spec, &function);
    assert_non_null(error);
    assert_non_null(strstr(tg_error_message(error), "needs a file"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(locations_are_specifications),
        cmocka_unit_test(a_line_needs_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
