/* Subcommands: what the table in main.c holds. */
#ifndef TG_FORMAT_SETTINGS_COMMAND_H
#define TG_FORMAT_SETTINGS_COMMAND_H

#include "format/base/error.h"
#include "format/event/event.h"
#include "format/settings/break_spec.h"
#include "format/trace/recovery.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A measured quantity: its quartiles. */
struct tg_quartiles {
    uint64_t low, median, high;
};

/* Cost of a stop on this machine, measured: the floor that any ptrace tracer pays.
 * Filled by the service below; a layer that may not include the recorder gets it this way.
 * Of each stop there is the wall time that it adds to the program (stop, registers, read, continue), and the
 * part of it that a tracer cannot see, before waitpid's return and behind the continue. */
struct tg_stop_cost {
    uint64_t stop_ns;                /* median of STOP */
    uint64_t tracer_ns;              /* STOP less HIDDEN, of the medians, as a trace's stop_ns counts it */
    uint64_t samples;                /* number of stops measured */
    struct tg_quartiles stop;        /* of stops that follow each other closely */
    struct tg_quartiles hidden;      /* of the same */
    struct tg_quartiles sparse_stop; /* of stops so far apart that the tracer sleeps between them */
    struct tg_quartiles sparse_hidden;
    struct tg_quartiles
        read;             /* reading one library, at a stop of the loader that shows it; 0: not measured */
    uint64_t together_ns; /* the same of one that is found with others, dependencies sorted out; likewise */
};

/* Facts about a code address. Strings are the symbolizer's, valid until its next answer. */
struct tg_symbol {
    const char *function; /* as the symbol table has it; NULL unknown */
    uint64_t offset;      /* of the address in it */
    const char *file;     /* source file, as the debug information has it; NULL unknown */
    uint64_t line;
};

/* Answers from the files of this machine, and remembers; one thread. */
struct tg_symbolizer;

/* Whether a file has a place for a breakpoint. */
enum tg_break_presence {
    TG_BREAK_UNKNOWN, /* the file is not here, or is another one */
    TG_BREAK_ABSENT,
    TG_BREAK_PRESENT,
};

/* Looks for each of the N SPECS (functions and lines; all else is UNKNOWN) in the file PATH of this machine,
 * whatever library a specification names. The file counts only if its build-id is BUILD_ID, which "" never
 * is. */
typedef void tg_find_breaks(const char *path, const char *build_id, const struct tg_break_spec *const *specs,
                            size_t n, enum tg_break_presence *found);

/* Contents of the rings of an interrupted recording. */
struct tg_salvage_stats {
    uint64_t events; /* handed on */
    uint64_t rings;
    uint64_t lost_events; /* as far as they were counted */
    bool is_exact; /* what is not in the file was handed on, or is counted in LOST_EVENTS, to the last */
    bool goes_on;  /* programs run on: later events of theirs are not there */
};

/* Counts between two looks what threads do; nothing stays behind. */
struct tg_return_watch;

/* A look at running processes: where all of their threads are. */
struct tg_look_request {
    const int32_t *pids;
    size_t count;
    bool with_descendants;         /* of those, too */
    bool with_values;              /* arguments of MPI's functions, where they are certain: call_values */
    struct tg_return_watch *watch; /* NULL: nothing is counted */
};

/* A look at core files. What cannot be read is remarked on. */
struct tg_core_request {
    const char *const *paths;
    size_t count;
    bool with_values;
};

/* What a thread did between the look before and this one. */
struct tg_look_activity {
    int32_t pid, tid;
    bool is_suspended; /* process stopped, by SIGSTOP or from a terminal */
    bool is_counted;   /* the rest is known */
    uint64_t
        returns; /* how often it came back from the call that it was in then: 0, it is in it yet, where it is in one
                          from there */
    uint64_t ran_ns; /* processor time of the thread */
    bool copies;     /* now, by a system call that moves data, or by an instruction that copies many bytes */
    bool sleeps;     /* now, in the kernel, until something happens */
    bool
        restarts; /* in a call that the kernel makes anew by a number of its own: a sleep with a time limit */
    uint64_t io_bytes; /* read and written by the process since it began; 0 unknown */
    bool is_restart;   /* now, in one that was made anew so, before which nothing else was done */
};

/* A message that a thread waits for by a request of its own. */
struct tg_look_message {
    bool sends;    /* else receives */
    bool is_world; /* in MPI_COMM_WORLD */
    bool is_other; /* in another communicator; neither: not known */
    bool is_small; /* on its way for a moment only */
    /* -1 any, -2 unknown */
    int32_t peer; /* rank in its communicator */
    int32_t rank; /* of the job */
    int32_t tag;
};

enum { TG_LOOK_MAX_MESSAGES = 16 };

/* Requests that a thread waits for in MPI_Wait, MPI_Waitall and the like. */
struct tg_look_requests {
    int32_t pid, tid;
    bool needs_all;            /* the call does not come back before all are complete; else one is enough */
    uint64_t count, n_pending; /* all, and those that are not complete */
    struct tg_look_message messages[TG_LOOK_MAX_MESSAGES]; /* of the latter, as far as they are known */
    size_t n_messages;
    uint64_t n_collective; /* of those that are not complete, of collective calls */
    bool is_of_world;      /* these are of MPI_COMM_WORLD */
    uint64_t mark;         /* another number where later messages are waited for */
};

