#include "recorder/unwind/unwind.h"

#include "recorder/unwind/unwind_expression.h"

#include <string.h>

struct tg_frame tg_frame_innermost(const struct tg_registers *registers)
{
    return (struct tg_frame){.registers = *registers, .is_activation = true};
}

const char *tg_unwind_result_text(enum tg_unwind_result result)
{
    switch (result) {
    case TG_UNWIND_CALLER:
    case TG_UNWIND_END:
        return "";
    case TG_UNWIND_NO_RULE:
        return "no unwind information and no frame pointer";
    case TG_UNWIND_NO_MEMORY:
        return "the stack cannot be read";
    case TG_UNWIND_BACKWARD:
        return "the caller would be inside its callee: corrupt stack?";
    case TG_UNWIND_OUT_OF_CODE:
        return "the return address is not in any mapped object: corrupt stack?";
    }
    return "";
}

static bool read_word(const struct tg_inspect_memory *memory, uint64_t address, uint64_t *value)
{
    return memory->read(memory->context, address, value, sizeof *value);
}

static void set(struct tg_registers *registers, enum tg_register number, uint64_t value)
{
    registers->value[number] = value;
    registers->known |= 1u << number;
}

/* ---- by rules */

static bool cfa_of(const struct tg_unwind_rules *rules, const struct tg_registers *registers,
                   const struct tg_inspect_memory *memory, uint64_t *cfa)
{
    bool is_value;
    if (rules->cfa_register == TG_REGISTER_COUNT)
        return tg_unwind_expression_run(rules->cfa.ops, rules->cfa.n_ops, registers, memory, 0, cfa,
                                        &is_value);
    if (!tg_registers_has(registers, (enum tg_register)rules->cfa_register))
        return false;
    *cfa = registers->value[rules->cfa_register] + (uint64_t)rules->cfa.offset;
    return true;
}

/* False where the register is lost. */
static bool apply(const struct tg_unwind_rule *rule, const struct tg_frame *frame, enum tg_register number,
                  const struct tg_inspect_memory *memory, uint64_t *value)
{
    uint64_t from = number;
    bool is_value;
    switch (rule->kind) {
    case TG_UNWIND_AT:
        return read_word(memory, frame->cfa + (uint64_t)rule->offset, value);
    case TG_UNWIND_IS:
        *value = frame->cfa + (uint64_t)rule->offset;
        return true;
    case TG_UNWIND_EXPRESSION:
        return tg_unwind_expression_run(rule->ops, rule->n_ops, &frame->registers, memory, frame->cfa, value,
                                        &is_value) &&
               (is_value || read_word(memory, *value, value));
    case TG_UNWIND_REGISTER:
        from = (uint64_t)rule->offset;
        break;
    case TG_UNWIND_SAME:
        break;
    default:
        return false;
    }
    if (from >= TG_REGISTER_COUNT || !tg_registers_has(&frame->registers, (enum tg_register)from))
        return false;
    *value = frame->registers.value[from];
    return true;
}

static enum tg_unwind_result by_rules(const struct tg_unwind_rules *rules,
                                      const struct tg_inspect_memory *memory, struct tg_frame *frame,
                                      struct tg_frame *caller)
{
    if (!cfa_of(rules, &frame->registers, memory, &frame->cfa))
        return TG_UNWIND_NO_MEMORY;
    if (rules->registers[TG_RIP].kind == TG_UNWIND_UNDEFINED)
        return TG_UNWIND_END;
    *caller = (struct tg_frame){.is_activation = rules->is_signal};
    for (unsigned i = 0; i < TG_REGISTER_COUNT; i++) {
        uint64_t value;
        if (apply(&rules->registers[i], frame, (enum tg_register)i, memory, &value))
            set(&caller->registers, (enum tg_register)i, value);
    }
    /* the stack pointer before the call, where no rule says otherwise (a signal's does) */
    if (rules->registers[TG_RSP].kind == TG_UNWIND_SAME ||
        rules->registers[TG_RSP].kind == TG_UNWIND_UNDEFINED)
        set(&caller->registers, TG_RSP, frame->cfa);
    return tg_registers_has(&caller->registers, TG_RIP) ? TG_UNWIND_CALLER : TG_UNWIND_NO_MEMORY;
}

/* ---- without rules */

