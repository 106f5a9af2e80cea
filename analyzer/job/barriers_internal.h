/* The barriers' side of the run model. */
#ifndef TG_ANALYZER_JOB_BARRIERS_INTERNAL_H
#define TG_ANALYZER_JOB_BARRIERS_INTERNAL_H

#include "analyzer/job/barriers.h"
#include "analyzer/job/run_state.h"

void tg_barrier_destroy(struct tg_barrier *barrier);                  /* NULL is accepted */
struct tg_barrier *tg_barrier_copy(const struct tg_barrier *barrier); /* NULL: no memory */

/* SLOT (a thread's, or a process's) is new, or has other groups: puts it into the barriers that want it
 * and out of those that do not. */
void tg_barrier_join_or_leave(struct tg_run_model *model, bool is_thread, uint32_t slot,
                              enum tg_barrier_reason reason);
/* The same for a process, in SLOT, and each of its threads. */
void tg_barrier_join_or_leave_with_threads(struct tg_run_model *model, uint32_t slot,
                                           enum tg_barrier_reason reason);
/* Out of all barriers. */
void tg_barrier_leave_all(struct tg_run_model *model, bool is_thread, uint32_t slot,
                          enum tg_barrier_reason reason);
/* Satisfies the barriers whose last missing members have left. */
void tg_barrier_check_satisfied(struct tg_run_model *model);
/* Removes the holds of all barriers from SLOT. */
void tg_barrier_release_all(struct tg_run_model *model, bool is_thread, uint32_t slot,
                            enum tg_barrier_reason reason);

#endif
