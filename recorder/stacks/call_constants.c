#include "recorder/stacks/call_constants.h"

#include "format/base/array.h"
#include "recorder/stacks/insn_reader.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CODE_BYTES = 64 * 1024 };

/* A function that is looked through. */
struct looking {
    csh capstone;
    cs_insn *insn;
    const struct tg_inspect_memory *memory;
    struct tg_code_range
        got; /* addresses of variables and functions of other objects: the dynamic loader writes them once */
    uint64_t *targets; /* of jumps, sorted */
    size_t n_targets, capacity;
    bool is_clear; /* all of its jumps are known */
    uint64_t pc;   /* where the call returns to */
    bool is_there; /* at the call */
    uint64_t value[TG_CALL_REGISTER_COUNT];
    uint32_t known;
    uint32_t of_variable; /* known values that a variable of the object has now */
};

typedef bool take_insn(struct looking *looking); /* false: no further */

/* Calls TAKE for each instruction from START to END; false where something there is none. */
static bool each_insn(struct looking *looking, uint64_t start, uint64_t end, take_insn *take)
{
    size_t left = end - start;
    uint8_t *bytes = malloc(left);
    const uint8_t *code = bytes;
    uint64_t address = start;
    bool ok = bytes != NULL && looking->memory->read(looking->memory->context, start, bytes, left);
    while (ok && left > 0)
        ok = cs_disasm_iter(looking->capstone, &code, &left, &address, looking->insn) && take(looking);
    free(bytes);
    return ok;
}

/* ---- jumps */

static bool take_target(struct looking *looking)
{
    const cs_insn *insn = looking->insn;
    if (!cs_insn_group(looking->capstone, insn, X86_GRP_JUMP))
        return true;
    const cs_x86_op *operand = &insn->detail->x86.operands[0];
    if (insn->detail->x86.op_count != 1 || operand->type != X86_OP_IMM) {
        looking->is_clear = false;
        return false;
    }
    uint64_t target = (uint64_t)operand->imm;
    if (TG_ARRAY_APPEND(looking->targets, looking->n_targets, looking->capacity, target) != NULL)
        looking->is_clear = false;
    return looking->is_clear;
}

