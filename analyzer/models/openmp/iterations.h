/* Iterations of ordered and doacross loops: which of them a thread was given, waits for, and said to be done with.
 * The model's part feeds, the verdict's asks. */
#ifndef TG_ANALYZER_MODELS_OPENMP_ITERATIONS_H
#define TG_ANALYZER_MODELS_OPENMP_ITERATIONS_H

#include "analyzer/models/openmp/state.h"

/* The thread begins or leaves a worksharing loop of TEAM, number LOOP of those that it came to there. */
void tg_openmp_iterations_begin_loop(struct tg_openmp_iterations *iterations, uint64_t team, uint64_t loop);
void tg_openmp_iterations_end_loop(struct tg_openmp_iterations *iterations);
void tg_openmp_iterations_give(struct tg_openmp_iterations *iterations,
                               const struct tg_event_omp_chunk *event);
void tg_openmp_iterations_take(struct tg_openmp_iterations *iterations,
                               const struct tg_event_omp_iteration *event);
/* POSTER, of the same team, is done with an iteration: the thread that waits for it may go on. */
void tg_openmp_iterations_hear(struct tg_openmp_iterations *iterations,
                               const struct tg_openmp_iterations *poster);

/* Whether WANTED is before a loop's first iteration, which is 0: no loop has it. */
bool tg_openmp_iterations_is_none(const struct tg_openmp_indices *wanted);

/* Whether the thread was done with iterations whose inner loops had come at least as far as WANTED: the loops are that wide. */
bool tg_openmp_iterations_are_as_wide(const struct tg_openmp_iterations *iterations,
                                      const struct tg_openmp_indices *wanted);

/* What became of an iteration that a thread was given. */
enum tg_openmp_iteration_state {
    TG_OPENMP_ITERATION_OTHERS,  /* not given to the thread, as far as is known */
    TG_OPENMP_ITERATION_OPEN,    /* the thread is in it, or comes to it */
    TG_OPENMP_ITERATION_SKIPPED, /* the thread went on without its depend(source) */
    TG_OPENMP_ITERATION_POSTED,  /* the thread is done with it, and has said so */
};

/* Of the thread whose ITERATIONS these are; IS_WAITING: at depend(sink) now. */
enum tg_openmp_iteration_state tg_openmp_iterations_state(const struct tg_openmp_iterations *iterations,
                                                          bool is_waiting,
                                                          const struct tg_openmp_indices *wanted);

#endif
