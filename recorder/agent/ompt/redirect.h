/* Runtimes call the first ompt_start_tool of the search order; one that the program itself defines (or a
 * library preloaded ahead of the agent) comes before the agent's. So the runtimes' own reference to it is
 * turned to the agent, which chains the other one. */
#ifndef TG_RECORDER_AGENT_OMPT_REDIRECT_H
#define TG_RECORDER_AGENT_OMPT_REDIRECT_H

#include "recorder/agent/ompt/abi.h"

#include <stdbool.h>

/* The tool that comes before the agent, NULL where there is none. */
tg_ompt_start_tool tg_ompt_tool_before(void);

/* Has the runtimes that are loaded call START_TOOL. False where one of them cannot be brought to it. */
bool tg_ompt_redirect(tg_ompt_start_tool start_tool);

#endif
