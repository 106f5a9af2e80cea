#include "recorder/stacks/thread_stack.h"

#include "recorder/unwind/user_registers.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_PYTHON_FRAMES = 64 };

struct stack {
    const struct tg_stack_process *process;
    struct tg_code_table *table;
    uint64_t until_ns;
    struct tg_python_frame *python; /* innermost first, NULL none */
    size_t n_python, next_python;
    struct tg_stack_frame frames[TG_THREAD_STACK_MAX_FRAMES];
    size_t count;
    bool is_cut, no_time;
};

static bool add(struct stack *stack, const struct tg_stack_frame *frame)
{
    if (stack->count == TG_THREAD_STACK_MAX_FRAMES) {
        stack->is_cut = true;
        return false;
    }
    stack->frames[stack->count++] = *frame;
    return true;
}

/* The Python functions that one call of the evaluation function runs. */
static bool add_python(struct stack *stack)
{
    while (stack->next_python < stack->n_python) {
        const struct tg_python_frame *python = &stack->python[stack->next_python++];
        const struct tg_stack_frame frame = {.kind = TG_FRAME_PYTHON,
                                             .module = "",
                                             .build_id = "",
                                             .function = python->function,
                                             .file = python->file,
                                             .line = python->line};
        if (!add(stack, &frame))
            return false;
        if (python->is_entry)
            break;
    }
    return true;
}

static bool take_frame(void *context, const struct tg_frame *frame, const struct tg_unwind_note *note)
{
    struct stack *stack = context;
    struct tg_modules *modules = stack->process->modules;
    uint64_t place = note->is_signal ? frame->registers.value[TG_RIP] : tg_frame_place(frame), bias;
    const struct tg_module *module = tg_modules_find(modules, place);
    if (tg_module_is_agent(module)) {
        stack->no_time = tg_engine_now_ns() > stack->until_ns; /* these are not counted */
        return !stack->no_time;
    }
    struct tg_stack_frame made = {.kind = note->is_signal ? TG_FRAME_SIGNAL : TG_FRAME_CODE,
                                  .pc = frame->registers.value[TG_RIP],
                                  .module = "",
                                  .build_id = "",
                                  .guessed = note->is_guessed,
                                  .function = "",
                                  .file = ""};
    if (module != NULL) {
        struct tg_debug_info *info = tg_modules_debug_info(modules, module, &bias);
        made.module = module->path;
        made.build_id = module->build_id;
        made.address = place - (info != NULL ? bias : module->start);
        if (info != NULL)
            tg_code_table_add(stack->table, module, info, made.address);
    }
    if (!add(stack, &made))
        return false;
    if (stack->n_python > 0 && tg_python_is_evaluation(&stack->process->python, modules, place) &&
        !add_python(stack))
        return false;
    stack->no_time = tg_engine_now_ns() > stack->until_ns;
    return !stack->no_time;
}

static enum tg_stack_end end_of(const struct stack *stack, enum tg_unwind_result result)
{
    static const enum tg_stack_end ends[] = {
        [TG_UNWIND_CALLER] = TG_STACK_CUT,        [TG_UNWIND_END] = TG_STACK_WHOLE,
        [TG_UNWIND_NO_RULE] = TG_STACK_NO_RULE,   [TG_UNWIND_NO_MEMORY] = TG_STACK_NO_MEMORY,
        [TG_UNWIND_BACKWARD] = TG_STACK_BACKWARD, [TG_UNWIND_OUT_OF_CODE] = TG_STACK_OUT_OF_CODE,
    };
    return stack->is_cut ? TG_STACK_CUT : stack->no_time ? TG_STACK_NO_TIME : ends[result];
}

static bool read_memory(void *context, uint64_t address, void *buffer, size_t size)
{
    return tg_thread_read_memory(context, address, buffer, size);
}

static void read_python(struct stack *stack, const struct tg_inspect_memory *memory, uint64_t fs_base)
{
    if (stack->process->python.module == NULL)
        return;
    stack->python = calloc(MAX_PYTHON_FRAMES, sizeof *stack->python);
    if (stack->python != NULL)
        stack->n_python = tg_python_frames_read(&stack->process->python, memory, fs_base, stack->until_ns,
                                                stack->python, MAX_PYTHON_FRAMES);
}

bool tg_thread_stack_emit(const struct tg_stack_process *process, struct tg_thread *thread,
                          const struct tg_event_stack *like, struct tg_code_table *table, uint64_t until_ns)
{
    struct user_regs_struct user;
    struct tg_event event = {.kind = TG_EVENT_STACK, .stack = *like};
    struct stack stack = {.process = process, .table = table, .until_ns = until_ns};
    if (!tg_thread_stopped_registers(thread, &user))
        return false;
    if (process->modules == NULL) { /* of 32 bits, or without /proc/PID/maps: where it is, and no more */
        add(&stack, &(struct tg_stack_frame){.kind = TG_FRAME_CODE,
                                             .pc = user.rip,
                                             .module = "",
                                             .build_id = "",
                                             .function = "",
                                             .file = ""});
        event.stack.end = TG_STACK_NO_RULE;
    } else {
        const struct tg_inspect_memory memory = {thread, read_memory};
        const struct tg_registers registers = tg_user_registers(&user);
        read_python(&stack, &memory, user.fs_base);
        event.stack.end =
            end_of(&stack, tg_frames_walk(process->modules, &memory, &registers, take_frame, &stack));
    }
    event.stack.frames = (struct tg_list){.items = stack.frames, .count = stack.count};
    tg_engine_emit(thread->process->engine, thread, &event);
    free(stack.python);
    return true;
}
