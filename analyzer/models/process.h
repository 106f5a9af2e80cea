/* The process model: events in, the tree of processes with their threads, ranks, ends and last known places
 * out. */
#ifndef TG_ANALYZER_MODELS_PROCESS_H
#define TG_ANALYZER_MODELS_PROCESS_H

#include "analyzer/models/event_headline.h"
#include "analyzer/models/rank_claim.h"
#include "format/base/error.h"
#include "format/base/string_pool.h"
#include "format/event/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a process ended, as far as known. */
enum tg_process_end {
    TG_PROCESS_RUNNING, /* no end in the trace */
    TG_PROCESS_EXITED,
    TG_PROCESS_KILLED,
    TG_PROCESS_LOST, /* ended, how was not seen */
    TG_PROCESS_DETACHED,
};

/* A signal that asks a process to end, as far as it is known who sent it. */
struct tg_end_request {
    uint64_t time_ns; /* 0: there was none */
    int64_t signal, code;
    int64_t sender_pid; /* 0: the kernel, as for keys that were typed */
    const char *sender; /* program, "" unknown */
};

/* One process, from its start to its end; a pid that the kernel used twice is two of them. Strings are the
 * model's. */
/* An access to memory that failed, or a signal of such a kind that another process sent. */
struct tg_process_fault {
    int32_t tid;
    int64_t signal, code;
    uint64_t pc, address;
    uint64_t overflowed; /* size of the stack that overflowed, 0: it was something else */
    int64_t sender_pid;  /* 0: an access failed */
    const char *sender;
};

enum { TG_PROCESS_FAULTS = 4 };

/* What the launcher made a process, of which MPI knows otherwise: it is alone in its MPI_COMM_WORLD. */
struct tg_process_launch {
    bool is_in_vain;
    int64_t rank, size; /* size 0 unknown */
    const char *job, *source;
};

struct tg_process_entry {
    size_t index; /* in order of first appearance */
    int32_t pid;
    uint32_t generation; /* how many processes of the trace had this pid before */
    int64_t parent_pid;  /* 0 unknown */
    struct tg_process_entry *parent, *first_child, *last_child, *next_sibling; /* by order of appearance */

    bool start_seen;
    uint64_t origin; /* enum tg_process_origin, where start_seen */
    uint64_t start_ns;
    uint64_t last_ns; /* of its last event, its stop included */
    enum tg_process_end end;
    int64_t status;        /* exit status or signal number */
    uint64_t ended_ns;     /* when it began to end: its threads went with that status; otherwise last_ns */
    int64_t ending_status; /* wait status of the threads that went last, alike since ending_ns; -1 none */
    uint64_t ending_ns,
        leader_ending_ns; /* of these: the first one, the first thread of the process (0 no) */
    bool core_dumped;
    const char *detach_reason;

    const char *program; /* path; "" unknown; a fork has its parent's */
    uint64_t execs;
    bool is_watched;                      /* an agent told that it is in its program */
    const char *host, *job, *rank_source; /* "" unknown */
    int64_t rank;                         /* -1: not a rank, whatever its environment says */
    struct tg_rank_claim claim;           /* what that says; the children of a rank say so, too */
    int64_t size;
    int64_t world_size; /* of MPI_COMM_WORLD as MPI has it, which may be another one; 0 unknown */
    struct tg_process_launch launch;

    uint64_t threads_started; /* the first thread included */
    uint64_t threads_alive;
    uint64_t threads_peak;

    uint64_t events;
    uint64_t library_events; /* loads */
    uint64_t stops;          /* events that carried a stop */
    uint64_t stop_ns;        /* sum of what it stood still */
    uint64_t signals;
    uint64_t last_signal_ns; /* 0: none */
    int64_t last_signal;
    int32_t last_signal_tid;
    int64_t last_signal_code;        /* si_code of the signal */
    int64_t last_signal_sender_pid;  /* 0: the kernel */
    const char *last_signal_sender;  /* program of the sender, "" not known */
    uint64_t last_signal_address;    /* of a fault */
    bool last_signal_has_address;    /* the kernel said one: 0 is that of a null pointer */
    uint64_t last_signal_overflowed; /* size of the stack that overflowed, 0: it was something else */
    struct tg_process_fault
        faults[TG_PROCESS_FAULTS]; /* the last ones of different threads, the latest first; tid 0: none */
    bool
        has_memory_kills; /* of one that SIGKILL ended: it is known, as far as it can be, whether memory ran out */
    struct tg_event_memory_kills memory_kills; /* where has_memory_kills */
    struct tg_end_request asked; /* the first request to end of those that came at short intervals */
    bool is_stopped;             /* by job control */
    int64_t stop_signal;         /* by which it is, or was last: SIGSTOP, ...; 0 never */
    uint64_t stopped_ns;         /* since when */
    uint64_t continued_ns;       /* when the last such stop ended, 0 none did */
    uint64_t n_kept;             /* threads that a debugger has stopped */
    uint64_t kept_ns;            /* where there are some: when the first of them was */
    uint64_t released_ns;        /* when the last of them went on, 0 never */
    int64_t stop_sender_pid;     /* 0 unknown, or the kernel */
    const char *stop_sender;

    struct tg_event_headline last; /* the last thing it did: its end and bookkeeping events do not count */
    struct tg_event_headline last_library; /* the last load; kind 0: none */
};

struct tg_process_model;

struct tg_error *tg_process_model_create(struct tg_process_model **model);
void tg_process_model_destroy(struct tg_process_model *model);
/* A second one that says the same and goes on from there on its own. */
struct tg_error *tg_process_model_copy(const struct tg_process_model *model, struct tg_process_model **copy);

/* Takes one event. *ENTRY is the process that it is about, NULL for the recorder's own (pid 0) and for
 * remarks on a process that is not followed. Entries stay
 * where they are as long as the model lives. Only error: NO_MEMORY. Memory follows the number of
 * processes. */
struct tg_error *tg_process_model_feed(struct tg_process_model *model, const struct tg_event *event,
                                       struct tg_process_entry **entry);

/* Takes events from the first of COUNT on as long as all that a process has of them is that it did something last, and calls MPI: those of
 * OpenMP, and calls of MPI, which are most events of most traces. *TAKEN is how many these are, 0 for an event of another kind, or of a process that
 * was not found lately. PROCESSES, which has room for as many, becomes the index of each one's process. Only error: NO_MEMORY. */
enum { TG_PROCESS_MAX_RUN = 128 };
struct tg_error *tg_process_model_feed_run(struct tg_process_model *model, const struct tg_event *events,
                                           size_t count, size_t *processes, size_t *taken);

/* For I in [0, count), in order of first appearance. */
size_t tg_process_model_count(const struct tg_process_model *model);
struct tg_process_entry *tg_process_model_at(const struct tg_process_model *model, size_t i);

/* Of how many MPI jobs the ranks are, two at most: none, one, or several, as where one has spawned another. */
int tg_process_model_jobs(const struct tg_process_model *model);

/* The name that thread TID of the process with index PROCESS had last, other than its program's; NULL none, or not
 * known. */
const char *tg_process_model_thread_name(const struct tg_process_model *model, size_t process, int32_t tid);

/* Name to show for a process: the last component of its program, "?" where it is not known. */
const char *tg_process_entry_name(const struct tg_process_entry *entry);

/* Preorder walk over the whole forest without recursion: NULL starts and ends it; DEPTH may be NULL. */
struct tg_process_entry *tg_process_model_next(const struct tg_process_model *model,
                                               const struct tg_process_entry *entry, unsigned *depth);

#endif
