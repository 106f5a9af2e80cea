/* What the engine's files share and nobody else includes.
 *
 * engine.c         life of the engine, event loop, events
 * dispatch.c       one wait status -> what happened
 * lineage.c        births and deaths: fork, clone, first stops, exec, exits
 * adoption.c       children whose creator was killed before it told of them
 * program.c        what a new program image is: auxiliary vector, entry stop
 * process_table.c  processes and threads by id, stops that came too early
 * address_space.c  breakpoint sites, their copies in children
 * restart.c        system calls that a tracer must not interrupt
 * step.c           a hit: handlers, and how the thread gets past the instruction
 * control.c        threads that stay stopped, calls from other threads
 * launch.c attach.c detach.c */
#ifndef TG_RECORDER_ENGINE_ENGINE_INTERNAL_H
#define TG_RECORDER_ENGINE_ENGINE_INTERNAL_H

#include "recorder/engine/attach_guard.h"
#include "recorder/engine/engine.h"
#include "recorder/engine/stop_events.h"
#include "recorder/engine/stop_wait.h"
#include "recorder/process/insn.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <time.h>

/* ---- breakpoint sites (address_space.c) */

struct tg_site;

struct tg_breakpoint {
    struct tg_breakpoint *next;
    struct tg_site *site;
    tg_breakpoint_handler *handler;
    void *context;
    enum tg_breakpoint_use use;
    bool removed; /* while handlers of its site run; freed after */
    bool fresh;   /* planted while handlers of its site run: not for the hit in progress */
};

/* An address at which an int3 is, or was: a site without breakpoints stays as a tombstone, because threads
 * may still bring the trap of an int3 that they ran just before it was taken away. */
struct tg_site {
    uint64_t address;
    struct tg_breakpoint *breakpoints;
    struct tg_insn insn; /* the original instruction; bytes[0] is under the int3 */
    bool planted;
    bool lonely_ret; /* a `ret` with padding behind it: who stands behind it has run the int3 */
    bool doubled;    /* the `ret` stands a second time behind the int3: threads go on there by themselves */
    uint8_t under_double; /* what was there before */
    bool forgotten;       /* unmapped while its handlers run: freed after */
    unsigned dispatching; /* handlers of this site are running */
    UT_hash_handle hh;
};

enum { TG_SCRATCH_MAX_SLOTS = 16, TG_NO_SLOT = TG_SCRATCH_MAX_SLOTS };

struct tg_address_space {
    unsigned references;
    /* The memory that this describes, as a file: who executes another program does so at any moment, and what
     * is written by thread id would then be in the wrong one. -1: not kept. */
    int memory;
    unsigned *n_memories;  /* where it is counted */
    struct tg_site *sites; /* uthash by address */
    bool has_doubled;      /* one of them may be */
    /* Where displaced instructions run: slots of TG_INSN_SCRATCH_BYTES from SCRATCH on. */
    uint64_t scratch;
    unsigned n_slots;
    bool scratch_searched;
    uint32_t slots_used;   /* bit i: a thread is in slot i */
    uint32_t slots_dirty;  /* bit i: original bytes are in slot_bytes */
    uint32_t slots_filled; /* bit i: slot_code[i] is in it. Not after fork: another thread may have filled it
                              after the memory was copied and before the fork was told */
    uint8_t slot_bytes[TG_SCRATCH_MAX_SLOTS][TG_INSN_SCRATCH_BYTES];
    uint8_t slot_code[TG_SCRATCH_MAX_SLOTS][TG_INSN_SCRATCH_BYTES];
};

struct tg_address_space *tg_address_space_create(void); /* NULL without memory; one reference */
struct tg_address_space *tg_address_space_ref(struct tg_address_space *space);
void tg_address_space_unref(struct tg_address_space *space); /* NULL is accepted */
/* What fork does: same sites, breakpoints and scratch bytes. NULL without memory. */
struct tg_address_space *tg_address_space_copy(const struct tg_address_space *space);
struct tg_site *tg_address_space_site(struct tg_address_space *space, uint64_t address); /* tombstones too */
/* TID, of a process of one thread, or whose threads all stand, has this memory: keeps it, unless COUNT of
 * those that are kept says that they are many. COUNT outlives SPACE. */
