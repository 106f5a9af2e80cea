#include "recorder/stacks/kmp_numbers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CODE(name, text)                                                                                     \
    extern const uint8_t name[], name##_end[];                                                               \
    __asm__(".pushsection .rodata\n" #name ":\n" text "\n" #name "_end:\n.popsection")

/* Memory from 0x1000 on: what the dynamic loader wrote, and a thread whose control block is at 0x1100. */
struct memory {
    uint64_t words[128];
};

static bool read_words(void *context, uint64_t address, void *buffer, size_t size)
{
    const struct memory *memory = context;
    if (address < 0x1000 || address - 0x1000 + size > sizeof memory->words)
        return false;
    memcpy(buffer, (const uint8_t *)memory->words + (address - 0x1000), size);
    return true;
}

static size_t read_some(void *context, uint64_t address, void *buffer, size_t size)
{
    return read_words(context, address, buffer, size) ? size : 0;
}

static struct tg_kmp_numbers read_numbers(struct memory *memory, const uint8_t *code, const uint8_t *end)
{
    const struct tg_inspect_memory inspect = {memory, read_words};
    return tg_kmp_numbers_read(code, (size_t)(end - code), 0xf00, &inspect);
}

/* At 0xf00; the words are at 0x1010. */
CODE(by_call, "cmpl $0, (%r14)\n lea 0x105(%rip), %rdi\n call . + 0x200\n mov (%rax), %ebx\n cmp $-2, %ebx\n "
              "je . + 9\n ret");

static void in_storage_of_a_module(void **state)
{
    (void)state;
    struct memory memory = {.words = {[2] = 3, [3] = 8}};
    struct tg_kmp_numbers numbers = read_numbers(&memory, by_call, by_call_end);
    const struct tg_elf_memory some = {read_some, &memory};
    int32_t number;
    assert_true(numbers.is_known && !numbers.is_fixed);
    assert_int_equal(numbers.module, 3);
    assert_int_equal(numbers.offset, 8);
    memory.words[0x108 / 8] = 0x1200; /* of the thread: its vector */
    memory.words[0x1f0 / 8] = 3;      /* entries */
    memory.words[0x230 / 8] = 0x1300; /* the third one */
    memory.words[0x308 / 8] = 5;
    assert_true(tg_kmp_number_of(&numbers, &some, 0x1100, &number));
    assert_int_equal(number, 5);
    memory.words[0x308 / 8] = (uint32_t)-2; /* none of OpenMP's */
    assert_false(tg_kmp_number_of(&numbers, &some, 0x1100, &number));
    memory.words[0x230 / 8] = UINT64_MAX; /* has not used it yet */
    assert_false(tg_kmp_number_of(&numbers, &some, 0x1100, &number));
    memory.words[0x1f0 / 8] = 2;
    assert_false(tg_kmp_number_of(&numbers, &some, 0x1100, &number));
}

/* At 0xf00; the word is at 0x1018. */
CODE(by_offset, "mov 0x111(%rip), %rdx\n mov %fs:(%rdx), %eax\n cmp $-2, %eax\n ret");

static void at_a_fixed_offset(void **state)
{
    (void)state;
    struct memory memory = {.words = {[3] = (uint64_t)-0x40}};
    struct tg_kmp_numbers numbers = read_numbers(&memory, by_offset, by_offset_end);
    const struct tg_elf_memory some = {read_some, &memory};
    int32_t number;
    assert_true(numbers.is_known && numbers.is_fixed);
    memory.words[0xc0 / 8] = 17;
    assert_true(tg_kmp_number_of(&numbers, &some, 0x1100, &number));
    assert_int_equal(number, 17);
}

CODE(another_number, "mov 0x111(%rip), %rdx\n mov %fs:(%rdx), %eax\n cmp $-1, %eax\n ret");
CODE(another_word, "mov 0x111(%rip), %rdx\n mov %fs:(%rdx), %eax\n mov 8(%rdx), %ecx\n cmp $-2, %ecx\n ret");

static void what_is_not_that_code(void **state)
{
    (void)state;
    struct memory memory = {.words = {[3] = 8}};
    assert_false(read_numbers(&memory, another_number, another_number_end).is_known);
    assert_false(read_numbers(&memory, another_word, another_word_end).is_known);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_storage_of_a_module),
        cmocka_unit_test(at_a_fixed_offset),
        cmocka_unit_test(what_is_not_that_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
