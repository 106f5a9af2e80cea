/* The ptrace engine: one tracer thread, one event loop. It starts or attaches processes, follows what they
 * create, plants breakpoints and steps over them, and tells observers what happens. What it sees becomes
 * events. */
#ifndef TG_RECORDER_ENGINE_ENGINE_H
#define TG_RECORDER_ENGINE_ENGINE_H

#include "format/base/error.h"
#include "format/base/hash.h"
#include "format/event/event.h"
#include "recorder/process/memory.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

struct tg_engine;
struct tg_address_space; /* breakpoint sites; shared by processes that share memory (vfork, CLONE_VM), copied
                            at fork */

/* A traced process (thread group). Owned by the engine; observers read it and keep their own data in
 * `data`. */
struct tg_process {
    pid_t pid;
    struct tg_engine *engine;
    struct tg_thread *threads; /* uthash by tid */
    struct tg_address_space *space;
    unsigned bits;        /* 64 or 32; 0 unknown */
    uint64_t entry;       /* AT_ENTRY, 0 unknown */
    uint64_t loader_base; /* AT_BASE: the dynamic loader's load bias, 0 for a static program */
    uint64_t phdr;        /* AT_PHDR */
    uint64_t n_phdr;      /* AT_PHNUM */
    bool secure;          /* AT_SECURE */
    bool has_unseen_ends; /* a thread has gone without a last stop: SIGKILL left no time for it */
    bool attached;        /* came by attach rather than launch or fork of a launched one */
    uint64_t
        previous_stop_ns; /* when the process was last seen stopped before the stop in progress, 0 never */
    void **data;          /* a slot for each observer: tg_engine_add_observer */
    UT_hash_handle hh;
};

enum { TG_STOP_MAX_HITS = 64 };

/* Why a thread stops, in the words of the observer that keeps it (the engine hands them on): zero at the
 * beginning of each stop, and given to `kept`. */
struct tg_stop_reason {
    bool is_given; /* false: it was halted, or made a step */
    unsigned state;
    int signal;
    uint32_t hits[TG_STOP_MAX_HITS]; /* numbers of breakpoints that the thread came to */
    size_t n_hits;
};

struct tg_thread {
    pid_t tid;
    struct tg_process *process;
    struct tg_stop_reason reason; /* of the stop in progress; observers and handlers of breakpoints fill it */
    UT_hash_handle hh;
    /* the rest is the engine's own (struct tg_tracee): observers see only the above */
};

/* Why a thread stopped, for observers that act at any stop (catching up with libraries). */
struct tg_stop {
    enum tg_stop_trigger trigger;
    uint64_t time_ns; /* when the stop was seen */
    int signal;       /* TG_TRIGGER_SIGNAL, GROUP_STOP */
};

/* One observer: callbacks run on the tracer thread while the thread named is stopped (memory and registers
 * can be read, breakpoints planted); NULL = not interested. To add one: fill the struct, call
 * tg_engine_add_observer before launching. */
struct tg_observer {
    const char *name;
    void *context;
    /* A process is known (launched, attached, forked). For forks PARENT is the process it came from; space is
     * set up. */
    void (*process_started)(void *context, struct tg_thread *thread, enum tg_process_origin origin,
                            struct tg_process *parent);
    /* PID is about to execute the first program of all: what its stops will ask for can be read ahead, while nothing is stopped
     * and nobody waits. */
    void (*launching)(void *context, pid_t pid);
    /* A new program image is in place: after exec (also the first one), and once at attach. Sites of the old
     * are gone. ATTACHED: it has run already. A process that was acquired (tg_engine_acquire) right behind
     * its exec has not, and is one that has just executed its program. */
    void (*program_loaded)(void *context, struct tg_thread *thread, bool attached);
    /* Any stop of a thread, after the engine emitted its own event for it, before the thread goes on. Not
       called for a breakpoint whose handler dealt with it as a loader stop (TG_BREAKPOINT_INTERNAL). */
    void (*stopped)(void *context, struct tg_thread *thread, const struct tg_stop *stop);
    /* THREAD came to rest because of tg_thread_halt or tg_thread_step; it stays so until tg_thread_go or
     * tg_thread_step. */
    void (*halted)(void *context, struct tg_thread *thread);
    /* THREAD stays stopped from here on; after `stopped` or `halted`. May let it go again. */
    void (*kept)(void *context, struct tg_thread *thread, const struct tg_stop_reason *reason);
    /* The last moment at which memory can be read: the process is about to exit or to be detached. (An exec
     * is seen only when the old memory is gone: program_loaded.) Not called where SIGKILL left no time. */
    void (*process_leaving)(void *context, struct tg_thread *thread, enum tg_stop_trigger trigger);
    /* Outside of a stop: all processes are about to be detached, because tg_engine_request_stop was called. */
    void (*job_leaving)(void *context);
    /* The process is gone or detached; free data[slot]. No thread, no memory. Called exactly once per
     * process_started. */
    void (*process_ended)(void *context, struct tg_process *process);
};

