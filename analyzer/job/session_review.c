#include "analyzer/job/session_review.h"

#include "format/base/array.h"
#include "format/base/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A process that was called DPID, or that may be. */
struct process {
    int32_t pid;
    uint32_t dpid; /* 0 none */
    int64_t rank;
};

struct barrier {
    struct tg_session_review_barrier public;
    bool is_frozen; /* the lists are of before members ended */
};

struct tg_session_review {
    struct tg_barrier_trace *trace;
    struct barrier *barriers;
    size_t n_barriers, barriers_capacity;
    struct process *processes; /* one a pid: of a pid that is used again the latest */
    size_t n_processes, processes_capacity;
    struct tg_session_review_threads threads; /* all, also those that have ended */
    bool is_called_for;
};

struct tg_error *tg_session_review_create(struct tg_session_review **model)
{
    struct tg_session_review *made = calloc(1, sizeof *made);
    struct tg_error *error = made == NULL ? tg_error_no_memory() : tg_barrier_trace_create(&made->trace);
    if (error == NULL)
        *model = made;
    else
        free(made);
    return error;
}

void tg_session_review_destroy(struct tg_session_review *model)
{
    if (model == NULL)
        return;
    for (size_t i = 0; i < model->n_barriers; i++) {
        free((void *)(uintptr_t)model->barriers[i].public.location);
        free(model->barriers[i].public.arrived.items);
        free(model->barriers[i].public.missing.items);
    }
    tg_barrier_trace_destroy(model->trace);
    free(model->barriers);
    free(model->processes);
    free(model->threads.items);
    free(model);
}

static struct tg_error *add_thread(struct tg_session_review_threads *threads, struct tg_thread_id thread)
{
    return TG_ARRAY_APPEND(threads->items, threads->count, threads->capacity, thread);
}

/* ---- processes and threads */

static struct tg_error *add_process(struct tg_session_review *model, int32_t pid, struct process **process)
{
    for (size_t i = model->n_processes; i-- > 0;) {
        if (model->processes[i].pid != pid)
            continue;
        *process = &model->processes[i];
        return NULL;
    }
    struct tg_error *error = TG_ARRAY_APPEND(model->processes, model->n_processes, model->processes_capacity,
                                             (struct process){.pid = pid, .rank = -1});
    if (error == NULL)
        *process = &model->processes[model->n_processes - 1];
    return error;
}

static struct tg_error *meet(struct tg_session_review *model, const struct tg_event *event)
{
    struct process *process;
    struct tg_thread_id id = {0};
    if (event->kind == TG_EVENT_CONTROL_THREAD) {
        id =
            (struct tg_thread_id){(uint32_t)event->control_thread.dpid, (uint32_t)event->control_thread.dtid};
        return tg_run_model_has_thread(tg_barrier_trace_model(model->trace), id)
                   ? NULL /* told again: it is a manager */
                   : add_thread(&model->threads, id);
    }
    struct tg_error *error = add_process(model, event->pid, &process);
    if (error != NULL)
        return error;
    if (event->kind == TG_EVENT_IDENTITY) {
        process->rank = event->identity.rank;
        return NULL;
    }
    model->is_called_for = true;
    id.dpid = (uint32_t)event->control_process.dpid;
    if (process->dpid == id.dpid)
        return NULL;
    if (process->dpid != 0)
        process->rank = -1; /* another process of that pid */
    process->dpid = id.dpid;
    return add_thread(&model->threads, id);
}

/* ---- barriers */

static struct barrier *find(const struct tg_session_review *model, uint64_t id)
{
    for (size_t i = model->n_barriers; i-- > 0;)
        if (model->barriers[i].public.id == id)
            return &model->barriers[i];
    return NULL;
}

static struct tg_error *create(struct tg_session_review *model, const struct tg_event *event)
{
    const struct tg_event_barrier_created *told = &event->barrier_created;
    struct tg_error *error =
        TG_ARRAY_RESERVE(model->barriers, model->barriers_capacity, model->n_barriers + 1);
    if (error != NULL)
        return error;
    char *location = strdup(told->location);
    if (location == NULL)
        return tg_error_no_memory();
    model->barriers[model->n_barriers++] = (struct barrier){.public = {
                                                                .id = (uint32_t)told->barrier,
                                                                .location = location,
                                                                .of_threads = told->of_threads != 0,
                                                                .enabled = true,
                                                                .created_ns = event->time_ns,
                                                            }};
    return NULL;
}

/* Keeps who has arrived at a barrier that threads wait at, and who has not. */
static struct tg_error *freeze(const struct tg_session_review *model, struct barrier *barrier)
{
    const struct tg_run_model *now = tg_barrier_trace_model(model->trace);
    struct tg_session_review_barrier *public = &barrier->public;
    struct tg_barrier_status status;
    struct tg_error *error = NULL;
    if (barrier->is_frozen || !tg_barriers_status(now, public->id, &status) || status.n_arrived == 0)
        return NULL;
    barrier->is_frozen = true;
    for (size_t i = 0; error == NULL && i < model->threads.count; i++) {
        struct tg_thread_id id = model->threads.items[i];
        struct tg_barrier_membership membership = {0};
        if ((id.dtid != 0) == public->of_threads)
            membership = tg_barriers_membership(now, public->id, id);
        if (membership.is_member)
            error = add_thread(membership.has_arrived ? &public->arrived : &public->missing, id);
    }
    return error;
}

