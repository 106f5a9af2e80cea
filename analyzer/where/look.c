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
    struct tg_error *error = tg_process_model_create(&look->own_processes);
    look->processes = look->own_processes;
    if (error == NULL)
        error = tg_stack_model_create(&look->own_stacks);
    look->stacks = look->own_stacks;
    return error;
}

void tg_where_look_deinit(struct tg_where_look *look)
{
    for (size_t i = 0; i < look->n_refusals; i++)
        free(look->refusals[i].reason);
    free(look->refusals);
    for (size_t i = 0; i < look->n_remarks; i++)
        free(look->remarks[i]);
    free(look->remarks);
    free(look->pauses);
    free(look->waits);
    free(look->values);
    free(look->activities);
    free(look->requests);
    for (size_t i = 0; i < look->n_comms; i++)
        free(look->comms[i].ranks);
    free(look->comms);
    tg_stack_model_destroy(look->own_stacks);
    tg_process_model_destroy(look->own_processes);
    tg_error_destroy(look->error);
}

/* What STACKS know besides the calls: waits in the kernel, arguments of calls. */
static struct tg_error *add_facts(struct tg_where_look *look)
{
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < tg_stack_model_count(look->stacks); i++) {
        const struct tg_last_stack *stack = tg_stack_model_at(look->stacks, i);
        struct tg_where_values values = {.pid = stack->pid, .tid = stack->tid};
        if (stack->waits)
            error = TG_ARRAY_APPEND(look->waits, look->n_waits, look->waits_capacity,
                                    (struct tg_where_wait){stack->pid, stack->tid, stack->wait});
        for (size_t k = 0; k < stack->n_values && values.count < TG_WHERE_MAX_VALUES; k++) {
            struct tg_where_value *value = &values.items[values.count++];
            snprintf(value->name, sizeof value->name, "%s", stack->values[k].name);
            snprintf(value->text, sizeof value->text, "%s", stack->values[k].text);
            value->value = stack->values[k].value;
        }
        if (error == NULL && values.count > 0)
            error = TG_ARRAY_APPEND(look->values, look->n_values, look->values_capacity, values);
    }
    return error;
}

struct tg_error *tg_where_look_of_models(struct tg_where_look *look, const struct tg_process_model *processes,
                                         const struct tg_stack_model *stacks)
{
    *look = (struct tg_where_look){.processes = processes, .stacks = stacks};
    return add_facts(look);
}

static struct tg_error *add_pause(struct tg_where_look *look, const struct tg_event *event)
{
    uint64_t took_ns = event->stack_snapshot.took_ns;
    if (event->stack_snapshot.reason != TG_STACK_LOOK || event->pid == 0)
        return NULL;
    if (took_ns > look->longest_pause_ns)
        look->longest_pause_ns = took_ns;
    return TG_ARRAY_APPEND(look->pauses, look->n_pauses, look->pauses_capacity,
                           (struct tg_where_pause){event->pid, took_ns});
}

void tg_where_look_join_pauses(struct tg_where_look *look, const struct tg_where_look *earlier)
{
    if (earlier->longest_pause_ns > look->longest_pause_ns)
        look->longest_pause_ns = earlier->longest_pause_ns;
    for (size_t i = 0, hint = 0; i < earlier->n_pauses;
         i++) /* the order is the same, but for those that came or went */
        for (size_t k = 0; k < look->n_pauses; k++) {
            struct tg_where_pause *pause = &look->pauses[(hint + k) % look->n_pauses];
            if (pause->pid != earlier->pauses[i].pid)
                continue;
            if (pause->took_ns < earlier->pauses[i].took_ns)
                pause->took_ns = earlier->pauses[i].took_ns;
            hint += k + 1;
            break;
        }
}

/* *PROCESS is EVENT's, NULL none. */
static struct tg_error *feed(struct tg_where_look *look, const struct tg_event *event,
                             struct tg_process_entry **process)
{
    struct tg_process_entry *entry = NULL;
    struct tg_error *error = event->kind == TG_EVENT_STACK_SNAPSHOT ? add_pause(look, event) : NULL;
    if (error == NULL)
        error = tg_process_model_feed(look->own_processes, event, &entry);
    *process = entry;
    return error != NULL
               ? error
               : tg_stack_model_feed(look->own_stacks, event, entry != NULL ? entry->index : SIZE_MAX);
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

static void add_requests(void *context, const struct tg_look_requests *requests)
{
    struct tg_where_look *look = context;
    if (look->error == NULL)
        look->error = TG_ARRAY_APPEND(look->requests, look->n_requests, look->requests_capacity, *requests);
}

static int compare_ranks(const void *a, const void *b)
{
    const int32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The ranks of MEMBERS as struct tg_where_comm has them; NULL: no memory. */
static int32_t *copy_ranks(const struct tg_look_members *members)
{
    size_t own = (size_t)members->size, remote = (size_t)members->remote_size, all = own + remote,
           counted = remote > 0 ? remote : own;
    int32_t *ranks = calloc(all + counted, sizeof *ranks);
    if (ranks == NULL)
        return NULL;
    memcpy(ranks, members->ranks, own * sizeof *ranks);
    if (remote > 0)
        memcpy(ranks + own, members->remote_ranks, remote * sizeof *ranks);
    memcpy(ranks + all, remote > 0 ? members->remote_ranks : members->ranks, counted * sizeof *ranks);
    qsort(ranks, all, sizeof *ranks, compare_ranks);
    return ranks;
}

static void add_members(void *context, const struct tg_look_members *members)
{
    struct tg_where_look *look = context;
    bool is_known = members->ranks != NULL && members->size > 0;
    struct tg_where_comm comm = {.pid = members->pid,
                                 .tid = members->tid,
                                 .size = (int64_t)members->size + members->remote_size,
                                 .n_remote = members->remote_size,
                                 .number = members->number};
    if (look->error != NULL)
        return;
    comm.ranks = is_known ? copy_ranks(members) : NULL;
    look->error = is_known && comm.ranks == NULL
                      ? tg_error_no_memory()
                      : TG_ARRAY_APPEND(look->comms, look->n_comms, look->comms_capacity, comm);
    if (look->error != NULL)
        free(comm.ranks);
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
    const struct tg_look_sink sink = {.context = look,
                                      .add = add,
                                      .refuse = refuse,
                                      .remark = remark,
                                      .add_activity = add_activity,
                                      .add_requests = add_requests,
                                      .add_members = add_members};
    struct tg_error *error = services->look(request, &sink);
    const char *why = request->watch != NULL ? services->watch_refusal(request->watch) : NULL;
    if (why != NULL)
        snprintf(look->uncounted, sizeof look->uncounted, "%s", why);
    if (error == NULL)
        error = take_error(look);
    return error != NULL ? error : add_facts(look);
}

struct tg_error *tg_where_look_take_cores(struct tg_where_look *look,
                                          const struct tg_command_services *services,
                                          const struct tg_core_request *request)
{
    const struct tg_look_sink sink = {.context = look,
                                      .add = add,
                                      .refuse = refuse,
                                      .remark = remark,
                                      .add_requests = add_requests,
                                      .add_members = add_members};
    struct tg_error *error = services->look_at_cores(request, &sink);
    if (error == NULL)
        error = take_error(look);
    return error != NULL ? error : add_facts(look);
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
        error = add_facts(look);
    if (error == NULL)
        error = add_recorded_values(look, mpi);
    tg_trace_reader_close(reader);
    tg_mpi_model_destroy(mpi);
    return error;
}
