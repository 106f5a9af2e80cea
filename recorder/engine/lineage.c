#include "recorder/engine/lineage.h"
#include "recorder/engine/detach.h"
#include "recorder/engine/observers.h"
#include "recorder/engine/parked.h"
#include "recorder/engine/process_table.h"
#include "recorder/engine/removal.h"
#include "recorder/engine/resume.h"
#include "recorder/engine/step.h"
#include "recorder/engine/stop.h"
#include "recorder/engine/wake.h"

#include <errno.h>
#include <linux/kcmp.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

void tg_lineage_announce(struct tg_tracee *tracee, struct tg_process *parent)
{
    struct tg_traced_process *traced = tg_traced_of(tracee);
    struct tg_engine *engine = traced->process.engine;
    traced->started = true;
    struct tg_event event = {
        .kind = TG_EVENT_PROCESS_START,
        .process_start = {.origin = traced->origin,
                          .parent_pid = parent != NULL                         ? parent->pid
                                        : traced->origin == TG_ORIGIN_LAUNCHED ? getpid()
                                                                               : 0},
    };
    tg_engine_emit(engine, &tracee->thread, &event);
    tg_observers_process_started(tracee, parent);
}

/* ---- fork, vfork, clone */

static bool is_thread_of(pid_t pid, pid_t tid)
{
    /* EPERM: there is such a thread, but it may not be signalled */
    return syscall(SYS_tgkill, pid, tid, 0) == 0 || errno == EPERM;
}

/* The flags of the clone that PARENT is in, from its registers; 0 unknown. */
static uint64_t clone_flags(struct tg_tracee *parent)
{
    enum { CLONE_64 = 56, VFORK_64 = 58, CLONE_32 = 120, VFORK_32 = 190, CLONE3 = 435 };
    if (!tg_tracee_load_registers(parent))
        return 0;
    const struct user_regs_struct *regs = &parent->regs;
    bool narrow = parent->thread.process->bits == 32;
    uint64_t argument = narrow ? (uint32_t)regs->rbx : regs->rdi;
    uint64_t flags = 0;
    if (regs->orig_rax == (narrow ? CLONE_32 : CLONE_64))
        return argument;
    if (regs->orig_rax == (narrow ? VFORK_32 : VFORK_64))
        return CLONE_VM | CLONE_VFORK;
    if (regs->orig_rax == CLONE3 && tg_memory_read(parent->thread.tid, argument, &flags, sizeof flags))
        return flags;
    return 0;
}

static bool shares_memory(struct tg_tracee *parent, pid_t child)
{
    long order = syscall(SYS_kcmp, parent->thread.tid, child, KCMP_VM, 0, 0);
    if (order >= 0)
        return order == 0;
    return clone_flags(parent) & CLONE_VM; /* no kcmp here (seccomp, old kernel) */
}

static void add_thread(struct tg_tracee *parent, pid_t tid)
{
    struct tg_engine *engine = parent->thread.process->engine;
    if (tg_tracee_find(engine, tid) != NULL)
        return; /* adopted */
    struct tg_tracee *tracee = tg_tracee_add(parent->thread.process, tid);
    if (tracee == NULL) {
        tg_engine_fail(engine, tg_error_no_memory());
        return;
    }
    tracee->parent_tid = parent->thread.tid;
    tracee->first_stop_due = true;
    tg_step_inherit(parent, tracee);
}

void tg_lineage_thread_started(struct tg_tracee *tracee)
{
    tracee->first_stop_due = false;
    struct tg_event event = {.kind = TG_EVENT_THREAD_START,
                             .thread_start = {.parent_tid = tracee->parent_tid}};
    tg_engine_emit(tracee->thread.process->engine, &tracee->thread, &event);
    tg_observers_stopped(tracee, TG_TRIGGER_THREAD, 0);
}

/* The new process's first stop. It is on its way, if it did not come already: observers are to see parent and
 * child in the same state, so nothing else is handled before it. False where the child was killed. */
