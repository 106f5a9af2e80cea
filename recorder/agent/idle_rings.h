/* Rings of threads that have ended, for those that begin. */
#ifndef TG_RECORDER_AGENT_IDLE_RINGS_H
#define TG_RECORDER_AGENT_IDLE_RINGS_H

#include "recorder/agent/thread_state.h"

/* THREAD goes on in one that is nobody's any more. False: there is none, others take one just now, or it was overwritten, as then
 * what comes behind it is not known any more either. In handlers, too. */
bool tg_idle_rings_take(struct tg_agent_thread *thread);
/* THREAD's ring becomes nobody's. In handlers, too. */
void tg_idle_rings_put(const struct tg_agent_thread *thread);

/* In a child: they are its parent's. While it has one thread that records. */
void tg_idle_rings_forget(void);

#endif
