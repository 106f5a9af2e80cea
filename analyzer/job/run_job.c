/* The barrier model's job: processes and threads, who runs, who is held. */
#include "analyzer/job/run_model.h"
#include "analyzer/job/run_model_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- slots */

/* The place in by_dpid of the first process whose dpid is not less. */
static size_t place_of_process(const struct tg_barrier_model *model, uint32_t dpid)
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

uint32_t tg_barrier_process_slot(const struct tg_barrier_model *model, uint32_t dpid)
{
    size_t at = place_of_process(model, dpid);
    if (at < model->n_by_dpid && model->processes[model->by_dpid[at]].info.dpid == dpid)
        return model->by_dpid[at];
    return TG_NO_SLOT;
}

static size_t place_of_thread(const struct tg_barrier_model *model,
                              const struct tg_barrier_process_slot *process, uint32_t dtid)
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

uint32_t tg_barrier_thread_slot(const struct tg_barrier_model *model, struct tg_barrier_unit thread)
{
    uint32_t slot = tg_barrier_process_slot(model, thread.dpid);
    if (slot == TG_NO_SLOT)
        return TG_NO_SLOT;
    const struct tg_barrier_process_slot *process = &model->processes[slot];
    size_t at = place_of_thread(model, process, thread.dtid);
    if (at < process->n_threads && model->threads[process->threads[at]].dtid == thread.dtid)
        return process->threads[at];
    return TG_NO_SLOT;
}

struct tg_barrier_unit tg_barrier_unit_of_thread(const struct tg_barrier_model *model, uint32_t slot)
{
    const struct tg_barrier_thread_slot *thread = &model->threads[slot];
    return (struct tg_barrier_unit){model->processes[thread->process].info.dpid, thread->dtid};
}

static struct tg_error *no_such_unit(struct tg_barrier_unit unit)
{
    if (unit.dtid == 0)
        return tg_error_create(TG_ERROR_NOT_FOUND, "there is no process %u", unit.dpid);
    return tg_error_create(TG_ERROR_NOT_FOUND, "there is no thread %u.%u", unit.dpid, unit.dtid);
}

/* ---- running */

void tg_barrier_set_run(struct tg_barrier_model *model, uint32_t slot, enum tg_barrier_run run)
{
    struct tg_barrier_thread_slot *thread = &model->threads[slot];
    struct tg_barrier_process_slot *process = &model->processes[thread->process];
    process->n_running -= thread->run == TG_BARRIER_RUNS;
    process->n_running += run == TG_BARRIER_RUNS;
    if (run == TG_BARRIER_STOPPING && thread->run == TG_BARRIER_RUNS)
        thread->stopping_since = model->step;
    thread->run = run;
}

bool tg_barrier_thread_is_held(const struct tg_barrier_model *model, uint32_t slot)
{
    const struct tg_barrier_thread_slot *thread = &model->threads[slot];
    const struct tg_barrier_process_slot *process = &model->processes[thread->process];
    return thread->held_by_user || thread->n_holds > 0 || process->held_by_user || process->n_holds > 0;
}

void tg_barrier_stop_thread(struct tg_barrier_model *model, uint32_t slot)
{
    if (model->threads[slot].run != TG_BARRIER_RUNS)
        return;
    tg_barrier_set_run(model, slot, TG_BARRIER_STOPPING);
    tg_barrier_decide(model, (struct tg_barrier_decision){.kind = TG_BARRIER_STOP_THREAD_NOW,
                                                          .unit = tg_barrier_unit_of_thread(model, slot)});
}

/* What runs of it is stopping; false: nothing ran. */
static bool stop_threads_of(struct tg_barrier_model *model, const struct tg_barrier_process_slot *process)
{
    if (process->n_running == 0)
        return false;
    for (size_t i = 0; i < process->n_threads; i++)
        if (model->threads[process->threads[i]].run == TG_BARRIER_RUNS)
            tg_barrier_set_run(model, process->threads[i], TG_BARRIER_STOPPING);
    return true;
}

void tg_barrier_stop_process(struct tg_barrier_model *model, uint32_t slot)
{
    const struct tg_barrier_process_slot *process = &model->processes[slot];
    if (stop_threads_of(model, process))
        tg_barrier_decide(model, (struct tg_barrier_decision){.kind = TG_BARRIER_STOP_PROCESS_NOW,
                                                              .unit = {process->info.dpid, 0}});
}

void tg_barrier_stop_group(struct tg_barrier_model *model, uint32_t control_group)
{
    bool any = false;
    for (size_t i = 0; i < model->n_by_dpid; i++) {
        const struct tg_barrier_process_slot *process = &model->processes[model->by_dpid[i]];
        if (process->info.control_group == control_group && stop_threads_of(model, process))
            any = true;
    }
    if (any)
        tg_barrier_decide(
            model, (struct tg_barrier_decision){.kind = TG_BARRIER_STOP_GROUP_NOW, .number = control_group});
}

