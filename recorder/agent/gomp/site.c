#include "recorder/agent/gomp/site.h"

#include "recorder/agent/gomp/x86_code.h"

#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    CODE_BYTES = 384,  /* looked at behind a call */
    BODY_BYTES = 1024, /* looked at in a body that lies elsewhere, to find its end */
    MAX_INSTRUCTIONS = 96,
    MAX_PAIR_BYTES = 64,
    PAGE_BYTES = 4096,
    RAX = 0,
    RDX = 2,
    LAST_REGISTER = 15,
};

/* rbx, rbp, r12 to r15 */
static const uint32_t kept_over_calls = 1U << 3 | 1U << 5 | 0xf000;

/* ---- what instructions do to registers */

/* The registers that INSTRUCTION writes, one of the opcodes behind 0f; REG and RM are its operands. */
static uint32_t written_two_byte(const struct tg_x86_code *instruction, uint32_t reg, uint32_t rm)
{
    uint8_t opcode = instruction->opcode;
    if (opcode >= 0x80 && opcode < 0x90)
        return 0; /* a jump */
    if (!instruction->has_modrm)
        return 1U << RAX | 1U << RDX;
    if (opcode == 0x7e || (opcode >= 0x90 && opcode < 0xa0))
        return rm;
    if (opcode == 0xaf || opcode == 0x50 || opcode == 0xd7 || (opcode >= 0x40 && opcode < 0x50) ||
        (opcode & 0xf6) == 0xb6 || (opcode & 0xfe) == 0x2c)
        return reg;
    bool is_vector = (opcode >= 0x10 && opcode < 0x30) || (opcode >= 0x50 && opcode < 0x80) || opcode >= 0xd0;
    return is_vector ? 0 : reg | rm;
}

/* The registers that INSTRUCTION writes; rather too many than too few. */
static uint32_t written(const struct tg_x86_code *instruction)
{
    uint32_t reg = 1U << instruction->reg, rm = instruction->mod == 3 ? 1U << instruction->rm : 0;
    uint8_t opcode = instruction->opcode;
    if (instruction->is_vector || instruction->map > 1)
        return instruction->has_modrm ? reg : 0;
    if (instruction->map == 1)
        return written_two_byte(instruction, reg, rm);
    if (opcode == 0x99)
        return 1U << RDX;
    if (opcode == 0xf7 || opcode == 0xf6)
        return (instruction->reg & 7) < 2 ? 0 : (instruction->reg & 7) < 4 ? rm : 1U << RAX | 1U << RDX;
    if (opcode >= 0xb0 && opcode < 0xc0)
        return 1U << instruction->rm;
    if ((opcode >= 0x38 && opcode < 0x3e) || opcode == 0x84 || opcode == 0x85 || opcode == 0xa8 ||
        opcode == 0xa9)
        return 0; /* cmp, test */
    if (opcode == 0x80 || opcode == 0x81 || opcode == 0x83)
        return (instruction->reg & 7) == 7 ? 0 : rm;
    if (opcode == 0x89 || opcode == 0x88 || (opcode < 0x40 && (opcode & 7) < 2))
        return rm;
    if (opcode == 0x8b || opcode == 0x63 || opcode == 0x8d || opcode == 0x69 || opcode == 0x6b)
        return reg;
    if (opcode == 0x8f || (opcode >= 0xc0 && opcode < 0xe0) || opcode >= 0xfe)
        return rm; /* REG is a part of the opcode */
    if (opcode < 0x40 && (opcode & 7) > 3)
        return 1U << RAX;
    return instruction->has_modrm ? reg | rm : 1U << RAX;
}

/* mov or movslq between registers: *FROM and *TO */
static bool is_copy(const struct tg_x86_code *instruction, unsigned *from, unsigned *to)
{
    if (instruction->map != 0 || instruction->is_vector || instruction->mod != 3 || !instruction->has_modrm)
        return false;
    if (instruction->opcode == 0x89) {
        *from = instruction->reg;
        *to = instruction->rm;
        return true;
    }
    *from = instruction->rm;
    *to = instruction->reg;
    return instruction->opcode == 0x8b || instruction->opcode == 0x63;
}

