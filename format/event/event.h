/* The event vocabulary: one struct, one enum, one schema table that the trace file, dump and the documents
 * share.
 *
 * To add a kind: a payload struct, a line in TG_EVENT_KINDS, its fields in event.c, its line in
 * docs/trace-format.md (a test compares them). To add a field: append it, never insert or reuse: traces of
 * every version stay readable. */
#ifndef TG_FORMAT_EVENT_EVENT_H
#define TG_FORMAT_EVENT_EVENT_H

#include <stddef.h>
#include <stdint.h>

/* A list inside an event: COUNT items of the element struct that the field's schema names. */
struct tg_list {
    const void *items;
    uint64_t count;
};

/* One string of a list (arguments, environment variables). */
struct tg_string_item {
    const char *text;
};

/* One loaded object of a library event. */
struct tg_library {
    const char *path;     /* as the link map has it; usually absolute */
    const char *build_id; /* lower-case hex, "" where there is none or it could not be read */
    uint64_t base;        /* load bias (l_addr) */
    uint64_t size_bytes;  /* extent of its PT_LOAD segments from the first page to the end, 0 unknown */
    uint64_t link_map;    /* address of its struct link_map in the process */
    uint64_t dependency;  /* 1: came as a dependency of another object of the event, 0: was asked for */
};

enum tg_process_origin { /* how a process came to be traced */
                         TG_ORIGIN_LAUNCHED,
                         TG_ORIGIN_ATTACHED,
                         TG_ORIGIN_FORK,
                         TG_ORIGIN_VFORK,
                         TG_ORIGIN_CLONE,
};

enum tg_program_linkage {
    TG_LINKAGE_UNKNOWN,
    TG_LINKAGE_DYNAMIC,
    TG_LINKAGE_STATIC,
};

enum tg_exit_how {
    TG_EXIT_STATUS, /* status is the exit code */
    TG_EXIT_SIGNAL, /* status is the signal number */
    TG_EXIT_LOST,   /* how it ended is not known: only that it did, or not even when (status is 0) */
};

enum tg_library_found {                    /* which stop showed a library event */
                        TG_FOUND_STARTUP,  /* the objects that the dynamic loader mapped before the program's
                                              own code */
                        TG_FOUND_LOADER,   /* a stop at the loader's r_brk */
                        TG_FOUND_CATCH_UP, /* no loader stop: found at a stop for another reason */
                        TG_FOUND_ATTACH,   /* present when the process was attached */
                        TG_FOUND_AGENT,    /* seen by the in-process agent, without a stop */
};

enum tg_filter_mode {
    TG_FILTER_SLOW,
    TG_FILTER_MEDIUM,
    TG_FILTER_FAST,
};

enum tg_filter_decision {
    TG_DECISION_REPORTED,    /* the client handles the event now */
    TG_DECISION_DEFERRED,    /* the process stopped, its libraries are handled at its next other stop */
    TG_DECISION_NOT_STOPPED, /* fast: nothing stopped, found later */
};

enum tg_filter_rule {                                /* why a decision came out as it did */
                      TG_RULE_ALWAYS_RECALCULATE,    /* slow mode */
                      TG_RULE_PATTERN,               /* a pattern matched */
                      TG_RULE_DEFAULT_LAST_POSITIVE, /* no match; last non-empty pattern is positive: defer */
                      TG_RULE_DEFAULT_LAST_NEGATED,  /* no match; last non-empty pattern is negated (empty or
                                                        not): report */
                      TG_RULE_DEFAULT_ALL_EMPTY,     /* no match; only positive empty patterns: defer */
                      TG_RULE_NO_STOP,               /* fast mode */
};

enum tg_stop_trigger {                            /* which other stop handled deferred or missed libraries */
                       TG_TRIGGER_REPORTED_EVENT, /* a library event that was reported */
                       TG_TRIGGER_ENTRY,          /* the program's entry point */
                       TG_TRIGGER_SIGNAL,
                       TG_TRIGGER_FORK,   /* fork, vfork or clone of a process */
                       TG_TRIGGER_THREAD, /* thread start */
                       TG_TRIGGER_BREAKPOINT,
                       TG_TRIGGER_EXIT, /* thread or process about to exit */
                       TG_TRIGGER_DETACH,
                       TG_TRIGGER_GROUP_STOP,
                       TG_TRIGGER_HALT, /* the controller's: a thread was halted, or made a step */
};

enum tg_loss_source {
    TG_LOSS_WRITER_QUEUE, /* the writer could not keep up with the events: bounded memory */
    TG_LOSS_WRITER_FILE,  /* the trace file could not be written (disk full, I/O error) */
    TG_LOSS_TARGET,       /* the traced process could not be read */
    TG_LOSS_LIMIT,        /* beyond a documented limit */
    TG_LOSS_RING,         /* the agent's ring of a thread was full, or could not be had */
};

enum tg_agent_state {                    /* what the in-process agent does in a program */
                      TG_AGENT_WATCHING, /* it is loaded and records */
                      TG_AGENT_ASIDE,    /* it could not be loaded, or stepped aside; the program runs without
                                         it */
};

enum tg_library_call { /* which function of the dynamic loader's was called */
                       TG_CALL_DLOPEN,
                       TG_CALL_DLMOPEN,
                       TG_CALL_DLCLOSE,
};

enum tg_omp_seen {                    /* how an OpenMP event was seen */
                   TG_OMP_WRAPPED,    /* a call of the runtime's entry point, by the agent */
                   TG_OMP_OMPT,       /* a callback of the runtime's tool interface */
                   TG_OMP_BREAKPOINT, /* a stop at the runtime's entry point */
                   TG_OMP_INFERRED,   /* concluded from other calls: the runtime is not called there */
};

