/* A sequence diagram as data: lifelines, and what they did. Built from events; drawn by the formats
 * (analyzer/sequence/format.h).
 *
 * By worker, the lifelines are the threads of one process that OpenMP or MPI knows; by rank, the ranks of the
 * job. Memory follows lifelines and patterns, not events. */
#ifndef TG_ANALYZER_SEQUENCE_SEQUENCE_H
#define TG_ANALYZER_SEQUENCE_SEQUENCE_H

#include "analyzer/sequence/node.h"
#include "format/base/error.h"
#include "format/base/string_pool.h"
#include "format/event/event.h"

struct tg_sequence_lane {
    size_t process;  /* index in the process model */
    int32_t tid;     /* 0: a rank */
    uint64_t number; /* worker number, as in `info workers`; 0: OpenMP does not know the thread */
    int64_t rank;    /* -1 none */
    const char *job; /* of the rank; NULL where all lifelines are of one */
    size_t nth_job;  /* from 0 */
    bool is_alive;
};

/* Options: which part of a trace is drawn. */
struct tg_sequence_options {
    bool by_rank;
    bool all;                             /* everything; otherwise the last state */
    size_t process;                       /* by worker: the process */
    uint64_t from_ns;                     /* things over before that are left out; 0: nothing is */
    uint64_t team;                        /* only the region with this id, 0: any */
    const struct tg_sequence_lane *lanes; /* by rank: the lifelines */
    size_t n_lanes;
};

struct tg_sequence {
    bool by_rank;
    struct tg_sequence_lane *lanes;
    size_t n_lanes;
    struct tg_sequence_list list;
    uint64_t events;     /* number that it was built from */
    uint64_t left_out;   /* things that were too far apart to be kept */
    uint64_t impossible; /* events that could not be */
    uint64_t last_ns;    /* time of the last event */
    struct tg_string_pool names;
};

void tg_sequence_destroy(struct tg_sequence *sequence); /* NULL is accepted */

#endif
