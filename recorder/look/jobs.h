/* Jobs that run on this machine. */
#ifndef TG_RECORDER_LOOK_JOBS_H
#define TG_RECORDER_LOOK_JOBS_H

#include "format/settings/command.h"
#include "recorder/look/process_tree.h"

/* As struct tg_command_services says: jobs with ranks whose environment may be read, in the order of their launchers'
 * ids. */
size_t tg_jobs_find(struct tg_running_job *jobs, size_t max);
size_t tg_jobs_find_ranks(int32_t launcher, struct tg_running_rank *ranks, size_t max);

/* Whether process PID of TREE is a rank, by its environment. */
bool tg_jobs_is_rank(const struct tg_process_tree *tree, pid_t pid);

#endif
