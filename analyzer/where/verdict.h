/* What the stacks of a job say of why it does not go on. */
#ifndef TG_ANALYZER_WHERE_VERDICT_H
#define TG_ANALYZER_WHERE_VERDICT_H

#include "analyzer/where/group.h"
#include "analyzer/where/threads.h"

#include <stddef.h>

enum tg_where_kind {
    TG_WHERE_UNKNOWN, /* the stacks alone do not say */
    TG_WHERE_MISSING, /* ranks wait in a collective call of all, others are outside of MPI and do not move */
    TG_WHERE_MOVES,   /* the same, and those move: they are late, or in a loop that does not end */
    TG_WHERE_POLLS,   /* the same, or no rank waits in MPI; ranks poll, for what nobody knows */
    TG_WHERE_OUTSIDE, /* the same but for the call, which may be of a communicator that the others are not in */
    TG_WHERE_UNSEEN,    /* all who were looked at wait in one collective call, of others as well */
    TG_WHERE_DIFFERENT, /* ranks wait in different collective calls */
    TG_WHERE_BUSY,      /* no rank is in MPI */
    TG_WHERE_CYCLE,     /* in each look ranks waited for messages of each other */
    TG_WHERE_DEADLOCK, /* none of these is missing, and threads wait for each other's mutexes, or ranks for messages */
    TG_WHERE_CRASHED,   /* threads did what their processes ended for */
    TG_WHERE_SUSPENDED, /* none of these, and a rank is stopped by a signal */
    TG_WHERE_RUNS, /* ranks came back from calls of MPI between the looks, and nobody else is waited for */
};

struct tg_where_verdict {
    enum tg_where_kind kind;
    struct tg_where_group *groups; /* the largest first */
    size_t count, capacity;
};

/* Only error: NO_MEMORY. THREADS must outlive it. */
struct tg_error *tg_where_verdict_make(const struct tg_where_threads *threads,
                                       struct tg_where_verdict *verdict);
void tg_where_verdict_deinit(struct tg_where_verdict *verdict);

/* The name in JSON: "missing". */
const char *tg_where_kind_name(enum tg_where_kind kind);

/* Whether the group is in a collective call of all ranks; or of another communicator than MPI_COMM_WORLD. */
bool tg_where_group_is_of_all(const struct tg_where_threads *threads, const struct tg_where_group *group);
bool tg_where_group_is_of_other(const struct tg_where_threads *threads, const struct tg_where_group *group);
/* Whether some ranks are in a collective call of another communicator than others. */
bool tg_where_verdict_has_different_comms(const struct tg_where_threads *threads,
                                          const struct tg_where_verdict *verdict);

#endif