/* Receives finished events, in order; runs on the tracer thread after the stopped thread was resumed. */
struct tg_event_sink {
    void *context;
    void (*add)(void *context, const struct tg_event *event);
    /* The same for an event that was added before and has another time now, and where PLACE says so another payload: that is the
     * sink's otherwise, and nowhere for the first of them. NULL: `add` is called. */
    void (*add_again)(void *context, const struct tg_event *event, struct tg_event_place *place);
    /* Where such an event that has another time alone may be appended as well (format/trace/chunk_tail.h), while the tail is not
     * NULL. NULL: nowhere. */
    struct tg_chunk_tail *const *tail;
};

struct tg_engine_options {
    struct tg_event_sink sink;
    /* Told when a stop begins, with its time: until the next call, with UINT64_MAX, events of that time may
     * come. Runs on the tracer thread with the sink's context; NULL: not interested. */
    void (*hold)(void *context, uint64_t from_ns);
    /* Told of every event when it is emitted, inside of the stop that it belongs to: before the thread goes
     * on and before the sink has it. With the sink's context; NULL: not interested. May emit others. Where it
     * is there, the start of a thread is told before its creator goes on. */
    void (*emitted)(void *context, const struct tg_event *event);
    /* Called after tg_engine_wake, on the tracer thread, with the sink's context; NULL: nobody wakes. */
    void (*serve)(void *context);
    bool kill_on_exit; /* PTRACE_O_EXITKILL for launched processes (docs/decisions.md) */
    bool own_group;    /* launched programs get a process group of their own: keys do not reach them */
    const int
        *standard_input; /* standard input of launched programs, NULL: the tool's own. Not closed here */
};

struct tg_error *tg_engine_create(const struct tg_engine_options *options, struct tg_engine **engine);
/* Detaches whatever is left, lifting every breakpoint. NULL is accepted. */
void tg_engine_destroy(struct tg_engine *engine);

/* SLOT (NULL: not needed) becomes the observer's index in tg_process.data, and *SLOT is set before anything
 * can fail. Before the first process is traced. OBSERVER must live as long as ENGINE. Error: NO_MEMORY. */
struct tg_error *tg_engine_add_observer(struct tg_engine *engine, const struct tg_observer *observer,
                                        size_t *slot);

/* Starts ARGV (execvp rules) traced from its first instruction on. TARGET error (exit status 126/127 cases
 * named) if exec fails. */
struct tg_error *tg_engine_launch(struct tg_engine *engine, char *const *argv, pid_t *pid);

/* Seizes every thread of PID, race-free against threads being created. Errors say which and why (Yama, other
 * tracer, gone). */
struct tg_error *tg_engine_attach(struct tg_engine *engine, pid_t pid);

/* The same for a process that belongs to what was launched, although it does not descend from it (another
 * daemon started it for the job): it ends with the recorder as launched ones do, and `attached` stays false.
 * Both may be called inside of a stop: observers hear of the process when its own first stop comes. */
struct tg_error *tg_engine_acquire(struct tg_engine *engine, pid_t pid);

/* Runs until no traced process is left, and the launched one has ended if way was made for another tracer of it, or until
 * tg_engine_request_stop, then detaches all. STATUS is the wait status of the launched process (0 where attached). */
struct tg_error *tg_engine_run(struct tg_engine *engine, int *status);

/* Async-signal-safe: make tg_engine_run detach everything and return soon. */
void tg_engine_request_stop(struct tg_engine *engine);

