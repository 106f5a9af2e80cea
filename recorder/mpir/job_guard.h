/* A process beside the recorder that is there when the recorder was killed. What is traced ends with the
 * recorder; but a starter's ranks that a batch system's daemons have left stopped for a debugger, and that
 * are not traced yet or live on other hosts, would stay stopped for ever. */
#ifndef TG_RECORDER_MPIR_JOB_GUARD_H
#define TG_RECORDER_MPIR_JOB_GUARD_H

#include "format/base/error.h"

#include <sys/types.h>

struct tg_mpir_job_guard;

/* For the job of the launched STARTER, a traced process. Errors: OS, NO_MEMORY. */
struct tg_error *tg_mpir_job_guard_create(pid_t starter, struct tg_mpir_job_guard **guard);
/* Nothing is left to do for it: its process goes as well. NULL is accepted. */
void tg_mpir_job_guard_destroy(struct tg_mpir_job_guard *guard);

/* JOB, Slurm's JOB.STEP, is what is to end: its stopped processes on this host, and with the scancel that
 * lies beside the starter's program all the rest. Anything else ("" too) says nothing. Cheap where it is
 * what was said last; never waits. */
void tg_mpir_job_guard_tell(struct tg_mpir_job_guard *guard, const char *job);

#endif
