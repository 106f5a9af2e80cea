/* OMPT, the tool interface of OpenMP runtimes, as a back end: the agent is the tool. */
#ifndef TG_RECORDER_AGENT_OMPT_OMPT_H
#define TG_RECORDER_AGENT_OMPT_OMPT_H

#include "recorder/agent/openmp.h"

extern const struct tg_openmp_backend tg_ompt_backend;

/* True where the back end records what the runtime does that OBJECT is an address in: one that speaks OMPT.
 * May be called at any time, by any thread. */
bool tg_ompt_covers(const void *object);

#endif
