/* Where a thread is when a callback comes: its process, its region, its code in the program. */
#ifndef TG_RECORDER_AGENT_OMPT_POSITION_H
#define TG_RECORDER_AGENT_OMPT_POSITION_H

#include "recorder/agent/ompt/words.h"

/* The runtime, as the callbacks know it; set before the first one comes, constant then. */
struct tg_ompt_runtime {
    tg_ompt_get_task_info get_task_info; /* NULL: it has none */
    uintptr_t start, end;                /* bounds of the runtime's code; equal: among the program's */
    bool has_dependences;                /* the runtime tells dependences behind the creation of a task */
    bool watches_releases; /* the agent is in front of what releases locks, and the runtime does not tell */
};
extern struct tg_ompt_runtime tg_ompt_runtime;

/* Bounds of the agent's code; the linker knows. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

/* CODE, or where it is within the runtime itself, or an entry point of the agent's, what the thread called
 * last. */
static inline const void *tg_ompt_code_in_program(const void *code)
{
    struct tg_ompt_thread *thread = &tg_ompt_thread;
    if (code == NULL)
        return NULL;
    bool is_own = (uintptr_t)code - (uintptr_t)__ehdr_start < (uintptr_t)etext - (uintptr_t)__ehdr_start;
    if (is_own || (uintptr_t)code - tg_ompt_runtime.start < tg_ompt_runtime.end - tg_ompt_runtime.start)
        return thread->code;
    return thread->code = code;
}

/* Records the creation of the task that waited for its dependences, which are LIST. */
void tg_ompt_flush_pending(const struct tg_openmp_dependence *list, size_t count);

/* The thread that forked goes on alone in the child, outside of all regions. */
void tg_ompt_enter_process(struct tg_ompt_thread *thread);

/* The region of the thread as a callback comes; NULL outside of all regions. A task whose creation waits for
 * its dependences is recorded before whatever follows it. */
static inline struct tg_ompt_place *tg_ompt_enter(void)
{
    struct tg_ompt_thread *thread = &tg_ompt_thread;
    if (TG_AGENT_UNLIKELY(thread->process != *tg_agent.generation))
        tg_ompt_enter_process(thread);
    if (TG_AGENT_UNLIKELY(thread->pending_task != 0))
        tg_ompt_flush_pending(NULL, 0);
    return thread->top;
}

#endif
