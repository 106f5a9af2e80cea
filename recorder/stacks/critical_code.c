#include "recorder/stacks/critical_code.h"

#include "format/base/array.h"
#include "format/base/search.h"
#include "recorder/stacks/general_register.h"
#include "recorder/stacks/insn_reader.h"

#include <stdlib.h>
#include <string.h>

enum {
    NEAR = 12,
    MAX_TABLE = 512,
    MAX_TABLES = 8,
    MAX_PASSES = 64,
    MAX_WAYS = 16,
    MAX_LOCKS = 64,
    CALL_BYTES = 5,
    CALL_OF_POINTER_BYTES = 6
};

/* What an instruction does to registers and sections. */
struct step {
    uint64_t address;
    uint8_t size;
    enum { OTHER, CONSTANT, COPY, JUMP, BRANCH, STOP, RETURN, CALL } what;
    int8_t to, from;
    uint16_t lost;              /* bit i: register i has another value then */
    uint64_t value;             /* of CONSTANT; where a jump leads to */
    struct tg_critical_call is; /* of CALL, and of JUMP out of the function */
    struct {
        int8_t base;           /* register with its address; -1: that is VALUE */
        size_t count;          /* 0: no jump by a table */
        size_t first, n_found; /* of the reading's entries */
    } table;
};

/* What registers have before an instruction, by all known ways that lead there. */
struct constants {
    bool is_reached;
    uint16_t known; /* bit i: value[i] is */
    uint64_t value[TG_GENERAL_REGISTERS];
};

/* What holds before an instruction on one way, or on several that have that in common. Locks are numbered from 1. */
struct way {
    uint8_t lock[TG_GENERAL_REGISTERS]; /* whose address the register has; 0 others */
    uint8_t held[TG_CRITICAL_MAX_HELD]; /* in order, 0 behind the last */
};

/* All ways that lead to an instruction. */
struct ways {
    struct way items[MAX_WAYS];
    size_t count;
};

struct target {
    uint64_t address;
    struct constants constants;
    struct ways ways;
};

struct reading {
    csh capstone;
    const struct tg_inspect_memory *memory;
    const struct tg_critical_calls *calls;
    uint64_t start, end;
    struct step *steps;
    size_t n_steps, steps_capacity;
    struct target *targets; /* of jumps, sorted */
    size_t n_targets, targets_capacity;
    uint64_t *entries; /* of tables of jumps: where they lead to */
    size_t n_entries, entries_capacity;
    struct {
        size_t at;      /* number of the instruction */
        uint64_t value; /* what was compared with; register with the address of a table */
    } compared, table;
    uint64_t locks[MAX_LOCKS]; /* of sections */
    size_t n_locks;
    bool is_wrong; /* a lock is unknown, or sections do not end as they begin */
};

/* ---- instructions */

static bool is_of_object(const cs_x86_op *operand)
{
    return operand->type == X86_OP_MEM && operand->mem.base == X86_REG_RIP &&
           operand->mem.index == X86_REG_INVALID && operand->mem.segment == X86_REG_INVALID;
}

/* What INSN puts into a register: a constant, or what another one has. */
static void take_value(const struct reading *reading, const cs_insn *insn, struct step *step)
{
    const cs_x86 *x86 = &insn->detail->x86;
    const cs_x86_op *to = &x86->operands[0], *from = &x86->operands[1];
    uint64_t address = insn->address + insn->size + (uint64_t)from->mem.disp;
    int place =
        x86->op_count == 2 && to->type == X86_OP_REG && to->size >= 4 ? tg_general_register(to->reg) : -1;
    bool is_move = insn->id == X86_INS_MOV || insn->id == X86_INS_MOVABS;
    if (place < 0)
        return;
    step->to = (int8_t)place;
    if (insn->id == X86_INS_LEA && to->size == 8 && is_of_object(from)) {
        step->what = CONSTANT;
        step->value = address;
    } else if (is_move && from->type == X86_OP_IMM) {
        step->what = CONSTANT;
        step->value = to->size == 4 ? (uint32_t)from->imm : (uint64_t)from->imm;
    } else if (is_move && from->type == X86_OP_REG && to->size == 8 && tg_general_register(from->reg) >= 0) {
        step->what = COPY;
        step->from = (int8_t)tg_general_register(from->reg);
    } else if (is_move && is_of_object(from) && from->size == 8 &&
               reading->memory->read(reading->memory->context, address, &step->value, sizeof step->value)) {
        step->what = CONSTANT;
    }
}