enum tg_omp_zone { /* what omp_zone_begin begins */
                   TG_OMP_ZONE_LOOP,
                   TG_OMP_ZONE_SECTIONS,
                   TG_OMP_ZONE_SINGLE,       /* by the thread that executes it */
                   TG_OMP_ZONE_SINGLE_OTHER, /* by the threads that do not */
                   TG_OMP_ZONE_MASKED,       /* master or masked */
                   TG_OMP_ZONE_WORKSHARE,
                   TG_OMP_ZONE_DISTRIBUTE,
                   TG_OMP_ZONE_SCOPE,
                   TG_OMP_ZONE_TASKGROUP,
                   TG_OMP_ZONE_TASKLOOP,
                   TG_OMP_ZONE_TEAMS,
                   TG_OMP_ZONE_TARGET,
                   TG_OMP_ZONE_ORDERED_LOOP,
                   TG_OMP_ZONE_DOACROSS_LOOP,
};

enum tg_omp_schedule {
    TG_OMP_SCHEDULE_NONE, /* no loop, or not known */
    TG_OMP_SCHEDULE_STATIC,
    TG_OMP_SCHEDULE_DYNAMIC,
    TG_OMP_SCHEDULE_GUIDED,
    TG_OMP_SCHEDULE_RUNTIME,
    TG_OMP_SCHEDULE_AUTO,
};

enum tg_omp_sync { /* what a thread waits at between omp_sync_begin (arrive) and omp_sync_end (leave) */
                   TG_OMP_SYNC_BARRIER,          /* asked for by the program */
                   TG_OMP_SYNC_BARRIER_IMPLICIT, /* at the end of a worksharing construct */
                   TG_OMP_SYNC_BARRIER_JOIN,     /* at the end of a parallel region */
                   TG_OMP_SYNC_TASKWAIT,
                   TG_OMP_SYNC_TASKGROUP, /* the wait at the end of one */
                   TG_OMP_SYNC_TASKYIELD,
                   TG_OMP_SYNC_REDUCTION,
                   TG_OMP_SYNC_COPYPRIVATE, /* for the values of the thread that executes the single */
                   TG_OMP_SYNC_DOACROSS,    /* depend(sink) */
};

enum tg_omp_mutex {
    TG_OMP_MUTEX_CRITICAL, /* unnamed */
    TG_OMP_MUTEX_CRITICAL_NAMED,
    TG_OMP_MUTEX_ORDERED,
    TG_OMP_MUTEX_ATOMIC,
    TG_OMP_MUTEX_LOCK,
    TG_OMP_MUTEX_NEST_LOCK,
};

enum tg_omp_task_flag { /* bits of omp_task_create.flags */
                        TG_OMP_TASK_UNTIED = 1,
                        TG_OMP_TASK_FINAL = 2,
                        TG_OMP_TASK_MERGEABLE = 4,
                        TG_OMP_TASK_UNDEFERRED = 8, /* if(0), or executed at once */
                        TG_OMP_TASK_DETACHABLE = 16,
                        TG_OMP_TASK_TASKLOOP = 32,
};

enum tg_omp_task_end { /* why a thread left a task */
                       TG_OMP_TASK_COMPLETED,
                       TG_OMP_TASK_SUSPENDED, /* it goes on later: omp_task_begin says resumed */
                       TG_OMP_TASK_CANCELLED,
                       TG_OMP_TASK_DETACHED, /* its body is done, its event is not fulfilled yet */
                       TG_OMP_TASK_FULFILLED,
};

enum tg_omp_dependence_kind {
    TG_OMP_DEPEND_IN,
    TG_OMP_DEPEND_OUT,
    TG_OMP_DEPEND_INOUT,
    TG_OMP_DEPEND_MUTEXINOUTSET,
    TG_OMP_DEPEND_OTHER,
};

enum tg_omp_cancel_construct {
    TG_OMP_CANCEL_PARALLEL,
    TG_OMP_CANCEL_LOOP,
    TG_OMP_CANCEL_SECTIONS,
    TG_OMP_CANCEL_TASKGROUP,
};

enum tg_mpi_comm_origin { /* how a communicator came to be */
                          TG_MPI_COMM_WORLD,
                          TG_MPI_COMM_SELF,
                          TG_MPI_COMM_DUP,
                          TG_MPI_COMM_SPLIT,
                          TG_MPI_COMM_CREATE,    /* from a group, or a topology */
                          TG_MPI_COMM_SPAWN,     /* to spawned processes, or to the ones that spawned */
                          TG_MPI_COMM_INTERCOMM, /* MPI_Intercomm_create, connect, accept, join */
                          TG_MPI_COMM_MERGE,
                          TG_MPI_COMM_FREED,  /* it is no more */
                          TG_MPI_COMM_WINDOW, /* the processes of a window, as if they were one */
                          TG_MPI_COMM_FILE,   /* the processes that opened a file together, likewise */
};

enum tg_mpir_role { /* what MPIR symbols in a process mean, as far as is known when they are told */
                    TG_MPIR_CANDIDATE, /* nothing yet: Open MPI's ranks have the starter's symbols, too */
                    TG_MPIR_STARTER,   /* it filled a table, or was asked to: it is the starter */
                    TG_MPIR_RANK,
};

enum tg_mpir_layout_source {                      /* where the layout of the table's entries is known from */
                             TG_MPIR_LAYOUT_NONE, /* not known */
                             TG_MPIR_LAYOUT_DWARF,
                             TG_MPIR_LAYOUT_ELF_CLASS, /* no DWARF: as every compiler lays them out for the
                                                        * word size */
};