/* ---- processes */

struct tg_error *tg_barrier_model_add_process(struct tg_barrier_model *model,
                                              const struct tg_barrier_process *info)
{
    if (tg_barrier_process_slot(model, info->dpid) != TG_NO_SLOT)
        return tg_error_create(TG_ERROR_EXISTS, "there is a process %u already", info->dpid);
    if (!tg_barrier_make_room((void **)&model->by_dpid, model->n_by_dpid, &model->by_dpid_capacity,
                              sizeof *model->by_dpid) ||
        !tg_barrier_make_room((void **)&model->processes, model->n_processes, &model->processes_capacity,
                              sizeof *model->processes) ||
        /* so that every slot can become free */
        !tg_barrier_make_room((void **)&model->free_processes, model->n_processes,
                              &model->free_processes_capacity, sizeof *model->free_processes))
        return tg_error_no_memory();
    tg_barrier_begin(model);
    uint32_t slot;
    if (model->n_free_processes > 0) {
        slot = model->free_processes[--model->n_free_processes];
    } else {
        slot = (uint32_t)model->n_processes++;
        model->processes[slot] = (struct tg_barrier_process_slot){0};
    }
    struct tg_barrier_process_slot *process = &model->processes[slot];
    *process = (struct tg_barrier_process_slot){
        .alive = true, .info = *info, .threads = process->threads, .capacity = process->capacity};
    size_t at = place_of_process(model, info->dpid);
    memmove(model->by_dpid + at + 1, model->by_dpid + at, (model->n_by_dpid - at) * sizeof *model->by_dpid);
    model->by_dpid[at] = slot;
    model->n_by_dpid++;
    tg_barrier_join_or_leave(model, false, slot, TG_BARRIER_BY_EXEC);
    tg_barrier_check_stuck(model);
    return tg_barrier_end(model);
}

struct tg_error *tg_barrier_model_change_process(struct tg_barrier_model *model,
                                                 const struct tg_barrier_process *info)
{
    uint32_t slot = tg_barrier_process_slot(model, info->dpid);
    if (slot == TG_NO_SLOT)
        return no_such_unit((struct tg_barrier_unit){info->dpid, 0});
    tg_barrier_begin(model);
    struct tg_barrier_process_slot *process = &model->processes[slot];
    process->info = *info;
    tg_barrier_join_or_leave(model, false, slot, TG_BARRIER_BY_EXEC);
    for (size_t i = 0; i < process->n_threads; i++)
        tg_barrier_join_or_leave(model, true, process->threads[i], TG_BARRIER_BY_EXEC);
    tg_barrier_check_satisfied(model);
    tg_barrier_check_stuck(model);
    return tg_barrier_end(model);
}

/* Frees the slot of a thread that has left all barriers. Its process still lists it. */
static void free_thread(struct tg_barrier_model *model, uint32_t slot)
{
    struct tg_barrier_thread_slot *thread = &model->threads[slot];
    model->processes[thread->process].n_running -= thread->run == TG_BARRIER_RUNS;
    *thread = (struct tg_barrier_thread_slot){0};
    model->free_threads[model->n_free_threads++] = slot;
}

struct tg_error *tg_barrier_model_remove_process(struct tg_barrier_model *model, uint32_t dpid,
                                                 enum tg_barrier_reason reason)
{
    uint32_t slot = tg_barrier_process_slot(model, dpid);
    if (slot == TG_NO_SLOT)
        return no_such_unit((struct tg_barrier_unit){dpid, 0});
    tg_barrier_begin(model);
    struct tg_barrier_process_slot *process = &model->processes[slot];
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
    return tg_barrier_end(model);
}

/* ---- threads */

/* Whether all of PROCESS is told to stop, or stands; *SINCE: the step in which that began. Who is told to
 * stop may still begin a thread, which is meant as well. */
static bool is_stopping(const struct tg_barrier_model *model, const struct tg_barrier_process_slot *process,
                        uint64_t *since)
{
    *since = UINT64_MAX;
    for (size_t i = 0; i < process->n_threads; i++) {
        const struct tg_barrier_thread_slot *thread = &model->threads[process->threads[i]];
        if (thread->run == TG_BARRIER_STOPPING && thread->stopping_since < *since)
            *since = thread->stopping_since;
    }
    return process->n_running == 0 && *since != UINT64_MAX;
}

