/* A traced thread: its flags and its registers. A thread's registers are read when first needed in a stop and
 * written before it is resumed. */
#ifndef TG_RECORDER_ENGINE_TRACEE_H
#define TG_RECORDER_ENGINE_TRACEE_H

#include "recorder/engine/engine.h"
#include "recorder/process/insn.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/user.h>

enum {
    TG_TRACE_OPTIONS = PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEVFORKDONE |
                       PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT,
};

struct tg_traced_process {
    struct tg_process process; /* first: all that observers see */
    bool started;              /* process_started was called */
    bool group_stopped;
    bool detaching;
    bool detach_told; /* the detach event was emitted */
    size_t guarded;   /* place with the engine's guard, SIZE_MAX none */
    enum tg_process_origin origin;
    const char *detach_reason; /* static */
    uint64_t last_stop_ns;
    void *data[]; /* process.data */
};

/* A displaced step (step.h). */
struct tg_step {
    bool active;
    bool ended_now;   /* ended at the stop in progress */
    bool waiting;     /* for a free slot, or for AWAITED; the thread is stopped at ADDRESS */
    pid_t awaited;    /* a process that is to be gone before the thread goes on, 0 none */
    bool user_trap;   /* the program itself single-steps here (TF): the SIGTRAP is also the program's */
    unsigned slot;    /* TG_NO_SLOT: the parent's, not to be given back */
    uint64_t address; /* address of the site */
    uint64_t scratch;
    uint64_t saved_register;
    struct tg_insn insn;
    struct tg_address_space *space; /* a reference while active: exec may drop the process's own */
};

/* A hit whose handlers ran and whose instruction did not, because a signal came first. The thread will run
 * into the int3 again, after the signal's handler and whatever that runs into: the same hit, if the place and
 * all registers are the same, and the int3 is still the one that it was. */
struct tg_interrupted {
    uint64_t address;
    uint32_t planting;  /* of the site */
    uint64_t registers; /* digest */
};

enum { TG_MAX_INTERRUPTED = 8 }; /* nested signal handlers; the outermost are forgotten */

struct tg_tracee {
    struct tg_thread thread; /* first: all that observers see */
    UT_hash_handle by_tid;
    pid_t parent_tid;
    bool running;        /* not in a ptrace-stop that we know of */
    bool fork_unknown;   /* seized; may be in a fork that began before: forking.h */
    bool first_stop_due; /* cloned; the first stop is still to come */
    bool listening;      /* in a group-stop */
    bool exiting;        /* PTRACE_EVENT_EXIT was seen */
    bool exit_told;      /* the thread_exit event was emitted */
    bool paused;         /* stopped by paused_status, the handling of which is put off: pause.h */
    int paused_status;
    bool rest_due;     /* an interrupt is on its way for it to rest: rest.h */
    bool rests;        /* paused, and stays so until somebody asks */
    bool in_vfork;     /* blocked until the child execs or exits: no interrupt reaches the thread */
    bool held;         /* stopped for a detach in progress, to be detached with held_signal */
    bool dropped_trap; /* the SIGTRAP of a step that ended otherwise is still pending: not the program's */
    int held_signal;
    bool keep_due;       /* to be kept when the stop in progress, or the next one, ends */
    bool halt_due;       /* an interrupt for that is on its way */
    bool kept;           /* stopped until the controller lets it go, with kept_signal */
    bool kept_listening; /* in a group-stop */
    bool stepping;       /* runs one instruction for the controller; the trap is still to come */
    bool called_off;     /* but is not to be kept after it */
    int kept_signal;
    siginfo_t
        sent_on; /* a signal that was sent on to this thread and has not come yet, number 0: none (first_thread.h) */
    uint64_t n_stops;             /* so far */
    struct user_regs_struct regs; /* registers in the stop in progress, read when first needed */
    bool regs_valid;
    bool regs_changed;
    uint64_t along; /* memory that tg_thread_wants_along asked for */
    uint64_t along_address;
    bool along_valid; /* read in the stop in progress */
    uint64_t
        trapped_at; /* a doubled site behind whose int3 the thread stopped, registers not read yet; 0 none */
    bool comes_again;       /* handlers of the stop in progress said so: tg_thread_comes_again */
    uint64_t passing;       /* a doubled site behind whose int3 the thread was resumed, 0 none */
    uint64_t passing_sp;    /* the stack pointer there */
    uint64_t watch_version; /* of its address space when its debug registers were written, 0 they are empty */
    uint32_t watching[TG_WATCH_REGISTERS]; /* numbers of the watches in them, 0 none */
    struct tg_step step;
    struct tg_interrupted interrupted[TG_MAX_INTERRUPTED]; /* innermost last */
    unsigned n_interrupted;
};

static inline struct tg_tracee *tg_tracee_of(struct tg_thread *thread)
{
    return (struct tg_tracee *)thread;
}

static inline struct tg_traced_process *tg_traced(struct tg_process *process)
{
    return (struct tg_traced_process *)process;
}

static inline struct tg_traced_process *tg_traced_of(struct tg_tracee *tracee)
{
    return (struct tg_traced_process *)tracee->thread.process;
}

/* Marks TRACEE as stopped: registers and memory read in an earlier stop are void. */
void tg_tracee_mark_stopped(struct tg_tracee *tracee);

/* Registers of the stop in progress; false where the thread is gone. */
bool tg_tracee_load_registers(struct tg_tracee *tracee);
void tg_tracee_store_registers(struct tg_tracee *tracee);

#endif