/* The function that a CALL or JUMP has; 0 unknown. */
static uint64_t target_of(const struct reading *reading, const cs_insn *insn)
{
    const cs_x86_op *operand = &insn->detail->x86.operands[0];
    uint64_t target = 0;
    if (insn->detail->x86.op_count != 1)
        return 0;
    if (operand->type == X86_OP_IMM)
        return (uint64_t)operand->imm;
    uint64_t address = insn->address + insn->size + (uint64_t)operand->mem.disp;
    bool is_read = is_of_object(operand) && operand->size == sizeof target &&
                   reading->memory->read(reading->memory->context, address, &target, sizeof target);
    return is_read ? target : 0;
}

/* What a jump by a table needs: before it, its number is compared with the last one, and an entry, which is relative to the
 * table, is read. */
static void note_table(struct reading *reading, const cs_insn *insn)
{
    const cs_x86_op *to = &insn->detail->x86.operands[0], *from = &insn->detail->x86.operands[1];
    if (insn->detail->x86.op_count != 2)
        return;
    if (insn->id == X86_INS_CMP && to->type == X86_OP_REG && from->type == X86_OP_IMM && from->imm >= 0) {
        reading->compared.at = reading->n_steps;
        reading->compared.value = (uint64_t)from->imm;
    } else if (insn->id == X86_INS_MOVSXD && from->type == X86_OP_MEM && from->size == 4 &&
               from->mem.scale == 4 && from->mem.disp == 0 && from->mem.index != X86_REG_INVALID &&
               tg_general_register(from->mem.base) >= 0) {
        reading->table.at = reading->n_steps;
        reading->table.value = (uint64_t)tg_general_register(from->mem.base);
    }
}

/* Whether INSN, a jump, is one by a table: where that is, and how many entries it has. */
static void take_table(const struct reading *reading, const cs_insn *insn, struct step *step)
{
    const cs_x86_op *operand = &insn->detail->x86.operands[0];
    bool has_count = reading->compared.value < MAX_TABLE && reading->compared.at != 0 &&
                     reading->n_steps - reading->compared.at <= NEAR;
    bool is_relative = operand->type == X86_OP_REG && reading->table.at != 0 &&
                       reading->n_steps - reading->table.at <= NEAR &&
                       reading->table.at > reading->compared.at;
    bool is_plain = operand->type == X86_OP_MEM && operand->mem.base == X86_REG_INVALID &&
                    operand->mem.index != X86_REG_INVALID && operand->mem.scale == 8 &&
                    operand->mem.segment == X86_REG_INVALID;
    if (!has_count || insn->id != X86_INS_JMP || (!is_relative && !is_plain))
        return;
    step->table.count = reading->compared.value + 1;
    step->table.base = is_plain ? -1 : (int8_t)reading->table.value;
    step->value = is_plain ? (uint64_t)operand->mem.disp : 0;
}

static void take_jump(struct reading *reading, const cs_insn *insn, struct step *step)
{
    step->value = target_of(reading, insn);
    step->what = insn->id == X86_INS_JMP ? JUMP : BRANCH;
    if (step->value < reading->start || step->value >= reading->end) {
        if (step->value != 0 && step->what == JUMP)
            step->is = reading->calls->find(reading->calls->context, step->value);
        step->value = 0;
        take_table(reading, insn, step);
        return;
    }
    struct target target = {.address = step->value};
    reading->is_wrong |=
        TG_ARRAY_APPEND(reading->targets, reading->n_targets, reading->targets_capacity, target) != NULL;
}