enum tg_mpir_seen {                        /* when the starter's variables were read */
                    TG_MPIR_AT_BREAKPOINT, /* it called MPIR_Breakpoint */
                    TG_MPIR_AT_ATTACH,
                    TG_MPIR_AT_EXIT,   /* it is about to end */
                    TG_MPIR_AT_DETACH, /* the recorder is about to let it go */
};

enum tg_mpir_state { /* MPIR_debug_state */
                     TG_MPIR_STATE_NULL,
                     TG_MPIR_STATE_SPAWNED,
                     TG_MPIR_STATE_ABORTING,
                     TG_MPIR_STATE_OTHER, /* a number that MPIR does not know */
                     TG_MPIR_STATE_UNREADABLE,
};

enum tg_mpir_rank_state {
    TG_MPIR_ACQUIRED,
    TG_MPIR_REMOTE,       /* it runs on another host */
    TG_MPIR_MISSED,       /* it could not be had: reason says why */
    TG_MPIR_NOT_SELECTED, /* not among the ranks that were asked for */
    TG_MPIR_OUTSIDE,      /* a rank that no table has: MPI_Comm_spawn is outside of MPIR */
};

enum tg_mpir_rank_way {                       /* how a rank came to be traced */
                        TG_MPIR_WAY_NONE,     /* it is not */
                        TG_MPIR_WAY_FORK,     /* a descendant of a traced process, traced since its fork */
                        TG_MPIR_WAY_ATTACHED, /* attached, because the table names it */
                        TG_MPIR_WAY_ALREADY,  /* attached before, for another reason */
};

enum tg_mpir_gate {                          /* MPIR_debug_gate of a rank */
                    TG_MPIR_GATE_ABSENT,     /* the rank has none */
                    TG_MPIR_GATE_SET,        /* 1 was written */
                    TG_MPIR_GATE_NOT_NEEDED, /* the starter has MPIR_partial_attach_ok, or no table is waited
                                                for */
                    TG_MPIR_GATE_FAILED,     /* it could not be written */
};

enum tg_mpir_acquisition {                       /* how the ranks of a job are found */
                           TG_MPIR_NO_WAY,       /* not at all: reason says why */
                           TG_MPIR_BY_LAUNCH,    /* MPIR, the starter was launched */
                           TG_MPIR_BY_ATTACH,    /* MPIR, the starter was attached */
                           TG_MPIR_BY_FOLLOWING, /* no MPIR: by following forks, ranks from their
                                                    environment */
};

/* One MPIR symbol of an object. */
struct tg_mpir_symbol {
    const char *name;
    uint64_t address;
    uint64_t size_bytes; /* as the symbol table says, 0 unknown */
    const char *text;    /* content of MPIR_dll_name, "" elsewhere and where it is empty */
};

/* One entry of MPIR_proctable, as it is: not believed. */
struct tg_mpir_entry {
    uint64_t rank;          /* its index */
    const char *host;       /* "" where it is NULL or cannot be read */
    const char *executable; /* likewise; may be relative */
    int64_t pid;
    const char *problem; /* what could not be read of it, and why; "" nothing */
};

enum tg_barrier_stop {                          /* what else stops where a barrier stops somebody */
                       TG_BARRIER_STOP_NONE,    /* nothing but the thread; of a process barrier its process */
                       TG_BARRIER_STOP_PROCESS, /* the thread's process; when done: the processes of all
                                                   members */
                       TG_BARRIER_STOP_GROUP,   /* the control group */
};

enum tg_barrier_reason { /* why a hold or a membership came to its end */
                         TG_BARRIER_BY_SATISFACTION,
                         TG_BARRIER_BY_DELETION,
                         TG_BARRIER_BY_DISABLING,
                         TG_BARRIER_BY_UNHOLD, /* somebody said so */
                         TG_BARRIER_BY_EXIT,
                         TG_BARRIER_BY_EXEC,   /* it runs another program now, or its groups are others */
                         TG_BARRIER_BY_DETACH, /* it is not controlled any more */
};

/* One dependence of a task. */
struct tg_omp_dependence {
    uint64_t address;
    uint64_t kind; /* enum tg_omp_dependence_kind */
};

/* One member of a communicator. */
struct tg_mpi_member {
    int64_t world_rank; /* in MPI_COMM_WORLD of the process that tells; -1 not a member of that */
};

/* A thread by the numbers that people give it, or a process. */
struct tg_control_unit {
    uint64_t dpid; /* from 1 */
    uint64_t dtid; /* from 1 in its process; 0: the process */
};

