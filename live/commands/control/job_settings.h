/* Settings of dset that a live job obeys at once: TV::dlopen_... and manager_libraries. */
#ifndef TG_LIVE_COMMANDS_CONTROL_JOB_SETTINGS_H
#define TG_LIVE_COMMANDS_CONTROL_JOB_SETTINGS_H

#include "live/console/base.h"

/* At first TV::dlopen_... show the filter that the job runs under; from then on what is set there becomes
 * the filter of all of its processes, as tg_loader_set_filter has it; an invalid glob-list is refused. */
extern const struct tg_console_state_kind tg_job_settings_kind;

/* The job was started anew, with the filter of its first start: the settings are put in force again. */
struct tg_error *tg_job_settings_apply(struct tg_console *console);

#endif