static void take(struct reading *reading, const cs_insn *insn)
{
    static const uint16_t of_calls = 1u << TG_RAX | 1u << TG_RCX | 1u << TG_RDX | 1u << TG_RSI |
                                     1u << TG_RDI | 1u << TG_R8 | 1u << TG_R9 | 1u << TG_R10 | 1u << TG_R11;
    struct step step = {.address = insn->address, .size = (uint8_t)insn->size};
    cs_regs read, written;
    uint8_t n_read, n_written;
    if (cs_insn_group(reading->capstone, insn, X86_GRP_CALL)) {
        uint64_t target = target_of(reading, insn);
        step.what = CALL;
        step.lost = of_calls;
        if (target != 0)
            step.is = reading->calls->find(reading->calls->context, target);
    } else if (cs_insn_group(reading->capstone, insn, X86_GRP_JUMP)) {
        take_jump(reading, insn, &step);
    } else if (cs_insn_group(reading->capstone, insn, X86_GRP_RET)) {
        step.what = RETURN;
    } else if (insn->id == X86_INS_UD2 || insn->id == X86_INS_HLT) {
        step.what = STOP;
    } else {
        take_value(reading, insn, &step);
        note_table(reading, insn);
        bool is_known = cs_regs_access(reading->capstone, insn, read, &n_read, written, &n_written) == 0;
        step.lost = is_known ? 0 : UINT16_MAX;
        for (int i = 0; is_known && i < n_written; i++) {
            int place = tg_general_register(written[i]);
            step.lost |= place >= 0 ? (uint16_t)(1u << place) : 0;
        }
    }
    reading->is_wrong |=
        TG_ARRAY_APPEND(reading->steps, reading->n_steps, reading->steps_capacity, step) != NULL;
}

static int by_address(const void *a, const void *b)
{
    const struct target *x = a, *y = b;
    return (x->address > y->address) - (x->address < y->address);
}

static void sort_targets(struct reading *reading)
{
    size_t n = 0;
    if (reading->n_targets > 0)
        qsort(reading->targets, reading->n_targets, sizeof *reading->targets, by_address);
    for (size_t i = 0; i < reading->n_targets; i++)
        if (n == 0 || reading->targets[n - 1].address != reading->targets[i].address)
            reading->targets[n++] = reading->targets[i];
    reading->n_targets = n;
}

static struct target *find_target(const struct reading *reading, uint64_t address)
{
    size_t at =
        reading->n_targets > 0 ? TG_LOWER_BOUND(reading->targets, reading->n_targets, address, address) : 0;
    return at < reading->n_targets && reading->targets[at].address == address ? &reading->targets[at] : NULL;
}

/* ---- locks */

/* What holds in both; whether that is less than in CONSTANTS. */
static bool join_constants(struct constants *constants, const struct constants *other)
{
    uint16_t known = constants->known & other->known;
    if (!other->is_reached)
        return false;
    if (!constants->is_reached) {
        *constants = *other;
        return true;
    }
    for (int i = 0; i < TG_GENERAL_REGISTERS; i++)
        if (constants->value[i] != other->value[i])
            known &= (uint16_t) ~(1u << i);
    bool is_less = known != constants->known;
    constants->known = known;
    return is_less;
}

static size_t number_of(const struct reading *reading, uint64_t lock)
{
    size_t at = 0;
    while (at < reading->n_locks && reading->locks[at] != lock)
        at++;
    return at;
}

/* The lock of the section that STEP begins is one of the function's. */
static void note_lock(struct reading *reading, const struct constants *constants, const struct step *step)
{
    bool is_known = step->is.argument < 0 || (constants->known >> step->is.argument & 1) != 0;
    uint64_t lock = step->is.argument < 0 ? step->is.lock
                    : is_known            ? constants->value[step->is.argument]
                                          : 0;
    if (step->is.what != TG_CRITICAL_BEGINS)
        return;
    if (lock == 0 || (number_of(reading, lock) == reading->n_locks && reading->n_locks == MAX_LOCKS))
        reading->is_wrong = true;
    else if (number_of(reading, lock) == reading->n_locks)
        reading->locks[reading->n_locks++] = lock;
}

static bool is_end_of_way(const struct step *step)
{
    return step->what == RETURN || step->what == JUMP || step->what == STOP ||
           (step->what == CALL && step->is.what == TG_CRITICAL_NEVER_RETURNS);
}

static void pass_constants(struct constants *constants, const struct step *step)
{
    bool was_known = step->what == COPY && (constants->known >> step->from & 1);
    uint64_t value = step->what == COPY ? constants->value[step->from] : step->value;
    constants->known &= (uint16_t)~step->lost;
    if (step->what == CONSTANT || was_known) {
        constants->known |= (uint16_t)(1u << step->to);
        constants->value[step->to] = value;
    }
    constants->is_reached = !is_end_of_way(step);
}

