/* Code as assembly text. */
#include "live/inspect/memory/disassembly.h"

#include "tests/support/temporary.h"
#include "tests/support/trace_fixture.h"

#include <stdlib.h>
#include <string.h>

enum { BASE = 0x401000 };

static const uint8_t code[] = {
    0x55,                                     /* 0: push %rbp */
    0x48, 0x89, 0xe5,                         /* 1: mov %rsp,%rbp */
    0xe8, 0x07, 0x00, 0x00, 0x00,             /* 4: call 0x401010 */
    0x48, 0x8b, 0x05, 0xf0, 0x0f, 0x00, 0x00, /* 9: mov 0xff0(%rip),%rax: 0x402000 */
    0x90,                                     /* 0x10: nop */
    0x06,                                     /* 0x11: nothing in 64-bit mode */
    0x74, 0xec,                               /* 0x12: je 0x401000 */
    0xc3,                                     /* 0x14: ret */
};

static bool read_code(void *context, uint64_t address, void *buffer, size_t size)
{
    uint64_t end = *(const uint64_t *)context;
    for (size_t i = 0; i < size; i++) {
        uint64_t at = address + i;
        if (at < BASE || at >= end)
            return false;
        ((uint8_t *)buffer)[i] = at - BASE < sizeof code ? code[at - BASE] : 0x90;
    }
    return true;
}

static uint64_t code_end = BASE + 8192;
static const struct tg_inspect_memory memory = {.context = &code_end, .read = read_code};

static bool name(void *context, uint64_t address, struct tg_symbol *symbol)
{
    (void)context;
    if (address >= BASE && address < BASE + 0x10)
        *symbol = (struct tg_symbol){"main", address - BASE, "app.c", address < BASE + 4 ? 2 : 3};
    else if (address >= BASE + 0x10 && address < BASE + sizeof code)
        *symbol = (struct tg_symbol){.function = "solve", .offset = address - BASE - 0x10};
    else if (address == 0x402000)
        *symbol = (struct tg_symbol){.function = "total", .offset = 0};
    else
        return false;
    return true;
}

static const struct tg_inspect_namer namer = {.name = name};

static char *print(struct tg_disassembler *disassembler, const struct tg_disassembly *disassembly,
                   uint64_t address, uint64_t count)
{
    char *text = NULL;
    size_t size;
    uint64_t end;
    FILE *stream = open_memstream(&text, &size);
    assert_fine(tg_disassembly_print(disassembler, disassembly, address, count, stream, &end));
    fclose(stream);
    return text;
}

static void test_text(void **state)
{
    static const uint64_t marks[] = {BASE + 1};
    struct tg_disassembler *disassembler = NULL;
    const struct tg_disassembly disassembly = {
        .memory = &memory, .namer = &namer, .pc = BASE + 4, .marks = marks, .n_marks = 1};
    (void)state;
    assert_fine(tg_disassembler_create(&disassembler));
    char *text = print(disassembler, &disassembly, BASE, 8);
    assert_string_equal(text, "   0x000000401000 <main>     pushq   %rbp\n"
                              " b 0x000000401001 <main+1>   movq    %rsp, %rbp\n"
                              ">  0x000000401004 <main+4>   callq   0x401010 <solve>\n"
                              "   0x000000401009 <main+9>   movq    0xff0(%rip), %rax  # 0x402000 <total>\n"
                              "   0x000000401010 <solve>    nop\n"
                              "   0x000000401011 <solve+1>  (bad)\n"
                              "   0x000000401012 <solve+2>  je      0x401000 <main>\n"
                              "   0x000000401014 <solve+4>  retq\n");
    free(text);
    tg_disassembler_set_intel(disassembler, true);
    const struct tg_disassembly bytes = {.memory = &memory, .shows_bytes = true};
    text = print(disassembler, &bytes, BASE + 1, 2);
    assert_string_equal(text, "   0x000000401001  48 89 e5       mov     rbp, rsp\n"
                              "   0x000000401004  e8 07 00 00 00 call    0x401010\n");
    free(text);
    tg_disassembler_destroy(disassembler);
}

