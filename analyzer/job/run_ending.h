/* Processes that end as a whole, thread by thread. */
#ifndef TG_ANALYZER_JOB_RUN_ENDING_H
#define TG_ANALYZER_JOB_RUN_ENDING_H

#include "analyzer/job/run_model.h"

/* Whether a thread that ends with this wait STATUS (-1 unknown) has not left its process alone: a signal ends them all, so does
 * the exec of another one, and libraries end single threads with status 0. */
bool tg_thread_ends_with_process(int64_t status);

/* All threads of the process are about to end: it leaves all barriers at once, so that none is satisfied by threads that are
 * about to end as well. False: it goes on after all, with the program that one of its threads executed. */
struct tg_error *tg_run_model_set_ending(struct tg_run_model *model, uint32_t dpid, bool is_ending);

#endif
