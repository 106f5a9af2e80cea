#include "recorder/agent/ompt/redirect.h"

#include "recorder/agent/next.h"
#include "recorder/agent/ompt/references.h"

#include <errno.h>
#include <link.h>

static const char TOOL[] = "ompt_start_tool";
static const char RUNTIME[] = "__kmpc_fork_call";

static int look_before(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    const void *object = tg_ompt_first_address(info);
    if (object == NULL)
        return 0;
    void *found = tg_agent_beside(object, TOOL);
    if (found == tg_agent_beside((const void *)(uintptr_t)&tg_ompt_tool_before, TOOL))
        return 1; /* the agent itself: nobody comes before it */
    if (found == NULL || tg_agent_beside(object, RUNTIME) != NULL)
        return 0; /* a runtime's own one goes on to the next, which is the agent's */
    *(void **)context = found;
    return 1;
}

tg_ompt_start_tool tg_ompt_tool_before(void)
{
    void *found = NULL;
    dl_iterate_phdr(look_before, &found);
    return (tg_ompt_start_tool)(uintptr_t)found;
}

struct redirection {
    tg_ompt_start_tool start_tool;
    bool failed;
};

static int redirect_object(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    struct redirection *redirection = context;
    struct tg_ompt_references references;
    const void *object = tg_ompt_first_address(info);
    if (object == NULL || tg_agent_beside(object, RUNTIME) == NULL ||
        !tg_ompt_references_read(info, &references))
        return 0;
    /* a runtime that is bound within itself calls no tool of others */
    if (tg_ompt_references_has(&references, TOOL) &&
        !tg_ompt_references_turn(&references, TOOL, (uintptr_t)redirection->start_tool))
        redirection->failed = true;
    return 0;
}

bool tg_ompt_redirect(tg_ompt_start_tool start_tool)
{
    struct redirection redirection = {.start_tool = start_tool};
    int saved = errno;
    dl_iterate_phdr(redirect_object, &redirection);
    errno = saved;
    return !redirection.failed;
}
