/* The MPI model: events in; which rank is in which call since when, which collectives are under way and who
 * has not come, which sends nobody has received and which receives wait, out. At any moment of a trace it
 * answers for that moment: feed it up to there.
 *
 * A sequence of events that cannot be is counted and does no harm. */
#ifndef TG_ANALYZER_MODELS_MPI_H
#define TG_ANALYZER_MODELS_MPI_H

#include "format/base/error.h"
#include "format/event/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TG_MPI_MAX_KEPT = 1 << 17, /* sends and receives that wait for their other half; then the oldest is
                                  forgotten, and counted as unkept */
};

/* What kind of call a name is. */
enum tg_mpi_role {
    TG_MPI_OTHER,
    TG_MPI_SEND,
    TG_MPI_RECEIVE,
    TG_MPI_SEND_RECEIVE, /* MPI_Sendrecv and its like: the peer is that of the send */
    TG_MPI_PROBE,
    TG_MPI_COLLECTIVE,
    TG_MPI_COMPLETION, /* waits and tests */
};

/* By NAME as in mpi_enter ("MPI_Isend"). NONBLOCKING (may be NULL): the call starts a request. PERSISTENT
 * (may be NULL): the call makes one that MPI_Start starts. */
enum tg_mpi_role tg_mpi_call_role(const char *name, bool *nonblocking, bool *persistent);

/* A call that a thread is in, or was in last. */
struct tg_mpi_call {
    const char *name; /* the model's */
    uint64_t comm;    /* as in mpi_enter */
    uint64_t instance;
    int64_t peer, tag, root;
    uint64_t bytes;
    uint64_t code;
    uint64_t since_ns;
};

/* One thread that calls MPI. */
struct tg_mpi_thread {
    size_t process; /* index in the process model */
    int32_t tid;
    bool alive;
    bool in_call;
    struct tg_mpi_call call; /* the current one, else the last one */
    uint64_t left_ns;        /* when it came back from that, where it is in none */
    uint64_t calls;          /* entered so far */
    uint64_t call_ns;        /* time in finished calls */
};

/* A process of an MPI job. */
struct tg_mpi_process {
    size_t process;
    const char *job; /* as its identity says, "" unknown; the model's */
    int64_t rank;    /* in its MPI_COMM_WORLD, -1 unknown */
    int64_t size;    /* of that, 0 unknown */
    bool finalized;
    bool alive;
    uint64_t aborted_ns; /* when it called MPI_Abort, 0: it did not */
};

/* A collective that some of its communicator have come to and not all have left. */
struct tg_mpi_collective {
    const char *job;
    const char *name; /* as the first called it */
    bool differs;     /* others called something else, or another root, under the same instance: a mismatch */
    uint64_t comm;
    uint64_t instance;
    int64_t root;
    uint64_t first_ns, last_ns; /* arrivals */
    int64_t size;               /* of the communicator, 0 unknown */
    uint64_t n_entered, n_left;
};

/* Where a rank of the communicator stands to a collective. */
enum tg_mpi_standing {
    TG_MPI_MISSING,
    TG_MPI_WAITING,
    TG_MPI_PASSED,
};

struct tg_mpi_arrival {
    enum tg_mpi_standing standing;
    int64_t comm_rank;
    int64_t world_rank;           /* -1 unknown */
    size_t process;               /* SIZE_MAX: not in the trace, or not known */
    uint64_t entered_ns, left_ns; /* 0: not yet, or forgotten */
    uint64_t code;
    const char *name; /* as it called it; NULL where it has not come */
    int64_t root;     /* as it says */
};

/* A message, or a receive, that waits for its other half. */
struct tg_mpi_message {
    const char *job;
    uint64_t comm;
    int64_t source, destination; /* ranks in comm; -1 any source */
    int64_t tag;                 /* -1 any */
    uint64_t bytes;
    size_t process; /* that posted it */
    int32_t tid;
    const char *name;
    uint64_t code;
    uint64_t since_ns;
};

struct tg_mpi_model;

struct tg_mpi_model_options {
    /* A call came back. NULL: not interested. */
    struct tg_error *(*left)(void *context, const struct tg_mpi_thread *thread,
                             const struct tg_mpi_call *call, const struct tg_event_mpi_leave *leave,
                             uint64_t time_ns);
    /* A message was received: FROM as it was sent, to PROCESS. */
    struct tg_error *(*received)(void *context, const struct tg_mpi_message *message, size_t process,
                                 uint64_t time_ns);
    void *context;
};

/* OPTIONS is copied, and may be NULL. */
struct tg_error *tg_mpi_model_create(const struct tg_mpi_model_options *options, struct tg_mpi_model **model);
void tg_mpi_model_destroy(struct tg_mpi_model *model); /* NULL is accepted */
/* A second one, without callbacks, that says the same and goes on from there on its own. */
struct tg_error *tg_mpi_model_copy(const struct tg_mpi_model *model, struct tg_mpi_model **copy);

/* Takes one event of the process with index PROCESS in the process model; kinds that say nothing of MPI, of
 * identity or of ends are ignored. Errors: NO_MEMORY, and those of the callbacks. Memory follows threads,
 * communicators, and what is under way, not events. */
struct tg_error *tg_mpi_model_feed(struct tg_mpi_model *model, const struct tg_event *event, size_t process);

/* Events that could not be, and sends and receives that were too many to keep. */
uint64_t tg_mpi_model_impossible(const struct tg_mpi_model *model);
uint64_t tg_mpi_model_unkept(const struct tg_mpi_model *model);

/* Threads and processes in order of first appearance. They stay where they are. */
size_t tg_mpi_model_thread_count(const struct tg_mpi_model *model);
const struct tg_mpi_thread *tg_mpi_model_thread_at(const struct tg_mpi_model *model, size_t i);
size_t tg_mpi_model_process_count(const struct tg_mpi_model *model);
const struct tg_mpi_process *tg_mpi_model_process_at(const struct tg_mpi_model *model, size_t i);
/* NULL: it never called MPI. */
const struct tg_mpi_process *tg_mpi_model_process(const struct tg_mpi_model *model, size_t process);

/* The process that is RANK of communicator COMM of JOB (the model's string), SIZE_MAX: not known. */
size_t tg_mpi_model_process_of(const struct tg_mpi_model *model, const char *job, uint64_t comm,
                               int64_t rank);

/* Visits every collective that is under way, the oldest first, with its ARRIVALS: one for every rank of the
 * communicator whose size is known, else for those that came. Stops at an error and returns it. */
struct tg_error *tg_mpi_model_visit_collectives(
    const struct tg_mpi_model *model,
    struct tg_error *(*visit)(void *context, const struct tg_mpi_collective *collective,
                              const struct tg_mpi_arrival *arrivals, size_t n_arrivals),
    void *context);

/* Visits what waits, in the order in which it was posted: messages sent and not received, then receives
 * posted and not complete. */
struct tg_error *tg_mpi_model_visit_sends(const struct tg_mpi_model *model,
                                          struct tg_error *(*visit)(void *context,
                                                                    const struct tg_mpi_message *message),
                                          void *context);
struct tg_error *tg_mpi_model_visit_receives(const struct tg_mpi_model *model,
                                             struct tg_error *(*visit)(void *context,
                                                                       const struct tg_mpi_message *message),
                                             void *context);

/* Whether a message on its way would satisfy RECEIVE. */
bool tg_mpi_model_has_send(const struct tg_mpi_model *model, const struct tg_mpi_message *receive);

#endif
