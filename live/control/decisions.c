#include "live/control/decisions.h"

#include "analyzer/job/barrier_trace.h"

struct tg_controlled_process *tg_controlled_process_find(const struct tg_controller *controller, int32_t pid)
{
    struct tg_controlled_process *process = NULL;
    HASH_FIND(hh, controller->processes, &pid, sizeof pid, process);
    return process;
}

struct tg_controlled_thread *tg_controlled_thread_find(const struct tg_controlled_process *process,
                                                       int32_t tid)
{
    struct tg_controlled_thread *thread = NULL;
    if (process != NULL)
        HASH_FIND(hh, process->threads, &tid, sizeof tid, thread);
    return thread;
}

void tg_decisions_record(struct tg_controller *controller, struct tg_thread_id id, struct tg_event *event)
{
    if (!tg_job_model_name(controller->job, id, &event->pid, &event->tid))
        event->pid = event->tid = 0; /* gone, or an event about nobody */
    else if (event->tid == 0)
        event->tid = event->pid;
    controller->orders->record(controller->engine, event);
}

static void tell(const struct tg_controller *controller, const struct tg_run_decision *decision)
{
    struct tg_news news;
    if (!tg_news_of_decision(decision, &news))
        return;
    (void)tg_job_model_name(controller->job, decision->thread, &news.pid, &news.tid);
    news.has_rank = tg_job_model_rank(controller->job, decision->thread.dpid, &news.rank);
    controller->orders->tell(controller->engine, &news);
}

/* Orders stops for the threads of PROCESS that the model wants to stop. */
static void stop_process(struct tg_controller *controller, const struct tg_controlled_process *process)
{
    for (const struct tg_controlled_thread *thread = process->threads; thread != NULL;
         thread = thread->hh.next)
        if (tg_run_model_state(controller->runs, thread->id) == TG_RUN_STOPPING)
            controller->orders->stop(controller->engine, process->pid, thread->tid);
}

static void stop_decided(struct tg_controller *controller, const struct tg_run_decision *decision)
{
    const struct tg_controlled_process *process;
    int32_t pid, tid;
    if (decision->kind == TG_DECIDE_STOP_GROUP) {
        for (process = controller->processes; process != NULL; process = process->hh.next)
            if (process->groups.control_group == decision->number)
                stop_process(controller, process);
    } else if (tg_job_model_name(controller->job, decision->thread, &pid, &tid)) {
        if (decision->kind != TG_DECIDE_STOP_PROCESS)
            controller->orders->stop(controller->engine, pid, tid);
        else if ((process = tg_controlled_process_find(controller, pid)) != NULL)
            stop_process(controller, process);
    }
}

static void resume_decided(struct tg_controller *controller, const struct tg_run_decision *decision)
{
    struct tg_event event = {.kind = TG_EVENT_CONTROL_RESUMED,
                             .control_resumed = {decision->thread.dpid, decision->thread.dtid}};
    int32_t pid, tid;
    tg_decisions_record(controller, decision->thread, &event);
    if (tg_job_model_name(controller->job, decision->thread, &pid, &tid))
        controller->orders->resume(controller->engine, pid, tid);
}

static void carry_out(struct tg_controller *controller, const struct tg_run_decision *decision)
{
    struct tg_event event = {0};
    switch (decision->kind) {
    case TG_DECIDE_STOP_THREAD:
    case TG_DECIDE_STOP_PROCESS:
    case TG_DECIDE_STOP_GROUP:
        stop_decided(controller, decision);
        return;
    case TG_DECIDE_RESUME_THREAD:
        resume_decided(controller, decision);
        return;
    case TG_DECIDE_ARRIVED:
    case TG_DECIDE_LATE:
    case TG_DECIDE_HELD:
    case TG_DECIDE_SATISFIED:
    case TG_DECIDE_RELEASED:
    case TG_DECIDE_LEFT:
    case TG_DECIDE_STUCK:
        break;
    }
    tell(controller, decision);
    if (tg_barrier_trace_event(decision, &event))
        tg_decisions_record(controller, decision->thread, &event);
}

struct tg_error *tg_decisions_carry_out(struct tg_controller *controller, struct tg_error *error)
{
    size_t count;
    if (error != NULL)
        return error;
    const struct tg_run_decision *decisions = tg_run_model_decisions(controller->runs, &count);
    controller->version++;
    for (size_t i = 0; i < count; i++)
        carry_out(controller, &decisions[i]);
    return NULL;
}
