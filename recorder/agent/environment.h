/* The environment that the agent was loaded with, and how it gets out of it. Internal to the agent's core. */
#ifndef TG_RECORDER_AGENT_ENVIRONMENT_H
#define TG_RECORDER_AGENT_ENVIRONMENT_H

#include <stdbool.h>

/* ENVIRONMENT is that on the initial stack: the constructor knows it before libc does. */
void tg_agent_environment_set(char **environment);

/* False where neither libc nor the constructor knows the environment yet. */
bool tg_agent_environment_is_there(void);

/* The last value of NAME; NULL where there is none. */
const char *tg_agent_environment_get(const char *name);

/* Takes the trailing variables that load the agent out of ENVIRONMENT (the array on the initial stack) and
 * fills the gap in front of the auxiliary vector with AT_IGNORE, so that it still begins behind the array's
 * NULL. Leaves alone what does not look as the recorder writes it. */
void tg_agent_environment_hide(char **environment);

#endif
