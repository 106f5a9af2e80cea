/* Ranks of a job that do the same. */
#ifndef TG_ANALYZER_WHERE_GROUP_H
#define TG_ANALYZER_WHERE_GROUP_H

#include "analyzer/where/threads.h"

/* Whether others wait for ranks that are away. */
enum tg_where_awaited {
    TG_WHERE_NOT_AWAITED,
    TG_WHERE_MAY_BE_AWAITED, /* if they are members of the communicator */
    TG_WHERE_MAY_HAVE_LEFT,  /* as members, which may have made the call already */
    TG_WHERE_AWAITED
};

/* A group of ranks in the same call of MPI, or outside of MPI at the same place; by their first threads. */
struct tg_where_group {
    const char *call; /* "MPI_Barrier"; "" outside of MPI */
    const struct tg_stack_place *place;
    size_t *threads;
    size_t count, capacity;
    bool is_collective, has_moved, has_returned;
    bool is_by_request; /* the collective call was made before, and is waited for in this one */
    bool is_away; /* in no call that may wait: outside of MPI, in a callback, or in a call that only asks */
    enum tg_where_awaited awaited; /* of one that is away */
    bool is_worked_for;            /* other threads are at work, while the first ones wait outside of MPI */
    const char *polls;             /* a call by which ranks of it poll, or did in the look before; "" none */
};

#endif
