#include "recorder/stacks/nest_locks.h"

#include "recorder/stacks/insn_reader.h"

#include <string.h>

enum { MAX_CODE_BYTES = 128, OWNER_OFFSET = 8 };

/* What a register holds, as far as the code has come. */
struct held {
    enum { NOTHING, OFFSET, TASK, SETTINGS } what;
    uint64_t offset;   /* of TASK and SETTINGS: of the task's address, from fs_base */
    uint64_t settings; /* in the task */
};

struct reading {
    const struct tg_inspect_memory *memory;
    struct held held[X86_REG_ENDING]; /* of those with 64 bits */
    struct tg_nest_locks found;
};

/* The offsets of thread-local variables of a library are words of its own, which the dynamic loader writes. */
static struct held load(struct reading *reading, const cs_insn *insn, const x86_op_mem *from)
{
    struct held result = {.what = NOTHING};
    const struct held *base = &reading->held[from->base];
    if (from->index != X86_REG_INVALID)
        return result;
    if (from->segment == X86_REG_FS && base->what == OFFSET)
        return (struct held){.what = TASK, .offset = base->offset + (uint64_t)from->disp};
    if (from->segment == X86_REG_FS && from->base == X86_REG_INVALID)
        return (struct held){.what = TASK, .offset = (uint64_t)from->disp};
    uint64_t address = insn->address + insn->size + (uint64_t)from->disp;
    if (from->segment == X86_REG_INVALID && from->base == X86_REG_RIP &&
        reading->memory->read(reading->memory->context, address, &result.offset, sizeof result.offset))
        result.what = OFFSET;
    return result;
}

static struct held add(const struct held *task, uint64_t offset)
{
    if (task->what != TASK)
        return (struct held){.what = NOTHING};
    return (struct held){.what = SETTINGS, .offset = task->offset, .settings = offset};
}

/* What INSN puts into its first operand, a register. */
static struct held result_of(struct reading *reading, const cs_insn *insn)
{
    const cs_x86_op *to = &insn->detail->x86.operands[0], *from = &insn->detail->x86.operands[1];
    if (insn->id == X86_INS_MOV && from->type == X86_OP_MEM && from->size == 8)
        return load(reading, insn, &from->mem);
    if (insn->id == X86_INS_MOV && from->type == X86_OP_REG)
        return reading->held[from->reg];
    if (insn->id == X86_INS_ADD && from->type == X86_OP_IMM)
        return add(&reading->held[to->reg], (uint64_t)from->imm);
    if (insn->id == X86_INS_LEA && from->mem.index == X86_REG_INVALID)
        return add(&reading->held[from->mem.base], (uint64_t)from->mem.disp);
    return (struct held){.what = NOTHING};
}

/* Whether INSN compares the owner of the lock with this thread's settings. */
static bool is_comparison(struct reading *reading, const cs_insn *insn)
{
    const cs_x86_op *operands = insn->detail->x86.operands;
    if (insn->id != X86_INS_CMP)
        return false;
    for (int i = 0; i < 2; i++) {
        const cs_x86_op *owner = &operands[i], *own = &operands[1 - i];
        const struct held *held = own->type == X86_OP_REG ? &reading->held[own->reg] : NULL;
        if (held == NULL || held->what != SETTINGS || owner->type != X86_OP_MEM ||
            owner->mem.disp != OWNER_OFFSET || owner->mem.index != X86_REG_INVALID)
            continue;
        reading->found = (struct tg_nest_locks){true, held->offset, held->settings};
        return true;
    }
    return false;
}

static void take(struct reading *reading, const cs_insn *insn)
{
    const cs_x86 *x86 = &insn->detail->x86;
    const cs_x86_op *to = &x86->operands[0];
    if (x86->op_count == 0 || to->type != X86_OP_REG || insn->id == X86_INS_CMP || insn->id == X86_INS_TEST ||
        insn->id == X86_INS_PUSH)
        return;
    if (x86->op_count == 2 && to->size == 8)
        reading->held[to->reg] = result_of(reading, insn);
    else /* a part of a register, and what else there may be */
        memset(reading->held, 0, sizeof reading->held);
}

struct tg_nest_locks tg_nest_locks_read(const uint8_t *code, size_t size, uint64_t address,
                                        const struct tg_inspect_memory *memory)
{
    struct reading reading = {.memory = memory};
    csh capstone;
    cs_insn *insn;
    if (!tg_insn_reader_begin(&capstone, &insn))
        return reading.found;
    while (cs_disasm_iter(capstone, &code, &size, &address, insn) &&
           !cs_insn_group(capstone, insn, X86_GRP_RET) && !cs_insn_group(capstone, insn, X86_GRP_CALL) &&
           !is_comparison(&reading, insn))
        take(&reading, insn);
    tg_insn_reader_end(&capstone, insn);
    return reading.found;
}

/* ---- libgomp */

static struct tg_nest_locks read_at(uint64_t address, const struct tg_inspect_memory *memory)
{
    uint8_t code[MAX_CODE_BYTES];
    return memory->read(memory->context, address, code, sizeof code)
               ? tg_nest_locks_read(code, sizeof code, address, memory)
               : (struct tg_nest_locks){.is_known = false};
}

/* An older version of the function, for programs of before OpenMP 3, has another form of lock. */
struct tg_nest_locks tg_nest_locks_find(struct tg_modules *modules, const struct tg_inspect_memory *memory)
{
    for (size_t i = 0; i < tg_modules_count(modules); i++) {
        const struct tg_module *module = tg_modules_at(modules, i);
        const char *slash = strrchr(module->path, '/');
        uint64_t bias, address;
        if (slash == NULL || strncmp(slash, "/libgomp.so", strlen("/libgomp.so")) != 0)
            continue;
        struct tg_debug_info *info = tg_modules_debug_info(modules, module, &bias);
        if (info != NULL &&
            tg_image_find_function(tg_debug_info_image(info), "omp_set_nest_lock@@OMP_3.0", &address, 1) == 1)
            return read_at(address + bias, memory);
    }
    return (struct tg_nest_locks){.is_known = false};
}
