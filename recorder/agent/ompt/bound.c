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

/* How far the list of objects was looked through: the first COUNT, when the loader had added and removed so many. Under its
 * lock. Objects come at the list's end. */
static struct {
    size_t count;
    unsigned long long adds, subs;
} seen;

/* Each load looks at the list once more: behind so many objects no runtime is looked for, or loads would take longer and longer. */
enum { MAX_OBJECTS = 256 };

struct search {
    size_t index, first; /* of the object, and of the first one that is new */
    bool is_behind;
};

/* Whether objects have come since the last time, and where they begin. */
static bool begin_search(const struct dl_phdr_info *info, struct search *search)
{
    unsigned long long n_lost = info->dlpi_subs - seen.subs;
    if (seen.adds == info->dlpi_adds || (n_lost == 0 && seen.count >= MAX_OBJECTS))
        return false;
    search->first = n_lost < seen.count ? seen.count - (size_t)n_lost : 0;
    search->is_behind = search->first > 0; /* the agent comes with the program */
    seen.adds = info->dlpi_adds;
    seen.subs = info->dlpi_subs;
    return true;
}

static bool is_bound_runtime(const struct dl_phdr_info *info, struct tg_ompt_references *references)
{
    struct tg_agent_symbols symbols;
    return tg_agent_object_symbols(info, &symbols) && tg_agent_symbols_find(&symbols, RUNTIME) != NULL &&
           tg_agent_symbols_find(&symbols, TOOL) != NULL && tg_ompt_references_read(info, references) &&
           !tg_ompt_references_has(references, TOOL);
}

static int turn(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    struct search *search = context;
    struct tg_ompt_references references;
    size_t index = search->index++;
    if ((index == 0 && !begin_search(info, search)) || index >= MAX_OBJECTS)
        return 1;
    if (index < search->first)
        return 0;
    seen.count = index + 1;
    if (tg_agent_object_holds(info, (uintptr_t)&tg_ompt_bound_answer))
        search->is_behind = true; /* objects before the agent find it by themselves */
    else if (search->is_behind && is_bound_runtime(info, &references))
        tg_ompt_references_turn(&references, "dlsym", (uintptr_t)&tg_ompt_bound_dlsym);
    return 0;
}

void tg_ompt_bound_answer(tg_ompt_start_tool start_tool)
{
    struct search search = {0};
    int saved = errno;
    __atomic_store_n(&answer, start_tool, __ATOMIC_RELEASE);
    dl_iterate_phdr(turn, &search);
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
