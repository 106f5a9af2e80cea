/* Options of commands, by their table. */
#include "live/console/options.h"

#include "tests/support/trace_fixture.h"

#include <string.h>

enum colour { RED, GREEN };

struct values {
    bool any;
    uint32_t count;
    uint64_t ranks;
    double seconds;
    enum colour colour;
    const char *text, *place;
    bool all;
    char letter;
    int n_options;
};

static struct tg_error *take_letter(const char *option, const char *word, void *letter)
{
    if (strlen(word) != 2)
        return tg_error_create(TG_ERROR_USAGE, "%s: one letter", option);
    *(char *)letter = word[1];
    return NULL;
}

static const char *const colours[] = {"red", "green", NULL};

#define OPTIONS                                                                                              \
    {"-any", TG_OPTION_SET, TG_OPTION_IN(struct values, any), .value = true},                                \
        {"-count", TG_OPTION_NUMBER, TG_OPTION_IN(struct values, count), .lowest = 1, .highest = 9},         \
        {"-ranks", TG_OPTION_NUMBER, TG_OPTION_IN(struct values, ranks), .highest = INT64_MAX},              \
        {"-timeout", TG_OPTION_SECONDS, TG_OPTION_IN(struct values, seconds)},                               \
        {"-text", TG_OPTION_WORD, TG_OPTION_IN(struct values, text), .takes = "words"},                      \
        {"-colour", TG_OPTION_CHOICE, TG_OPTION_IN(struct values, colour), .words = colours,                 \
         .takes = "red or green"},                                                                           \
    {                                                                                                        \
        "/LETTER", TG_OPTION_PARSED, TG_OPTION_IN(struct values, letter), .parse = take_letter               \
    }

static const struct tg_console_option with_place[] = {
    OPTIONS, {"PLACE", TG_OPTION_WORD, TG_OPTION_IN(struct values, place)}, {0}};
static const struct tg_console_option with_rest[] = {OPTIONS, {.name = "REST", .kind = TG_OPTION_REST}, {0}};
static const struct tg_console_option with_expression[] = {
    OPTIONS, {.name = "EXPRESSION", .kind = TG_OPTION_EXPRESSION}, {0}};

static const struct tg_console_option with_dashes[] = {
    {"--host", TG_OPTION_WORD, TG_OPTION_IN(struct values, text), .takes = "a name"},
    {"--port", TG_OPTION_NUMBER, TG_OPTION_IN(struct values, count), .lowest = 1, .highest = 9},
    TG_OPTION_FLAG("--any", struct values, any),
    {0}};

static const struct tg_console_option with_number[] = {
    TG_OPTION_FLAG("-any", struct values, any),
    TG_OPTION_FLAG_ALONE("-all", struct values, all),
    {"-only", TG_OPTION_WORD, TG_OPTION_IN(struct values, text), .takes = "a word", .alone = true},
    {"N", TG_OPTION_NUMBER, TG_OPTION_IN(struct values, count), .lowest = 1, .highest = 9},
    {0}};

/* The arguments live until the next call. */
static struct tg_error *take(const struct tg_console_option *options, const char *line, struct values *values)
{
    static Tcl_Obj *list;
    const struct tg_console_command command = {
        .name = "paint", .arguments = "?-any? ...", .options = options};
    Tcl_Obj **words;
    int count;
    if (list != NULL)
        Tcl_DecrRefCount(list);
    list = Tcl_NewStringObj(line, -1);
    Tcl_IncrRefCount(list);
    assert_int_equal(Tcl_ListObjGetElements(NULL, list, &count, &words), TCL_OK);
    return tg_console_take_options(&command, count, words, values, &values->n_options);
}

static void test_values(void **state)
{
    struct values values = {0};
    (void)state;
    assert_fine(take(with_place,
                     "-ranks 5000000000 here -any -count 0x7 -timeout .5 -text -any -colour green /x",
                     &values));
    assert_true(values.any);
    assert_int_equal(values.count, 7);
    assert_int_equal(values.ranks, 5000000000);
    assert_true(values.seconds == 0.5);
    assert_int_equal(values.colour, GREEN);
    assert_int_equal(values.letter, 'x');
    assert_string_equal(values.text, "-any");
    assert_string_equal(values.place, "here");
}

static void test_places(void **state)
{
    struct values values = {.count = 5};
    (void)state;
    assert_fine(take(with_place, "- -count 3 -count 4", &values));
    assert_string_equal(values.place, "-");
    assert_int_equal(values.count, 4);
    assert_fine(take(with_rest, "-any a -any b", &values));
    assert_int_equal(values.n_options, 1);
    assert_fine(take(with_rest, "-any", &values));
    assert_int_equal(values.n_options, 1);
    assert_fine(take(with_expression, "-any -x + 1", &values));
    assert_int_equal(values.n_options, 1);
    assert_fine(take(with_expression, "/d -count", &values)); /* minus the variable count */
    assert_int_equal(values.n_options, 1);
}