void tg_address_space_keep_memory(struct tg_address_space *space, pid_t tid, unsigned *count);
/* Writes the original bytes of sites and scratch through TID, wherever ours are still there. */
void tg_address_space_restore(const struct tg_address_space *space, pid_t tid);
/* Makes the memory of TID, a stopped copy of that of SPACE's process, what SPACE says: breakpoints may have
 * been planted or removed between the copy and now, when it is told of, because others of the process ran. */
void tg_address_space_align(const struct tg_address_space *space, pid_t tid);
/* tg_address_space_restore for good: nothing counts as planted any more. */
void tg_address_space_lift(struct tg_address_space *space, pid_t tid);
/* A new image replaced what was there: forgets everything without writing. */
void tg_address_space_clear(struct tg_address_space *space);

struct tg_tracee;
/* Runs the handlers of SITE; true if one of them was a TG_BREAKPOINT_USER. SITE is gone afterwards where a
 * handler forgot it: look it up again. */
bool tg_site_run_handlers(struct tg_tracee *tracee, struct tg_site *site);

/* ---- processes and threads (process_table.c) */

struct tg_traced_process {
    struct tg_process process; /* first: what observers see */
    bool started;              /* process_started was called */
    bool group_stopped;
    bool detaching;
    bool detach_told; /* the detach event was emitted */
    size_t guarded;   /* its place with the engine's guard, SIZE_MAX none */
    enum tg_process_origin origin;
    const char *detach_reason; /* static */
    uint64_t last_stop_ns;
};

struct tg_step {
    bool active;
    bool ended_now;   /* it ended at the stop in progress */
    bool waiting;     /* for a free slot, or for AWAITED; the thread is stopped at ADDRESS */
    pid_t awaited;    /* a process that is to be gone before the thread goes on, 0 none */
    bool user_trap;   /* the program itself single-steps here (TF): the SIGTRAP is its own too */
    unsigned slot;    /* TG_NO_SLOT: the parent's, not to be given back */
    uint64_t address; /* of the site */
    uint64_t scratch;
    uint64_t saved_register;
    struct tg_insn insn;
    struct tg_address_space *space; /* a reference while active: exec may drop the process's own */
};

/* A hit whose handlers ran and whose instruction did not, because a signal came first. The thread will run
 * into the int3 again, after the signal's handler and whatever that runs into: the same hit, if it is the
 * same place and all registers are as they were. */
struct tg_interrupted {
    uint64_t address;
    uint64_t registers; /* digest */
};

enum { TG_MAX_INTERRUPTED = 8 }; /* nested signal handlers; the outermost are forgotten */

struct tg_tracee {
    struct tg_thread thread; /* first: what observers see */
    UT_hash_handle by_tid;
    pid_t parent_tid;
    bool running;        /* not in a ptrace-stop that we know of */
    bool first_stop_due; /* cloned; its first stop is still to come */
    bool listening;      /* in a group-stop */
    bool exiting;        /* its PTRACE_EVENT_EXIT was seen */
    bool exit_told;      /* its thread_exit event was emitted */
    bool in_vfork;       /* blocked until its child execs or exits: no interrupt reaches it */
    bool held;           /* stopped for a detach in progress, to be let go with held_signal */
    bool dropped_trap;   /* the SIGTRAP of a step that ended otherwise is still pending: not the program's */
    int held_signal;
    bool keep_due;       /* it is to be kept when the stop in progress, or the next one, ends */
    bool halt_due;       /* an interrupt for that is on its way */
    bool kept;           /* stopped until the controller lets it go, with kept_signal */
    bool kept_listening; /* in a group-stop */
    bool stepping;       /* runs one instruction for the controller; its trap is still to come */
    bool called_off;     /* but is not to be kept after it */
    int kept_signal;
    struct user_regs_struct regs; /* of the stop in progress, read when first needed */
    bool regs_valid;
    bool regs_changed;
    uint64_t along; /* what tg_thread_wants_along asked for */
    uint64_t along_address;
    bool along_valid; /* it was read in the stop in progress */
    uint64_t
        trapped_at;   /* a doubled site: the thread stands behind its int3, registers not read yet; 0 none */
    bool comes_again; /* handlers of the stop in progress said so: tg_thread_comes_again */
    uint64_t passing; /* a doubled site behind whose int3 the thread was let go, 0 none */
    uint64_t passing_sp; /* its stack pointer there */
    struct tg_step step;
    struct tg_interrupted interrupted[TG_MAX_INTERRUPTED]; /* innermost last */
    unsigned n_interrupted;
};

