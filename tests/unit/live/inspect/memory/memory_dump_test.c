/* Memory as numbers, characters and strings. */
#include "live/inspect/memory/memory_dump.h"

#include "tests/support/trace_fixture.h"

#include <stdlib.h>
#include <string.h>

enum { BASE = 0x10000, PAGE = 4096 };

/* Two pages at BASE, the second one of which is not there in some tests, and one more behind it. */
static uint8_t pages[3 * PAGE];
static bool has_second = true;

static bool read_pages(void *context, uint64_t address, void *buffer, size_t size)
{
    (void)context;
    if (address < BASE || address + size > BASE + sizeof pages)
        return false;
    uint64_t first = address - BASE, last = first + size - 1;
    if (!has_second && first < 2 * PAGE && last >= PAGE)
        return false;
    memcpy(buffer, pages + first, size);
    return true;
}

static const struct tg_inspect_memory memory = {.read = read_pages};

static bool name(void *context, uint64_t address, struct tg_symbol *symbol)
{
    (void)context;
    if (address < BASE + 8 || address >= BASE + 64)
        return false;
    *symbol = (struct tg_symbol){.function = "tab\x1b", .offset = address - (BASE + 8)};
    return true;
}

static const struct tg_inspect_namer namer = {.name = name};

static void set_up(void)
{
    static const double third = 1.0 / 3;
    static const float tenth = 0.1f;
    memset(pages, 0, sizeof pages);
    for (size_t i = 0; i < 64; i++)
        pages[i] = (uint8_t)(0xf8 + i);
    memcpy(pages + 64, "text with \"quotes\" and \x1b[31m\0second", 36);
    memcpy(pages + 128, &third, sizeof third);
    memcpy(pages + 136, &tenth, sizeof tenth);
    has_second = true;
}

static char *dump(uint64_t address, const char *text, const struct tg_inspect_namer *names)
{
    struct tg_memory_format format = {TG_MEMORY_HEX, 4, 1};
    char *shown = NULL;
    size_t size;
    uint64_t end;
    assert_fine(tg_memory_format_parse(text, &format));
    FILE *stream = open_memstream(&shown, &size);
    assert_fine(tg_memory_dump_print(&memory, names, address, &format, stream, &end));
    fclose(stream);
    return shown;
}

static void check(uint64_t address, const char *text, const struct tg_inspect_namer *names,
                  const char *expected)
{
    char *shown = dump(address, text, names);
    assert_string_equal(shown, expected);
    free(shown);
}

static void test_numbers(void **state)
{
    (void)state;
    set_up();
    check(BASE, "6xw", NULL,
          "0x000000010000:  0xfbfaf9f8  0xfffefdfc  0x03020100  0x07060504\n"
          "0x000000010010:  0x0b0a0908  0x0f0e0d0c\n");
    check(BASE, "10db", NULL,
          "0x000000010000:  -8  -7  -6  -5  -4  -3  -2  -1\n"
          "0x000000010008:   0   1\n");
    check(BASE, "3uh", NULL, "0x000000010000:  63992  64506  65020\n");
    check(BASE, "2ob", NULL, "0x000000010000:  0370  0371\n");
    check(BASE, "1xg", NULL, "0x000000010000:  0xfffefdfcfbfaf9f8\n");
    check(BASE, "dg", NULL, "0x000000010000:  -283686952306184\n");
    check(BASE + 128, "f", NULL, "0x000000010080:  0.3333333333333333\n");
    check(BASE + 136, "fw", NULL, "0x000000010088:  0.1\n");
}

static void test_names(void **state)
{
    (void)state;
    set_up();
    check(BASE + 0, "8xw", &namer,
          "0x000000010000            :  0xfbfaf9f8  0xfffefdfc  0x03020100  0x07060504\n"
          "0x000000010010 <tab\\x1b+8>:  0x0b0a0908  0x0f0e0d0c  0x13121110  0x17161514\n");
    uint64_t pointer = BASE + 12;
    memcpy(pages + 256, &pointer, sizeof pointer);
    check(BASE + 256, "2a", &namer,
          "0x000000010100:  0x000000000001000c <tab\\x1b+4>\n"
          "0x000000010108:  0x0000000000000000\n");
}