/* In how many ways STEP may jump, as far as that is known. */
static size_t count_jumps(const struct step *step)
{
    bool is_jump = step->what == JUMP || step->what == BRANCH;
    return !is_jump ? 0 : step->table.count > 0 ? step->table.n_found : (size_t)(step->value != 0);
}

/* Where the jump number K of STEP leads to. */
static struct target *jump_at(const struct reading *reading, const struct step *step, size_t k)
{
    return find_target(reading,
                       step->table.count > 0 ? reading->entries[step->table.first + k] : step->value);
}

/* The entry number I of the table that STEP jumps by, which is at ADDRESS; false where it leads out of the function. */
static bool read_entry(struct reading *reading, const struct step *step, uint64_t address, size_t i)
{
    const struct tg_inspect_memory *memory = reading->memory;
    uint64_t to;
    int32_t away;
    if (step->table.base < 0) {
        if (!memory->read(memory->context, address + i * sizeof to, &to, sizeof to))
            return false;
    } else {
        if (!memory->read(memory->context, address + i * sizeof away, &away, sizeof away))
            return false;
        to = address + (uint64_t)(int64_t)away;
    }
    struct target target = {.address = to};
    return to >= reading->start && to < reading->end &&
           TG_ARRAY_APPEND(reading->entries, reading->n_entries, reading->entries_capacity, to) == NULL &&
           TG_ARRAY_APPEND(reading->targets, reading->n_targets, reading->targets_capacity, target) == NULL;
}

/* The entries of the table that STEP jumps by, which is at ADDRESS; the targets are to be sorted then. False where it is none,
 * and all is as it was. */
static bool read_table(struct reading *reading, struct step *step, uint64_t address)
{
    size_t first = reading->n_entries, n_targets = reading->n_targets;
    for (size_t i = 0; i < step->table.count; i++)
        if (!read_entry(reading, step, address, i)) {
            reading->n_entries = first;
            reading->n_targets = n_targets;
            return false;
        }
    step->table.first = first;
    step->table.n_found = step->table.count;
    return true;
}

/* One time through all of the code; whether that told more of its jumps. With NOTES, locks are noted. */
static bool pass_all_constants(struct reading *reading, bool notes)
{
    struct constants now = {.is_reached = true};
    bool is_more = false;
    for (size_t i = 0; i < reading->n_steps; i++) {
        const struct step *step = &reading->steps[i];
        struct target *here = find_target(reading, step->address);
        if (here != NULL) {
            is_more |= join_constants(&here->constants, &now);
            now = here->constants;
        }
        if (!now.is_reached)
            continue;
        for (size_t k = 0; k < count_jumps(step); k++)
            is_more |= join_constants(&jump_at(reading, step, k)->constants, &now);
        if (notes)
            note_lock(reading, &now, step);
        pass_constants(&now, step);
    }
    return is_more;
}

/* Reads the tables whose addresses are known, by what registers have where they are used; whether one was found. */
static bool find_tables(struct reading *reading)
{
    struct constants now = {.is_reached = true};
    bool is_found = false;
    for (size_t i = 0; i < reading->n_steps && !is_found; i++) {
        struct step *step = &reading->steps[i];
        const struct target *here = find_target(reading, step->address);
        if (here != NULL) {
            struct constants joined = here->constants;
            join_constants(&joined, &now);
            now = joined;
        }
        if (!now.is_reached)
            continue;
        bool is_known = step->table.base < 0 || (now.known >> step->table.base & 1) != 0;
        if (step->what == JUMP && step->table.count > 0 && step->table.n_found == 0 && is_known)
            is_found =
                read_table(reading, step, step->table.base < 0 ? step->value : now.value[step->table.base]);
        pass_constants(&now, step);
    }
    return is_found;
}

/* Finds out what registers have, and with that where jumps by tables lead to, and with that what registers have. */
static void find_constants(struct reading *reading, int *n_passes)
{
    int n_tables = 0;
    do {
        sort_targets(reading);
        for (size_t i = 0; i < reading->n_targets; i++)
            reading->targets[i].constants = (struct constants){.is_reached = false};
        *n_passes = 0;
        while (!reading->is_wrong && *n_passes < MAX_PASSES && pass_all_constants(reading, false))
            ++*n_passes;
    } while (!reading->is_wrong && n_tables++ < MAX_TABLES && find_tables(reading));
    if (!reading->is_wrong)
        pass_all_constants(reading, true);
}

