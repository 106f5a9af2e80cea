/* The shared directory as the agent sees it. Internal to the agent's core. No function changes errno. */
#ifndef TG_RECORDER_AGENT_DIRECTORY_H
#define TG_RECORDER_AGENT_DIRECTORY_H

#include "recorder/agent/contract.h"

#include <stdbool.h>

/* Maps the control page of the directory PATH. NULL where the directory is not there, or not of this user
 * alone, or its recorder speaks another protocol. */
struct tg_agent_control *tg_agent_directory_open(const char *path);

/* Makes a ring file of TG_AGENT_RING_DATA_OFFSET + DATA_BYTES bytes, and maps it: zeroed. What lies before the data, and
 * *REAL_BYTES of these, a power of two, are really there; those behind may have no memory. NULL where that is not possible. */
struct tg_agent_ring_header *tg_agent_directory_make_ring(int pid, uint64_t data_bytes, uint64_t *real_bytes);

/* Whether the recorder is surely no more. Where it cannot be known: false. */
bool tg_agent_directory_is_abandoned(void);

#endif
