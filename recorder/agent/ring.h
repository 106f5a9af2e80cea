/* The rings of this process: one for each thread that records something. Internal to the agent's core. */
#ifndef TG_RECORDER_AGENT_RING_H
#define TG_RECORDER_AGENT_RING_H

#include "recorder/agent/agent.h"

/* Prepares for thread ends; once, from the constructor (pthread keys made early need no memory later). */
void tg_agent_rings_prepare(void);

/* Sets the agent up where that has not happened yet; false: there is nothing to record for. */
bool tg_agent_is_set_up(void);

/* In a fork's child, before its first record: runs what parts registered with tg_agent_at_fork. */
void tg_agent_forked(void);

#endif