/* symbol, number (never reused), struct member, name in dump and --json */
#define TG_EVENT_KINDS(X)                                                                                    \
    X(PROCESS_START, 0x0101, process_start, "process_start")                                                 \
    X(PROGRAM, 0x0102, program, "program")                                                                   \
    X(EXEC, 0x0103, exec, "exec")                                                                            \
    X(COMMAND_LINE, 0x0104, command_line, "command_line")                                                    \
    X(ENVIRONMENT, 0x0105, environment, "environment")                                                       \
    X(IDENTITY, 0x0106, identity, "identity")                                                                \
    X(THREAD_START, 0x0107, thread_start, "thread_start")                                                    \
    X(THREAD_EXIT, 0x0108, thread_exit, "thread_exit")                                                       \
    X(PROCESS_EXIT, 0x0109, process_exit, "process_exit")                                                    \
    X(DETACH, 0x010a, detach, "detach")                                                                      \
    X(ENTRY, 0x010b, entry, "entry")                                                                         \
    X(AGENT, 0x010c, agent, "agent")                                                                         \
    X(SIGNAL, 0x0201, signal, "signal")                                                                      \
    X(GROUP_STOP, 0x0202, group_stop, "group_stop")                                                          \
    X(BREAKPOINT_HIT, 0x0203, breakpoint_hit, "breakpoint_hit")                                              \
    X(LIBRARY_LOAD, 0x0301, library_load, "library_load")                                                    \
    X(LIBRARY_UNLOAD, 0x0302, library_unload, "library_unload")                                              \
    X(LIBRARY_NULL, 0x0303, library_null, "library_null")                                                    \
    X(BREAKPOINT_SPEC, 0x0304, breakpoint_spec, "breakpoint_spec")                                           \
    X(BREAKPOINT_PLANTED, 0x0305, breakpoint_planted, "breakpoint_planted")                                  \
    X(BREAKPOINT_REMOVED, 0x0306, breakpoint_removed, "breakpoint_removed")                                  \
    X(LIBRARY_CALL, 0x0307, library_call, "library_call")                                                    \
    X(LIBRARY_RETURN, 0x0308, library_return, "library_return")                                              \
    X(FILTER_SETTINGS, 0x0401, filter_settings, "filter_settings")                                           \
    X(FILTER_DECISION, 0x0402, filter_decision, "filter_decision")                                           \
    X(DEFERRED_HANDLED, 0x0403, deferred_handled, "deferred_handled")                                        \
    X(OMP_RUNTIME, 0x0501, omp_runtime, "omp_runtime")                                                       \
    X(OMP_PARALLEL_BEGIN, 0x0502, omp_parallel_begin, "omp_parallel_begin")                                  \
    X(OMP_PARALLEL_END, 0x0503, omp_parallel_end, "omp_parallel_end")                                        \
    X(OMP_IMPLICIT_BEGIN, 0x0504, omp_implicit_begin, "omp_implicit_begin")                                  \
    X(OMP_IMPLICIT_END, 0x0505, omp_implicit_end, "omp_implicit_end")                                        \
    X(OMP_ZONE_BEGIN, 0x0506, omp_zone_begin, "omp_zone_begin")                                              \
    X(OMP_ZONE_END, 0x0507, omp_zone_end, "omp_zone_end")                                                    \
    X(OMP_SECTION, 0x0508, omp_section, "omp_section")                                                       \
    X(OMP_SYNC_BEGIN, 0x0509, omp_sync_begin, "omp_sync_begin")                                              \
    X(OMP_SYNC_END, 0x050a, omp_sync_end, "omp_sync_end")                                                    \
    X(OMP_MUTEX_WAIT, 0x050b, omp_mutex_wait, "omp_mutex_wait")                                              \
    X(OMP_MUTEX_ENTER, 0x050c, omp_mutex_enter, "omp_mutex_enter")                                           \
    X(OMP_MUTEX_LEAVE, 0x050d, omp_mutex_leave, "omp_mutex_leave")                                           \
    X(OMP_TASK_CREATE, 0x050e, omp_task_create, "omp_task_create")                                           \
    X(OMP_TASK_BEGIN, 0x050f, omp_task_begin, "omp_task_begin")                                              \
    X(OMP_TASK_END, 0x0510, omp_task_end, "omp_task_end")                                                    \
    X(OMP_CANCEL, 0x0511, omp_cancel, "omp_cancel")                                                          \
    X(MPI_COMM, 0x0601, mpi_comm, "mpi_comm")                                                                \
    X(MPI_ENTER, 0x0602, mpi_enter, "mpi_enter")                                                             \
    X(MPI_LEAVE, 0x0603, mpi_leave, "mpi_leave")                                                             \
    X(MPI_COMPLETE, 0x0604, mpi_complete, "mpi_complete")                                                    \
    X(MPIR_SYMBOLS, 0x0701, mpir_symbols, "mpir_symbols")                                                    \
    X(MPIR_WRITE, 0x0702, mpir_write, "mpir_write")                                                          \
    X(MPIR_STATE, 0x0703, mpir_state, "mpir_state")                                                          \
    X(MPIR_TABLE, 0x0704, mpir_table, "mpir_table")                                                          \
    X(MPIR_RANK, 0x0705, mpir_rank, "mpir_rank")                                                             \
    X(MPIR_JOB, 0x0706, mpir_job, "mpir_job")                                                                \
    X(BARRIER_CREATED, 0x0801, barrier_created, "barrier_created")                                           \
    X(BARRIER_ARRIVAL, 0x0802, barrier_arrival, "barrier_arrival")                                           \
    X(BARRIER_HELD, 0x0803, barrier_held, "barrier_held")                                                    \
    X(BARRIER_SATISFIED, 0x0804, barrier_satisfied, "barrier_satisfied")                                     \
    X(BARRIER_RELEASED, 0x0805, barrier_released, "barrier_released")                                        \
    X(BARRIER_DELETED, 0x0806, barrier_deleted, "barrier_deleted")                                           \
    X(BARRIER_STUCK, 0x0807, barrier_stuck, "barrier_stuck")                                                 \
    X(BARRIER_LEFT, 0x0808, barrier_left, "barrier_left")                                                    \
    X(BARRIER_ENABLED, 0x0809, barrier_enabled, "barrier_enabled")                                           \
    X(CONTROL_PROCESS, 0x080a, control_process, "control_process")                                           \
    X(CONTROL_THREAD, 0x080b, control_thread, "control_thread")                                              \
    X(CONTROL_UNHOLD, 0x080c, control_unhold, "control_unhold")                                              \
    X(CONTROL_STOPPED, 0x080d, control_stopped, "control_stopped")                                           \
    X(CONTROL_RESUMED, 0x080e, control_resumed, "control_resumed")                                           \
    X(LOSS, 0x0f01, loss, "loss")                                                                            \
    X(NOTE, 0x0f02, note, "note")