struct tg_error *tg_barrier_model_add_thread(struct tg_barrier_model *model, struct tg_barrier_unit unit,
                                             bool is_manager)
{
    uint32_t owner = tg_barrier_process_slot(model, unit.dpid);
    if (owner == TG_NO_SLOT)
        return no_such_unit((struct tg_barrier_unit){unit.dpid, 0});
    if (tg_barrier_thread_slot(model, unit) != TG_NO_SLOT)
        return tg_error_create(TG_ERROR_EXISTS, "there is a thread %u.%u already", unit.dpid, unit.dtid);
    struct tg_barrier_process_slot *process = &model->processes[owner];
    if (!tg_barrier_make_room((void **)&model->threads, model->n_threads, &model->threads_capacity,
                              sizeof *model->threads) ||
        !tg_barrier_make_room((void **)&model->free_threads, model->n_threads, &model->free_threads_capacity,
                              sizeof *model->free_threads) ||
        !tg_barrier_make_room((void **)&process->threads, process->n_threads, &process->capacity,
                              sizeof *process->threads))
        return tg_error_no_memory();
    uint64_t since;
    bool stops = is_stopping(model, process, &since);
    tg_barrier_begin(model);
    uint32_t slot = model->n_free_threads > 0 ? model->free_threads[--model->n_free_threads]
                                              : (uint32_t)model->n_threads++;
    model->threads[slot] = (struct tg_barrier_thread_slot){
        .alive = true, .is_manager = is_manager, .process = owner, .dtid = unit.dtid, .run = TG_BARRIER_RUNS};
    process->n_running++;
    size_t at = place_of_thread(model, process, unit.dtid);
    memmove(process->threads + at + 1, process->threads + at,
            (process->n_threads - at) * sizeof *process->threads);
    process->threads[at] = slot;
    process->n_threads++;
    tg_barrier_join_or_leave(model, true, slot, TG_BARRIER_BY_EXEC);
    if (stops || tg_barrier_thread_is_held(model, slot))
        tg_barrier_stop_thread(model, slot);
    if (stops)
        model->threads[slot].stopping_since = since;
    tg_barrier_check_stuck(model);
    return tg_barrier_end(model);
}

struct tg_error *tg_barrier_model_set_manager(struct tg_barrier_model *model, struct tg_barrier_unit unit,
                                              bool is_manager)
{
    uint32_t slot = tg_barrier_thread_slot(model, unit);
    if (slot == TG_NO_SLOT)
        return no_such_unit(unit);
    tg_barrier_begin(model);
    model->threads[slot].is_manager = is_manager;
    tg_barrier_join_or_leave(model, true, slot, TG_BARRIER_BY_EXEC);
    tg_barrier_check_satisfied(model);
    tg_barrier_check_stuck(model);
    return tg_barrier_end(model);
}

struct tg_error *tg_barrier_model_remove_thread(struct tg_barrier_model *model, struct tg_barrier_unit unit,
                                                enum tg_barrier_reason reason)
{
    uint32_t slot = tg_barrier_thread_slot(model, unit);
    if (slot == TG_NO_SLOT)
        return no_such_unit(unit);
    tg_barrier_begin(model);
    struct tg_barrier_process_slot *process = &model->processes[model->threads[slot].process];
    tg_barrier_leave_all(model, true, slot, reason);
    size_t at = place_of_thread(model, process, unit.dtid);
    free_thread(model, slot);
    memmove(process->threads + at, process->threads + at + 1,
            (--process->n_threads - at) * sizeof *process->threads);
    tg_barrier_check_satisfied(model);
    tg_barrier_check_stuck(model);
    return tg_barrier_end(model);
}

struct tg_error *tg_barrier_model_stopped(struct tg_barrier_model *model, struct tg_barrier_unit thread)
{
    uint32_t slot = tg_barrier_thread_slot(model, thread);
    if (slot == TG_NO_SLOT)
        return no_such_unit(thread);
    tg_barrier_begin(model);
    tg_barrier_set_run(model, slot, TG_BARRIER_STOPPED);
    tg_barrier_check_stuck(model);
    return tg_barrier_end(model);
}

/* ---- commands */

/* A process's slot where UNIT is one, and a thread's. */
static struct tg_error *find_unit(const struct tg_barrier_model *model, struct tg_barrier_unit unit,
                                  uint32_t *process, uint32_t *thread)
{
    *process = unit.dtid == 0 ? tg_barrier_process_slot(model, unit.dpid) : TG_NO_SLOT;
    *thread = unit.dtid != 0 ? tg_barrier_thread_slot(model, unit) : TG_NO_SLOT;
    return *process == TG_NO_SLOT && *thread == TG_NO_SLOT ? no_such_unit(unit) : NULL;
}

