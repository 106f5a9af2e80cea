#include "recorder/stacks/call_stack.h"

#include "recorder/engine/engine.h"
#include "recorder/stacks/call_target.h"
#include "recorder/unwind/user_registers.h"

#include <stdlib.h>
#include <string.h>

/* ---- processes */

struct tg_stack_process tg_stack_process_open(pid_t tid, unsigned bits, struct tg_image_cache *images,
                                              struct tg_debug_cache *debug)
{
    struct tg_stack_process opened = {0};
    if (bits == 32 || tid == 0)
        return opened;
    tg_error_destroy(tg_modules_create(tid, images, debug, &opened.modules));
    struct tg_error *error = opened.modules != NULL ? tg_modules_refresh(opened.modules) : NULL;
    if (error != NULL) {
        tg_error_destroy(error);
        tg_modules_destroy(opened.modules);
        opened.modules = NULL;
    }
    if (opened.modules != NULL)
        opened.python = tg_python_find(opened.modules);
    return opened;
}

/* Whether MODULE is a library of OpenMP or MPI, whose functions say what their callers wait for. */
static bool is_runtime(const struct tg_module *module)
{
    static const char *const names[] = {"libgomp.", "libomp.", "libiomp5.", "libmpi", "libpmpi"};
    const char *slash = strrchr(module->path, '/'), *name = slash != NULL ? slash + 1 : module->path;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

void tg_stack_process_prepare(const struct tg_stack_process *process)
{
    size_t count = process->modules != NULL ? tg_modules_count(process->modules) : 0;
    for (size_t i = 0; i < count; i++) {
        const struct tg_module *module = tg_modules_at(process->modules, i);
        const char *name;
        uint64_t bias, offset;
        struct tg_debug_info *info = tg_modules_debug_info(process->modules, module, &bias);
        if (info == NULL)
            continue;
        (void)tg_debug_info_eh_frame(info);
        (void)tg_debug_info_is_plt(info, 0);
        if (is_runtime(module))
            (void)tg_modules_symbol_at(process->modules, module->start, &name, &offset);
    }
}

void tg_stack_process_close(struct tg_stack_process *process)
{
    tg_modules_destroy(process->modules);
    *process = (struct tg_stack_process){0};
}

/* ---- stacks */

/* A stack that is being read. */
struct reading {
    const struct tg_stack_process *process;
    struct tg_code_table *table;
    uint64_t until_ns;
    const struct tg_inspect_memory *memory;
    struct tg_call_stack *stack;
    uint64_t last_place; /* of the code in the last frame */
    const struct tg_module *last_module;
    size_t n_python, next_python;
    bool lacks_python; /* the outermost functions of Python are not among them */
    bool is_cut, no_time;
};

static bool add(struct reading *reading, const struct tg_stack_frame *frame)
{
    struct tg_call_stack *stack = reading->stack;
    if (stack->count == TG_CALL_STACK_MAX_FRAMES) {
        reading->is_cut = true;
        return false;
    }
    stack->frames[stack->count++] = *frame;
    return true;
}

/* The Python functions that one call of the evaluation function runs. */
static bool add_python(struct reading *reading)
{
    while (reading->next_python < reading->n_python) {
        const struct tg_python_frame *python = &reading->stack->python[reading->next_python++];
        const struct tg_stack_frame frame = {.kind = TG_FRAME_PYTHON,
                                             .module = "",
                                             .build_id = "",
                                             .function = python->function,
                                             .file = python->file,
                                             .line = python->line};
        if (!add(reading, &frame))
            return false;
        if (python->is_entry)
            return true;
    }
    reading->is_cut = reading->lacks_python;
    return !reading->is_cut;
}

static bool has_time(struct reading *reading)
{
    reading->no_time = tg_engine_now_ns() > reading->until_ns;
    return !reading->no_time;
}

/* Whether ADDRESS is where a function begins, of which NAME is a name. */
static bool is_function(struct tg_modules *modules, uint64_t address, const char **name)
{
    uint64_t offset;
    return tg_modules_symbol_at(modules, address, name, &offset) && offset == 0;
}

/* The function of MODULE that is called as our agent's at TARGET is, which is in its place; 0: there is none. */
static uint64_t behind_agent(struct tg_modules *modules, const struct tg_module *module, uint64_t target)
{
    uint64_t bias, address;
    const char *name;
    struct tg_debug_info *info = tg_modules_debug_info(modules, module, &bias);
    return info != NULL && is_function(modules, target, &name) &&
                   tg_image_find_function(tg_debug_info_image(info), name, &address, 1) == 1
               ? address + bias
               : 0;
}

/* The function of the last frame's library by which FRAME has entered it; 0: it is what the last frame is in, or not known. */
static uint64_t find_jumper(struct reading *reading, const struct tg_frame *frame)
{
    struct tg_modules *modules = reading->process->modules;
    uint64_t offset, target = tg_call_target_find(modules, reading->memory, frame->registers.value[TG_RIP]);
    const struct tg_module *to = target != 0 ? tg_modules_find(modules, target) : NULL;
    const char *name;
    if (tg_module_is_agent(to)) {
        target = behind_agent(modules, reading->last_module, target);
        to = target != 0 ? tg_modules_find(modules, target) : NULL;
    }
    if (to == NULL || to != reading->last_module ||
        (tg_modules_symbol_at(modules, reading->last_place, &name, &offset) &&
         reading->last_place - offset == target))
        return 0;
    return is_function(modules, target, &name) ? target : 0;
}

/* Libraries jump from the functions that programs call to others of theirs, which have no names and return to the program in
 * their place: omp_set_lock of libgomp, MPI_Waitany of MPICH. FRAME, of MODULE, has called what is added here. */
static bool add_jumper(struct reading *reading, const struct tg_frame *frame, const struct tg_module *module)
{
    struct tg_call_stack *stack = reading->stack;
    const struct tg_module *last = reading->last_module;
    uint64_t bias;
    if (stack->count == 0 || stack->frames[stack->count - 1].kind != TG_FRAME_CODE || last == NULL ||
        module == NULL || last == module || !is_runtime(last))
        return true;
    uint64_t target = find_jumper(reading, frame);
    if (target == 0)
        return true;
    struct tg_debug_info *info = tg_modules_debug_info(reading->process->modules, last, &bias);
    struct tg_stack_frame made = {.kind = TG_FRAME_CODE,
                                  .pc = target,
                                  .module = last->path,
                                  .build_id = last->build_id,
                                  .address = target - (info != NULL ? bias : last->start),
                                  .function = "",
                                  .file = ""};
    if (info != NULL)
        tg_code_table_add(reading->table, last, info, made.address);
    if (!add(reading, &made))
        return false;
    if (stack->unwound != NULL) /* of which no register is known: nobody returns to it */
        stack->unwound[stack->count - 1] = (struct tg_frame){.is_activation = true};
    return true;
}

static bool take_frame(void *context, const struct tg_frame *frame, const struct tg_unwind_note *note)
{
    struct reading *reading = context;
    struct tg_modules *modules = reading->process->modules;
    uint64_t place = note->is_signal ? frame->registers.value[TG_RIP] : tg_frame_place(frame), bias;
    const struct tg_module *module = tg_modules_find(modules, place);
    if (tg_module_is_agent(module))
        return has_time(reading); /* frames of the agent are not counted */
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
            tg_code_table_add(reading->table, module, info, made.address);
    }
    if (!note->is_signal && !frame->is_activation && !add_jumper(reading, frame, module))
        return false;
    if (!add(reading, &made))
        return false;
    reading->last_place = place;
    reading->last_module = module;
    if (reading->stack->unwound != NULL)
        reading->stack->unwound[reading->stack->count - 1] = *frame;
    if (reading->n_python > 0 && tg_python_is_evaluation(&reading->process->python, modules, place) &&
        !add_python(reading))
        return false;
    return has_time(reading);
}