static int compare(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* ---- values */

static bool is_of_object(const cs_x86_op *operand)
{
    return operand->type == X86_OP_MEM && operand->mem.base == X86_REG_RIP &&
           operand->mem.index == X86_REG_INVALID && operand->mem.segment == X86_REG_INVALID;
}

/* What a variable of the object has now that the instruction puts into its first operand. */
static bool read_variable(const struct looking *looking, uint64_t *value)
{
    const cs_insn *insn = looking->insn;
    const cs_x86_op *from = &insn->detail->x86.operands[1];
    uint64_t address = insn->address + insn->size + (uint64_t)from->mem.disp;
    *value = 0;
    return insn->id == X86_INS_MOV && is_of_object(from) &&
           (from->size == 4 || from->size == sizeof *value) &&
           looking->memory->read(looking->memory->context, address, value, from->size);
}

/* The constant that the instruction puts into its first operand. */
static bool read_constant(const struct looking *looking, uint64_t *value)
{
    const cs_insn *insn = looking->insn;
    const cs_x86_op *to = &insn->detail->x86.operands[0], *from = &insn->detail->x86.operands[1];
    uint64_t address = insn->address + insn->size + (uint64_t)from->mem.disp;
    *value = 0;
    if (insn->id == X86_INS_XOR)
        return from->type == X86_OP_REG && from->reg == to->reg;
    if (insn->id == X86_INS_LEA) {
        *value = address;
        return is_of_object(from);
    }
    if (insn->id != X86_INS_MOV && insn->id != X86_INS_MOVABS)
        return false;
    if (from->type == X86_OP_IMM) {
        *value = (uint64_t)from->imm;
        return true;
    }
    if (from->type == X86_OP_REG) {
        int slot = tg_call_register_place(from->reg);
        *value = slot >= 0 ? looking->value[slot] : 0;
        return slot >= 0 && ((looking->known & ~looking->of_variable) >> slot & 1) != 0;
    }
    return is_of_object(from) && from->size == sizeof *value && address >= looking->got.start &&
           address < looking->got.end &&
           looking->memory->read(looking->memory->context, address, value, sizeof *value);
}

static bool take_value(struct looking *looking)
{
    const cs_insn *insn = looking->insn;
    const cs_x86 *x86 = &insn->detail->x86;
    cs_regs read, written;
    uint8_t n_read, n_written;
    uint64_t value = 0;
    if (looking->n_targets > 0 && bsearch(&insn->address, looking->targets, looking->n_targets,
                                          sizeof *looking->targets, compare) != NULL)
        looking->known = 0;
    looking->is_there =
        cs_insn_group(looking->capstone, insn, X86_GRP_CALL) && insn->address + insn->size == looking->pc;
    if (looking->is_there)
        return false;
    if (cs_insn_group(looking->capstone, insn, X86_GRP_CALL) ||
        cs_insn_group(looking->capstone, insn, X86_GRP_RET) || insn->id == X86_INS_JMP) {
        looking->known = 0;
        return true;
    }
    int to = x86->op_count == 2 && x86->operands[0].type == X86_OP_REG
                 ? tg_call_register_place(x86->operands[0].reg)
                 : -1;
    bool is_wide = to >= 0 && x86->operands[0].size >= 4,
         is_constant = is_wide && read_constant(looking, &value),
         is_known = is_constant || (is_wide && read_variable(looking, &value));
    if (cs_regs_access(looking->capstone, insn, read, &n_read, written, &n_written) != 0)
        return false;
    for (int i = 0; i < n_written; i++) {
        int slot = tg_call_register_place(written[i]);
        if (slot >= 0)
            looking->known &= ~(1u << slot);
    }
    if (is_known) {
        looking->known |= 1u << to;
        looking->of_variable &= ~(1u << to);
        looking->of_variable |= (uint32_t)!is_constant << to;
        looking->value[to] = x86->operands[0].size == 4 ? (uint32_t)value : value;
    }
    return true;
}

/* ---- the function */

/* Pieces of FUNCTION, at most MAX; more than that, or too much code: 0. */
static size_t find_ranges(Dwarf_Die *function, uint64_t bias, struct tg_code_range *ranges, size_t max)
{
    size_t n = 0;
    uint64_t size = 0;
    Dwarf_Addr base, start, end;
    for (ptrdiff_t at = 0; (at = dwarf_ranges(function, at, &base, &start, &end)) > 0;) {
        if (n == max || end <= start || (size += end - start) > MAX_CODE_BYTES)
            return 0;
        ranges[n++] = (struct tg_code_range){start + bias, end + bias};
    }
    return n;
}

static struct tg_code_range find_got(Dwarf_Die *function, uint64_t bias)
{
    Elf *elf = dwarf_getelf(dwarf_cu_getdwarf(function->cu));
    size_t names;
    if (elf == NULL || elf_getshdrstrndx(elf, &names) != 0)
        return (struct tg_code_range){0};
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section)) != NULL;) {
        GElf_Shdr header;
        const char *name =
            gelf_getshdr(section, &header) != NULL ? elf_strptr(elf, names, header.sh_name) : NULL;
        if (name != NULL && strcmp(name, ".got") == 0)
            return (struct tg_code_range){header.sh_addr + bias, header.sh_addr + header.sh_size + bias};
    }
    return (struct tg_code_range){0};
}

void tg_call_constants_read(const struct tg_code_range *code, size_t count, struct tg_code_range got,
                            const struct tg_inspect_memory *memory, uint64_t pc, uint16_t wanted,
                            uint16_t steady, struct tg_call_arguments *arguments)
{
    struct looking looking = {.memory = memory, .is_clear = true, .pc = pc, .got = got};
    size_t at = 0;
    while (at < count && !(pc > code[at].start && pc <= code[at].end))
        at++;
    if (at == count || !tg_insn_reader_begin(&looking.capstone, &looking.insn))
        return;
    for (size_t i = 0; i < count && looking.is_clear; i++)
        looking.is_clear = each_insn(&looking, code[i].start, code[i].end, take_target);
    if (looking.n_targets > 0)
        qsort(looking.targets, looking.n_targets, sizeof *looking.targets, compare);
    if (looking.is_clear)
        each_insn(&looking, code[at].start, code[at].end, take_value);
    for (int i = 0; i < TG_CALL_ARGUMENT_COUNT && looking.is_there; i++)
        if ((looking.known & wanted & ~(uint32_t)arguments->known & (~looking.of_variable | steady)) >> i &
            1) {
            arguments->value[i] = looking.value[i];
            arguments->known |= (uint16_t)(1u << i);
        }
    free(looking.targets);
    tg_insn_reader_end(&looking.capstone, looking.insn);
}

void tg_call_constants_find(Dwarf_Die *function, uint64_t bias, const struct tg_inspect_memory *memory,
                            uint64_t pc, uint16_t wanted, uint16_t steady,
                            struct tg_call_arguments *arguments)
{
    enum { MAX_PIECES = 8 };
    struct tg_code_range code[MAX_PIECES];
    size_t count = find_ranges(function, bias, code, MAX_PIECES);
    if (count > 0)
        tg_call_constants_read(code, count, find_got(function, bias), memory, pc, wanted, steady, arguments);
}
