/* How the agent becomes the tool of an OpenMP runtime: which one, when, and what comes after it. Its
 * callbacks are in events.c. */
#include "recorder/agent/ompt/ompt.h"

#include "recorder/agent/environment.h"
#include "recorder/agent/next.h"
#include "recorder/agent/ompt/bound.h"
#include "recorder/agent/ompt/chain.h"
#include "recorder/agent/ompt/events.h"
#include "recorder/agent/ompt/position.h"
#include "recorder/agent/ompt/redirect.h"

#include <link.h>
#include <string.h>
#include <strings.h>

enum { MAX_RUNTIME_NAME = 128 };

/* The watched runtime's text about itself, NULL: none yet. __atomic */
static const char *version_of_runtime;

static int find_runtime(struct dl_phdr_info *info, size_t size, void *address)
{
    (void)size;
    uintptr_t start = UINTPTR_MAX, end = 0;
    bool holds = false;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t first = info->dlpi_addr + header->p_vaddr;
        if (header->p_type != PT_LOAD || (header->p_flags & PF_X) == 0)
            continue;
        holds = holds || (uintptr_t)address - first < header->p_memsz;
        start = first < start ? first : start;
        end = first + header->p_memsz > end ? first + header->p_memsz : end;
    }
    /* A runtime linked into the program has no range of its own. */
    if (holds && info->dlpi_name != NULL && info->dlpi_name[0] != '\0') {
        tg_ompt_runtime.start = start;
        tg_ompt_runtime.end = end;
    }
    return holds;
}

/* "LLVM OMP version: 5.0.20140926" is name and version. */
static void record_runtime(void)
{
    static const char SEPARATOR[] = " version";
    char name[MAX_RUNTIME_NAME];
    const char *separator = strstr(version_of_runtime, SEPARATOR);
    const char *version = separator == NULL ? "" : separator + sizeof SEPARATOR - 1;
    version += strspn(version, ": ");
    size_t length = separator == NULL ? strlen(version_of_runtime) : (size_t)(separator - version_of_runtime);
    length = length < sizeof name ? length : sizeof name - 1;
    memcpy(name, version_of_runtime, length);
    name[length] = '\0';
    tg_openmp_runtime(TG_OMP_OMPT, name, version);
}

static int initialize(tg_ompt_lookup lookup, int initial_device_num, union tg_ompt_data *tool_data);

/* Whether the program's calls that release something come by the agent: its entries are shown, and the runtime,
 * a library that LOOKUP is in, has one. */
static bool stands_before(tg_ompt_lookup lookup)
{
    static const char END[] = "__kmpc_end_critical";
    void *own = tg_agent_beside((const void *)(uintptr_t)initialize, END);
    void *theirs = tg_agent_beside((const void *)(uintptr_t)lookup, END);
    return own != NULL && theirs != NULL && own != theirs && tg_ompt_runtime.start != tg_ompt_runtime.end;
}

static int initialize(tg_ompt_lookup lookup, int initial_device_num, union tg_ompt_data *tool_data)
{
    (void)tool_data;
    tg_ompt_set_callback set_callback = (tg_ompt_set_callback)lookup("ompt_set_callback");
    tg_ompt_runtime.get_task_info = (tg_ompt_get_task_info)lookup("ompt_get_task_info");
    if (set_callback == NULL) {
        tg_agent_say(TG_RECORD_NOTE,
                     "the OpenMP runtime's tool interface lacks ompt_set_callback: OpenMP is not recorded");
        return 0;
    }
    dl_iterate_phdr(find_runtime, (void *)(uintptr_t)lookup);
    record_runtime();
    tg_ompt_runtime.watches_releases = stands_before(lookup);
    for (size_t i = 0; tg_ompt_events[i].function != NULL; i++) {
        if (tg_ompt_events[i].callback == TG_OMPT_MUTEX_RELEASED && tg_ompt_runtime.watches_releases)
            continue;
        int result = set_callback((int)tg_ompt_events[i].callback, tg_ompt_events[i].function);
        tg_ompt_chain_registered(tg_ompt_events[i].callback, result);
        if (tg_ompt_events[i].callback == TG_OMPT_DEPENDENCES)
            tg_ompt_runtime.has_dependences = result >= TG_OMPT_SET_SOMETIMES;
    }
    tg_ompt_chain_initialize(lookup, initial_device_num);
    return 1;
}