static enum tg_stack_end end_of(const struct reading *reading, enum tg_unwind_result result)
{
    static const enum tg_stack_end ends[] = {
        [TG_UNWIND_CALLER] = TG_STACK_CUT,        [TG_UNWIND_END] = TG_STACK_WHOLE,
        [TG_UNWIND_NO_RULE] = TG_STACK_NO_RULE,   [TG_UNWIND_NO_MEMORY] = TG_STACK_NO_MEMORY,
        [TG_UNWIND_BACKWARD] = TG_STACK_BACKWARD, [TG_UNWIND_OUT_OF_CODE] = TG_STACK_OUT_OF_CODE,
    };
    return reading->is_cut ? TG_STACK_CUT : reading->no_time ? TG_STACK_NO_TIME : ends[result];
}

static void read_python(struct reading *reading, const struct tg_inspect_memory *memory, uint64_t fs_base)
{
    struct tg_call_stack *stack = reading->stack;
    if (reading->process->python.module == NULL)
        return;
    bool is_whole = false;
    stack->python = calloc(TG_CALL_STACK_MAX_FRAMES, sizeof *stack->python);
    if (stack->python != NULL)
        reading->n_python =
            tg_python_frames_read(&reading->process->python, memory, fs_base, reading->until_ns,
                                  stack->python, TG_CALL_STACK_MAX_FRAMES, &is_whole);
    reading->lacks_python = !is_whole;
    struct tg_python_frame *fitting =
        reading->n_python > 0 ? realloc(stack->python, reading->n_python * sizeof *fitting) : NULL;
    if (fitting != NULL)
        stack->python = fitting;
}

void tg_call_stack_read(const struct tg_stack_process *process, const struct user_regs_struct *user,
                        const struct tg_inspect_memory *memory, struct tg_code_table *table,
                        uint64_t until_ns, struct tg_call_stack *stack)
{
    struct reading reading = {
        .process = process, .table = table, .until_ns = until_ns, .memory = memory, .stack = stack};
    stack->count = 0;
    stack->python = NULL;
    if (process->modules == NULL) { /* of 32 bits, or without /proc/PID/maps: where it is, and no more */
        add(&reading, &(struct tg_stack_frame){.kind = TG_FRAME_CODE,
                                               .pc = user->rip,
                                               .module = "",
                                               .build_id = "",
                                               .function = "",
                                               .file = ""});
        stack->end = TG_STACK_NO_RULE;
        return;
    }
    const struct tg_registers registers = tg_user_registers(user);
    read_python(&reading, memory, user->fs_base);
    stack->end = end_of(&reading, tg_frames_walk(process->modules, memory, &registers, take_frame, &reading));
}

void tg_call_stack_deinit(struct tg_call_stack *stack)
{
    free(stack->python);
}
