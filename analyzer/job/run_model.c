#include "analyzer/job/run_model.h"

#include "analyzer/job/barriers_internal.h"
#include "analyzer/job/stuck_barriers.h"
#include "format/base/array.h"

#include <stdlib.h>

/* ---- life */

struct tg_error *tg_run_model_create(struct tg_run_model **model)
{
    struct tg_run_model *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    *model = made;
    return NULL;
}

void tg_run_model_destroy(struct tg_run_model *model)
{
    if (model == NULL)
        return;
    for (size_t i = 0; i < model->n_barriers; i++)
        tg_barrier_destroy(model->barriers[i]);
    for (size_t i = 0; i < model->n_processes; i++)
        free(model->processes[i].threads);
    free(model->barriers);
    free(model->processes);
    free(model->free_processes);
    free(model->by_dpid);
    free(model->threads);
    free(model->free_threads);
    free(model->decisions);
    free(model);
}

static struct tg_error *copy_threads(const struct tg_run_model *from, struct tg_run_model *to)
{
    struct tg_error *error =
        TG_ARRAY_COPY(to->threads, to->n_threads, to->threads_capacity, from->threads, from->n_threads);
    if (error == NULL)
        error = TG_ARRAY_COPY(to->free_threads, to->n_free_threads, to->free_threads_capacity,
                              from->free_threads, from->n_free_threads);
    return error != NULL ? error
                         : TG_ARRAY_RESERVE(to->free_threads, to->free_threads_capacity, to->n_threads);
}

static struct tg_error *copy_processes(const struct tg_run_model *from, struct tg_run_model *to)
{
    struct tg_error *error =
        TG_ARRAY_COPY(to->by_dpid, to->n_by_dpid, to->by_dpid_capacity, from->by_dpid, from->n_by_dpid);
    if (error == NULL)
        error = TG_ARRAY_COPY(to->free_processes, to->n_free_processes, to->free_processes_capacity,
                              from->free_processes, from->n_free_processes);
    if (error == NULL)
        error = TG_ARRAY_RESERVE(to->free_processes, to->free_processes_capacity, from->n_processes);
    if (error == NULL)
        error = TG_ARRAY_RESERVE(to->processes, to->processes_capacity, from->n_processes);
    while (error == NULL && to->n_processes < from->n_processes) {
        const struct tg_run_process *process = &from->processes[to->n_processes];
        struct tg_run_process *copy = &to->processes[to->n_processes++];
        *copy = *process;
        copy->threads = NULL;
        copy->n_threads = copy->capacity = 0;
        error = TG_ARRAY_COPY(copy->threads, copy->n_threads, copy->capacity, process->threads,
                              process->n_threads);
    }
    return error;
}

static struct tg_error *copy_barriers(const struct tg_run_model *from, struct tg_run_model *to)
{
    struct tg_error *error = TG_ARRAY_RESERVE(to->barriers, to->barriers_capacity, from->n_barriers);
    while (error == NULL && to->n_barriers < from->n_barriers) {
        struct tg_barrier *barrier = tg_barrier_copy(from->barriers[to->n_barriers]);
        if (barrier == NULL)
            return tg_error_no_memory();
        to->barriers[to->n_barriers++] = barrier;
    }
    to->n_places = from->n_places;
    return error;
}

struct tg_error *tg_run_model_copy(const struct tg_run_model *model, struct tg_run_model **copy)
{
    struct tg_run_model *made;
    struct tg_error *error = tg_run_model_create(&made);
    if (error != NULL)
        return error;
    made->step = model->step;
    made->is_over = model->is_over;
    error = copy_threads(model, made);
    if (error == NULL)
        error = copy_processes(model, made);
    if (error == NULL)
        error = copy_barriers(model, made);
    if (error == NULL)
        *copy = made;
    else
        tg_run_model_destroy(made);
    return error;
}

const struct tg_run_decision *tg_run_model_decisions(const struct tg_run_model *model, size_t *count)
{
    *count = model->n_decisions;
    return model->decisions;
}

/* ---- processes */

struct tg_error *tg_run_model_add_process(struct tg_run_model *model, const struct tg_process_groups *info)
{
    if (tg_run_find_process(model, info->dpid) != TG_NO_SLOT)
        return tg_error_create(TG_ERROR_EXISTS, "process %u exists already", info->dpid);
    bool is_new = model->n_free_processes == 0;
    uint32_t slot =
        is_new ? (uint32_t)model->n_processes : model->free_processes[model->n_free_processes - 1];
    if (TG_ARRAY_RESERVE(model->processes, model->processes_capacity, model->n_processes + 1) != NULL ||
        TG_ARRAY_RESERVE(model->free_processes, model->free_processes_capacity, model->n_processes + 1) !=
            NULL ||
        TG_ARRAY_INSERT(model->by_dpid, model->n_by_dpid, model->by_dpid_capacity,
                        tg_run_place_of_process(model, info->dpid), slot) != NULL)
        return tg_error_no_memory();
    tg_run_begin(model);
    struct tg_run_process *process = &model->processes[slot];
    if (is_new) {
        *process = (struct tg_run_process){0};
        model->n_processes++;
    } else {
        model->n_free_processes--;
    }
    *process = (struct tg_run_process){
        .alive = true, .info = *info, .threads = process->threads, .capacity = process->capacity};
    tg_barrier_join_or_leave(model, false, slot, TG_BARRIER_BY_EXEC);
    tg_stuck_barriers_check(model);
    return tg_run_end(model);
}

