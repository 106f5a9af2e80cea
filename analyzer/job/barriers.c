#include "analyzer/job/barriers.h"

#include "analyzer/job/barriers_internal.h"
#include "analyzer/job/stuck_barriers.h"
#include "format/base/array.h"

#include <stdlib.h>
#include <string.h>

/* ---- memory */

void tg_barrier_destroy(struct tg_barrier *barrier)
{
    if (barrier == NULL)
        return;
    free((void *)(uintptr_t)barrier->definition.list);
    free(barrier->flags);
    free(barrier);
}

/* A new barrier with a list of its own. NULL: no memory. */
static struct tg_barrier *make_barrier(const struct tg_barrier_definition *definition)
{
    struct tg_barrier *barrier = calloc(1, sizeof *barrier);
    struct tg_thread_id *list = NULL;
    size_t capacity = 0;
    if (barrier == NULL || TG_ARRAY_COPY(list, barrier->definition.n_list, capacity, definition->list,
                                         definition->n_list) != NULL) {
        free(barrier);
        return NULL;
    }
    barrier->definition = *definition;
    barrier->definition.list = list;
    return barrier;
}

struct tg_barrier *tg_barrier_copy(const struct tg_barrier *barrier)
{
    struct tg_barrier *copy = make_barrier(&barrier->definition);
    if (copy == NULL)
        return NULL;
    const struct tg_barrier_definition definition = copy->definition;
    *copy = *barrier;
    copy->definition = definition;
    copy->flags = NULL;
    copy->n_flags = 0;
    size_t capacity = 0;
    if (TG_ARRAY_COPY(copy->flags, copy->n_flags, capacity, barrier->flags, barrier->n_flags) == NULL)
        return copy;
    tg_barrier_destroy(copy);
    return NULL;
}

/* ---- members */

static struct tg_error *no_such_barrier(uint32_t id)
{
    return tg_error_create(TG_ERROR_NOT_FOUND, "no barrier %u", id);
}

static int compare_threads(const void *x, const void *y)
{
    const struct tg_thread_id *a = x, *b = y;
    if (a->dpid != b->dpid)
        return a->dpid > b->dpid ? 1 : -1;
    return (a->dtid > b->dtid) - (a->dtid < b->dtid);
}

static bool is_listed(const struct tg_barrier_definition *definition, uint32_t dpid, uint32_t dtid)
{
    const struct tg_thread_id thread = {dpid, dtid}, process = {dpid, 0};
    return definition->n_list == 0 ||
           bsearch(&process, definition->list, definition->n_list, sizeof thread, compare_threads) != NULL ||
           (dtid != 0 &&
            bsearch(&thread, definition->list, definition->n_list, sizeof thread, compare_threads) != NULL);
}

static bool wants(const struct tg_run_model *model, const struct tg_barrier *barrier, uint32_t slot)
{
    const struct tg_barrier_definition *definition = &barrier->definition;
    bool of_threads = definition->of_threads;
    const struct tg_run_thread *thread = of_threads ? &model->threads[slot] : NULL;
    const struct tg_run_process *owner = &model->processes[of_threads ? thread->process : slot];
    const struct tg_process_groups *process = &owner->info;
    uint32_t group = definition->group;
    if (owner->is_ending || process->share_group != definition->share_group ||
        (definition->process != 0 && definition->process != process->dpid))
        return false;
    if (group != 0 && group != process->control_group && group != process->share_group &&
        (group != process->workers_group || (of_threads && thread->is_manager)))
        return false;
    return is_listed(definition, process->dpid, of_threads ? thread->dtid : 0);
}

/* BARRIER's flags, with room for SLOT; NULL where memory is short. */
static uint8_t *flags_of(struct tg_run_model *model, struct tg_barrier *barrier, uint32_t slot)
{
    if (slot >= barrier->n_flags) {
        size_t larger = slot < 8 ? 16 : (size_t)slot * 2;
        bool fits = model->n_places - barrier->n_flags + larger <= TG_BARRIERS_MAX_PLACES;
        uint8_t *moved = fits ? realloc(barrier->flags, larger) : NULL;
        if (moved == NULL) {
            model->failed = true;
            return NULL;
        }
        memset(moved + barrier->n_flags, 0, larger - barrier->n_flags);
        barrier->flags = moved;
        model->n_places += larger - barrier->n_flags;
        barrier->n_flags = larger;
    }
    return &barrier->flags[slot];
}

static uint32_t *holds_of(struct tg_run_model *model, const struct tg_barrier *barrier, uint32_t slot)
{
    return barrier->definition.of_threads ? &model->threads[slot].n_holds : &model->processes[slot].n_holds;
}

