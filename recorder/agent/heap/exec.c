/* A process that executes another program has no last stop with what its heap was: what there is to be said of its blocks is said
 * before. If the program cannot be executed, this one goes on, and what was told is told. */
#include "recorder/agent/heap/exec.h"

#include "recorder/agent/audit/raw_system.h"
#include "recorder/agent/heap/check.h"
#include "recorder/agent/next.h"
#include "recorder/agent/record.h"

/* Returns the function that comes after the library's own at PLACE. Async-signal-safe: a forked child may have nothing else. */
const void *tg_heap_before_exec(unsigned place) __attribute__((visibility("hidden")));

enum { FUNCTIONS = 9 };

static const char names[FUNCTIONS][10] = {"execve", "execv",  "execvp",  "execvpe", "execl",
                                          "execlp", "execle", "fexecve", "execveat"};
static const void *functions[FUNCTIONS]; /* __atomic; NULL: not looked for yet, or there is none */

void tg_heap_exec_prepare(void)
{
    for (unsigned i = 0; i < FUNCTIONS; i++)
        __atomic_store_n(&functions[i], tg_agent_next(names[i]), __ATOMIC_RELAXED);
}

static int is_missing(void)
{
    errno = ENOSYS;
    return -1;
}

/* Not so in a child of vfork, which has its parent's memory, and its parent's blocks. */
static bool is_own_memory(void)
{
    const struct tg_agent_thread *thread = &tg_agent_thread;
    return !tg_agent.no_calls && thread->header != NULL && thread->generation == *tg_agent.generation &&
           thread->header->pid == tg_raw_process_id();
}

const void *tg_heap_before_exec(unsigned place)
{
    int saved = errno;
    if (__atomic_load_n(&tg_heap.state, __ATOMIC_ACQUIRE) == TG_HEAP_ON &&
        tg_heap.settings.mode == TG_AGENT_HEAP_CHECK && is_own_memory())
        tg_heap_check_sweep(true);
    const void *next = __atomic_load_n(&functions[place], __ATOMIC_RELAXED);
    if (next == NULL) /* before the library's constructor */
        next = tg_agent_next(names[place]);
    errno = saved;
    return next != NULL ? next : (const void *)(uintptr_t)is_missing;
}