struct tg_error *tg_run_model_change_process(struct tg_run_model *model, const struct tg_process_groups *info)
{
    uint32_t slot = tg_run_find_process(model, info->dpid);
    if (slot == TG_NO_SLOT)
        return tg_run_not_found((struct tg_thread_id){info->dpid, 0});
    tg_run_begin(model);
    struct tg_run_process *process = &model->processes[slot];
    process->info = *info;
    process->is_ending = false;
    tg_barrier_join_or_leave_with_threads(model, slot, TG_BARRIER_BY_EXEC);
    tg_barrier_check_satisfied(model);
    tg_stuck_barriers_check(model);
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
        return tg_run_not_found((struct tg_thread_id){dpid, 0});
    tg_run_begin(model);
    struct tg_run_process *process = &model->processes[slot];
    for (size_t i = 0; i < process->n_threads; i++)
        tg_barrier_leave_all(model, true, process->threads[i], reason);
    tg_barrier_leave_all(model, false, slot, reason);
    for (size_t i = 0; i < process->n_threads; i++)
        free_thread(model, process->threads[i]);
    TG_ARRAY_REMOVE(model->by_dpid, model->n_by_dpid, tg_run_place_of_process(model, dpid));
    process->alive = false;
    process->n_threads = 0;
    model->free_processes[model->n_free_processes++] = slot;
    tg_barrier_check_satisfied(model);
    tg_stuck_barriers_check(model);
    return tg_run_end(model);
}

/* ---- threads */

/* Whether all threads of PROCESS are stopping or stopped; *SINCE: the step in which that began. A thread
 * that is stopping may still begin another one, which is to stop as well. */
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

struct tg_error *tg_run_model_add_thread(struct tg_run_model *model, struct tg_thread_id thread,
                                         bool is_manager)
{
    uint32_t owner = tg_run_find_process(model, thread.dpid);
    if (owner == TG_NO_SLOT)
        return tg_run_not_found((struct tg_thread_id){thread.dpid, 0});
    if (tg_run_find_thread(model, thread) != TG_NO_SLOT)
        return tg_error_create(TG_ERROR_EXISTS, "thread %u.%u exists already", thread.dpid, thread.dtid);
    struct tg_run_process *process = &model->processes[owner];
    bool is_new = model->n_free_threads == 0;
    uint32_t slot = is_new ? (uint32_t)model->n_threads : model->free_threads[model->n_free_threads - 1];
    if (TG_ARRAY_RESERVE(model->threads, model->threads_capacity, model->n_threads + 1) != NULL ||
        TG_ARRAY_RESERVE(model->free_threads, model->free_threads_capacity, model->n_threads + 1) != NULL ||
        TG_ARRAY_INSERT(process->threads, process->n_threads, process->capacity,
                        tg_run_place_of_thread(model, process, thread.dtid), slot) != NULL)
        return tg_error_no_memory();
    if (is_new)
        model->n_threads++;
    else
        model->n_free_threads--;
    model->threads[slot] = (struct tg_run_thread){.alive = true,
                                                  .is_manager = is_manager,
                                                  .process = owner,
                                                  .dtid = thread.dtid,
                                                  .run = TG_RUN_RUNNING};
    uint64_t since;
    bool stops = is_stopping(model, process, &since);
    process->n_running++;
    tg_run_begin(model);
    tg_barrier_join_or_leave(model, true, slot, TG_BARRIER_BY_EXEC);
    if (stops || tg_run_is_held(model, slot))
        tg_run_stop_thread(model, slot);
    if (stops)
        model->threads[slot].stopping_since = since;
    tg_stuck_barriers_check(model);
    return tg_run_end(model);
}

struct tg_error *tg_run_model_set_manager(struct tg_run_model *model, struct tg_thread_id thread,
                                          bool is_manager)
{
    uint32_t slot = tg_run_find_thread(model, thread);
    if (slot == TG_NO_SLOT)
        return tg_run_not_found(thread);
    tg_run_begin(model);
    model->threads[slot].is_manager = is_manager;
    tg_barrier_join_or_leave(model, true, slot, TG_BARRIER_BY_EXEC);
    tg_barrier_check_satisfied(model);
    tg_stuck_barriers_check(model);
    return tg_run_end(model);
}

struct tg_error *tg_run_model_remove_thread(struct tg_run_model *model, struct tg_thread_id thread,
                                            enum tg_barrier_reason reason)
{
    uint32_t slot = tg_run_find_thread(model, thread);
    if (slot == TG_NO_SLOT)
        return tg_run_not_found(thread);
    tg_run_begin(model);
    struct tg_run_process *process = &model->processes[model->threads[slot].process];
    tg_barrier_leave_all(model, true, slot, reason);
    size_t at = tg_run_place_of_thread(model, process, thread.dtid);
    free_thread(model, slot);
    TG_ARRAY_REMOVE(process->threads, process->n_threads, at);
    tg_barrier_check_satisfied(model);
    tg_stuck_barriers_check(model);
    return tg_run_end(model);
}

