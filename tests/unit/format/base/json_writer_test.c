#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "format/base/json_writer.h"

struct output {
    char *text;
    size_t size;
    FILE *stream;
    struct tg_json json;
};

static void open_output(struct output *output, bool pretty)
{
    output->stream = open_memstream(&output->text, &output->size);
    tg_json_init(&output->json, output->stream, pretty);
}

static void expect(struct output *output, const char *text)
{
    fclose(output->stream);
    assert_string_equal(output->text, text);
    free(output->text);
}

static void write_sample(struct tg_json *json)
{
    tg_json_begin_object(json);
    tg_json_member_string(json, "name", "a");
    tg_json_key(json, "list");
    tg_json_begin_array(json);
    tg_json_unsigned(json, 1);
    tg_json_begin_object(json);
    tg_json_end_object(json);
    tg_json_begin_array(json);
    tg_json_end_array(json);
    tg_json_null(json);
    tg_json_end_array(json);
    tg_json_member_bool(json, "yes", true);
    tg_json_end_object(json);
    tg_json_end_line(json);
}

static void one_line(void **state)
{
    (void)state;
    struct output output;
    open_output(&output, false);
    write_sample(&output.json);
    expect(&output, "{\"name\": \"a\", \"list\": [1, {}, [], null], \"yes\": true}\n");
}

static void indented(void **state)
{
    (void)state;
    struct output output;
    open_output(&output, true);
    write_sample(&output.json);
    expect(&output, "{\n  \"name\": \"a\",\n  \"list\": [\n    1,\n    {},\n    [],\n    null\n  ],\n"
                    "  \"yes\": true\n}\n");
}

static void numbers_are_exact_to_their_limits(void **state)
{
    (void)state;
    struct output output;
    open_output(&output, false);
    tg_json_begin_array(&output.json);
    tg_json_unsigned(&output.json, 0);
    tg_json_unsigned(&output.json, UINT64_MAX);
    tg_json_signed(&output.json, INT64_MIN);
    tg_json_signed(&output.json, INT64_MAX);
    tg_json_signed(&output.json, -1);
    tg_json_address(&output.json, 0);
    tg_json_address(&output.json, UINT64_MAX);
    tg_json_address(&output.json, 0x7f00deadbeef);
    tg_json_decimal(&output.json, 1234567, 3);
    tg_json_decimal(&output.json, 5, 3);
    tg_json_decimal(&output.json, UINT64_MAX, 18);
    tg_json_decimal(&output.json, 7, 0);
    tg_json_double(&output.json, 1.5, 3);
    tg_json_double(&output.json, NAN, 3);
    tg_json_double(&output.json, -INFINITY, 0);
    tg_json_end_array(&output.json);
    expect(&output, "[0, 18446744073709551615, -9223372036854775808, 9223372036854775807, -1, \"0x0\", "
                    "\"0xffffffffffffffff\", \"0x7f00deadbeef\", 1234.567, 0.005, "
                    "18.446744073709551615, 7, 1.500, null, null]");
}

static void any_bytes_are_valid_json_and_safe_on_a_terminal(void **state)
{
    (void)state;
    struct output output;
    open_output(&output, false);
    tg_json_begin_object(&output.json);
    tg_json_member_string(&output.json, "q\"\\", "line\nend\t\b\f\r\x01\x7f");
    tg_json_member_string(&output.json, "esc", "\033[0m\xc2\x9b");
    tg_json_member_string(&output.json, "bad", "a\xff\xc3(\xed\xa0\x80");
    tg_json_member_string(&output.json, "rtl",
                          "\xe2\x80\xae"
                          "so");
    tg_json_member_string(&output.json, "tag", "\xf3\xa0\x81\x81");
    tg_json_member_string(&output.json, "text", "\xc3\xa9\xf0\x9f\x98\x80");
    tg_json_end_object(&output.json);
    expect(&output, "{\"q\\\"\\\\\": \"line\\nend\\t\\b\\f\\r\\u0001\\u007f\", "
                    "\"esc\": \"\\u001b[0m\\u009b\", "
                    "\"bad\": \"a\\udcff\\udcc3(\\udced\\udca0\\udc80\", "
                    "\"rtl\": \"\\u202eso\", "
                    "\"tag\": \"\\udb40\\udc41\", "
                    "\"text\": \"\xc3\xa9\xf0\x9f\x98\x80\"}");
}

static void the_deepest_level_separates_its_members(void **state)
{
    (void)state;
    struct output output;
    open_output(&output, false);
    for (int i = 0; i < 32; i++)
        tg_json_begin_array(&output.json);
    tg_json_unsigned(&output.json, 1);
    tg_json_unsigned(&output.json, 2);
    for (int i = 0; i < 32; i++)
        tg_json_end_array(&output.json);
    expect(&output, "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1, 2]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_line),
        cmocka_unit_test(indented),
        cmocka_unit_test(numbers_are_exact_to_their_limits),
        cmocka_unit_test(any_bytes_are_valid_json_and_safe_on_a_terminal),
        cmocka_unit_test(the_deepest_level_separates_its_members),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
