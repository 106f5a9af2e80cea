#include "analyzer/models/dlopen.h"

#include "format/base/array.h"
#include "format/base/string_pool.h"
#include "format/base/tcl_match.h"

#include <stdlib.h>
#include <string.h>

struct tg_dlopen_model {
    struct tg_string_pool strings;
    struct tg_dlopen_process *processes; /* by index in the process model */
    size_t count;
    size_t capacity;
    struct tg_dlopen_decision recent[TG_DLOPEN_MAX_RECENT]; /* a ring */
    uint64_t n_decisions;
};

struct tg_error *tg_dlopen_model_create(struct tg_dlopen_model **model)
{
    struct tg_dlopen_model *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    *model = made;
    return NULL;
}

void tg_dlopen_model_destroy(struct tg_dlopen_model *model)
{
    if (model == NULL)
        return;
    for (size_t i = 0; i < model->count; i++)
        free(model->processes[i].libraries);
    free(model->processes);
    tg_string_pool_deinit(&model->strings);
    free(model);
}

/* Copies the libraries of FROM to TO, which has none. */
static struct tg_error *copy_libraries(const struct tg_dlopen_process *from, struct tg_dlopen_process *to)
{
    if (from->n_libraries == 0)
        return NULL;
    to->libraries = malloc(from->n_libraries * sizeof *to->libraries);
    if (to->libraries == NULL)
        return tg_error_no_memory();
    memcpy(to->libraries, from->libraries, from->n_libraries * sizeof *to->libraries);
    to->n_libraries = to->capacity = from->n_libraries;
    return NULL;
}

