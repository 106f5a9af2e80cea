/* The barrier model: barriers, arrivals, satisfaction. */
#include "analyzer/job/run_model.h"

#include "analyzer/job/run_model_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- memory */

bool tg_run_make_room(void **items, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return true;
    size_t larger = *capacity == 0 ? 8 : *capacity * 2;
    void *moved = reallocarray(*items, larger, size);
    if (moved == NULL)
        return false;
    *items = moved;
    *capacity = larger;
    return true;
}

struct tg_error *tg_run_model_create(struct tg_run_model **model)
{
    struct tg_run_model *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    *model = made;
    return NULL;
}

static void destroy_barrier(struct tg_barrier *barrier)
{
    if (barrier == NULL)
        return;
    free((void *)(uintptr_t)barrier->definition.list);
    free(barrier->flags);
    free(barrier);
}

void tg_run_model_destroy(struct tg_run_model *model)
{
    if (model == NULL)
        return;
    for (size_t i = 0; i < model->n_barriers; i++)
        destroy_barrier(model->barriers[i]);
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

static void destroy_model(struct tg_run_model **model)
{
    tg_run_model_destroy(*model);
}

/* A copy of COUNT items; *COPY NULL where there are none. */
static bool copy_items(const void *items, size_t count, size_t size, void **copy)
{
    *copy = NULL;
    if (count == 0)
        return true;
    *copy = reallocarray(NULL, count, size);
    if (*copy != NULL)
        memcpy(*copy, items, count * size);
    return *copy != NULL;
}

static struct tg_barrier *copy_barrier(const struct tg_barrier *barrier)
{
    struct tg_barrier *copy = malloc(sizeof *copy);
    if (copy == NULL)
        return NULL;
    *copy = *barrier;
    copy->flags = NULL;
    void *list = NULL;
    bool copied = copy_items(barrier->definition.list, barrier->definition.n_list,
                             sizeof *barrier->definition.list, &list) &&
                  copy_items(barrier->flags, barrier->n_flags, 1, (void **)&copy->flags);
    copy->definition.list = list;
    if (copied)
        return copy;
    destroy_barrier(copy);
    return NULL;
}

static bool copy_parts(const struct tg_run_model *from, struct tg_run_model *to)
{
    to->free_threads = calloc(from->n_threads + 1, sizeof *to->free_threads);
    to->free_processes = calloc(from->n_processes + 1, sizeof *to->free_processes);
    if (to->free_threads == NULL || to->free_processes == NULL ||
        !copy_items(from->threads, from->n_threads, sizeof *from->threads, (void **)&to->threads) ||
        !copy_items(from->processes, from->n_processes, sizeof *from->processes, (void **)&to->processes) ||
        !copy_items(from->by_dpid, from->n_by_dpid, sizeof *from->by_dpid, (void **)&to->by_dpid))
        return false;
    to->threads_capacity = to->n_threads = from->n_threads;
    to->by_dpid_capacity = to->n_by_dpid = from->n_by_dpid;
    /* there is always room for every slot to become free */
    for (size_t i = 0; i < from->n_free_threads; i++)
        to->free_threads[i] = from->free_threads[i];
    for (size_t i = 0; i < from->n_free_processes; i++)
        to->free_processes[i] = from->free_processes[i];
    to->free_threads_capacity = from->n_threads + 1;
    to->free_processes_capacity = from->n_processes + 1;
    to->n_free_threads = from->n_free_threads;
    to->n_free_processes = from->n_free_processes;
    for (size_t i = 0; i < from->n_processes; i++)
        to->processes[i].threads = NULL;
    to->processes_capacity = to->n_processes = from->n_processes;
    for (size_t i = 0; i < from->n_processes; i++) {
        const struct tg_run_process *process = &from->processes[i];
        if (!copy_items(process->threads, process->n_threads, sizeof *process->threads,
                        (void **)&to->processes[i].threads))
            return false;
        to->processes[i].capacity = process->n_threads;
    }
    for (size_t i = 0; i < from->n_barriers; i++) {
        if (!tg_run_make_room((void **)&to->barriers, i, &to->barriers_capacity, sizeof *to->barriers))
            return false;
        to->barriers[i] = copy_barrier(from->barriers[i]);
        if (to->barriers[i] == NULL)
            return false;
        to->n_barriers++;
    }
    to->n_places = from->n_places;
    to->step = from->step;
    return true;
}

struct tg_error *tg_run_model_copy(const struct tg_run_model *model, struct tg_run_model **copy)
{
    __attribute__((cleanup(destroy_model))) struct tg_run_model *made = calloc(1, sizeof *made);
    if (made == NULL || !copy_parts(model, made))
        return tg_error_no_memory();
    *copy = made;
    made = NULL;
    return NULL;
}

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
    if (tg_run_make_room((void **)&model->decisions, model->n_decisions, &model->decisions_capacity,
                         sizeof *model->decisions))
        model->decisions[model->n_decisions++] = decision;
    else
        model->failed = true;
}