/* SIGNAL, which this process is about to send to a traced one, was asked for by SENDER (0: not known here), whose program
 * is called NAME ("" not known): its event says so. Holds until the next call for this signal. From any thread. */
void tg_engine_passes_on(struct tg_engine *engine, int signal, pid_t sender, const char *name);

/* Emits an event about THREAD (NULL: about the recorder itself). Copies strings and lists. Inside a stop,
 * time_ns is the time of the stop, and the event is handed to the sink after the resume, with the stop's cost
 * on the first one. Returns the copy that is kept until then: its scalars may be filled in while the stop
 * lasts (a time measured after the event had to be told); NULL outside of stops, or where there was no memory
 * for it. */
struct tg_event *tg_engine_emit(struct tg_engine *engine, struct tg_thread *thread,
                                const struct tg_event *event);

/* The same about the process and thread that EVENT names, which may have ended. */
struct tg_event *tg_engine_emit_as(struct tg_engine *engine, const struct tg_event *event);

/* The thread whose stop is in progress, NULL where there is none: in process_started that of a fork's
 * parent. */
struct tg_thread *tg_engine_stopped_thread(const struct tg_engine *engine);

/* The traced process PID, NULL where it is none. */
struct tg_process *tg_engine_find_process(struct tg_engine *engine, pid_t pid);

/* One of the traced processes, NULL where there is none: the others follow by hh.next. */
struct tg_process *tg_engine_first_process(struct tg_engine *engine);

/* A thread of PROCESS through which its memory can be read and written now, preferably one that is stopped; 0
 * where none is left. */
pid_t tg_process_memory_tid(const struct tg_process *process);

/* Thread TID of PROCESS, NULL where there is none. */
struct tg_thread *tg_process_find_thread(const struct tg_process *process, pid_t tid);

/* Memory of THREAD's process as its program has it: the bytes under breakpoints, not ours. THREAD is stopped
 * or running. False where not all of it can be read. */
bool tg_thread_read_memory(const struct tg_thread *thread, uint64_t address, void *buffer, size_t size);

/* Writes memory of THREAD's process, also where the program may only read. THREAD is kept. False where a breakpoint is
 * planted in the range, which is code then, or not all of it could be written. */
bool tg_thread_write_memory(const struct tg_thread *thread, uint64_t address, const void *buffer,
                            size_t size);

/* CLOCK_MONOTONIC in ns. */
uint64_t tg_engine_now_ns(void);

/* Registers of THREAD in the stop in progress, valid while it lasts; at a breakpoint rip is its address. NULL
 * where the thread was killed meanwhile. */
const struct user_regs_struct *tg_thread_registers(struct tg_thread *thread);

/* Why THREAD ends, which is in its last stop (TG_TRIGGER_EXIT): alone where the system call that it is in is `exit`. */
enum tg_thread_ending tg_thread_ending(struct tg_thread *thread);

/* Gives THREAD, which is kept, REGISTERS, of which rip and what says of system calls are as they were. False where it was
 * killed meanwhile. */
bool tg_thread_set_registers(struct tg_thread *thread, const struct user_regs_struct *registers);

/* Floating-point and vector registers of THREAD, read now: what tg_thread_registers says of time holds. False where
 * the thread was killed meanwhile. */
bool tg_thread_real_registers(struct tg_thread *thread, struct user_fpregs_struct *registers);

/* The memory of THREAD that the engine itself will read to let it go on from the breakpoint in progress (the
 * return address where it sits on a `ret`). A handler that reads memory anyway may read RANGE in the same
 * system call and say so with tg_thread_took_along: that saves one at every loader stop. False: nothing. */
bool tg_thread_wants_along(struct tg_thread *thread, struct tg_memory_range *range);
void tg_thread_took_along(struct tg_thread *thread);

/* In a breakpoint handler: THREAD will run into the same breakpoint again before it runs any code but the
 * dynamic loader's. What the engine puts right after a hit (the signal mask) can wait until then. */
void tg_thread_comes_again(struct tg_thread *thread);

/* In a breakpoint handler at the first instruction of a 64-bit function: THREAD returns from it at once with
 * VALUE, the function does not run. False (nothing changed) where the stack cannot be read. */
