#include "recorder/agent/ompt/events.h"

#include "recorder/agent/ompt/mutexes.h"
#include "recorder/agent/ompt/regions.h"
#include "recorder/agent/ompt/tasks.h"
#include "recorder/agent/ompt/waits.h"

const struct tg_ompt_event tg_ompt_events[] = {
#define CALLBACK(symbol, function)                                                                           \
    {                                                                                                        \
        TG_OMPT_##symbol, (tg_ompt_function)(function)                                                       \
    }
    CALLBACK(THREAD_END, tg_ompt_on_thread_end),
    CALLBACK(PARALLEL_BEGIN, tg_ompt_on_parallel_begin),
    CALLBACK(PARALLEL_END, tg_ompt_on_parallel_end),
    CALLBACK(IMPLICIT_TASK, tg_ompt_on_implicit_task),
    CALLBACK(SYNC_REGION, tg_ompt_on_sync_region),
    CALLBACK(SYNC_REGION_WAIT, tg_ompt_on_sync_region_wait),
    CALLBACK(REDUCTION, tg_ompt_on_reduction),
    CALLBACK(WORK, tg_ompt_on_work),
    CALLBACK(MASKED, tg_ompt_on_masked),
    CALLBACK(MUTEX_ACQUIRE, tg_ompt_on_mutex_acquire),
    CALLBACK(MUTEX_ACQUIRED, tg_ompt_on_mutex_acquired),
    CALLBACK(MUTEX_RELEASED, tg_ompt_on_mutex_released),
    CALLBACK(NEST_LOCK, tg_ompt_on_nest_lock),
    CALLBACK(TASK_CREATE, tg_ompt_on_task_create),
    CALLBACK(TASK_SCHEDULE, tg_ompt_on_task_schedule),
    CALLBACK(DEPENDENCES, tg_ompt_on_dependences),
    CALLBACK(CANCEL, tg_ompt_on_cancel),
#undef CALLBACK
    {0},
};
