#include "analyzer/models/load_calls.h"

#include "format/base/array.h"
#include "format/base/hash.h"
#include "format/base/string_pool.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Calls that a thread is in, one inside of the other. One that was left by longjmp stays until it is the
 * oldest. */
enum { MAX_DEPTH = 32, MAX_THREADS = 1 << 20 };

struct open_call {
    uint64_t call;
    const char *path;
    const char *object;
    uint64_t caller;
};

struct thread_key {
    int32_t pid;
    int32_t tid;
};

struct thread {
    struct thread_key key;
    UT_hash_handle hh;
    size_t depth;
    struct open_call calls[MAX_DEPTH];
};

struct tg_load_calls {
    struct tg_string_pool strings;
    struct thread *threads; /* inside a call */
    struct tg_load_failure *failures;
    size_t n_failures;
    size_t capacity;
    struct tg_load_call_totals totals;
};

struct tg_error *tg_load_calls_create(struct tg_load_calls **model)
{
    struct tg_load_calls *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    *model = made;
    return NULL;
}

static void drop_thread(struct tg_load_calls *model, struct thread *thread)
{
    HASH_DEL(model->threads, thread);
    free(thread);
}

void tg_load_calls_destroy(struct tg_load_calls *model)
{
    if (model == NULL)
        return;
    struct thread *thread, *next;
    HASH_ITER (hh, model->threads, thread, next)
        drop_thread(model, thread);
    tg_string_pool_deinit(&model->strings);
    free(model->failures);
    free(model);
}

static struct thread *find_thread(const struct tg_load_calls *model, const struct tg_event *event)
{
    const struct thread_key key = {.pid = event->pid, .tid = event->tid};
    struct thread *thread = NULL;
    HASH_FIND(hh, model->threads, &key, sizeof key, thread);
    return thread;
}

static struct tg_error *get_thread(struct tg_load_calls *model, const struct tg_event *event,
                                   struct thread **found)
{
    *found = find_thread(model, event);
    if (*found != NULL || HASH_COUNT(model->threads) >= MAX_THREADS)
        return NULL;
    const struct thread_key key = {.pid = event->pid, .tid = event->tid};
    return TG_HASH_CREATE(hh, model->threads, key, &key, *found);
}

static struct tg_error *begin_call(struct tg_load_calls *model, const struct tg_event *event,
                                   const char *object)
{
    const struct tg_event_library_call *call = &event->library_call;
    struct thread *thread = NULL;
    struct open_call open = {.call = call->call, .caller = call->caller};
    if (call->call < sizeof model->totals.calls / sizeof model->totals.calls[0])
        model->totals.calls[call->call]++;
    struct tg_error *error = get_thread(model, event, &thread);
    if (error == NULL && thread != NULL)
        error = tg_string_pool_intern(&model->strings, call->path, &open.path);
    if (error == NULL && thread != NULL)
        error = tg_string_pool_intern(&model->strings, object, &open.object);
    if (error != NULL || thread == NULL)
        return error;
    if (thread->depth == MAX_DEPTH)
        memmove(thread->calls, thread->calls + 1, --thread->depth * sizeof *thread->calls);
    thread->calls[thread->depth++] = open;
    return NULL;
}

/* Strings of the pool are compared by their addresses. */
static struct tg_load_failure *find_failure(struct tg_load_calls *model, const struct open_call *open,
                                            const char *error)
{
    for (size_t i = 0; i < model->n_failures; i++) {
        struct tg_load_failure *failure = &model->failures[i];
        if (failure->call == open->call && failure->path == open->path && failure->error == error &&
            failure->object == open->object && (open->object[0] != '\0' || failure->caller == open->caller))
            return failure;
    }
    return NULL;
}

static struct tg_error *add_failure(struct tg_load_calls *model, const struct tg_event *event, size_t process,
                                    const struct open_call *open)
{
    model->totals.failed++;
    const char *text;
    struct tg_error *error = tg_string_pool_intern(&model->strings, event->library_return.error, &text);
    if (error != NULL)
        return error;
    struct tg_load_failure *failure = find_failure(model, open, text);
    if (failure == NULL && model->n_failures == TG_LOAD_CALL_MAX_FAILURES) {
        model->totals.beyond_limit++;
        return NULL;
    }
    if (failure == NULL) {
        error = TG_ARRAY_RESERVE(model->failures, model->capacity, model->n_failures + 1);
        if (error != NULL)
            return error;
        failure = &model->failures[model->n_failures++];
        *failure = (struct tg_load_failure){.call = open->call,
                                            .path = open->path,
                                            .error = text,
                                            .caller = open->caller,
                                            .object = open->object,
                                            .first_ns = event->time_ns,
                                            .first_process = process};
    }
    failure->times++;
    return NULL;
}

static struct tg_error *end_call(struct tg_load_calls *model, const struct tg_event *event, size_t process)
{
    const struct tg_event_library_return *returned = &event->library_return;
    struct thread *thread = find_thread(model, event);
    struct open_call open = {.call = returned->call, .path = "", .object = ""};
    bool found = false;
    while (thread != NULL && thread->depth > 0 && !found) {
        open = thread->calls[--thread->depth];
        found = open.call == returned->call; /* else it was left without a return */
    }
    if (thread != NULL && thread->depth == 0)
        drop_thread(model, thread);
    if (!found)
        return NULL; /* the call was before the window, or lost */
    model->totals.returned++;
    model->totals.not_loaded += returned->error[0] == '\0' && returned->handle == 0;
    return returned->error[0] != '\0' ? add_failure(model, event, process, &open) : NULL;
}

/* Whatever its threads were in, nothing of it returns. */
static void end_process(struct tg_load_calls *model, int32_t pid)
{
    struct thread *thread, *next;
    HASH_ITER (hh, model->threads, thread, next) {
        if (thread->key.pid == pid)
            drop_thread(model, thread);
    }
}

struct tg_error *tg_load_calls_feed(struct tg_load_calls *model, const struct tg_event *event, size_t process,
                                    const char *object)
{
    if (event->kind == TG_EVENT_LIBRARY_CALL)
        return begin_call(model, event, object);
    if (event->kind == TG_EVENT_LIBRARY_RETURN)
        return end_call(model, event, process);
    if (event->kind == TG_EVENT_THREAD_EXIT) {
        struct thread *thread = find_thread(model, event);
        if (thread != NULL)
            drop_thread(model, thread);
    }
    if ((event->kind == TG_EVENT_PROCESS_EXIT || event->kind == TG_EVENT_EXEC) && model->threads != NULL)
        end_process(model, event->pid);
    return NULL;
}

struct tg_load_call_totals tg_load_calls_totals(const struct tg_load_calls *model)
{
    return model->totals;
}

size_t tg_load_calls_count(const struct tg_load_calls *model)
{
    return model->n_failures;
}

const struct tg_load_failure *tg_load_calls_at(const struct tg_load_calls *model, size_t i)
{
    return &model->failures[i];
}