bool tg_thread_return(struct tg_thread *thread, uint64_t value);

/* In program_loaded: THREAD's program will begin with its stack pointer at ADDRESS. False (nothing changed)
 * where the thread was killed meanwhile. */
bool tg_thread_set_stack(struct tg_thread *thread, uint64_t address);

/* Lets PROCESS go, as tg_engine_run does with all in the end: soon, when all its threads were brought to a
 * stop, everything of the engine is taken out of it and its detach event says REASON (a static string).
 * Where it shares its memory with a process that stays (vfork), breakpoints stay in that memory. Inside
 * stops. */
void tg_engine_release(struct tg_process *process, const char *reason);

/* The same for another process that is to trace PROCESS. Where PROCESS was launched, tg_engine_run goes on until it has ended,
 * and tells how, which its parent alone learns. */
void tg_engine_make_way(struct tg_process *process, const char *reason);
/* The launched process, if way was made for another tracer of it and it has not ended; 0: none. */
pid_t tg_engine_launched_apart(const struct tg_engine *engine);

/* In a breakpoint handler: THREAD stays stopped there until process PID is no longer traced. */
void tg_engine_hold(struct tg_thread *thread, pid_t pid);

/* ---- control (thread_control.c): threads that stay stopped, one by one, while others run
 *
 * On the tracer thread: in observers, handlers, and `serve`. A thread that is kept has
 * registers and memory; killed, or ended by another thread's exec or exit, it goes all the same. */

/* Inside a stop of THREAD: it does not go on when the stop ends, it is kept. At a breakpoint it stays in
 * front of the instruction. Without effect where it is about to exit. */
void tg_thread_keep(struct tg_thread *thread);

/* Asks THREAD, running, to stop; observers are told by `halted`. If it comes to another stop first it is kept
 * there, after `stopped`. Without effect on one that is kept already; one in vfork stops when its child has
 * gone on, and the child when it has executed its program. */
void tg_thread_halt(struct tg_thread *thread);

/* Resumes a kept THREAD, over the breakpoint at which it stopped, with the signal that it stopped for.
 * Without effect on another; a halt that is still on its way is called off. */
void tg_thread_go(struct tg_thread *thread);

/* Lets a kept THREAD execute one instruction, and keeps it again: `halted`, or another stop. An instruction
 * under a breakpoint at which it stopped because of a hit is executed without a hit; one that it comes to is
 * not. */
void tg_thread_step(struct tg_thread *thread);

bool tg_thread_is_kept(const struct tg_thread *thread);

/* Whether THREAD's last stop is over: it runs no code of its program any more, and may have gone already. */
bool tg_thread_has_ended(const struct tg_thread *thread);

/* Number of THREAD's latest stop: the same as long as it has not run. */
uint64_t tg_thread_stop_number(struct tg_thread *thread);

/* Has tg_engine_run call `serve` of its options, soon and outside of stops; several calls may come to one.
 * From any thread, while the engine exists. A request that comes when tg_engine_run has returned is served at
 * its next start, or never. */
void tg_engine_wake(struct tg_engine *engine);

/* ---- threads that are stopped before somebody asks (rest.c) */

/* Stops THREAD, which waits for us inside of the agent and does nothing else. Nobody is told: for everybody it runs, until
 * tg_thread_halt finds it stopped already, and that is its stop. Without effect where it is anything but running, and where a
 * signal comes first. No signal's handler runs in it meanwhile, so a rest must not last. */
void tg_thread_rest(struct tg_thread *thread);
/* All that rest go on, behind the stop or request in progress. */
void tg_engine_end_rests(struct tg_engine *engine);

/* ---- a look at many threads at once (pause.c) */

/* Brings those of the COUNT THREADS that run to a stop, until UNTIL_NS (tg_engine_now_ns) at most; returns how
 * many of them are stopped, for whatever reason. Inside a stop, and in job_leaving. They stay stopped until
 * the callback has returned and the stop in progress is over; then each goes on as if nobody had looked. */
size_t tg_threads_pause(struct tg_engine *engine, struct tg_thread *const *threads, size_t count,
                        uint64_t until_ns);
bool tg_thread_is_stopped(const struct tg_thread *thread);