static void test_sources(void **state)
{
    struct tg_disassembler *disassembler = NULL;
    struct tg_source_lines *sources = NULL;
    static const char text_of_file[] = "int main(void)\n{\n\tsolve(\"\\n\");\n}\n";
    char *program = temporary_path(*state, "program"), *source = temporary_path(*state, "app.c");
    temporary_write(source, text_of_file, sizeof text_of_file - 1);
    free(source);
    assert_fine(tg_disassembler_create(&disassembler));
    assert_fine(tg_source_lines_create(&sources));
    const struct tg_disassembly disassembly = {
        .memory = &memory, .namer = &namer, .sources = sources, .program = program};
    char *text = print(disassembler, &disassembly, BASE, 3);
    assert_string_equal(text, "app.c:\n"
                              "   2  {\n"
                              "   0x000000401000 <main>    pushq   %rbp\n"
                              "   0x000000401001 <main+1>  movq    %rsp, %rbp\n"
                              "   3          solve(\"\\n\");\n"
                              "   0x000000401004 <main+4>  callq   0x401010 <solve>\n");
    free(text);
    free(program);
    tg_source_lines_destroy(sources);
    tg_disassembler_destroy(disassembler);
}

static void test_back(void **state)
{
    struct tg_disassembler *disassembler = NULL;
    (void)state;
    assert_fine(tg_disassembler_create(&disassembler));
    assert_int_equal(tg_disassembler_back(disassembler, &memory, &namer, BASE + 9, 2), BASE + 1);
    assert_int_equal(tg_disassembler_back(disassembler, &memory, &namer, BASE + 9, 100), BASE);
    assert_int_equal(tg_disassembler_back(disassembler, &memory, &namer, BASE, 2), BASE);
    /* in the middle of an instruction, and where nothing is known */
    assert_int_equal(tg_disassembler_back(disassembler, &memory, &namer, BASE + 6, 2), BASE + 6);
    assert_int_equal(tg_disassembler_back(disassembler, &memory, &namer, BASE + 0x800, 2), BASE + 0x800);
    tg_disassembler_destroy(disassembler);
}

static void test_limits(void **state)
{
    struct tg_disassembler *disassembler = NULL;
    const struct tg_disassembly disassembly = {.memory = &memory};
    uint64_t end;
    (void)state;
    assert_fine(tg_disassembler_create(&disassembler));
    expect_error(tg_disassembly_print(disassembler, &disassembly, BASE - 1, 1, stdout, &end),
                 TG_ERROR_NOT_FOUND, "cannot read code at 0x400fff");
    expect_error(tg_disassembly_print(disassembler, &disassembly, UINT64_MAX, 4, stdout, &end),
                 TG_ERROR_NOT_FOUND, "cannot read code");
    expect_error(tg_disassembly_print(disassembler, &disassembly, BASE, UINT64_MAX, stdout, &end),
                 TG_ERROR_LIMIT, "too many");
    code_end = BASE + 2; /* in the middle of an instruction */
    char *text = print(disassembler, &disassembly, BASE, 10);
    code_end = BASE + 8192;
    assert_string_equal(text, "   0x000000401000  pushq   %rbp\n"
                              "   0x000000401001  (bad)\n"
                              "   0x000000401002  cannot be read\n");
    free(text);
    tg_disassembler_destroy(disassembler);
}

static void test_json(void **state)
{
    struct tg_disassembler *disassembler = NULL;
    const struct tg_disassembly disassembly = {.memory = &memory, .namer = &namer, .pc = BASE + 4};
    struct tg_json json;
    char *text = NULL;
    size_t size;
    uint64_t end;
    (void)state;
    assert_fine(tg_disassembler_create(&disassembler));
    FILE *stream = open_memstream(&text, &size);
    tg_json_init(&json, stream, false);
    assert_fine(tg_disassembly_json(disassembler, &disassembly, BASE + 4, 1, &json, &end));
    fclose(stream);
    assert_string_equal(text, "[{\"address\": \"0x401004\", \"bytes\": \"e807000000\", \"text\": \"callq   "
                              "0x401010\", \"function\": \"main\", \"offset\": 4, \"file\": \"app.c\", "
                              "\"line\": 3, \"target\": \"0x401010\", \"target_function\": \"solve\", "
                              "\"target_offset\": 0, \"current\": true}]");
    free(text);
    tg_disassembler_destroy(disassembler);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),   trace_test(test_sources),    cmocka_unit_test(test_back),
        cmocka_unit_test(test_limits), cmocka_unit_test(test_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