enum tg_event_kind {
#define X(symbol, number, member, name) TG_EVENT_##symbol = number,
    TG_EVENT_KINDS(X)
#undef X
};

/* Payloads. Every scalar is 64 bits wide so that one schema-driven codec serves all; enum fields hold the
 * enum's value. */

struct tg_event_process_start {
    uint64_t origin;    /* enum tg_process_origin */
    int64_t parent_pid; /* 0 unknown */
};

struct tg_event_program {    /* the executable image now running: after exec, and at attach */
    const char *path;        /* /proc/PID/exe, " (deleted)" kept */
    const char *build_id;    /* as in struct tg_library */
    const char *interpreter; /* PT_INTERP, "" for none */
    uint64_t base;           /* load bias */
    uint64_t entry;          /* AT_ENTRY */
    uint64_t bits;           /* 32 or 64, 0 unknown */
    uint64_t linkage;        /* enum tg_program_linkage */
    uint64_t secure;         /* AT_SECURE: set-uid or with capabilities */
};

struct tg_event_exec { /* the process replaced its program; tid is the thread group leader's */
    const char *path;
    int64_t former_tid; /* tid of the thread that called exec; differs from pid where it was not the leader */
};

struct tg_event_command_line {
    struct tg_list arguments; /* struct tg_string_item */
};

struct tg_event_environment { /* allow-listed variables only, NAME=VALUE */
    struct tg_list variables; /* struct tg_string_item */
};

struct tg_event_identity {
    const char *host;
    const char *job;    /* "" unknown; ranks are unique per (job, rank) */
    const char *source; /* the variable the rank came from, "" where there is no rank */
    int64_t rank;       /* -1: not a rank */
    int64_t size;       /* number of ranks of the job, 0 unknown */
};

struct tg_event_thread_start {
    int64_t parent_tid; /* 0 unknown (found at attach) */
};

struct tg_event_thread_exit {
    int64_t status; /* wait status of the thread, -1 unknown */
};

struct tg_event_process_exit {
    uint64_t how; /* enum tg_exit_how */
    int64_t status;
    uint64_t core_dumped;
};

struct tg_event_detach {
    const char *reason;
};

struct tg_event_entry { /* the program reached its entry point (AT_ENTRY): start-up libraries are
                           initialised */
    uint64_t address;
};

struct tg_event_signal { /* signal about to be delivered */
    int64_t signal;
    int64_t code;       /* si_code */
    int64_t sender_pid; /* 0 where the kernel raised it */
    uint64_t address;   /* si_addr of a fault, otherwise 0 */
};

struct tg_event_group_stop {
    int64_t signal; /* the stopping signal; 0: continued */
};

struct tg_event_breakpoint_hit {
    uint64_t breakpoint; /* id of the breakpoint_spec */
    uint64_t address;
};

struct tg_event_library_load {
    uint64_t found;           /* enum tg_library_found */
    uint64_t namespace_index; /* 0 is the base namespace, others in order of r_next */
    uint64_t state;           /* r_state read at the stop: 0 consistent, 1 add, 2 delete */
    uint64_t read_ns;         /* tracer time for reading the link map and what the objects are */
    uint64_t handle_ns;       /* tracer time for images and breakpoint evaluation; 0 where it was deferred */
    struct tg_list libraries; /* struct tg_library, in link-map order */
};

struct tg_event_library_unload {
    uint64_t found;
    uint64_t namespace_index;
    uint64_t state;
    struct tg_list libraries; /* struct tg_library */
};

struct tg_event_library_null { /* a loader stop at which the list had not changed */
    uint64_t state;
};

struct tg_event_breakpoint_spec { /* a breakpoint asked for; pid and tid are 0 */
    uint64_t breakpoint;          /* id, from 1 */
    const char *text;
};

struct tg_event_breakpoint_planted {
    uint64_t breakpoint;
    uint64_t address;
    const char *library; /* path of the object that holds it */
    uint64_t late; /* 1: planted at a later stop than the one that showed, or would have shown, the library */
    uint64_t
        window_ns; /* time in which the program could run past it: 0 in time; else since the deferred event,
                      or, where the load itself was not seen (fast), since the process's previous stop */
};

struct tg_event_breakpoint_removed { /* its library was unloaded */
    uint64_t breakpoint;
    uint64_t address;
    const char *library;
};

struct tg_event_filter_settings { /* in force from here on; pid and tid are 0 */
    uint64_t mode;                /* enum tg_filter_mode */
    const char *match;            /* glob-list */
};

struct tg_event_filter_decision { /* about the library_load of the same process just before it */
    uint64_t decision;            /* enum tg_filter_decision */
    uint64_t rule;                /* enum tg_filter_rule */
    const char *pattern;          /* the deciding pattern with its '!', "" for a default */
    const char *library;          /* the deciding library, "" for a default */
};

struct tg_event_deferred_handled { /* libraries of deferred or missed events were handled together */
    uint64_t trigger;              /* enum tg_stop_trigger */
    uint64_t events;               /* library_load events handled */
    uint64_t libraries;            /* libraries of these */
    uint64_t handle_ns;            /* tracer time spent on them */
};

struct tg_event_agent { /* of the program that runs in the process now */
    uint64_t state;     /* enum tg_agent_state */
    const char *reason; /* why it stepped aside, "" where it watches */
};

