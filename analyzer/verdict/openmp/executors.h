/* Threads that execute the iterations of ordered and doacross loops which others wait for. */
#ifndef TG_ANALYZER_VERDICT_OPENMP_EXECUTORS_H
#define TG_ANALYZER_VERDICT_OPENMP_EXECUTORS_H

#include "analyzer/models/openmp/model.h"

#include <stdio.h>

struct tg_openmp_executor {
    const struct tg_openmp_worker *worker; /* NULL: not known */
    bool has_skipped;                      /* went on without the depend(source) of the iteration */
    bool
        has_posted; /* somebody has, who is not named, or there is none: the one that waits lacks only a processor */
};

/* The thread of the iteration that WORKER waits for at depend(sink). */
struct tg_openmp_executor tg_openmp_executor_of_sink(const struct tg_openmp_model *model,
                                                     const struct tg_openmp_worker *worker);

/* The thread whose iterations come first of those that WORKER waits for before the ordered section; NULL: not
 * known. */
const struct tg_openmp_worker *tg_openmp_executor_before(const struct tg_openmp_model *model,
                                                         const struct tg_openmp_worker *worker);

/* Where nobody of the loop that WORKER waits in executes what comes before its iterations: the one member of the team that has
 * not come to the loop; NULL: nobody, or several. With a static schedule that one has to execute it; others give iterations in
 * their order to who comes, so that an earlier one is always with somebody who has come. */
const struct tg_openmp_member *tg_openmp_executor_absent(const struct tg_openmp_model *model,
                                                         const struct tg_openmp_worker *worker);

/* Where the depend(source) of the loop is that WORKER waits in, by what others of its team did; 0 unknown. */
uint64_t tg_openmp_executor_source(const struct tg_openmp_model *model,
                                   const struct tg_openmp_worker *worker);

/* "iteration 2", "iteration (2, 5)"; "iteration 2", "iterations 4 to 7" */
void tg_openmp_executor_print_sink(FILE *stream, const struct tg_openmp_worker *worker);
void tg_openmp_executor_print_chunk(FILE *stream, const struct tg_openmp_worker *worker);

#endif
