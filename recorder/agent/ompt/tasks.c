#include "recorder/agent/ompt/tasks.h"

#include "recorder/agent/ompt/chain.h"
#include "recorder/agent/ompt/position.h"
#include "recorder/agent/ompt/waits.h"

static enum tg_omp_dependence_kind dependence_kind(int type)
{
    switch (type) {
    case TG_OMPT_DEPENDENCE_IN:
        return TG_OMP_DEPEND_IN;
    case TG_OMPT_DEPENDENCE_OUT:
        return TG_OMP_DEPEND_OUT;
    case TG_OMPT_DEPENDENCE_INOUT:
        return TG_OMP_DEPEND_INOUT;
    case TG_OMPT_DEPENDENCE_MUTEXINOUTSET:
        return TG_OMP_DEPEND_MUTEXINOUTSET;
    default:
        return TG_OMP_DEPEND_OTHER;
    }
}

static uint64_t task_flags(unsigned flags)
{
    uint64_t ours = tg_ompt_thread.taskloops > 0 ? TG_OMP_TASK_TASKLOOP : 0;
    ours |= (flags & TG_OMPT_TASK_UNTIED) != 0 ? TG_OMP_TASK_UNTIED : 0;
    ours |= (flags & TG_OMPT_TASK_FINAL) != 0 ? TG_OMP_TASK_FINAL : 0;
    ours |= (flags & TG_OMPT_TASK_MERGEABLE) != 0 ? TG_OMP_TASK_MERGEABLE : 0;
    ours |= (flags & TG_OMPT_TASK_UNDEFERRED) != 0 ? TG_OMP_TASK_UNDEFERRED : 0;
    return ours;
}

static void record_task(union tg_ompt_data *parent, union tg_ompt_data *task, unsigned flags,
                        int has_dependences, const void *code)
{
    struct tg_ompt_thread *thread = &tg_ompt_thread;
    const uint64_t *parent_id = tg_ompt_task_id(parent);
    uint64_t id = tg_openmp_new_task();
    thread->pending_parent = parent_id == NULL ? 0 : *parent_id & ~TG_OMPT_TASK_BEGUN;
    thread->pending_code = tg_ompt_code_in_program(code);
    thread->pending_flags = task_flags(flags);
    thread->pending_task = id;
    tg_ompt_task_made(task, parent, id);
    if (has_dependences == 0 || !tg_ompt_runtime.has_dependences)
        tg_ompt_flush_pending(NULL, 0);
}

void tg_ompt_on_task_create(union tg_ompt_data *encountering_task, const struct tg_ompt_frame *frame,
                            union tg_ompt_data *new_task, int flags, int has_dependences, const void *code)
{
    tg_ompt_enter();
    if ((flags & (TG_OMPT_TASK_EXPLICIT | TG_OMPT_TASK_TARGET)) != 0) {
        record_task(encountering_task, new_task, (unsigned)flags, has_dependences, code);
    } else {
        tg_ompt_task_made(new_task, encountering_task, 0);
        if ((flags & TG_OMPT_TASK_TASKWAIT) != 0) /* a taskwait with dependences */
            tg_ompt_sync(TG_OMP_SYNC_TASKWAIT, TG_OMPT_BEGIN, code);
    }
    TG_OMPT_HAND_ON(TASK_CREATE, (tg_ompt_their_task(encountering_task), frame, tg_ompt_their_task(new_task),
                                  flags, has_dependences, code));
}

static void record_dependences(const struct tg_ompt_dependence *list, int count)
{
    struct tg_openmp_dependence ours[TG_AGENT_MAX_DEPENDENCES];
    size_t n = count < 0 ? 0 : (size_t)count;
    n = n < TG_AGENT_MAX_DEPENDENCES ? n : TG_AGENT_MAX_DEPENDENCES;
    for (size_t i = 0; i < n; i++)
        ours[i] = (struct tg_openmp_dependence){list[i].variable.ptr, dependence_kind(list[i].type)};
    tg_ompt_flush_pending(ours, n);
}

