/* Every instruction of insn_cases.h is run three times from the same state: natively at its place, displaced
 * under a breakpoint, and, where it can be, emulated. Registers, vector state and memory must be the same
 * afterwards, and so must a fault. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <cpuid.h>
#include <elf.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/process/insn.h"
#include "tests/unit/recorder/process/insn_cases.h"

enum {
    CASE_EMULATED = 1,
    CASE_TO_TRAP = 2,
    CASE_AVX2 = 4,
    CASE_AVX512 = 8,
    CASE_TARGET = 16,
    CASE_WILD = 32,
    CASE_SYSTEM = 64,
    CASE_COUNT = 128,
};

struct insn_case {
    uint8_t length, bits;
    uint16_t flags;
    uint32_t pad;
    uint8_t bytes[24];
    char text[96];
};
extern const struct insn_case first_case[] __asm__("__start_insn_cases");
extern const struct insn_case end_of_cases[] __asm__("__stop_insn_cases");

/* The child's memory, all below 4 GiB for 32-bit code, but for the scratch of 64-bit code, which is out of a
   RIP-relative operand's reach. */
#define CODE      UINT64_C(0x10000000)
#define DATA      (CODE + 0x1000)
#define STACK     UINT64_C(0x20000000)
#define SCRATCH32 UINT64_C(0x30000000)
#define SCRATCH64 UINT64_C(0x200000000000)
enum { AREA_BYTES = 0x1000, SEEDS = 20, XSTATE_BYTES = 16384, FLAG_RESUME = 0x10000, FLAG_ID = 0x200000 };

struct state {
    int signal;
    struct user_regs_struct regs;
    size_t xstate_size;
    uint8_t xstate[XSTATE_BYTES];
    uint8_t data[AREA_BYTES], stack[AREA_BYTES];
};

static pid_t child;
static struct user_regs_struct child_regs;
static struct tg_insn_decoder *decoder;

