#include "recorder/agent/ompt/chain.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LIBRARY_NAME = 4096 };

tg_ompt_function tg_ompt_chain_callbacks[TG_OMPT_CALLBACK_COUNT];

static struct {
    struct tg_ompt_start_tool_result *tool; /* NULL: none */
    tg_ompt_lookup lookup;                  /* the runtime's */
    tg_ompt_set_callback set_callback;
    tg_ompt_get_callback get_callback;
    tg_ompt_get_task_info get_task_info;
    tg_ompt_get_parallel_info get_parallel_info;
    /* The runtime's answers for what the agent registered for itself, plus 1; 0: it did not. */
    unsigned char registered[TG_OMPT_CALLBACK_COUNT];
} chain;

/* ---- the search */

static struct tg_ompt_start_tool_result *try_library(const char *name, unsigned omp_version,
                                                     const char *runtime_version)
{
    void *library = dlopen(name, RTLD_LAZY);
    if (library == NULL)
        return NULL;
    tg_ompt_start_tool start = (tg_ompt_start_tool)(uintptr_t)dlsym(library, "ompt_start_tool");
    struct tg_ompt_start_tool_result *tool = start == NULL ? NULL : start(omp_version, runtime_version);
    if (tool == NULL)
        dlclose(library);
    return tool;
}

static struct tg_ompt_start_tool_result *try_libraries(const char *list, unsigned omp_version,
                                                       const char *runtime_version)
{
    struct tg_ompt_start_tool_result *tool = NULL;
    while (tool == NULL && *(list += strspn(list, ":")) != '\0') {
        size_t length = strcspn(list, ":");
        char name[MAX_LIBRARY_NAME];
        if (length < sizeof name) {
            memcpy(name, list, length);
            name[length] = '\0';
            tool = try_library(name, omp_version, runtime_version);
        }
        list += length;
    }
    return tool;
}

void tg_ompt_chain_start(tg_ompt_start_tool next, unsigned omp_version, const char *runtime_version)
{
    struct tg_ompt_start_tool_result *tool = next == NULL ? NULL : next(omp_version, runtime_version);
    const char *libraries = getenv("OMP_TOOL_LIBRARIES");
    if (tool == NULL && libraries != NULL)
        tool = try_libraries(libraries, omp_version, runtime_version);
    /* LLVM's runtime looks for this one in the end; it makes itself known where the program was built with
     * the thread sanitizer. */
    if (tool == NULL && strncmp(runtime_version, "LLVM", 4) == 0)
        tool = try_library("libarcher.so", omp_version, runtime_version);
    chain.tool = tool;
    tg_ompt_chained = tool != NULL;
}

/* ---- data words of the program's own tool */

union tg_ompt_data *tg_ompt_their_region(union tg_ompt_data *parallel)
{
    static __thread union tg_ompt_data nowhere __attribute__((tls_model("initial-exec")));
    if (parallel == NULL)
        return NULL;
    void *known = __atomic_load_n(&parallel->ptr, __ATOMIC_ACQUIRE);
    if (known == NULL) { /* never begun: what is around all regions */
        struct tg_ompt_region *made = tg_ompt_take();
        if (made == NULL)
            return &nowhere;
        if (__atomic_compare_exchange_n(&parallel->ptr, &known, made, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE))
            known = made;
        else
            tg_ompt_give(made);
    }
    return &((struct tg_ompt_region *)known)->theirs;
}

union tg_ompt_data *tg_ompt_their_task(union tg_ompt_data *task)
{
    static __thread union tg_ompt_data nowhere __attribute__((tls_model("initial-exec")));
    if (task == NULL)
        return NULL;
    struct tg_ompt_task *known = tg_ompt_task_of(task);
    return known == NULL ? &nowhere : &known->theirs;
}

/* ---- callbacks that the agent itself does not want, where they name regions or tasks */

static void hand_on_target(int kind, int endpoint, int device, union tg_ompt_data *task, uint64_t target,
                           const void *code)
{
    TG_OMPT_HAND_ON(TARGET, (kind, endpoint, device, tg_ompt_their_task(task), target, code));
}

static void hand_on_task_dependence(union tg_ompt_data *source, union tg_ompt_data *sink)
{
    TG_OMPT_HAND_ON(TASK_DEPENDENCE, (tg_ompt_their_task(source), tg_ompt_their_task(sink)));
}

static void hand_on_dispatch(union tg_ompt_data *parallel, union tg_ompt_data *task, int kind,
                             union tg_ompt_data instance)
{
    TG_OMPT_HAND_ON(DISPATCH, (tg_ompt_their_region(parallel), tg_ompt_their_task(task), kind, instance));
}

static void hand_on_target_emi(int kind, int endpoint, int device, union tg_ompt_data *task,
                               union tg_ompt_data *target_task, union tg_ompt_data *target, const void *code)
{
    TG_OMPT_HAND_ON(TARGET_EMI, (kind, endpoint, device, tg_ompt_their_task(task),
                                 tg_ompt_their_task(target_task), target, code));
}

static void hand_on_target_data_op_emi(int endpoint, union tg_ompt_data *target_task,
                                       union tg_ompt_data *target, uint64_t *host_op, int type, void *source,
                                       int source_device, void *destination, int destination_device,
                                       size_t bytes, const void *code)
{
    TG_OMPT_HAND_ON(TARGET_DATA_OP_EMI,
                    (endpoint, tg_ompt_their_task(target_task), target, host_op, type, source, source_device,
                     destination, destination_device, bytes, code));
}

