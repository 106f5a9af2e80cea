#include "recorder/engine/dispatch.h"
#include "recorder/engine/adoption.h"
#include "recorder/engine/detach.h"
#include "recorder/engine/ending.h"
#include "recorder/engine/first_thread.h"
#include "recorder/engine/keep.h"
#include "recorder/engine/lineage.h"
#include "recorder/engine/observers.h"
#include "recorder/engine/parked.h"
#include "recorder/engine/pause.h"
#include "recorder/engine/process_table.h"
#include "recorder/engine/program.h"
#include "recorder/engine/rest.h"
#include "recorder/engine/restart.h"
#include "recorder/engine/resume.h"
#include "recorder/engine/step.h"
#include "recorder/engine/stop.h"
#include "recorder/engine/wake.h"
#include "recorder/engine/watch.h"
#include "recorder/process/proc_status.h"
#include "recorder/process/thread_stack.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- kinds of stops */

static bool fault_has_address(const siginfo_t *info)
{
    return info->si_code > 0 &&
           (info->si_signo == SIGSEGV || info->si_signo == SIGBUS || info->si_signo == SIGILL ||
            info->si_signo == SIGFPE || info->si_signo == SIGTRAP);
}

/* Where the thread is, without taking note of it: what a stop at a breakpoint has changed stays as it is. All 0: not known. */
static struct user_regs_struct registers_of(const struct tg_tracee *tracee)
{
    struct user_regs_struct registers;
    if (tracee->regs_valid)
        return tracee->regs;
    if (ptrace(PTRACE_GETREGS, tracee->thread.tid, NULL, &registers) != 0)
        memset(&registers, 0, sizeof registers);
    return registers;
}

/* Whether SIGNAL ends TRACEE's process, or stops it: it has no handler, and is not ignored. Also those that ask for an
 * end, whatever follows. */
static bool is_of_interest(const struct tg_tracee *tracee, int signal)
{
    if (signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT || signal == SIGSTOP)
        return true;
    if (signal == SIGCHLD || signal == SIGCONT || signal == SIGURG || signal == SIGWINCH)
        return false;
    uint64_t ignored, caught;
    return tg_proc_status_signals(tracee->thread.tid, &ignored, &caught) &&
           ((ignored | caught) >> (signal - 1) & 1) == 0;
}

/* The program that sent a signal which ends or stops others, "" not known: it may be gone by the time somebody
 * asks. */
static void name_sender(const struct tg_tracee *tracee, const siginfo_t *info, int signal, char *name,
                        size_t size)
{
    char path[32];
    *name = '\0';
    if (info->si_code > 0 || info->si_code == SI_TIMER || info->si_pid <= 0 ||
        info->si_pid == tracee->thread.process->pid || !is_of_interest(tracee, signal))
        return;
    snprintf(path, sizeof path, "/proc/%d/comm", (int)info->si_pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, name, size - 1);
    if (fd >= 0)
        close(fd);
    name[n > 0 ? n : 0] = '\0';
    name[strcspn(name, "\n")] = '\0';
}

static void on_program_signal(struct tg_tracee *tracee, const siginfo_t *info, int signal)
{
    char sender[32];
    struct tg_passed_on asker;
    pid_t sender_pid = info->si_code <= 0 && info->si_code != SI_TIMER ? info->si_pid : 0;
    const struct user_regs_struct registers = registers_of(tracee);
    const uint64_t fault = fault_has_address(info) ? (uint64_t)info->si_addr : 0;
    name_sender(tracee, info, signal, sender, sizeof sender);
    if (sender_pid == getpid() && tg_wake_find_asker(tracee->thread.process->engine, signal, &asker)) {
        sender_pid = asker.sender; /* the real sender: this process has only passed the signal on */
        snprintf(sender, sizeof sender, "%s", asker.name);
    }
    struct tg_event event = {
        .kind = TG_EVENT_SIGNAL,
        .signal = {.signal = signal,
                   .code = info->si_code,
                   .sender_pid = sender_pid,
                   .address = fault,
                   .pc = registers.rip,
                   .sender = sender,
                   .overflowed = signal == SIGSEGV && fault != 0
                                     ? tg_thread_stack_overflowed(tracee->thread.process->pid,
                                                                  tracee->thread.tid, &registers, fault)
                                     : 0},
    };
    tg_engine_emit(tracee->thread.process->engine, &tracee->thread, &event);
    tg_observers_stopped(tracee, TG_TRIGGER_SIGNAL, signal);
    if (signal != SIGSTOP && signal != SIGTSTP && signal != SIGTTIN && signal != SIGTTOU)
        tg_restart_wait(tracee);
    tg_tracee_resume(tracee, signal);
}