static void test_text(void **state)
{
    (void)state;
    set_up();
    check(BASE + 64, "2s", NULL,
          "0x000000010040:  \"text with \\\"quotes\\\" and \\x1b[31m\"\n"
          "0x00000001005d:  \"second\"\n");
    check(BASE + 64, "4c", NULL, "0x000000010040:  't'  'e'  'x'  't'\n");
    pages[64] = '\'';
    pages[65] = 0xff;
    pages[66] = 0;
    check(BASE + 64, "3c", NULL, "0x000000010040:    '\\''  '\\xff'    '\\0'\n");
}

/* Missing memory is reported once, and the memory behind it is shown. */
static void test_unreadable(void **state)
{
    (void)state;
    set_up();
    has_second = false;
    struct tg_memory_format format = {TG_MEMORY_HEX, 8, 3 * PAGE / 8};
    char *shown = NULL;
    size_t size;
    uint64_t end = 0;
    FILE *stream = open_memstream(&shown, &size);
    assert_fine(tg_memory_dump_print(&memory, NULL, BASE, &format, stream, &end));
    fclose(stream);
    assert_int_equal(end, BASE + 3 * PAGE);
    const char *lost = strstr(shown, "0x000000011000 to 0x000000011fff: cannot be read\n");
    assert_non_null(lost);
    assert_memory_equal(strchr(lost, '\n') + 1, "0x000000012000:  0x0000", 23);
    free(shown);
    check(BASE + PAGE - 6, "2xw", NULL, "0x000000010ffa:  0x00000000          ??\n");
    memset(pages + PAGE - 4, 'z', 4);
    check(BASE + PAGE - 4, "3s", NULL, "0x000000010ffc:  \"zzzz\"...\n0x000000011000:  cannot be read\n");
    format.count = 1;
    expect_error(tg_memory_dump_print(&memory, NULL, BASE + PAGE, &format, stdout, &end), TG_ERROR_NOT_FOUND,
                 "cannot read memory");
}

static void test_formats(void **state)
{
    static const char *const bad[] = {
        "0x", "65537x", "xx", "xq", "x4", "-1", "fb", "wwx", "99999999999999999999", "\x1b"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct tg_memory_format format = {TG_MEMORY_HEX, 4, 1};
        struct tg_error *error = tg_memory_format_parse(bad[i], &format);
        if (error == NULL)
            fail_msg("'%s' is no error", bad[i]);
        assert_int_equal(tg_error_code(error), TG_ERROR_USAGE);
        assert_null(strchr(tg_error_message(error), '\x1b'));
        assert_int_equal(format.count, 1);
        tg_error_destroy(error);
    }
    for (size_t i = 0; tg_memory_format_names[i] != NULL; i++) {
        struct tg_memory_format format = {TG_MEMORY_HEX, 4, 1};
        assert_true(tg_memory_format_find(tg_memory_format_names[i], &format));
    }
    struct tg_memory_format format = {TG_MEMORY_FLOAT, 2, 1};
    uint64_t end;
    expect_error(tg_memory_dump_print(&memory, NULL, BASE, &format, stdout, &end), TG_ERROR_USAGE, "4 or 8");
    format = (struct tg_memory_format){TG_MEMORY_HEX, 8, 65536};
    expect_error(tg_memory_dump_print(&memory, NULL, UINT64_MAX - 8, &format, stdout, &end), TG_ERROR_USAGE,
                 "last address");
}

static void test_json(void **state)
{
    char *shown = NULL;
    size_t size;
    uint64_t end;
    struct tg_json json;
    struct tg_memory_format format = {TG_MEMORY_SIGNED, 2, 3};
    (void)state;
    set_up();
    has_second = false;
    FILE *stream = open_memstream(&shown, &size);
    tg_json_init(&json, stream, false);
    assert_fine(tg_memory_dump_json(&memory, BASE + PAGE - 4, &format, &json, &end));
    fclose(stream);
    assert_string_equal(
        shown, "{\"address\": \"0x10ffc\", \"format\": \"d\", \"size\": 2, \"values\": [0, 0, null]}");
    free(shown);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),    cmocka_unit_test(test_names),   cmocka_unit_test(test_text),
        cmocka_unit_test(test_unreadable), cmocka_unit_test(test_formats), cmocka_unit_test(test_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
