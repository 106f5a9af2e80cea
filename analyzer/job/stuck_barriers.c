#include "analyzer/job/stuck_barriers.h"

/* Whether a member is kept from arriving, and by which barrier. */
struct blockage {
    bool is_blocked;
    uint32_t barrier; /* id of one that holds it */
};

/* Of a thread or process slot: whether a barrier holds it that has not been found satisfiable. */
static struct blockage held_for_good(const struct tg_run_model *model, bool is_thread, uint32_t slot)
{
    uint32_t n_holds = is_thread ? model->threads[slot].n_holds : model->processes[slot].n_holds;
    for (size_t i = 0; n_holds > 0 && i < model->n_barriers; i++) {
        const struct tg_barrier *barrier = model->barriers[i];
        if (barrier->definition.of_threads == is_thread && slot < barrier->n_flags &&
            (barrier->flags[slot] & TG_BARRIER_FLAG_HOLDS) != 0 && !barrier->can_be_satisfied)
            return (struct blockage){true, barrier->definition.id};
    }
    return (struct blockage){0};
}

/* A thread that is being stopped may be at any barrier already: nothing is said of it before it is stopped. */
static struct blockage thread_blockage(const struct tg_run_model *model, uint32_t slot)
{
    if (model->threads[slot].run == TG_RUN_STOPPING)
        return (struct blockage){0};
    struct blockage blockage = held_for_good(model, true, slot);
    return blockage.is_blocked ? blockage : held_for_good(model, false, model->threads[slot].process);
}

/* A process can arrive as long as one of its threads can. */
static struct blockage process_blockage(const struct tg_run_model *model, uint32_t slot)
{
    const struct tg_run_process *process = &model->processes[slot];
    struct blockage blockage = {0};
    for (size_t i = 0; i < process->n_threads; i++) {
        blockage = thread_blockage(model, process->threads[i]);
        if (!blockage.is_blocked)
            break;
    }
    return blockage;
}

/* The first of BARRIER's members that cannot arrive, and how many there are; 0: all can. */
static uint64_t count_blocked(const struct tg_run_model *model, const struct tg_barrier *barrier,
                              uint32_t *slot, uint32_t *other, bool all)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < barrier->n_flags; i++) {
        if ((barrier->flags[i] & (TG_BARRIER_FLAG_MEMBER | TG_BARRIER_FLAG_ARRIVED)) !=
            TG_BARRIER_FLAG_MEMBER)
            continue;
        struct blockage blockage =
            barrier->definition.of_threads ? thread_blockage(model, i) : process_blockage(model, i);
        if (!blockage.is_blocked)
            continue;
        if (count++ == 0) {
            *slot = i;
            *other = blockage.barrier;
        }
        if (!all)
            break;
    }
    return count;
}

/* Finds all barriers that can be satisfied, from those that wait for nobody who is held. */
static void find_satisfiable(struct tg_run_model *model)
{
    uint32_t slot, other;
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < model->n_barriers; i++) {
            struct tg_barrier *barrier = model->barriers[i];
            if (barrier->can_be_satisfied || barrier->n_arrived == 0 ||
                count_blocked(model, barrier, &slot, &other, false) > 0)
                continue;
            barrier->can_be_satisfied = changed = true;
        }
    }
}

struct tg_run_decision tg_stuck_barriers_explain(const struct tg_run_model *model,
                                                 const struct tg_barrier *barrier)
{
    uint32_t slot = 0, other = 0;
    struct tg_run_decision stuck = {.kind = TG_DECIDE_STUCK, .barrier = barrier->definition.id};
    stuck.count = count_blocked(model, barrier, &slot, &other, true);
    stuck.number = other;
    if (stuck.count > 0)
        stuck.thread = tg_barrier_member_id(model, barrier, slot);
    return stuck;
}

void tg_stuck_barriers_check(struct tg_run_model *model)
{
    size_t waiting = 0;
    if (model->is_over)
        return;
    for (size_t i = 0; i < model->n_barriers; i++) {
        waiting += model->barriers[i]->n_arrived > 0;
        model->barriers[i]->can_be_satisfied = false;
    }
    if (waiting > 1) /* one alone cannot be stuck */
        find_satisfiable(model);
    for (size_t i = 0; i < model->n_barriers; i++) {
        struct tg_barrier *barrier = model->barriers[i];
        bool was_stuck = barrier->stuck;
        barrier->stuck = waiting > 1 && barrier->n_arrived > 0 && !barrier->can_be_satisfied;
        if (barrier->stuck && !was_stuck)
            tg_run_decide(model, tg_stuck_barriers_explain(model, barrier));
    }
}
