/* OMPT, the tool interface of OpenMP runtimes, as far as the agent uses it or hands it on: names of callbacks
 * and values as in the OpenMP specification 5.1, sections 4.2 to 4.6 and 19 of 5.2. A test compares this with
 * a compiler's omp-tools.h. The interface is the C ABI of the platform: enums are int, a data word is 64
 * bits. */
#ifndef TG_RECORDER_AGENT_OMPT_ABI_H
#define TG_RECORDER_AGENT_OMPT_ABI_H

#include <stddef.h>
#include <stdint.h>

/* A word of an entity (thread, region, task) that the runtime keeps for the tool. */
union tg_ompt_data {
    uint64_t value;
    void *ptr;
};

typedef void (*tg_ompt_function)(void);
typedef tg_ompt_function (*tg_ompt_lookup)(const char *name);

struct tg_ompt_start_tool_result {
    int (*initialize)(tg_ompt_lookup lookup, int initial_device_num, union tg_ompt_data *tool_data);
    void (*finalize)(union tg_ompt_data *tool_data);
    union tg_ompt_data tool_data;
};

typedef struct tg_ompt_start_tool_result *(*tg_ompt_start_tool)(unsigned omp_version,
                                                                const char *runtime_version);

struct tg_ompt_frame {
    union tg_ompt_data exit_frame;  /* frame of the task's code in the program; NULL: not on the stack */
    union tg_ompt_data enter_frame; /* frame that entered the runtime */
    int exit_frame_flags;
    int enter_frame_flags;
};

struct tg_ompt_dependence {
    union tg_ompt_data variable;
    int type; /* enum tg_ompt_dependence_type */
};