const struct tg_run_decision *tg_run_model_decisions(const struct tg_run_model *model, size_t *count)
{
    *count = model->n_decisions;
    return model->decisions;
}

/* ---- barriers */

/* The place of the first barrier whose id is not less than ID. */
static size_t place_of(const struct tg_run_model *model, uint32_t id)
{
    size_t low = 0, high = model->n_barriers;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (model->barriers[middle]->definition.id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct tg_barrier *tg_barrier_find(const struct tg_run_model *model, uint32_t id)
{
    size_t at = place_of(model, id);
    return at < model->n_barriers && model->barriers[at]->definition.id == id ? model->barriers[at] : NULL;
}

static struct tg_error *no_such_barrier(uint32_t id)
{
    return tg_error_create(TG_ERROR_NOT_FOUND, "there is no barrier %u", id);
}

static int compare_units(const void *x, const void *y)
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
           bsearch(&process, definition->list, definition->n_list, sizeof thread, compare_units) != NULL ||
           (dtid != 0 &&
            bsearch(&thread, definition->list, definition->n_list, sizeof thread, compare_units) != NULL);
}

bool tg_barrier_wants(const struct tg_run_model *model, const struct tg_barrier *barrier, uint32_t slot)
{
    const struct tg_barrier_definition *definition = &barrier->definition;
    bool of_threads = definition->of_threads;
    const struct tg_run_thread *thread = of_threads ? &model->threads[slot] : NULL;
    const struct tg_process_groups *process = &model->processes[of_threads ? thread->process : slot].info;
    uint32_t group = definition->group;
    if (process->share_group != definition->share_group ||
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

struct tg_thread_id tg_barrier_member_id(const struct tg_run_model *model, const struct tg_barrier *barrier,
                                         uint32_t slot)
{
    if (barrier->definition.of_threads)
        return tg_run_thread_id(model, slot);
    return (struct tg_thread_id){model->processes[slot].info.dpid, 0};
}

static uint32_t *holds_of(struct tg_run_model *model, const struct tg_barrier *barrier, uint32_t slot)
{
    return barrier->definition.of_threads ? &model->threads[slot].n_holds : &model->processes[slot].n_holds;
}

void tg_barrier_release(struct tg_run_model *model, struct tg_barrier *barrier, uint32_t slot,
                        enum tg_barrier_reason reason)
{
    barrier->flags[slot] &= (uint8_t)~TG_BARRIER_FLAG_HOLDS;
    --*holds_of(model, barrier, slot);
    tg_run_decide(model, (struct tg_run_decision){.kind = TG_DECIDE_RELEASED,
                                                  .barrier = barrier->definition.id,
                                                  .thread = tg_barrier_member_id(model, barrier, slot),
                                                  .reason = reason});
}

/* Lets go of all that BARRIER holds; nobody has arrived any more. */
static void begin_round(struct tg_run_model *model, struct tg_barrier *barrier, enum tg_barrier_reason reason)
{
    for (uint32_t slot = 0; slot < barrier->n_flags; slot++) {
        if ((barrier->flags[slot] & TG_BARRIER_FLAG_HOLDS) != 0)
            tg_barrier_release(model, barrier, slot, reason);
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
    for (size_t i = 0; i < model->n_barriers; i++) {
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
    if (barrier->n_arrived > 0)
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
}

void tg_barrier_join_or_leave(struct tg_run_model *model, bool is_thread, uint32_t slot,
                              enum tg_barrier_reason reason)
{
    for (size_t i = 0; i < model->n_barriers; i++) {
        struct tg_barrier *barrier = model->barriers[i];
        if (barrier->definition.of_threads != is_thread)
            continue;
        if (tg_barrier_wants(model, barrier, slot))
            join(model, barrier, slot);
        else
            leave(model, barrier, slot, reason);
    }
}

void tg_barrier_leave_all(struct tg_run_model *model, bool is_thread, uint32_t slot,
                          enum tg_barrier_reason reason)
{
    for (size_t i = 0; i < model->n_barriers; i++)
        if (model->barriers[i]->definition.of_threads == is_thread)
            leave(model, model->barriers[i], slot, reason);
}

/* ---- changes of barriers */

static struct tg_barrier *make_barrier(const struct tg_barrier_definition *definition)
{
    struct tg_barrier *barrier = calloc(1, sizeof *barrier);
    struct tg_thread_id *list = NULL;
    if (barrier == NULL || !copy_items(definition->list, definition->n_list, sizeof *list, (void **)&list)) {
        free(barrier);
        return NULL;
    }
    if (list != NULL)
        qsort(list, definition->n_list, sizeof *list, compare_units);
    barrier->definition = *definition;
    barrier->definition.list = list;
    barrier->enabled = true;
    return barrier;
}

struct tg_error *tg_barriers_add(struct tg_run_model *model, const struct tg_barrier_definition *definition)
{
    size_t at = place_of(model, definition->id);
    if (tg_barrier_find(model, definition->id) != NULL)
        return tg_error_create(TG_ERROR_EXISTS, "there is a barrier %u already", definition->id);
    if (model->n_barriers == TG_BARRIERS_MAX)
        return tg_error_create(TG_ERROR_LIMIT, "there are %d barriers, which is as many as there can be",
                               TG_BARRIERS_MAX);
    if (!tg_run_make_room((void **)&model->barriers, model->n_barriers, &model->barriers_capacity,
                          sizeof *model->barriers))
        return tg_error_no_memory();
    struct tg_barrier *barrier = make_barrier(definition);
    if (barrier == NULL)
        return tg_error_no_memory();
    tg_run_begin(model);
    memmove(model->barriers + at + 1, model->barriers + at,
            (model->n_barriers - at) * sizeof *model->barriers);
    model->barriers[at] = barrier;
    model->n_barriers++;
    for (uint32_t slot = 0; definition->of_threads && slot < model->n_threads; slot++)
        if (model->threads[slot].alive && tg_barrier_wants(model, barrier, slot))
            join(model, barrier, slot);
    for (uint32_t slot = 0; !definition->of_threads && slot < model->n_processes; slot++)
        if (model->processes[slot].alive && tg_barrier_wants(model, barrier, slot))
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
    size_t at = place_of(model, id);
    memmove(model->barriers + at, model->barriers + at + 1,
            (--model->n_barriers - at) * sizeof *model->barriers);
    model->n_places -= barrier->n_flags;
    destroy_barrier(barrier);
    tg_barrier_check_stuck(model);
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
    tg_barrier_check_stuck(model);
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

static struct tg_error *arrive_at(struct tg_run_model *model, uint32_t id, struct tg_thread_id unit,
                                  bool is_last)
{
    uint32_t thread = tg_run_find_thread(model, unit);
    if (thread == TG_NO_SLOT)
        return tg_error_create(TG_ERROR_NOT_FOUND, "there is no thread %u.%u", unit.dpid, unit.dtid);
    struct tg_barrier *barrier = tg_barrier_find(model, id);
    const struct tg_run_thread former = model->threads[thread];
    tg_run_begin(model);
    if (is_last || former.run == TG_RUN_RUNNING)
        tg_run_set_state(model, thread, is_last ? TG_RUN_STOPPED : TG_RUN_STOPPING);
    uint32_t slot = barrier != NULL && !barrier->definition.of_threads ? former.process : thread;
    bool counts = barrier != NULL && barrier->enabled && slot < barrier->n_flags &&
                  (barrier->flags[slot] & TG_BARRIER_FLAG_MEMBER) != 0;
    /* Of a process that is being stopped because it arrived, other threads may come to the same place before
     * the stop does. They belong to the round that it arrived in. */
    bool is_late = counts && !barrier->definition.of_threads && former.run == TG_RUN_STOPPING &&
                   former.stopping_since <= barrier->satisfied_at;
    if (is_late) {
        tg_run_decide(model, (struct tg_run_decision){.kind = TG_DECIDE_LATE, .barrier = id, .thread = unit});
    } else if (counts) {
        arrive(model, barrier, slot, thread);
    } else if (former.run == TG_RUN_RUNNING && is_last) {
        tg_run_set_state(model, thread, TG_RUN_RUNNING);
        tg_run_decide(model, (struct tg_run_decision){.kind = TG_DECIDE_RESUME_THREAD, .thread = unit});
    }
    tg_barrier_check_stuck(model);
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
                                                    struct tg_thread_id unit)
{
    const struct tg_barrier *barrier = tg_barrier_find(model, id);
    uint32_t slot = unit.dtid == 0 ? tg_run_find_process(model, unit.dpid) : tg_run_find_thread(model, unit);
    if (barrier == NULL || barrier->definition.of_threads != (unit.dtid != 0) || slot == TG_NO_SLOT ||
        slot >= barrier->n_flags)
        return (struct tg_barrier_membership){0};
    uint8_t flags = barrier->flags[slot];
    return (struct tg_barrier_membership){.is_member = (flags & TG_BARRIER_FLAG_MEMBER) != 0,
                                          .has_arrived = (flags & TG_BARRIER_FLAG_ARRIVED) != 0,
                                          .is_held = (flags & TG_BARRIER_FLAG_HOLDS) != 0};
}

const char *tg_run_decision_name(enum tg_run_decision_kind kind)
{
    static const char *const names[] = {"stop_thread", "stop_process", "stop_group", "resume_thread",
                                        "arrived",     "late",         "held",       "satisfied",
                                        "released",    "left",         "stuck"};
    return (size_t)kind < sizeof names / sizeof *names ? names[kind] : "unknown";
}

const char *tg_barrier_reason_name(enum tg_barrier_reason reason)
{
    static const char *const names[] = {"satisfied", "deleted", "disabled", "unheld",
                                        "exited",    "exec",    "detached"};
    return (size_t)reason < sizeof names / sizeof *names ? names[reason] : "unknown";
}
