#include "live/control/thread_scene.h"

#include "recorder/unwind/user_registers.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_LEVEL = 10000 };

static bool read_memory(void *context, uint64_t address, void *buffer, size_t size)
{
    return tg_thread_read_memory(context, address, buffer, size);
}

struct tg_inspect_memory tg_thread_scene_memory(struct tg_thread *thread)
{
    return (struct tg_inspect_memory){thread, read_memory};
}

static bool read_wide(void *context, unsigned number, uint8_t bytes[TG_WIDE_REGISTER_SIZE])
{
    struct user_fpregs_struct registers;
    bool is_xmm = number >= TG_XMM0 && number <= TG_XMM15, is_st = number >= TG_ST0 && number <= TG_ST7;
    if ((!is_xmm && !is_st) || !tg_thread_real_registers(context, &registers))
        return false;
    const uint8_t *from =
        is_xmm ? (const uint8_t *)registers.xmm_space + (size_t)(number - TG_XMM0) * TG_WIDE_REGISTER_SIZE
               : (const uint8_t *)registers.st_space + (size_t)(number - TG_ST0) * TG_WIDE_REGISTER_SIZE;
    memcpy(bytes, from, TG_WIDE_REGISTER_SIZE);
    return true;
}

bool tg_thread_scene_registers(struct tg_thread *thread, struct tg_registers *registers)
{
    const struct user_regs_struct *user = tg_thread_registers(thread);
    if (user == NULL)
        return false;
    *registers = tg_user_registers(user);
    return true;
}

/* The address that thread-local storage of THREAD hangs from. */
static uint64_t fs_base_of(struct tg_thread *thread)
{
    const struct user_regs_struct *user = tg_thread_registers(thread);
    return user == NULL ? 0 : user->fs_base;
}

static struct tg_error *gone(void)
{
    return tg_error_create(TG_ERROR_TARGET, "the thread has ended");
}

struct tg_error *tg_thread_scene_innermost(struct tg_thread *thread, struct tg_modules *modules,
                                           struct tg_module_scene *objects, enum tg_thread_scene_depth depth,
                                           struct tg_thread_scene *found)
{
    struct tg_registers registers;
    struct tg_unwind_note note;
    if (!tg_thread_scene_registers(thread, &registers))
        return gone();
    found->memory = tg_thread_scene_memory(thread);
    found->frame = tg_frame_innermost(&registers);
    const struct tg_inspect_wide_registers wide = {thread, read_wide};
    bool has_caller = depth == TG_SCENE_FRAME && tg_unwind_caller(modules, &found->memory, &found->frame,
                                                                  &found->caller, &note) == TG_UNWIND_CALLER;
    found->scene = tg_module_scene_of(objects, &found->memory, &wide, &found->frame,
                                      has_caller ? &found->caller : NULL, fs_base_of(thread));
    return NULL;
}

/* Calls of one frame: a function, and those inlined into it. */
static bool is_same_frame(const struct tg_call *a, const struct tg_call *b)
{
    return a->frame.cfa == b->frame.cfa &&
           a->frame.registers.value[TG_RIP] == b->frame.registers.value[TG_RIP];
}

void tg_thread_scene_of_call(struct tg_thread *thread, struct tg_module_scene *objects,
                             const struct tg_frames *frames, size_t level, struct tg_thread_scene *found)
{
    size_t next = level + 1, first = level;
    const struct tg_inspect_wide_registers wide = {thread, read_wide};
    while (next < frames->count && is_same_frame(&frames->calls[level], &frames->calls[next]))
        next++;
    while (first > 0 && is_same_frame(&frames->calls[level], &frames->calls[first - 1]))
        first--;
    found->memory = tg_thread_scene_memory(thread);
    found->frame = frames->calls[level].frame;
    bool has_caller = next < frames->count && !frames->calls[next].is_behind;
    if (has_caller)
        found->caller = frames->calls[next].frame;
    /* no register of these is kept over a call */
    bool has_wide = first == 0 && !frames->calls[0].is_behind;
    found->scene = tg_module_scene_of(objects, &found->memory, has_wide ? &wide : NULL, &found->frame,
                                      has_caller ? &found->caller : NULL, fs_base_of(thread));
    found->scene->inlined = (unsigned)(level - first);
}

struct tg_error *tg_thread_scene_at(struct tg_thread *thread, struct tg_modules *modules,
                                    struct tg_module_scene *objects, unsigned level,
                                    struct tg_thread_scene *found)
{
    struct tg_registers registers;
    struct tg_frames frames;
    if (!tg_thread_scene_registers(thread, &registers))
        return gone();
    if (level == 0 && !tg_module_is_agent(tg_modules_find(modules, registers.value[TG_RIP])))
        return tg_thread_scene_innermost(thread, modules, objects, TG_SCENE_FRAME, found);
    if (level > MAX_LEVEL)
        return tg_error_create(TG_ERROR_NOT_FOUND, "stacks are limited to frame %d", MAX_LEVEL);
    const struct tg_inspect_memory memory = tg_thread_scene_memory(thread);
    struct tg_error *error = tg_frames_read(modules, &memory, &registers, (size_t)level + 64, &frames);
    if (error != NULL)
        return error;
    if (level < frames.count)
        tg_thread_scene_of_call(thread, objects, &frames, level, found);
    else
        error = tg_error_create(TG_ERROR_NOT_FOUND, "no frame %u: the stack has %zu", level, frames.count);
    tg_frames_deinit(&frames);
    return error;
}

/* The register of USER that DWARF calls NUMBER. */
static unsigned long long *register_of(struct user_regs_struct *user, unsigned number)
{
    unsigned long long *const registers[] = {
        [TG_RAX] = &user->rax, [TG_RDX] = &user->rdx, [TG_RCX] = &user->rcx, [TG_RBX] = &user->rbx,
        [TG_RSI] = &user->rsi, [TG_RDI] = &user->rdi, [TG_RBP] = &user->rbp, [TG_RSP] = &user->rsp,
        [TG_R8] = &user->r8,   [TG_R9] = &user->r9,   [TG_R10] = &user->r10, [TG_R11] = &user->r11,
        [TG_R12] = &user->r12, [TG_R13] = &user->r13, [TG_R14] = &user->r14, [TG_R15] = &user->r15};
    return number < sizeof registers / sizeof *registers ? registers[number] : NULL;
}

static struct tg_error *assign_register(struct tg_thread *thread, const struct tg_thread_scene *found,
                                        const struct tg_assignment *plan)
{
    const struct user_regs_struct *present = tg_thread_registers(thread);
    if (present == NULL)
        return gone();
    struct user_regs_struct registers = *present;
    unsigned long long *value = register_of(&registers, plan->number);
    if (value == NULL || found->frame.registers.value[TG_RIP] != present->rip)
        return tg_error_create(TG_ERROR_UNSUPPORTED,
                               "it is in %%%s: registers are assigned in the innermost frame only",
                               tg_location_register_name(plan->number));
    memcpy(value, plan->bytes, plan->size_bytes);
    return tg_thread_set_registers(thread, &registers) ? NULL : gone();
}

struct tg_error *tg_thread_scene_assign(struct tg_thread *thread, const struct tg_thread_scene *found,
                                        const struct tg_assignment *plan)
{
    if (plan->is_in_register)
        return assign_register(thread, found, plan);
    if (tg_thread_write_memory(thread, plan->address, plan->bytes, plan->size_bytes))
        return NULL;
    return tg_error_create(TG_ERROR_TARGET, "memory at 0x%" PRIx64 " cannot be written", plan->address);
}
