#include "analyzer/where/look.h"

#include "analyzer/models/mpi/model.h"
#include "format/base/array.h"
#include "format/event/event.h"
#include "format/trace/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tg_error *tg_where_look_create(struct tg_where_look *look)
{
    *look = (struct tg_where_look){0};
    struct tg_error *error = tg_process_model_create(&look->processes);
    return error != NULL ? error : tg_stack_model_create(&look->stacks);
}

void tg_where_look_deinit(struct tg_where_look *look)
{
    for (size_t i = 0; i < look->n_refusals; i++)
        free(look->refusals[i].reason);
    free(look->refusals);
    for (size_t i = 0; i < look->n_remarks; i++)
        free(look->remarks[i]);
    free(look->remarks);
    free(look->waits);
    free(look->values);
    free(look->activities);
    tg_stack_model_destroy(look->stacks);
    tg_process_model_destroy(look->processes);
    tg_error_destroy(look->error);
}

/* Several processes at the other end: which of them is meant is unknown. */
static struct tg_error *add_wait(struct tg_where_look *look, const struct tg_event *event)
{
    const struct tg_event_thread_wait *is = &event->thread_wait;
    const struct tg_wait_partner *partners = is->partners.items;
    struct tg_where_wait wait = {.pid = event->pid,
                                 .tid = event->tid,
                                 .what = (enum tg_wait_what)is->what,
                                 .address = is->address,
                                 .owner = (int32_t)is->owner,
                                 .writes = is->writes != 0};
    if (is->partners.count == 1)
        wait.partner = (int32_t)partners[0].pid;
    return TG_ARRAY_APPEND(look->waits, look->n_waits, look->waits_capacity, wait);
}

static struct tg_error *add_values(struct tg_where_look *look, const struct tg_event *event)
{
    const struct tg_list *list = &event->call_values.values;
    const struct tg_call_value *told = list->items;
    struct tg_where_values values = {.pid = event->pid, .tid = event->tid};
    for (size_t i = 0; i < list->count && values.count < TG_WHERE_MAX_VALUES; i++) {
        struct tg_where_value *value = &values.items[values.count++];
        snprintf(value->name, sizeof value->name, "%s", told[i].name);
        snprintf(value->text, sizeof value->text, "%s", told[i].text);
        value->value = told[i].value;
    }
    return TG_ARRAY_APPEND(look->values, look->n_values, look->values_capacity, values);
}

/* *PROCESS is EVENT's, NULL none. */
static struct tg_error *feed(struct tg_where_look *look, const struct tg_event *event,
                             struct tg_process_entry **process)
{
    struct tg_process_entry *entry = NULL;
    if (event->kind == TG_EVENT_STACK_SNAPSHOT && event->stack_snapshot.reason == TG_STACK_LOOK &&
        event->stack_snapshot.took_ns > look->longest_pause_ns)
        look->longest_pause_ns = event->stack_snapshot.took_ns;
    struct tg_error *error = tg_process_model_feed(look->processes, event, &entry);
    *process = entry;
    if (error == NULL && event->kind == TG_EVENT_THREAD_WAIT)
        return add_wait(look, event);
    if (error == NULL && event->kind == TG_EVENT_CALL_VALUES)
        return add_values(look, event);
    return error != NULL ? error
                         : tg_stack_model_feed(look->stacks, event, entry != NULL ? entry->index : SIZE_MAX);
}

static void add(void *context, const struct tg_event *event)
{
    struct tg_where_look *look = context;
    struct tg_process_entry *process;
    if (look->error == NULL)
        look->error = feed(look, event, &process);
}

static void refuse(void *context, int32_t pid, const char *reason)
{
    struct tg_where_look *look = context;
    char *copy = strdup(reason);
    if (copy == NULL || TG_ARRAY_APPEND(look->refusals, look->n_refusals, look->refusal_capacity,
                                        (struct tg_where_refusal){pid, copy}) != NULL) {
        free(copy);
        if (look->error == NULL)
            look->error = tg_error_no_memory();
    }
}

static void add_activity(void *context, const struct tg_look_activity *activity)
{
    struct tg_where_look *look = context;
    if (look->error == NULL)
        look->error =
            TG_ARRAY_APPEND(look->activities, look->n_activities, look->activities_capacity, *activity);
}

static void remark(void *context, const char *text)
{
    struct tg_where_look *look = context;
    for (size_t i = 0; i < look->n_remarks; i++)
        if (strcmp(look->remarks[i], text) == 0)
            return;
    char *copy = strdup(text);
    if (copy == NULL ||
        TG_ARRAY_APPEND(look->remarks, look->n_remarks, look->remarks_capacity, copy) != NULL) {
        free(copy);
        if (look->error == NULL)
            look->error = tg_error_no_memory();
    }
}

static struct tg_error *take_error(struct tg_where_look *look)
{
    struct tg_error *error = look->error;
    look->error = NULL;
    return error;
}

struct tg_error *tg_where_look_take(struct tg_where_look *look, const struct tg_command_services *services,
                                    const struct tg_look_request *request)
{
    const struct tg_look_sink sink = {
        .context = look, .add = add, .refuse = refuse, .remark = remark, .add_activity = add_activity};
    struct tg_error *error = services->look(request, &sink);
    const char *why = request->watch != NULL ? services->watch_refusal(request->watch) : NULL;
    if (why != NULL)
        snprintf(look->uncounted, sizeof look->uncounted, "%s", why);
    return error != NULL ? error : take_error(look);
}

struct tg_error *tg_where_look_take_cores(struct tg_where_look *look,
                                          const struct tg_command_services *services,
                                          const struct tg_core_request *request)
{
    const struct tg_look_sink sink = {.context = look, .add = add, .refuse = refuse, .remark = remark};
    struct tg_error *error = services->look_at_cores(request, &sink);
    return error != NULL ? error : take_error(look);
}

/* Of the calls that MPI, which has taken the same events, has under way since before the last stacks of their threads. */
static struct tg_error *add_recorded_values(struct tg_where_look *look, const struct tg_mpi_model *mpi)
{
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < tg_mpi_model_thread_count(mpi); i++) {
        const struct tg_mpi_thread *thread = tg_mpi_model_thread_at(mpi, i);
        const struct tg_last_stack *stack = tg_stack_model_find(look->stacks, thread->process, thread->tid);
        if (!thread->in_call || stack == NULL || thread->call.since_ns > stack->time_ns)
            continue;
        struct tg_where_values values = {.pid = stack->pid, .tid = stack->tid};
        tg_where_values_of_call(&thread->call, &values);
        if (values.count > 0)
            error = TG_ARRAY_APPEND(look->values, look->n_values, look->values_capacity, values);
    }
    return error;
}

struct tg_error *tg_where_look_read(struct tg_where_look *look, const char *path)
{
    struct tg_trace_reader *reader = NULL;
    struct tg_mpi_model *mpi = NULL;
    const struct tg_event *event;
    struct tg_error *error = tg_mpi_model_create(NULL, &mpi);
    look->is_recorded = true;
    if (error == NULL)
        error = tg_trace_reader_open(path, &reader);
    while (error == NULL && (error = tg_trace_reader_next(reader, &event)) == NULL && event != NULL) {
        struct tg_process_entry *process = NULL;
        error = feed(look, event, &process);
        if (error == NULL && process != NULL)
            error = tg_mpi_model_feed(mpi, event, process->index);
    }
    if (error == NULL)
        error = add_recorded_values(look, mpi);
    tg_trace_reader_close(reader);
    tg_mpi_model_destroy(mpi);
    return error;
}