/* SET, a set of registers that hold something, behind INSTRUCTION. */
static uint32_t followed(uint32_t set, const struct tg_x86_code *instruction)
{
    unsigned from, to;
    if (is_copy(instruction, &from, &to))
        return (set >> from & 1) != 0 ? set | 1U << to : set & ~(1U << to);
    return set & ~written(instruction);
}

static bool is_plain(const struct tg_x86_code *instruction, uint8_t opcode)
{
    return instruction->map == 0 && !instruction->is_vector && instruction->opcode == opcode;
}

static bool is_division(const struct tg_x86_code *instruction)
{
    return is_plain(instruction, 0xf7) && (instruction->reg & 7) >= 6;
}

/* cmp of two operands that are no constants */
static bool is_comparison(const struct tg_x86_code *instruction)
{
    return is_plain(instruction, 0x39) || is_plain(instruction, 0x3b);
}

static bool is_comparison_with_constant(const struct tg_x86_code *instruction)
{
    return is_plain(instruction, 0x3d) ||
           ((is_plain(instruction, 0x83) || is_plain(instruction, 0x81)) && (instruction->reg & 7) == 7);
}

/* Moves of all kinds: what was compared before can still be jumped upon. */
static bool keeps_flags(const struct tg_x86_code *instruction)
{
    uint8_t opcode = instruction->opcode;
    if (instruction->is_vector || instruction->map > 1)
        return instruction->is_vector;
    if (instruction->map == 1)
        return (opcode >= 0x40 && opcode < 0x50) || (opcode & 0xf7) == 0xb6 || (opcode & 0xf7) == 0xb7 ||
               (opcode >= 0x10 && opcode < 0x18) || opcode == 0x28 || opcode == 0x29;
    return (opcode >= 0x50 && opcode < 0x60) || opcode == 0x63 || (opcode >= 0x88 && opcode < 0x8e) ||
           (opcode >= 0xb0 && opcode < 0xc0) || opcode == 0x90 || opcode == 0xc6 || opcode == 0xc7;
}

/* test or cmp of a register in SET with a constant: *VALUE */
static bool is_check(const struct tg_x86_code *instruction, uint32_t set, int64_t *value)
{
    if (is_plain(instruction, 0x3d)) { /* cmp eax */
        *value = instruction->operand;
        return (set >> RAX & 1) != 0;
    }
    if (instruction->mod != 3 || (set >> instruction->rm & 1) == 0)
        return false;
    *value = is_plain(instruction, 0x85) ? 0 : instruction->operand;
    return (is_plain(instruction, 0x85) && instruction->reg == instruction->rm) ||
           is_comparison_with_constant(instruction);
}

/* test of al, or cmp with 1: *VALUE, 1 where what it is equal to means that the thread executes the single */
static bool is_check_of_single(const struct tg_x86_code *instruction, int64_t *value)
{
    *value = is_plain(instruction, 0x3c);
    return (is_plain(instruction, 0x3c) && instruction->operand == 1) ||
           (is_plain(instruction, 0x84) && instruction->mod == 3 && instruction->reg == RAX &&
            instruction->rm == RAX);
}

/* ---- walking */

struct walk {
    const struct tg_gomp_situation *situation;
    tg_gomp_read_code *read;
    void *context;
    uint8_t code[CODE_BYTES];
    size_t size;
    int64_t at;          /* next instruction's address */
    uint32_t numbers;    /* registers that hold the thread number */
    uint32_t remainders; /* left by a division */
    bool shares;         /* the remainder was compared with the thread number: iterations are shared out */
    bool is_checked;     /* flags say whether the thread number is FILTER */
    enum { NOT_COMPARED, WITH_VALUE, WITH_CONSTANT } compared; /* by the last cmp since the last jump */
    int64_t filter;
    struct tg_gomp_site site;
};

