/* What the controller orders the engine to do. */
#include "live/control/adapter_state.h"
#include "live/control/thread_scene.h"

enum {
    MAX_COMPARED_PLACES = 1024, /* of an action point in a process */
    MAX_COMPARED_PROCESSES = 64,
};

struct tg_thread *tg_adapter_find_thread(const struct tg_engine_adapter *live, int32_t pid, int32_t tid)
{
    const struct tg_process *process = tg_engine_find_process(live->parts.engine, pid);
    return process == NULL ? NULL : tg_process_find_thread(process, tid);
}

static void order_stop(void *engine, int32_t pid, int32_t tid)
{
    struct tg_engine_adapter *live = engine;
    struct tg_thread *thread = tg_adapter_find_thread(live, pid, tid);
    if (thread == NULL)
        return;
    (void)tg_job_steps_drop(live->steps, tid);
    tg_thread_halt(thread);
}

static void order_resume(void *engine, int32_t pid, int32_t tid)
{
    struct tg_engine_adapter *live = engine;
    struct tg_thread *thread = tg_adapter_find_thread(live, pid, tid);
    if (thread != NULL && !tg_job_steps_go(live->steps, thread))
        tg_thread_go(thread);
    live->has_run = true;
    live->options.changed(live->options.context);
}

static struct tg_error *order_plant(void *engine, int32_t pid, uint32_t id, const char *location,
                                    uint64_t *address, const char **place)
{
    struct tg_engine_adapter *live = engine;
    struct tg_process *process = tg_engine_find_process(live->parts.engine, pid);
    *address = 0;
    *place = "";
    if (process == NULL)
        return NULL;
    return tg_job_watches_is_defined(live->watches, id)
               ? tg_job_watches_plant(live->watches, process, id, address, place)
               : tg_job_points_plant(live->points, process, id, location, address, place);
}

static struct tg_error *order_define_watch(void *engine, uint32_t id, const void *watch)
{
    struct tg_engine_adapter *live = engine;
    if (watch != NULL)
        return tg_job_watches_define(live->watches, id, watch);
    tg_job_watches_undefine(live->watches, id);
    return NULL;
}

static uint64_t order_last_line(void *engine, int32_t pid, const char *location)
{
    struct tg_engine_adapter *live = engine;
    const struct tg_process *process = tg_engine_find_process(live->parts.engine, pid);
    return process == NULL ? 0 : tg_job_points_last_line(live->points, process, location);
}

static void order_unplant(void *engine, int32_t pid, uint32_t id)
{
    struct tg_engine_adapter *live = engine;
    struct tg_process *process = tg_engine_find_process(live->parts.engine, pid);
    if (process != NULL && tg_job_watches_is_defined(live->watches, id))
        tg_job_watches_unplant(live->watches, process, id);
    else if (process != NULL)
        tg_job_points_unplant(live->points, process, id);
}

static bool order_is_planted(void *engine, int32_t pid, uint32_t id, uint64_t address)
{
    const struct tg_engine_adapter *live = engine;
    const struct tg_process *process = tg_engine_find_process(live->parts.engine, pid);
    uint64_t addresses[MAX_COMPARED_PLACES];
    size_t count = process == NULL
                       ? 0
                       : tg_job_points_addresses(live->points, process, id, addresses, MAX_COMPARED_PLACES);
    for (size_t i = 0; i < count && i < MAX_COMPARED_PLACES; i++)
        if (addresses[i] == address)
            return true;
    return false;
}

static struct tg_error *order_check_condition(void *engine, uint32_t id, const char *condition)
{
    struct tg_engine_adapter *live = engine;
    struct tg_error *first = NULL;
    bool is_good = false;
    size_t looked = 0;
    for (const struct tg_process *process = tg_engine_first_process(live->parts.engine);
         process != NULL && !is_good && looked < MAX_COMPARED_PROCESSES; process = process->hh.next) {
        uint64_t addresses[MAX_COMPARED_PLACES];
        size_t count = tg_job_points_addresses(live->points, process, id, addresses, MAX_COMPARED_PLACES);
        looked += count > 0;
        for (size_t i = 0; i < count && i < MAX_COMPARED_PLACES && !is_good; i++) {
            bool is_known;
            struct tg_error *error =
                tg_point_conditions_check(live->conditions, process, addresses[i], condition, &is_known);
            is_good = error == NULL; /* also where nothing is known: it may be right there */
            if (first == NULL)
                first = error;
            else
                tg_error_destroy(error);
        }
    }
    if (!is_good)
        return first;
    tg_error_destroy(first);
    return NULL;
}

static bool order_has(void *engine, int32_t pid, const char *location)
{
    struct tg_engine_adapter *live = engine;
    const struct tg_process *process = tg_engine_find_process(live->parts.engine, pid);
    return process != NULL && tg_job_points_find(live->points, process, location);
}

static bool order_ask_manager(void *engine, int32_t pid, int32_t tid, bool *is_manager)
{
    struct tg_engine_adapter *live = engine;
    struct tg_thread *thread = tg_adapter_find_thread(live, pid, tid);
    const struct user_regs_struct *registers = thread == NULL ? NULL : tg_thread_registers(thread);
    if (registers == NULL) /* running */
        return false;
    struct tg_modules *modules = tg_job_modules_of(live->modules, thread->process);
    *is_manager = modules != NULL && tg_manager_threads_ask(live->managers, modules, tid, registers->fs_base);
    return true;
}

static void order_record(void *engine, const struct tg_event *event)
{
    struct tg_engine_adapter *live = engine;
    (void)tg_engine_emit_as(live->parts.engine, event);
}

static void order_tell(void *engine, const struct tg_news *news)
{
    struct tg_engine_adapter *live = engine;
    live->options.tell(live->options.context, news);
}

const struct tg_controller_orders tg_adapter_orders = {
    .stop = order_stop,
    .resume = order_resume,
    .plant = order_plant,
    .define_watch = order_define_watch,
    .last_line = order_last_line,
    .is_planted = order_is_planted,
    .check_condition = order_check_condition,
    .has = order_has,
    .unplant = order_unplant,
    .ask_manager = order_ask_manager,
    .record = order_record,
    .tell = order_tell,
};
