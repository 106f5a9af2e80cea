/*
 * The event vocabulary: one struct, one enum, one schema table that the trace file, dump and the documents
 * share.
 *
 * To add a kind: a payload struct, a line in TG_EVENT_KINDS, its fields in event.c, its line in
 * docs/trace-format.md (a test compares them). To add a field: append it, never insert or reuse: traces of
 * every version stay readable.
 */
#ifndef TG_FORMAT_EVENT_H
#define TG_FORMAT_EVENT_H

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
    TG_EXIT_LOST,   /* the end was not seen (killed together with the tracer's knowledge of it) */
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
};

enum tg_loss_source {
    TG_LOSS_WRITER_QUEUE, /* the writer could not keep up with the events: bounded memory */
    TG_LOSS_WRITER_FILE,  /* the trace file could not be written (disk full, I/O error) */
    TG_LOSS_TARGET,       /* the traced process could not be read */
    TG_LOSS_LIMIT,        /* beyond a documented limit */
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
    X(SIGNAL, 0x0201, signal, "signal")                                                                      \
    X(GROUP_STOP, 0x0202, group_stop, "group_stop")                                                          \
    X(BREAKPOINT_HIT, 0x0203, breakpoint_hit, "breakpoint_hit")                                              \
    X(LIBRARY_LOAD, 0x0301, library_load, "library_load")                                                    \
    X(LIBRARY_UNLOAD, 0x0302, library_unload, "library_unload")                                              \
    X(LIBRARY_NULL, 0x0303, library_null, "library_null")                                                    \
    X(BREAKPOINT_SPEC, 0x0304, breakpoint_spec, "breakpoint_spec")                                           \
    X(BREAKPOINT_PLANTED, 0x0305, breakpoint_planted, "breakpoint_planted")                                  \
    X(BREAKPOINT_REMOVED, 0x0306, breakpoint_removed, "breakpoint_removed")                                  \
    X(FILTER_SETTINGS, 0x0401, filter_settings, "filter_settings")                                           \
    X(FILTER_DECISION, 0x0402, filter_decision, "filter_decision")                                           \
    X(DEFERRED_HANDLED, 0x0403, deferred_handled, "deferred_handled")                                        \
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

struct tg_event_entry { /* the program reached its entry point (AT_ENTRY): start-up libraries are initialised
                         */
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

struct tg_event_loss {
    uint64_t source; /* enum tg_loss_source */
    uint64_t count;  /* events lost, 0 unknown */
    const char *reason;
};

struct tg_event_note { /* something a reader must know to judge the trace: what could not be watched and why
                        */
    const char *text;
};

/*
 * One event. Strings and lists belong to whoever made the event: a reader's live until its next call, a
 * producer's until the sink returns. Strings are never NULL in an event that a reader hands out.
 */
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