/* Whether CODE can be a return address: in a mapped object, or (code made at run time) behind a call. */
static bool follows_call(struct tg_modules *modules, const struct tg_inspect_memory *memory, uint64_t code)
{
    uint64_t bias;
    struct tg_debug_info *info = tg_modules_debug_info_at(modules, code - 1, &bias);
    if (info != NULL)
        return tg_debug_info_is_code(info, code - 1 - bias);
    uint8_t bytes[7];
    if (code < sizeof bytes || !memory->read(memory->context, code - sizeof bytes, bytes, sizeof bytes))
        return false;
    if (bytes[2] == 0xe8)
        return true;
    for (size_t i = 0; i + 1 < sizeof bytes; i++) /* FF /2 */
        if (bytes[i] == 0xff && (bytes[i + 1] >> 3 & 7) == 2)
            return true;
    return false;
}

/* The caller where the return address is at SLOT. */
static enum tg_unwind_result caller_at(struct tg_modules *modules, const struct tg_inspect_memory *memory,
                                       struct tg_frame *frame, uint64_t slot, struct tg_frame *caller)
{
    uint64_t code;
    if (!read_word(memory, slot, &code))
        return TG_UNWIND_NO_MEMORY;
    if (code == 0)
        return TG_UNWIND_END;
    if (!follows_call(modules, memory, code))
        return TG_UNWIND_OUT_OF_CODE;
    frame->cfa = slot + 8;
    *caller = (struct tg_frame){0};
    static const enum tg_register kept[] = {TG_RBX, TG_RBP, TG_R12, TG_R13, TG_R14, TG_R15};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (tg_registers_has(&frame->registers, kept[i]))
            set(&caller->registers, kept[i], frame->registers.value[kept[i]]);
    set(&caller->registers, TG_RSP, frame->cfa);
    set(&caller->registers, TG_RIP, code);
    return TG_UNWIND_CALLER;
}

enum { PUSH_RBP = 0x55, RET = 0xc3, RET_N = 0xc2, REP = 0xf3 };

/* How far above the stack pointer the return address is: before and after the push of the frame pointer that
 * a function begins with, and at its return. -1: the frame pointer has to tell. */
static int distance_to_return(struct tg_modules *modules, const struct tg_inspect_memory *memory,
                              const struct tg_frame *frame)
{
    uint64_t pc = frame->registers.value[TG_RIP];
    if (!frame->is_activation)
        return -1;
    if (tg_modules_find(modules, pc) == NULL)
        return 0; /* called through a bad pointer, or into code made at run time: so it has just begun */
    uint8_t code[8];
    if (!memory->read(memory->context, pc, code, 2))
        return -1;
    if (code[0] == RET || code[0] == RET_N || (code[0] == REP && code[1] == RET))
        return 0;
    const char *name;
    uint64_t offset;
    static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
    if (!tg_modules_symbol_at(modules, pc, &name, &offset) || offset > 5)
        return -1;
    if (offset == 0)
        return 0;
    if (!memory->read(memory->context, pc - offset, code, offset))
        return -1;
    size_t at = offset >= 4 && memcmp(code, endbr64, 4) == 0 ? 4 : 0;
    if (at == offset)
        return 0;
    return at + 1 == offset && code[at] == PUSH_RBP ? 8 : -1;
}

/* Assembly without unwind information around a system call, as glibc's clone3, keeps nothing on the stack, and returns soon. */
static bool is_near_system_call(const struct tg_inspect_memory *memory, const struct tg_frame *frame)
{
    enum { BEFORE = 9, CALL_BYTES = 2 };
    static const uint8_t system_call[CALL_BYTES] = {0x0f, 0x05};
    uint8_t code[BEFORE + CALL_BYTES];
    uint64_t pc = frame->registers.value[TG_RIP];
    if (!frame->is_activation || pc < BEFORE ||
        !memory->read(memory->context, pc - BEFORE, code, sizeof code))
        return false;
    for (size_t i = 0; i <= BEFORE; i++)
        if (memcmp(&code[i], system_call, CALL_BYTES) == 0)
            return true;
    return false;
}

/* The return address is the first word on the stack; a thread that the system call has just made, for which it returned 0,
 * has none. */
