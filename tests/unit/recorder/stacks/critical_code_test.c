#include "recorder/stacks/critical_code.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    ADDRESS = 0x10000,
    BEGIN = 0x20000,
    END = 0x20010,
    BEGIN_ALL = 0x20020,
    END_ALL = 0x20030,
    DIE = 0x20040
};
enum { FIRST = 0x30000, SECOND = 0x30100, UNNAMED = 1, SLOT = 0x18000 };

/* Code that is assembled as if it lay at ADDRESS: what it calls is there relative to where it begins. */
#define CODE(name, text)                                                                                     \
    extern const uint8_t name[], name##_end[], name##_at[];                                                  \
    __asm__(".pushsection .rodata\n" #name ":\n .set begin, " #name " + 0x10000\n .set end, " #name          \
            " + 0x10010\n .set begin_all, " #name " + 0x10020\n .set end_all, " #name                        \
            " + 0x10030\n .set die, " #name " + 0x10040\n .set first, " #name                                \
            " + 0x20000\n .set second, " #name " + 0x20100\n .set slot, " #name " + 0x8000\n" text           \
            "\n" #name "_end:\n.popsection")

static struct tg_critical_call find_call(void *context, uint64_t target)
{
    (void)context;
    return target == BEGIN       ? (struct tg_critical_call){TG_CRITICAL_BEGINS, TG_RDX, 0}
           : target == END       ? (struct tg_critical_call){TG_CRITICAL_ENDS, TG_RDX, 0}
           : target == BEGIN_ALL ? (struct tg_critical_call){TG_CRITICAL_BEGINS, -1, UNNAMED}
           : target == END_ALL   ? (struct tg_critical_call){TG_CRITICAL_ENDS, -1, UNNAMED}
           : target == DIE       ? (struct tg_critical_call){TG_CRITICAL_NEVER_RETURNS, -1, 0}
                                 : (struct tg_critical_call){TG_CRITICAL_OTHER, -1, 0};
}

static bool read_slot(void *context, uint64_t address, void *buffer, size_t size)
{
    const uint64_t lock = SECOND;
    (void)context;
    if (address != SLOT || size != sizeof lock)
        return false;
    memcpy(buffer, &lock, size);
    return true;
}

static bool read_at(const uint8_t *code, const uint8_t *end, const uint8_t *at,
                    struct tg_critical_place *place)
{
    const struct tg_critical_calls calls = {NULL, find_call};
    const struct tg_inspect_memory memory = {NULL, read_slot};
    return tg_critical_code_read(code, (size_t)(end - code), ADDRESS, &calls, &memory,
                                 ADDRESS + (uint64_t)(at - code), place);
}

#define READ(name, label, place) read_at(name, name##_end, label, place)

static bool is_held(const struct tg_critical_place *place, uint64_t lock)
{
    for (size_t i = 0; i < place->n_held; i++)
        if (place->held[i] == lock)
            return true;
    return false;
}

/* Two sections, one in the other; the second one's lock comes from a global offset table. */
CODE(nested,
     "push %rbx\n lea first(%rip), %rbx\n mov %rbx, %rdx\n nested_outer: call begin\n nested_in: nop\n"
     " mov slot(%rip), %rdx\n nested_at: call begin\n nested_both: nop\n mov slot(%rip), %rdx\n"
     " nested_leaving: call end\n nested_one: nop\n mov %rbx, %rdx\n call end\n nested_out: nop\n pop %rbx\n "
     "ret");
extern const uint8_t nested_outer[], nested_in[], nested_both[], nested_leaving[], nested_one[], nested_out[];

static void sections_are_told_by_the_calls_around_a_place(void **state)
{
    (void)state;
    struct tg_critical_place place;
    assert_true(READ(nested, nested, &place));
    assert_int_equal(place.n_held, 0);
    assert_true(READ(nested, nested_outer, &place));
    assert_int_equal(place.lock, FIRST);
    assert_int_equal(place.n_held, 0);
    assert_true(READ(nested, nested_in, &place));
    assert_true(place.n_held == 1 && is_held(&place, FIRST) && place.lock == 0);
    assert_true(READ(nested, nested_at + 4, &place)); /* a byte of the call that is not its first one */
    assert_true(place.lock == SECOND && place.n_held == 1 && is_held(&place, FIRST));
    assert_true(READ(nested, nested_both, &place));
    assert_true(place.n_held == 2 && is_held(&place, FIRST) && is_held(&place, SECOND));
    assert_true(READ(nested, nested_leaving, &place)); /* it may be free already */
    assert_true(place.n_held == 1 && is_held(&place, FIRST));
    assert_true(READ(nested, nested_one, &place));
    assert_true(place.n_held == 1 && is_held(&place, FIRST));
    assert_true(READ(nested, nested_out, &place));
    assert_int_equal(place.n_held, 0);
}

/* Two sections that a compiler lets end with one call, by a jump to it; loops and ways around them. */
CODE(merged,
     "test %edi, %edi\n je 1f\n lea first(%rip), %rdx\n call begin\n merged_at: nop\n 3: dec %eax\n jne 3b\n"
     " lea first(%rip), %rdx\n jmp 2f\n 1: cmp $7, %esi\n je 4f\n lea second(%rip), %rdx\n call begin\n "
     "merged_other: nop\n"
     " lea second(%rip), %rdx\n 2: call end\n 4: merged_behind: ret");
extern const uint8_t merged_other[], merged_behind[];

static void ways_that_meet_are_followed_one_by_one(void **state)
{
    (void)state;
    struct tg_critical_place place;
    assert_true(READ(merged, merged_at, &place));
    assert_true(place.n_held == 1 && is_held(&place, FIRST));
    assert_true(READ(merged, merged_other, &place));
    assert_true(place.n_held == 1 && is_held(&place, SECOND));
    assert_true(READ(merged, merged_behind, &place));
    assert_int_equal(place.n_held, 0);
}

/* Behind a call that never returns comes the code of another way; a section that waits for itself; and an end by a jump. */
CODE(dying,
     "call begin_all\n test %edi, %edi\n je 1f\n call die\n 2: dying_at: nop\n ret\n"
     " 1: dying_inside: nop\n call end_all\n cmp $1, %esi\n je 2b\n call begin_all\n cmp $2, %esi\n je 3f\n"
     " call begin_all\n ud2\n 3: dying_last: nop\n jmp end_all");
extern const uint8_t dying_inside[], dying_last[];

static void ways_that_end_lead_nowhere(void **state)
{
    (void)state;
    struct tg_critical_place place;
    assert_true(READ(dying, dying_at, &place));
    assert_int_equal(place.n_held, 0);
    assert_true(READ(dying, dying_inside, &place));
    assert_true(place.n_held == 1 && is_held(&place, UNNAMED));
    assert_true(READ(dying, dying_last, &place));
    assert_true(place.n_held == 1 && is_held(&place, UNNAMED));
}

/* A jump by a table, of which a part of the code knows where it is. */
CODE(
    tabled,
    "push %rbx\n lea 9f(%rip), %rbx\n 1: cmp $2, %edi\n ja 8f\n mov %edi, %eax\n movslq (%rbx,%rax,4), %rax\n"
    " add %rbx, %rax\n jmp *%rax\n 2: call begin_all\n tabled_at: nop\n jmp 7f\n 3: lea first(%rip), %rdx\n "
    "call begin\n"
    " tabled_other: nop\n lea first(%rip), %rdx\n call end\n jmp 1b\n 7: call end_all\n tabled_out: jmp 1b\n"
    " 8: pop %rbx\n ret\n .balign 4\n 9: .long 2b - 9b, 3b - 9b, 8b - 9b");
extern const uint8_t tabled_other[], tabled_out[];

static const uint8_t *tabled_code = tabled;

/* The table lies behind the code. */
static bool read_table(void *context, uint64_t address, void *buffer, size_t size)
{
    (void)context;
    if (address < ADDRESS || address + size > ADDRESS + (uint64_t)(tabled_end - tabled))
        return false;
    memcpy(buffer, tabled_code + (address - ADDRESS), size);
    return true;
}

static bool read_tabled(const uint8_t *at, bool has_table, struct tg_critical_place *place)
{
    const struct tg_critical_calls calls = {NULL, find_call};
    const struct tg_inspect_memory memory = {NULL, has_table ? read_table : read_slot};
    return tg_critical_code_read(tabled, (size_t)(tabled_end - tabled), ADDRESS, &calls, &memory,
                                 ADDRESS + (uint64_t)(at - tabled), place);
}

static void jumps_by_tables_are_followed(void **state)
{
    (void)state;
    struct tg_critical_place place;
    assert_true(read_tabled(tabled_at, true, &place));
    assert_true(place.n_held == 1 && is_held(&place, UNNAMED));
    assert_true(read_tabled(tabled_other, true, &place));
    assert_true(place.n_held == 1 && is_held(&place, FIRST));
    assert_true(read_tabled(tabled_out, true, &place));
    assert_int_equal(place.n_held, 0);
    read_tabled(tabled_at, false, &place); /* nothing is known of what the table leads to */
    assert_int_equal(place.n_held, 0);
}

/* A jump by what is taken for a table, as its last entry leads out of the function; what it says first is behind the other
 * jumps. */
CODE(untabled, "lea 9f(%rip), %rbx\n cmp $7, %edi\n ja 8f\n mov %edi, %eax\n movslq (%rbx,%rax,4), %rax\n "
               "add %rbx, %rax\n jmp *%rax\n"
               " 7: call begin_all\n untabled_at: nop\n jmp 6f\n 5: nop\n 6: call end_all\n 8: cmp $3, "
               "%esi\n je 7b\n ret\n"
               " .balign 4\n 9: .rept 7\n .long 5b - 9b\n .endr\n .long first - 9b");

static bool read_untabled(void *context, uint64_t address, void *buffer, size_t size)
{
    const uint8_t *code = untabled;
    (void)context;
    if (address < ADDRESS || address + size > ADDRESS + (uint64_t)(untabled_end - code))
        return false;
    memcpy(buffer, code + (address - ADDRESS), size);
    return true;
}

static void a_table_that_leads_out_of_the_function_is_none(void **state)
{
    (void)state;
    const struct tg_critical_calls calls = {NULL, find_call};
    const struct tg_inspect_memory memory = {NULL, read_untabled};
    struct tg_critical_place place;
    assert_true(tg_critical_code_read(untabled, (size_t)(untabled_end - untabled), ADDRESS, &calls, &memory,
                                      ADDRESS + (uint64_t)(untabled_at - untabled), &place));
    assert_true(place.n_held == 1 && is_held(&place, UNNAMED));
}

/* The lock is no constant; a way returns in a section; and one ends what it has not begun. */
CODE(unknown, "mov %rdi, %rdx\n call begin\n unknown_at: nop\n mov %rdi, %rdx\n call end\n ret");
CODE(returning, "call begin_all\n test %edi, %edi\n jne 1f\n returning_at: call end_all\n 1: ret");
CODE(ending, "test %edi, %edi\n je 1f\n call begin_all\n ending_at: nop\n 1: call end_all\n ret");
CODE(without, "call die\n without_at: ret");

static void what_compilers_do_not_make_tells_nothing(void **state)
{
    (void)state;
    struct tg_critical_place place;
    assert_false(READ(unknown, unknown_at, &place));
    assert_false(READ(returning, returning_at, &place));
    assert_int_equal(place.n_held, 0);
    assert_false(READ(ending, ending_at, &place));
    assert_false(READ(without, without_at, &place));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sections_are_told_by_the_calls_around_a_place),
        cmocka_unit_test(ways_that_meet_are_followed_one_by_one),
        cmocka_unit_test(ways_that_end_lead_nowhere),
        cmocka_unit_test(jumps_by_tables_are_followed),
        cmocka_unit_test(a_table_that_leads_out_of_the_function_is_none),
        cmocka_unit_test(what_compilers_do_not_make_tells_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
