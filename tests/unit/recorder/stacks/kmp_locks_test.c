#include "recorder/stacks/kmp_locks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CODE(name, text)                                                                                     \
    extern const uint8_t name[], name##_end[];                                                               \
    __asm__(".pushsection .rodata\n" #name ":\n" text "\n" #name "_end:\n.popsection")

static struct tg_kmp_form read_form(const uint8_t *code, const uint8_t *end, int lock)
{
    return tg_kmp_form_read(code, (size_t)(end - code), 0x1000, lock);
}

/* A word of its own for the owner, in a nest lock; what asserts in between returns to nobody. */
CODE(owner_word,
     "push %rbp\n push %rbx\n mov %esi, %ebp\n mov %rdi, %rbx\n test %esi, %esi\n jns 1f\n call . + 0x100\n"
     "1: mov 0x20(%rbx), %eax\n add $-1, %eax\n owner_word_compared: cmp %ebp, %eax\n jne 2f\n 2: ret");
extern const uint8_t owner_word_compared[]; /* assemblers disagree on how long a jump is */

static void a_word_for_the_owner(void **state)
{
    (void)state;
    struct tg_kmp_form form = read_form(owner_word, owner_word_end, 0);
    assert_true(form.is_known);
    assert_int_equal(form.offset, 0x20);
    assert_int_equal(tg_kmp_form_owner(&form, 0), -1);
    assert_int_equal(tg_kmp_form_owner(&form, 1), 0);
    assert_int_equal(tg_kmp_form_owner(&form, 8), 7);
    assert_false(read_form(owner_word, owner_word_end, 2).is_known); /* lock elsewhere */
    for (const uint8_t *end = owner_word; end <= owner_word_compared; end++)
        assert_false(read_form(owner_word, end, 0).is_known);
}

/* One more than the number is compared with a word above its tag. */
CODE(tagged_word, "lea 1(%rsi), %ecx\n mov (%rdi), %eax\n sar $8, %eax\n cmp %eax, %ecx\n ret");

static void a_word_with_a_tag(void **state)
{
    (void)state;
    struct tg_kmp_form form = read_form(tagged_word, tagged_word_end, 0);
    assert_true(form.is_known);
    assert_int_equal(form.offset, 0);
    assert_int_equal(tg_kmp_form_owner(&form, 3), -1);
    assert_int_equal(tg_kmp_form_owner(&form, 0x0503), 4);
}

/* The number goes into the word as a whole; who waits sets a bit. Both arguments are in the frame meanwhile, and code
 * between jumps out. */
CODE(exchanged,
     "push %rbx\n sub $0x18, %rsp\n mov %rsi, 0x10(%rsp)\n mov %rdx, %rbx\n call *%rax\n mov 0x10(%rsp), "
     "%rax\n"
     "lea (%rax, %rax), %r14d\n add $2, %r14d\n mov %r14d, %ecx\n shl $8, %ecx\n or $5, %ecx\n jmp 2f\n"
     "1: add $0x18, %rsp\n pop %rbx\n ret\n"
     "2: lock cmpxchg %ecx, (%rbx)\n jne 3f\n jmp 1b\n 3: mov %eax, %r13d\n or $0x105, %r13d\n lock cmpxchg "
     "%r13d, (%rbx)\n ret");

static void a_word_that_is_exchanged(void **state)
{
    (void)state;
    struct tg_kmp_form form = read_form(exchanged, exchanged_end, 2);
    assert_true(form.is_known && form.is_whole);
    assert_int_equal(tg_kmp_form_owner(&form, 5), -1);
    assert_int_equal(tg_kmp_form_owner(&form, (3 + 1) << 9 | 5), 3);
    assert_int_equal(tg_kmp_form_owner(&form, (3 + 1) << 9 | 0x105), 3); /* somebody waits */
    assert_int_equal(tg_kmp_form_owner(&form, (3 + 1) << 9 | 3), -1);    /* a lock of another kind */
    assert_int_equal(tg_kmp_form_owner(&form, 0x5566), -1);
}

/* Compared with a word that the code has not: of another object, behind a change that is lost, with something that is no
 * number. */
CODE(other_object, "mov 0x20(%r8), %eax\n add $-1, %eax\n cmp %esi, %eax\n ret");
CODE(lost_number, "mov 0x20(%rdi), %eax\n mov $1, %esi\n lock xadd %esi, 0x18(%rdi)\n cmp %esi, %eax\n ret");
CODE(lost_lock, "call . + 0x100\n mov 0x20(%rdi), %eax\n cmp %esi, %eax\n ret");
CODE(part_of_a_number, "mov $7, %sil\n cmp %esi, 0x20(%rdi)\n ret");
CODE(two_ways, "test %eax, %eax\n je 1f\n mov %r8, %rdi\n 1: cmp %esi, 0x20(%rdi)\n ret");

static void what_is_not_that_code(void **state)
{
    (void)state;
    assert_false(read_form(other_object, other_object_end, 0).is_known);
    assert_false(read_form(lost_number, lost_number_end, 0).is_known);
    assert_false(read_form(lost_lock, lost_lock_end, 0).is_known);
    assert_false(read_form(part_of_a_number, part_of_a_number_end, 0).is_known);
    assert_false(read_form(two_ways, two_ways_end, 0).is_known);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_word_for_the_owner),
        cmocka_unit_test(a_word_with_a_tag),
        cmocka_unit_test(a_word_that_is_exchanged),
        cmocka_unit_test(what_is_not_that_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
