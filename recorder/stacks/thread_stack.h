/* The stack of one stopped thread as an event. */
#ifndef TG_RECORDER_STACKS_THREAD_STACK_H
#define TG_RECORDER_STACKS_THREAD_STACK_H

#include "recorder/engine/engine.h"
#include "recorder/stacks/code_table.h"
#include "recorder/stacks/python_frames.h"

enum { TG_THREAD_STACK_MAX_FRAMES = 96 };

/* One process whose threads are looked at. */
struct tg_stack_process {
    struct tg_modules *modules;
    struct tg_python python;
};

/* Reads the stack of THREAD, which is stopped, until UNTIL_NS (tg_engine_now_ns) at most, and emits it with what
 * LIKE, a stack event without frames, says. Its code goes to TABLE. At most the innermost
 * TG_THREAD_STACK_MAX_FRAMES are kept. False where the thread was killed meanwhile. */
bool tg_thread_stack_emit(const struct tg_stack_process *process, struct tg_thread *thread,
                          const struct tg_event_stack *like, struct tg_code_table *table, uint64_t until_ns);

#endif