/* Callbacks: symbol, number, parameter list. */
#define TG_OMPT_CALLBACKS(X)                                                                                 \
    X(THREAD_BEGIN, 1, (int type, union tg_ompt_data *thread_data))                                          \
    X(THREAD_END, 2, (union tg_ompt_data * thread_data))                                                     \
    X(PARALLEL_BEGIN, 3,                                                                                     \
      (union tg_ompt_data * encountering_task, const struct tg_ompt_frame *frame,                            \
       union tg_ompt_data *parallel, unsigned requested, int flags, const void *code))                       \
    X(PARALLEL_END, 4,                                                                                       \
      (union tg_ompt_data * parallel, union tg_ompt_data * encountering_task, int flags, const void *code))  \
    X(TASK_CREATE, 5,                                                                                        \
      (union tg_ompt_data * encountering_task, const struct tg_ompt_frame *frame,                            \
       union tg_ompt_data *new_task, int flags, int has_dependences, const void *code))                      \
    X(TASK_SCHEDULE, 6, (union tg_ompt_data * prior, int prior_status, union tg_ompt_data *next))            \
    X(IMPLICIT_TASK, 7,                                                                                      \
      (int endpoint, union tg_ompt_data *parallel, union tg_ompt_data *task, unsigned team_size,             \
       unsigned index, int flags))                                                                           \
    X(TARGET, 8,                                                                                             \
      (int kind, int endpoint, int device, union tg_ompt_data *task, uint64_t target, const void *code))     \
    X(TARGET_DATA_OP, 9,                                                                                     \
      (uint64_t target, uint64_t host_op, int type, void *source, int source_device, void *destination,      \
       int destination_device, size_t bytes, const void *code))                                              \
    X(TARGET_SUBMIT, 10, (uint64_t target, uint64_t host_op, unsigned requested))                            \
    X(CONTROL_TOOL, 11, (uint64_t command, uint64_t modifier, void *argument, const void *code))             \
    X(DEVICE_INITIALIZE, 12,                                                                                 \
      (int device, const char *type, void *handle, tg_ompt_lookup lookup, const char *documentation))        \
    X(DEVICE_FINALIZE, 13, (int device))                                                                     \
    X(DEVICE_LOAD, 14,                                                                                       \
      (int device, const char *file, int64_t offset, void *address_in_file, size_t bytes, void *host,        \
       void *device_address, uint64_t module))                                                               \
    X(DEVICE_UNLOAD, 15, (int device, uint64_t module))                                                      \
    X(SYNC_REGION_WAIT, 16,                                                                                  \
      (int kind, int endpoint, union tg_ompt_data *parallel, union tg_ompt_data *task, const void *code))    \
    X(MUTEX_RELEASED, 17, (int kind, uint64_t wait_id, const void *code))                                    \
    X(DEPENDENCES, 18, (union tg_ompt_data * task, const struct tg_ompt_dependence *list, int count))        \
    X(TASK_DEPENDENCE, 19, (union tg_ompt_data * source, union tg_ompt_data * sink))                         \
    X(WORK, 20,                                                                                              \
      (int kind, int endpoint, union tg_ompt_data *parallel, union tg_ompt_data *task, uint64_t count,       \
       const void *code))                                                                                    \
    X(MASKED, 21, (int endpoint, union tg_ompt_data *parallel, union tg_ompt_data *task, const void *code))  \
    X(TARGET_MAP, 22,                                                                                        \
      (uint64_t target, unsigned count, void **host, void **device, size_t *bytes, unsigned *flags,          \
       const void *code))                                                                                    \
    X(SYNC_REGION, 23,                                                                                       \
      (int kind, int endpoint, union tg_ompt_data *parallel, union tg_ompt_data *task, const void *code))    \
    X(LOCK_INIT, 24, (int kind, unsigned hint, unsigned implementation, uint64_t wait_id, const void *code)) \
    X(LOCK_DESTROY, 25, (int kind, uint64_t wait_id, const void *code))                                      \
    X(MUTEX_ACQUIRE, 26,                                                                                     \
      (int kind, unsigned hint, unsigned implementation, uint64_t wait_id, const void *code))                \
    X(MUTEX_ACQUIRED, 27, (int kind, uint64_t wait_id, const void *code))                                    \
    X(NEST_LOCK, 28, (int endpoint, uint64_t wait_id, const void *code))                                     \
    X(FLUSH, 29, (union tg_ompt_data * thread_data, const void *code))                                       \
    X(CANCEL, 30, (union tg_ompt_data * task, int flags, const void *code))                                  \
    X(REDUCTION, 31,                                                                                         \
      (int kind, int endpoint, union tg_ompt_data *parallel, union tg_ompt_data *task, const void *code))    \
    X(DISPATCH, 32,                                                                                          \
      (union tg_ompt_data * parallel, union tg_ompt_data * task, int kind, union tg_ompt_data instance))     \
    X(TARGET_EMI, 33,                                                                                        \
      (int kind, int endpoint, int device, union tg_ompt_data *task, union tg_ompt_data *target_task,        \
       union tg_ompt_data *target, const void *code))                                                        \
    X(TARGET_DATA_OP_EMI, 34,                                                                                \
      (int endpoint, union tg_ompt_data *target_task, union tg_ompt_data *target, uint64_t *host_op,         \
       int type, void *source, int source_device, void *destination, int destination_device, size_t bytes,   \
       const void *code))                                                                                    \
    X(TARGET_SUBMIT_EMI, 35,                                                                                 \
      (int endpoint, union tg_ompt_data *target, uint64_t *host_op, unsigned requested))                     \
    X(TARGET_MAP_EMI, 36,                                                                                    \
      (union tg_ompt_data * target, unsigned count, void **host, void **device, size_t *bytes,               \
       unsigned *flags, const void *code))                                                                   \
    X(ERROR, 37, (int severity, const char *message, size_t length, const void *code))

enum tg_ompt_callback {
#define X(symbol, number, parameters) TG_OMPT_##symbol = number,
    TG_OMPT_CALLBACKS(X)
#undef X
        TG_OMPT_CALLBACK_COUNT,
};

enum tg_ompt_set_result {
    TG_OMPT_SET_ERROR = 0,
    TG_OMPT_SET_NEVER = 1,
    TG_OMPT_SET_IMPOSSIBLE = 2,
    TG_OMPT_SET_SOMETIMES = 3,
    TG_OMPT_SET_SOMETIMES_PAIRED = 4,
    TG_OMPT_SET_ALWAYS = 5,
};

enum tg_ompt_endpoint {
    TG_OMPT_BEGIN = 1,
    TG_OMPT_END = 2,
    TG_OMPT_BEGINEND = 3,
};

enum tg_ompt_sync {
    TG_OMPT_SYNC_BARRIER = 1,
    TG_OMPT_SYNC_BARRIER_IMPLICIT = 2, /* 5.0: of worksharing and of regions alike */
    TG_OMPT_SYNC_BARRIER_EXPLICIT = 3,
    TG_OMPT_SYNC_BARRIER_IMPLEMENTATION = 4,
    TG_OMPT_SYNC_TASKWAIT = 5,
    TG_OMPT_SYNC_TASKGROUP = 6,
    TG_OMPT_SYNC_REDUCTION = 7,
    TG_OMPT_SYNC_BARRIER_IMPLICIT_WORKSHARE = 8,
    TG_OMPT_SYNC_BARRIER_IMPLICIT_PARALLEL = 9,
    TG_OMPT_SYNC_BARRIER_TEAMS = 10,
};

