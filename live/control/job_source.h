/* A live job as the console's source. */
#ifndef TG_LIVE_CONTROL_JOB_SOURCE_H
#define TG_LIVE_CONTROL_JOB_SOURCE_H

#include "format/base/error.h"
#include "live/control/traced_job.h"
#include "live/source/source.h"

/* JOB and NAME, what to call it, outlive the source; TRACE is the path of the trace that is being written. */
struct tg_error *tg_job_source_create(struct tg_traced_job *job, const char *name, const char *trace,
                                      struct tg_source **source);

/* The job is run once more, into TRACE, which outlives the source: nothing has happened yet. What came of the
 * former run was taken. */
struct tg_error *tg_job_source_restart(struct tg_source *source, const char *trace);

#endif
