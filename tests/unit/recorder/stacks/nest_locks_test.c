#include "recorder/stacks/nest_locks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A word of the library at 0x1000, in which the dynamic loader has written where its thread-local variables are. */
static bool read_memory(void *context, uint64_t address, void *buffer, size_t size)
{
    static const int64_t word = -0x90;
    (void)context;
    if (address != 0x1000 || size != sizeof word)
        return false;
    memcpy(buffer, &word, size);
    return true;
}

static struct tg_nest_locks read_code(const uint8_t *code, size_t size)
{
    const struct tg_inspect_memory memory = {NULL, read_memory};
    return tg_nest_locks_read(code, size, 0xf00, &memory);
}

/* mov 0xf4(%rip),%rax at 0xf05; mov %fs:0x58(%rax),%rbp; test %rbp,%rbp; je; add $0x98,%rbp; cmp %rbp,0x8(%rbx) */
static const uint8_t by_word[] = {0x55, 0x53, 0x48, 0x89, 0xfb, 0x48, 0x8b, 0x05, 0xf4, 0,    0,    0,
                                  0x64, 0x48, 0x8b, 0x68, 0x58, 0x48, 0x85, 0xed, 0x74, 0x32, 0x48, 0x81,
                                  0xc5, 0x98, 0,    0,    0,    0x48, 0x39, 0x6b, 0x08, 0x74, 0x11};

static void by_the_librarys_word(void **state)
{
    (void)state;
    struct tg_nest_locks locks = read_code(by_word, sizeof by_word);
    assert_true(locks.is_known);
    assert_int_equal((int64_t)locks.task_offset, -0x90 + 0x58);
    assert_int_equal(locks.settings_offset, 0x98);
}

/* mov %fs:0xffffffffffffffc8,%rdx; lea 0x40(%rdx),%rcx; cmp %rcx,0x8(%rdi) */
static void by_a_constant(void **state)
{
    (void)state;
    static const uint8_t code[] = {0x64, 0x48, 0x8b, 0x14, 0x25, 0xc8, 0xff, 0xff, 0xff,
                                   0x48, 0x8d, 0x4a, 0x40, 0x48, 0x39, 0x4f, 0x08};
    struct tg_nest_locks locks = read_code(code, sizeof code);
    assert_true(locks.is_known);
    assert_int_equal((int64_t)locks.task_offset, -0x38);
    assert_int_equal(locks.settings_offset, 0x40);
}

/* What is not that code is not taken for it: a call in between, another member, a register of which a part was written. */
static void other_code(void **state)
{
    (void)state;
    uint8_t code[sizeof by_word];
    memcpy(code, by_word, sizeof code);
    code[32] = 0x10;
    assert_false(read_code(code, sizeof code).is_known);
    memcpy(code, by_word, sizeof code);
    memcpy(&code[17], (const uint8_t[]){0xe8, 0, 0, 0, 0}, 5);
    assert_false(read_code(code, sizeof code).is_known);
    memcpy(code, by_word, sizeof code);
    memcpy(&code[17], (const uint8_t[]){0x90, 0x31, 0xed, 0x90, 0x90}, 5);
    assert_false(read_code(code, sizeof code).is_known);
    for (size_t size = 0; size < 33; size++)
        assert_false(read_code(by_word, size).is_known);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_the_librarys_word),
        cmocka_unit_test(by_a_constant),
        cmocka_unit_test(other_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