static void release(struct tg_run_model *model, struct tg_barrier *barrier, uint32_t slot,
                    enum tg_barrier_reason reason)
{
    barrier->flags[slot] &= (uint8_t)~TG_BARRIER_FLAG_HOLDS;
    --*holds_of(model, barrier, slot);
    tg_run_decide(model, (struct tg_run_decision){.kind = TG_DECIDE_RELEASED,
                                                  .barrier = barrier->definition.id,
                                                  .thread = tg_barrier_member_id(model, barrier, slot),
                                                  .reason = reason});
}

void tg_barrier_release_all(struct tg_run_model *model, bool is_thread, uint32_t slot,
                            enum tg_barrier_reason reason)
{
    for (size_t i = 0; i < model->n_barriers; i++) {
        struct tg_barrier *barrier = model->barriers[i];
        if (barrier->definition.of_threads == is_thread && slot < barrier->n_flags &&
            (barrier->flags[slot] & TG_BARRIER_FLAG_HOLDS) != 0)
            release(model, barrier, slot, reason);
    }
}

/* Releases all that BARRIER holds; no member has arrived any more. */
static void begin_round(struct tg_run_model *model, struct tg_barrier *barrier, enum tg_barrier_reason reason)
{
    for (uint32_t slot = 0; slot < barrier->n_flags; slot++) {
        if ((barrier->flags[slot] & TG_BARRIER_FLAG_HOLDS) != 0)
            release(model, barrier, slot, reason);
        barrier->flags[slot] &= (uint8_t)~TG_BARRIER_FLAG_ARRIVED;
    }
    barrier->n_arrived = barrier->n_lost = 0;
    barrier->stuck = false;
}

static void stop_when_done(struct tg_run_model *model, const struct tg_barrier *barrier)
{
    const struct tg_barrier_definition *definition = &barrier->definition;
    if (definition->of_threads && definition->stop_when_done == TG_BARRIER_STOP_NONE)
        return;
    for (uint32_t slot = 0; slot < barrier->n_flags; slot++) {
        if ((barrier->flags[slot] & TG_BARRIER_FLAG_MEMBER) == 0)
            continue;
        uint32_t process = definition->of_threads ? model->threads[slot].process : slot;
        if (definition->stop_when_done == TG_BARRIER_STOP_GROUP) {
            tg_run_stop_group(model, model->processes[process].info.control_group);
            return; /* a share group is of one control group */
        }
        tg_run_stop_process(model, process);
    }
}

static void satisfy(struct tg_run_model *model, struct tg_barrier *barrier)
{
    tg_run_decide(model, (struct tg_run_decision){.kind = TG_DECIDE_SATISFIED,
                                                  .barrier = barrier->definition.id,
                                                  .count = barrier->n_members,
                                                  .number = (uint32_t)barrier->n_lost});
    begin_round(model, barrier, TG_BARRIER_BY_SATISFACTION);
    barrier->round++;
    barrier->satisfied_at = model->step;
    stop_when_done(model, barrier);
}

void tg_barrier_check_satisfied(struct tg_run_model *model)
{
    for (size_t i = 0; !model->is_over && i < model->n_barriers; i++) {
        struct tg_barrier *barrier = model->barriers[i];
        if (barrier->n_arrived > 0 && barrier->n_arrived == barrier->n_members)
            satisfy(model, barrier);
    }
}

/* ---- joining and leaving */

static void join(struct tg_run_model *model, struct tg_barrier *barrier, uint32_t slot)
{
    uint8_t *flags = flags_of(model, barrier, slot);
    if (flags == NULL || *flags != 0)
        return;
    *flags = TG_BARRIER_FLAG_MEMBER;
    barrier->n_members++;
}

static void leave(struct tg_run_model *model, struct tg_barrier *barrier, uint32_t slot,
                  enum tg_barrier_reason reason)
{
    uint8_t flags = slot < barrier->n_flags ? barrier->flags[slot] : 0;
    bool arrived = (flags & TG_BARRIER_FLAG_ARRIVED) != 0;
    if (flags == 0)
        return;
    if (barrier->n_arrived > 0 && !arrived)
        barrier->n_lost++;
    if (barrier->n_arrived > 0 && !model->is_over)
        tg_run_decide(model, (struct tg_run_decision){.kind = TG_DECIDE_LEFT,
                                                      .barrier = barrier->definition.id,
                                                      .thread = tg_barrier_member_id(model, barrier, slot),
                                                      .reason = reason,
                                                      .count = arrived});
    if ((flags & TG_BARRIER_FLAG_HOLDS) != 0)
        --*holds_of(model, barrier, slot);
    barrier->flags[slot] = 0;
    barrier->n_members--;
    barrier->n_arrived -= arrived;
    if (barrier->n_arrived == 0)
        barrier->n_lost = 0; /* nobody waits any more for who did not come */
}

