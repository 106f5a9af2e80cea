/* A stopped thread goes on. */
#ifndef TG_RECORDER_ENGINE_RESUME_H
#define TG_RECORDER_ENGINE_RESUME_H

#include "recorder/engine/engine_internal.h"
#include "recorder/engine/tracee.h"

/* Resumes TRACEE with SIGNAL (0 none), or holds it for the detach in progress, or keeps it. */
void tg_tracee_resume(struct tg_tracee *tracee, int signal);
/* Resumes TRACEE also in a detach in progress: a signal of ours is still to come out. */
void tg_tracee_resume_now(struct tg_tracee *tracee, int signal);
/* Leaves TRACEE in its group-stop, listening for its end. */
void tg_tracee_listen(struct tg_tracee *tracee);

#endif
