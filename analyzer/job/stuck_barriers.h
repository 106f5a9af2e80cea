/* Barriers that can no longer be satisfied: each waits for a member that is held by another barrier which
 * cannot be satisfied either. A thread that is held by a command, runs, or is stopped, may still arrive. */
#ifndef TG_ANALYZER_JOB_STUCK_BARRIERS_H
#define TG_ANALYZER_JOB_STUCK_BARRIERS_H

#include "analyzer/job/run_state.h"

/* Marks the stuck barriers, and decides STUCK for those that were not before. */
void tg_stuck_barriers_check(struct tg_run_model *model);
/* The STUCK decision of BARRIER, which is stuck; COUNT 0: all members can arrive. */
struct tg_run_decision tg_stuck_barriers_explain(const struct tg_run_model *model,
                                                 const struct tg_barrier *barrier);

#endif