/* The low four bits of a conditional jump's opcode. */
enum condition {
    BELOW = 2,
    ABOVE_EQUAL = 3,
    EQUAL = 4,
    NOT_EQUAL = 5,
    BELOW_EQUAL = 6,
    ABOVE = 7,
    LESS = 12,
    GREATER_EQUAL = 13,
    LESS_EQUAL = 14,
    GREATER = 15,
};

static unsigned condition_of(const struct tg_x86_code *jump)
{
    return jump->opcode & 0xf;
}

/* A jump on the comparison of a loop's first iteration with its end, or of the end with it, where there are
 * no iterations. */
static bool leaves_out(const struct walk *walk, unsigned condition)
{
    if (walk->compared == WITH_CONSTANT)
        return condition == ABOVE || condition == ABOVE_EQUAL || condition == GREATER ||
               condition == GREATER_EQUAL;
    return walk->compared == WITH_VALUE && (condition == ABOVE_EQUAL || condition == BELOW_EQUAL ||
                                            condition == GREATER_EQUAL || condition == LESS_EQUAL);
}

/* The same, or its opposite, for a loop that counts down to a constant: which it is does not show. */
static bool may_leave_out(const struct walk *walk, unsigned condition)
{
    return walk->compared == WITH_CONSTANT &&
           (condition == BELOW || condition == BELOW_EQUAL || condition == LESS || condition == LESS_EQUAL);
}

static bool fits(int64_t distance)
{
    return distance > INT32_MIN && distance < INT32_MAX;
}

/* End of the body at START, which lies apart and goes back to RESUME; TG_GOMP_SITE_OPEN: the end is not to
 * be seen. What it jumps forward to is a part of it. */
static int32_t end_of_body(const struct walk *walk, int64_t start, int64_t resume)
{
    uint8_t code[BODY_BYTES];
    size_t size = walk->read(walk->context, start, code, sizeof code), at = 0;
    int64_t furthest = start;
    bool goes_back = false;
    struct tg_x86_code instruction;
    while (tg_x86_decode(code + at, size - at, &instruction)) {
        at += instruction.length;
        int64_t here = start + (int64_t)at;
        bool jumps = instruction.flow == TG_X86_JUMP || instruction.flow == TG_X86_JUMP_IF;
        int64_t target = jumps ? here + instruction.operand : start;
        if (target == resume)
            goes_back = true;
        else if (target > furthest)
            furthest = target;
        if ((instruction.flow == TG_X86_JUMP || instruction.flow == TG_X86_LEAVES) && furthest < here)
            return goes_back && fits(here) ? (int32_t)here : TG_GOMP_SITE_OPEN;
    }
    return TG_GOMP_SITE_OPEN;
}

/* The jump after which the walk is, to TARGET, decides whether the thread is in a masked construct. */
static void find_masked(struct walk *walk, unsigned condition, int64_t target)
{
    struct tg_gomp_site *site = &walk->site;
    bool is_single = walk->situation->asked == TG_GOMP_ASKED_SINGLE;
    if (!fits(target) || !fits(walk->filter) || walk->filter < 0)
        return;
    site->construct = is_single ? TG_GOMP_SINGLE : TG_GOMP_MASKED;
    site->filter = is_single ? 0 : (int32_t)walk->filter;
    if ((condition == EQUAL) != (is_single && walk->filter == 0)) {
        site->start = (int32_t)target;
        site->end = end_of_body(walk, target, walk->at);
    } else {
        site->start = (int32_t)walk->at;
        site->end = target > walk->at ? (int32_t)target : TG_GOMP_SITE_OPEN;
    }
}

static void find_loop(struct walk *walk, int64_t target)
{
    walk->site.construct = TG_GOMP_STATIC_LOOP;
    if (target >= walk->at && fits(target))
        walk->site.end = (int32_t)target;
}