struct tg_error *tg_run_model_stopped(struct tg_run_model *model, struct tg_thread_id thread)
{
    uint32_t slot = tg_run_find_thread(model, thread);
    if (slot == TG_NO_SLOT)
        return tg_run_not_found(thread);
    tg_run_begin(model);
    tg_run_set_state(model, slot, TG_RUN_STOPPED);
    tg_stuck_barriers_check(model);
    return tg_run_end(model);
}

struct tg_error *tg_run_model_end(struct tg_run_model *model)
{
    tg_run_begin(model);
    model->is_over = true;
    return tg_run_end(model);
}

/* ---- commands */

static void go(struct tg_run_model *model, uint32_t slot)
{
    if (model->threads[slot].run == TG_RUN_RUNNING || tg_run_is_held(model, slot))
        return;
    tg_run_set_state(model, slot, TG_RUN_RUNNING);
    tg_run_decide(model, (struct tg_run_decision){.kind = TG_DECIDE_RESUME_THREAD,
                                                  .thread = tg_run_thread_id(model, slot)});
}

struct tg_error *tg_run_model_go(struct tg_run_model *model, struct tg_thread_id thread)
{
    uint32_t slot = tg_run_find(model, thread);
    if (slot == TG_NO_SLOT)
        return tg_run_not_found(thread);
    tg_run_begin(model);
    if (thread.dtid != 0)
        go(model, slot);
    else
        for (size_t i = 0; i < model->processes[slot].n_threads; i++)
            go(model, model->processes[slot].threads[i]);
    tg_stuck_barriers_check(model);
    return tg_run_end(model);
}

static void stop(struct tg_run_model *model, struct tg_thread_id thread, uint32_t slot)
{
    if (thread.dtid != 0)
        tg_run_stop_thread(model, slot);
    else
        tg_run_stop_process(model, slot);
}

struct tg_error *tg_run_model_halt(struct tg_run_model *model, struct tg_thread_id thread)
{
    uint32_t slot = tg_run_find(model, thread);
    if (slot == TG_NO_SLOT)
        return tg_run_not_found(thread);
    tg_run_begin(model);
    stop(model, thread, slot);
    return tg_run_end(model);
}

static bool *held_by_user(struct tg_run_model *model, struct tg_thread_id thread, uint32_t slot)
{
    return thread.dtid != 0 ? &model->threads[slot].held_by_user : &model->processes[slot].held_by_user;
}

struct tg_error *tg_run_model_hold(struct tg_run_model *model, struct tg_thread_id thread)
{
    uint32_t slot = tg_run_find(model, thread);
    if (slot == TG_NO_SLOT)
        return tg_run_not_found(thread);
    bool *held = held_by_user(model, thread, slot);
    tg_run_begin(model);
    stop(model, thread, slot);
    if (!*held)
        tg_run_decide(model, (struct tg_run_decision){.kind = TG_DECIDE_HELD, .thread = thread});
    *held = true;
    return tg_run_end(model);
}

struct tg_error *tg_run_model_unhold(struct tg_run_model *model, struct tg_thread_id thread)
{
    uint32_t slot = tg_run_find(model, thread);
    if (slot == TG_NO_SLOT)
        return tg_run_not_found(thread);
    bool *held = held_by_user(model, thread, slot);
    tg_run_begin(model);
    if (*held)
        tg_run_decide(model, (struct tg_run_decision){.kind = TG_DECIDE_RELEASED,
                                                      .thread = thread,
                                                      .reason = TG_BARRIER_BY_UNHOLD});
    *held = false;
    tg_barrier_release_all(model, thread.dtid != 0, slot, TG_BARRIER_BY_UNHOLD);
    tg_stuck_barriers_check(model);
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

bool tg_run_model_holds(const struct tg_run_model *model, struct tg_thread_id thread)
{
    uint32_t slot = tg_run_find(model, thread);
    if (slot == TG_NO_SLOT)
        return false;
    if (thread.dtid == 0)
        return model->processes[slot].held_by_user || model->processes[slot].n_holds > 0;
    return model->threads[slot].held_by_user || model->threads[slot].n_holds > 0;
}

bool tg_run_model_is_held_by_user(const struct tg_run_model *model, struct tg_thread_id thread)
{
    uint32_t slot = tg_run_find(model, thread);
    return slot != TG_NO_SLOT &&
           (thread.dtid == 0 ? model->processes[slot].held_by_user : model->threads[slot].held_by_user);
}

bool tg_run_model_is_held(const struct tg_run_model *model, struct tg_thread_id thread)
{
    uint32_t slot = tg_run_find_thread(model, thread);
    return slot != TG_NO_SLOT && tg_run_is_held(model, slot);
}
