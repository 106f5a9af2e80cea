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
    struct tg_last_stack first; /* in a look, where others followed; pid 0: none */
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
    const struct tg_stack_model *lent; /* for names that are not among those, NULL none */
    struct tg_string_pool strings;
};

struct tg_error *tg_stack_model_create(struct tg_stack_model **model)
{
    *model = calloc(1, sizeof **model);
    return *model == NULL ? tg_error_no_memory() : NULL;
}

static void deinit_stack(const struct tg_last_stack *stack)
{
    free((void *)stack->frames);
    free((void *)stack->values);
}

void tg_stack_model_destroy(struct tg_stack_model *model)
{
    struct thread *thread, *next_thread;
    struct name *name, *next_name;
    if (model == NULL)
        return;
    HASH_ITER (hh, model->threads, thread, next_thread) {
        HASH_DEL(model->threads, thread);
        deinit_stack(&thread->first);
        free(thread);
    }
    HASH_ITER (hh, model->names, name, next_name) {
        HASH_DEL(model->names, name);
        free(name->calls);
        free(name);
    }
    for (size_t i = 0; i < model->count; i++)
        deinit_stack(&model->stacks[i]);
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

/* COUNT values are copied; STACK's are them then. */
static struct tg_error *keep_values(struct tg_stack_model *model, const struct tg_call_value *values,
                                    uint64_t count, struct tg_last_stack *stack)
{
    struct tg_call_value *copies = calloc(count + 1, sizeof *copies);
    struct tg_error *error = copies == NULL ? tg_error_no_memory() : NULL;
    for (uint64_t i = 0; error == NULL && i < count; i++) {
        copies[i] = values[i];
        error = intern(model, &copies[i].name);
        if (error == NULL)
            error = intern(model, &copies[i].text);
    }
    if (error != NULL) {
        free(copies);
        return error;
    }
    free((void *)stack->values);
    stack->values = copies;
    stack->n_values = count;
    return NULL;
}

/* A copy of FROM that is MODEL's. */
static struct tg_error *copy_stack(struct tg_stack_model *model, const struct tg_last_stack *from,
                                   struct tg_last_stack *copy)
{
    struct tg_stack_frame *frames = NULL;
    struct tg_error *error = copy_frames(model, from->frames, from->count, &frames);
    *copy = *from;
    copy->frames = frames;
    copy->values = NULL;
    copy->n_values = 0;
    if (error == NULL && from->n_values > 0)
        error = keep_values(model, from->values, from->n_values, copy);
    if (error != NULL)
        deinit_stack(copy);
    return error;
}

/* What was there becomes the thread's first stack where it is one. */
static void make_room(struct tg_stack_model *model, const struct tg_last_stack *stack)
{
    struct thread *thread = stack->pid != 0 ? find_thread(model, stack->process, stack->tid) : NULL;
    if (thread != NULL && thread->first.pid == 0 && stack->reason == TG_STACK_LOOK)
        thread->first = *stack;
    else
        deinit_stack(stack);
}

/* LIKE is the last stack of its thread; what it has is copied. */
static struct tg_error *keep_stack(struct tg_stack_model *model, const struct tg_last_stack *like)
{
    struct tg_last_stack *stack = NULL, copy;
    struct tg_error *error = copy_stack(model, like, &copy);
    if (error != NULL)
        return error;
    error = need_thread(model, like->process, like->tid, &stack);
    if (error != NULL) {
        deinit_stack(&copy);
        return error;
    }
    make_room(model, stack);
    *stack = copy;
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

static struct tg_last_stack *last_of(struct tg_stack_model *model, const struct tg_event *event,
                                     size_t process)
{
    const struct thread *thread =
        process == SIZE_MAX ? NULL : find_thread(model, process, (int32_t)event->tid);
    return thread == NULL ? NULL : &model->stacks[thread->index];
}

/* Several processes at the other end: which of them is meant is unknown. */
static void take_wait(struct tg_stack_model *model, const struct tg_event *event, size_t process)
{
    const struct tg_event_thread_wait *is = &event->thread_wait;
    const struct tg_wait_partner *partners = is->partners.items;
    struct tg_last_stack *stack = last_of(model, event, process);
    if (stack == NULL)
        return;
    stack->waits = true;
    stack->wait = (struct tg_stack_wait){.what = (enum tg_wait_what)is->what,
                                         .address = is->address,
                                         .owner = (int32_t)is->owner,
                                         .writes = is->writes != 0};
    if (is->partners.count == 1)
        stack->wait.partner = (int32_t)partners[0].pid;
}

/* A new thread stops before its first instruction; its event comes then. */
static void take_start(struct tg_stack_model *model, const struct tg_event *event, size_t process)
{
    struct tg_last_stack *stack = last_of(model, event, process);
    if (stack != NULL && event->time_ns > stack->time_ns)
        stack->begun_ns = event->time_ns;
}

static struct tg_error *take_values(struct tg_stack_model *model, const struct tg_event *event,
                                    size_t process)
{
    struct tg_last_stack *stack = last_of(model, event, process);
    const struct tg_list *values = &event->call_values.values;
    return stack == NULL ? NULL : keep_values(model, values->items, values->count, stack);
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
    if (name == NULL && model->lent != NULL)
        return tg_stack_model_names(model->lent, frame);
    return name == NULL ? (struct tg_stack_names){0} : (struct tg_stack_names){name->calls, name->count};
}

void tg_stack_model_lend_names(struct tg_stack_model *model, const struct tg_stack_model *names)
{
    model->lent = names;
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
    case TG_EVENT_THREAD_WAIT:
        take_wait(model, event, process);
        return NULL;
    case TG_EVENT_THREAD_START:
        take_start(model, event, process);
        return NULL;
    case TG_EVENT_CALL_VALUES:
        return take_values(model, event, process);
    default:
        return NULL;
    }
}

static struct tg_error *copy_names(const struct tg_stack_model *from, struct tg_stack_model *to)
{
    struct tg_error *error = NULL;
    to->lent = from->lent;
    for (const struct name *name = from->names; error == NULL && name != NULL; name = name->hh.next)
        error = take_names(to, &name->key, name->calls, name->count);
    return error;
}

static struct tg_error *finish_copy(struct tg_error *error, struct tg_stack_model *made,
                                    struct tg_stack_model **copy)
{
    if (error != NULL)
        tg_stack_model_destroy(made);
    else
        *copy = made;
    return error;
}

/* The first of several stacks of the thread that STACK is the last one of; NULL: there is no other one. */
static const struct tg_last_stack *find_first(const struct tg_stack_model *model,
                                              const struct tg_last_stack *stack)
{
    const struct thread *thread = find_thread(model, stack->process, stack->tid);
    return thread == NULL || thread->first.pid == 0 ? NULL : &thread->first;
}

struct tg_error *tg_stack_model_copy(const struct tg_stack_model *model, struct tg_stack_model **copy)
{
    struct tg_stack_model *made = NULL;
    struct tg_error *error = tg_stack_model_create(&made);
    for (size_t i = 0; error == NULL && i < model->count; i++) {
        const struct tg_last_stack *stack = &model->stacks[i];
        const struct tg_last_stack *first = find_first(model, stack);
        if (first != NULL)
            error = keep_stack(made, first);
        if (error == NULL)
            error = keep_stack(made, stack);
    }
    for (size_t i = 0; error == NULL && i < model->n_looks; i++)
        error = TG_ARRAY_APPEND(made->looks, made->n_looks, made->looks_capacity, model->looks[i]);
    if (error == NULL)
        error = copy_names(model, made);
    return finish_copy(error, made, copy);
}

struct tg_error *tg_stack_model_copy_first(const struct tg_stack_model *model, struct tg_stack_model **copy)
{
    struct tg_stack_model *made = NULL;
    struct tg_error *error = tg_stack_model_create(&made);
    for (size_t i = 0; error == NULL && i < model->count; i++) {
        const struct tg_last_stack *first = find_first(model, &model->stacks[i]);
        if (first != NULL)
            error = keep_stack(made, first);
    }
    if (error == NULL)
        error = copy_names(model, made);
    return finish_copy(error, made, copy);
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
