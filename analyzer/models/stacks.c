#include "analyzer/models/stacks.h"

#include "format/base/array.h"
#include "format/base/hash.h"
#include "format/base/string_pool.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_LOOKS = 4096, MAX_NAMES = 1 << 20 };

struct thread_key {
    size_t process;
    int64_t tid;
};

struct thread {
    struct thread_key key;
    size_t index;
    UT_hash_handle hh;
};

struct name_key {
    const char *module, *build_id; /* the pool's */
    uint64_t address;
};

struct name {
    struct name_key key;
    struct tg_named_call *calls;
    size_t count;
    UT_hash_handle hh;
};

struct tg_stack_model {
    struct tg_last_stack *stacks;
    size_t count, capacity;
    struct thread *threads;
    struct tg_stack_look *looks;
    size_t n_looks, looks_capacity;
    struct name *names;
    struct tg_string_pool strings;
};

struct tg_error *tg_stack_model_create(struct tg_stack_model **model)
{
    *model = calloc(1, sizeof **model);
    return *model == NULL ? tg_error_no_memory() : NULL;
}

void tg_stack_model_destroy(struct tg_stack_model *model)
{
    struct thread *thread, *next_thread;
    struct name *name, *next_name;
    if (model == NULL)
        return;
    HASH_ITER (hh, model->threads, thread, next_thread) {
        HASH_DEL(model->threads, thread);
        free(thread);
    }
    HASH_ITER (hh, model->names, name, next_name) {
        HASH_DEL(model->names, name);
        free(name->calls);
        free(name);
    }
    for (size_t i = 0; i < model->count; i++)
        free((void *)model->stacks[i].frames);
    free(model->stacks);
    free(model->looks);
    tg_string_pool_deinit(&model->strings);
    free(model);
}

/* ---- stacks */

static struct tg_error *intern(struct tg_stack_model *model, const char **text)
{
    return tg_string_pool_intern(&model->strings, *text, text);
}

static struct tg_error *copy_frames(struct tg_stack_model *model, const struct tg_stack_frame *from,
                                    uint64_t count, struct tg_stack_frame **copy)
{
    struct tg_stack_frame *frames = calloc(count + 1, sizeof *frames);
    struct tg_error *error = frames == NULL ? tg_error_no_memory() : NULL;
    for (uint64_t i = 0; error == NULL && i < count; i++) {
        struct tg_stack_frame *frame = &frames[i];
        *frame = from[i];
        error = intern(model, &frame->module);
        if (error == NULL)
            error = intern(model, &frame->build_id);
        if (error == NULL)
            error = intern(model, &frame->function);
        if (error == NULL)
            error = intern(model, &frame->file);
    }
    if (error != NULL)
        free(frames);
    else
        *copy = frames;
    return error;
}

static struct thread *find_thread(const struct tg_stack_model *model, size_t process, int32_t tid)
{
    struct thread *thread = NULL;
    struct thread_key key;
    memset(&key, 0, sizeof key);
    key.process = process;
    key.tid = tid;
    HASH_FIND(hh, model->threads, &key, sizeof key, thread);
    return thread;
}

/* The place for the stack of a thread, an empty one where there was none. */
static struct tg_error *need_thread(struct tg_stack_model *model, size_t process, int32_t tid,
                                    struct tg_last_stack **stack)
{
    struct thread *thread = find_thread(model, process, tid);
    struct thread_key key;
    if (thread == NULL) {
        memset(&key, 0, sizeof key);
        key.process = process;
        key.tid = tid;
        struct tg_error *error =
            TG_ARRAY_APPEND(model->stacks, model->count, model->capacity, (struct tg_last_stack){0});
        if (error == NULL)
            error = TG_HASH_CREATE(hh, model->threads, key, &key, thread);
        if (error != NULL)
            return error;
        thread->index = model->count - 1;
    }
    *stack = &model->stacks[thread->index];
    return NULL;
}

/* LIKE is the last stack of its thread; its frames are copied. */
static struct tg_error *keep_stack(struct tg_stack_model *model, const struct tg_last_stack *like)
{
    struct tg_last_stack *stack = NULL;
    struct tg_stack_frame *frames = NULL;
    struct tg_error *error = copy_frames(model, like->frames, like->count, &frames);
    if (error == NULL)
        error = need_thread(model, like->process, like->tid, &stack);
    if (error != NULL) {
        free(frames);
        return error;
    }
    free((void *)stack->frames);
    *stack = *like;
    stack->frames = frames;
    return NULL;
}

static struct tg_error *take_stack(struct tg_stack_model *model, const struct tg_event *event, size_t process)
{
    const struct tg_last_stack stack = {.process = process,
                                        .pid = event->pid,
                                        .tid = event->tid,
                                        .time_ns = event->time_ns,
                                        .snapshot = event->stack.snapshot,
                                        .reason = event->stack.reason,
                                        .signal = event->stack.signal,
                                        .end = event->stack.end,
                                        .frames = event->stack.frames.items,
                                        .count = event->stack.frames.count};
    return keep_stack(model, &stack);
}

