#include "recorder/stacks/argument_flow.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Functions as compilers make them, never called; each is in the call before "NAME_pc". */
#define FUNCTION(name, code)                                                                                 \
    extern const char name[], name##_pc[];                                                                   \
    __asm__(".text\n" #name ":\n" code "\nud2\n")
#define IN_CALL(name) "call other\n" #name "_pc:\n"
__asm__(".text\nother: ret\n");

FUNCTION(kept, "push %rbx\n push %r14\n mov %rdi,%rbx\n mov %ecx,%r14d\n" IN_CALL(
                   kept) "pop %r14\n pop %rbx\n ret");
FUNCTION(spilled,
         "sub $0x28,%rsp\n mov %r8d,0x8(%rsp)\n mov %r9,0x10(%rsp)\n test %eax,%eax\n je 1f\n call other\n"
         "1: " IN_CALL(spilled) "add $0x28,%rsp\n ret");
/* what was written last before the call may be for the one that is called; but this one is read again behind it */
FUNCTION(outgoing, "sub $0x18,%rsp\n mov %r8d,(%rsp)\n" IN_CALL(outgoing) "add $0x18,%rsp\n ret");
FUNCTION(reread, "push %rbx\n sub $0x10,%rsp\n mov %r8d,(%rsp)\n call other\n mov (%rsp),%ebx\n" IN_CALL(
                     reread) "ret");
/* somebody else knows the place in the frame */
FUNCTION(known_place,
         "sub $0x28,%rsp\n mov %r8d,0x10(%rsp)\n lea 0x8(%rsp),%rdi\n test %eax,%eax\n je 1f\n nop\n"
         "1: " IN_CALL(known_place) "ret");
FUNCTION(two_ways, "push %rbx\n mov %edi,%ebx\n test %esi,%esi\n je 1f\n mov %edx,%ebx\n"
                   "1: " IN_CALL(two_ways) "pop %rbx\n ret");
FUNCTION(loop,
         "push %rbx\n push %rbp\n mov %edi,%ebx\n mov %esi,%ebp\n 1: add $1,%ebx\n" IN_CALL(loop) "jmp 1b");
FUNCTION(by_table,
         "push %rbx\n mov %edi,%ebx\n test %esi,%esi\n je 1f\n jmp *%rax\n 1: " IN_CALL(by_table) "ret");
FUNCTION(with_frame,
         "push %rbp\n mov %rsp,%rbp\n sub $0x30,%rsp\n and $-32,%rsp\n mov %rdx,-0x18(%rbp)\n"
         "test %eax,%eax\n je 1f\n nop\n 1: mov -0x18(%rbp),%rsi\n" IN_CALL(with_frame) "leave\n ret");
FUNCTION(indirect, "sub $8,%rsp\n mov %rcx,%rdi\n mov %esi,%edx\n call *(%rax)\n indirect_pc: ret");
/* the first arguments on the stack are above the return address: one is changed, one is read; a pointer to a local variable does
 * not reach them, one to themselves does */
FUNCTION(
    on_stack,
    "push %rbx\n sub $0x20,%rsp\n mov 0x38(%rsp),%ebx\n movl $1,0x40(%rsp)\n lea 0x8(%rsp),%rdi\n" IN_CALL(
        on_stack) "add $0x20,%rsp\n pop %rbx\n ret");
FUNCTION(on_known_stack, "sub $8,%rsp\n lea 0x10(%rsp),%rdi\n" IN_CALL(on_known_stack) "add $8,%rsp\n ret");
/* an argument of a register that is put there is not the one that was there; and the address may be made without lea */
FUNCTION(
    spilled_above,
    "sub $8,%rsp\n mov %rsi,0x10(%rsp)\n lea 0x10(%rsp),%rdi\n call other\n mov 0x10(%rsp),%rdx\n" IN_CALL(
        spilled_above) "add $8,%rsp\n ret");
FUNCTION(added, "sub $0x18,%rsp\n mov %rsp,%rax\n add $0x20,%rax\n mov %rax,%rdi\n" IN_CALL(
                    added) "add $0x18,%rsp\n ret");
FUNCTION(compared, "sub $0x18,%rsp\n cmp %rsp,%rax\n" IN_CALL(compared) "add $0x18,%rsp\n ret");
FUNCTION(never, "ret\n" IN_CALL(never));

static bool read_own(void *context, uint64_t address, void *buffer, size_t size)
{
    (void)context;
    memcpy(buffer, (const void *)address, size); /* NOLINT(performance-no-int-to-ptr) */
    return true;
}

static const struct tg_inspect_memory memory = {NULL, read_own};

#define FIND(name, flow) tg_argument_flow_find(NULL, &memory, (uint64_t)(name), (uint64_t)name##_pc, flow)

static void test_places(void **state)
{
    (void)state;
    struct tg_argument_flow flow;
    assert_true(FIND(kept, &flow));
    assert_int_equal(flow.homes[0].kept, TG_RBX);
    assert_int_equal(flow.homes[0].kept_bytes, 8);
    assert_int_equal(flow.homes[0].passed, 0);
    assert_int_equal(flow.homes[3].kept, TG_R14);
    assert_int_equal(flow.homes[3].kept_bytes, 4);
    assert_int_equal(flow.homes[1].kept, -1);
    assert_true(flow.target != 0);
    assert_true(FIND(spilled, &flow));
    assert_int_equal(flow.homes[4].slot_bytes, 4);
    assert_int_equal(flow.homes[4].slot, -0x20);
    assert_int_equal(flow.homes[4].passed, -1); /* a call on the other way took it */
    assert_int_equal(flow.homes[5].slot_bytes, 8);
    assert_int_equal(flow.homes[5].slot, -0x18);
    assert_true(FIND(with_frame, &flow));
    assert_int_equal(flow.homes[2].slot, -0x20);
    assert_int_equal(flow.homes[2].passed, 1);
    assert_true(FIND(indirect, &flow));
    assert_int_equal(flow.homes[3].passed, 0);
    assert_int_equal(flow.homes[1].passed, 1);
    assert_int_equal(flow.homes[2].passed, -1);
    assert_true(flow.target == 0);
}

/* What another way, or somebody else, may have changed is unknown. */
static void test_unknown(void **state)
{
    (void)state;
    struct tg_argument_flow flow;
    assert_true(FIND(outgoing, &flow));
    assert_int_equal(flow.homes[4].slot_bytes, 0);
    assert_int_equal(flow.homes[4].passed, 4);
    assert_true(FIND(reread, &flow));
    assert_int_equal(flow.homes[4].kept, TG_RBX);
    assert_int_equal(flow.homes[4].slot_bytes, 0);
    assert_true(FIND(known_place, &flow));
    assert_int_equal(flow.homes[4].slot_bytes, 0);
    assert_true(FIND(two_ways, &flow));
    assert_int_equal(flow.homes[0].kept, -1);
    assert_int_equal(flow.homes[2].kept, -1);
    assert_true(FIND(loop, &flow));
    assert_int_equal(flow.homes[0].kept, -1);
    assert_int_equal(flow.homes[1].kept, TG_RBP);
    assert_int_equal(flow.homes[1].passed, -1);
    assert_false(FIND(by_table, &flow));
    assert_false(FIND(never, &flow));
}

static void test_arguments_on_the_stack(void **state)
{
    (void)state;
    struct tg_argument_flow flow;
    assert_true(FIND(on_stack, &flow));
    assert_int_equal(flow.homes[6].slot_bytes, 8);
    assert_int_equal(flow.homes[6].slot, 8);
    assert_int_equal(flow.homes[7].kept, TG_RBX);
    assert_int_equal(flow.homes[7].kept_bytes, 4);
    assert_int_equal(flow.homes[7].slot, 16);
    assert_int_equal(flow.homes[8].slot_bytes, 0);
    assert_int_equal(flow.homes[9].slot, 32);
    assert_int_equal(flow.homes[10].slot, 40);
    assert_true(FIND(on_known_stack, &flow));
    for (int i = TG_CALL_ARGUMENT_COUNT; i < TG_CALL_ARGUMENT_ALL; i++)
        assert_int_equal(flow.homes[i].slot_bytes, 0);
    assert_true(FIND(spilled_above, &flow));
    assert_int_equal(flow.homes[1].slot_bytes, 0);
    assert_int_equal(flow.homes[1].passed, -1);
    assert_true(FIND(added, &flow));
    for (int i = TG_CALL_ARGUMENT_COUNT; i < TG_CALL_ARGUMENT_ALL; i++)
        assert_int_equal(flow.homes[i].slot_bytes, 0);
    assert_true(FIND(compared, &flow));
    for (int i = TG_CALL_ARGUMENT_COUNT; i < TG_CALL_ARGUMENT_ALL; i++)
        assert_int_equal(flow.homes[i].slot_bytes, 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_places), cmocka_unit_test(test_unknown),
                                       cmocka_unit_test(test_arguments_on_the_stack)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
