/* Calls of MPI functions: what they say, and what kind of call a name is. */
#ifndef TG_ANALYZER_MODELS_MPI_CALL_H
#define TG_ANALYZER_MODELS_MPI_CALL_H

#include <stdbool.h>
#include <stdint.h>

enum tg_mpi_role {
    TG_MPI_OTHER,
    TG_MPI_SEND,
    TG_MPI_RECEIVE,
    TG_MPI_SEND_RECEIVE, /* like MPI_Sendrecv: the peer is that of the send */
    TG_MPI_PROBE,
    TG_MPI_COLLECTIVE,
    TG_MPI_COMPLETION, /* waits and tests */
};

/* By NAME as in mpi_enter ("MPI_Isend"). NONBLOCKING (may be NULL): the call starts a request. PERSISTENT
 * (may be NULL): the call makes one that MPI_Start starts. */
enum tg_mpi_role tg_mpi_call_role(const char *name, bool *nonblocking, bool *persistent);

/* Whether a thread in NAME waits for others: what starts a request or tests one comes back at once. */
bool tg_mpi_call_waits(const char *name);
/* Whether NAME only asks whether something is there. Of such calls that one place repeats in vain the first is recorded. */
bool tg_mpi_call_polls(const char *name);

/* Which half of a partitioned message NAME makes: TG_MPI_SEND (MPI_Psend_init), TG_MPI_RECEIVE, TG_MPI_OTHER none. */
enum tg_mpi_role tg_mpi_call_partitions(const char *name);

/* The function NAME without what says how it blocks and how large its counts are, and without "MPI_": "Bcast" for
 * "MPI_Ibcast_c" and "MPI_Bcast_init"; "" for calls that are neither messages, collectives nor waits. */
const char *tg_mpi_call_plain(const char *name);

/* What the bytes of a collective call say. */
enum tg_mpi_sharing {
    TG_MPI_BYTES_OWN,   /* each process has its own: MPI_Gatherv and the like */
    TG_MPI_BYTES_EQUAL, /* all give the same */
    TG_MPI_BYTES_SHARE, /* the root's are those of all others together */
};
enum tg_mpi_sharing tg_mpi_call_sharing(const char *name);

/* Whether all processes of a collective NAME send elements of one datatype. */
bool tg_mpi_call_has_one_type(const char *name);

/* Whether two processes may call X and Y for one collective: the same function, or its form with large counts. */
bool tg_mpi_call_is_same(const char *x, const char *y);

/* What the name of a call says, put together once for many calls. */
struct tg_mpi_call_traits {
    enum tg_mpi_role role;
    bool is_started, is_persistent; /* as from tg_mpi_call_role */
    bool waits, polls;
    bool
        makes_request; /* one that is neither a message nor a collective: one-sided access, access to files, MPI_Comm_idup */
    bool is_special; /* not a message, collective, wait or test: the model may know it by its name */
};
struct tg_mpi_call_traits tg_mpi_call_traits_of(const char *name);

/* A call that a thread is in, or was in last. */
struct tg_mpi_call {
    const char *name;      /* the model's */
    uint64_t comm;         /* as in mpi_enter */
    const char *comm_name; /* name that the program gave it, NULL none; the model's */
    uint64_t instance;
    int64_t peer, tag, root;
    uint64_t bytes;
    uint64_t code;
    uint64_t since_ns;
    uint64_t request;       /* request that it waits for, tests or starts; 0 none, several, or not known */
    bool receives;          /* of MPI_Sendrecv and the like: the next two are known */
    int64_t from, from_tag; /* of its receive, as PEER and TAG */
    const char *type, *from_type, *op; /* as in mpi_enter; the model's; NULL or "" not known */
};

#endif
