/* Runtimes that call their own ompt_start_tool without asking the dynamic loader for it (linked with -Bsymbolic-functions, as
 * Ubuntu's are): no tool that comes before them in the search order is called. That function asks dlsym for the next one
 * in the order; the agent answers the question. */
#ifndef TG_RECORDER_AGENT_OMPT_BOUND_H
#define TG_RECORDER_AGENT_OMPT_BOUND_H

#include "recorder/agent/ompt/abi.h"

/* Has such runtimes, among those that are loaded, find START_TOOL. */
void tg_ompt_bound_answer(tg_ompt_start_tool start_tool);

/* In START_TOOL: the function of the runtime that calls it, which goes on to the tools that it finds by itself; NULL: the runtime
 * is none of these. From here on it gets no answer, until the thread is done with it. */
tg_ompt_start_tool tg_ompt_bound_begin(void);
void tg_ompt_bound_done(void);

#endif
