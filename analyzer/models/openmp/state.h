/* Workers, teams and tasks of the OpenMP model, and its options. */
#ifndef TG_ANALYZER_MODELS_OPENMP_STATE_H
#define TG_ANALYZER_MODELS_OPENMP_STATE_H

#include "format/base/error.h"
#include "format/event/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TG_OPENMP_MAX_PLACES = 4096, /* nested around a worker; deeper ones are counted as impossible */
};

/* Kinds of places that a worker can be inside of. */
enum tg_openmp_place_kind {
    TG_OPENMP_IN_REGION,     /* the body of a parallel region: its implicit task */
    TG_OPENMP_IN_ZONE,       /* of kind enum tg_omp_zone */
    TG_OPENMP_IN_MUTEX_WAIT, /* of kind enum tg_omp_mutex */
    TG_OPENMP_IN_MUTEX,
    TG_OPENMP_IN_SYNC, /* of kind enum tg_omp_sync */
    TG_OPENMP_IN_TASK,
};

struct tg_openmp_place {
    enum tg_openmp_place_kind kind;
    uint64_t what;
    uint64_t team;
    uint64_t thread_num;
    uint64_t level;
    uint64_t id;       /* a lock's address, a barrier's instance, a task */
    uint64_t section;  /* of a sections zone: the one it is in, 0 none yet */
    uint64_t schedule; /* of a loop: enum tg_omp_schedule */
    uint64_t code;     /* address in the program, 0 unknown */
    uint64_t seen;     /* enum tg_omp_seen */
    uint64_t since_ns;
    uint64_t before_ns; /* time inside until its task was suspended, where that went on since */
    bool is_continued;  /* a part of it that is not the first */
    bool is_suspended;  /* of a place that was left: its task goes on later, and the place with it */
};

enum {
    TG_OPENMP_MAX_INDICES = 8,   /* loops of a nest */
    TG_OPENMP_MAX_UNPOSTED = 16, /* kept of a thread, the last ones */
};

/* An iteration of a nest of loops, the outermost first, each from 0. */
struct tg_openmp_indices {
    int64_t at[TG_OPENMP_MAX_INDICES];
    size_t count; /* 0: none is known */
};

/* Consecutive iterations. */
struct tg_openmp_chunk {
    uint64_t first, last;
    uint64_t stride; /* to the thread's next ones, which are not told; 0: they are */
};

/* What a thread has to do with the ordered or doacross loop that it was in last. */
struct tg_openmp_iterations {
    uint64_t team;
    uint64_t loop; /* number of the worksharing loop, counted by this thread in that team, from 1; 0 none */
    bool is_given; /* CHUNK */
    bool is_over;  /* the thread has left the loop */
    struct tg_openmp_chunk chunk;
    uint64_t n_posts;                /* depend(source) since it was given that */
    struct tg_openmp_indices sink;   /* iteration that it waits, or waited last, for */
    bool sink_is_posted;             /* somebody has been done with that since */
    struct tg_openmp_indices source; /* of its last depend(source) */
    struct tg_openmp_indices widest; /* of all of them, the highest of each loop */
    uint64_t source_code;
    struct tg_openmp_chunk
        unposted[TG_OPENMP_MAX_UNPOSTED]; /* chunks with fewer depend(source) than iterations */
    size_t n_unposted;                    /* in all; the last ones are kept, modulo */
};

/* A lock that a thread tests (omp_test_lock), and finds taken. */
struct tg_openmp_tests {
    struct tg_openmp_place place; /* as if it waited: kind TG_OPENMP_IN_MUTEX_WAIT; since the first test */
    uint64_t count;               /* 0: none, or it has been inside of that lock since */
    uint64_t last_ns;
};

/* One thread that OpenMP knows. */
struct tg_openmp_worker {
    size_t index;    /* in order of first appearance in the trace */
    size_t process;  /* index in the process model */
    uint64_t number; /* in its program, from 1, in order of first appearance */
    int32_t tid;
    bool alive;
    const struct tg_openmp_place *places; /* the outermost first */
    size_t n_places;
    uint64_t first_ns;
    uint64_t ended_ns;   /* of one that is not alive */
    int64_t exit_status; /* of one whose own end was seen: its wait status; -1 unknown */
    uint64_t last_ns;    /* of its last OpenMP event; tests of a lock that is taken do not count */
    uint64_t last_kind;  /* enum tg_event_kind of that */
    uint64_t last_code;  /* the last place in the program that an event named, 0 none */
    struct tg_openmp_iterations iterations;
    struct tg_openmp_tests tests;
};