/* ---- ways */

/* Whether that is a new one. */
static bool add_way(struct reading *reading, struct ways *ways, const struct way *way)
{
    for (size_t i = 0; i < ways->count; i++)
        if (memcmp(&ways->items[i], way, sizeof *way) == 0)
            return false;
    if (ways->count == MAX_WAYS) {
        reading->is_wrong = true;
        return false;
    }
    ways->items[ways->count++] = *way;
    return true;
}

static bool join(struct reading *reading, struct ways *ways, const struct ways *others)
{
    bool is_more = false;
    for (size_t i = 0; i < others->count; i++)
        is_more |= add_way(reading, ways, &others->items[i]);
    return is_more;
}

static bool holds(const struct way *way, uint8_t lock)
{
    return memchr(way->held, lock, sizeof way->held) != NULL;
}

static void remove_held(struct way *way, uint8_t lock)
{
    size_t n = 0;
    for (size_t i = 0; i < TG_CRITICAL_MAX_HELD; i++)
        if (way->held[i] != lock)
            way->held[n++] = way->held[i];
    while (n < TG_CRITICAL_MAX_HELD)
        way->held[n++] = 0;
}

static bool insert_held(struct way *way, uint8_t lock)
{
    size_t at = 0;
    while (at < TG_CRITICAL_MAX_HELD && way->held[at] != 0 && way->held[at] < lock)
        at++;
    if (way->held[TG_CRITICAL_MAX_HELD - 1] != 0)
        return false;
    memmove(way->held + at + 1, way->held + at, TG_CRITICAL_MAX_HELD - 1 - at);
    way->held[at] = lock;
    return true;
}

/* The number of the lock of the section that STEP begins or ends, 0 unknown. */
static uint8_t lock_of(const struct reading *reading, const struct way *way, const struct step *step)
{
    if (step->is.argument >= 0)
        return way->lock[step->is.argument];
    size_t at = number_of(reading, step->is.lock);
    return at < reading->n_locks ? (uint8_t)(at + 1) : 0;
}

/* A section that is begun or ended. *GOES_ON: the way does not end there, as it does where it waits for itself. False where it is
 * not as compilers make it. */
static bool pass_section(const struct reading *reading, struct way *way, const struct step *step,
                         bool *goes_on)
{
    uint8_t lock = lock_of(reading, way, step);
    bool begins = step->is.what == TG_CRITICAL_BEGINS;
    if (!begins && step->is.what != TG_CRITICAL_ENDS)
        return true;
    if (lock == 0 || (!begins && !holds(way, lock)))
        return false;
    if (!begins)
        remove_held(way, lock);
    else if (holds(way, lock))
        *goes_on = false;
    else
        return insert_held(way, lock);
    return true;
}

/* What STEP makes of WAY; false: it ends there. */
static bool pass(struct reading *reading, struct way *way, const struct step *step)
{
    bool goes_on = !is_end_of_way(step);
    reading->is_wrong |= !pass_section(reading, way, step, &goes_on);
    uint8_t copied = step->what == COPY ? way->lock[step->from] : 0;
    for (int i = 0; i < TG_GENERAL_REGISTERS; i++)
        if (step->lost >> i & 1)
            way->lock[i] = 0;
    if (step->what == CONSTANT && number_of(reading, step->value) < reading->n_locks)
        copied = (uint8_t)(number_of(reading, step->value) + 1);
    if (step->what == CONSTANT || step->what == COPY)
        way->lock[step->to] = copied;
    bool ends_function = step->what == RETURN || (step->what == JUMP && step->is.what == TG_CRITICAL_ENDS);
    reading->is_wrong |= ends_function && way->held[0] != 0;
    return goes_on;
}