static uint64_t random_state = 88172645463325252u;
static uint64_t random_value(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static void run_child(void)
{
    const uint64_t areas[] = {CODE, DATA, STACK, SCRATCH32, SCRATCH64};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (size_t i = 0; i < sizeof areas / sizeof areas[0]; i++)
        /* not mmap(), which sanitizers watch: the child runs nothing of theirs any more */
        if (syscall(SYS_mmap, areas[i], AREA_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != (long)areas[i])
            _exit(1);
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    syscall(SYS_kill, getpid(), SIGSTOP);
    _exit(2);
}

static int start_child(void **state)
{
    (void)state;
    child = fork();
    if (child == 0)
        run_child();
    int status = 0;
    if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
        return -1;
    return ptrace(PTRACE_GETREGS, child, NULL, &child_regs) == 0 && tg_insn_decoder_create(&decoder) == NULL
               ? 0
               : -1;
}

static int end_child(void **state)
{
    (void)state;
    tg_insn_decoder_destroy(decoder);
    kill(child, SIGKILL);
    return waitpid(child, NULL, 0) == child ? 0 : -1;
}

static bool read_child(void *context, uint64_t address, void *buffer, size_t size)
{
    (void)context;
    struct iovec here = {buffer, size}, there = {(void *)address, size};
    return process_vm_readv(child, &here, 1, &there, 1, 0) == (ssize_t)size;
}

static bool write_child(void *context, uint64_t address, const void *buffer, size_t size)
{
    (void)context;
    struct iovec here = {(void *)buffer, size}, there = {(void *)address, size};
    return process_vm_writev(child, &here, 1, &there, 1, 0) == (ssize_t)size;
}

static const struct tg_insn_memory child_memory = {NULL, read_child, write_child};

/* After a stepped popf the kernel shows the TF of the next steps, until the thread is once continued. */
static void forget_single_step(void)
{
    uint8_t breakpoint = 0xcc;
    struct user_regs_struct regs = child_regs;
    regs.rip = CODE + 0x800;
    regs.orig_rax = (unsigned long long)-1;
    assert_true(write_child(NULL, regs.rip, &breakpoint, 1));
    assert_int_equal(ptrace(PTRACE_SETREGS, child, NULL, &regs), 0);
    assert_int_equal(ptrace(PTRACE_CONT, child, NULL, NULL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void load_state(const struct state *state)
{
    forget_single_step();
    struct iovec xstate = {(void *)state->xstate, state->xstate_size};
    assert_int_equal(ptrace(PTRACE_SETREGSET, child, NT_X86_XSTATE, &xstate), 0);
    assert_int_equal(ptrace(PTRACE_SETREGS, child, NULL, &state->regs), 0);
    assert_true(write_child(NULL, DATA, state->data, AREA_BYTES));
    assert_true(write_child(NULL, STACK, state->stack, AREA_BYTES));
}

static void save_xstate(struct state *state)
{
    struct iovec xstate = {state->xstate, sizeof state->xstate};
    assert_int_equal(ptrace(PTRACE_GETREGSET, child, NT_X86_XSTATE, &xstate), 0);
    state->xstate_size = xstate.iov_len;
}

static void save_memory(struct state *state)
{
    assert_true(read_child(NULL, DATA, state->data, AREA_BYTES));
    assert_true(read_child(NULL, STACK, state->stack, AREA_BYTES));
    memset(state->xstate + 8, 0, 8);   /* address of the last x87 instruction: not hidden */
    memset(state->xstate + 512, 0, 8); /* components in use: a matter of when the kernel saved them */
}

/* Resumes by REQUEST and waits for the stop. */
static void resume(enum __ptrace_request request, struct state *after)
{
    int status = 0;
    assert_int_equal(ptrace(request, child, NULL, NULL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSTOPPED(status));
    after->signal = WSTOPSIG(status);
    assert_int_equal(ptrace(PTRACE_GETREGS, child, NULL, &after->regs), 0);
    save_xstate(after);
}

static void run_native(const struct insn_case *insn_case, const struct state *before, struct state *after)
{
    uint8_t code[TG_INSN_SCRATCH_BYTES];
    memset(code, 0xcc, sizeof code);
    memcpy(code, insn_case->bytes, insn_case->length);
    load_state(before);
    assert_true(write_child(NULL, CODE, code, sizeof code));
    resume(insn_case->flags & CASE_TO_TRAP ? PTRACE_CONT : PTRACE_SINGLESTEP, after);
    if (after->signal == SIGTRAP && after->regs.rip == CODE + insn_case->length + 1)
        after->regs.rip--;
    save_memory(after);
}

static void run_displaced(const struct insn_case *insn_case, const struct tg_insn *insn,
                          const struct state *before, struct state *after)
{
    uint64_t scratch = insn_case->bits == 64 ? SCRATCH64 : SCRATCH32, saved = 0;
    uint8_t breakpoint = 0xcc;
    struct user_regs_struct regs = before->regs;
    load_state(before);
    assert_true(write_child(NULL, CODE, &breakpoint, 1));
    tg_insn_displace(insn, CODE, scratch, &regs, &saved);
    assert_true(write_child(NULL, scratch, insn->displaced, sizeof insn->displaced));
    assert_int_equal(ptrace(PTRACE_SETREGS, child, NULL, &regs), 0);
    resume(insn->runs_to_trap ? PTRACE_CONT : PTRACE_SINGLESTEP, after);
    enum tg_insn_outcome outcome = tg_insn_finish(insn, CODE, scratch, saved, &after->regs, &child_memory);
    if ((outcome == TG_INSN_DONE) != (after->signal == SIGTRAP))
        fail_msg("%s: outcome %d after signal %d", insn_case->text, outcome, after->signal);
    save_memory(after);
}

static bool run_emulated(const struct tg_insn *insn, const struct state *before, struct state *after)
{
    load_state(before);
    after->regs = before->regs;
    bool emulated = tg_insn_emulate(insn, &after->regs, &child_memory);
    if (!emulated)
        assert_memory_equal(&after->regs, &before->regs, sizeof after->regs);
    after->signal = SIGTRAP;
    save_xstate(after);
    save_memory(after);
    return emulated;
}

static const char *const register_names[] = {
    "r15",    "r14", "r13", "r12",     "rbp",     "rbx", "r11",      "r10", "r9",
    "r8",     "rax", "rcx", "rdx",     "rsi",     "rdi", "orig_rax", "rip", "cs",
    "eflags", "rsp", "ss",  "fs_base", "gs_base", "ds",  "es",       "fs",  "gs",
};

static void compare(const struct insn_case *insn_case, const char *how, const struct state *expected,
                    const struct state *got)
{
    if (expected->signal != got->signal)
        fail_msg("%s-bit '%s' %s: signal %d instead of %d", insn_case->bits == 64 ? "64" : "32",
                 insn_case->text, how, got->signal, expected->signal);
    for (size_t i = 0; i < sizeof register_names / sizeof register_names[0]; i++) {
        unsigned long long a = ((const unsigned long long *)&expected->regs)[i];
        unsigned long long b = ((const unsigned long long *)&got->regs)[i];
        bool flags = strcmp(register_names[i], "eflags") == 0;
        if (strcmp(register_names[i], "orig_rax") == 0 ||
            (flags && ((a ^ b) & ~(unsigned long long)FLAG_RESUME) == 0))
            continue;
        if (a != b)
            fail_msg("%d-bit '%s' %s: %s is %#llx instead of %#llx", insn_case->bits, insn_case->text, how,
                     register_names[i], b, a);
    }
    /* A call whose target faults has already written its return address below the stack pointer. */
    size_t live = expected->signal == SIGTRAP ? 0 : expected->regs.rsp - STACK;
    if (memcmp(expected->data, got->data, AREA_BYTES) != 0 ||
        memcmp(expected->stack + live, got->stack + live, AREA_BYTES - live) != 0)
        fail_msg("%d-bit '%s' %s: memory differs", insn_case->bits, insn_case->text, how);
    if (memcmp(expected->xstate, got->xstate, expected->xstate_size) != 0)
        fail_msg("%d-bit '%s' %s: vector state differs", insn_case->bits, insn_case->text, how);
}

static void fill(void *buffer, size_t size)
{
    for (size_t i = 0; i + 8 <= size; i += 8) {
        uint64_t value = random_value();
        memcpy((uint8_t *)buffer + i, &value, 8);
    }
}

/* Random contents for the vector registers, at the places that CPUID leaf 0xd gives for the components. */
static void fill_xstate(struct state *state)
{
    memset(state->xstate, 0, sizeof state->xstate);
    save_xstate(state);
    fill(state->xstate + 160, 256); /* xmm */
    uint64_t present = 3, supported = 0;
    memcpy(&supported, state->xstate + 464, 8); /* components that the kernel enabled (sw_reserved) */
    for (unsigned component = 2; component <= 7; component++) {
        unsigned size = 0, offset = 0, ignored = 0;
        if (!(component == 2 || component >= 5) || !(supported >> component & 1))
            continue;
        __cpuid_count(0xd, component, size, offset, ignored, ignored);
        if ((size_t)offset + size > state->xstate_size)
            continue;
        fill(state->xstate + offset, size);
        present |= UINT64_C(1) << component;
    }
    memcpy(state->xstate + 512, &present, 8);
}

/* ID is as the last popf left it: ptrace cannot set it. */
static uint64_t flag_id_of_child(void)
{
    struct user_regs_struct regs;
    assert_int_equal(ptrace(PTRACE_GETREGS, child, NULL, &regs), 0);
    return regs.eflags & FLAG_ID;
}

static uint64_t edge_value(unsigned seed)
{
    static const uint64_t edges[] = {0,         1,          UINT64_MAX, INT64_MAX, UINT64_C(1) << 63,
                                     INT32_MAX, UINT32_MAX, 0x80};
    return seed < 8 ? edges[(seed + random_value() % 3) % 8] : random_value();
}

static void make_state(const struct insn_case *insn_case, unsigned seed, struct state *state)
{
    fill_xstate(state);
    fill(state->data, AREA_BYTES);
    fill(state->stack, AREA_BYTES);
    /* Jump targets and divisors of the cases lie here: addresses that 64-bit code may jump to, and sometimes
       may not. */
    for (size_t i = 0; i < AREA_BYTES; i += 8) {
        state->data[i + 7] = state->data[i + 6] = state->stack[i + 7] = state->stack[i + 6] =
            seed == 3 ? 0x99 : 0;
        state->data[i + 5] &= 0x3f;
        state->stack[i + 5] &= 0x3f;
    }
    state->data[0x40] = 0x7f; /* an x87 control word without unmasked exceptions */
    state->data[0x41] = 0x03;
    struct user_regs_struct *regs = &state->regs;
    *regs = child_regs;
    unsigned long long *const general[] = {&regs->rax, &regs->rdx, &regs->r9,  &regs->r10, &regs->r11,
                                           &regs->r12, &regs->r13, &regs->r14, &regs->r15, &regs->rcx};
    for (size_t i = 0; i < sizeof general / sizeof general[0]; i++)
        *general[i] = edge_value(seed);
    regs->rbx = DATA + 0x400 + (random_value() & 0xf8);
    regs->rsi = DATA + 0x600 + (random_value() & 0xff);
    regs->rdi = DATA + 0x800 + (random_value() & 0xff);
    regs->r8 = CODE + 0x800;
    regs->rbp = STACK + 0x600 + (random_value() & 0xf8);
    regs->rsp = STACK + 0x800 + (random_value() & 0xf8);
    regs->rip = CODE;
    regs->orig_rax = (unsigned long long)-1;
    regs->eflags = 0x202 | flag_id_of_child() | (random_value() & 0xcd5); /* status flags, DF */
    if (insn_case->flags & CASE_COUNT)
        regs->rcx = random_value() % 6;
    if (insn_case->flags & CASE_TARGET)
        regs->rax = 0x12345678 + (random_value() & 0xffff);
    if (insn_case->flags & CASE_WILD)
        regs->rax = UINT64_C(0x8000000000000000) + random_value() % 1000;
    if (insn_case->flags & CASE_SYSTEM)
        regs->rax = insn_case->bits == 64 ? 110 : 64; /* getppid */
    if (insn_case->bits == 32) {
        for (unsigned reg = 0; reg < 10; reg++)
            *general[reg] &= UINT32_MAX;
        regs->cs = 0x23;
        regs->ds = regs->es = 0x2b;
    }
}

static bool processor_has(const struct insn_case *insn_case)
{
    __builtin_cpu_init();
    if (insn_case->flags & CASE_AVX512)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
    return !(insn_case->flags & CASE_AVX2) ||
           (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"));
}

/* Whether 32-bit code runs here: then a nop does. */
static bool runs_32_bits(void)
{
    static const struct insn_case nop = {.length = 1, .bits = 32, .bytes = {0x90}, .text = "nop"};
    static struct state before, after;
    make_state(&nop, 0, &before);
    run_native(&nop, &before, &after);
    return after.signal == SIGTRAP && after.regs.rip == CODE + 1;
}

static void decode_case(const struct insn_case *insn_case, struct tg_insn *insn)
{
    uint8_t bytes[TG_INSN_MAX_BYTES];
    memset(bytes, 0x90, sizeof bytes);
    memcpy(bytes, insn_case->bytes, insn_case->length);
    struct tg_error *error = tg_insn_decode(decoder, insn_case->bits, CODE, bytes, sizeof bytes, insn);
    if (error != NULL)
        fail_msg("%d-bit '%s': %s", insn_case->bits, insn_case->text, tg_error_message(error));
    if (insn->length != insn_case->length)
        fail_msg("%d-bit '%s': length %d", insn_case->bits, insn_case->text, insn->length);
}

static void displaced_and_emulated_equal_native(void **unused)
{
    (void)unused;
    static struct state before, native, displaced, emulated;
    const bool with_32_bits = runs_32_bits();
    size_t skipped = 0, narrow = 0;
    for (const struct insn_case *insn_case = first_case; insn_case < end_of_cases; insn_case++) {
        struct tg_insn insn;
        decode_case(insn_case, &insn);
        if (!processor_has(insn_case)) {
            skipped++;
            continue;
        }
        if (insn_case->bits == 32 && !with_32_bits) {
            narrow++;
            continue;
        }
        for (unsigned seed = 0; seed < SEEDS; seed++) {
            make_state(insn_case, seed, &before);
            run_native(insn_case, &before, &native);
            run_displaced(insn_case, &insn, &before, &displaced);
            compare(insn_case, "displaced", &native, &displaced);
            bool done = run_emulated(&insn, &before, &emulated);
            bool expected = (insn_case->flags & CASE_EMULATED) && native.signal == SIGTRAP;
            if (done != expected)
                fail_msg("%d-bit '%s': %s", insn_case->bits, insn_case->text,
                         done ? "emulated" : "not emulated");
            if (done)
                compare(insn_case, "emulated", &native, &emulated);
        }
    }
    if (skipped > 0)
        print_message("%zu vector instructions are unknown to this processor\n", skipped);
    if (narrow > 0)
        print_message("%zu instructions are of 32-bit code, which does not run on this machine\n", narrow);
}

/* A signal that arrives before the step leaves no trace of it. */
static void step_that_did_not_happen_is_undone(void **unused)
{
    (void)unused;
    for (const struct insn_case *insn_case = first_case; insn_case < end_of_cases; insn_case++) {
        struct tg_insn insn;
        static struct state before;
        uint64_t scratch = insn_case->bits == 64 ? SCRATCH64 : SCRATCH32, saved = 0;
        decode_case(insn_case, &insn);
        make_state(insn_case, 9, &before);
        struct user_regs_struct regs = before.regs;
        tg_insn_displace(&insn, CODE, scratch, &regs, &saved);
        assert_int_equal(regs.rip, scratch);
        assert_int_equal(insn.displaced[insn.displaced_length], 0xcc);
        assert_int_equal(tg_insn_finish(&insn, CODE, scratch, saved, &regs, &child_memory), TG_INSN_AGAIN);
        assert_memory_equal(&regs, &before.regs, sizeof regs);
    }
}

static bool no_access(void *context, uint64_t address, void *buffer, size_t size)
{
    (void)context, (void)address, (void)buffer, (void)size;
    return false;
}

static bool no_write(void *context, uint64_t address, const void *buffer, size_t size)
{
    (void)context, (void)address, (void)buffer, (void)size;
    return false;
}

/* Nothing is emulated by halves at memory that cannot be accessed. */
static void emulation_without_memory_changes_nothing(void **unused)
{
    (void)unused;
    const struct tg_insn_memory nothing = {NULL, no_access, no_write};
    static const char *const accessing[] = {"push %rbp", "pop %rcx", "ret", "leave", "call *%r8", "pushf"};
    size_t found = 0;
    for (const struct insn_case *insn_case = first_case; insn_case < end_of_cases; insn_case++) {
        struct tg_insn insn;
        static struct state before;
        decode_case(insn_case, &insn);
        make_state(insn_case, 9, &before);
        struct user_regs_struct regs = before.regs;
        if (!tg_insn_emulate(&insn, &regs, &nothing))
            assert_memory_equal(&regs, &before.regs, sizeof regs);
        for (size_t i = 0; i < sizeof accessing / sizeof accessing[0]; i++)
            if (insn_case->bits == 64 && strcmp(accessing[i], insn_case->text) == 0) {
                found++;
                assert_false(tg_insn_emulate(&insn, &regs, &nothing));
            }
    }
    assert_int_equal(found, sizeof accessing / sizeof accessing[0]);
}

static enum tg_error_code decode_error(unsigned bits, const uint8_t *bytes, size_t size)
{
    struct tg_insn insn;
    TG_AUTO_ERROR struct tg_error *error = tg_insn_decode(decoder, bits, CODE, bytes, size, &insn);
    assert_non_null(error);
    return tg_error_code(error);
}

static void what_cannot_hold_a_breakpoint_is_refused(void **unused)
{
    (void)unused;
    assert_int_equal(decode_error(64, (const uint8_t[]){0xcc}, 1), TG_ERROR_UNSUPPORTED);
    assert_int_equal(decode_error(64, (const uint8_t[]){0xcd, 3}, 2), TG_ERROR_UNSUPPORTED);
    assert_int_equal(decode_error(64, (const uint8_t[]){0xf1}, 1), TG_ERROR_UNSUPPORTED);
    assert_int_equal(decode_error(64, (const uint8_t[]){0x66, 0xe8, 0, 0, 0, 0, 0}, 7), TG_ERROR_UNSUPPORTED);
    assert_int_equal(decode_error(64, (const uint8_t[]){0x48, 0x8b}, 2), TG_ERROR_INPUT);    /* cut off */
    assert_int_equal(decode_error(64, (const uint8_t[]){0xe8, 0, 0}, 3), TG_ERROR_INPUT);    /* cut off */
    assert_int_equal(decode_error(64, (const uint8_t[]){0x06, 0, 0, 0}, 4), TG_ERROR_INPUT); /* 32-bit only */
    uint8_t prefixes[TG_INSN_MAX_BYTES];
    memset(prefixes, 0x66, sizeof prefixes);
    assert_int_equal(decode_error(64, prefixes, sizeof prefixes), TG_ERROR_INPUT);
}

/* Newer than Capstone 4: vaddph 0x1000(%rip), %zmm22, %zmm23, and movdiri %rsi, 0x1000(%rip). */
static void regular_encodings_are_understood_without_capstone(void **unused)
{
    (void)unused;
    struct tg_insn insn;
    const uint8_t vaddph[] = {0x62, 0xe5, 0x4c, 0x40, 0x58, 0x3d, 0, 0x10, 0, 0, 0xc3};
    assert_null(tg_insn_decode(decoder, 64, CODE, vaddph, sizeof vaddph, &insn));
    assert_int_equal(insn.length, 10);
    assert_true(insn.uses_rip);
    const uint8_t movdiri[] = {0x48, 0x0f, 0x38, 0xf9, 0x35, 0, 0x10, 0, 0, 0xc3};
    assert_null(tg_insn_decode(decoder, 64, CODE, movdiri, sizeof movdiri, &insn));
    assert_int_equal(insn.length, 9);
    assert_true(insn.uses_rip);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(displaced_and_emulated_equal_native),
        cmocka_unit_test(step_that_did_not_happen_is_undone),
        cmocka_unit_test(emulation_without_memory_changes_nothing),
        cmocka_unit_test(what_cannot_hold_a_breakpoint_is_refused),
        cmocka_unit_test(regular_encodings_are_understood_without_capstone),
    };
    return cmocka_run_group_tests(tests, start_child, end_child);
}
