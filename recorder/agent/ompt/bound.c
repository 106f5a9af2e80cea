#include "recorder/agent/ompt/bound.h"

#include "recorder/agent/next.h"
#include "recorder/agent/ompt/references.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

static const char TOOL[] = "ompt_start_tool";
static const char RUNTIME[] = "__kmpc_fork_call";

static tg_ompt_start_tool answer;
/* Code of the runtime that has got the answer, NULL none. */
static __thread const void *asker __attribute__((tls_model("initial-exec")));

/* dlsym as such runtimes call it, in bound_thunk.S. */
void *tg_ompt_bound_dlsym(void *handle, const char *name);

/* What CALLER, who asks for NAME, gets instead of dlsym's answer; NULL: that. */
tg_ompt_start_tool tg_ompt_bound_look_up(void *handle, const char *name, const void *caller);
tg_ompt_start_tool tg_ompt_bound_look_up(void *handle, const char *name, const void *caller)
{
    if (handle != RTLD_NEXT || asker != NULL || strcmp(name, TOOL) != 0)
        return NULL;
    asker = caller;
    return __atomic_load_n(&answer, __ATOMIC_ACQUIRE);
}

static int turn(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    bool *is_behind = context;
    struct tg_ompt_references references;
    const void *object = tg_ompt_first_address(info);
    if (object == NULL)
        return 0;
    if (tg_agent_object_holds(info, (uintptr_t)&tg_ompt_bound_answer))
        *is_behind = true; /* objects before the agent find it by themselves */
    else if (*is_behind && tg_agent_beside(object, RUNTIME) != NULL &&
             tg_agent_beside(object, TOOL) != NULL && tg_ompt_references_read(info, &references) &&
             !tg_ompt_references_has(&references, TOOL))
        tg_ompt_references_turn(&references, "dlsym", (uintptr_t)&tg_ompt_bound_dlsym);
    return 0;
}

void tg_ompt_bound_answer(tg_ompt_start_tool start_tool)
{
    bool is_behind = false;
    int saved = errno;
    __atomic_store_n(&answer, start_tool, __ATOMIC_RELEASE);
    dl_iterate_phdr(turn, &is_behind);
    errno = saved;
}

tg_ompt_start_tool tg_ompt_bound_begin(void)
{
    return asker == NULL ? NULL : (tg_ompt_start_tool)(uintptr_t)tg_agent_beside(asker, TOOL);
}

void tg_ompt_bound_done(void)
{
    asker = NULL;
}