/* The registers of THREAD, which is stopped, in the stop in progress or not; at a breakpoint rip is its
 * address. False where it is not stopped, or was killed. */
bool tg_thread_stopped_registers(const struct tg_thread *thread, struct user_regs_struct *registers);

/* ---- breakpoints
 * -------------------------------------------------------------------------------------------------- */

struct tg_breakpoint; /* one user of a site; several may share an address */

/* Runs at a hit; THREAD's pc is the breakpoint's address. May remove BREAKPOINT itself or plant others. */
typedef void tg_breakpoint_handler(void *context, struct tg_thread *thread, struct tg_breakpoint *breakpoint);

enum tg_breakpoint_use {
    TG_BREAKPOINT_INTERNAL, /* loader or entry stop: observers' `stopped` is not called for it */
    TG_BREAKPOINT_USER,     /* a stop like any other: `stopped` runs with TG_TRIGGER_BREAKPOINT */
};

/* Plants at ADDRESS in PROCESS (some thread of it is stopped). The handler follows fork copies: a child gets
 * its own breakpoint with the same handler and context. Error where the address cannot be written or is no
 * code; NOT_FOUND where there is no memory, also because the process is just executing another program. */
struct tg_error *tg_breakpoint_plant(struct tg_process *process, uint64_t address, enum tg_breakpoint_use use,
                                     tg_breakpoint_handler *handler, void *context,
                                     struct tg_breakpoint **breakpoint);

/* Takes the user away; the original byte comes back with the last user of the address. */
void tg_breakpoint_remove(struct tg_process *process, struct tg_breakpoint *breakpoint);

/* Finds a breakpoint by address and handler (after a fork the child's copy); NULL where there is none. */
struct tg_breakpoint *tg_breakpoint_find(struct tg_process *process, uint64_t address,
                                         tg_breakpoint_handler *handler, const void *context);

uint64_t tg_breakpoint_address(const struct tg_breakpoint *breakpoint);

/* The address range [start, end) was unmapped or replaced: forget sites there, and their breakpoints (they
 * must not be removed any more), without writing. */
void tg_breakpoint_forget_range(struct tg_process *process, uint64_t start, uint64_t end);

/* ---- watchpoints (watch.c)
 * -------------------------------------------------------------------------------------------------- */

enum {
    TG_WATCH_REGISTERS = 4, /* of the processor, for all watchpoints of a process together */
    TG_WATCH_BYTES = 8,     /* bytes that one register watches, aligned; or 4, 2 or 1 */
};

/* THREAD has written to what is watched; it is stopped behind the instruction that did. Writes of the kernel for
 * the program (read, recv) and those of other processes to shared memory are not seen. May remove the watchpoint.
 * True: this is a stop like that of a breakpoint, observers' `stopped` runs with TG_TRIGGER_BREAKPOINT. */
typedef bool tg_watch_handler(void *context, struct tg_thread *thread);

/* Watches [ADDRESS, ADDRESS + SIZE_BYTES) of PROCESS, by as many debug registers as that takes; threads that run
 * do so a moment later. As with breakpoints the handler follows fork copies, a new program has none. Errors:
 * LIMIT where no register is left, UNSUPPORTED where the machine has none, USAGE for an address that no program
 * has. */
struct tg_error *tg_watch_plant(struct tg_process *process, uint64_t address, uint64_t size_bytes,
                                tg_watch_handler *handler, void *context);
bool tg_watch_is_planted(const struct tg_process *process, tg_watch_handler *handler, const void *context);
void tg_watch_remove(struct tg_process *process, tg_watch_handler *handler, const void *context);

/* Inside HANDLER of THREAD: has the other threads that share its memory paused (tg_threads_pause), and says which of them
 * have written to what HANDLER with CONTEXT watches as well, with their own calls of HANDLER still to come: TIDS, at most
 * MAX_COUNT. Returns how many. */
unsigned tg_watch_pause_writers(struct tg_thread *thread, tg_watch_handler *handler, const void *context,
                                pid_t *tids, unsigned max_count);

/* How many registers that takes; at most TG_WATCH_REGISTERS + 1 is said. */
unsigned tg_watch_registers_needed(uint64_t address, uint64_t size_bytes);
unsigned tg_watch_registers_free(const struct tg_process *process);

#endif
