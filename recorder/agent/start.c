/* The agent's constructor. */
#include "recorder/agent/environment.h"
#include "recorder/agent/ring.h"

static __attribute__((constructor(101))) void start(int argc, char **argv, char **environment)
{
    (void)argc;
    (void)argv;
    tg_agent_environment_set(environment);
    bool observes = tg_agent_is_set_up();
    tg_agent_rings_prepare();
    /* The variables are taken away also where nobody listens: whoever put them there meant this program. */
    if (!observes || (tg_agent.flags & TG_AGENT_HIDE) != 0)
        tg_agent_environment_hide(environment);
}
