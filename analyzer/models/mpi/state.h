/* Threads, processes, collectives and messages of the MPI model. Strings are the model's. */
#ifndef TG_ANALYZER_MODELS_MPI_STATE_H
#define TG_ANALYZER_MODELS_MPI_STATE_H

#include "analyzer/models/mpi/call.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TG_MPI_MAX_KEPT = 1 << 17, /* sends and receives that wait for their other half; then the oldest is
                                  forgotten, and counted as unkept */
    TG_MPI_MAX_FAULTS = 64,    /* kept, the first ones */
    TG_MPI_MAX_MISTYPED = 64,  /* likewise */
    TG_MPI_MAX_REMARKED = 64,  /* likewise */
};

/* One thread that calls MPI. */
struct tg_mpi_thread {
    size_t process; /* index in the process model */
    int32_t tid;
    bool alive;
    uint64_t ended_ns; /* 0: it is alive */
    bool in_call;
    struct tg_mpi_call call; /* the current one, else the last one */
    uint64_t left_ns;        /* when it came back from that, where it is in none */
    bool found_nothing;      /* CALL was a probe that found no message */
    uint64_t polls_since_ns; /* polls in vain since then, with no other call in between; 0: does not */
    uint64_t polled_ns;      /* when that was last told, 0: not yet */
    uint64_t poll_count;     /* in this row by then */
    uint64_t poll_gap_ns;    /* between two polls, on an average of the time before */
    bool polls_various;      /* from several places, or for several things: CALL is one of them */
    bool poll_found;  /* the poll that it is in has found something, or comes from where the one before did */
    uint64_t sent_id; /* of the message that the current or last call sends, 0 none */
    uint64_t n_partitions;    /* of the current call: the highest one and 1; 0 not known */
    const uint64_t *requests; /* requests that the current call waits for; until the next event */
    size_t n_requests;        /* 0: none, or not known */
    uint64_t calls;           /* entered so far */
    uint64_t repeated_polls;  /* in vain, told by their sums alone: further calls */
    uint64_t call_ns;         /* time in finished calls, these included */
};

/* What MPI_Init or MPI_Init_thread promised. */
enum tg_mpi_thread_level {
    TG_MPI_THREAD_UNKNOWN, /* older traces, sessions, and what was attached */
    TG_MPI_THREAD_SINGLE,
    TG_MPI_THREAD_FUNNELED,   /* of several threads, the one that initialised MPI */
    TG_MPI_THREAD_SERIALIZED, /* any, one at a time */
    TG_MPI_THREAD_MULTIPLE,
};

/* A process of an MPI job. */
struct tg_mpi_process {
    size_t process;
    const char *job;                       /* as its identity says, "" unknown; the model's */
    int64_t rank;                          /* in its MPI_COMM_WORLD, -1 unknown */
    int64_t size;                          /* of that, 0 unknown */
    enum tg_mpi_thread_level thread_level; /* which threads may call MPI */
    bool finalized;
    bool
        gave_up_receives; /* freed requests of receives that were under way: what came by them is not known */
    bool alive;
    uint64_t aborted_ns; /* when it called MPI_Abort, 0: it did not */
};

/* What the calls of one collective disagree in. */
enum tg_mpi_difference {
    TG_MPI_DIFFERS_CALL = 1,
    TG_MPI_DIFFERS_ROOT = 2,
    TG_MPI_DIFFERS_BYTES = 4,
    TG_MPI_DIFFERS_PLACE = 8, /* no mistake in itself: see analyzer/models/mpi/lockstep.h */
    TG_MPI_DIFFERS_TYPE = 16, /* elements of datatypes that do not match */
    TG_MPI_DIFFERS_OP = 32,
    TG_MPI_MISTAKES = TG_MPI_DIFFERS_CALL | TG_MPI_DIFFERS_ROOT | TG_MPI_DIFFERS_BYTES,
    TG_MPI_CONFUSIONS = TG_MPI_DIFFERS_TYPE | TG_MPI_DIFFERS_OP, /* the results are wrong, the order is not */
};

/* A collective that some of its communicator have come to and not all have left. */
struct tg_mpi_collective {
    const char *job;
    const char *name; /* as the first called it */
    unsigned
        differs; /* enum tg_mpi_difference: what some say otherwise than others under the same instance */
    uint64_t comm;
    uint64_t instance;
    int64_t root;
    uint64_t first_ns, last_ns; /* arrivals */
    int64_t size;               /* of the communicator, 0 unknown */
    uint64_t n_entered, n_left;
};

/* How far a rank of the communicator is with a collective. */
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
    uint64_t bytes;   /* every rank has to pass as many; UINT64_MAX: ranks may differ */
    const char *type; /* as in mpi_enter, where all have to say the same; else NULL */
    const char *op;
    uint64_t nth;  /* of its calls from this place on this communicator, 0 unknown */
    unsigned side; /* of a communicator between jobs: of which of the two, 1 or 2; else 0 */
};

/* A message, or a receive, that waits for its other half. */
struct tg_mpi_message {
    const char *job;
    uint64_t comm;
    unsigned group;              /* of an intercommunicator: that of the sender, 1 or 2; else 0 */
    int64_t source, destination; /* ranks in comm; -1 any source, -3 not known */
    int64_t tag;                 /* -1 any */
    uint64_t bytes;
    const char *type; /* as in mpi_enter; NULL not known */
    size_t process;   /* the sender or receiver */
    int32_t tid;
    const char *name;
    uint64_t code;
    uint64_t since_ns;
    uint64_t id;      /* of a message that was sent, in order; 0: this is a receive */
    uint64_t request; /* request that completes it, 0: the call itself does */
    uint64_t turn;    /* of a receive with a request, when it was posted, in order; else 0 */
};