static void go(struct tg_barrier_model *model, uint32_t slot)
{
    if (model->threads[slot].run == TG_BARRIER_RUNS || tg_barrier_thread_is_held(model, slot))
        return;
    tg_barrier_set_run(model, slot, TG_BARRIER_RUNS);
    tg_barrier_decide(model, (struct tg_barrier_decision){.kind = TG_BARRIER_RESUME_THREAD,
                                                          .unit = tg_barrier_unit_of_thread(model, slot)});
}

struct tg_error *tg_barrier_model_go(struct tg_barrier_model *model, struct tg_barrier_unit unit)
{
    uint32_t process, thread;
    struct tg_error *error = find_unit(model, unit, &process, &thread);
    if (error != NULL)
        return error;
    tg_barrier_begin(model);
    if (process == TG_NO_SLOT)
        go(model, thread);
    else
        for (size_t i = 0; i < model->processes[process].n_threads; i++)
            go(model, model->processes[process].threads[i]);
    tg_barrier_check_stuck(model);
    return tg_barrier_end(model);
}

static void stop_unit(struct tg_barrier_model *model, uint32_t process, uint32_t thread)
{
    if (process == TG_NO_SLOT)
        tg_barrier_stop_thread(model, thread);
    else
        tg_barrier_stop_process(model, process);
}

struct tg_error *tg_barrier_model_halt(struct tg_barrier_model *model, struct tg_barrier_unit unit)
{
    uint32_t process, thread;
    struct tg_error *error = find_unit(model, unit, &process, &thread);
    if (error != NULL)
        return error;
    tg_barrier_begin(model);
    stop_unit(model, process, thread);
    return tg_barrier_end(model);
}

struct tg_error *tg_barrier_model_hold(struct tg_barrier_model *model, struct tg_barrier_unit unit)
{
    uint32_t process, thread;
    struct tg_error *error = find_unit(model, unit, &process, &thread);
    if (error != NULL)
        return error;
    bool *held = process != TG_NO_SLOT ? &model->processes[process].held_by_user
                                       : &model->threads[thread].held_by_user;
    tg_barrier_begin(model);
    stop_unit(model, process, thread);
    if (!*held)
        tg_barrier_decide(model, (struct tg_barrier_decision){.kind = TG_BARRIER_HELD, .unit = unit});
    *held = true;
    return tg_barrier_end(model);
}

struct tg_error *tg_barrier_model_unhold(struct tg_barrier_model *model, struct tg_barrier_unit unit)
{
    uint32_t process, thread;
    struct tg_error *error = find_unit(model, unit, &process, &thread);
    if (error != NULL)
        return error;
    bool *held = process != TG_NO_SLOT ? &model->processes[process].held_by_user
                                       : &model->threads[thread].held_by_user;
    uint32_t slot = process != TG_NO_SLOT ? process : thread;
    tg_barrier_begin(model);
    if (*held)
        tg_barrier_decide(model, (struct tg_barrier_decision){.kind = TG_BARRIER_RELEASED,
                                                              .unit = unit,
                                                              .reason = TG_BARRIER_BY_UNHOLD});
    *held = false;
    for (size_t i = 0; i < model->n_barriers; i++) {
        struct tg_barrier *barrier = model->barriers[i];
        if (barrier->definition.of_threads == (process == TG_NO_SLOT) && slot < barrier->n_flags &&
            (barrier->flags[slot] & TG_BARRIER_FLAG_HOLDS) != 0)
            tg_barrier_release(model, barrier, slot, TG_BARRIER_BY_UNHOLD);
    }
    tg_barrier_check_stuck(model);
    return tg_barrier_end(model);
}

/* ---- questions */

bool tg_barrier_model_has_thread(const struct tg_barrier_model *model, struct tg_barrier_unit thread)
{
    return tg_barrier_thread_slot(model, thread) != TG_NO_SLOT;
}

enum tg_barrier_run tg_barrier_model_run(const struct tg_barrier_model *model, struct tg_barrier_unit thread)
{
    return model->threads[tg_barrier_thread_slot(model, thread)].run;
}

bool tg_barrier_model_holds(const struct tg_barrier_model *model, struct tg_barrier_unit unit)
{
    uint32_t slot =
        unit.dtid == 0 ? tg_barrier_process_slot(model, unit.dpid) : tg_barrier_thread_slot(model, unit);
    if (slot == TG_NO_SLOT)
        return false;
    if (unit.dtid == 0)
        return model->processes[slot].held_by_user || model->processes[slot].n_holds > 0;
    return model->threads[slot].held_by_user || model->threads[slot].n_holds > 0;
}

bool tg_barrier_model_is_held(const struct tg_barrier_model *model, struct tg_barrier_unit thread)
{
    uint32_t slot = tg_barrier_thread_slot(model, thread);
    return slot != TG_NO_SLOT && tg_barrier_thread_is_held(model, slot);
}
