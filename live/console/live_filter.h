/* The settings TV::dlopen_... of a live job: what is set is in force at once. */
#ifndef TG_LIVE_CONSOLE_LIVE_FILTER_H
#define TG_LIVE_CONSOLE_LIVE_FILTER_H

#include "format/base/error.h"
#include "live/console/settings.h"
#include "live/control/job_thread.h"

struct tg_live_filter;

/* SETTINGS say what the filter is that JOB runs under, and from then on what is set there becomes
 * JOB's filter, in all processes, as tg_loader_set_filter has it; a glob-list that cannot be is refused. All
 * must outlive it. The console's thread. */
struct tg_error *tg_live_filter_create(struct tg_console_settings *settings, struct tg_live_job *job,
                                       struct tg_live_filter **live);
/* JOB runs anew, under the filter that it was started with: what is set is in force again. */
struct tg_error *tg_live_filter_apply(struct tg_live_filter *live);
/* Settings are watched no longer. NULL is accepted. */
void tg_live_filter_destroy(struct tg_live_filter *live);

#endif