struct tg_event_library_call { /* the program calls the dynamic loader */
    uint64_t call;             /* enum tg_library_call */
    const char *path;          /* as given, "" for NULL and for dlclose */
    uint64_t flags;            /* RTLD_* bits as given; 0 for dlclose */
    int64_t namespace_id;      /* dlmopen's Lmid_t as given; 0 otherwise */
    uint64_t handle;           /* dlclose's */
    uint64_t caller;           /* the address it will return to */
};

struct tg_event_library_return { /* the same thread's latest open library_call came back */
    uint64_t call;               /* enum tg_library_call */
    uint64_t handle;             /* 0 where it failed */
    const char *error;           /* dlerror's text, "" where it went well */
};

/* Where an OpenMP event took place. */
#define TG_OMP_PLACE                                                                                         \
    uint64_t team;       /* id of the innermost region, unique in the process; 0 outside of all */           \
    uint64_t thread_num; /* in that team */                                                                  \
    uint64_t level;      /* how many regions are around; 0 outside of all */                                 \
    uint64_t code;       /* address behind the call in the program, 0 unknown */                             \
    uint64_t seen        /* enum tg_omp_seen */

struct tg_event_omp_runtime { /* an OpenMP runtime is watched in the process */
    const char *name;         /* "libgomp", or as the runtime calls itself */
    const char *version;      /* "" unknown */
    uint64_t seen;            /* enum tg_omp_seen: how its events are seen */
};

struct tg_event_omp_parallel_begin { /* a thread meets a parallel construct; the place is where it comes
                                        from */
    TG_OMP_PLACE;
    uint64_t new_team;  /* id of the region that begins */
    uint64_t requested; /* threads asked for, 0: left to the runtime */
    uint64_t body;      /* address of the outlined function, 0 unknown */
};

struct tg_event_omp_parallel_end { /* the thread that met it has left it; the place is where it is again */
    TG_OMP_PLACE;
    uint64_t ended_team;
};

struct tg_event_omp_implicit_begin { /* a thread of the new team begins the region's body */
    TG_OMP_PLACE;
    uint64_t parent_team;
    uint64_t team_size; /* 0 unknown */
};

struct tg_event_omp_implicit_end { /* it is through with the body, and arrives at the join */
    TG_OMP_PLACE;
};

struct tg_event_omp_zone_begin {
    TG_OMP_PLACE;
    uint64_t zone;     /* enum tg_omp_zone */
    uint64_t schedule; /* enum tg_omp_schedule */
    uint64_t count;    /* sections, 0 unknown */
};

struct tg_event_omp_zone_end {
    TG_OMP_PLACE;
    uint64_t zone; /* enum tg_omp_zone */
};

struct tg_event_omp_section { /* begins one section; it ends with the thread's next one, or its zone */
    TG_OMP_PLACE;
    uint64_t section; /* from 1 in the order of the program; 0 unknown */
};

struct tg_event_omp_sync_begin {
    TG_OMP_PLACE;
    uint64_t sync;     /* enum tg_omp_sync */
    uint64_t instance; /* barriers: the how manyth that this thread meets in this team, from 1; else 0 */
};

struct tg_event_omp_sync_end {
    TG_OMP_PLACE;
    uint64_t sync;
    uint64_t instance;
    uint64_t cancelled; /* 1: left because the region was cancelled */
};

struct tg_event_omp_mutex_wait { /* wants to enter */
    TG_OMP_PLACE;
    uint64_t mutex; /* enum tg_omp_mutex */
    uint64_t lock;  /* address of the lock or of the critical's name, 0 for the unnamed one */
};

struct tg_event_omp_mutex_enter {
    TG_OMP_PLACE;
    uint64_t mutex;
    uint64_t lock;
};

struct tg_event_omp_mutex_leave {
    TG_OMP_PLACE;
    uint64_t mutex;
    uint64_t lock;
};

struct tg_event_omp_task_create {
    TG_OMP_PLACE;
    uint64_t task;              /* id, unique in the process, from 1 */
    uint64_t parent_task;       /* the explicit task that creates it, 0: an implicit one */
    uint64_t body;              /* address of the outlined function, 0 unknown */
    uint64_t flags;             /* bits of enum tg_omp_task_flag */
    struct tg_list dependences; /* struct tg_omp_dependence */
};

struct tg_event_omp_task_begin {
    TG_OMP_PLACE;
    uint64_t task;
    uint64_t resumed; /* 1: it had begun before */
};

struct tg_event_omp_task_end {
    TG_OMP_PLACE;
    uint64_t task;
    uint64_t how; /* enum tg_omp_task_end */
};

struct tg_event_omp_cancel {
    TG_OMP_PLACE;
    uint64_t construct; /* enum tg_omp_cancel_construct */
    uint64_t activated; /* 1: this thread cancelled it; 0: it found it cancelled */
};

/* Communicators have ids that are the same in every process of the job: MPI_COMM_WORLD's is 1, others' are
 * made from how they came to be (the parent's id, the how manyth communicator made from it, the world rank of
 * its first member). The two sides of a spawn, or of connect and accept, share no such history: they give
 * their intercommunicator two ids. Windows and files have ids as communicators do. */
struct tg_event_mpi_comm {
    uint64_t comm;
    uint64_t parent;        /* id of the communicator it was made from, 0: none */
    uint64_t handle;        /* as the program has it */
    uint64_t origin;        /* enum tg_mpi_comm_origin */
    int64_t rank;           /* of this process in it, -1: not a member */
    int64_t size;           /* of an intercommunicator: of the group that this process is in */
    struct tg_list members; /* struct tg_mpi_member, by rank, of that group; told by its rank 0 only, of a
                               group of more than 3072 the first so many */
};

