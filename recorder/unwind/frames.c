#include "recorder/unwind/frames.h"

#include "format/base/array.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE_BYTES = 4096, N_PAGES = 4, MAX_HIDDEN = 256 };

/* The pages of the stack in hand: a frame asks for a word here and a word there. */
struct pages {
    const struct tg_inspect_memory *memory;
    uint64_t numbers[N_PAGES]; /* number + 1 of the page that is there; 0 none */
    uint8_t bytes[N_PAGES][PAGE_BYTES];
};

static bool read_through(void *context, uint64_t address, void *buffer, size_t size)
{
    struct pages *pages = context;
    uint64_t number = address / PAGE_BYTES, offset = address % PAGE_BYTES;
    if (size > PAGE_BYTES - offset)
        return pages->memory->read(pages->memory->context, address, buffer, size);
    size_t slot = number % N_PAGES;
    if (pages->numbers[slot] != number + 1) {
        pages->numbers[slot] = 0;
        if (!pages->memory->read(pages->memory->context, number * PAGE_BYTES, pages->bytes[slot], PAGE_BYTES))
            return pages->memory->read(pages->memory->context, address, buffer, size);
        pages->numbers[slot] = number + 1;
    }
    memcpy(buffer, pages->bytes[slot] + offset, size);
    return true;
}

/* Whether the two are at the same place of the stack with the same registers: from there on it repeats. */
static bool same_frame(const struct tg_frame *a, const struct tg_frame *b)
{
    return a->registers.known == b->registers.known &&
           memcmp(a->registers.value, b->registers.value, sizeof a->registers.value) == 0;
}

struct list {
    struct tg_frames frames;
    size_t capacity;
    size_t max;
    bool with_agent;
    bool is_behind; /* the call before was one of the agent's, which is left out */
};

/* NULL: the list is full, or there is no memory. */
static struct tg_call *add_call(struct list *list, bool *no_memory)
{
    struct tg_frames *frames = &list->frames;
    if (frames->count == list->max) {
        frames->is_cut = true;
        return NULL;
    }
    *no_memory = TG_ARRAY_APPEND(frames->calls, frames->count, list->capacity, (struct tg_call){0}) != NULL;
    return *no_memory ? NULL : &frames->calls[frames->count - 1];
}

/* The calls that are at FRAME: itself, and before it what was inlined there. */
static bool add_frame(struct list *list, struct tg_modules *modules, const struct tg_frame *frame,
                      const struct tg_unwind_note *note)
{
    uint64_t place_at = tg_frame_place(frame), bias;
    if (note->is_signal)
        place_at =
            frame->registers.value[TG_RIP]; /* returned to, never called: the byte before is another's */
    const struct tg_module *module = tg_modules_find(modules, place_at);
    if (!list->with_agent && tg_module_is_agent(module)) {
        list->is_behind = true;
        return true;
    }
    struct tg_debug_info *info = module != NULL ? tg_modules_debug_info(modules, module, &bias) : NULL;
    const struct tg_code_place *place = info != NULL ? tg_debug_info_place(info, place_at - bias) : NULL;
    bool no_memory = info != NULL && place == NULL;
    size_t count = place != NULL ? place->count : 1;
    for (size_t i = 0; i < count && !no_memory; i++) {
        struct tg_call *call = add_call(list, &no_memory);
        if (call == NULL)
            break;
        call->frame = *frame;
        call->module = module;
        if (place != NULL)
            call->code = place->calls[i];
        call->code.offset += call->code.name != NULL ? frame->registers.value[TG_RIP] - place_at : 0;
        call->is_signal = note->is_signal;
        call->is_guessed = note->is_guessed;
        call->is_behind = list->is_behind;
    }
    list->is_behind = false;
    return !no_memory;
}

enum tg_unwind_result tg_frames_walk(struct tg_modules *modules, const struct tg_inspect_memory *memory,
                                     const struct tg_registers *registers, tg_frame_taker *take,
                                     void *context)
{
    struct pages pages = {.memory = memory};
    struct tg_inspect_memory cached = {.context = &pages, .read = read_through};
    struct tg_frame frame = tg_frame_innermost(registers), caller, tortoise = frame;
    for (size_t n = 1, next_rest = 16;; n++) {
        struct tg_unwind_note note;
        enum tg_unwind_result result = tg_unwind_caller(modules, &cached, &frame, &caller, &note);
        if (!take(context, &frame, &note) || result != TG_UNWIND_CALLER)
            return result;
        frame = caller;
        if (same_frame(&frame, &tortoise)) /* a signal trampoline may lead back */
            return TG_UNWIND_BACKWARD;
        if (n == next_rest) {
            next_rest *= 2;
            tortoise = frame;
        }
    }
}

struct reading {
    struct list list;
    struct tg_modules *modules;
    bool no_memory;
};

static bool take_frame(void *context, const struct tg_frame *frame, const struct tg_unwind_note *note)
{
    struct reading *reading = context;
    reading->no_memory = !add_frame(&reading->list, reading->modules, frame, note);
    return !reading->no_memory && !reading->list.frames.is_cut;
}

static struct tg_error *read_calls(struct tg_modules *modules, const struct tg_inspect_memory *memory,
                                   const struct tg_registers *registers, size_t max, bool with_agent,
                                   struct tg_frames *result)
{
    struct reading reading = {.list = {.max = max, .with_agent = with_agent}, .modules = modules};
    reading.list.frames.end = tg_frames_walk(modules, memory, registers, take_frame, &reading);
    if (reading.no_memory) {
        free(reading.list.frames.calls);
        return tg_error_no_memory();
    }
    *result = reading.list.frames;
    return NULL;
}

struct tg_error *tg_frames_read(struct tg_modules *modules, const struct tg_inspect_memory *memory,
                                const struct tg_registers *registers, size_t max, struct tg_frames *result)
{
    struct tg_error *error = read_calls(modules, memory, registers, max, false, result);
    if (error != NULL || result->count > 0)
        return error;
    tg_frames_deinit(result);
    return read_calls(modules, memory, registers, max, true, result);
}

struct tg_frame tg_frames_innermost(struct tg_modules *modules, const struct tg_inspect_memory *memory,
                                    const struct tg_registers *registers)
{
    struct pages pages = {.memory = memory};
    const struct tg_inspect_memory cached = {.context = &pages, .read = read_through};
    const struct tg_frame innermost = tg_frame_innermost(registers);
    struct tg_frame frame = innermost, caller;
    struct tg_unwind_note note;
    for (unsigned i = 0; i < MAX_HIDDEN; i++) {
        if (!tg_module_is_agent(tg_modules_find(modules, tg_frame_place(&frame))))
            return frame;
        if (tg_unwind_caller(modules, &cached, &frame, &caller, &note) != TG_UNWIND_CALLER)
            break;
        frame = caller;
    }
    return innermost;
}

void tg_frames_deinit(struct tg_frames *frames)
{
    free(frames->calls);
    *frames = (struct tg_frames){0};
}

const char *tg_frames_remark(const struct tg_frames *frames)
{
    return frames->is_cut ? "" : tg_unwind_result_text(frames->end);
}
