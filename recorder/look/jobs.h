/* Jobs that run on this machine. */
#ifndef TG_RECORDER_LOOK_JOBS_H
#define TG_RECORDER_LOOK_JOBS_H

#include "format/settings/command.h"

/* As struct tg_command_services says: jobs with ranks whose environment may be read, in the order of their launchers'
 * ids. */
size_t tg_jobs_find(struct tg_running_job *jobs, size_t max);

#endif
