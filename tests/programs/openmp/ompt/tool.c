/* An OpenMP tool: tells every callback that it gets in a line, with everything that it is given, to the file
 * that $TOOL_LOG names, TID first. Built as a library, or into a program.
 *
 * $TOOL_MODE: "none" starts no tool, "refuse" starts one that wants nothing. */
#include <omp-tools.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static FILE *file;
static uint64_t numbers;
static ompt_set_callback_t set_callback;
static ompt_get_task_info_t get_task_info;
static ompt_get_parallel_info_t get_parallel_info;

static void tell(const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    int n = snprintf(line, sizeof line, "%ld ", syscall(SYS_gettid));
    n += vsnprintf(line + n, sizeof line - (size_t)n - 1, format, arguments);
    va_end(arguments);
    line[n++] = '\n';
    fwrite(line, 1, (size_t)n, file);
}

/* Names a thread or task by a number of its own in a data word: what was put there comes back. */
static void name(ompt_data_t *data)
{
    data->value = __atomic_add_fetch(&numbers, 1, __ATOMIC_SEQ_CST);
}

static long of(const ompt_data_t *data)
{
    return data == NULL ? -1 : (long)data->value;
}

/* The runtime's account of the current task and those around it. */
static void tell_surroundings(int n_levels)
{
    for (int level = 0; level < n_levels; level++) {
        int flags = 0, thread_num = -1, size = -1;
        ompt_data_t *task = NULL, *parallel = NULL, *region = NULL;
        ompt_frame_t *frame = NULL;
        int has_task = get_task_info(level, &flags, &task, &frame, &parallel, &thread_num);
        int has_region = get_parallel_info(level, &region, &size);
        tell("  around %d: %d task #%ld flags %x parallel #%ld thread %d; %d region #%ld size %d", level,
             has_task, has_task ? of(task) : 0, flags, has_task ? of(parallel) : 0, thread_num, has_region,
             has_region ? of(region) : 0, size);
    }
}

static void on_thread_begin(ompt_thread_t type, ompt_data_t *thread)
{
    name(thread);
    tell("thread_begin %d #%ld", type, of(thread));
}

static void on_thread_end(ompt_data_t *thread)
{
    tell("thread_end #%ld", of(thread));
}

static void on_parallel_begin(ompt_data_t *task, const ompt_frame_t *frame, ompt_data_t *parallel,
                              unsigned requested, int flags, const void *code)
{
    (void)frame;
    tell("parallel_begin word before: #%ld", of(parallel));
    name(parallel);
    tell("parallel_begin task #%ld parallel #%ld %u %x %p", of(task), of(parallel), requested, flags, code);
    tell_surroundings(2);
}

static void on_parallel_end(ompt_data_t *parallel, ompt_data_t *task, int flags, const void *code)
{
    tell("parallel_end task #%ld parallel #%ld %x %p", of(task), of(parallel), flags, code);
}

static void on_implicit_task(ompt_scope_endpoint_t end, ompt_data_t *parallel, ompt_data_t *task,
                             unsigned size, unsigned index, int flags)
{
    if (end == ompt_scope_begin)
        name(task);
    tell("implicit_task %d parallel #%ld task #%ld %u %u %x", end, of(parallel), of(task), size, index,
         flags);
    if (end == ompt_scope_begin)
        tell_surroundings(2);
}

static void on_work(ompt_work_t kind, ompt_scope_endpoint_t end, ompt_data_t *parallel, ompt_data_t *task,
                    uint64_t count, const void *code)
{
    tell("work %d %d parallel #%ld task #%ld %lu %p", kind, end, of(parallel), of(task), (unsigned long)count,
         code);
}

static void on_masked(ompt_scope_endpoint_t end, ompt_data_t *parallel, ompt_data_t *task, const void *code)
{
    tell("masked %d parallel #%ld task #%ld %p", end, of(parallel), of(task), code);
}

#define SYNC(function, word)                                                                                 \
    static void function(ompt_sync_region_t kind, ompt_scope_endpoint_t end, ompt_data_t *parallel,          \
                         ompt_data_t *task, const void *code)                                                \
    {                                                                                                        \
        tell(word " %d %d parallel #%ld task #%ld %p", kind, end, of(parallel), of(task), code);             \
    }
SYNC(on_sync_region, "sync_region")
SYNC(on_sync_region_wait, "sync_region_wait")
SYNC(on_reduction, "reduction")

static void on_mutex_acquire(ompt_mutex_t kind, unsigned hint, unsigned implementation, ompt_wait_id_t id,
                             const void *code)
{
    tell("acquire %d %u %u %d %p", kind, hint, implementation, id != 0, code);
}

static void on_lock_init(ompt_mutex_t kind, unsigned hint, unsigned implementation, ompt_wait_id_t id,
                         const void *code)
{
    tell("lock_init %d %u %u %d %p", kind, hint, implementation, id != 0, code);
}

static void on_mutex_acquired(ompt_mutex_t kind, ompt_wait_id_t id, const void *code)
{
    tell("acquired %d %d %p", kind, id != 0, code);
}