/* TRACEE has written to what is watched, maybe in a step of ours. */
static void on_watch_trap(struct tg_tracee *tracee, const struct tg_watch_trap *trap)
{
    siginfo_t info;
    if (ptrace(PTRACE_GETSIGINFO, tracee->thread.tid, NULL, &info) != 0) {
        tg_tracee_resume(tracee, 0); /* killed */
        return;
    }
    tg_step_end_pass(tracee);
    tracee->passing = 0;
    bool is_displaced = tracee->step.active, is_step = tg_step_finish(tracee, &info);
    bool is_programs =
        trap->stepped && !is_step && (is_displaced || !tracee->stepping) && !tracee->dropped_trap;
    tracee->dropped_trap = false;
    tg_step_restore_mask(tracee);
    if (is_step || (trap->stepped && !is_displaced))
        (void)tg_keep_step_ended(tracee);
    if (tg_watch_run_handlers(tracee, trap))
        tg_observers_stopped(tracee, TG_TRIGGER_BREAKPOINT, 0);
    if (is_programs)
        on_program_signal(tracee, &info, SIGTRAP);
    else
        tg_tracee_resume(tracee, 0);
}

static void on_signal(struct tg_tracee *tracee, int signal)
{
    siginfo_t info;
    struct tg_watch_trap trap;
    if (signal == SIGTRAP && tg_watch_take_trap(tracee, &trap)) {
        on_watch_trap(tracee, &trap);
        return;
    }
    if (signal == SIGTRAP && tg_step_trap_doubled(tracee))
        return;
    if (signal == SIGTRAP && tg_step_trap_is_certain(tracee) && tg_step_trap(tracee))
        return;
    if (ptrace(PTRACE_GETSIGINFO, tracee->thread.tid, NULL, &info) != 0) {
        tg_tracee_resume(tracee, signal);
        return;
    }
    if (signal != SIGTRAP || info.si_code != SI_KERNEL)
        tg_step_end_pass(tracee);
    tracee->passing = 0;
    if (tracee->step.active && tg_step_finish(tracee, &info)) {
        tg_keep_step_ended(tracee);
        tg_tracee_resume(tracee, 0);
        return;
    }
    if (signal == SIGTRAP && info.si_code > 0) {
        bool dropped = tracee->dropped_trap;
        tracee->dropped_trap = false;
        if (dropped) {
            tg_keep_tell_halted(tracee);
            tg_tracee_resume(tracee, 0);
            return;
        }
        if (info.si_code == SI_KERNEL && tg_step_trap(tracee))
            return;
        if (info.si_code != SI_KERNEL && tg_keep_step_ended(tracee)) {
            tg_tracee_resume(tracee, 0);
            return;
        }
    }
    if (tg_first_thread_gets(tracee, &info)) {
        tg_restart_wait(tracee);
        tg_tracee_resume(tracee, 0);
        return;
    }
    tg_first_thread_has_got(tracee, &info);
    on_program_signal(tracee, &info, signal);
}

static void emit_group_stop(struct tg_tracee *tracee, int signal)
{
    struct tg_event event = {.kind = TG_EVENT_GROUP_STOP, .group_stop = {.signal = signal}};
    tg_engine_emit(tracee->thread.process->engine, &tracee->thread, &event);
    tg_observers_stopped(tracee, TG_TRIGGER_GROUP_STOP, signal);
}

/* PTRACE_EVENT_STOP: a new thread's first stop, an interrupt of ours, a group-stop or its end. */
static void on_event_stop(struct tg_tracee *tracee, int signal)
{
    struct tg_traced_process *traced = tg_traced_of(tracee);
    bool halted = tracee->keep_due;
    tg_step_finish(tracee, NULL);
    if (signal == SIGTRAP && !tracee->listening)
        tg_restart_wait(tracee);
    if (tracee->first_stop_due)
        tg_lineage_thread_started(tracee);
    if ((traced->detaching || tracee->stepping || halted) && tg_step_trap_is_pending(tracee)) {
        if (!tracee->listening) /* a step into a system call, which is interrupted as any other is */
            tg_restart_wait(tracee);
        tg_tracee_resume_now(tracee, 0); /* the trap comes out before the thread runs any of its own code */
        return;
    }
    if (signal != SIGTRAP) { /* every thread of the group reports it */
        if (!traced->group_stopped)
            emit_group_stop(tracee, signal);
        traced->group_stopped = true;
        if (halted)
            tg_keep_tell_halted(tracee);
        tg_tracee_listen(tracee);
        return;
    }
    if (tracee->listening && traced->group_stopped) {
        traced->group_stopped = false;
        emit_group_stop(tracee, 0);
    }
    if (halted)
        tg_keep_tell_halted(tracee);
    tg_tracee_resume(tracee, 0);
}