static bool await_first_stop(struct tg_engine *engine, pid_t child, int *status)
{
    if (tg_parked_take(engine, child, status))
        return true;
    pid_t tid;
    do
        tid = waitpid(child, status, __WALL);
    while (tid < 0 && errno == EINTR);
    return tid == child && WIFSTOPPED(*status);
}

static struct tg_tracee *add_process(const struct tg_process *model, struct tg_address_space *model_space,
                                     pid_t child, enum tg_process_origin origin, bool shares)
{
    struct tg_address_space *space =
        shares ? tg_address_space_ref(model_space) : tg_address_space_copy(model_space);
    if (space == NULL)
        return NULL;
    struct tg_process *process = tg_process_add(model->engine, child, origin, space);
    if (process == NULL) {
        tg_address_space_unref(space);
        return NULL;
    }
    process->bits = model->bits;
    process->entry = model->entry;
    process->loader_base = model->loader_base;
    process->phdr = model->phdr;
    process->n_phdr = model->n_phdr;
    process->secure = model->secure;
    process->attached = model->attached;
    struct tg_tracee *tracee = tg_tracee_add(process, child);
    if (tracee == NULL)
        tg_process_remove(process);
    return tracee;
}

/* Without memory for it, the child is detached as if it had never been traced. */
static void let_child_go(struct tg_engine *engine, struct tg_address_space *space, pid_t child, bool shares)
{
    static const struct tg_event event = {.kind = TG_EVENT_NOTE,
                                          .note = {.text = "out of memory: a child process is not traced"}};
    if (!shares)
        tg_address_space_restore(space, child);
    ptrace(PTRACE_DETACH, child, NULL, NULL);
    tg_engine_emit(engine, NULL, &event);
}

/* Takes in the process CHILD, which is then in its first stop; false where there is none to go on
 * with. */
static bool add_child(struct tg_tracee *creator, const struct tg_process *model,
                      struct tg_address_space *space, pid_t child, enum tg_process_origin origin, int *status)
{
    struct tg_engine *engine = model->engine;
    if (!await_first_stop(engine, child, status))
        return false; /* killed before it ran an instruction */
    bool shares = creator != NULL && shares_memory(creator, child);
    struct tg_tracee *tracee = add_process(model, space, child, origin, shares);
    if (tracee == NULL) {
        let_child_go(engine, space, child, shares);
        return false;
    }
    tg_tracee_mark_stopped(tracee);
    if (!shares) {
        tg_address_space_keep_memory(tracee->thread.process->space, child, &engine->n_memories);
        tg_address_space_align(tracee->thread.process->space, child);
    }
    tg_traced_of(tracee)->last_stop_ns = engine->stop_time_ns;
    if (creator != NULL)
        tg_step_inherit(creator, tracee);
    tg_step_finish(tracee, NULL);
    tg_lineage_announce(tracee, creator == NULL ? NULL : creator->thread.process);
    if (creator != NULL && tg_traced_of(creator)->detaching)
        tg_detach_begin(tracee->thread.process, tg_traced_of(creator)->detach_reason);
    return true;
}

/* Has STATUS of TRACEE, which is stopped or has ended, handled when the stop in progress is over. */
static void handle_later(struct tg_tracee *tracee, int status)
{
    struct tg_engine *engine = tracee->thread.process->engine;
    if (tg_parked_add(engine, tracee->thread.tid, status))
        return;
    tg_engine_fail(engine, tg_error_no_memory());
    if (WIFSTOPPED(status))
        tg_tracee_resume_now(tracee, 0);
}

/* CHILD goes on from its first stop, which STATUS is. */
static void go_on(struct tg_engine *engine, pid_t child, int status)
{
    struct tg_tracee *tracee = tg_tracee_find(engine, child);
    if (tracee == NULL)
        return;
    if (status >> 16 == PTRACE_EVENT_EXIT) /* killed before its first stop */
        handle_later(tracee, status);
    else if (WSTOPSIG(status) != SIGTRAP)
        tg_tracee_listen(tracee);
    else
        tg_tracee_resume(tracee, 0);
}