static void test_joined(void **state)
{
    struct values values = {0};
    (void)state;
    assert_fine(take(with_dashes, "--port=3 --host=a=b --any", &values));
    assert_int_equal(values.count, 3);
    assert_string_equal(values.text, "a=b");
    assert_true(values.any);
    static const char *const bad[] = {"--port=", "--port=10", "--port=x", "--any=1", "--hos=a", "-count=3"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct tg_error *error = take(i < 5 ? with_dashes : with_place, bad[i], &values);
        assert_non_null(error);
        tg_error_destroy(error);
    }
}

static void test_dashes(void **state)
{
    struct values values = {.count = 5};
    (void)state;
    assert_fine(take(with_dashes, "-port 3 -any", &values));
    assert_int_equal(values.count, 3);
    assert_true(values.any);
    assert_fine(take(with_place, "--timeout 2 --colour green here", &values));
    assert_true(values.seconds == 2);
    assert_int_equal(values.colour, GREEN);
    values.count = 5;
    assert_fine(take(with_expression, "--count 3", &values)); /* an expression */
    assert_int_equal(values.n_options, 0);
    assert_int_equal(values.count, 5);
    static const char *const bad[] = {"---any", "-", "--", "--a"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct tg_error *error = take(with_dashes, bad[i], &values);
        assert_non_null(error);
        tg_error_destroy(error);
    }
}

static void test_alone(void **state)
{
    struct values values = {0};
    (void)state;
    assert_fine(take(with_number, "-all", &values));
    assert_true(values.all);
    assert_fine(take(with_number, "-only -any", &values));
    assert_string_equal(values.text, "-any");
    assert_fine(take(with_number, "-any 3", &values));
    assert_int_equal(values.count, 3);
}

static void test_refused(void **state)
{
    static const struct {
        const struct tg_console_option *options;
        const char *line, *message;
    } all[] = {
        {with_place, "-cuont 3",
         "paint: unknown option '-cuont'; did you mean '-count'? (`help paint` lists the options)"},
        {with_place, "-zzzzzzzz", "paint: unknown option '-zzzzzzzz' (`help paint` lists the options)"},
        {with_rest, "-\x1b", "paint: unknown option '-\\x1b' (`help paint` lists the options)"},
        {with_place, "-any -count", "paint: -count needs a value: a number from 1 to 9"},
        {with_place, "-text", "paint: -text needs a value: words"},
        {with_place, "-count 10", "paint: -count takes a number from 1 to 9, not '10'"},
        {with_place, "-count 0", "paint: -count takes a number from 1 to 9, not '0'"},
        {with_expression, "-count x", "paint: -count takes a number from 1 to 9, not 'x'"},
        {with_place, "-timeout -1", "paint: -timeout takes a number of seconds, not '-1'"},
        {with_place, "-timeout NaN", "paint: -timeout takes a number of seconds, not 'NaN'"},
        {with_place, "-colour gren", "paint: -colour takes red or green, not 'gren'; did you mean 'green'?"},
        {with_place, "/xy", "paint: /LETTER: one letter"},
        {with_place, "here there", "usage: paint ?-any? ..."},
        {with_number, "3 4", "usage: paint ?-any? ..."},
        {with_number, "x", "paint: N is a number from 1 to 9, not 'x'"},
        {with_number, "-3", "paint: N is a number from 1 to 9, not '-3'"},
        {with_number, "-x", "paint: unknown option '-x' (`help paint` lists the options)"},
        {with_number, "-all 3", "paint: -all cannot be combined with '3'"},
        {with_number, "3 -all", "paint: -all cannot be combined with '3'"},
        {with_number, "-all -all", "paint: -all cannot be combined with '-all'"},
        {with_number, "-only a b", "paint: -only cannot be combined with 'b'"},
        {with_number, "-any -only a", "paint: -only cannot be combined with '-any'"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct values values = {0};
        struct tg_error *error = take(all[i].options, all[i].line, &values);
        assert_non_null(error);
        assert_int_equal(tg_error_code(error), TG_ERROR_USAGE);
        assert_string_equal(tg_error_message(error), all[i].message);
        tg_error_destroy(error);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values), cmocka_unit_test(test_places), cmocka_unit_test(test_joined),
        cmocka_unit_test(test_dashes), cmocka_unit_test(test_alone),  cmocka_unit_test(test_refused),
    };
    Tcl_FindExecutable(NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
