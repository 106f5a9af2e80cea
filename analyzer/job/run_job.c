/* The barrier model's job: processes and threads, who runs, who is held. */
#include "analyzer/job/run_model.h"
#include "analyzer/job/run_model_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- slots */

/* The place in by_dpid of the first process whose dpid is not less. */
static size_t place_of_process(const struct tg_run_model *model, uint32_t dpid)
{
    size_t low = 0, high = model->n_by_dpid;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (model->processes[model->by_dpid[middle]].info.dpid < dpid)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint32_t tg_run_find_process(const struct tg_run_model *model, uint32_t dpid)
{
    size_t at = place_of_process(model, dpid);
    if (at < model->n_by_dpid && model->processes[model->by_dpid[at]].info.dpid == dpid)
        return model->by_dpid[at];
    return TG_NO_SLOT;
}

static size_t place_of_thread(const struct tg_run_model *model, const struct tg_run_process *process,
                              uint32_t dtid)
{
    size_t low = 0, high = process->n_threads;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (model->threads[process->threads[middle]].dtid < dtid)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint32_t tg_run_find_thread(const struct tg_run_model *model, struct tg_thread_id thread)
{
    uint32_t slot = tg_run_find_process(model, thread.dpid);
    if (slot == TG_NO_SLOT)
        return TG_NO_SLOT;
    const struct tg_run_process *process = &model->processes[slot];
    size_t at = place_of_thread(model, process, thread.dtid);
    if (at < process->n_threads && model->threads[process->threads[at]].dtid == thread.dtid)
        return process->threads[at];
    return TG_NO_SLOT;
}

struct tg_thread_id tg_run_thread_id(const struct tg_run_model *model, uint32_t slot)
{
    const struct tg_run_thread *thread = &model->threads[slot];
    return (struct tg_thread_id){model->processes[thread->process].info.dpid, thread->dtid};
}

static struct tg_error *no_such_unit(struct tg_thread_id unit)
{
    if (unit.dtid == 0)
        return tg_error_create(TG_ERROR_NOT_FOUND, "there is no process %u", unit.dpid);
    return tg_error_create(TG_ERROR_NOT_FOUND, "there is no thread %u.%u", unit.dpid, unit.dtid);
}

/* ---- running */

void tg_run_set_state(struct tg_run_model *model, uint32_t slot, enum tg_run_state run)
{
    struct tg_run_thread *thread = &model->threads[slot];
    struct tg_run_process *process = &model->processes[thread->process];
    process->n_running -= thread->run == TG_RUN_RUNNING;
    process->n_running += run == TG_RUN_RUNNING;
    if (run == TG_RUN_STOPPING && thread->run == TG_RUN_RUNNING)
        thread->stopping_since = model->step;
    thread->run = run;
}

bool tg_run_is_held(const struct tg_run_model *model, uint32_t slot)
{
    const struct tg_run_thread *thread = &model->threads[slot];
    const struct tg_run_process *process = &model->processes[thread->process];
    return thread->held_by_user || thread->n_holds > 0 || process->held_by_user || process->n_holds > 0;
}

void tg_run_stop_thread(struct tg_run_model *model, uint32_t slot)
{
    if (model->threads[slot].run != TG_RUN_RUNNING)
        return;
    tg_run_set_state(model, slot, TG_RUN_STOPPING);
    tg_run_decide(model, (struct tg_run_decision){.kind = TG_DECIDE_STOP_THREAD,
                                                  .thread = tg_run_thread_id(model, slot)});
}

/* What runs of it is stopping; false: nothing ran. */
static bool stop_threads_of(struct tg_run_model *model, const struct tg_run_process *process)
{
    if (process->n_running == 0)
        return false;
    for (size_t i = 0; i < process->n_threads; i++)
        if (model->threads[process->threads[i]].run == TG_RUN_RUNNING)
            tg_run_set_state(model, process->threads[i], TG_RUN_STOPPING);
    return true;
}

void tg_run_stop_process(struct tg_run_model *model, uint32_t slot)
{
    const struct tg_run_process *process = &model->processes[slot];
    if (stop_threads_of(model, process))
        tg_run_decide(model, (struct tg_run_decision){.kind = TG_DECIDE_STOP_PROCESS,
                                                      .thread = {process->info.dpid, 0}});
}

void tg_run_stop_group(struct tg_run_model *model, uint32_t control_group)
{
    bool any = false;
    for (size_t i = 0; i < model->n_by_dpid; i++) {
        const struct tg_run_process *process = &model->processes[model->by_dpid[i]];
        if (process->info.control_group == control_group && stop_threads_of(model, process))
            any = true;
    }
    if (any)
        tg_run_decide(model, (struct tg_run_decision){.kind = TG_DECIDE_STOP_GROUP, .number = control_group});
}

/* ---- processes */

struct tg_error *tg_run_model_add_process(struct tg_run_model *model, const struct tg_process_groups *info)
{
    if (tg_run_find_process(model, info->dpid) != TG_NO_SLOT)
        return tg_error_create(TG_ERROR_EXISTS, "there is a process %u already", info->dpid);
    if (!tg_run_make_room((void **)&model->by_dpid, model->n_by_dpid, &model->by_dpid_capacity,
                          sizeof *model->by_dpid) ||
        !tg_run_make_room((void **)&model->processes, model->n_processes, &model->processes_capacity,
                          sizeof *model->processes) ||
        /* so that every slot can become free */
        !tg_run_make_room((void **)&model->free_processes, model->n_processes,
                          &model->free_processes_capacity, sizeof *model->free_processes))
        return tg_error_no_memory();
    tg_run_begin(model);
    uint32_t slot;
    if (model->n_free_processes > 0) {
        slot = model->free_processes[--model->n_free_processes];
    } else {
        slot = (uint32_t)model->n_processes++;
        model->processes[slot] = (struct tg_run_process){0};
    }
    struct tg_run_process *process = &model->processes[slot];
    *process = (struct tg_run_process){
        .alive = true, .info = *info, .threads = process->threads, .capacity = process->capacity};
    size_t at = place_of_process(model, info->dpid);
    memmove(model->by_dpid + at + 1, model->by_dpid + at, (model->n_by_dpid - at) * sizeof *model->by_dpid);
    model->by_dpid[at] = slot;
    model->n_by_dpid++;
    tg_barrier_join_or_leave(model, false, slot, TG_BARRIER_BY_EXEC);
    tg_barrier_check_stuck(model);
    return tg_run_end(model);
}

struct tg_error *tg_run_model_change_process(struct tg_run_model *model, const struct tg_process_groups *info)
{
    uint32_t slot = tg_run_find_process(model, info->dpid);
    if (slot == TG_NO_SLOT)
        return no_such_unit((struct tg_thread_id){info->dpid, 0});
    tg_run_begin(model);
    struct tg_run_process *process = &model->processes[slot];
    process->info = *info;
    tg_barrier_join_or_leave(model, false, slot, TG_BARRIER_BY_EXEC);
    for (size_t i = 0; i < process->n_threads; i++)
        tg_barrier_join_or_leave(model, true, process->threads[i], TG_BARRIER_BY_EXEC);
    tg_barrier_check_satisfied(model);
    tg_barrier_check_stuck(model);
    return tg_run_end(model);
}

/* Frees the slot of a thread that has left all barriers. Its process still lists it. */
static void free_thread(struct tg_run_model *model, uint32_t slot)
{
    struct tg_run_thread *thread = &model->threads[slot];
    model->processes[thread->process].n_running -= thread->run == TG_RUN_RUNNING;
    *thread = (struct tg_run_thread){0};
    model->free_threads[model->n_free_threads++] = slot;
}

struct tg_error *tg_run_model_remove_process(struct tg_run_model *model, uint32_t dpid,
                                             enum tg_barrier_reason reason)
{
    uint32_t slot = tg_run_find_process(model, dpid);
    if (slot == TG_NO_SLOT)
        return no_such_unit((struct tg_thread_id){dpid, 0});
    tg_run_begin(model);
    struct tg_run_process *process = &model->processes[slot];
    for (size_t i = 0; i < process->n_threads; i++)
        tg_barrier_leave_all(model, true, process->threads[i], reason);
    tg_barrier_leave_all(model, false, slot, reason);
    for (size_t i = 0; i < process->n_threads; i++)
        free_thread(model, process->threads[i]);
    size_t at = place_of_process(model, dpid);
    memmove(model->by_dpid + at, model->by_dpid + at + 1, (--model->n_by_dpid - at) * sizeof *model->by_dpid);
    process->alive = false;
    process->n_threads = 0;
    model->free_processes[model->n_free_processes++] = slot;
    tg_barrier_check_satisfied(model);
    tg_barrier_check_stuck(model);
    return tg_run_end(model);
}

/* ---- threads */

/* Whether all of PROCESS is told to stop, or stands; *SINCE: the step in which that began. Who is told to
 * stop may still begin a thread, which is meant as well. */
static bool is_stopping(const struct tg_run_model *model, const struct tg_run_process *process,
                        uint64_t *since)
{
    *since = UINT64_MAX;
    for (size_t i = 0; i < process->n_threads; i++) {
        const struct tg_run_thread *thread = &model->threads[process->threads[i]];
        if (thread->run == TG_RUN_STOPPING && thread->stopping_since < *since)
            *since = thread->stopping_since;
    }
    return process->n_running == 0 && *since != UINT64_MAX;
}

struct tg_error *tg_run_model_add_thread(struct tg_run_model *model, struct tg_thread_id unit,
                                         bool is_manager)
{
    uint32_t owner = tg_run_find_process(model, unit.dpid);
    if (owner == TG_NO_SLOT)
        return no_such_unit((struct tg_thread_id){unit.dpid, 0});
    if (tg_run_find_thread(model, unit) != TG_NO_SLOT)
        return tg_error_create(TG_ERROR_EXISTS, "there is a thread %u.%u already", unit.dpid, unit.dtid);
    struct tg_run_process *process = &model->processes[owner];
    if (!tg_run_make_room((void **)&model->threads, model->n_threads, &model->threads_capacity,
                          sizeof *model->threads) ||
        !tg_run_make_room((void **)&model->free_threads, model->n_threads, &model->free_threads_capacity,
                          sizeof *model->free_threads) ||
        !tg_run_make_room((void **)&process->threads, process->n_threads, &process->capacity,
                          sizeof *process->threads))
        return tg_error_no_memory();
    uint64_t since;
    bool stops = is_stopping(model, process, &since);
    tg_run_begin(model);
    uint32_t slot = model->n_free_threads > 0 ? model->free_threads[--model->n_free_threads]
                                              : (uint32_t)model->n_threads++;
    model->threads[slot] = (struct tg_run_thread){
        .alive = true, .is_manager = is_manager, .process = owner, .dtid = unit.dtid, .run = TG_RUN_RUNNING};
    process->n_running++;
    size_t at = place_of_thread(model, process, unit.dtid);
    memmove(process->threads + at + 1, process->threads + at,
            (process->n_threads - at) * sizeof *process->threads);
    process->threads[at] = slot;
    process->n_threads++;
    tg_barrier_join_or_leave(model, true, slot, TG_BARRIER_BY_EXEC);
    if (stops || tg_run_is_held(model, slot))
        tg_run_stop_thread(model, slot);
    if (stops)
        model->threads[slot].stopping_since = since;
    tg_barrier_check_stuck(model);
    return tg_run_end(model);
}

struct tg_error *tg_run_model_set_manager(struct tg_run_model *model, struct tg_thread_id unit,
                                          bool is_manager)
{
    uint32_t slot = tg_run_find_thread(model, unit);
    if (slot == TG_NO_SLOT)
        return no_such_unit(unit);
    tg_run_begin(model);
    model->threads[slot].is_manager = is_manager;
    tg_barrier_join_or_leave(model, true, slot, TG_BARRIER_BY_EXEC);
    tg_barrier_check_satisfied(model);
    tg_barrier_check_stuck(model);
    return tg_run_end(model);
}

struct tg_error *tg_run_model_remove_thread(struct tg_run_model *model, struct tg_thread_id unit,
                                            enum tg_barrier_reason reason)
{
    uint32_t slot = tg_run_find_thread(model, unit);
    if (slot == TG_NO_SLOT)
        return no_such_unit(unit);
    tg_run_begin(model);
    struct tg_run_process *process = &model->processes[model->threads[slot].process];
    tg_barrier_leave_all(model, true, slot, reason);
    size_t at = place_of_thread(model, process, unit.dtid);
    free_thread(model, slot);
    memmove(process->threads + at, process->threads + at + 1,
            (--process->n_threads - at) * sizeof *process->threads);
    tg_barrier_check_satisfied(model);
    tg_barrier_check_stuck(model);
    return tg_run_end(model);
}

struct tg_error *tg_run_model_stopped(struct tg_run_model *model, struct tg_thread_id thread)
{
    uint32_t slot = tg_run_find_thread(model, thread);
    if (slot == TG_NO_SLOT)
        return no_such_unit(thread);
    tg_run_begin(model);
    tg_run_set_state(model, slot, TG_RUN_STOPPED);
    tg_barrier_check_stuck(model);
    return tg_run_end(model);
}

/* ---- commands */

/* A process's slot where UNIT is one, and a thread's. */
static struct tg_error *find_unit(const struct tg_run_model *model, struct tg_thread_id unit,
                                  uint32_t *process, uint32_t *thread)
{
    *process = unit.dtid == 0 ? tg_run_find_process(model, unit.dpid) : TG_NO_SLOT;
    *thread = unit.dtid != 0 ? tg_run_find_thread(model, unit) : TG_NO_SLOT;
    return *process == TG_NO_SLOT && *thread == TG_NO_SLOT ? no_such_unit(unit) : NULL;
}

static void go(struct tg_run_model *model, uint32_t slot)
{
    if (model->threads[slot].run == TG_RUN_RUNNING || tg_run_is_held(model, slot))
        return;
    tg_run_set_state(model, slot, TG_RUN_RUNNING);
    tg_run_decide(model, (struct tg_run_decision){.kind = TG_DECIDE_RESUME_THREAD,
                                                  .thread = tg_run_thread_id(model, slot)});
}

struct tg_error *tg_run_model_go(struct tg_run_model *model, struct tg_thread_id unit)
{
    uint32_t process, thread;
    struct tg_error *error = find_unit(model, unit, &process, &thread);
    if (error != NULL)
        return error;
    tg_run_begin(model);
    if (process == TG_NO_SLOT)
        go(model, thread);
    else
        for (size_t i = 0; i < model->processes[process].n_threads; i++)
            go(model, model->processes[process].threads[i]);
    tg_barrier_check_stuck(model);
    return tg_run_end(model);
}

static void stop_unit(struct tg_run_model *model, uint32_t process, uint32_t thread)
{
    if (process == TG_NO_SLOT)
        tg_run_stop_thread(model, thread);
    else
        tg_run_stop_process(model, process);
}

struct tg_error *tg_run_model_halt(struct tg_run_model *model, struct tg_thread_id unit)
{
    uint32_t process, thread;
    struct tg_error *error = find_unit(model, unit, &process, &thread);
    if (error != NULL)
        return error;
    tg_run_begin(model);
    stop_unit(model, process, thread);
    return tg_run_end(model);
}

struct tg_error *tg_run_model_hold(struct tg_run_model *model, struct tg_thread_id unit)
{
    uint32_t process, thread;
    struct tg_error *error = find_unit(model, unit, &process, &thread);
    if (error != NULL)
        return error;
    bool *held = process != TG_NO_SLOT ? &model->processes[process].held_by_user
                                       : &model->threads[thread].held_by_user;
    tg_run_begin(model);
    stop_unit(model, process, thread);
    if (!*held)
        tg_run_decide(model, (struct tg_run_decision){.kind = TG_DECIDE_HELD, .thread = unit});
    *held = true;
    return tg_run_end(model);
}

struct tg_error *tg_run_model_unhold(struct tg_run_model *model, struct tg_thread_id unit)
{
    uint32_t process, thread;
    struct tg_error *error = find_unit(model, unit, &process, &thread);
    if (error != NULL)
        return error;
    bool *held = process != TG_NO_SLOT ? &model->processes[process].held_by_user
                                       : &model->threads[thread].held_by_user;
    uint32_t slot = process != TG_NO_SLOT ? process : thread;
    tg_run_begin(model);
    if (*held)
        tg_run_decide(model, (struct tg_run_decision){
                                 .kind = TG_DECIDE_RELEASED, .thread = unit, .reason = TG_BARRIER_BY_UNHOLD});
    *held = false;
    for (size_t i = 0; i < model->n_barriers; i++) {
        struct tg_barrier *barrier = model->barriers[i];
        if (barrier->definition.of_threads == (process == TG_NO_SLOT) && slot < barrier->n_flags &&
            (barrier->flags[slot] & TG_BARRIER_FLAG_HOLDS) != 0)
            tg_barrier_release(model, barrier, slot, TG_BARRIER_BY_UNHOLD);
    }
    tg_barrier_check_stuck(model);
    return tg_run_end(model);
}

/* ---- questions */

bool tg_run_model_has_thread(const struct tg_run_model *model, struct tg_thread_id thread)
{
    return tg_run_find_thread(model, thread) != TG_NO_SLOT;
}

enum tg_run_state tg_run_model_state(const struct tg_run_model *model, struct tg_thread_id thread)
{
    return model->threads[tg_run_find_thread(model, thread)].run;
}

bool tg_run_model_holds(const struct tg_run_model *model, struct tg_thread_id unit)
{
    uint32_t slot = unit.dtid == 0 ? tg_run_find_process(model, unit.dpid) : tg_run_find_thread(model, unit);
    if (slot == TG_NO_SLOT)
        return false;
    if (unit.dtid == 0)
        return model->processes[slot].held_by_user || model->processes[slot].n_holds > 0;
    return model->threads[slot].held_by_user || model->threads[slot].n_holds > 0;
}

bool tg_run_model_is_held(const struct tg_run_model *model, struct tg_thread_id thread)
{
    uint32_t slot = tg_run_find_thread(model, thread);
    return slot != TG_NO_SLOT && tg_run_is_held(model, slot);
}
