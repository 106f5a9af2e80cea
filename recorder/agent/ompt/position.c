#include "recorder/agent/ompt/position.h"

struct tg_ompt_runtime tg_ompt_runtime;

void tg_ompt_flush_pending(const struct tg_openmp_dependence *list, size_t count)
{
    struct tg_ompt_thread *thread = &tg_ompt_thread;
    uint64_t task = thread->pending_task;
    thread->pending_task = 0;
    tg_openmp_task_create(thread->pending_code, TG_OMP_OMPT, task, thread->pending_parent, NULL,
                          thread->pending_flags, list, count);
}

void tg_ompt_enter_process(struct tg_ompt_thread *thread)
{
    /* The generation is 0 in a child until its first record: what was 0 before is no other process. */
    bool is_child = thread->process != 0;
    thread->process = *tg_agent.generation;
    if (!is_child)
        return;
    if (thread->top != NULL)
        tg_openmp_return(&(struct tg_openmp_frame){0});
    thread->top = NULL;
    thread->pending_task = 0;
}
