/* The threads of a look, with their ranks and the ways that they took. */
#ifndef TG_ANALYZER_WHERE_THREADS_H
#define TG_ANALYZER_WHERE_THREADS_H

#include "analyzer/where/call_path.h"
#include "analyzer/where/look.h"

struct tg_where_thread {
    const struct tg_last_stack *stack;
    const struct tg_process_entry *process;
    struct tg_call_path path;
    const struct tg_where_wait *wait;        /* NULL: nothing is known of it */
    const struct tg_where_values *values;    /* of the function of MPI that it is in; likewise */
    const struct tg_look_activity *activity; /* since the look before; likewise */
    size_t owner;                            /* index of the thread that it waits for, SIZE_MAX unknown */
    bool is_rank;                            /* the process is one */
    bool is_first;                           /* the first thread of its process */
    bool has_same_state; /* callers hold what they held in the look before; only with values */
    bool
        has_moved; /* since the look before: another place, another instruction of the program's own, or back from its call */
    bool has_returned; /* from the call of MPI that it was in; others of these may be unknown */
    bool stayed;       /* in its call all the time, and could have gone on: none of these is unknown */
};

struct tg_where_threads {
    const struct tg_stack_model *stacks;
    struct tg_where_thread *threads; /* by rank, then process, then thread */
    size_t count, capacity;
    size_t n_ranks;
    int64_t size;   /* ranks of the job, 0 unknown */
    size_t n_looks; /* looks that were compared */
    bool has_two_looks;
    bool is_recorded;      /* a trace has more than these stacks */
    const char *uncounted; /* why threads could not be counted; "": they could */
};

/* The threads of LOOK; BEFORE, NULL none, is an earlier look at the same processes. Both must outlive the result. Only
 * error: NO_MEMORY. */
struct tg_error *tg_where_threads_make(const struct tg_where_look *look, const struct tg_where_look *before,
                                       struct tg_where_threads *threads);
/* Threads that have moved in EARLIER, of the same processes, have moved in THREADS, too. */
void tg_where_threads_join_moves(struct tg_where_threads *threads, const struct tg_where_threads *earlier);
void tg_where_threads_deinit(struct tg_where_threads *threads);

#endif