static struct tg_error *freeze_all(struct tg_session_review *model)
{
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < model->n_barriers; i++)
        if (!model->barriers[i].public.deleted)
            error = freeze(model, &model->barriers[i]);
    return error;
}

static void begin_anew(struct barrier *barrier)
{
    barrier->is_frozen = barrier->public.stuck = false;
    barrier->public.arrived.count = barrier->public.missing.count = 0;
}

/* All of these begin with the barrier's id. */
static void take(struct barrier *barrier, const struct tg_event *event)
{
    switch ((unsigned)event->kind) {
    case TG_EVENT_BARRIER_DELETED:
        barrier->public.deleted = true;
        begin_anew(barrier);
        break;
    case TG_EVENT_BARRIER_ENABLED:
        barrier->public.enabled = event->barrier_enabled.enabled != 0;
        begin_anew(barrier);
        break;
    case TG_EVENT_BARRIER_SATISFIED:
        barrier->public.rounds++;
        if (event->barrier_satisfied.lost == 0) /* else who did not come is told */
            begin_anew(barrier);
        break;
    case TG_EVENT_BARRIER_ARRIVAL:
        begin_anew(barrier);
        break;
    case TG_EVENT_BARRIER_STUCK:
        barrier->public.stuck = true;
        barrier->public.stuck_unit =
            (struct tg_thread_id){(uint32_t)event->barrier_stuck.dpid, (uint32_t)event->barrier_stuck.dtid};
        barrier->public.holder = (uint32_t)event->barrier_stuck.holder;
        barrier->public.blocked = event->barrier_stuck.blocked;
        break;
    default:
        break;
    }
}

struct tg_error *tg_session_review_feed(struct tg_session_review *model, const struct tg_event *event)
{
    struct tg_error *error = NULL;
    struct barrier *barrier = NULL;
    switch ((unsigned)event->kind) {
    case TG_EVENT_IDENTITY:
    case TG_EVENT_CONTROL_PROCESS:
    case TG_EVENT_CONTROL_THREAD:
        error = meet(model, event);
        break;
    case TG_EVENT_THREAD_EXIT:
    case TG_EVENT_PROCESS_EXIT:
    case TG_EVENT_DETACH:
    case TG_EVENT_EXEC:
    case TG_EVENT_CONTROL_END:
        error = freeze_all(model);
        break;
    case TG_EVENT_BARRIER_CREATED:
        error = create(model, event);
        break;
    case TG_EVENT_BARRIER_DELETED:
    case TG_EVENT_BARRIER_ENABLED:
    case TG_EVENT_BARRIER_SATISFIED:
    case TG_EVENT_BARRIER_ARRIVAL:
    case TG_EVENT_BARRIER_STUCK:
        barrier = find(model, event->barrier_deleted.barrier);
        if (barrier != NULL)
            take(barrier, event);
        break;
    default:
        break;
    }
    return error != NULL ? error : tg_barrier_trace_feed(model->trace, event);
}

struct tg_error *tg_session_review_finish(struct tg_session_review *model)
{
    return freeze_all(model);
}

/* ---- questions */

bool tg_session_review_is_called_for(const struct tg_session_review *model)
{
    return model->is_called_for || model->n_barriers > 0;
}

size_t tg_session_review_count(const struct tg_session_review *model)
{
    return model->n_barriers;
}

const struct tg_session_review_barrier *tg_session_review_at(const struct tg_session_review *model, size_t i)
{
    return &model->barriers[i].public;
}

void tg_session_review_verdict(const struct tg_session_review *model,
                               struct tg_barrier_trace_verdict *verdict)
{
    tg_barrier_trace_verdict(model->trace, verdict);
}

int64_t tg_session_review_rank(const struct tg_session_review *model, uint32_t dpid)
{
    for (size_t i = 0; i < model->n_processes; i++)
        if (model->processes[i].dpid == dpid)
            return model->processes[i].rank;
    return -1;
}

char *tg_session_review_name(const struct tg_session_review *model, struct tg_thread_id id, char *buffer,
                             size_t size)
{
    int64_t rank = tg_session_review_rank(model, id.dpid);
    char thread[16] = "";
    if (id.dtid != 0)
        snprintf(thread, sizeof thread, ".%" PRIu32, id.dtid);
    if (rank >= 0)
        snprintf(buffer, size, "rank %" PRId64 "%s", rank, thread);
    else
        snprintf(buffer, size, "%" PRIu32 "%s", id.dpid, thread);
    return buffer;
}
