/* The collectives of the MPI model that are under way. Internal to the MPI model. */
#ifndef TG_ANALYZER_MODELS_MPI_COLLECTIVES_H
#define TG_ANALYZER_MODELS_MPI_COLLECTIVES_H

#include "analyzer/models/mpi/comms.h"
#include "analyzer/models/mpi/state.h"
#include "format/base/error.h"
#include "format/base/hash.h"

struct tg_mpi_collective_key {
    const char *job; /* interned */
    uint64_t comm;
    uint64_t instance;
};

struct tg_mpi_comer {
    size_t process;
    uint64_t entered_ns, left_ns; /* 0: not yet */
    uint64_t code;
    const char *name;
    int64_t root;
    uint64_t bytes, nth;           /* as in struct tg_mpi_arrival */
    const char *type, *op;         /* likewise */
    int64_t comm_rank, world_rank; /* -1: as the communicator says, while it is there */
};

struct tg_mpi_collective_entry {
    struct tg_mpi_collective_key key;
    struct tg_mpi_collective public;
    struct tg_mpi_comer *comers; /* public.n_entered, in order of arrival */
    size_t capacity;
    UT_hash_handle hh, hh_kept;
};

/* All zero is an empty one. */
struct tg_mpi_collectives {
    struct tg_mpi_collective_entry *entries; /* the oldest first along hh.next */
    /* Of those that are over and whose calls differed the first of each communicator, along hh_kept.next: in
     * mistakes, else in datatypes or operators, else in places alone. */
    struct tg_mpi_collective_entry *mistaken, *confused, *misplaced;
};

void tg_mpi_collectives_deinit(struct tg_mpi_collectives *collectives);
/* Adds those of FROM to TO, which is empty. Only error: NO_MEMORY. */
struct tg_error *tg_mpi_collectives_copy(const struct tg_mpi_collectives *from,
                                         struct tg_mpi_collectives *to);

enum {
    TG_MPI_MAX_COLLECTIVES = 1 << 16, /* under way at once; then the oldest are forgotten */
    TG_MPI_MAX_KEPT_COLLECTIVES = 256,
};

/* PROCESS comes to the one that CALL is in, its thread's call number CALLS; COMM is its communicator, NULL
 * unknown. *AGAIN: it had come before, which cannot be and changes nothing. Only error: NO_MEMORY. */
struct tg_error *tg_mpi_collectives_enter(struct tg_mpi_collectives *collectives, const char *job,
                                          struct tg_mpi_comm *comm, size_t process,
                                          const struct tg_mpi_call *call, uint64_t calls, bool *again);
/* PROCESS leaves. A collective is over when all that entered have left and no other is known to be
 * missing: of a job on many nodes a trace may hold some ranks alone. */
void tg_mpi_collectives_leave(struct tg_mpi_collectives *collectives, const char *job,
                              struct tg_mpi_comm *comm, size_t process, const struct tg_mpi_call *call,
                              uint64_t time_ns);

/* The first collective of each communicator in which the calls differed in one of SOUGHT (enum tg_mpi_difference), under
 * way or over. N at most MOST; returns N. */
size_t tg_mpi_collectives_first(const struct tg_mpi_collectives *collectives, unsigned sought,
                                const struct tg_mpi_collective_entry **first, size_t most);

/* One for every rank of COMM if its size is known (NULL: unknown), else for those that came; *COUNT of them,
 * for the caller to free. World ranks are those that COMM knows, -1 otherwise. NULL without memory. */
struct tg_mpi_arrival *tg_mpi_collective_arrivals(const struct tg_mpi_collective_entry *entry,
                                                  const struct tg_mpi_comm *comm, size_t *count);

#endif