/* A stop of a thread that nobody has told about yet: it can come before its parent's fork event. */
struct tg_parked_stop {
    pid_t tid;
    int status;
    uint64_t since_ns;
    UT_hash_handle hh;
};

enum { TG_MAX_EARLY = 1024 };

/* A wait status that was collected while the tracer could not handle it. */
struct tg_early_status {
    pid_t tid;
    int status;
};

enum { TG_MAX_GHOSTS = 8 };

/* What is still to be known of a process that was killed: a child whose fork it could not report any more may
 * show up later, with a copy of its breakpoints. */
struct tg_ghost {
    struct tg_process facts;
    struct tg_address_space *space; /* a reference, NULL: none here */
};

struct tg_engine {
    struct tg_event_sink sink;
    void (*hold)(void *context, uint64_t from_ns);
    void (*emitted)(void *context, const struct tg_event *event);
    bool kill_on_exit;
    bool own_group;
    const int *standard_input;
    const struct tg_observer *observers[TG_ENGINE_MAX_OBSERVERS];
    unsigned n_observers;
    struct tg_process *processes; /* uthash by pid */
    struct tg_tracee *tracees;    /* uthash by tid */
    struct tg_parked_stop *parked;
    struct tg_insn_decoder *decoder;
    unsigned n_memories;           /* files that address spaces keep */
    struct tg_attach_guard *guard; /* NULL: nothing was attached, or there can be none */

    struct tg_stop_wait stop_wait;
    bool in_stop;
    uint64_t stop_time_ns;
    uint64_t resume_time_ns;               /* of the stop in progress, 0 not yet */
    struct tg_ghost ghosts[TG_MAX_GHOSTS]; /* of the last processes that were killed */
    unsigned n_ghosts;         /* so far; the next one replaces ghosts[n_ghosts % TG_MAX_GHOSTS] */
    struct tg_error *failure;  /* why tg_engine_run has to end, NULL nothing */
    struct tg_tracee *current; /* the thread whose stop is being handled, NULL none or gone */
    struct tg_stop_events stop_events;

    sigset_t launch_mask;    /* signal mask of the time of creation, and the signals that were ignored when */
    sigset_t launch_ignored; /* the tool was started: launched programs get these */
    bool has_wake_action;
    timer_t wake_timer;
    bool has_wake_timer;
    volatile sig_atomic_t seizing; /* in PTRACE_SEIZE: the timer's signal handler collects early statuses */
    volatile sig_atomic_t n_early;
    struct tg_early_status early[TG_MAX_EARLY];
    bool looking_again; /* the timer runs for tg_adoption_look_again */
    uint64_t looked_again_ns;
    atomic_bool stop_requested;
    pthread_mutex_t posted_lock;
    struct tg_posted *posted; /* calls of other threads, latest first; under the lock */
    atomic_bool has_posted;
    timer_t post_timer; /* as wake_timer, until posted calls were seen */
    bool has_post_timer;
    bool detach_in_progress; /* of some process */
    pid_t *interrupted;      /* threads that were interrupted to be kept, their stops not collected yet */
    size_t n_interrupted, interrupted_capacity;
    pid_t launched_pid;
    int launched_status;
};

struct tg_tracee *tg_tracee_find(struct tg_engine *engine, pid_t tid);
/* NULL without memory. */
struct tg_tracee *tg_tracee_add(struct tg_process *process, pid_t tid);
void tg_tracee_remove(struct tg_tracee *tracee);
struct tg_process *tg_process_find(struct tg_engine *engine, pid_t pid);
/* A process without threads; takes the reference on SPACE. NULL without memory (SPACE is then untouched). */
struct tg_process *tg_process_add(struct tg_engine *engine, pid_t pid, enum tg_process_origin origin,
                                  struct tg_address_space *space);
/* Removes PROCESS with what is left of its threads, after telling observers that started. */
void tg_process_remove(struct tg_process *process);
bool tg_parked_add(struct tg_engine *engine, pid_t tid, int status);
bool tg_parked_take(struct tg_engine *engine, pid_t tid, int *status);
/* A parked stop whose thread is known by now, 0 none. */
pid_t tg_parked_known(struct tg_engine *engine);

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

/* ---- stops */

enum {
    TG_TRACE_OPTIONS = PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC |
                       PTRACE_O_TRACEEXIT,
};

