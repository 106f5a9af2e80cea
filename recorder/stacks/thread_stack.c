#include "recorder/stacks/thread_stack.h"

#include <stdlib.h>

static bool read_memory(void *context, uint64_t address, void *buffer, size_t size)
{
    return tg_thread_read_memory(context, address, buffer, size);
}

/* The call of MPI that the thread is in, with its arguments as far as the frames tell them. */
static void emit_values(const struct tg_thread_stack_reading *reading, struct tg_thread *thread,
                        const struct tg_inspect_memory *memory, const struct tg_call_stack *stack)
{
    const struct tg_mpi_asking asking = {reading->process, &reading->variables, reading->kept};
    struct tg_mpi_values values;
    struct tg_call_value told[TG_MPI_MAX_VALUES];
    (void)tg_mpi_values_find(&asking, memory, stack, &values);
    if (*values.function == '\0')
        return;
    const struct tg_event event = tg_mpi_values_event(&values, told);
    tg_engine_emit(thread->process->engine, thread, &event);
}

bool tg_thread_stack_emit(const struct tg_thread_stack_reading *reading, struct tg_thread *thread,
                          const struct tg_event_stack *like)
{
    struct user_regs_struct user;
    struct tg_event event = {.kind = TG_EVENT_STACK, .stack = *like};
    struct tg_call_stack stack;
    if (!tg_thread_stopped_registers(thread, &user))
        return false;
    stack.unwound = reading->kept != NULL ? calloc(TG_CALL_STACK_MAX_FRAMES, sizeof *stack.unwound) : NULL;
    const struct tg_inspect_memory memory = {thread, read_memory};
    tg_call_stack_read(reading->process, &user, &memory, reading->table, reading->until_ns, &stack);
    event.stack.end = stack.end;
    event.stack.frames = (struct tg_list){.items = stack.frames, .count = stack.count};
    tg_engine_emit(thread->process->engine, thread, &event);
    if (stack.unwound != NULL)
        emit_values(reading, thread, &memory, &stack);
    free(stack.unwound);
    tg_call_stack_deinit(&stack);
    return true;
}