/* A worker's part in a team. */
struct tg_openmp_member {
    size_t worker; /* index */
    uint64_t thread_num;
    uint64_t arrived; /* instance of the last barrier that it came to */
    uint64_t left;    /* of the last that it went on from */
    uint64_t sync;    /* enum tg_omp_sync: kind of the last it came to */
    uint64_t arrived_ns;
    uint64_t code;
    uint64_t loops; /* worksharing loops that it came to */
    bool ended;     /* done with the region */
    uint64_t ended_ns;
};

/* Two members came to their barriers of one number from different places: one of them may have left a barrier
 * out, or the compiler has made two calls of one. */
struct tg_openmp_difference {
    uint64_t instance;
    size_t first, second;             /* indices of workers, in order of arrival */
    uint64_t first_code, second_code; /* both known */
    uint64_t n_first, n_second;       /* members that came to that instance from the one, from the other */
};

enum { TG_OPENMP_MAX_DIFFERENCES = 8 }; /* kept of a team, those with the lowest instance */

/* A parallel region that is not over. */
struct tg_openmp_team {
    size_t process;
    uint64_t id;
    uint64_t parent; /* team that it was met in */
    uint64_t level;
    uint64_t size; /* 0 unknown */
    uint64_t code; /* of the construct */
    uint64_t body;
    uint64_t begin_ns;
    uint64_t tasks_made, tasks_ended; /* explicit ones */
    uint64_t tasks_detached;          /* of those made: executed, and not over until an event is fulfilled */
    bool cancelled; /* by a member: nobody need come to its barriers any more but to its end */
    uint64_t cancelled_ns;
    size_t canceller;                       /* index of the worker that did it, SIZE_MAX unknown */
    size_t owner;                           /* index of the worker that met it, SIZE_MAX unknown */
    const struct tg_openmp_member *members; /* in order of arrival */
    size_t n_members;
    struct tg_openmp_difference differences[TG_OPENMP_MAX_DIFFERENCES];
    size_t n_differences;
};

enum tg_openmp_task_state {
    TG_OPENMP_TASK_CREATED, /* not begun */
    TG_OPENMP_TASK_RUNNING,
    TG_OPENMP_TASK_SUSPENDED,
    TG_OPENMP_TASK_DETACHED, /* executed, and waiting for its event to be fulfilled */
};

enum { TG_OPENMP_MAX_DEPENDENCES = 16 }; /* of a task; others are not kept */

/* An explicit task that is not over. */
struct tg_openmp_task {
    size_t process;
    uint64_t id;
    uint64_t parent; /* explicit task that created it, 0: an implicit one, that of CREATOR */
    uint64_t team;
    size_t creator; /* index of a worker, SIZE_MAX: its creation was not seen */
    uint64_t code;  /* of the construct, 0 unknown */
    uint64_t body;
    uint64_t flags; /* bits of enum tg_omp_task_flag */
    enum tg_openmp_task_state state;
    uint64_t since_ns; /* in that state */
    size_t runner;     /* index of the worker that is, or was last, running it; SIZE_MAX none */
    const struct tg_omp_dependence *dependences;
    size_t n_dependences;
    const struct tg_openmp_place *places; /* a suspended one is inside of, the outermost first */
    size_t n_places;
};

/* Of a model. */
struct tg_openmp_model_options {
    /* A worker came into, or left, PLACE (what it was inside of, at TIME_NS); its stack is the one without
     * it. NULL: not interested. */
    struct tg_error *(*entered)(void *context, const struct tg_openmp_worker *worker,
                                const struct tg_openmp_place *place);
    struct tg_error *(*left)(void *context, const struct tg_openmp_worker *worker,
                             const struct tg_openmp_place *place, uint64_t time_ns);
    void *context;
};

#endif