void tg_barrier_join_or_leave(struct tg_run_model *model, bool is_thread, uint32_t slot,
                              enum tg_barrier_reason reason)
{
    for (size_t i = 0; i < model->n_barriers; i++) {
        struct tg_barrier *barrier = model->barriers[i];
        if (barrier->definition.of_threads != is_thread)
            continue;
        if (wants(model, barrier, slot))
            join(model, barrier, slot);
        else
            leave(model, barrier, slot, reason);
    }
}

void tg_barrier_join_or_leave_with_threads(struct tg_run_model *model, uint32_t slot,
                                           enum tg_barrier_reason reason)
{
    const struct tg_run_process *process = &model->processes[slot];
    tg_barrier_join_or_leave(model, false, slot, reason);
    for (size_t i = 0; i < process->n_threads; i++)
        tg_barrier_join_or_leave(model, true, process->threads[i], reason);
}

void tg_barrier_leave_all(struct tg_run_model *model, bool is_thread, uint32_t slot,
                          enum tg_barrier_reason reason)
{
    for (size_t i = 0; i < model->n_barriers; i++)
        if (model->barriers[i]->definition.of_threads == is_thread)
            leave(model, model->barriers[i], slot, reason);
}

/* ---- changes of barriers */

struct tg_error *tg_barriers_add(struct tg_run_model *model, const struct tg_barrier_definition *definition)
{
    size_t at = tg_barrier_place(model, definition->id);
    if (tg_barrier_find(model, definition->id) != NULL)
        return tg_error_create(TG_ERROR_EXISTS, "barrier %u exists already", definition->id);
    if (model->n_barriers == TG_BARRIERS_MAX)
        return tg_error_create(TG_ERROR_LIMIT, "too many barriers: %d is the limit", TG_BARRIERS_MAX);
    struct tg_barrier *barrier = make_barrier(definition);
    if (barrier == NULL ||
        TG_ARRAY_INSERT(model->barriers, model->n_barriers, model->barriers_capacity, at, barrier) != NULL) {
        tg_barrier_destroy(barrier);
        return tg_error_no_memory();
    }
    if (definition->n_list > 0)
        qsort((void *)(uintptr_t)barrier->definition.list, definition->n_list, sizeof *definition->list,
              compare_threads);
    barrier->enabled = true;
    tg_run_begin(model);
    for (uint32_t slot = 0; definition->of_threads && slot < model->n_threads; slot++)
        if (model->threads[slot].alive && wants(model, barrier, slot))
            join(model, barrier, slot);
    for (uint32_t slot = 0; !definition->of_threads && slot < model->n_processes; slot++)
        if (model->processes[slot].alive && wants(model, barrier, slot))
            join(model, barrier, slot);
    return tg_run_end(model);
}

struct tg_error *tg_barriers_delete(struct tg_run_model *model, uint32_t id)
{
    struct tg_barrier *barrier = tg_barrier_find(model, id);
    if (barrier == NULL)
        return no_such_barrier(id);
    tg_run_begin(model);
    begin_round(model, barrier, TG_BARRIER_BY_DELETION);
    TG_ARRAY_REMOVE(model->barriers, model->n_barriers, tg_barrier_place(model, id));
    model->n_places -= barrier->n_flags;
    tg_barrier_destroy(barrier);
    tg_stuck_barriers_check(model);
    return tg_run_end(model);
}

struct tg_error *tg_barriers_enable(struct tg_run_model *model, uint32_t id, bool enabled)
{
    struct tg_barrier *barrier = tg_barrier_find(model, id);
    if (barrier == NULL)
        return no_such_barrier(id);
    tg_run_begin(model);
    if (barrier->enabled != enabled)
        begin_round(model, barrier, TG_BARRIER_BY_DISABLING);
    barrier->enabled = enabled;
    tg_stuck_barriers_check(model);
    return tg_run_end(model);
}

/* ---- arrival */

static void stop_when_hit(struct tg_run_model *model, const struct tg_barrier *barrier, uint32_t process)
{
    const struct tg_barrier_definition *definition = &barrier->definition;
    if (definition->stop_when_hit == TG_BARRIER_STOP_GROUP)
        tg_run_stop_group(model, model->processes[process].info.control_group);
    else if (definition->stop_when_hit == TG_BARRIER_STOP_PROCESS || !definition->of_threads)
        tg_run_stop_process(model, process);
}

static void arrive(struct tg_run_model *model, struct tg_barrier *barrier, uint32_t slot, uint32_t thread)
{
    struct tg_run_decision decision = {.kind = TG_DECIDE_ARRIVED,
                                       .barrier = barrier->definition.id,
                                       .thread = tg_run_thread_id(model, thread)};
    uint8_t *flags = &barrier->flags[slot];
    tg_run_decide(model, decision);
    if ((*flags & TG_BARRIER_FLAG_ARRIVED) == 0)
        barrier->n_arrived++;
    *flags |= TG_BARRIER_FLAG_ARRIVED;
    stop_when_hit(model, barrier, model->threads[thread].process);
    if (barrier->n_arrived == barrier->n_members) {
        satisfy(model, barrier);
    } else if ((*flags & TG_BARRIER_FLAG_HOLDS) == 0) {
        *flags |= TG_BARRIER_FLAG_HOLDS;
        ++*holds_of(model, barrier, slot);
        decision.kind = TG_DECIDE_HELD;
        decision.thread = tg_barrier_member_id(model, barrier, slot);
        tg_run_decide(model, decision);
    }
}