void tg_tracee_note(struct tg_tracee *tracee, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Tells observers of a stop. */
void tg_tracee_stopped(struct tg_tracee *tracee, enum tg_stop_trigger trigger, int signal);

/* Registers of the stop in progress; false where the thread is gone. */
bool tg_tracee_load_registers(struct tg_tracee *tracee);
void tg_tracee_store_registers(struct tg_tracee *tracee);

/* A few system calls return EINTR to the program whenever a signal is pending, where natively nothing would
 * have interrupted them: the kernel wakes a traced thread for signals that are ignored, and for
 * PTRACE_INTERRUPT. Turns such an EINTR into the kernel's "restart unless a handler runs". Only where the
 * call waits without limit: one with a time limit would begin to wait anew. */
void tg_tracee_restart_wait(struct tg_tracee *tracee);

/* Lets TRACEE go on with SIGNAL (0 none), or keeps it for the detach in progress. */
void tg_tracee_resume(struct tg_tracee *tracee, int signal);
/* The same, but also in a detach in progress: a signal of ours is still to come out. */
void tg_tracee_resume_now(struct tg_tracee *tracee, int signal);
/* Leaves TRACEE in its group-stop, listening for its end. */
void tg_tracee_listen(struct tg_tracee *tracee);

/* Handles what waitpid said. */
void tg_dispatch(struct tg_engine *engine, pid_t tid, int status);
/* Handles parked stops of threads that are known by now. */
void tg_dispatch_parked(struct tg_engine *engine);
/* Marks TRACEE as stopped; what was known of its registers is void. */
void tg_tracee_mark_stopped(struct tg_tracee *tracee);
void tg_engine_begin_stop(struct tg_engine *engine, struct tg_tracee *tracee);
void tg_engine_end_stop(struct tg_engine *engine);
/* Starts or stops the timer that interrupts tg_engine_run's wait every few milliseconds. */
void tg_engine_set_ticking(struct tg_engine *engine, bool ticking);
/* Handles what was collected early. */
void tg_dispatch_early(struct tg_engine *engine);
/* Makes tg_engine_run detach everything and return ERROR. Takes ERROR. */
void tg_engine_fail(struct tg_engine *engine, struct tg_error *error);

/* ---- births and deaths (lineage.c) */

/* PARENT stands in the ptrace event of a fork, vfork or clone; it is resumed here. */
void tg_lineage_forked(struct tg_tracee *parent, int ptrace_event);
/* The first stop of a new thread. */
void tg_lineage_thread_started(struct tg_tracee *tracee);
/* PID stands in PTRACE_EVENT_EXEC: the process's other threads and its old memory are gone. Returns the one
 * thread that is left, NULL for a process not known; FORMER_TID is the tid that it had. */
struct tg_tracee *tg_lineage_executed(struct tg_engine *engine, pid_t pid, pid_t *former_tid);
/* TRACEE stands in PTRACE_EVENT_EXIT. */
void tg_lineage_exiting(struct tg_tracee *tracee);
/* waitpid reported the end of TRACEE. */
void tg_lineage_ended(struct tg_tracee *tracee, int status);
/* Follows CHILD, created by CREATOR (NULL: not known any more) of a process like MODEL whose memory SPACE
 * describes. Its first stop is parked or on its way. */
void tg_lineage_add_child(struct tg_tracee *creator, const struct tg_process *model,
                          struct tg_address_space *space, pid_t child, enum tg_process_origin origin);
/* Is TID a thread of process PID? */
bool tg_lineage_is_thread_of(pid_t pid, pid_t tid);
/* Makes a process known to observers; TRACEE, of it, is stopped. */
void tg_lineage_announce(struct tg_tracee *tracee, struct tg_process *parent);

/* ---- threads and processes whose creator was killed before it could tell of them (adoption.c) */

/* PROCESS was killed: keeps what a child of it might need. */
void tg_adoption_keep_ghost(struct tg_process *process);
void tg_adoption_drop_ghosts(struct tg_engine *engine);
/* CREATOR ends: takes over the parked stops that it, or nobody, would have told of. */
void tg_adoption_creator_ends(struct tg_tracee *creator);
/* A stop of TID was parked: takes it over where nobody is left to tell of it. */
void tg_adoption_parked(struct tg_engine *engine, pid_t tid);
/* Looks again at stops that have been parked for long; sees to it that tg_engine_run wakes up for the next
 * look where one is needed. */
void tg_adoption_look_again(struct tg_engine *engine);
/* Writes the original bytes into the memory of TID, parked, if it is a killed process's child. */
void tg_adoption_restore(struct tg_engine *engine, pid_t tid);

/* ---- program images (program.c) */

/* A new image is in place: reads what the kernel told it and tells observers. Plants the entry breakpoint,
 * unless ATTACHED. */
void tg_program_loaded(struct tg_tracee *tracee, bool attached);
/* Emits the exec event of the stop in progress, and what is to be known about it. */
void tg_program_emit_exec(struct tg_tracee *tracee, pid_t former_tid);
/* Finds room for displaced instructions in TRACEE's address space. */
void tg_program_find_scratch(struct tg_tracee *tracee);

/* ---- hits and steps (step.c) */

/* The thread ran an int3: true if it was ours, and TRACEE was resumed (or waits for a slot). */
bool tg_step_trap(struct tg_tracee *tracee);
/* The same for a doubled site, without a look at more than two registers: true if it was one, and TRACEE was
 * resumed (or waits). Only asked for a SIGTRAP. */
bool tg_step_trap_doubled(struct tg_tracee *tracee);
/* At any stop that is no hit: a thread that was let go behind the int3 of a doubled site and has not got
 * further has returned from it. */
void tg_step_end_pass(struct tg_tracee *tracee);
/* TRACEE waited at its site's address for a reason that is no more: lets it go on. */
void tg_step_go_on(struct tg_tracee *tracee);
/* Does the SIGTRAP of TRACEE come from an int3 of ours beyond doubt, whatever its siginfo says? Only asked to
 * save a system call at loader stops. */
bool tg_step_trap_is_certain(struct tg_tracee *tracee);
/* Ends the displaced step of TRACEE, if it is in one, at whatever stop follows it. INFO is that of a
 * signal-delivery-stop, NULL elsewhere. True if the stop is the step's own SIGTRAP and nothing else. */
bool tg_step_finish(struct tg_tracee *tracee, siginfo_t *info);
/* TRACEE's memory or TRACEE itself is gone: gives its slot back. */
void tg_step_drop(struct tg_tracee *tracee);
/* CHILD was created by the displaced instruction of PARENT, which ended at the stop in progress: CHILD stands
 * behind the copy as its parent did, and finishes the step likewise at its first stop. */
void tg_step_inherit(const struct tg_tracee *parent, struct tg_tracee *child);
/* PID is no longer traced: threads that waited for that go on. */
void tg_step_process_gone(struct tg_engine *engine, pid_t pid);
/* Is a SIGTRAP waiting to be reported by the stopped TRACEE? */
bool tg_step_trap_is_pending(const struct tg_tracee *tracee);

/* ---- control (control.c) */

/* Is TRACEE to be kept when the stop in progress, or the next one, ends? Not before it has executed its
 * program, in a child of vfork. */
bool tg_control_is_to_keep(struct tg_tracee *tracee);
/* TRACEE, stopped, is to go on with SIGNAL: true where it is kept instead. */
bool tg_control_keeps(struct tg_tracee *tracee, int signal, bool listening);
/* Tells observers that TRACEE comes to rest, if it is to be kept. */
void tg_control_halted(struct tg_tracee *tracee);
/* TRACEE executed an instruction: true where that was a step of the controller's; it is to be kept then, and
 * observers were told. */
bool tg_control_stepped(struct tg_tracee *tracee);
/* TRACEE, still stopped, has executed an instruction by emulation: true where that was a step of the
 * controller's, and TRACEE is to go on to be kept at once, in a stop of its own: whoever lets a thread step
 * is not called back before that returns. */
bool tg_control_steps(struct tg_tracee *tracee);
/* Makes calls that were posted. */
void tg_control_run_posted(struct tg_engine *engine);
/* Handles stops of threads that were interrupted to be kept, those that are there already, until UNTIL_NS
 * (tg_engine_now_ns) at most; true if there was one. */
bool tg_control_collect(struct tg_engine *engine, uint64_t until_ns);
void tg_control_drop_posted(struct tg_engine *engine);

/* ---- detach (detach.c) */

/* Starts to let PROCESS go; it ends in later stops. REASON is static. */
void tg_detach_begin(struct tg_process *process, const char *reason);
/* Does a process that stays share the memory of PROCESS, which goes? */
bool tg_detach_shares_memory(const struct tg_process *process);
/* After any change: lets go the detaching processes whose threads are all quiet. */
void tg_detach_advance(struct tg_engine *engine);
void tg_detach_all(struct tg_engine *engine, const char *reason);

#endif