/* The communicator of the call that a thread is in, its process's group in it. */
struct tg_look_members {
    int32_t pid, tid;
    int32_t size;    /* of the group */
    uint32_t number; /* 0 unknown; two of them are two communicators, where the members are the same */
    const int32_t
        *ranks; /* rank in the job of each member, SIZE of them; NULL: not known, or not all are of the job */
    int32_t remote_size;         /* of the other group of an intercommunicator; 0: it has one */
    const int32_t *remote_ranks; /* REMOTE_SIZE of them, where RANKS are known */
};

/* Takes what a look finds. Of each process: process_start, program, command_line, identity, mpi_comm of MPI_COMM_WORLD; thread_start, thread_name
 * and stack of its threads; stack_snapshot with the time that it stood still. At the end thread_wait and code_name. */
struct tg_look_sink {
    void *context;
    void (*add)(void *context, const struct tg_event *event);
    /* PID cannot be looked at; REASON ends without a full stop. */
    void (*refuse)(void *context, int32_t pid, const char *reason);
    void (*remark)(void *context,
                   const char *text); /* what one should know of the answer; NULL: not wanted */
    void (*add_activity)(void *context, const struct tg_look_activity *activity); /* NULL: not wanted */
    void (*add_requests)(void *context, const struct tg_look_requests *requests); /* likewise */
    void (*add_members)(void *context, const struct tg_look_members *members);    /* likewise */
};

/* A job that runs on this machine. */
struct tg_running_job {
    int32_t launcher;                    /* pid; without one, that of the first of its ranks */
    size_t ranks;                        /* ranks that run here */
    char program[64], launcher_name[64]; /* untrusted; "" unknown, or none */
    char job[64]; /* name given by the batch system or runtime; for Slurm JOB.STEP; untrusted */
};

struct tg_running_rank {
    int32_t pid;
    uint64_t rank;
};

/* Services of the program for its commands; filled by main.c, constant while a command runs. */
struct tg_command_services {
    /* Measures on this machine; takes some tens of milliseconds and forks one short-lived child. */
    struct tg_error *(*measure_stop_cost)(struct tg_stop_cost *cost);

    /* Hands the events behind PLACE in the rings of DIRECTORY (a trace's agent.directory) to
     * ADD, in the order of time; they stay there. Errors: NOT_FOUND (nothing is there), EXISTS (its recorder
     * lives), INPUT, UNSUPPORTED (no such directory of this user and version). */
    struct tg_error *(*salvage_rings)(const char *directory, struct tg_recovery_place place,
                                      void (*add)(void *context, const struct tg_event *event), void *context,
                                      struct tg_salvage_stats *stats);
    /* Removes DIRECTORY with its rings; errors as above. */
    struct tg_error *(*discard_rings)(const char *directory);

    struct tg_error *(*symbolizer_create)(struct tg_symbolizer **symbolizer);
    /* NULL is accepted. */
    void (*symbolizer_destroy)(struct tg_symbolizer *symbolizer);
    /* Names the code at ADDRESS (virtual, without load bias) of the object PATH is. The file there counts
     * only if it has BUILD_ID, both may have none ("" or NULL). False where nothing is known. */
    bool (*symbolizer_resolve)(struct tg_symbolizer *symbolizer, const char *path, const char *build_id,
                               uint64_t address, struct tg_symbol *symbol);
    /* The same of a variable: the name of the one that holds ADDRESS, and the offset in it. */
    const char *(*symbolizer_variable)(struct tg_symbolizer *symbolizer, const char *path,
                                       const char *build_id, uint64_t address, uint64_t *offset);

    tg_find_breaks *find_breaks;

    /* Stops each process of REQUEST as shortly as is possible, one after the other, changes nothing in it, and lets
     * it go; tells SINK of what it was doing. Fails for want of memory alone. */
    struct tg_error *(*look)(const struct tg_look_request *request, const struct tg_look_sink *sink);
    /* The same of processes that have ended. */
    struct tg_error *(*look_at_cores)(const struct tg_core_request *request, const struct tg_look_sink *sink);
    bool (*is_core)(const char *path);
    /* For several looks at the same processes. Only error: NO_MEMORY. */
    struct tg_error *(*watch_create)(struct tg_return_watch **watch);
    void (*watch_destroy)(struct tg_return_watch *watch); /* NULL is accepted */
    /* Why threads could not be counted, a few words; NULL: none was refused. */
    const char *(*watch_refusal)(const struct tg_return_watch *watch);
    /* The jobs whose ranks this user may see, at most MAX. */
    size_t (*find_jobs)(struct tg_running_job *jobs, size_t max);
    /* The ranks that descend from process LAUNCHER, by their environment, at most MAX. */
    size_t (*find_ranks)(int32_t launcher, struct tg_running_rank *ranks, size_t max);
};

/* One subcommand. To add one:
 *   1. write `const struct tg_command tg_NAME_command` in the layer that it belongs to (NAME_command.c
 * there);
 *   2. add it to the table in main.c;
 *   3. write docs/man/tollgate-NAME.1; add its options to completions/ (tests/docs compares them with
 * --help). */
struct tg_command {
    const char *name;    /* the word after `tollgate` */
    const char *summary; /* one line for `tollgate --help` */
    /* argv[0] is "tollgate NAME"; returns the exit status (0 fine, 1 the answer is no, 2 usage or bad input,
       3 the traced program could not be run; record exits with the program's status). Reports its own
       errors. */
    int (*run)(int argc, char **argv, const struct tg_command_services *services);
    bool has_no_columns; /* widths of characters are not read, which a job's start would wait for */
};

#endif
