#include "recorder/engine/step.h"
#include "recorder/engine/keep.h"
#include "recorder/engine/observers.h"
#include "recorder/engine/process_table.h"
#include "recorder/engine/resume.h"
#include "recorder/engine/scratch.h"
#include "recorder/engine/stop.h"
#include "recorder/engine/watch.h"

#include <string.h>
#include <sys/uio.h>

/* Past an instruction under an int3: its effect is computed where that is simple; otherwise a copy of it runs
 * in a scratch slot, in memory that the program never executes. The int3 stays where it is meanwhile, so
 * that no other thread runs past it. */

enum { INT3 = 0xcc, EFLAGS_TF = 0x100, EFLAGS_RF = 0x10000, KERNEL_SIGSET_BYTES = 8 };

/* ---- memory as the program itself would access it */

static bool read_as_program(void *context, uint64_t address, void *buffer, size_t size)
{
    const struct tg_tracee *tracee = context;
    if (tracee->along_valid && address == tracee->along_address && size <= sizeof tracee->along) {
        memcpy(buffer, &tracee->along, size); /* little-endian: of a narrower word these are its bytes too */
        return true;
    }
    struct iovec local = {buffer, size}, remote = {(void *)address, size};
    return process_vm_readv(tracee->thread.tid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

static bool write_as_program(void *context, uint64_t address, const void *buffer, size_t size)
{
    const struct tg_tracee *tracee = context;
    struct iovec local = {(void *)buffer, size}, remote = {(void *)address, size};
    return process_vm_writev(tracee->thread.tid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

static struct tg_insn_memory memory_of(struct tg_tracee *tracee)
{
    return (struct tg_insn_memory){.context = tracee, .read = read_as_program, .write = write_as_program};
}

/* ---- slots */

static void step_over(struct tg_tracee *tracee, uint64_t address);

static struct tg_tracee *find_waiting(struct tg_engine *engine, const struct tg_address_space *space)
{
    for (struct tg_tracee *tracee = engine->tracees; tracee != NULL; tracee = tracee->by_tid.next)
        if (tracee->step.waiting && tracee->step.awaited == 0 && !tracee->kept &&
            tracee->thread.process->space == space)
            return tracee;
    return NULL;
}

static void release_slot(struct tg_engine *engine, struct tg_step *step)
{
    struct tg_address_space *space = step->space;
    step->active = false;
    step->space = NULL;
    if (step->slot == TG_NO_SLOT) {
        tg_address_space_unref(space);
        return;
    }
    struct tg_tracee *next = tg_scratch_give_back(space, step->slot) ? find_waiting(engine, space) : NULL;
    tg_address_space_unref(space);
    if (next != NULL) {
        next->step.waiting = false;
        step_over(next, next->step.address);
    }
}

/* ---- a hit */

void tg_step_restore_mask(const struct tg_tracee *tracee)
{
    const uint64_t trap = UINT64_C(1) << (SIGTRAP - 1);
    const uint64_t never_set = UINT64_C(1) << (SIGKILL - 1) | UINT64_C(1) << (SIGSTOP - 1) |
                               UINT64_C(3) << 31; /* 32 and 33 are the C library's own */
    uint64_t mask;
    if (ptrace(PTRACE_GETSIGMASK, tracee->thread.tid, KERNEL_SIGSET_BYTES, &mask) != 0)
        return;
    if ((mask | trap | never_set) == UINT64_MAX && !(mask & trap)) {
        mask |= trap;
        ptrace(PTRACE_SETSIGMASK, tracee->thread.tid, KERNEL_SIGSET_BYTES, &mask);
    }
}

/* Nowhere to step: the program is not to suffer for it. */
static void give_up(struct tg_tracee *tracee, struct tg_site *site)
{
    tg_stop_note(tracee,
                 "breakpoint at 0x%llx removed: no room for the out-of-line copy of its "
                 "instruction",
                 (unsigned long long)site->address);
    tg_memory_write(tracee->thread.tid, site->address, site->insn.bytes, 1);
    site->planted = false;
    tg_tracee_resume(tracee, 0);
}

static void displace(struct tg_tracee *tracee, struct tg_site *site)
{
    struct tg_address_space *space = tracee->thread.process->space;
    struct tg_step *step = &tracee->step;
    bool busy;
    unsigned slot = tg_scratch_take(tracee, site->insn.displaced, &busy);
    if (busy) {
        step->waiting = true;
        step->address = site->address;
        return;
    }
    if (slot == TG_NO_SLOT) {
        give_up(tracee, site);
        return;
    }
    *step = (struct tg_step){
        .active = true,
        .user_trap = tracee->regs.eflags & EFLAGS_TF,
        .slot = slot,
        .address = site->address,
        .scratch = space->scratch + (uint64_t)slot * TG_INSN_SCRATCH_BYTES,
        .insn = site->insn,
        .space = tg_address_space_ref(space),
    };
    tg_insn_displace(&step->insn, step->address, step->scratch, &tracee->regs, &step->saved_register);
    tracee->regs_changed = true;
    tg_tracee_resume_now(tracee, 0);
}

static bool is_watched(const struct tg_tracee *tracee)
{
    return tg_watch_registers_free(tracee->thread.process) < TG_WATCH_REGISTERS;
}

/* Resumes TRACEE, stopped at ADDRESS, where an int3 may be. */
static void step_over(struct tg_tracee *tracee, uint64_t address)
{
    struct tg_site *site = tg_address_space_site(tracee->thread.process->space, address);
    bool lifted_soon = tg_traced_of(tracee)->detaching && !tg_process_shares_memory(tracee->thread.process);
    if (site == NULL || !site->planted || lifted_soon || tracee->regs.rip != address) {
        tg_tracee_resume(tracee, 0);
        return;
    }
    struct tg_insn_memory memory = memory_of(tracee);
    /* what is watched is watched by the processor: nothing is written in its place */
    if ((tracee->regs.eflags & EFLAGS_TF) || is_watched(tracee) ||
        !tg_insn_emulate(&site->insn, &tracee->regs, &memory)) {
        displace(tracee, site);
        return;
    }
    tracee->regs_changed = true;
    if (tg_keep_step_emulated(tracee))
        tg_tracee_resume_now(tracee, 0);
    else
        tg_tracee_resume(tracee, 0);
}

void tg_step_go_on(struct tg_tracee *tracee)
{
    tracee->step.waiting = false;
    step_over(tracee, tracee->step.address);
}

/* The same for TRACEE, whose handlers ran, unless it is to stay. */
static void leave(struct tg_tracee *tracee, uint64_t address)
{
    bool stays = tg_keep_is_due(tracee) && !tg_traced_of(tracee)->detaching;
    if (tracee->step.awaited == 0 && !stays) {
        step_over(tracee, address);
        return;
    }
    tracee->step.waiting = true;
    tracee->step.address = address;
    if (stays)
        tg_keep_instead(tracee, 0, false);
}

/* ---- hits that come again */

static uint64_t digest_registers(const struct user_regs_struct *regs)
{
    struct user_regs_struct same = *regs;
    same.orig_rax = 0;         /* returning from a signal handler changes it */
    same.eflags &= ~EFLAGS_RF; /* and this */
    uint64_t digest = 0;
    for (size_t i = 0; i < sizeof same / sizeof(uint64_t); i++) {
        uint64_t word;
        memcpy(&word, (const char *)&same + i * sizeof word, sizeof word);
        digest = (digest ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        digest ^= digest >> 29;
    }
    return digest;
}

/* TRACEE is to run the instruction at ADDRESS once more. */
static void add_interrupted(struct tg_tracee *tracee, uint64_t address)
{
    const struct tg_site *site = tg_address_space_site(tracee->thread.process->space, address);
    if (site == NULL || !site->planted)
        return; /* lifted meanwhile: the instruction runs without a hit */
    if (tracee->n_interrupted == TG_MAX_INTERRUPTED) {
        memmove(tracee->interrupted, tracee->interrupted + 1,
                (TG_MAX_INTERRUPTED - 1) * sizeof tracee->interrupted[0]);
        tracee->n_interrupted--;
    }
    tracee->interrupted[tracee->n_interrupted++] = (struct tg_interrupted){
        .address = address, .planting = site->planting, .registers = digest_registers(&tracee->regs)};
}

/* Is this hit of SITE that of an interrupted instruction once more? Then what was interrupted inside of it is
 * over. An instruction that was interrupted under an int3 of before ran without a hit when that was lifted:
 * the next thread in the same state is a new arrival. */
static bool take_interrupted(struct tg_tracee *tracee, const struct tg_site *site)
{
    uint64_t registers = tracee->n_interrupted > 0 ? digest_registers(&tracee->regs) : 0;
    for (unsigned i = tracee->n_interrupted; i-- > 0;)
        if (tracee->interrupted[i].address == site->address &&
            tracee->interrupted[i].planting == site->planting &&
            tracee->interrupted[i].registers == registers) {
            tracee->n_interrupted = i;
            return true;
        }
    return false;
}

bool tg_step_trap_is_certain(struct tg_tracee *tracee)
{
    if (tracee->step.active || tracee->dropped_trap || tracee->passing != 0 ||
        !tg_tracee_load_registers(tracee))
        return false;
    const struct tg_site *site = tg_address_space_site(tracee->thread.process->space, tracee->regs.rip - 1);
    return site != NULL && site->planted && site->lonely_ret;
}

bool tg_step_trap(struct tg_tracee *tracee)
{
    if (!tg_tracee_load_registers(tracee))
        return true; /* killed */
    uint64_t address = tracee->regs.rip - 1;
    struct tg_site *site = tg_address_space_site(tracee->thread.process->space, address);
    uint8_t byte;
    if (site == NULL ||
        (!site->planted && (!tg_memory_read(tracee->thread.tid, address, &byte, 1) || byte == INT3)))
        return false;
    tg_step_restore_mask(tracee);
    tracee->regs.rip = address;
    tracee->regs_changed = true;
    if (site->planted && !take_interrupted(tracee, site) && tg_site_run_handlers(tracee, site))
        tg_observers_stopped(tracee, TG_TRIGGER_BREAKPOINT, 0);
    leave(tracee, address);
    return true;
}

/* ---- doubled sites */

/* Instruction and stack pointer, for less than all registers. */
static bool read_place(struct tg_tracee *tracee, uint64_t *ip, uint64_t *sp)
{
    struct __ptrace_syscall_info info;
    long n = ptrace(PTRACE_GET_SYSCALL_INFO, tracee->thread.tid, sizeof info, &info);
    if (n < (long)(offsetof(struct __ptrace_syscall_info, stack_pointer) + sizeof info.stack_pointer))
        return false;
    *ip = info.instruction_pointer;
    *sp = info.stack_pointer;
    return true;
}

/* Lets TRACEE, whose handlers ran, go on behind the int3 at ADDRESS. */
static void pass(struct tg_tracee *tracee, uint64_t address, uint64_t sp)
{
    const struct tg_site *site = tg_address_space_site(tracee->thread.process->space, address);
    if (tracee->trapped_at != 0 && tracee->step.awaited == 0 && !tracee->keep_due && !tracee->stepping &&
        site != NULL && site->planted && site->doubled && !tg_traced_of(tracee)->detaching) {
        tracee->passing = address;
        tracee->passing_sp = sp;
        tg_tracee_resume(tracee, 0);
        return;
    }
    if (!tg_tracee_load_registers(tracee))
        return; /* killed */
    leave(tracee, address);
}

bool tg_step_trap_doubled(struct tg_tracee *tracee)
{
    struct tg_address_space *space = tracee->thread.process->space;
    uint64_t ip, sp;
    if (!space->has_doubled || tracee->step.active || tracee->dropped_trap || tracee->n_interrupted > 0 ||
        !read_place(tracee, &ip, &sp))
        return false;
    struct tg_site *site = tg_address_space_site(space, ip - 1);
    if (site == NULL || !site->planted || !site->doubled)
        return false;
    uint64_t address = site->address;
    if (tracee->passing == address && tracee->passing_sp == sp)
        return false; /* the thread may still be there, and this be another SIGTRAP: the siginfo tells */
    tracee->passing = 0;
    tracee->trapped_at = address;
    if (tg_site_run_handlers(tracee, site))
        tg_observers_stopped(tracee, TG_TRIGGER_BREAKPOINT, 0);
    if (!tracee->comes_again || tg_traced_of(tracee)->detaching)
        tg_step_restore_mask(tracee);
    pass(tracee, address, sp);
    return true;
}

void tg_step_end_pass(struct tg_tracee *tracee)
{
    uint64_t address = tracee->passing;
    tracee->passing = 0;
    if (address == 0 || !tg_tracee_load_registers(tracee) || tracee->regs.rip != address + 1 ||
        tracee->regs.rsp != tracee->passing_sp)
        return;
    size_t word = tracee->thread.process->bits == 32 ? 4 : 8;
    uint64_t target = 0;
    if (!read_as_program(tracee, tracee->regs.rsp, &target, word))
        return; /* the thread returns, or faults, by itself */
    tracee->regs.rip = target;
    tracee->regs.rsp += word;
    tracee->regs_changed = true;
}

void tg_thread_comes_again(struct tg_thread *thread)
{
    tg_tracee_of(thread)->comes_again = true;
}

bool tg_thread_wants_along(struct tg_thread *thread, struct tg_memory_range *range)
{
    struct tg_tracee *tracee = tg_tracee_of(thread);
    if (tracee->trapped_at != 0)
        return false; /* the `ret` there runs by itself */
    if (!tg_tracee_load_registers(tracee))
        return false;
    const struct tg_site *site = tg_address_space_site(thread->process->space, tracee->regs.rip);
    if (site == NULL || !site->lonely_ret)
        return false;
    tracee->along_address = tracee->regs.rsp;
    *range = (struct tg_memory_range){tracee->regs.rsp, &tracee->along, site->insn.bits / 8};
    return true;
}

void tg_thread_took_along(struct tg_thread *thread)
{
    tg_tracee_of(thread)->along_valid = true;
}

bool tg_thread_return(struct tg_thread *thread, uint64_t value)
{
    struct tg_tracee *tracee = tg_tracee_of(thread);
    uint64_t address;
    if (!tg_tracee_load_registers(tracee) ||
        !read_as_program(tracee, tracee->regs.rsp, &address, sizeof address))
        return false;
    tracee->regs.rip = address;
    tracee->regs.rsp += sizeof address;
    tracee->regs.rax = value;
    tracee->regs_changed = true;
    return true;
}

void tg_engine_hold(struct tg_thread *thread, pid_t pid)
{
    if (tg_process_find(thread->process->engine, pid) != NULL)
        tg_tracee_of(thread)->step.awaited = pid;
}

void tg_step_process_gone(struct tg_engine *engine, pid_t pid)
{
    struct tg_tracee *tracee, *next;
    HASH_ITER (by_tid, engine->tracees, tracee, next) {
        if (tracee->step.awaited != pid)
            continue;
        bool waiting = tracee->step.waiting;
        tracee->step.awaited = 0;
        if (waiting && !tracee->kept)
            tg_step_go_on(tracee);
    }
}

/* ---- the end of a step */

bool tg_step_trap_is_pending(const struct tg_tracee *tracee)
{
    siginfo_t queue[8];
    struct __ptrace_peeksiginfo_args where = {.off = 0, .flags = 0, .nr = sizeof queue / sizeof *queue};
    for (;;) {
        long n = ptrace(PTRACE_PEEKSIGINFO, tracee->thread.tid, &where, queue);
        if (n <= 0)
            return false;
        for (long i = 0; i < n; i++)
            if (queue[i].si_signo == SIGTRAP && queue[i].si_code > 0)
                return true;
        where.off += (uint64_t)n;
    }
}

static bool is_step_trap(const struct tg_step *step, const siginfo_t *info)
{
    return info != NULL && info->si_signo == SIGTRAP && info->si_code > 0 &&
           (info->si_code != SI_KERNEL || step->insn.runs_to_trap);
}

bool tg_step_finish(struct tg_tracee *tracee, siginfo_t *info)
{
    struct tg_step *step = &tracee->step;
    if (!step->active)
        return false;
    struct tg_engine *engine = tracee->thread.process->engine;
    if (!tg_tracee_load_registers(tracee)) {
        release_slot(engine, step);
        return true;
    }
    struct tg_insn_memory memory = memory_of(tracee);
    enum tg_insn_outcome outcome = tg_insn_finish(&step->insn, step->address, step->scratch,
                                                  step->saved_register, &tracee->regs, &memory);
    tracee->regs_changed = true;
    step->ended_now = true;
    bool own = outcome == TG_INSN_DONE && is_step_trap(step, info);
    if (outcome == TG_INSN_AGAIN)
        add_interrupted(tracee, step->address);
    else if (!own)
        tracee->dropped_trap = tg_step_trap_is_pending(tracee);
    if (own)
        tg_step_restore_mask(tracee);
    if (info != NULL && info->si_code > 0 && info->si_signo != SIGCHLD && !own &&
        (uint64_t)info->si_addr == step->scratch) { /* the program is to see its own address */
        info->si_addr = (void *)step->address;
        ptrace(PTRACE_SETSIGINFO, tracee->thread.tid, NULL, info);
    }
    if (own && step->user_trap) { /* the program single-steps itself: the trap is as much its own */
        info->si_addr = (void *)tracee->regs.rip;
        ptrace(PTRACE_SETSIGINFO, tracee->thread.tid, NULL, info);
        own = false;
    }
    release_slot(engine, step);
    return own;
}

void tg_step_drop(struct tg_tracee *tracee)
{
    tracee->step.waiting = false;
    tracee->step.awaited = 0;
    tracee->step.ended_now = false;
    if (tracee->step.active)
        release_slot(tracee->thread.process->engine, &tracee->step);
}

void tg_step_inherit(const struct tg_tracee *parent, struct tg_tracee *child)
{
    if (!parent->step.ended_now)
        return;
    child->step = parent->step;
    child->step.active = true;
    child->step.ended_now = false;
    child->step.slot = TG_NO_SLOT;
    child->step.space = tg_address_space_ref(child->thread.process->space);
}
