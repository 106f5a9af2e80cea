/* Tasks that make tasks, drawn as one box for each line of the program that makes them. */
#ifndef TG_ANALYZER_SEQUENCE_TASK_SUM_H
#define TG_ANALYZER_SEQUENCE_TASK_SUM_H

#include "analyzer/sequence/node.h"

/* Of a phase: so many, repetitions folded, are drawn one by one. */
enum {
    TG_SEQUENCE_FEW_TASKS = 16,      /* where none made another one */
    TG_SEQUENCE_FEW_INNER_TASKS = 4, /* where some did */
};

/* In each phase of LIST, a finished diagram's: where finished tasks are more than a few, those that do
 * nothing but wait for others become one node (`is_sum`) for each place that creates them, before the phase's
 * barrier, in which most of them run. Those that are not over stay where they are. NO_MEMORY. */
struct tg_error *tg_sequence_sum_tasks(struct tg_sequence_list *list);

#endif