/* The loop's body lies apart at TARGET, and goes on where the walk is. */
static void find_loop_apart(struct walk *walk, int64_t target)
{
    int32_t end = end_of_body(walk, target, walk->at);
    if (end == TG_GOMP_SITE_OPEN || !fits(target))
        return;
    walk->site.start = (int32_t)target;
    walk->site.end = end;
}

/* A conditional jump to TARGET, behind which the walk is. True: all is known. */
static bool meet_jump(struct walk *walk, unsigned condition, int64_t target)
{
    bool is_equality = condition == EQUAL || condition == NOT_EQUAL;
    if (walk->is_checked && is_equality) {
        find_masked(walk, condition, target);
        return true;
    }
    if (!walk->shares) {
        /* in chunks nothing is divided */
        if (walk->situation->is_pair && leaves_out(walk, condition))
            find_loop(walk, target);
        else if (walk->situation->is_pair && may_leave_out(walk, condition))
            walk->site.construct = TG_GOMP_STATIC_LOOP;
        else if (walk->situation->is_pair && walk->compared != NOT_COMPARED && !is_equality &&
                 target < walk->at)
            find_loop(walk, walk->at); /* back into the loop, whose check is its last part */
        return true;
    }
    if (leaves_out(walk, condition))
        find_loop(walk, target);
    else if (walk->compared == WITH_VALUE && !is_equality && target > walk->at)
        find_loop_apart(walk, target);
    /* the first jump is for threads that get one iteration more, unless there is none for that */
    bool is_first = walk->site.construct == TG_GOMP_NO_CONSTRUCT && walk->compared == NOT_COMPARED;
    walk->site.construct = TG_GOMP_STATIC_LOOP;
    return !is_first;
}

/* Whether INSTRUCTION, a comparison, is that of the remainder with the thread number. */
static bool shares_out(const struct walk *walk, const struct tg_x86_code *instruction)
{
    uint32_t operands = 1U << instruction->reg | (instruction->mod == 3 ? 1U << instruction->rm : 0);
    if ((operands & walk->remainders) == 0)
        return false;
    /* the number may be in memory, or, where it was asked for before, in any register */
    return (operands & walk->numbers) != 0 || instruction->mod != 3 ||
           walk->situation->asked == TG_GOMP_ASKED_NUM_THREADS;
}

/* Reads from INSTRUCTION, one that goes on, what the construct is. */
static void meet_plain(struct walk *walk, const struct tg_x86_code *instruction)
{
    if (is_comparison(instruction) && !walk->shares && shares_out(walk, instruction)) {
        walk->shares = true;
        walk->compared = NOT_COMPARED;
    } else if (is_comparison(instruction)) {
        walk->compared = WITH_VALUE;
    } else if (is_comparison_with_constant(instruction)) {
        walk->compared = WITH_CONSTANT;
    }
    bool is_one = walk->situation->asked == TG_GOMP_ASKED_SINGLE
                      ? is_check_of_single(instruction, &walk->filter)
                      : is_check(instruction, walk->numbers, &walk->filter);
    if (is_one)
        walk->is_checked = true;
    else if (!keeps_flags(instruction))
        walk->is_checked = false;
    walk->numbers = followed(walk->numbers, instruction);
    walk->remainders = followed(walk->remainders, instruction);
    if (is_division(instruction))
        walk->remainders = 1U << RDX;
}

/* One instruction; true: all is known. */
static bool step(struct walk *walk)
{
    struct tg_x86_code instruction;
    if (walk->at < 0 || walk->at >= (int64_t)walk->size ||
        !tg_x86_decode(walk->code + walk->at, walk->size - (size_t)walk->at, &instruction))
        return true;
    walk->at += instruction.length;
    switch ((enum tg_x86_flow)instruction.flow) {
    case TG_X86_ON:
        meet_plain(walk, &instruction);
        return false;
    case TG_X86_JUMP_IF:
        return meet_jump(walk, condition_of(&instruction), walk->at + instruction.operand);
    case TG_X86_JUMP:
        if (instruction.operand < 0)
            return true;
        walk->at += instruction.operand;
        return false;
    case TG_X86_CALL:
        walk->site.next_call = walk->at <= MAX_PAIR_BYTES ? (int32_t)walk->at : 0;
        return true;
    case TG_X86_LEAVES:
        return true;
    }
    return true;
}