/* The function to register with the runtime so that FUNCTION gets CALLBACK. */
static tg_ompt_function translated(int callback, tg_ompt_function function)
{
    switch (callback) {
    case TG_OMPT_TARGET:
        return (tg_ompt_function)hand_on_target;
    case TG_OMPT_TASK_DEPENDENCE:
        return (tg_ompt_function)hand_on_task_dependence;
    case TG_OMPT_DISPATCH:
        return (tg_ompt_function)hand_on_dispatch;
    case TG_OMPT_TARGET_EMI:
        return (tg_ompt_function)hand_on_target_emi;
    case TG_OMPT_TARGET_DATA_OP_EMI:
        return (tg_ompt_function)hand_on_target_data_op_emi;
    default:
        return function;
    }
}

/* ---- what they find instead of the runtime's entry points */

static int set_their_callback(int callback, tg_ompt_function function)
{
    if (callback <= 0 || callback >= TG_OMPT_CALLBACK_COUNT) /* not known here: their words might be meant */
        return chain.set_callback(callback, NULL) == TG_OMPT_SET_ERROR ? TG_OMPT_SET_ERROR
                                                                       : TG_OMPT_SET_NEVER;
    int result = TG_OMPT_SET_ALWAYS;
    if (chain.registered[callback] == 0)
        result = chain.set_callback(callback, function == NULL ? NULL : translated(callback, function));
    else if (function != NULL)
        result = chain.registered[callback] - 1;
    if (function == NULL || result >= TG_OMPT_SET_SOMETIMES)
        __atomic_store_n(&tg_ompt_chain_callbacks[callback], function, __ATOMIC_RELEASE);
    return result;
}

static int get_their_callback(int callback, tg_ompt_function *function)
{
    /* LLVM's runtime knows of none as long as the tool is being initialised. */
    tg_ompt_function registered = NULL;
    if (callback <= 0 || callback >= TG_OMPT_CALLBACK_COUNT || chain.get_callback(callback, &registered) == 0)
        return 0;
    tg_ompt_function theirs = __atomic_load_n(&tg_ompt_chain_callbacks[callback], __ATOMIC_ACQUIRE);
    if (theirs == NULL)
        return 0;
    *function = theirs;
    return 1;
}

static int get_their_task_info(int ancestor_level, int *flags, union tg_ompt_data **task,
                               struct tg_ompt_frame **frame, union tg_ompt_data **parallel, int *thread_num)
{
    union tg_ompt_data *our_task = NULL, *our_parallel = NULL;
    int result = chain.get_task_info(ancestor_level, flags, task == NULL ? NULL : &our_task, frame,
                                     parallel == NULL ? NULL : &our_parallel, thread_num);
    if (result == 0)
        return result;
    if (task != NULL)
        *task = tg_ompt_their_task(our_task);
    if (parallel != NULL)
        *parallel = tg_ompt_their_region(our_parallel);
    return result;
}

static int get_their_parallel_info(int ancestor_level, union tg_ompt_data **parallel, int *team_size)
{
    union tg_ompt_data *ours = NULL;
    int result = chain.get_parallel_info(ancestor_level, parallel == NULL ? NULL : &ours, team_size);
    if (result != 0 && parallel != NULL)
        *parallel = tg_ompt_their_region(ours);
    return result;
}

static tg_ompt_function look_up(const char *name)
{
    tg_ompt_function found = chain.lookup(name);
    if (found == NULL)
        return NULL;
    if (strcmp(name, "ompt_set_callback") == 0)
        return (tg_ompt_function)set_their_callback;
    if (strcmp(name, "ompt_get_callback") == 0) {
        chain.get_callback = (tg_ompt_get_callback)found;
        return (tg_ompt_function)get_their_callback;
    }
    if (strcmp(name, "ompt_get_task_info") == 0) {
        chain.get_task_info = (tg_ompt_get_task_info)found;
        return (tg_ompt_function)get_their_task_info;
    }
    if (strcmp(name, "ompt_get_parallel_info") == 0) {
        chain.get_parallel_info = (tg_ompt_get_parallel_info)found;
        return (tg_ompt_function)get_their_parallel_info;
    }
    return found;
}

void tg_ompt_chain_registered(enum tg_ompt_callback callback, int result)
{
    if (result >= TG_OMPT_SET_ERROR && result <= TG_OMPT_SET_ALWAYS)
        chain.registered[callback] = (unsigned char)(result + 1);
}

void tg_ompt_chain_initialize(tg_ompt_lookup lookup, int initial_device_num)
{
    if (chain.tool == NULL)
        return;
    chain.lookup = lookup;
    chain.set_callback = (tg_ompt_set_callback)lookup("ompt_set_callback");
    if (chain.tool->initialize(look_up, initial_device_num, &chain.tool->tool_data) != 0)
        return;
    /* The tool wants nothing; no callback has come yet, so that no word of the tool's is in use. */
    chain.tool = NULL;
    tg_ompt_chained = false;
    for (int callback = 1; callback < TG_OMPT_CALLBACK_COUNT; callback++) {
        if (chain.registered[callback] == 0 && tg_ompt_chain_callbacks[callback] != NULL)
            chain.set_callback(callback, NULL);
        tg_ompt_chain_callbacks[callback] = NULL;
    }
}

void tg_ompt_chain_finalize(void)
{
    if (chain.tool != NULL)
        chain.tool->finalize(&chain.tool->tool_data);
}
