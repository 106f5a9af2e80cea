#include "recorder/stacks/thread_stack.h"

static bool read_memory(void *context, uint64_t address, void *buffer, size_t size)
{
    return tg_thread_read_memory(context, address, buffer, size);
}

bool tg_thread_stack_emit(const struct tg_stack_process *process, struct tg_thread *thread,
                          const struct tg_event_stack *like, struct tg_code_table *table, uint64_t until_ns)
{
    struct user_regs_struct user;
    struct tg_event event = {.kind = TG_EVENT_STACK, .stack = *like};
    struct tg_call_stack stack;
    stack.unwound = NULL;
    if (!tg_thread_stopped_registers(thread, &user))
        return false;
    const struct tg_inspect_memory memory = {thread, read_memory};
    tg_call_stack_read(process, &user, &memory, table, until_ns, &stack);
    event.stack.end = stack.end;
    event.stack.frames = (struct tg_list){.items = stack.frames, .count = stack.count};
    tg_engine_emit(thread->process->engine, thread, &event);
    tg_call_stack_deinit(&stack);
    return true;
}