/* A request of PROCESS that is no message: of a collective that does not block (INSTANCE), of access to a window, and the
 * like. */
struct tg_mpi_started {
    size_t process;
    int32_t tid;
    uint64_t request;
    uint64_t comm;
    uint64_t instance;  /* of the collective; 0: it is none, or a persistent one that was not started yet */
    uint64_t made;      /* of a persistent one: the instance of the call that made it; else 0 */
    uint64_t starts;    /* likewise, so far */
    int64_t root;       /* likewise */
    const char *job;    /* the model's */
    const char *name;   /* of the call that made it: "MPI_Ibcast", "MPI_Rput" */
    uint64_t code;      /* of the call that made or started it */
    uint64_t since_ns;  /* likewise */
    bool is_persistent; /* stays when it is complete */
    bool is_active;     /* under way */
};

/* A partitioned message of PROCESS: the request of MPI_Psend_init or MPI_Precv_init. The two halves belong together for good,
 * and each is started again and again. */
struct tg_mpi_partitioned {
    size_t process;
    int32_t tid; /* of the call that made or started it */
    uint64_t request;
    bool sends;
    const char *job; /* from here on as in struct tg_mpi_message */
    uint64_t comm;
    unsigned group;
    int64_t source, destination, tag;
    uint64_t bytes; /* of all partitions */
    const char *name;
    uint64_t code;     /* of the call that made or started it */
    uint64_t since_ns; /* likewise */
    uint64_t nth;      /* among those of its sender, receiver, communicator and tag, from 1; 0 not known */
    uint64_t count;    /* of partitions, 0 not known */
    uint64_t starts;   /* so far */
    bool is_active;    /* under way */
    /* of a send, since it was started: */
    bool is_unsure;                /* which ones are ready is not known */
    uint64_t n_ready;              /* marked by MPI_Pready and the like */
    uint64_t ready_code, ready_ns; /* of the call that marked the last one; 0 none */
    unsigned char *ready;          /* the model's, see tg_mpi_partition_is_ready */
};

bool tg_mpi_partition_is_ready(const struct tg_mpi_partitioned *of, uint64_t partition);

/* A partition that was marked as ready once more before its message was complete: the first of its place in the program. */
struct tg_mpi_remarked {
    struct tg_mpi_partitioned of; /* the message, without its marks */
    uint64_t partition;
    const char *name; /* of the call that marked it again */
    int32_t tid;
    uint64_t code, time_ns; /* of that call */
    uint64_t count;         /* of such calls by this process from there */
};

/* A message that was received as another datatype than it was sent as: the first of its kind. */
struct tg_mpi_mistyped {
    struct tg_mpi_message sent, receive;
    uint64_t time_ns;
    uint64_t count; /* from these places, with these types */
};

/* Instances of persistent collectives: those that make them are numbered like others, and so are the starts of each. */
enum { TG_MPI_START_SHIFT = 32 };
static inline uint64_t tg_mpi_start_instance(uint64_t made, uint64_t starts)
{
    return starts << TG_MPI_START_SHIFT | (made & UINT32_MAX);
}
static inline bool tg_mpi_is_start(uint64_t instance)
{
    return instance >> TG_MPI_START_SHIFT != 0;
}

enum {
    TG_MPI_EPOCH_ACCESS = -2,  /* by MPI_Win_start, to those in GROUP */
    TG_MPI_EPOCH_ALL = -3,     /* a shared lock of all ranks' memory, by MPI_Win_lock_all */
    TG_MPI_EPOCH_EXPOSED = -4, /* own memory is open to others, by MPI_Win_post: to those in GROUP */
};

/* A process has begun to use the memory of other ranks, or opened its own, and not ended that. */
struct tg_mpi_epoch {
    const char *job;
    uint64_t window; /* id of the window, as COMM of calls */
    size_t process;
    int64_t target;    /* rank in the window whose memory it has locked, or one of the above */
    bool is_granted;   /* surely has the lock: libraries put off asking for it to the first use */
    uint64_t since_ns; /* when the call that began it came back, or, in that call, began */
    uint64_t code;
    bool has_group;       /* for whom it is, is known: */
    int64_t rank;         /* of the process in the window, -1 unknown */
    const int64_t *group; /* ranks in the window, -1: one that has ended its access */
    size_t n_group;
};

/* Whether EPOCH is known to be for RANK of its window, which has not ended its part. */
static inline bool tg_mpi_epoch_has(const struct tg_mpi_epoch *epoch, int64_t rank)
{
    for (size_t i = 0; i < epoch->n_group; i++)
        if (epoch->group[i] == rank && rank >= 0)
            return true;
    return false;
}

/* A call that failed. */
struct tg_mpi_fault {
    size_t process;
    int32_t tid;
    const char *name;        /* as the library names the call, "" unknown */
    const char *error_class; /* "MPI_ERR_TRUNCATE", "" one that the program made */
    const char *text;        /* the library's explanation */
    int64_t code;
    bool in_call; /* one that is recorded: CALL */
    struct tg_mpi_call call;
    uint64_t time_ns;
    uint64_t left_ns;  /* when the call came back all the same, 0: it did not */
    bool is_truncated; /* MPI_ERR_TRUNCATE, and it is known of what: */
    struct tg_mpi_message receive, sent;
};

#endif
