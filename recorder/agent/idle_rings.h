/* Rings of threads that have ended, for those that begin. */
#ifndef TG_RECORDER_AGENT_IDLE_RINGS_H
#define TG_RECORDER_AGENT_IDLE_RINGS_H

#include "recorder/agent/contract.h"

/* One that is nobody's any more; NULL: there is none, or others take one just now. In handlers, too. */
struct tg_agent_ring_header *tg_idle_rings_take(void);
/* HEADER becomes nobody's. In handlers, too. */
void tg_idle_rings_put(struct tg_agent_ring_header *header);

/* In a child: they are its parent's. While it has one thread that records. */
void tg_idle_rings_forget(void);

#endif
