#include "live/control/watch_plan.h"

#include "recorder/unwind/frames.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    MAX_FRAMES = 512,
    RED_ZONE = 128, /* bytes below the stack pointer that are a leaf function's (System V ABI, AMD64) */
};

/* ---- places */

/* The type of C that shows numbers as KIND of SIZE bytes does. */
static bool find_basic(enum tg_type_kind kind, uint64_t size, struct tg_type *type)
{
    static const struct {
        enum tg_basic_type basic;
        unsigned size;
        enum tg_type_kind kind;
    } types[] = {
#define X(name, text, size, kind) {TG_BASIC_##name, size, TG_TYPE_##kind},
        TG_BASIC_TYPES(X)
#undef X
    };
    *type = tg_type_basic(TG_BASIC_VOID);
    if (kind == TG_TYPE_POINTER && size == sizeof(uint64_t)) {
        *type = tg_type_pointer_to(type);
        return true;
    }
    enum tg_type_kind wanted = kind == TG_TYPE_ENUM ? TG_TYPE_SIGNED : kind;
    for (size_t i = 1; i < sizeof types / sizeof *types; i++)
        if (types[i].kind == wanted && types[i].size == size) {
            *type = tg_type_basic(types[i].basic);
            return true;
        }
    return false;
}

struct tg_error *tg_watch_plan_place(const struct tg_scene *scene, const struct tg_value *value,
                                     uint64_t length, struct tg_watch_plan *plan)
{
    struct tg_value place = *value;
    struct tg_error *error = tg_value_follow(scene, &place);
    *plan = (struct tg_watch_plan){0};
    if (error != NULL)
        return error;
    if (place.location.n_pieces != 1 ||
        !tg_location_address(&place.location, place.offset_bytes, &plan->address)) {
        const struct tg_location_piece *piece = &place.location.pieces[0];
        const char *name =
            piece->kind == TG_LOCATION_REGISTER ? tg_location_register_name(piece->number) : NULL;
        if (name != NULL)
            return tg_error_create(TG_ERROR_USAGE, "it is in %%%s here: only memory can be watched", name);
        return tg_error_create(TG_ERROR_USAGE, "it is not in memory: only memory can be watched");
    }
    if (!tg_value_size(&place, &plan->size_bytes) || plan->size_bytes == 0)
        plan->size_bytes = length;
    if (place.bit_size > 0) {
        plan->address += place.bit_offset / 8;
        plan->size_bytes = (place.bit_offset % 8 + place.bit_size + 7) / 8;
        plan->is_part = true;
    }
    if (length > 0 && length != plan->size_bytes) {
        plan->size_bytes = length;
        plan->is_part = false;
    } else if (place.n_dimensions == 0 && !plan->is_part) {
        plan->has_basic = find_basic(tg_type_kind(&place.type), plan->size_bytes, &plan->basic);
    }
    if (plan->size_bytes == 0)
        return tg_error_create(TG_ERROR_USAGE, "its size is not known: give -length");
    if (plan->size_bytes > TG_WATCH_MAX_BYTES)
        return tg_error_create(TG_ERROR_USAGE,
                               "it has %" PRIu64
                               " bytes, and at most %d can be watched: name an element or a "
                               "member, or give -length",
                               plan->size_bytes, TG_WATCH_MAX_BYTES);
    return NULL;
}

static struct tg_error *evaluate(const struct tg_scene *scene, struct tg_expression *expression,
                                 uint64_t length, size_t *position, struct tg_watch_plan *plan)
{
    struct tg_value value;
    struct tg_error *error = tg_expression_evaluate(expression, scene, &value, position);
    return error != NULL ? error : tg_watch_plan_place(scene, &value, length, plan);
}

/* ---- for how long */

static bool read_frames(struct tg_thread *thread, struct tg_modules *modules, struct tg_registers *registers,
                        struct tg_frames *frames)
{
    const struct tg_inspect_memory memory = tg_thread_scene_memory(thread);
    if (!tg_thread_scene_registers(thread, registers))
        return false;
    struct tg_error *error = tg_frames_read(modules, &memory, registers, MAX_FRAMES, frames);
    tg_error_destroy(error); /* no memory: nothing is known of frames */
    return error == NULL;
}

/* The frame of THREAD that PLAN's bytes are in, where they are on its stack. */
static void find_frame(struct tg_thread *thread, struct tg_modules *modules, struct tg_watch_plan *plan)
{
    struct tg_registers registers;
    struct tg_frames frames;
    if (!read_frames(thread, modules, &registers, &frames))
        return;
    bool is_stack = plan->address + RED_ZONE >= registers.value[TG_RSP];
    for (size_t i = 0; is_stack && i + 1 < frames.count; i++) {
        const struct tg_call *call = &frames.calls[i], *next = call + 1;
        if (call->frame.cfa == 0 || plan->address >= call->frame.cfa || next->frame.cfa == call->frame.cfa)
            continue; /* a further one, or inlined into the next */
        plan->cfa = call->frame.cfa;
        plan->left_at = next->frame.registers.value[TG_RIP];
        snprintf(plan->function, sizeof plan->function, "%s",
                 call->code.has_function && call->code.name != NULL ? call->code.name : "");
        break;
    }
    tg_frames_deinit(&frames);
}

bool tg_watch_plan_has_frame(const struct tg_watch_plan *plan, struct tg_thread *thread,
                             struct tg_modules *modules)
{
    struct tg_registers registers;
    struct tg_frames frames;
    bool is_there = false;
    if (!read_frames(thread, modules, &registers, &frames))
        return true;
    for (size_t i = 0; i < frames.count && !is_there; i++)
        is_there = frames.calls[i].frame.cfa == plan->cfa;
    tg_frames_deinit(&frames);
    return is_there;
}

struct tg_error *tg_watch_plan_static(struct tg_thread *thread, struct tg_modules *modules,
                                      struct tg_module_scene *objects, struct tg_expression *expression,
                                      uint64_t length, struct tg_watch_plan *plan)
{
    const struct tg_inspect_memory memory = tg_thread_scene_memory(thread);
    const struct tg_scene *scene = tg_module_scene_of(objects, &memory, NULL, NULL, NULL, 0);
    struct tg_error *error = evaluate(scene, expression, length, NULL, plan);
    if (error != NULL)
        return error;
    plan->is_static = tg_modules_find(modules, plan->address) != NULL;
    return plan->is_static ? NULL : tg_error_create(TG_ERROR_NOT_FOUND, "it has no fixed place");
}

struct tg_error *tg_watch_plan_make(struct tg_thread *thread, struct tg_modules *modules,
                                    struct tg_module_scene *objects, struct tg_expression *expression,
                                    struct tg_thread_scene *frame, uint64_t length, size_t *position,
                                    struct tg_watch_plan *plan)
{
    struct tg_watch_plan without_frame;
    struct tg_error *error = evaluate(frame->scene, expression, length, position, plan);
    if (error != NULL)
        return error;
    struct tg_error *why = tg_watch_plan_static(thread, modules, objects, expression, length, &without_frame);
    plan->is_static = why == NULL && without_frame.address == plan->address;
    tg_error_destroy(why);
    if (!plan->is_static)
        find_frame(thread, modules, plan);
    return NULL;
}