enum tg_ompt_work {
    TG_OMPT_WORK_LOOP = 1,
    TG_OMPT_WORK_SECTIONS = 2,
    TG_OMPT_WORK_SINGLE_EXECUTOR = 3,
    TG_OMPT_WORK_SINGLE_OTHER = 4,
    TG_OMPT_WORK_WORKSHARE = 5,
    TG_OMPT_WORK_DISTRIBUTE = 6,
    TG_OMPT_WORK_TASKLOOP = 7,
    TG_OMPT_WORK_SCOPE = 8,
    /* OpenMP 5.2 and 6.0 */
    TG_OMPT_WORK_LOOP_STATIC = 10,
    TG_OMPT_WORK_LOOP_DYNAMIC = 11,
    TG_OMPT_WORK_LOOP_GUIDED = 12,
    TG_OMPT_WORK_LOOP_OTHER = 13,
};

enum tg_ompt_mutex {
    TG_OMPT_MUTEX_LOCK = 1,
    TG_OMPT_MUTEX_TEST_LOCK = 2,
    TG_OMPT_MUTEX_NEST_LOCK = 3,
    TG_OMPT_MUTEX_TEST_NEST_LOCK = 4,
    TG_OMPT_MUTEX_CRITICAL = 5,
    TG_OMPT_MUTEX_ATOMIC = 6,
    TG_OMPT_MUTEX_ORDERED = 7,
};

enum tg_ompt_task_flag {
    TG_OMPT_TASK_INITIAL = 0x00000001,
    TG_OMPT_TASK_IMPLICIT = 0x00000002,
    TG_OMPT_TASK_EXPLICIT = 0x00000004,
    TG_OMPT_TASK_TARGET = 0x00000008,
    TG_OMPT_TASK_TASKWAIT = 0x00000010,
    TG_OMPT_TASK_UNDEFERRED = 0x08000000,
    TG_OMPT_TASK_UNTIED = 0x10000000,
    TG_OMPT_TASK_FINAL = 0x20000000,
    TG_OMPT_TASK_MERGEABLE = 0x40000000,
};

enum tg_ompt_task_status {
    TG_OMPT_TASK_COMPLETE = 1,
    TG_OMPT_TASK_YIELD = 2,
    TG_OMPT_TASK_CANCEL = 3,
    TG_OMPT_TASK_DETACH = 4,
    TG_OMPT_TASK_EARLY_FULFILL = 5,
    TG_OMPT_TASK_LATE_FULFILL = 6,
    TG_OMPT_TASK_SWITCH = 7,
    TG_OMPT_TASKWAIT_COMPLETE = 8,
};

enum tg_ompt_parallel_flag {
    TG_OMPT_PARALLEL_LEAGUE = 0x40000000,
};

enum tg_ompt_dependence_type {
    TG_OMPT_DEPENDENCE_IN = 1,
    TG_OMPT_DEPENDENCE_OUT = 2,
    TG_OMPT_DEPENDENCE_INOUT = 3,
    TG_OMPT_DEPENDENCE_MUTEXINOUTSET = 4,
    TG_OMPT_DEPENDENCE_SOURCE = 5,
    TG_OMPT_DEPENDENCE_SINK = 6,
};

enum tg_ompt_cancel_flag {
    TG_OMPT_CANCEL_PARALLEL = 0x01,
    TG_OMPT_CANCEL_SECTIONS = 0x02,
    TG_OMPT_CANCEL_LOOP = 0x04,
    TG_OMPT_CANCEL_TASKGROUP = 0x08,
    TG_OMPT_CANCEL_ACTIVATED = 0x10,
    TG_OMPT_CANCEL_DETECTED = 0x20,
    TG_OMPT_CANCEL_DISCARDED_TASK = 0x40,
};

/* Functions that a runtime's lookup function gives by these names. */
typedef int (*tg_ompt_set_callback)(int callback, tg_ompt_function function);  /* "ompt_set_callback" */
typedef int (*tg_ompt_get_callback)(int callback, tg_ompt_function *function); /* "ompt_get_callback" */
typedef int (*tg_ompt_get_task_info)(int ancestor_level, int *flags, union tg_ompt_data **task,
                                     struct tg_ompt_frame **frame, union tg_ompt_data **parallel,
                                     int *thread_num); /* "ompt_get_task_info" */
typedef int (*tg_ompt_get_parallel_info)(int ancestor_level, union tg_ompt_data **parallel,
                                         int *team_size); /* "ompt_get_parallel_info" */

#endif