struct tg_gomp_site tg_gomp_site_read(const struct tg_gomp_situation *situation, tg_gomp_read_code *read,
                                      void *context)
{
    struct walk walk = {.situation = situation, .read = read, .context = context};
    walk.size = read(context, 0, walk.code, sizeof walk.code);
    walk.numbers = situation->asked == TG_GOMP_ASKED_THREAD_NUM ? 1U << RAX : situation->numbers;
    for (int i = 0; i < MAX_INSTRUCTIONS && !step(&walk); i++)
        ;
    if (walk.shares)
        walk.site.construct = TG_GOMP_STATIC_LOOP;
    if (situation->asked == TG_GOMP_ASKED_THREAD_NUM)
        walk.site.numbers = walk.numbers & kept_over_calls;
    walk.site.decided = (int32_t)walk.at;
    return walk.site;
}

/* ---- the table of call sites: filled, never emptied */

/* What the code behind CALLER is read for: the registers with the thread number make a difference behind a barrier. They are
 * rbx, rbp and r12 to r15; addresses of code are not so high. */
static uintptr_t key_of(const void *caller, const struct tg_gomp_situation *situation)
{
    uintptr_t registers =
        (situation->numbers >> 3 & 1) | (situation->numbers >> 4 & 2) | (situation->numbers >> 10 & 0x3c);
    return (uintptr_t)caller | (situation->asked == TG_GOMP_ASKED_NOTHING ? registers << 58 : 0);
}

enum { SLOTS = 2048, PROBES = 8 };

static struct slot {
    uintptr_t caller; /* __atomic: key_of it; 0: free */
    bool is_read;     /* __atomic; the rest is constant from then on */
    struct tg_gomp_site site;
} slots[SLOTS];

/* Reads this process from the address CONTEXT on; without a fault where nothing is. */
static size_t read_own(void *context, int64_t at, uint8_t *buffer, size_t size)
{
    uintptr_t start = (uintptr_t)context + (uintptr_t)at;
    size_t in_page = PAGE_BYTES - start % PAGE_BYTES, first = size < in_page ? size : in_page;
    const struct iovec to = {.iov_base = buffer, .iov_len = size};
    const struct iovec from[] = {
        {.iov_base = (void *)start, .iov_len = first},                  // NOLINT: an address
        {.iov_base = (void *)(start + first), .iov_len = size - first}, // NOLINT: an address
    };
    int saved = errno;
    ssize_t got = process_vm_readv(getpid(), &to, 1, from, 2, 0);
    errno = saved;
    return got < 0 ? 0 : (size_t)got;
}

const struct tg_gomp_site *tg_gomp_site_find(const void *caller, const struct tg_gomp_situation *situation,
                                             struct tg_gomp_site *buffer)
{
    uintptr_t key = key_of(caller, situation);
    size_t first = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 53);
    for (size_t i = 0; i < PROBES; i++) {
        struct slot *slot = &slots[(first + i) % SLOTS];
        uintptr_t owner = __atomic_load_n(&slot->caller, __ATOMIC_RELAXED);
        if (owner == key && __atomic_load_n(&slot->is_read, __ATOMIC_ACQUIRE))
            return &slot->site;
        if (owner == 0 && __atomic_compare_exchange_n(&slot->caller, &owner, key, false, __ATOMIC_RELAXED,
                                                      __ATOMIC_RELAXED)) {
            slot->site = tg_gomp_site_read(situation, read_own, (void *)caller);
            __atomic_store_n(&slot->is_read, true, __ATOMIC_RELEASE);
            return &slot->site;
        }
        if (owner == key) { /* another thread is just reading it */
            *buffer = tg_gomp_site_read(situation, read_own, (void *)caller);
            return buffer;
        }
    }
    return NULL;
}