static struct tg_error *arrive_at(struct tg_run_model *model, uint32_t id, struct tg_thread_id thread,
                                  bool is_last)
{
    uint32_t thread_slot = tg_run_find_thread(model, thread);
    if (thread_slot == TG_NO_SLOT)
        return tg_run_not_found(thread);
    struct tg_barrier *barrier = tg_barrier_find(model, id);
    const struct tg_run_thread former = model->threads[thread_slot];
    tg_run_begin(model);
    if (is_last || former.run == TG_RUN_RUNNING)
        tg_run_set_state(model, thread_slot, is_last ? TG_RUN_STOPPED : TG_RUN_STOPPING);
    uint32_t slot = barrier != NULL && !barrier->definition.of_threads ? former.process : thread_slot;
    bool counts = barrier != NULL && barrier->enabled && slot < barrier->n_flags &&
                  (barrier->flags[slot] & TG_BARRIER_FLAG_MEMBER) != 0;
    /* Until a process that is being stopped because it arrived has stopped, other threads of it may come
     * to the same place. Their arrivals belong to the round that the process arrived in. */
    bool is_late = counts && !barrier->definition.of_threads && former.run == TG_RUN_STOPPING &&
                   former.stopping_since <= barrier->satisfied_at;
    if (is_late) {
        tg_run_decide(model,
                      (struct tg_run_decision){.kind = TG_DECIDE_LATE, .barrier = id, .thread = thread});
    } else if (counts) {
        arrive(model, barrier, slot, thread_slot);
    } else if (former.run == TG_RUN_RUNNING && is_last) {
        tg_run_set_state(model, thread_slot, TG_RUN_RUNNING);
        tg_run_decide(model, (struct tg_run_decision){.kind = TG_DECIDE_RESUME_THREAD, .thread = thread});
    }
    tg_stuck_barriers_check(model);
    return tg_run_end(model);
}

struct tg_error *tg_barriers_arrive(struct tg_run_model *model, uint32_t id, struct tg_thread_id thread)
{
    return arrive_at(model, id, thread, true);
}

struct tg_error *tg_barriers_arrive_on(struct tg_run_model *model, uint32_t id, struct tg_thread_id thread)
{
    return arrive_at(model, id, thread, false);
}

/* ---- questions */

size_t tg_barriers_count(const struct tg_run_model *model)
{
    return model->n_barriers;
}

const struct tg_barrier_definition *tg_barriers_at(const struct tg_run_model *model, size_t i)
{
    return &model->barriers[i]->definition;
}

bool tg_barriers_status(const struct tg_run_model *model, uint32_t id, struct tg_barrier_status *status)
{
    const struct tg_barrier *barrier = tg_barrier_find(model, id);
    if (barrier == NULL)
        return false;
    *status = (struct tg_barrier_status){.of_threads = barrier->definition.of_threads,
                                         .enabled = barrier->enabled,
                                         .stuck = barrier->stuck,
                                         .n_members = barrier->n_members,
                                         .n_arrived = barrier->n_arrived,
                                         .round = barrier->round};
    return true;
}

struct tg_barrier_membership tg_barriers_membership(const struct tg_run_model *model, uint32_t id,
                                                    struct tg_thread_id thread)
{
    const struct tg_barrier *barrier = tg_barrier_find(model, id);
    uint32_t slot = tg_run_find(model, thread);
    if (barrier == NULL || barrier->definition.of_threads != (thread.dtid != 0) || slot == TG_NO_SLOT ||
        slot >= barrier->n_flags)
        return (struct tg_barrier_membership){0};
    uint8_t flags = barrier->flags[slot];
    return (struct tg_barrier_membership){.is_member = (flags & TG_BARRIER_FLAG_MEMBER) != 0,
                                          .has_arrived = (flags & TG_BARRIER_FLAG_ARRIVED) != 0,
                                          .is_held = (flags & TG_BARRIER_FLAG_HOLDS) != 0};
}

bool tg_barriers_why_stuck(const struct tg_run_model *model, uint32_t id, struct tg_run_decision *why)
{
    const struct tg_barrier *barrier = tg_barrier_find(model, id);
    if (barrier == NULL || !barrier->stuck)
        return false;
    *why = tg_stuck_barriers_explain(model, barrier);
    return why->count > 0;
}
