/* Processes that end as a whole, thread by thread. */
#ifndef TG_ANALYZER_JOB_RUN_ENDING_H
#define TG_ANALYZER_JOB_RUN_ENDING_H

#include "analyzer/job/run_model.h"
#include "format/event/event.h"

/* Whether EVENT, a thread_exit, is of a thread that has not left its process alone: a signal ends them all, so does exit, and the
 * exec of another one. Where the trace does not say so, it is judged by the wait status, as libraries end single threads with 0. */
bool tg_thread_ends_with_process(const struct tg_event *event);

/* All threads of the process are about to end: it leaves all barriers at once, so that none is satisfied by threads that are
 * about to end as well. False: it goes on after all, with the program that one of its threads executed. */
struct tg_error *tg_run_model_set_ending(struct tg_run_model *model, uint32_t dpid, bool is_ending);

#endif