/* Of polls (MPI_Test, MPI_Iprobe and the like) that one place makes in a row and in vain, only the first is
 * told. */
struct tg_event_mpi_enter {
    const char *call;  /* "MPI_Bcast" */
    uint64_t comm;     /* id, 0: none, or not known */
    uint64_t instance; /* collectives: the how manyth on this communicator, from 1; else 0 */
    int64_t peer;      /* destination or source, rank in comm; -1 any, -2 MPI_PROC_NULL, -3 no such thing */
    int64_t tag;       /* -1 any, -3 no such thing; of MPI_Abort its error code */
    int64_t root;      /* of a collective, -3 where it has none, -4 MPI_ROOT, -2 MPI_PROC_NULL */
    uint64_t bytes;    /* sent by this process; where it only receives, its room */
    uint64_t code;     /* address behind the call in the program */
};

struct tg_event_mpi_leave { /* the same thread's latest open mpi_enter came back */
    const char *call;
    uint64_t request; /* handle of the request that the call made, started or freed, 0 none */
    int64_t peer;     /* a receive's real source, -3 where it has none */
    int64_t tag;
    uint64_t bytes; /* really received */
    int64_t result; /* the call's return value, 0 is MPI_SUCCESS */
};

struct tg_event_mpi_complete { /* inside of a wait or test, or of MPI_Cancel and the like: a request is
                                  done */
    uint64_t request;
    int64_t peer; /* as in mpi_leave */
    int64_t tag;
    uint64_t bytes;
    uint64_t cancelled;
};

/* MPIR: how a starter (mpirun, srun) tells a debugger which processes make up its job. Events about a starter
 * have its pid; the job of a recording is known by the pid of its starter. */
struct tg_event_mpir_symbols { /* the program, or a library of it, has symbols of MPIR */
    const char *object;        /* path of the object that has them */
    uint64_t role;             /* enum tg_mpir_role */
    uint64_t layout;           /* enum tg_mpir_layout_source */
    uint64_t stride_bytes;     /* of a table entry; 0 with the offsets where the layout is not known */
    uint64_t host_offset;      /* of host_name in it, and so on */
    uint64_t executable_offset;
    uint64_t pid_offset;
    struct tg_list symbols; /* struct tg_mpir_symbol */
};

struct tg_event_mpir_write { /* the recorder wrote an MPIR variable of the process */
    const char *symbol;
    int64_t value;
    const char *error; /* why it could not, "" it did */
};

struct tg_event_mpir_state { /* what the starter's variables say */
    uint64_t seen;           /* enum tg_mpir_seen */
    uint64_t state;          /* enum tg_mpir_state */
    int64_t raw_state;
    const char *abort_string; /* "" none */
    int64_t table_size;       /* MPIR_proctable_size as it is, 0 where it cannot be read */
    uint64_t table_address;   /* MPIR_proctable */
};

struct tg_event_mpir_table { /* the table, or a part of it: one reading of it may be several events */
    uint64_t snapshot;       /* the how manyth reading in this starter, from 1 */
    uint64_t first;          /* index of the first of ENTRIES */
    int64_t claimed_size;    /* as the starter says it */
    uint64_t read_ns;        /* tracer time for the whole reading; on its last event, 0 on others */
    uint64_t last;           /* 1: the last event of this reading */
    const char *reason;      /* why it was not read whole; "" it was */
    struct tg_list entries;  /* struct tg_mpir_entry */
};

struct tg_event_mpir_rank { /* what became of one rank; a later one replaces it. Its pid is the rank's where
                               that is traced, else the starter's */
    int64_t starter_pid;    /* whose table has it; 0: no table (outside) */
    int64_t rank;
    const char *host;
    const char *executable;
    int64_t table_pid; /* as the table has it, on HOST */
    uint64_t state;    /* enum tg_mpir_rank_state */
    uint64_t way;      /* enum tg_mpir_rank_way */
    uint64_t gate;     /* enum tg_mpir_gate */
    uint64_t woken;    /* 1: it was stopped by its starter, and woken with SIGCONT */
    const char *reason;
};

struct tg_event_mpir_job { /* a starter was recognised; the process is it. A later one replaces it */
    const char *launcher;  /* "Open MPI", "Slurm", "MPICH hydra", "" none that is known */
    uint64_t acquisition;  /* enum tg_mpir_acquisition */
    const char *reason;    /* "" none */
    uint64_t i_am_starter; /* whether there is a symbol MPIR_i_am_starter, and so on */
    uint64_t acquired_pre_main;
    uint64_t force_to_main;
    uint64_t partial_attach_ok;
    uint64_t ignore_queues;
    const char *job; /* "" unknown; Slurm's JOB.STEP */
};

/* Live control. Processes and threads have the numbers of control_process and control_thread in them: dpid,
 * and dtid, 0 where the process is meant. */

struct tg_event_barrier_created { /* pid and tid are 0 */
    uint64_t barrier;             /* id of the action point, from 1 */
    uint64_t of_threads;          /* 1: threads are members, 0: processes */
    uint64_t stop_when_hit;       /* enum tg_barrier_stop */
    uint64_t stop_when_done;      /* enum tg_barrier_stop */
    uint64_t share_group;         /* number of the share group that it does not reach beyond */
    uint64_t group;               /* members are of this control, share or workers group; 0 any */
    uint64_t process;             /* and of this process (dpid); 0 any */
    const char *location;         /* as it was asked for */
    struct tg_list members;       /* struct tg_control_unit, and of these; empty: any */
};