void tg_ompt_on_dependences(union tg_ompt_data *task, const struct tg_ompt_dependence *list, int count)
{
    const uint64_t *id = tg_ompt_task_id(task);
    if (tg_ompt_thread.pending_task != 0 && id != NULL && *id == tg_ompt_thread.pending_task)
        record_dependences(list, count);
    TG_OMPT_HAND_ON(DEPENDENCES, (tg_ompt_their_task(task), list, count));
}

/* Returns the moment, for what comes next. */
static tg_agent_moment leave_task(union tg_ompt_data *task, int status)
{
    enum tg_omp_task_end how = TG_OMP_TASK_SUSPENDED;
    const uint64_t *id = tg_ompt_task_id(task);
    if (status == TG_OMPT_TASKWAIT_COMPLETE) {
        tg_ompt_sync(TG_OMP_SYNC_TASKWAIT, TG_OMPT_END, NULL);
        return 0;
    }
    if (id == NULL || *id == 0 || status == TG_OMPT_TASK_EARLY_FULFILL) /* the task goes on */
        return 0;
    /* LLVM's runtime tells the switches between the parts of an untied task more than once. */
    uint64_t number = *id & ~TG_OMPT_TASK_BEGUN;
    if ((status == TG_OMPT_TASK_SWITCH || status == TG_OMPT_TASK_YIELD) && tg_openmp_frame.task != number)
        return 0;
    if (status == TG_OMPT_TASK_COMPLETE)
        how = TG_OMP_TASK_COMPLETED;
    else if (status == TG_OMPT_TASK_CANCEL)
        how = TG_OMP_TASK_CANCELLED;
    else if (status == TG_OMPT_TASK_DETACH)
        how = TG_OMP_TASK_DETACHED;
    else if (status == TG_OMPT_TASK_LATE_FULFILL)
        how = TG_OMP_TASK_FULFILLED;
    return tg_openmp_task_end(NULL, TG_OMP_OMPT, number, how);
}

static void enter_task(tg_agent_moment moment, union tg_ompt_data *task)
{
    uint64_t *id = tg_ompt_task_id(task);
    if (id == NULL || *id == 0)
        return;
    tg_openmp_task_begin(moment, NULL, TG_OMP_OMPT, *id & ~TG_OMPT_TASK_BEGUN,
                         (*id & TG_OMPT_TASK_BEGUN) != 0);
    *id |= TG_OMPT_TASK_BEGUN;
}

void tg_ompt_on_task_schedule(union tg_ompt_data *prior, int status, union tg_ompt_data *next)
{
    tg_ompt_enter();
    if (prior == NULL || prior != next || status == TG_OMPT_TASK_COMPLETE) {
        tg_agent_moment moment = leave_task(prior, status);
        enter_task(moment, next);
    } else if (tg_openmp_frame.task == 0) { /* the next part of an untied task that was put aside */
        enter_task(0, next);
    }
    TG_OMPT_HAND_ON(TASK_SCHEDULE, (tg_ompt_their_task(prior), status, tg_ompt_their_task(next)));
    if (status == TG_OMPT_TASK_COMPLETE || status == TG_OMPT_TASK_CANCEL ||
        status == TG_OMPT_TASK_LATE_FULFILL || status == TG_OMPT_TASKWAIT_COMPLETE)
        tg_ompt_task_done(prior);
}

void tg_ompt_on_cancel(union tg_ompt_data *task, int flags, const void *code)
{
    enum tg_omp_cancel_construct construct = TG_OMP_CANCEL_PARALLEL;
    if ((flags & TG_OMPT_CANCEL_LOOP) != 0)
        construct = TG_OMP_CANCEL_LOOP;
    else if ((flags & TG_OMPT_CANCEL_SECTIONS) != 0)
        construct = TG_OMP_CANCEL_SECTIONS;
    else if ((flags & TG_OMPT_CANCEL_TASKGROUP) != 0)
        construct = TG_OMP_CANCEL_TASKGROUP;
    tg_ompt_enter();
    if ((flags & TG_OMPT_CANCEL_DISCARDED_TASK) == 0)
        tg_openmp_cancel(tg_ompt_code_in_program(code), TG_OMP_OMPT, construct,
                         (flags & TG_OMPT_CANCEL_ACTIVATED) != 0);
    TG_OMPT_HAND_ON(CANCEL, (tg_ompt_their_task(task), flags, code));
}
