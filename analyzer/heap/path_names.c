#include "analyzer/heap/path_names.h"

#include "analyzer/output/stack_words.h"

#include <stdlib.h>
#include <string.h>

/* PATH as a stack of the stack model, in FRAMES; NULL without memory. */
static struct tg_stack_frame *frames_of(const struct tg_heap_path *path, struct tg_last_stack *stack)
{
    struct tg_stack_frame *frames = calloc(path->count + 1, sizeof *frames);
    for (size_t i = 0; frames != NULL && i < path->count; i++) {
        const struct tg_heap_frame *frame = path->frames[i];
        frames[i] = (struct tg_stack_frame){.kind = frame->is_python   ? TG_FRAME_PYTHON
                                                    : frame->is_signal ? TG_FRAME_SIGNAL
                                                                       : TG_FRAME_CODE,
                                            .pc = frame->address,
                                            .module = frame->module,
                                            .build_id = frame->build_id,
                                            .address = frame->address,
                                            .function = frame->function,
                                            .file = frame->file,
                                            .line = frame->line};
    }
    *stack = (struct tg_last_stack){.frames = frames, .count = path->count, .end = path->end};
    return frames;
}

/* Names a call that the trace has no name for. Its build-id is not in it: FRAMES are asked for that. */
static void name_call(const struct tg_heap_path_names *names, const char *build_id,
                      struct tg_stack_call *call)
{
    struct tg_symbol symbol;
    if (names->files == NULL || *call->function != '\0' || *call->file != '\0' || *call->module == '\0' ||
        !tg_code_names_in_module(names->files, call->module, build_id, call->address, &symbol))
        return;
    if (symbol.function != NULL) {
        call->function = symbol.function;
        call->offset = symbol.offset;
    }
    if (symbol.file != NULL) {
        call->file = symbol.file;
        call->line = symbol.line;
    }
}

struct telling {
    const struct tg_heap_path_names *names;
    const struct tg_heap_path *path;
    bool (*take)(void *context, const struct tg_stack_call *call);
    void *context;
};

static const char *build_id_of(const struct tg_heap_path *path, const struct tg_stack_call *call)
{
    for (size_t i = 0; i < path->count; i++)
        if (path->frames[i]->module == call->module && path->frames[i]->address == call->address)
            return path->frames[i]->build_id;
    return "";
}

static bool tell(void *context, const struct tg_stack_call *given)
{
    const struct telling *telling = context;
    struct tg_stack_call call = *given;
    name_call(telling->names, build_id_of(telling->path, given), &call);
    return telling->take(telling->context, &call);
}

struct tg_error *tg_heap_path_each_call(const struct tg_heap_path_names *names,
                                        const struct tg_heap_path *path,
                                        bool (*take)(void *context, const struct tg_stack_call *call),
                                        void *context)
{
    struct tg_last_stack stack;
    struct tg_stack_frame *frames = frames_of(path, &stack);
    if (frames == NULL)
        return tg_error_no_memory();
    struct telling telling = {names, path, take, context};
    tg_stack_each_call(names->stacks, &stack, tell, &telling);
    free(frames);
    return NULL;
}

char *tg_heap_path_place(const struct tg_heap_path_names *names, const struct tg_heap_path *path,
                         char *buffer, size_t size)
{
    struct tg_last_stack stack;
    struct tg_stack_frame *frames = path->count > 0 ? frames_of(path, &stack) : NULL;
    if (frames == NULL) {
        snprintf(buffer, size, "an unknown place");
        return buffer;
    }
    struct tg_stack_place place = tg_stack_place_find(names->stacks, &stack);
    struct tg_stack_call call = place.has_caller && place.at.line == 0 ? place.caller : place.at;
    name_call(names, build_id_of(path, &call), &call);
    tg_stack_words_call(&call, buffer, size);
    free(frames);
    return buffer;
}

const char *tg_heap_path_module(const struct tg_heap_path *path)
{
    return path->count > 0 ? path->frames[0]->module : "";
}
