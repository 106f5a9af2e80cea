#include "recorder/stacks/call_constants.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { START = 0x1000, GOT = 0x9000 };

struct code {
    const char *bytes;
    size_t size;
};

static uint16_t steady;

static bool read_code(void *context, uint64_t address, void *buffer, size_t size)
{
    const struct code *code = context;
    const uint64_t world = 0x4500;
    if (address == GOT + 8 && size <= sizeof world) {
        memcpy(buffer, &world, size);
        return true;
    }
    if (address < START || address - START > code->size || size > code->size - (address - START))
        return false;
    memcpy(buffer, code->bytes + (address - START), size);
    return true;
}

/* What the call that CODE ends with gets in rdi and r9. */
static struct tg_call_arguments arguments_of(const char *bytes, size_t size)
{
    struct code code = {bytes, size};
    const struct tg_inspect_memory memory = {&code, read_code};
    const struct tg_code_range whole = {START, START + size}, got = {GOT, steady != 0 ? GOT : GOT + 16};
    struct tg_call_arguments arguments = {0};
    tg_call_constants_read(&whole, 1, got, &memory, START + size, 0x21, steady, &arguments);
    return arguments;
}

#define ARGUMENTS_OF(text) arguments_of(text, sizeof text - 1)
#define CALL               "\xe8\0\0\0\0"

/* Numbers, addresses and what the dynamic loader wrote are constants. */
static void test_constants(void **state)
{
    (void)state;
    struct tg_call_arguments arguments =
        ARGUMENTS_OF("\x4c\x8d\x0d\xf9\x34\0\0" CALL); /* lea 0x34f9(%rip),%r9 */
    assert_int_equal(arguments.known, 0x20);
    assert_int_equal(arguments.value[5], 0x4500);
    arguments = ARGUMENTS_OF("\x4c\x8b\x0d\x01\x80\0\0" CALL); /* mov 0x8001(%rip),%r9: of the table */
    assert_int_equal(arguments.known, 0x20);
    assert_int_equal(arguments.value[5], 0x4500);
    arguments = ARGUMENTS_OF(
        "\xbf\x05\0\0\0\x41\x89\xf9\x31\xff" CALL); /* mov $5,%edi; mov %edi,%r9d; xor %edi,%edi */
    assert_int_equal(arguments.known, 0x21);
    assert_int_equal(arguments.value[0], 0);
    assert_int_equal(arguments.value[5], 5);
    arguments = ARGUMENTS_OF("\xbe\x05\0\0\0" CALL); /* esi: nobody asked */
    assert_int_equal(arguments.known, 0);
}

/* A variable that a program sets once says what was passed; others may have changed. */
static void test_steady(void **state)
{
    (void)state;
    steady = 0x20;
    struct tg_call_arguments arguments =
        ARGUMENTS_OF("\x44\x8b\x0d\x01\x80\0\0" CALL); /* mov 0x8001(%rip),%r9d */
    assert_int_equal(arguments.known, 0x20);
    assert_int_equal(arguments.value[5], 0x4500);
    arguments = ARGUMENTS_OF("\x44\x8b\x0d\x01\x80\0\0\x44\x89\xcf" CALL); /* and mov %r9d,%edi */
    assert_int_equal(arguments.known, 0x20);
    steady = 0x01;
    arguments = ARGUMENTS_OF("\x44\x8b\x0d\x01\x80\0\0" CALL);
    assert_int_equal(arguments.known, 0);
    steady = 0;
}

/* What a variable held, what another call may have changed, and what another way may have set, is unknown. */
static void test_unknown(void **state)
{
    (void)state;
    static const struct code cases[] = {
#define CASE(text) {text, sizeof text - 1}
        CASE("\x4c\x8b\x0d\xf1\x01\0\0" CALL),     /* mov 0x1f1(%rip),%r9: a variable */
        CASE("\xbf\x05\0\0\0" CALL CALL),          /* behind a call */
        CASE("\x74\x05\xbf\x05\0\0\0" CALL),       /* je to the call */
        CASE("\x31\xff\x74\x02\x89\xf7\x90" CALL), /* xor %edi,%edi; je past mov %esi,%edi */
        CASE("\xbf\x05\0\0\0\xff\xc7" CALL),       /* inc %edi */
        CASE(
            "\xbf\x05\0\0\0\x0f\x1f\x00\xff\xe0" CALL), /* behind jmp *%rax: nothing is known of where that leads */
        CASE("\xbf\x05\0\0\0\x06" CALL),                /* no instruction */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(arguments_of(cases[i].bytes, cases[i].size).known, 0);
    /* a branch over something else takes nothing away */
    assert_int_equal(ARGUMENTS_OF("\x74\x02\x89\xf0\xbf\x05\0\0\0" CALL).known, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_constants), cmocka_unit_test(test_steady),
                                       cmocka_unit_test(test_unknown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
