/* The OpenMP model: events in, what every worker is inside of, every open team, and the state of its barriers
 * out. At any moment of a trace it answers for that moment: feed it up to there.
 *
 * A sequence of events that cannot be (a lost event, a runtime's bug, a damaged trace) is counted and does no
 * harm: the model makes the least of it. */
#ifndef TG_ANALYZER_MODELS_OPENMP_H
#define TG_ANALYZER_MODELS_OPENMP_H

#include "format/base/error.h"
#include "format/event/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TG_OPENMP_MAX_PLACES = 256, /* that a worker is inside of; deeper ones are counted as impossible */
};

/* What a worker can be inside of. */
enum tg_openmp_place_kind {
    TG_OPENMP_IN_REGION,     /* the body of a parallel region: its implicit task */
    TG_OPENMP_IN_ZONE,       /* WHAT: enum tg_omp_zone */
    TG_OPENMP_IN_MUTEX_WAIT, /* WHAT: enum tg_omp_mutex */
    TG_OPENMP_IN_MUTEX,
    TG_OPENMP_IN_SYNC, /* WHAT: enum tg_omp_sync */
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
    uint64_t code;     /* where the program asked for it, 0 unknown */
    uint64_t seen;     /* enum tg_omp_seen */
    uint64_t since_ns;
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
    uint64_t last_ns;   /* of its last OpenMP event */
    uint64_t last_kind; /* enum tg_event_kind of that */
    uint64_t last_code; /* the last place in the program that an event named, 0 none */
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
    bool ended; /* it is through with the region */
    uint64_t ended_ns;
};

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
    bool cancelled; /* a barrier let somebody go who need not wait: the others need not come */
    size_t owner;   /* index of the worker that met it, SIZE_MAX unknown */
    const struct tg_openmp_member *members; /* in order of arrival */
    size_t n_members;
};

struct tg_openmp_model;

struct tg_openmp_model_options {
    /* A worker came into, or left, PLACE (what it was inside of, at TIME_NS); its stack is the one without
     * it. NULL: not interested. */
    struct tg_error *(*entered)(void *context, const struct tg_openmp_worker *worker,
                                const struct tg_openmp_place *place);
    struct tg_error *(*left)(void *context, const struct tg_openmp_worker *worker,
                             const struct tg_openmp_place *place, uint64_t time_ns);
    void *context;
};

/* OPTIONS is copied. */
struct tg_error *tg_openmp_model_create(const struct tg_openmp_model_options *options,
                                        struct tg_openmp_model **model);
void tg_openmp_model_destroy(struct tg_openmp_model *model); /* NULL is accepted */
/* A second one, without callbacks, that says the same and goes on from there on its own. */
struct tg_error *tg_openmp_model_copy(const struct tg_openmp_model *model, struct tg_openmp_model **copy);

/* Takes one event of the process with index PROCESS in the process model; kinds that say nothing of OpenMP or
 * of threads are ignored. Errors: NO_MEMORY, and those of the options' callbacks. Memory follows workers and
 * open teams, not events. */
struct tg_error *tg_openmp_model_feed(struct tg_openmp_model *model, const struct tg_event *event,
                                      size_t process);

/* How many events could not be, as far as the model knows; *FIRST_NS is when the first was, *FIRST what
 * (static; NULL where none was). */
uint64_t tg_openmp_model_impossible(const struct tg_openmp_model *model, uint64_t *first_ns,
                                    const char **first);

/* Workers, for I in [0, count), in order of first appearance. They stay where they are; what they point to
 * is valid until the next feed. */
size_t tg_openmp_model_worker_count(const struct tg_openmp_model *model);
const struct tg_openmp_worker *tg_openmp_model_worker_at(const struct tg_openmp_model *model, size_t i);
/* The live worker TID of PROCESS; NULL where there is none. */
const struct tg_openmp_worker *tg_openmp_model_worker(const struct tg_openmp_model *model, size_t process,
                                                      int32_t tid);

/* Calls VISIT for every open team, those met first first; stops at an error and returns it. */
struct tg_error *tg_openmp_model_visit_teams(const struct tg_openmp_model *model,
                                             struct tg_error *(*visit)(void *context,
                                                                       const struct tg_openmp_team *team),
                                             void *context);
/* Team ID of PROCESS if it is open; NULL otherwise. Valid until the next feed. */
const struct tg_openmp_team *tg_openmp_model_team(const struct tg_openmp_model *model, size_t process,
                                                  uint64_t id);

#endif