struct tg_error *tg_dlopen_model_copy(const struct tg_dlopen_model *model, struct tg_dlopen_model **copy)
{
    struct tg_dlopen_model *made = malloc(sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    *made = *model;
    made->strings = (struct tg_string_pool){0};
    made->count = 0;
    made->capacity = model->count;
    made->processes = calloc(model->count + 1, sizeof *made->processes);
    struct tg_error *error = made->processes == NULL ? tg_error_no_memory() : NULL;
    for (; error == NULL && made->count < model->count; made->count++) {
        struct tg_dlopen_process *process = &made->processes[made->count];
        *process = model->processes[made->count];
        process->libraries = NULL;
        process->n_libraries = process->capacity = 0;
        error = copy_libraries(&model->processes[made->count], process);
    }
    if (error != NULL) {
        tg_dlopen_model_destroy(made);
        return error;
    }
    tg_string_pool_share(&model->strings, &made->strings);
    *copy = made;
    return NULL;
}

size_t tg_dlopen_model_count(const struct tg_dlopen_model *model)
{
    return model->count;
}

const struct tg_dlopen_process *tg_dlopen_model_at(const struct tg_dlopen_model *model, size_t process)
{
    return &model->processes[process];
}

const struct tg_dlopen_decision *tg_dlopen_model_recent(const struct tg_dlopen_model *model, size_t i)
{
    if (i >= TG_DLOPEN_MAX_RECENT || i >= model->n_decisions)
        return NULL;
    return &model->recent[(model->n_decisions - 1 - i) % TG_DLOPEN_MAX_RECENT];
}

void tg_dlopen_counts_add(struct tg_dlopen_counts *sum, const struct tg_dlopen_counts *more)
{
    sum->events += more->events;
    sum->libraries += more->libraries;
    sum->reported += more->reported;
    sum->deferred += more->deferred;
    sum->not_stopped += more->not_stopped;
    sum->by_agent += more->by_agent;
    sum->in_process += more->in_process;
    sum->null_events += more->null_events;
    sum->unloads += more->unloads;
    sum->stop_ns += more->stop_ns;
    sum->batches += more->batches;
    sum->handled_late += more->handled_late;
    if (sum->largest_batch < more->largest_batch)
        sum->largest_batch = more->largest_batch;
    sum->handle_ns += more->handle_ns;
    sum->late_breakpoints += more->late_breakpoints;
    if (sum->worst_window_ns < more->worst_window_ns)
        sum->worst_window_ns = more->worst_window_ns;
    sum->waiting += more->waiting;
    sum->cuda_missed += more->cuda_missed;
}

bool tg_dlopen_is_cuda(const char *path)
{
    return tg_tcl_match("*/libcuda.so*", path);
}

/* ---- libraries */

static struct tg_error *find_process(struct tg_dlopen_model *model, size_t index,
                                     struct tg_dlopen_process **process)
{
    struct tg_error *error = TG_ARRAY_RESERVE(model->processes, model->capacity, index + 1);
    if (error != NULL)
        return error;
    for (; model->count <= index; model->count++)
        model->processes[model->count] = (struct tg_dlopen_process){0};
    *process = &model->processes[index];
    return NULL;
}

static struct tg_error *add_library(struct tg_dlopen_model *model, struct tg_dlopen_process *process,
                                    const struct tg_library *library, uint64_t time_ns,
                                    enum tg_dlopen_state state)
{
    if (process->n_libraries == TG_DLOPEN_MAX_LIBRARIES)
        return NULL;
    const char *path = NULL;
    struct tg_error *error =
        TG_ARRAY_RESERVE(process->libraries, process->capacity, process->n_libraries + 1);
    if (error == NULL)
        error = tg_string_pool_intern(&model->strings, library->path, &path);
    if (error != NULL)
        return error;
    process->libraries[process->n_libraries++] = (struct tg_dlopen_library){.path = path,
                                                                            .base = library->base,
                                                                            .size_bytes = library->size_bytes,
                                                                            .link_map = library->link_map,
                                                                            .time_ns = time_ns,
                                                                            .state = state};
    return NULL;
}

static void remove_library(struct tg_dlopen_process *process, uint64_t link_map)
{
    size_t at = process->n_libraries;
    while (at > 0 && process->libraries[at - 1].link_map != link_map)
        at--;
    if (at == 0)
        return;
    process->counts.waiting -= process->libraries[at - 1].state == TG_DLOPEN_WAITING;
    process->n_libraries--;
    memmove(&process->libraries[at - 1], &process->libraries[at],
            (process->n_libraries - (at - 1)) * sizeof *process->libraries);
}

static void forget_libraries(struct tg_dlopen_process *process)
{
    free(process->libraries);
    process->libraries = NULL;
    process->n_libraries = process->capacity = 0;
    process->counts.waiting = 0;
    process->has_decision_due = false;
}

/* ---- events */

static struct tg_error *take_load(struct tg_dlopen_model *model, struct tg_dlopen_process *process,
                                  const struct tg_event *event)
{
    const struct tg_event_library_load *load = &event->library_load;
    const struct tg_library *items = load->libraries.items;
    bool startup = load->found == TG_FOUND_STARTUP || load->found == TG_FOUND_ATTACH;
    bool by_agent = load->found == TG_FOUND_AGENT;
    struct tg_error *error = NULL;
    process->counts.handle_ns += load->handle_ns;
    process->counts.stop_ns += event->stop_ns;
    process->has_decision_due = !startup && !by_agent;
    process->due = process->n_libraries;
    process->n_due = load->libraries.count;
    process->due_cuda = false;
    process->due_path = "";
    if (!startup) {
        process->counts.events++;
        process->counts.libraries += load->libraries.count;
        process->counts.by_agent += by_agent;
        process->counts.in_process += load->found == TG_FOUND_IN_PROCESS;
    }
    for (uint64_t i = 0; error == NULL && i < load->libraries.count; i++) {
        enum tg_dlopen_state state = startup    ? TG_DLOPEN_STARTUP
                                     : by_agent ? TG_DLOPEN_SEEN
                                                : TG_DLOPEN_WAITING;
        process->due_cuda |= tg_dlopen_is_cuda(items[i].path);
        size_t before = process->n_libraries;
        error = add_library(model, process, &items[i], event->time_ns, state);
        process->counts.waiting += process->n_libraries > before && state == TG_DLOPEN_WAITING;
        if (i == 0 && error == NULL)
            error = tg_string_pool_intern(&model->strings, items[0].path, &process->due_path);
    }
    return error;
}

static void settle(struct tg_dlopen_process *process, size_t from, enum tg_dlopen_state state)
{
    for (size_t i = from; i < process->n_libraries && process->counts.waiting > 0; i++) {
        if (process->libraries[i].state != TG_DLOPEN_WAITING)
            continue;
        process->libraries[i].state = state;
        process->counts.waiting--;
    }
}

static struct tg_error *remember(struct tg_dlopen_model *model, size_t index,
                                 const struct tg_dlopen_process *process, const struct tg_event *event)
{
    const struct tg_event_filter_decision *decision = &event->filter_decision;
    struct tg_dlopen_decision made = {.time_ns = event->time_ns,
                                      .process = index,
                                      .decision = decision->decision,
                                      .rule = decision->rule,
                                      .library = process->due_path,
                                      .n_libraries = process->n_due};
    struct tg_error *error = tg_string_pool_intern(&model->strings, decision->pattern, &made.pattern);
    if (error == NULL && decision->library[0] != '\0')
        error = tg_string_pool_intern(&model->strings, decision->library, &made.library);
    if (error == NULL)
        model->recent[model->n_decisions++ % TG_DLOPEN_MAX_RECENT] = made;
    return error;
}

static struct tg_error *take_decision(struct tg_dlopen_model *model, size_t index,
                                      struct tg_dlopen_process *process, const struct tg_event *event)
{
    uint64_t decision = event->filter_decision.decision;
    if (!process->has_decision_due)
        return NULL;
    process->has_decision_due = false;
    process->counts.reported += decision == TG_DECISION_REPORTED;
    process->counts.deferred += decision == TG_DECISION_DEFERRED;
    process->counts.not_stopped += decision == TG_DECISION_NOT_STOPPED;
    process->counts.cuda_missed += process->due_cuda && decision != TG_DECISION_REPORTED;
    struct tg_error *error = remember(model, index, process, event);
    if (decision == TG_DECISION_REPORTED)
        settle(process, process->due, TG_DLOPEN_HANDLED);
    return error;
}

static void take_handled(struct tg_dlopen_process *process, const struct tg_event_deferred_handled *handled)
{
    process->counts.batches++;
    process->counts.handled_late += handled->libraries;
    process->counts.handle_ns += handled->handle_ns;
    if (process->counts.largest_batch < handled->libraries)
        process->counts.largest_batch = handled->libraries;
    settle(process, 0, TG_DLOPEN_LATE);
}

static void take_unload(struct tg_dlopen_process *process, const struct tg_event *event)
{
    const struct tg_list *libraries = &event->library_unload.libraries;
    const struct tg_library *items = libraries->items;
    process->counts.unloads++;
    process->counts.stop_ns += event->stop_ns;
    process->has_decision_due = false;
    for (uint64_t i = 0; i < libraries->count; i++)
        remove_library(process, items[i].link_map);
}

static void take_planted(struct tg_dlopen_process *process, const struct tg_event_breakpoint_planted *planted)
{
    process->counts.late_breakpoints += planted->late != 0;
    if (planted->late != 0 && process->counts.worst_window_ns < planted->window_ns)
        process->counts.worst_window_ns = planted->window_ns;
}

/* A fork has what its parent has, until it executes something else. The fork is a stop like any other: what
 * waited is handled in both, which the trace says of the parent alone. */
static struct tg_error *take_start(struct tg_dlopen_model *model, const struct tg_event *event, size_t index,
                                   size_t parent)
{
    uint64_t origin = event->process_start.origin;
    bool copies = origin == TG_ORIGIN_FORK || origin == TG_ORIGIN_VFORK || origin == TG_ORIGIN_CLONE;
    if (!copies || parent >= model->count || parent == index)
        return NULL;
    struct tg_dlopen_process *process = NULL;
    struct tg_error *error = find_process(model, index, &process);
    if (error != NULL)
        return error;
    forget_libraries(process);
    error = copy_libraries(&model->processes[parent], process);
    for (size_t i = 0; error == NULL && i < process->n_libraries; i++)
        if (process->libraries[i].state == TG_DLOPEN_WAITING)
            process->libraries[i].state = TG_DLOPEN_LATE;
    return error;
}

struct tg_error *tg_dlopen_model_feed(struct tg_dlopen_model *model, const struct tg_event *event,
                                      size_t process, size_t parent)
{
    struct tg_dlopen_process *of = NULL;
    unsigned kind = event->kind;
    bool is_wanted = kind == TG_EVENT_LIBRARY_LOAD || kind == TG_EVENT_FILTER_DECISION ||
                     kind == TG_EVENT_LIBRARY_NULL || kind == TG_EVENT_LIBRARY_UNLOAD ||
                     kind == TG_EVENT_DEFERRED_HANDLED || kind == TG_EVENT_BREAKPOINT_PLANTED;
    if (kind == TG_EVENT_PROCESS_START)
        return take_start(model, event, process, parent);
    if (!is_wanted && (process >= model->count || (kind != TG_EVENT_EXEC && kind != TG_EVENT_PROCESS_EXIT)))
        return NULL;
    struct tg_error *error = find_process(model, process, &of);
    if (error != NULL)
        return error;
    switch (kind) {
    case TG_EVENT_LIBRARY_LOAD:
        return take_load(model, of, event);
    case TG_EVENT_FILTER_DECISION:
        return take_decision(model, process, of, event);
    case TG_EVENT_LIBRARY_NULL:
        of->counts.null_events++;
        of->counts.stop_ns += event->stop_ns;
        return NULL;
    case TG_EVENT_LIBRARY_UNLOAD:
        take_unload(of, event);
        return NULL;
    case TG_EVENT_DEFERRED_HANDLED:
        take_handled(of, &event->deferred_handled);
        return NULL;
    case TG_EVENT_BREAKPOINT_PLANTED:
        take_planted(of, &event->breakpoint_planted);
        return NULL;
    default: /* EXEC, PROCESS_EXIT */
        forget_libraries(of);
        return NULL;
    }
}
