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
    const struct tg_look_requests *requests; /* of MPI_Wait and the like; likewise */
    const struct tg_where_comm *comm;        /* of that function; likewise */
    const struct tg_look_activity *activity; /* since the look before; likewise */
    size_t owner;                            /* index of the thread that it waits for, SIZE_MAX unknown */
    bool is_rank;                            /* the process is one */
    bool is_ambiguous;                       /* another process is the same rank of the same job */
    bool is_first;                           /* the first thread of its process */
    bool has_same_state; /* callers hold what they held in the look before; only with values */
    /* Since the look before: another place, another instruction of the program's own, back from its call, or outside of calls
     * that wait, and not asleep in both looks. */
    bool has_moved;
    bool waited;       /* in the look before, in a call of MPI that waits for others */
    bool has_returned; /* from that call; others of these may be unknown */
    bool stayed;       /* in its call all the time, and could have gone on: none of these is unknown */
    bool moves_data;   /* data moves: copied in one of the looks, or its process read or wrote between them */
    bool computes;     /* outside of MPI and OpenMP's waits, and asleep in neither of two looks */
    /* call of MPI that polls, in which it is or was in the look before: "MPI_Test"; "" none */
    char polled[64];
};

struct tg_where_threads {
    const struct tg_stack_model *stacks;
    struct tg_where_thread *threads; /* by rank, then process, then thread */
    size_t count, capacity;
    size_t n_ranks;
    int64_t size;   /* ranks of the job, 0 unknown */
    size_t n_looks; /* looks that were compared */
    bool has_two_looks;
    uint64_t apart_ns;     /* from the first of them to the last, 0 unknown */
    bool is_recorded;      /* a trace has more than these stacks */
    const char *uncounted; /* why threads could not be counted; "": they could */
};

/* The threads of LOOK; BEFORE, NULL none, is an earlier look at the same processes. Both must outlive the result. Only
 * error: NO_MEMORY. */
struct tg_error *tg_where_threads_make(const struct tg_where_look *look, const struct tg_where_look *before,
                                       struct tg_where_threads *threads);
/* Threads that have moved in EARLIER, of the same processes, have moved in THREADS, too. */
void tg_where_threads_join_moves(struct tg_where_threads *threads, const struct tg_where_threads *earlier);

/* Whether it is the first thread of a process that a signal has stopped. */
bool tg_where_is_suspended(const struct tg_where_thread *thread);

/* The call of MPI that THREAD is in, as tg_mpi_name() has it: "" outside of MPI, and in a callback of MPI that is in none
 * itself. Returns BUFFER. */
char *tg_where_call_of(const struct tg_where_thread *thread, char *buffer, size_t size);
/* Whether THREAD is in a function of an OpenMP runtime that waits for its team, or for tasks. */
bool tg_where_waits_in_openmp(const struct tg_where_thread *thread);
/* Whether it is in one that waits for a lock or a critical section. */
bool tg_where_waits_for_openmp_lock(const struct tg_where_thread *thread);

/* Whether no thread but INDEX, the first one of its rank, can call MPI; threads of a process are neighbours. */
bool tg_where_is_alone(const struct tg_where_threads *threads, size_t index);

void tg_where_threads_deinit(struct tg_where_threads *threads);

#endif
