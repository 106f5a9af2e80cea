#include "live/commands/page/stopped.h"

#include "format/base/array.h"
#include "live/commands/focus/standing.h"
#include "recorder/unwind/frames.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The tracer thread reads them, which resumes and stops threads otherwise: not for long. */
enum { CALLS = 64, LONGEST_MS = 100 };

struct reading {
    const struct tg_moment *moment;
    struct tg_page_stopped *stopped;
    uint64_t until_ms;
};

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void free_stack(struct tg_page_stack *stack)
{
    for (size_t i = 0; i < stack->n_calls; i++) {
        free((char *)(uintptr_t)stack->calls[i].function);
        free((char *)(uintptr_t)stack->calls[i].file);
        free((char *)(uintptr_t)stack->calls[i].module);
    }
    free(stack->calls);
}

void tg_page_stopped_deinit(struct tg_page_stopped *stopped)
{
    for (size_t i = 0; i < stopped->count; i++)
        free_stack(&stopped->stacks[i]);
    free(stopped->stacks);
    *stopped = (struct tg_page_stopped){0};
}

/* Copied; false: no memory. */
static bool keep_call(const struct tg_call *call, struct tg_stack_call *kept)
{
    const char *file = call->code.file != NULL ? call->code.file : "";
    const char *module = call->module != NULL ? call->module->path : "";
    const char *function = call->is_signal           ? "<signal handler called>"
                           : call->code.name != NULL ? call->code.name
                                                     : "";
    const uint64_t pc = call->frame.registers.value[TG_RIP];
    *kept =
        (struct tg_stack_call){.function = strdup(function),
                               .file = strdup(file),
                               .module = strdup(module),
                               .line = *file == '\0' || call->code.line < 0 ? 0 : (uint64_t)call->code.line,
                               .offset = call->code.offset,
                               .pc = pc,
                               .address = pc - (call->module != NULL ? call->module->start : 0),
                               .is_inlined = call->code.is_inlined,
                               .is_signal = call->is_signal,
                               .is_runtime = tg_stack_is_of_runtime(module, function)};
    return kept->function != NULL && kept->file != NULL && kept->module != NULL;
}

static struct tg_error *keep_stack(struct reading *reading, size_t process, int32_t tid,
                                   const struct tg_frames *frames)
{
    struct tg_page_stack stack = {.process = process, .tid = tid};
    stack.calls = calloc(frames->count + 1, sizeof *stack.calls);
    bool has_memory = stack.calls != NULL;
    for (size_t i = 0; has_memory && i < frames->count; i++)
        has_memory = keep_call(&frames->calls[i], &stack.calls[stack.n_calls++]);
    struct tg_page_stopped *stopped = reading->stopped;
    struct tg_error *error = has_memory
                                 ? TG_ARRAY_APPEND(stopped->stacks, stopped->count, stopped->capacity, stack)
                                 : tg_error_no_memory();
    if (error != NULL)
        free_stack(&stack);
    return error;
}

static struct tg_error *read_thread(const struct tg_request *control, const struct tg_job_process *process,
                                    size_t i, size_t index)
{
    struct reading *reading = control->context;
    struct tg_standing standing;
    struct tg_frames frames;
    bool is_stopped = false;
    struct tg_error *error = tg_standing_take(control, process, i, &is_stopped, &standing);
    if (error != NULL || !is_stopped)
        return error;
    error = tg_frames_read(standing.modules, &standing.memory, &standing.registers, CALLS, &frames);
    if (error != NULL)
        return error;
    error = keep_stack(reading, index, (int32_t)tg_job_view_thread(control->view, process, i)->tag, &frames);
    tg_frames_deinit(&frames);
    return error;
}

/* On the tracer thread. */
static struct tg_error *read_all(const struct tg_request *control)
{
    struct reading *reading = control->context;
    struct tg_error *error = NULL;
    reading->until_ms = now_ms() + LONGEST_MS;
    for (size_t p = 0; error == NULL && p < tg_job_view_count(control->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(control->view, p);
        size_t index =
            process->info.exists ? tg_moment_find_pid(reading->moment, (int64_t)process->info.tag) : SIZE_MAX;
        for (size_t i = 0; error == NULL && index != SIZE_MAX && i < process->n_threads; i++) {
            if (now_ms() >= reading->until_ms) {
                reading->stopped->is_cut = true;
                return NULL;
            }
            error = read_thread(control, process, i, index);
        }
    }
    return error;
}

struct tg_error *tg_page_stopped_take(struct tg_console *console, struct tg_page_stopped *stopped)
{
    struct reading reading = {.moment = console->source->moment, .stopped = stopped};
    *stopped = (struct tg_page_stopped){0};
    struct tg_error *error = tg_focus_call_run_all(console, read_all, &reading, NULL);
    if (error == NULL)
        return NULL;
    bool is_of_memory = tg_error_code(error) == TG_ERROR_NO_MEMORY;
    tg_page_stopped_deinit(stopped);
    if (is_of_memory)
        return error;
    tg_error_destroy(error); /* there is no job any more, or none yet */
    return NULL;
}