static void finalize(union tg_ompt_data *tool_data)
{
    (void)tool_data;
    tg_ompt_chain_finalize();
}

/* False where the environment keeps the runtime from looking for a tool. */
static bool is_enabled(void)
{
    const char *setting = tg_agent_environment_get("OMP_TOOL"); /* libc may not be initialised yet */
    return setting == NULL || setting[0] == '\0' || strcasecmp(setting, "enabled") == 0;
}

/* LLVM's runtime and its relatives: all of them have OMPT, also behind the entry points of libgomp. */
static const char ENTRY_POINT[] = "__kmpc_fork_call";

bool tg_ompt_covers(const void *object)
{
    return is_enabled() && tg_agent_beside(object, ENTRY_POINT) != NULL;
}

/* NEXT: the tool that would be asked if the agent were not there, NULL none. */
static struct tg_ompt_start_tool_result *start_before(tg_ompt_start_tool next, unsigned omp_version,
                                                      const char *runtime_version)
{
    static struct tg_ompt_start_tool_result result = {.initialize = initialize, .finalize = finalize};
    const char *none = NULL;
    if (!tg_agent_observes(TG_AGENT_OPENMP))
        return next == NULL ? NULL : next(omp_version, runtime_version);
    if (runtime_version == NULL)
        runtime_version = "";
    if (!__atomic_compare_exchange_n(&version_of_runtime, &none, runtime_version, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE)) {
        tg_agent_say(TG_RECORD_NOTE,
                     "the process has a second OpenMP runtime with a tool interface: it is not recorded");
        return next == NULL ? NULL : next(omp_version, runtime_version);
    }
    tg_ompt_chain_start(next, omp_version, runtime_version);
    return &result;
}

static struct tg_ompt_start_tool_result *start_tool(unsigned omp_version, const char *runtime_version)
{
    tg_ompt_start_tool next = tg_ompt_tool_before();
    if (next == NULL)
        next = (tg_ompt_start_tool)(uintptr_t)tg_agent_next("ompt_start_tool");
    return start_before(next, omp_version, runtime_version);
}

static struct tg_ompt_start_tool_result *start_tool_of_bound(unsigned omp_version,
                                                             const char *runtime_version)
{
    struct tg_ompt_start_tool_result *result =
        start_before(tg_ompt_bound_begin(), omp_version, runtime_version);
    tg_ompt_bound_done();
    return result;
}

/* The function that the runtime calls, by the search order. */
TG_AGENT_EXPORT struct tg_ompt_start_tool_result *ompt_start_tool(unsigned omp_version,
                                                                  const char *runtime_version);
struct tg_ompt_start_tool_result *ompt_start_tool(unsigned omp_version, const char *runtime_version)
{
    return start_tool(omp_version, runtime_version);
}

static void redirect_runtimes(void)
{
    tg_ompt_bound_answer(start_tool_of_bound);
    if (tg_ompt_tool_before() != NULL && !tg_ompt_redirect(start_tool))
        tg_agent_say(TG_RECORD_NOTE,
                     "the program has its own OpenMP tool, which cannot be chained: OpenMP is not recorded");
}

/* Objects have come: where a tool comes before the agent, runtimes among them are brought to the agent's. */
static void look_again(void)
{
    if (__atomic_load_n(&version_of_runtime, __ATOMIC_RELAXED) == NULL &&
        tg_agent_observes(TG_AGENT_OPENMP) && is_enabled())
        redirect_runtimes();
}

/* Before the runtimes that are there from the start look for a tool. */
static __attribute__((constructor(103))) void prepare(void)
{
    if (!tg_agent_observes(TG_AGENT_OPENMP) || tg_agent_next(ENTRY_POINT) == NULL)
        return;
    if (is_enabled())
        redirect_runtimes();
    else
        tg_agent_say(TG_RECORD_NOTE, "OMP_TOOL disables OpenMP tools: OpenMP is not recorded");
}

const struct tg_openmp_backend tg_ompt_backend = {.after_load = look_again};
