#include "recorder/engine/own_thread.h"

#include "recorder/engine/tracee.h"

struct tg_thread *tg_process_own_thread(const struct tg_process *process)
{
    struct tg_thread *found = tg_process_find_thread(process, tg_process_memory_tid(process));
    for (struct tg_thread *thread = process->threads; found == NULL && thread != NULL;
         thread = thread->hh.next)
        if (!tg_tracee_of(thread)->exiting)
            found = thread;
    return found;
}