/* ---- names */

static struct tg_error *intern_key(struct tg_stack_model *model, struct name_key *key)
{
    struct tg_error *error = intern(model, &key->module);
    return error != NULL ? error : intern(model, &key->build_id);
}

/* FROM, COUNT of them, are the calls at AT. Its strings and theirs are copied. */
static struct tg_error *take_names(struct tg_stack_model *model, const struct name_key *at,
                                   const struct tg_named_call *from, uint64_t count)
{
    struct name_key key = *at;
    struct name *name = NULL;
    struct tg_error *error = intern_key(model, &key);
    if (error != NULL || HASH_COUNT(model->names) >= MAX_NAMES)
        return error;
    HASH_FIND(hh, model->names, &key, sizeof key, name);
    if (name != NULL)
        return NULL;
    struct tg_named_call *calls = calloc(count + 1, sizeof *calls);
    error = calls == NULL ? tg_error_no_memory() : NULL;
    for (uint64_t i = 0; error == NULL && i < count; i++) {
        calls[i] = from[i];
        error = intern(model, &calls[i].function);
        if (error == NULL)
            error = intern(model, &calls[i].file);
    }
    if (error == NULL)
        error = TG_HASH_CREATE(hh, model->names, key, &key, name);
    if (error != NULL) {
        free(calls);
        return error;
    }
    name->calls = calls;
    name->count = count;
    return NULL;
}

static struct tg_error *take_name_event(struct tg_stack_model *model, const struct tg_event_code_name *event)
{
    struct name_key key;
    memset(&key, 0, sizeof key);
    key.module = event->module;
    key.build_id = event->build_id;
    key.address = event->address;
    return take_names(model, &key, event->calls.items, event->calls.count);
}

struct tg_stack_names tg_stack_model_names(const struct tg_stack_model *model,
                                           const struct tg_stack_frame *frame)
{
    struct name_key key;
    struct name *name = NULL;
    memset(&key, 0, sizeof key);
    key.module = tg_string_pool_find(&model->strings, frame->module);
    key.build_id = tg_string_pool_find(&model->strings, frame->build_id);
    key.address = frame->address;
    if (key.module != NULL && key.build_id != NULL)
        HASH_FIND(hh, model->names, &key, sizeof key, name);
    return name == NULL ? (struct tg_stack_names){0} : (struct tg_stack_names){name->calls, name->count};
}

/* ---- all */

static struct tg_error *take_look(struct tg_stack_model *model, const struct tg_event *event)
{
    if (model->n_looks == MAX_LOOKS)
        return NULL;
    return TG_ARRAY_APPEND(model->looks, model->n_looks, model->looks_capacity,
                           (struct tg_stack_look){event->time_ns, event->stack_snapshot});
}

struct tg_error *tg_stack_model_feed(struct tg_stack_model *model, const struct tg_event *event,
                                     size_t process)
{
    switch ((unsigned)event->kind) {
    case TG_EVENT_STACK:
        return process == SIZE_MAX ? NULL : take_stack(model, event, process);
    case TG_EVENT_STACK_SNAPSHOT:
        return take_look(model, event);
    case TG_EVENT_CODE_NAME:
        return take_name_event(model, &event->code_name);
    default:
        return NULL;
    }
}

struct tg_error *tg_stack_model_copy(const struct tg_stack_model *model, struct tg_stack_model **copy)
{
    struct tg_stack_model *made = NULL;
    struct tg_error *error = tg_stack_model_create(&made);
    for (size_t i = 0; error == NULL && i < model->count; i++)
        error = keep_stack(made, &model->stacks[i]);
    for (size_t i = 0; error == NULL && i < model->n_looks; i++)
        error = TG_ARRAY_APPEND(made->looks, made->n_looks, made->looks_capacity, model->looks[i]);
    for (const struct name *name = model->names; error == NULL && name != NULL; name = name->hh.next)
        error = take_names(made, &name->key, name->calls, name->count);
    if (error != NULL) {
        tg_stack_model_destroy(made);
        return error;
    }
    *copy = made;
    return NULL;
}

size_t tg_stack_model_count(const struct tg_stack_model *model)
{
    return model->count;
}

const struct tg_last_stack *tg_stack_model_at(const struct tg_stack_model *model, size_t i)
{
    return &model->stacks[i];
}

const struct tg_last_stack *tg_stack_model_find(const struct tg_stack_model *model, size_t process,
                                                int32_t tid)
{
    const struct thread *thread = find_thread(model, process, tid);
    return thread == NULL ? NULL : &model->stacks[thread->index];
}

size_t tg_stack_model_look_count(const struct tg_stack_model *model)
{
    return model->n_looks;
}

const struct tg_stack_look *tg_stack_model_look_at(const struct tg_stack_model *model, size_t i)
{
    return &model->looks[i];
}