static void on_stop(struct tg_tracee *tracee, int status)
{
    int event = status >> 16;
    /* with a SIGTRAP still to come it has run into the int3 once more, and is where it was let go again */
    if (event != 0 && (tracee->passing == 0 || !tg_step_trap_is_pending(tracee)))
        tg_step_end_pass(tracee);
    switch (event) {
    case 0:
        on_signal(tracee, WSTOPSIG(status));
        return;
    case PTRACE_EVENT_STOP:
        on_event_stop(tracee, WSTOPSIG(status));
        return;
    case PTRACE_EVENT_FORK:
    case PTRACE_EVENT_VFORK:
    case PTRACE_EVENT_CLONE:
        tg_step_finish(tracee, NULL);
        tg_lineage_forked(tracee, event);
        return;
    case PTRACE_EVENT_EXIT:
        tg_ending_exiting(tracee);
        return;
    default: /* PTRACE_EVENT_VFORK_DONE: interrupts reach the thread again */
        tg_step_finish(tracee, NULL);
        tg_tracee_resume(tracee, 0);
    }
}

/* The first stop of an attached process: its start and threads are emitted before the stop itself. */
static void announce_attached(struct tg_tracee *tracee)
{
    struct tg_process *process = tracee->thread.process;
    struct tg_engine *engine = process->engine;
    tg_lineage_announce(tracee, NULL);
    for (struct tg_thread *thread = process->threads; thread != NULL; thread = thread->hh.next) {
        if (thread->tid == process->pid || tg_tracee_of(thread)->first_stop_due)
            continue;
        struct tg_event event = {.kind = TG_EVENT_THREAD_START};
        tg_engine_emit(engine, thread, &event);
    }
    tg_program_loaded(tracee, true);
}

static void dispatch_one(struct tg_engine *engine, pid_t tid, int status)
{
    struct tg_tracee *tracee = tg_tracee_find(engine, tid);
    if (tracee != NULL && tg_rest_begins(tracee, status))
        return;
    if (!WIFSTOPPED(status)) {
        int parked;
        if (tracee != NULL)
            tg_ending_ended(tracee, status);
        else if (engine->launched_is_apart && tid == engine->launched_pid)
            tg_ending_apart_ended(engine, status);
        else
            tg_parked_take(engine, tid, &parked);
        return;
    }
    bool exec = status >> 16 == PTRACE_EVENT_EXEC;
    pid_t former_tid = tid;
    if (exec)
        tracee = tg_lineage_executed(engine, tid, &former_tid);
    if (tracee == NULL) {
        if (tg_parked_add(engine, tid, status))
            tg_adoption_parked(engine, tid);
        else
            tg_engine_fail(engine, tg_error_no_memory());
        return;
    }
    tg_stop_begin(engine, tracee);
    struct tg_traced_process *traced = tg_traced_of(tracee);
    if (!traced->started && traced->origin == TG_ORIGIN_ATTACHED && !exec)
        announce_attached(tracee);
    else if (!traced->started)
        tg_lineage_announce(tracee, NULL);
    if (exec) {
        tg_program_emit_exec(tracee, former_tid);
        tg_program_loaded(tracee, false);
        tg_tracee_resume(tracee, 0);
    } else {
        on_stop(tracee, status);
    }
    tg_stop_end(engine);
}

void tg_dispatch_parked(struct tg_engine *engine)
{
    pid_t tid;
    int status;
    while (engine->parked != NULL && (tid = tg_parked_known(engine)) != 0 &&
           tg_parked_take(engine, tid, &status))
        if (tg_stop_is_current(tid, status)) /* else what became of the thread is told by another status */
            dispatch_one(engine, tid, status);
}

void tg_dispatch_paused(struct tg_engine *engine)
{
    pid_t tid;
    int status;
    while (tg_pause_take(engine, &tid, &status)) { /* more may come */
        dispatch_one(engine, tid, status);
        tg_dispatch_parked(engine);
    }
}

void tg_dispatch(struct tg_engine *engine, pid_t tid, int status)
{
    dispatch_one(engine, tid, status);
    tg_dispatch_parked(engine);
    tg_dispatch_paused(engine);
    if (engine->detach_in_progress)
        tg_detach_advance(engine);
}

void tg_dispatch_early(struct tg_engine *engine)
{
    for (sig_atomic_t i = 0; i < engine->n_early; i++)
        tg_dispatch(engine, engine->early[i].tid, engine->early[i].status);
    engine->n_early = 0;
}
