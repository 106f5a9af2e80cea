/* The stack of one stopped thread as an event. */
#ifndef TG_RECORDER_STACKS_THREAD_STACK_H
#define TG_RECORDER_STACKS_THREAD_STACK_H

#include "recorder/engine/engine.h"
#include "recorder/stacks/call_stack.h"

/* Reads the stack of THREAD, which is stopped, as tg_call_stack_read does, and emits it with what LIKE, a stack event
 * without frames, says. False where the thread was killed meanwhile. */
bool tg_thread_stack_emit(const struct tg_stack_process *process, struct tg_thread *thread,
                          const struct tg_event_stack *like, struct tg_code_table *table, uint64_t until_ns);

#endif