void tg_lineage_add_child(struct tg_tracee *creator, const struct tg_process *model,
                          struct tg_address_space *space, pid_t child, enum tg_process_origin origin)
{
    int status;
    if (add_child(creator, model, space, child, origin, &status))
        go_on(model->engine, child, status);
}

/* A controller hears of a thread before the thread's creator goes on: else the creator could be at a barrier
 * that waits for all there are, before the new thread is one of them. False where the new thread is not in
 * its first stop. */
static bool meet_thread(struct tg_engine *engine, pid_t tid, int *status)
{
    struct tg_tracee *tracee = tg_tracee_find(engine, tid);
    *status = W_STOPCODE(0); /* stays so where it is gone without a word */
    if (engine->emitted == NULL || tracee == NULL || !tracee->first_stop_due)
        return false;
    if (await_first_stop(engine, tid, status)) {
        tg_tracee_mark_stopped(tracee);
        tg_lineage_thread_started(tracee);
        return true;
    }
    if (!WIFSTOPPED(*status))
        handle_later(tracee, *status);
    return false;
}

/* The parent goes on before the child, as it mostly does where nobody traces them: programs have got used to
 * having some time before their child executes something (setpgid fails from then on). */
void tg_lineage_forked(struct tg_tracee *parent, int ptrace_event)
{
    struct tg_process *process = parent->thread.process;
    struct tg_engine *engine = process->engine;
    unsigned long child = 0;
    int status;
    bool added = false;
    if (ptrace(PTRACE_GETEVENTMSG, parent->thread.tid, NULL, &child) == 0 && child != 0) {
        if (is_thread_of(process->pid, (pid_t)child)) {
            add_thread(parent, (pid_t)child);
            added = meet_thread(engine, (pid_t)child, &status);
        } else if (tg_process_find(engine, (pid_t)child) == NULL) {
            added = add_child(parent, process, process->space, (pid_t)child,
                              ptrace_event == PTRACE_EVENT_FORK    ? TG_ORIGIN_FORK
                              : ptrace_event == PTRACE_EVENT_VFORK ? TG_ORIGIN_VFORK
                                                                   : TG_ORIGIN_CLONE,
                              &status);
            tg_observers_stopped(parent, TG_TRIGGER_FORK, 0);
        }
    }
    parent->in_vfork = ptrace_event == PTRACE_EVENT_VFORK;
    tg_tracee_resume(parent, 0);
    if (added)
        go_on(engine, (pid_t)child, status);
}

/* ---- exec */

struct tg_tracee *tg_lineage_executed(struct tg_engine *engine, pid_t pid, pid_t *former_tid)
{
    struct tg_process *process = tg_process_find(engine, pid);
    if (process == NULL)
        return NULL;
    unsigned long message = 0;
    if (ptrace(PTRACE_GETEVENTMSG, pid, NULL, &message) == 0 && message != 0)
        *former_tid = (pid_t)message;
    /* The thread that called exec has the leader's tid now; the others ended without a word, or with one. */
    struct tg_thread *thread, *next;
    HASH_ITER (hh, process->threads, thread, next)
        if (thread->tid != pid)
            tg_tracee_remove(tg_tracee_of(thread));
    struct tg_tracee *tracee = tg_tracee_find(engine, pid);
    if (tracee == NULL)
        tracee = tg_tracee_add(process, pid);
    if (tracee == NULL) {
        tg_engine_fail(engine, tg_error_no_memory());
        return NULL;
    }
    tg_step_drop(tracee);
    tracee->exiting = false;
    tracee->exit_told = false;
    tracee->listening = false;
    tracee->first_stop_due = false;
    tracee->dropped_trap = false;
    tracee->n_interrupted = 0;
    tracee->watch_version = 0; /* the kernel has emptied them */
    memset(tracee->watching, 0, sizeof tracee->watching);
    if (process->space->references == 1) {
        tg_address_space_clear(process->space);
    } else {
        struct tg_address_space *space = tg_address_space_create();
        if (space == NULL) {
            tg_engine_fail(engine, tg_error_no_memory());
            return NULL;
        }
        tg_address_space_unref(process->space);
        process->space = space;
    }
    return tracee;
}
