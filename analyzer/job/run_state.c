#include "analyzer/job/run_state.h"

#include "format/base/array.h"
#include "format/base/search.h"

/* ---- changes and their decisions */

void tg_run_begin(struct tg_run_model *model)
{
    model->n_decisions = 0;
    model->step++;
}

struct tg_error *tg_run_end(struct tg_run_model *model)
{
    return model->failed ? tg_error_no_memory() : NULL;
}

void tg_run_decide(struct tg_run_model *model, struct tg_run_decision decision)
{
    if (TG_ARRAY_APPEND(model->decisions, model->n_decisions, model->decisions_capacity, decision) != NULL)
        model->failed = true;
}

/* ---- slots */

size_t tg_run_place_of_process(const struct tg_run_model *model, uint32_t dpid)
{
    return TG_PARTITION_POINT(model->n_by_dpid, i, model->processes[model->by_dpid[i]].info.dpid < dpid);
}

uint32_t tg_run_find_process(const struct tg_run_model *model, uint32_t dpid)
{
    size_t at = tg_run_place_of_process(model, dpid);
    if (at < model->n_by_dpid && model->processes[model->by_dpid[at]].info.dpid == dpid)
        return model->by_dpid[at];
    return TG_NO_SLOT;
}

size_t tg_run_place_of_thread(const struct tg_run_model *model, const struct tg_run_process *process,
                              uint32_t dtid)
{
    return TG_PARTITION_POINT(process->n_threads, i, model->threads[process->threads[i]].dtid < dtid);
}

uint32_t tg_run_find_thread(const struct tg_run_model *model, struct tg_thread_id thread)
{
    uint32_t slot = tg_run_find_process(model, thread.dpid);
    if (slot == TG_NO_SLOT)
        return TG_NO_SLOT;
    const struct tg_run_process *process = &model->processes[slot];
    size_t at = tg_run_place_of_thread(model, process, thread.dtid);
    if (at < process->n_threads && model->threads[process->threads[at]].dtid == thread.dtid)
        return process->threads[at];
    return TG_NO_SLOT;
}

uint32_t tg_run_find(const struct tg_run_model *model, struct tg_thread_id thread)
{
    return thread.dtid == 0 ? tg_run_find_process(model, thread.dpid) : tg_run_find_thread(model, thread);
}

struct tg_thread_id tg_run_thread_id(const struct tg_run_model *model, uint32_t slot)
{
    const struct tg_run_thread *thread = &model->threads[slot];
    return (struct tg_thread_id){model->processes[thread->process].info.dpid, thread->dtid};
}

struct tg_error *tg_run_not_found(struct tg_thread_id thread)
{
    if (thread.dtid == 0)
        return tg_error_create(TG_ERROR_NOT_FOUND, "no process %u", thread.dpid);
    return tg_error_create(TG_ERROR_NOT_FOUND, "no thread %u.%u", thread.dpid, thread.dtid);
}

size_t tg_barrier_place(const struct tg_run_model *model, uint32_t id)
{
    return TG_PARTITION_POINT(model->n_barriers, i, model->barriers[i]->definition.id < id);
}

struct tg_barrier *tg_barrier_find(const struct tg_run_model *model, uint32_t id)
{
    size_t at = tg_barrier_place(model, id);
    return at < model->n_barriers && model->barriers[at]->definition.id == id ? model->barriers[at] : NULL;
}

struct tg_thread_id tg_barrier_member_id(const struct tg_run_model *model, const struct tg_barrier *barrier,
                                         uint32_t slot)
{
    if (barrier->definition.of_threads)
        return tg_run_thread_id(model, slot);
    return (struct tg_thread_id){model->processes[slot].info.dpid, 0};
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

/* Stops the running threads of PROCESS; false: none was running. */
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