static void on_mutex_released(ompt_mutex_t kind, ompt_wait_id_t id, const void *code)
{
    tell("released %d %d %p", kind, id != 0, code);
}

static void on_lock_destroy(ompt_mutex_t kind, ompt_wait_id_t id, const void *code)
{
    tell("lock_destroy %d %d %p", kind, id != 0, code);
}

static void on_nest_lock(ompt_scope_endpoint_t end, ompt_wait_id_t id, const void *code)
{
    tell("nest_lock %d %d %p", end, id != 0, code);
}

static void on_task_create(ompt_data_t *parent, const ompt_frame_t *frame, ompt_data_t *task, int flags,
                           int has_dependences, const void *code)
{
    (void)frame;
    name(task);
    tell("task_create of #%ld #%ld %x %d %p", of(parent), of(task), flags, has_dependences, code);
    tell_surroundings(2);
}

static void on_task_schedule(ompt_data_t *prior, ompt_task_status_t status, ompt_data_t *next)
{
    tell("task_schedule #%ld %d #%ld", of(prior), status, of(next));
    tell_surroundings(1); /* LLVM's runtime falls over a parent that is gone */
}

static void on_dependences(ompt_data_t *task, const ompt_dependence_t *list, int count)
{
    tell("dependences #%ld %d %d", of(task), count, count > 0 ? (int)list[0].dependence_type : 0);
}

static void on_task_dependence(ompt_data_t *source, ompt_data_t *sink)
{
    tell("task_dependence #%ld #%ld", of(source), of(sink));
}

static void on_cancel(ompt_data_t *task, int flags, const void *code)
{
    tell("cancel #%ld %x %p", of(task), flags, code);
}

static void on_flush(ompt_data_t *thread, const void *code)
{
    tell("flush #%ld %d", of(thread), code != NULL);
}

static void set(ompt_callbacks_t callback, ompt_callback_t function)
{
    tell("set %d: %d", (int)callback, (int)set_callback(callback, function));
}

static int initialize(ompt_function_lookup_t lookup, int device, ompt_data_t *tool)
{
    const char *mode = getenv("TOOL_MODE");
    tell("initialize %d %ld", device, of(tool));
    if (mode != NULL && strcmp(mode, "refuse") == 0)
        return 0;
    set_callback = (ompt_set_callback_t)lookup("ompt_set_callback");
    get_task_info = (ompt_get_task_info_t)lookup("ompt_get_task_info");
    get_parallel_info = (ompt_get_parallel_info_t)lookup("ompt_get_parallel_info");
    tell("unknown: %d", lookup("ompt_no_such_function") != NULL);
#define SET(callback, function) set(ompt_callback_##callback, (ompt_callback_t)function)
    SET(thread_begin, on_thread_begin);
    SET(thread_end, on_thread_end);
    SET(parallel_begin, on_parallel_begin);
    SET(parallel_end, on_parallel_end);
    SET(implicit_task, on_implicit_task);
    SET(work, on_work);
    SET(masked, on_masked);
    SET(sync_region, on_sync_region);
    SET(sync_region_wait, on_sync_region_wait);
    SET(reduction, on_reduction);
    SET(mutex_acquire, on_mutex_acquire);
    SET(mutex_acquired, on_mutex_acquired);
    SET(mutex_released, on_mutex_released);
    SET(nest_lock, on_nest_lock);
    SET(lock_init, on_lock_init);
    SET(lock_destroy, on_lock_destroy);
    SET(task_create, on_task_create);
    SET(task_schedule, on_task_schedule);
    SET(dependences, on_dependences);
    SET(task_dependence, on_task_dependence);
    SET(cancel, on_cancel);
    SET(flush, on_flush);
    SET(dispatch, on_flush);
    SET(target, on_flush);
    set(0, (ompt_callback_t)on_flush);
    set(99, (ompt_callback_t)on_flush);
    ompt_get_callback_t get_callback = (ompt_get_callback_t)lookup("ompt_get_callback");
    ompt_callback_t function = NULL;
    tell("get: %d", get_callback(ompt_callback_work, &function) == 1 && function == (ompt_callback_t)on_work);
    tell("get what was not set: %d", get_callback(ompt_callback_control_tool, &function));
    SET(flush, NULL);
    tell("get what was taken back: %d", get_callback(ompt_callback_flush, &function));
    tool->value = 42;
    return 1;
}

static void finalize(ompt_data_t *tool)
{
    tell("finalize %ld", of(tool));
    fflush(file);
}

ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime)
{
    static ompt_start_tool_result_t result = {initialize, finalize, {.value = 7}};
    const char *path = getenv("TOOL_LOG"), *mode = getenv("TOOL_MODE");
    file = path == NULL ? NULL : fopen(path, "a");
    if (file == NULL)
        return NULL;
    setvbuf(file, NULL, _IOLBF, 0);
    tell("start %u %s", version, runtime);
    return mode != NULL && strcmp(mode, "none") == 0 ? NULL : &result;
}
