/* The ranks of one job as MPIR tells of them, found by number. For the MPIR model. */
#ifndef TG_ANALYZER_MODELS_MPIR_RANKS_H
#define TG_ANALYZER_MODELS_MPIR_RANKS_H

#include "format/base/error.h"
#include "format/event/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TG_MPIR_RANK_STATES = 5 }; /* enum tg_mpir_rank_state has so many */

/* One rank of a job. */
struct tg_mpir_rank {
    int64_t key; /* rank, or the process where no table has it */
    int64_t rank;
    bool in_table;          /* the last table that was read has it */
    const char *host;       /* "" unknown, as the executable */
    const char *executable; /* as the table has it, perhaps relative */
    int64_t table_pid;      /* on HOST */
    const char *problem;    /* why its entry could not be read, "" it could */
    bool is_told;           /* the recorder said what became of it: */
    uint64_t state;         /* enum tg_mpir_rank_state */
    uint64_t way;           /* enum tg_mpir_rank_way */
    uint64_t gate;          /* enum tg_mpir_gate */
    bool woken;             /* stopped by its starter, then woken */
    const char *reason;     /* "" none */
    size_t process; /* index in the process model, SIZE_MAX: it is not traced, or no more when it was told */
    uint64_t since_ns; /* when that was told, else when the table was read */
};

/* How many ranks there are of each sort. */
struct tg_mpir_tally {
    uint64_t states[TG_MPIR_RANK_STATES]; /* told to be in enum tg_mpir_rank_state */
    uint64_t untold;                      /* in the table, and nothing more is known */
    uint64_t gone;                        /* were in an earlier table only */
};

struct tg_mpir_tally tg_mpir_ranks_tally(const struct tg_mpir_rank *ranks, size_t count);

struct tg_mpir_ranks_slot;

/* Caller's storage; zero-initialised is empty. Read-only for others but for what RANKS point to. */
struct tg_mpir_ranks {
    struct tg_mpir_rank *ranks; /* in order of first appearance */
    size_t count, capacity;
    struct tg_mpir_ranks_slot *slots; /* of those that are not at the place of their key */
};

void tg_mpir_ranks_deinit(struct tg_mpir_ranks *ranks);
/* A second one; COPY is empty. Strings are shared. Only error: NO_MEMORY, COPY is to be deinitialised then,
 * too. */
struct tg_error *tg_mpir_ranks_copy(const struct tg_mpir_ranks *ranks, struct tg_mpir_ranks *copy);

/* Valid until the next get; NULL: there is none. */
struct tg_mpir_rank *tg_mpir_ranks_find(const struct tg_mpir_ranks *ranks, int64_t key);
/* The same; where there is none it is added, with empty strings and no process, KEY as its rank. */
struct tg_error *tg_mpir_ranks_get(struct tg_mpir_ranks *ranks, int64_t key, struct tg_mpir_rank **found);

#endif
