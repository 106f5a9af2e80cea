/* The decoder of the agent against Capstone, over the code of this program and of the libraries that it
 * has. */
#include "recorder/agent/gomp/x86_code.h"

#include <capstone/capstone.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
/* clang-format off */
#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
/* clang-format on */

enum { MAX_BYTES = 1 << 18, MIN_INSTRUCTIONS = 20000 };

struct comparison {
    csh handle;
    cs_insn *instruction;
    long n_compared, n_jumps, n_unknown;
};

static bool is_in(const struct comparison *comparison, unsigned group)
{
    return cs_insn_group(comparison->handle, comparison->instruction, group);
}

/* Capstone's account of where the instruction goes, in the words of the decoder. */
static enum tg_x86_flow expected_flow(const struct comparison *comparison, int64_t *displacement)
{
    const cs_insn *insn = comparison->instruction;
    const cs_x86 *detail = &insn->detail->x86;
    bool is_direct = detail->op_count == 1 && detail->operands[0].type == X86_OP_IMM;
    if (is_in(comparison, CS_GRP_CALL))
        return TG_X86_CALL;
    bool counts = insn->id == X86_INS_LOOP || insn->id == X86_INS_LOOPE || insn->id == X86_INS_LOOPNE;
    if ((is_in(comparison, CS_GRP_JUMP) && is_direct) || counts) { /* Capstone has no group for loop */
        *displacement = detail->operands[0].imm - (int64_t)(insn->address + insn->size);
        return insn->id == X86_INS_JMP ? TG_X86_JUMP : TG_X86_JUMP_IF;
    }
    bool traps = insn->id == X86_INS_INT || insn->id == X86_INS_INT1 || insn->id == X86_INS_INT3 ||
                 insn->id == X86_INS_HLT || strncmp(insn->mnemonic, "ud", 2) == 0;
    bool leaves = traps || is_in(comparison, CS_GRP_JUMP) || is_in(comparison, CS_GRP_RET) ||
                  insn->id == X86_INS_IRET || insn->id == X86_INS_IRETD || insn->id == X86_INS_IRETQ;
    return leaves ? TG_X86_LEAVES : TG_X86_ON;
}

static void compare_one(struct comparison *comparison, const uint8_t *code, size_t size)
{
    const cs_insn *insn = comparison->instruction;
    struct tg_x86_code found;
    char text[300];
    snprintf(text, sizeof text, "%02x %02x %02x %02x: %s %s", code[0], code[1], code[2], code[3],
             insn->mnemonic, insn->op_str);
    if (!tg_x86_decode(code, size, &found)) {
        comparison->n_unknown++;
        return;
    }
    if (found.length != insn->size)
        fail_msg("%s: length %d, not %d", text, found.length, (int)insn->size);
    int64_t displacement = 0;
    enum tg_x86_flow flow = expected_flow(comparison, &displacement);
    if (found.flow != flow)
        fail_msg("%s: flow %d, not %d", text, found.flow, (int)flow);
    if ((flow == TG_X86_JUMP || flow == TG_X86_JUMP_IF) && found.operand != displacement)
        fail_msg("%s: jumps by %ld, not %ld", text, (long)found.operand, (long)displacement);
    comparison->n_jumps += flow == TG_X86_JUMP || flow == TG_X86_JUMP_IF;
    comparison->n_compared++;
    /* cut off anywhere, it is not known */
    for (size_t cut = 0; cut < found.length; cut++)
        assert_false(tg_x86_decode(code, cut, &found));
}

static void compare_range(struct comparison *comparison, const uint8_t *code, size_t size)
{
    uint64_t address = (uintptr_t)code;
    const uint8_t *at = code;
    while (size > 16) {
        const uint8_t *start = at;
        size_t left = size;
        if (cs_disasm_iter(comparison->handle, &at, &size, &address, comparison->instruction)) {
            compare_one(comparison, start, left);
        } else { /* newer than Capstone, or no code */
            at = start + 1;
            size = left - 1;
            address++;
        }
    }
}

static int compare_object(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || (segment->p_flags & PF_X) == 0)
            continue;
        const uint8_t *code = (const uint8_t *)(info->dlpi_addr + segment->p_vaddr); // NOLINT: an address
        /* behind what is no code of functions: stubs at the start */
        size_t n = segment->p_filesz < MAX_BYTES ? segment->p_filesz : MAX_BYTES;
        compare_range(context, code, n);
    }
    return 0;
}

static void code_is_decoded_as_by_capstone(void **state)
{
    (void)state;
    struct comparison comparison = {0};
    assert_int_equal(cs_open(CS_ARCH_X86, CS_MODE_64, &comparison.handle), CS_ERR_OK);
    cs_option(comparison.handle, CS_OPT_DETAIL, CS_OPT_ON);
    comparison.instruction = cs_malloc(comparison.handle);
    assert_non_null(comparison.instruction);
    dl_iterate_phdr(compare_object, &comparison);
    cs_free(comparison.instruction, 1);
    cs_close(&comparison.handle);
    assert_true(comparison.n_compared > MIN_INSTRUCTIONS);
    assert_true(comparison.n_jumps > comparison.n_compared / 100);
    assert_true(comparison.n_unknown < comparison.n_compared / 200);
}

static void operands_are_known(void **state)
{
    (void)state;
    struct tg_x86_code found;
    static const uint8_t move[] = {0x41, 0x89, 0xc4}; /* mov %eax, %r12d */
    assert_true(tg_x86_decode(move, sizeof move, &found));
    assert_true(found.mod == 3 && found.reg == 0 && found.rm == 12 && !found.is_wide);
    static const uint8_t constant[] = {0x49, 0xbf, 1, 2, 3, 4, 5, 6, 7, 0x88}; /* movabs, %r15 */
    assert_true(tg_x86_decode(constant, sizeof constant, &found));
    assert_true(found.rm == 15 && found.is_wide && (uint64_t)found.operand == 0x8807060504030201U);
    static const uint8_t compare[] = {0x48, 0x83, 0xf8, 0xff}; /* cmp $-1, %rax */
    assert_true(tg_x86_decode(compare, sizeof compare, &found));
    assert_true(found.mod == 3 && found.rm == 0 && found.operand == -1 && (found.reg & 7) == 7);
    static const uint8_t vector[] = {0xc4, 0xe2, 0x7d, 0x18, 0x05, 1, 2, 3, 4}; /* vbroadcastss */
    assert_true(tg_x86_decode(vector, sizeof vector, &found));
    assert_true(found.is_vector && found.length == 9);
    static const uint8_t wide_vector[] = {0x62, 0xf1, 0x7c, 0x48, 0xc2, 0xc1, 0x02}; /* vcmpps */
    assert_true(tg_x86_decode(wide_vector, sizeof wide_vector, &found));
    assert_true(found.is_vector && found.length == 7 && found.operand == 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_is_decoded_as_by_capstone),
        cmocka_unit_test(operands_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