static enum tg_unwind_result by_system_call(struct tg_modules *modules,
                                            const struct tg_inspect_memory *memory, struct tg_frame *frame,
                                            struct tg_frame *caller)
{
    const struct tg_registers *registers = &frame->registers;
    enum tg_unwind_result result = caller_at(modules, memory, frame, registers->value[TG_RSP], caller);
    bool is_new = tg_registers_has(registers, TG_RAX) && registers->value[TG_RAX] == 0;
    return result == TG_UNWIND_OUT_OF_CODE && is_new ? TG_UNWIND_END : result;
}

static enum tg_unwind_result by_frame_pointer(struct tg_modules *modules,
                                              const struct tg_inspect_memory *memory, struct tg_frame *frame,
                                              struct tg_frame *caller)
{
    const struct tg_registers *registers = &frame->registers;
    uint64_t saved, rbp = registers->value[TG_RBP];
    int distance = distance_to_return(modules, memory, frame);
    if (distance >= 0 && tg_registers_has(registers, TG_RSP)) {
        uint64_t slot = registers->value[TG_RSP] + (unsigned)distance;
        enum tg_unwind_result result = caller_at(modules, memory, frame, slot, caller);
        if (result == TG_UNWIND_CALLER && distance == 8 && read_word(memory, slot - 8, &saved))
            set(&caller->registers, TG_RBP, saved);
        /* code made at run time that has not just begun may have a 0 there */
        bool may_end = rbp == 0 || tg_modules_find(modules, registers->value[TG_RIP]) != NULL;
        if (result == TG_UNWIND_CALLER || (result == TG_UNWIND_END && may_end))
            return result;
    }
    bool is_bare = distance < 0 && tg_registers_has(registers, TG_RSP);
    if (is_bare && is_near_system_call(memory, frame)) {
        enum tg_unwind_result result = by_system_call(modules, memory, frame, caller);
        if (result == TG_UNWIND_CALLER || result == TG_UNWIND_END)
            return result;
    }
    if (is_bare && frame->is_activation && rbp == 0 &&
        caller_at(modules, memory, frame, registers->value[TG_RSP], caller) == TG_UNWIND_CALLER)
        return TG_UNWIND_CALLER;
    if (!tg_registers_has(registers, TG_RBP) || (rbp & 7) != 0 || rbp == 0)
        return tg_registers_has(registers, TG_RBP) && rbp == 0 ? TG_UNWIND_END : TG_UNWIND_NO_RULE;
    if (tg_registers_has(registers, TG_RSP) && rbp < registers->value[TG_RSP])
        return TG_UNWIND_NO_RULE;
    if (!read_word(memory, rbp, &saved))
        return TG_UNWIND_NO_RULE;
    enum tg_unwind_result result = caller_at(modules, memory, frame, rbp + 8, caller);
    if (result == TG_UNWIND_CALLER)
        set(&caller->registers, TG_RBP, saved);
    return result == TG_UNWIND_NO_MEMORY ? TG_UNWIND_NO_RULE : result;
}

/* ---- one step */

enum tg_unwind_result tg_unwind_caller(struct tg_modules *modules, const struct tg_inspect_memory *memory,
                                       struct tg_frame *frame, struct tg_frame *caller,
                                       struct tg_unwind_note *note)
{
    *note = (struct tg_unwind_note){0};
    uint64_t place = tg_frame_place(frame), bias;
    struct tg_debug_info *info = tg_modules_debug_info_at(modules, place, &bias);
    const struct tg_unwind_rules *rules =
        info != NULL ? tg_debug_info_unwind_rules(info, place - bias) : NULL;
    note->is_signal = rules != NULL && rules->is_signal;
    note->is_guessed = rules == NULL;
    enum tg_unwind_result result = rules != NULL ? by_rules(rules, memory, frame, caller)
                                                 : by_frame_pointer(modules, memory, frame, caller);
    if (result != TG_UNWIND_CALLER)
        return result;
    if (note->is_signal)
        return TG_UNWIND_CALLER; /* from wherever, on whatever stack */
    if (caller->registers.value[TG_RIP] == 0)
        return TG_UNWIND_END;
    if (tg_registers_has(&frame->registers, TG_RSP) && frame->cfa <= frame->registers.value[TG_RSP] &&
        frame->cfa != 0)
        return TG_UNWIND_BACKWARD;
    return TG_UNWIND_CALLER;
}