struct tg_event_barrier_arrival { /* a thread stopped at a barrier that it is a member of */
    uint64_t barrier;
    uint64_t dpid;
    uint64_t dtid;
    uint64_t late; /* 1: its process had arrived before it, in a round that is over: it does not count */
    uint64_t more; /* 1: it is at another barrier there as well, its arrival at which is told next */
};

struct tg_event_barrier_held {
    uint64_t barrier; /* 0: by somebody's command */
    uint64_t dpid;
    uint64_t dtid;
};

struct tg_event_barrier_satisfied {
    uint64_t barrier;
    uint64_t members; /* that had all arrived */
    uint64_t lost;    /* that had left before without having arrived, since the first one waited */
};

struct tg_event_barrier_released {
    uint64_t barrier; /* 0: from somebody's hold */
    uint64_t dpid;
    uint64_t dtid;
    uint64_t reason; /* enum tg_barrier_reason */
};

struct tg_event_barrier_deleted {
    uint64_t barrier;
};

struct tg_event_barrier_stuck { /* it can be satisfied no more */
    uint64_t barrier;
    uint64_t dpid; /* of a member that cannot arrive */
    uint64_t dtid;
    uint64_t holder;  /* id of the barrier that holds that one, and can be satisfied no more either */
    uint64_t blocked; /* how many members cannot arrive */
};

struct tg_event_barrier_left { /* a member left while others waited */
    uint64_t barrier;
    uint64_t dpid;
    uint64_t dtid;
    uint64_t reason;  /* enum tg_barrier_reason */
    uint64_t arrived; /* 1: it had arrived */
};

struct tg_event_barrier_enabled {
    uint64_t barrier;
    uint64_t enabled;
};

struct tg_event_control_process { /* what a process is called, and its groups from here on */
    uint64_t dpid;
    uint64_t control_group; /* numbers of groups */
    uint64_t share_group;
    uint64_t workers_group;
};

struct tg_event_control_thread {
    uint64_t dpid;
    uint64_t dtid;
    uint64_t manager; /* 1: not one of the workers */
};

struct tg_event_control_unhold { /* somebody takes away all holds of a thread or process */
    uint64_t dpid;
    uint64_t dtid;
};

struct tg_event_control_stopped { /* a thread stands still: it was told to stop, or something made it */
    uint64_t dpid;
    uint64_t dtid;
};

struct tg_event_control_resumed { /* a thread that stood still runs on */
    uint64_t dpid;
    uint64_t dtid;
};

struct tg_event_loss {
    uint64_t source; /* enum tg_loss_source */
    uint64_t count;  /* events lost, 0 unknown */
    const char *reason;
};

struct tg_event_note { /* something a reader must know to judge the trace: what could not be watched and
                          why */
    const char *text;
};

/* One event. Strings and lists belong to whoever made the event: a reader's live until its next call, a
 * producer's until the sink returns. Strings are never NULL in an event that a reader hands out. */
struct tg_event {
    uint64_t time_ns; /* CLOCK_MONOTONIC of the recording host */
    uint64_t stop_ns; /* how long the thread stood still for this event as the tracer saw it (stop seen to
                         resumed), 0: no stop */
    int32_t pid;      /* thread group; 0: the recorder itself */
    int32_t tid;
    enum tg_event_kind kind;
    union {
#define X(symbol, number, member, name) struct tg_event_##member member;
        TG_EVENT_KINDS(X)
#undef X
    };
};

enum tg_field_type {
    TG_FIELD_UNSIGNED, /* uint64_t */
    TG_FIELD_SIGNED,   /* int64_t */
    TG_FIELD_ADDRESS,  /* uint64_t, shown in hex, coded against the previous value */
    TG_FIELD_STRING,   /* const char * */
    TG_FIELD_ENUM,     /* uint64_t with names */
    TG_FIELD_BOOL,     /* uint64_t, 0 or 1 */
    TG_FIELD_LIST,     /* struct tg_list of records */
};

struct tg_record_schema;

/* One field of a payload or list element. Its position in the schema is its identity in the file. */
struct tg_field {
    const char *name; /* as in dump and --json; carries its unit */
    enum tg_field_type type;
    size_t offset;                          /* in the payload or element struct */
    const struct tg_record_schema *element; /* TG_FIELD_LIST: what it holds; elements hold no lists */
    const char *const *names;               /* TG_FIELD_ENUM: name of each value, NULL-terminated */
};

struct tg_record_schema {
    const char *name;
    size_t size_bytes; /* of the struct */
    size_t n_fields;
    const struct tg_field *fields;
};

enum { TG_EVENT_MAX_FIELDS = 16 };

/* Schema of KIND's payload, whose struct starts at TG_EVENT_PAYLOAD; NULL for a number that is no kind.
 * Constant. */
const struct tg_record_schema *tg_event_schema(unsigned kind);
#define TG_EVENT_PAYLOAD(event) ((void *)&(event)->process_start)

/* Every kind in ascending order, for I in [0, tg_event_kind_count()). */
size_t tg_event_kind_count(void);
enum tg_event_kind tg_event_kind_at(size_t i);

/* Name as in dump ("library_load"); "unknown" for a number that is no kind. */
const char *tg_event_kind_name(unsigned kind);

/* Finds a kind by name; returns 0 where there is none. */
unsigned tg_event_kind_by_name(const char *name);

/* Name of VALUE of an enum field, or NULL where it is beyond the names known here. */
const char *tg_field_value_name(const struct tg_field *field, uint64_t value);

#endif