/* What all WAYS to STEP have in common. */
static void tell(const struct reading *reading, const struct ways *ways, const struct step *step,
                 struct tg_critical_place *place)
{
    *place = (struct tg_critical_place){0};
    uint8_t lock = ways->count > 0 ? lock_of(reading, &ways->items[0], step) : 0;
    for (size_t i = 0; i < ways->count; i++)
        lock = lock_of(reading, &ways->items[i], step) == lock ? lock : 0;
    if (lock != 0 && step->is.what == TG_CRITICAL_BEGINS)
        place->lock = reading->locks[lock - 1];
    for (size_t k = 0; ways->count > 0 && k < TG_CRITICAL_MAX_HELD; k++) {
        uint8_t held = ways->items[0].held[k];
        bool is_held = held != 0;
        for (size_t i = 0; is_held && i < ways->count; i++) {
            bool ends = step->is.what == TG_CRITICAL_ENDS && lock_of(reading, &ways->items[i], step) == held;
            is_held = holds(&ways->items[i], held) && !ends;
        }
        if (is_held)
            place->held[place->n_held++] = reading->locks[held - 1];
    }
}

/* One time through all of the code; whether that told more of its jumps. With PLACE, what holds at PC. */
static bool pass_all_ways(struct reading *reading, uint64_t pc, struct tg_critical_place *place)
{
    struct ways now = {.count = 1};
    bool is_more = false;
    for (size_t i = 0; i < reading->n_steps; i++) {
        const struct step *step = &reading->steps[i];
        struct target *here = find_target(reading, step->address);
        if (here != NULL) {
            is_more |= join(reading, &here->ways, &now);
            now = here->ways;
        }
        if (place != NULL && pc >= step->address && pc < step->address + step->size)
            tell(reading, &now, step, place);
        for (size_t k = 0; k < count_jumps(step); k++)
            is_more |= join(reading, &jump_at(reading, step, k)->ways, &now);
        struct ways next = {.count = 0};
        for (size_t k = 0; k < now.count; k++)
            if (pass(reading, &now.items[k], step))
                add_way(reading, &next, &now.items[k]);
        now = next;
    }
    return is_more;
}

/* ---- a function */

/* Decoding takes long: first, whether anything that looks like a call begins a section. */
static bool has_section(const struct reading *reading, const uint8_t *code, size_t size, uint64_t address)
{
    for (size_t i = 0; i + CALL_BYTES <= size; i++) {
        bool is_call = code[i] == 0xe8;
        bool is_of_pointer = i + CALL_OF_POINTER_BYTES <= size && code[i] == 0xff && code[i + 1] == 0x15;
        int32_t away;
        uint64_t target;
        if (!is_call && !is_of_pointer)
            continue;
        memcpy(&away, code + i + 1 + is_of_pointer, sizeof away);
        target = address + i + (is_call ? CALL_BYTES : CALL_OF_POINTER_BYTES) + (uint64_t)(int64_t)away;
        if (is_of_pointer && !reading->memory->read(reading->memory->context, target, &target, sizeof target))
            continue;
        if (reading->calls->find(reading->calls->context, target).what == TG_CRITICAL_BEGINS)
            return true;
    }
    return false;
}

static bool decode(struct reading *reading, const uint8_t *code, size_t size, uint64_t address)
{
    cs_insn *insn;
    if (!tg_insn_reader_begin(&reading->capstone, &insn))
        return false;
    while (size > 0 && cs_disasm_iter(reading->capstone, &code, &size, &address, insn))
        take(reading, insn);
    tg_insn_reader_end(&reading->capstone, insn);
    return true;
}

bool tg_critical_code_read(const uint8_t *code, size_t size, uint64_t address,
                           const struct tg_critical_calls *calls, const struct tg_inspect_memory *memory,
                           uint64_t pc, struct tg_critical_place *place)
{
    struct reading reading = {.memory = memory, .calls = calls, .start = address, .end = address + size};
    int n_passes = 0;
    *place = (struct tg_critical_place){0};
    if (!has_section(&reading, code, size, address) || !decode(&reading, code, size, address))
        return false;
    find_constants(&reading, &n_passes);
    while (!reading.is_wrong && n_passes < MAX_PASSES && pass_all_ways(&reading, pc, NULL))
        n_passes++;
    if (!reading.is_wrong)
        pass_all_ways(&reading, pc, place);
    free(reading.steps);
    free(reading.targets);
    free(reading.entries);
    bool is_known = !reading.is_wrong && n_passes < MAX_PASSES;
    if (!is_known)
        *place = (struct tg_critical_place){0};
    return is_known;
}
