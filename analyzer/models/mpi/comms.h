/* The communicators of the MPI model: how large each is, and who is which rank of it. Internal to
 * the MPI model. */
#ifndef TG_ANALYZER_MODELS_MPI_COMMS_H
#define TG_ANALYZER_MODELS_MPI_COMMS_H

#include "analyzer/models/mpi/call.h"
#include "analyzer/models/mpi/lockstep.h"
#include "analyzer/models/mpi/sites.h"
#include "format/base/error.h"
#include "format/base/hash.h"
#include "format/event/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* JOB is interned: the pointer tells jobs apart. */
struct tg_mpi_comm_key {
    const char *job;
    uint64_t comm;
};

/* The process of each rank. */
struct tg_mpi_comm_rank {
    size_t process;
    int64_t rank;           /* -1 unknown */
    int64_t world_rank;     /* in its job, likewise */
    uint64_t last_instance; /* of the collectives that it came to, 0 none: it is through with those before */
    struct tg_mpi_sites sites;
    unsigned side;     /* of a joint communicator: of which of the two jobs, 1 or 2; else 0 */
    UT_hash_handle hh; /* by process */
};

/* A communicator that joins processes of two jobs, each of which knows it by an id of its own, or that was made from such a
 * one. What one job says of it is a side; when the two are known to be the same, the second becomes an alias of the first. */
struct tg_mpi_joint {
    bool is_joint;
    bool is_linked;   /* both sides are here */
    bool is_child;    /* of MPI_Comm_spawn: the side of the spawned processes */
    bool is_unlikely; /* both sides were in use before they were linked, or one for long: they stay apart */
    uint64_t uses;    /* calls on it so far */
    uint64_t link;    /* as in mpi_comm */
    int64_t remote_size;
    uint64_t begun_ns, born_ns; /* the calls by which it came to be */
    const char *parent_job; /* of what it was made from, with which id, by which collective call on that */
    uint64_t parent, parent_instance;
};

struct tg_mpi_comm {
    struct tg_mpi_comm_key key;
    int64_t size;         /* 0 unknown */
    int64_t *world_ranks; /* by rank, NULL unknown; of an intercommunicator: of its group 1 */
    size_t n_world_ranks;
    int64_t *other_ranks; /* of an intercommunicator, likewise: of its group 2 */
    size_t n_other_ranks;
    bool is_inter; /* an intercommunicator: its two groups number their ranks each from 0 */
    struct tg_mpi_comm_rank *ranks;
    struct tg_mpi_comm_rank *recent[16]; /* ranks got lately, by process */
    struct tg_mpi_lockstep lockstep;
    struct tg_mpi_joint joint;
    struct tg_mpi_comm *same; /* the communicator of which it is an alias; NULL: none */
    enum tg_mpi_comm_origin origin;
    uint64_t parent;     /* id, 0: none, or not known */
    const char *name;    /* name that the program gave it, NULL none; interned */
    const char *made_by; /* call that made it, of the process that told so first; NULL unknown; interned */
    size_t maker;        /* process that did so, and where it made the call */
    uint64_t made_in;
    UT_hash_handle hh;
};

/* All zero is an empty one. */
struct tg_mpi_comms {
    struct tg_mpi_comm *entries;
    struct tg_mpi_comm *recent[16]; /* entries got lately, by id */
};

void tg_mpi_comms_deinit(struct tg_mpi_comms *comms);
/* Adds those of FROM to TO, which is empty. Only error: NO_MEMORY. */
struct tg_error *tg_mpi_comms_copy(const struct tg_mpi_comms *from, struct tg_mpi_comms *to);

/* NULL where it is not known. Never an alias: its key may be of another job, and another id. */
struct tg_mpi_comm *tg_mpi_comms_find(const struct tg_mpi_comms *comms, const char *job, uint64_t comm);
/* CALL, by a process of JOB, uses its communicator: where that is known, CALL gets its name, and the one id that it has in
 * all jobs. */
void tg_mpi_comms_note_call(const struct tg_mpi_comms *comms, const char *job, struct tg_mpi_call *call);
/* Takes an mpi_comm event of PROCESS, WORLD_RANK of its job, made by CALL, which lasted until BORN_NS. Only error: NO_MEMORY. */
struct tg_error *tg_mpi_comms_take(struct tg_mpi_comms *comms, const char *job, size_t process,
                                   int64_t world_rank, const struct tg_event_mpi_comm *told,
                                   const struct tg_mpi_call *call, uint64_t born_ns);
/* Whether COMM (NULL is accepted) has members of another job that are not known. */
bool tg_mpi_comm_is_half(const struct tg_mpi_comm *comm);
/* PROCESS frees it; the communicator goes with the last that is known to be in it. */
void tg_mpi_comms_leave(struct tg_mpi_comms *comms, const char *job, uint64_t comm, size_t process);

/* PROCESS comes to the collective of COMM that CALL is in, the thread's call number CALLS. *NTH: see struct
 * tg_mpi_arrival. Only error: NO_MEMORY. */
struct tg_error *tg_mpi_comm_come(struct tg_mpi_comm *comm, size_t process, const struct tg_mpi_call *call,
                                  uint64_t calls, uint64_t *nth);
/* What PROCESS called on COMM (NULL is accepted), and from where; NULL: not known. */
const struct tg_mpi_sites *tg_mpi_comm_sites(const struct tg_mpi_comm *comm, size_t process);
/* Whether nobody who is known to be in COMM has yet to come to INSTANCE. */
bool tg_mpi_comm_all_came(const struct tg_mpi_comm *comm, uint64_t instance);

/* The process that is RANK of COMM (NULL is accepted), SIZE_MAX: not known. */
size_t tg_mpi_comm_process_of(const struct tg_mpi_comm *comm, int64_t rank);
/* The group, 1 or 2, of intercommunicator COMM that PROCESS is in, which is WORLD_RANK of its job (-1: what it told); 0:
 * not known, as of one that connects jobs, which each know it by an id of its own. */
unsigned tg_mpi_comm_group_of(const struct tg_mpi_comm *comm, size_t process, int64_t world_rank);
/* Whether COMM is an intercommunicator of which both groups are known, and their sizes. */
bool tg_mpi_comm_has_groups(const struct tg_mpi_comm *comm, int64_t *first, int64_t *second);
/* The process that is RANK of SIDE of a joint intercommunicator, SIZE_MAX: not known. */
size_t tg_mpi_comm_process_of_side(const struct tg_mpi_comm *comm, unsigned side, int64_t rank);
/* The rank in MPI_COMM_WORLD of the one that members of GROUP address as RANK, -1 not known. */
int64_t tg_mpi_comm_peer_of_group(const struct tg_mpi_comm *comm, unsigned group, int64_t rank);
/* Rank of PROCESS in COMM (NULL is accepted), -1 unknown. */
int64_t tg_mpi_comm_rank_of(const struct tg_mpi_comm *comm, size_t process);

#endif
