/* The thread that came to a breakpoint, which people mean when they ask for a stack behind it: not one that was stopped
 * with it. */
#ifndef TG_ANALYZER_JOB_HIT_H
#define TG_ANALYZER_JOB_HIT_H

#include "analyzer/job/set.h"

/* Where the only thread in SET, over VIEW, has not come to a breakpoint, a barrier, a watched change or a signal, the first
 * thread of its process that has takes its place, or where that has none, the first one of its control group. Whether one
 * did. */
bool tg_job_hit_follow(const struct tg_job_view *view, struct tg_job_set *set);

#endif
