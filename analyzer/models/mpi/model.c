#include "analyzer/models/mpi/model.h"

#include "analyzer/models/mpi/collectives.h"
#include "analyzer/models/mpi/comms.h"
#include "analyzer/models/mpi/messages.h"
#include "format/base/array.h"
#include "format/base/hash.h"
#include "format/base/string_pool.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

struct thread_key {
    size_t process;
    int64_t tid;
};

struct thread {
    struct tg_mpi_thread public;
    struct thread_key key;
    uint64_t *requests; /* public.requests */
    size_t capacity;
    UT_hash_handle hh; /* among the live ones */
};

/* A nonblocking collective call of a process: it leaves the collective when the request is complete. */
struct started_key {
    size_t process;
    uint64_t request;
};

struct started {
    struct started_key key;
    uint64_t comm, instance;
    UT_hash_handle hh;
};

struct process {
    struct tg_mpi_process public;
    UT_hash_handle hh;
};

struct tg_mpi_model {
    struct tg_mpi_model_options options;
    struct tg_string_pool names;
    struct thread **threads;
    size_t n_threads, thread_capacity;
    struct thread *live;
    struct process **processes;
    size_t n_processes, process_capacity;
    struct process *by_process;
    struct tg_mpi_comms comms;
    struct tg_mpi_collectives collectives;
    struct started *started;
    struct tg_mpi_messages *messages;
    struct tg_wait_times waits;
    uint64_t impossible;
    bool has_names; /* of communicators */
    struct tg_mpi_fault *faults;
    size_t n_faults, fault_capacity;
    uint64_t all_faults;
};

/* ---- life */

struct tg_error *tg_mpi_model_create(const struct tg_mpi_model_options *options, struct tg_mpi_model **model)
{
    struct tg_mpi_model *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    if (options != NULL)
        made->options = *options;
    struct tg_error *error = tg_mpi_messages_create(&made->messages);
    if (error != NULL) {
        free(made);
        return error;
    }
    *model = made;
    return NULL;
}

void tg_mpi_model_destroy(struct tg_mpi_model *model)
{
    if (model == NULL)
        return;
    tg_mpi_collectives_deinit(&model->collectives);
    struct started *started, *next_started;
    HASH_ITER (hh, model->started, started, next_started) {
        HASH_DEL(model->started, started);
        free(started);
    }
    tg_mpi_comms_deinit(&model->comms);
    HASH_CLEAR(hh, model->live);
    HASH_CLEAR(hh, model->by_process);
    for (size_t i = 0; i < model->n_threads; i++) {
        free(model->threads[i]->requests);
        free(model->threads[i]);
    }
    for (size_t i = 0; i < model->n_processes; i++)
        free(model->processes[i]);
    free(model->threads);
    free(model->processes);
    free(model->faults);
    tg_mpi_messages_destroy(model->messages);
    tg_string_pool_deinit(&model->names);
    free(model);
}

/* ---- processes and threads */

static struct process *find_process(const struct tg_mpi_model *model, size_t process)
{
    struct process *found;
    HASH_FIND(hh, model->by_process, &process, sizeof process, found);
    return found;
}

static struct tg_error *get_process(struct tg_mpi_model *model, size_t index, struct process **process)
{
    struct process *found = find_process(model, index);
    if (found == NULL) {
        struct tg_error *error =
            TG_ARRAY_RESERVE(model->processes, model->process_capacity, model->n_processes + 1);
        if (error != NULL)
            return error;
        found = calloc(1, sizeof *found);
        if (found == NULL)
            return tg_error_no_memory();
        found->public = (struct tg_mpi_process){.process = index, .rank = -1, .alive = true};
        error = tg_string_pool_intern(&model->names, "", &found->public.job);
        if (error == NULL)
            error = TG_HASH_ADD(hh, model->by_process, public.process, found);
        if (error != NULL) {
            free(found);
            return error;
        }
        model->processes[model->n_processes++] = found;
    }
    *process = found;
    return NULL;
}

static struct thread *find_thread(const struct tg_mpi_model *model, size_t process, int32_t tid)
{
    struct thread_key key;
    struct thread *found;
    memset(&key, 0, sizeof key);
    key.process = process;
    key.tid = tid;
    HASH_FIND(hh, model->live, &key, sizeof key, found);
    return found;
}

static struct tg_error *get_thread(struct tg_mpi_model *model, size_t process, int32_t tid,
                                   struct thread **thread)
{
    struct thread *found = find_thread(model, process, tid);
    if (found == NULL) {
        struct tg_error *error =
            TG_ARRAY_RESERVE(model->threads, model->thread_capacity, model->n_threads + 1);
        if (error != NULL)
            return error;
        found = calloc(1, sizeof *found);
        if (found == NULL)
            return tg_error_no_memory();
        found->key.process = process;
        found->key.tid = tid;
        found->public = (struct tg_mpi_thread){.process = process, .tid = tid, .alive = true};
        HASH_ADD(hh, model->live, key, sizeof found->key, found);
        if (find_thread(model, process, tid) != found) {
            free(found);
            return tg_error_no_memory();
        }
        model->threads[model->n_threads++] = found;
    }
    *thread = found;
    return NULL;
}

static void kill_thread(struct tg_mpi_model *model, struct thread *thread)
{
    HASH_DEL(model->live, thread);
    thread->public.alive = false;
}

/* ---- communicators */

static struct tg_error *take_comm(struct tg_mpi_model *model, const struct tg_event *event, size_t index)
{
    const struct tg_event_mpi_comm *told = &event->mpi_comm;
    struct process *process;
    struct tg_error *error = get_process(model, index, &process);
    if (error != NULL || told->comm == 0)
        return error;
    if (told->origin == TG_MPI_COMM_FREED) {
        tg_mpi_comms_leave(&model->comms, process->public.job, told->comm, index);
        return NULL;
    }
    if (told->origin == TG_MPI_COMM_WORLD) {
        process->public.rank = told->rank;
        process->public.size = told->size;
    }
    return tg_mpi_comms_take(&model->comms, process->public.job, index, told);
}

static struct tg_error *take_comm_name(struct tg_mpi_model *model, const struct tg_event *event, size_t index)
{
    const struct process *process = find_process(model, index);
    struct tg_mpi_comm *comm =
        process == NULL ? NULL
                        : tg_mpi_comms_find(&model->comms, process->public.job, event->mpi_comm_name.comm);
    model->has_names |= comm != NULL;
    return comm == NULL ? NULL : tg_string_pool_intern(&model->names, event->mpi_comm_name.name, &comm->name);
}

/* ---- messages */

/* Rank of PROCESS in the communicator of CALL, -1 unknown. */
static int64_t own_rank(const struct tg_mpi_model *model, const struct process *process, uint64_t comm)
{
    return tg_mpi_comm_rank_of(tg_mpi_comms_find(&model->comms, process->public.job, comm),
                               process->public.process);
}

/* Messages to and from spawned processes: the two sides know their communicator by different ids, so no half finds
 * its other one. */
static bool is_between_jobs(const struct tg_mpi_model *model, const struct process *process, uint64_t comm)
{
    const struct tg_mpi_comm *found = tg_mpi_comms_find(&model->comms, process->public.job, comm);
    return found != NULL && found->origin == TG_MPI_COMM_SPAWN;
}

static struct tg_mpi_message message_of(const struct tg_mpi_model *model, const struct process *process,
                                        const struct thread *thread, bool is_send)
{
    enum { NOT_KNOWN = -3 };
    const struct tg_mpi_call *call = &thread->public.call;
    int64_t own = own_rank(model, process, call->comm), source = call->peer, tag = call->tag;
    if (!is_send && tg_mpi_call_role(call->name, NULL, NULL) == TG_MPI_SEND_RECEIVE) {
        source = call->receives ? call->from : NOT_KNOWN;
        tag = call->receives ? call->from_tag : -1;
    }
    return (struct tg_mpi_message){
        .job = process->public.job,
        .comm = call->comm,
        .source = is_send ? own : source,
        .destination = is_send ? call->peer : own,
        .tag = is_send ? call->tag : tag,
        .bytes = call->bytes,
        .process = process->public.process,
        .tid = thread->public.tid,
        .name = call->name,
        .code = call->code,
        .since_ns = call->since_ns,
    };
}

static struct tg_error *receive(struct tg_mpi_model *model, const struct process *process, uint64_t comm,
                                int64_t peer, int64_t tag, uint64_t time_ns)
{
    const struct tg_mpi_message pattern = {.job = process->public.job,
                                           .comm = comm,
                                           .source = peer,
                                           .destination = own_rank(model, process, comm),
                                           .tag = tag};
    struct tg_mpi_message sent;
    if (peer < 0 || !tg_mpi_messages_take_send(model->messages, &pattern, &sent) ||
        model->options.received == NULL)
        return NULL;
    return model->options.received(model->options.context, &sent, process->public.process, time_ns);
}

static struct tg_error *post(struct tg_mpi_model *model, const struct process *process, struct thread *thread)
{
    bool persistent;
    enum tg_mpi_role role = tg_mpi_call_role(thread->public.call.name, NULL, &persistent);
    if (thread->public.call.peer < 0 || persistent || (role != TG_MPI_SEND && role != TG_MPI_SEND_RECEIVE) ||
        is_between_jobs(model, process, thread->public.call.comm))
        return NULL;
    struct tg_mpi_message message = message_of(model, process, thread, true);
    struct tg_error *error = tg_mpi_messages_add_send(model->messages, &message);
    thread->public.sent_id = message.id;
    return error;
}

/* ---- calls that fail */

/* The receive, of THREAD's call or of a request that it waits for, that a longer message has come for. */
static void find_truncated(const struct tg_mpi_model *model, const struct thread *thread, uint64_t request,
                           struct tg_mpi_fault *fault)
{
    const struct process *process = find_process(model, thread->public.process);
    enum tg_mpi_role role = tg_mpi_call_role(fault->call.name, NULL, NULL);
    if (process == NULL)
        return;
    if (role == TG_MPI_RECEIVE) {
        fault->receive = message_of(model, process, thread, false);
        fault->is_truncated = tg_mpi_messages_find_send(model->messages, &fault->receive, &fault->sent) &&
                              fault->sent.bytes > fault->receive.bytes;
    } else if (role == TG_MPI_COMPLETION) {
        fault->is_truncated = tg_mpi_messages_find_truncated(model->messages, fault->process, request,
                                                             &fault->receive, &fault->sent);
    }
}

static struct tg_error *take_error(struct tg_mpi_model *model, const struct tg_event *event, size_t index)
{
    const struct tg_event_mpi_error *told = &event->mpi_error;
    const struct thread *thread = find_thread(model, index, event->tid);
    model->all_faults++;
    if (model->n_faults >= TG_MPI_MAX_FAULTS)
        return NULL;
    struct tg_mpi_fault fault = {.process = index,
                                 .tid = event->tid,
                                 .code = told->code,
                                 .in_call = thread != NULL && thread->public.in_call,
                                 .time_ns = event->time_ns};
    if (fault.in_call)
        fault.call = thread->public.call;
    if (fault.in_call && strcmp(told->error_class, "MPI_ERR_TRUNCATE") == 0)
        find_truncated(model, thread, told->request, &fault);
    struct tg_error *error = tg_string_pool_intern(&model->names, told->call, &fault.name);
    if (error == NULL)
        error = tg_string_pool_intern(&model->names, told->error_class, &fault.error_class);
    if (error == NULL)
        error = tg_string_pool_intern(&model->names, told->text, &fault.text);
    return error != NULL ? error
                         : TG_ARRAY_APPEND(model->faults, model->n_faults, model->fault_capacity, fault);
}

/* The call of THREAD that failed came back. */
static void end_fault(struct tg_mpi_model *model, const struct thread *thread, uint64_t time_ns)
{
    for (size_t i = model->n_faults; i-- > 0;) {
        struct tg_mpi_fault *fault = &model->faults[i];
        if (fault->process != thread->public.process || fault->tid != thread->public.tid)
            continue;
        if (fault->in_call && fault->call.since_ns == thread->public.call.since_ns)
            fault->left_ns = time_ns;
        return;
    }
}

/* ---- events */

static struct tg_error *enter_collective(struct tg_mpi_model *model, const struct process *process,
                                         const struct thread *thread)
{
    const struct tg_mpi_call *call = &thread->public.call;
    struct tg_mpi_comm *comm = tg_mpi_comms_find(&model->comms, process->public.job, call->comm);
    bool again;
    struct tg_error *error =
        tg_mpi_collectives_enter(&model->collectives, process->public.job, comm, process->public.process,
                                 call, thread->public.calls, &again);
    if (error == NULL && again)
        model->impossible++;
    return error;
}

static void leave_collective(struct tg_mpi_model *model, const struct process *process, uint64_t comm,
                             uint64_t instance, uint64_t time_ns)
{
    const struct tg_mpi_call call = {.comm = comm, .instance = instance};
    tg_mpi_collectives_leave(&model->collectives, process->public.job,
                             tg_mpi_comms_find(&model->comms, process->public.job, comm),
                             process->public.process, &call, time_ns);
}

/* PROCESS's REQUEST, if it is of a collective, is complete or given up. */
static void end_started(struct tg_mpi_model *model, const struct process *process, uint64_t request,
                        uint64_t time_ns)
{
    struct started_key key;
    struct started *found;
    memset(&key, 0, sizeof key);
    key.process = process->public.process;
    key.request = request;
    HASH_FIND(hh, model->started, &key, sizeof key, found);
    if (found == NULL)
        return;
    leave_collective(model, process, found->comm, found->instance, time_ns);
    HASH_DEL(model->started, found);
    free(found);
}

static struct tg_error *add_started(struct tg_mpi_model *model, const struct started *started)
{
    if (HASH_COUNT(model->started) >= TG_MPI_MAX_COLLECTIVES) {
        struct started *oldest = model->started;
        HASH_DEL(model->started, oldest);
        free(oldest);
    }
    struct started *added = calloc(1, sizeof *added);
    if (added == NULL)
        return tg_error_no_memory();
    added->key.process = started->key.process;
    added->key.request = started->key.request;
    added->comm = started->comm;
    added->instance = started->instance;
    struct tg_error *error = TG_HASH_ADD(hh, model->started, key, added);
    if (error != NULL)
        free(added);
    return error;
}

/* The collective call of PROCESS returned: it has left the collective, or begun it. */
static struct tg_error *return_from_collective(struct tg_mpi_model *model, const struct process *process,
                                               const struct tg_mpi_call *call, bool nonblocking,
                                               uint64_t request, uint64_t time_ns)
{
    if (!nonblocking || request == 0) {
        leave_collective(model, process, call->comm, call->instance, time_ns);
        return NULL;
    }
    end_started(model, process, request, time_ns); /* a handle whose completion went unseen is used again */
    const struct started started = {
        .key = {process->public.process, request}, .comm = call->comm, .instance = call->instance};
    return add_started(model, &started);
}

static struct tg_error *set_requests(struct thread *thread, const uint64_t *requests, size_t count)
{
    struct tg_error *error = TG_ARRAY_RESERVE(thread->requests, thread->capacity, count);
    if (error != NULL || count == 0)
        return error;
    memcpy(thread->requests, requests, count * sizeof *requests);
    thread->public.requests = thread->requests;
    thread->public.n_requests = count;
    return NULL;
}

/* Which requests the call is about that THREAD is in. */
static struct tg_error *take_requests(struct tg_mpi_model *model, const struct tg_event *event, size_t index)
{
    struct thread *thread = find_thread(model, index, event->tid);
    const struct tg_list *list = &event->mpi_requests.requests;
    struct tg_error *error = NULL;
    if (thread == NULL || !thread->public.in_call) {
        model->impossible++;
        return NULL;
    }
    bool starts = strcmp(thread->public.call.name, "MPI_Startall") == 0;
    const struct tg_mpi_request_item *items = list->items;
    for (uint64_t i = 0; starts && error == NULL && i < list->count; i++)
        error = tg_mpi_messages_start(model->messages, index, items[i].request, event->time_ns);
    /* an item is nothing but its handle */
    return starts ? error : set_requests(thread, &items->request, (size_t)list->count);
}

static struct tg_error *take_enter(struct tg_mpi_model *model, const struct tg_event *event, size_t index)
{
    const struct tg_event_mpi_enter *enter = &event->mpi_enter;
    struct process *process;
    struct thread *thread;
    struct tg_error *error = get_process(model, index, &process);
    if (error == NULL)
        error = get_thread(model, index, event->tid, &thread);
    if (error != NULL)
        return error;
    if (thread->public.in_call)
        model->impossible++;
    const char *name;
    error = tg_string_pool_intern(&model->names, enter->call, &name);
    if (error != NULL)
        return error;
    thread->public.call = (struct tg_mpi_call){
        .name = name,
        .comm = enter->comm,
        .instance = enter->instance,
        .peer = enter->peer,
        .tag = enter->tag,
        .root = enter->root,
        .bytes = enter->bytes,
        .code = enter->code,
        .since_ns = event->time_ns,
        .request = enter->request,
        .receives = enter->receives != 0,
        .from = enter->from,
        .from_tag = enter->from_tag,
    };
    if (model->has_names) {
        const struct tg_mpi_comm *comm = tg_mpi_comms_find(&model->comms, process->public.job, enter->comm);
        thread->public.call.comm_name = comm == NULL ? NULL : comm->name;
    }
    thread->public.in_call = true;
    thread->public.n_requests = 0;
    thread->public.sent_id = 0;
    thread->public.calls++;
    if (strcmp(name, "MPI_Abort") == 0)
        process->public.aborted_ns = event->time_ns;
    if (enter->request != 0 && strcmp(name, "MPI_Start") == 0)
        return tg_mpi_messages_start(model->messages, index, enter->request, event->time_ns);
    if (enter->request != 0)
        return set_requests(thread, &enter->request, 1);
    if (enter->instance != 0)
        return enter_collective(model, process, thread);
    return post(model, process, thread);
}

static struct tg_error *finish(struct tg_mpi_model *model, struct process *process, struct thread *thread,
                               const struct tg_event *event)
{
    const struct tg_event_mpi_leave *leave = &event->mpi_leave;
    const struct tg_mpi_call *call = &thread->public.call;
    bool nonblocking, persistent;
    enum tg_mpi_role role = tg_mpi_call_role(call->name, &nonblocking, &persistent);
    struct tg_error *error = NULL;
    if (call->instance != 0)
        error = return_from_collective(model, process, call, nonblocking && role == TG_MPI_COLLECTIVE,
                                       leave->request, event->time_ns);
    if (error != NULL)
        return error;
    if (strcmp(call->name, "MPI_Finalize") == 0)
        process->public.finalized = true;
    if (strcmp(call->name, "MPI_Request_free") == 0) {
        end_started(model, process, leave->request, event->time_ns);
        tg_mpi_messages_drop_request(model->messages, process->public.process, leave->request);
        return NULL;
    }
    if (strcmp(call->name, "MPI_Start") == 0 || strcmp(call->name, "MPI_Startall") == 0)
        return tg_mpi_messages_start(model->messages, process->public.process, leave->request,
                                     event->time_ns);
    bool receives = role == TG_MPI_RECEIVE || role == TG_MPI_SEND_RECEIVE;
    if (receives && !nonblocking && !persistent)
        return receive(model, process, call->comm, leave->peer, leave->tag, event->time_ns);
    if ((!receives && role != TG_MPI_SEND) || leave->request == 0 || (!nonblocking && !persistent) ||
        (call->peer == -2 && !call->receives) || is_between_jobs(model, process, call->comm))
        return NULL;
    struct tg_mpi_message posted = message_of(model, process, thread, !receives);
    posted.request = leave->request;
    posted.id = receives ? 0 : thread->public.sent_id;
    return tg_mpi_messages_add_request(model->messages, &posted,
                                       receives ? TG_MPI_REQUEST_RECEIVES : TG_MPI_REQUEST_SENDS, persistent);
}

static struct tg_error *take_leave(struct tg_mpi_model *model, const struct tg_event *event, size_t index)
{
    struct process *process = find_process(model, index);
    struct thread *thread = find_thread(model, index, event->tid);
    if (process == NULL || thread == NULL || !thread->public.in_call) {
        model->impossible++;
        return NULL;
    }
    thread->public.in_call = false;
    thread->public.left_ns = event->time_ns;
    if (event->mpi_leave.result != 0)
        end_fault(model, thread, event->time_ns);
    if (event->time_ns > thread->public.call.since_ns)
        thread->public.call_ns += event->time_ns - thread->public.call.since_ns;
    if (tg_mpi_call_waits(thread->public.call.name))
        tg_wait_times_add(&model->waits, thread->public.call.since_ns, event->time_ns);
    struct tg_error *error = finish(model, process, thread, event);
    if (error == NULL && model->options.left != NULL)
        error = model->options.left(model->options.context, &thread->public, &thread->public.call,
                                    &event->mpi_leave, event->time_ns);
    return error;
}

static struct tg_error *take_complete(struct tg_mpi_model *model, const struct tg_event *event, size_t index)
{
    const struct tg_event_mpi_complete *complete = &event->mpi_complete;
    struct process *process = find_process(model, index);
    struct tg_mpi_message posted;
    if (process != NULL)
        end_started(model, process, complete->request, event->time_ns);
    if (process == NULL || !tg_mpi_messages_complete(model->messages, index, complete->request, &posted) ||
        complete->cancelled)
        return NULL; /* a send's request, or one that was posted before the trace began */
    return receive(model, process, posted.comm, complete->peer, complete->tag, event->time_ns);
}

static void end_process(struct tg_mpi_model *model, size_t index, bool replaced)
{
    struct process *process = find_process(model, index);
    struct thread *thread, *next;
    HASH_ITER (hh, model->live, thread, next)
        if (thread->key.process == index)
            kill_thread(model, thread);
    if (process != NULL)
        process->public.alive = replaced;
}

struct tg_error *tg_mpi_model_feed(struct tg_mpi_model *model, const struct tg_event *event, size_t process)
{
    struct process *known;
    struct thread *thread;
    switch ((unsigned)event->kind) {
    case TG_EVENT_MPI_COMM:
        return take_comm(model, event, process);
    case TG_EVENT_MPI_COMM_NAME:
        return take_comm_name(model, event, process);
    case TG_EVENT_MPI_ERROR:
        return take_error(model, event, process);
    case TG_EVENT_MPI_ENTER:
        return take_enter(model, event, process);
    case TG_EVENT_MPI_LEAVE:
        return take_leave(model, event, process);
    case TG_EVENT_MPI_COMPLETE:
        return take_complete(model, event, process);
    case TG_EVENT_MPI_REQUESTS:
        return take_requests(model, event, process);
    case TG_EVENT_IDENTITY:
        if (event->identity.rank < 0)
            return NULL;
        struct tg_error *error = get_process(model, process, &known);
        if (error != NULL)
            return error;
        known->public.rank = event->identity.rank;
        known->public.size = event->identity.size;
        return tg_string_pool_intern(&model->names, event->identity.job, &known->public.job);
    case TG_EVENT_THREAD_EXIT:
        thread = find_thread(model, process, event->tid);
        if (thread != NULL)
            kill_thread(model, thread);
        return NULL;
    case TG_EVENT_PROCESS_EXIT:
    case TG_EVENT_EXEC:
        end_process(model, process, event->kind == TG_EVENT_EXEC);
        return NULL;
    default:
        return NULL;
    }
}

/* ---- copies */

static struct tg_error *copy_threads(const struct tg_mpi_model *model, struct tg_mpi_model *copy)
{
    struct tg_error *error = TG_ARRAY_RESERVE(copy->threads, copy->thread_capacity, model->n_threads);
    if (error != NULL)
        return error;
    for (size_t i = 0; i < model->n_threads; i++) {
        struct thread *thread = calloc(1, sizeof *thread);
        if (thread == NULL)
            return tg_error_no_memory();
        thread->public = model->threads[i]->public;
        thread->key = model->threads[i]->key;
        thread->public.requests = NULL;
        copy->threads[copy->n_threads++] = thread;
        error = set_requests(thread, model->threads[i]->requests, model->threads[i]->public.n_requests);
        if (error != NULL)
            return error;
        if (!thread->public.alive)
            continue;
        error = TG_HASH_ADD(hh, copy->live, key, thread);
        if (error != NULL)
            return error;
    }
    return error;
}

static struct tg_error *copy_processes(const struct tg_mpi_model *model, struct tg_mpi_model *copy)
{
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < model->n_processes; i++) {
        struct process *process;
        error = get_process(copy, model->processes[i]->public.process, &process);
        if (error == NULL)
            process->public = model->processes[i]->public;
    }
    return error;
}

struct tg_error *tg_mpi_model_copy(const struct tg_mpi_model *model, struct tg_mpi_model **copy)
{
    struct tg_mpi_model *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    tg_string_pool_share(&model->names, &made->names);
    made->impossible = model->impossible;
    made->waits = model->waits;
    made->all_faults = model->all_faults;
    made->has_names = model->has_names;
    struct tg_error *error =
        TG_ARRAY_COPY(made->faults, made->n_faults, made->fault_capacity, model->faults, model->n_faults);
    if (error == NULL)
        error = tg_mpi_messages_copy(model->messages, &made->messages);
    if (error == NULL)
        error = copy_threads(model, made);
    if (error == NULL)
        error = copy_processes(model, made);
    if (error == NULL)
        error = tg_mpi_comms_copy(&model->comms, &made->comms);
    if (error == NULL)
        error = tg_mpi_collectives_copy(&model->collectives, &made->collectives);
    for (const struct started *started = model->started; error == NULL && started != NULL;
         started = started->hh.next)
        error = add_started(made, started);
    if (error != NULL) {
        tg_mpi_model_destroy(made);
        return error;
    }
    *copy = made;
    return NULL;
}

/* ---- answers */

uint64_t tg_mpi_model_impossible(const struct tg_mpi_model *model)
{
    return model->impossible;
}

struct tg_wait_times tg_mpi_model_waits(const struct tg_mpi_model *model)
{
    return model->waits;
}

uint64_t tg_mpi_model_unkept(const struct tg_mpi_model *model)
{
    return tg_mpi_messages_unkept(model->messages);
}

size_t tg_mpi_model_thread_count(const struct tg_mpi_model *model)
{
    return model->n_threads;
}

const struct tg_mpi_thread *tg_mpi_model_thread_at(const struct tg_mpi_model *model, size_t i)
{
    return &model->threads[i]->public;
}

size_t tg_mpi_model_process_count(const struct tg_mpi_model *model)
{
    return model->n_processes;
}

const struct tg_mpi_process *tg_mpi_model_process_at(const struct tg_mpi_model *model, size_t i)
{
    return &model->processes[i]->public;
}

const struct tg_mpi_process *tg_mpi_model_process(const struct tg_mpi_model *model, size_t process)
{
    const struct process *found = find_process(model, process);
    return found == NULL ? NULL : &found->public;
}

size_t tg_mpi_model_process_of(const struct tg_mpi_model *model, const char *job, uint64_t comm, int64_t rank)
{
    return tg_mpi_comm_process_of(tg_mpi_comms_find(&model->comms, job, comm), rank);
}

int64_t tg_mpi_model_comm_size(const struct tg_mpi_model *model, const char *job, uint64_t comm)
{
    const struct tg_mpi_comm *known = tg_mpi_comms_find(&model->comms, job, comm);
    return known == NULL ? 0 : known->size;
}

/* The rank in MPI_COMM_WORLD of those whose communicator does not say. */
static int64_t world_rank_of(const struct tg_mpi_model *model, size_t process)
{
    const struct tg_mpi_process *known = tg_mpi_model_process(model, process);
    return known == NULL ? -1 : known->rank;
}

typedef struct tg_error *visit_collective(void *context, const struct tg_mpi_collective *collective,
                                          const struct tg_mpi_arrival *arrivals, size_t n_arrivals);

static struct tg_error *visit_entry(const struct tg_mpi_model *model,
                                    const struct tg_mpi_collective_entry *entry, visit_collective *visit,
                                    void *context)
{
    const struct tg_mpi_comm *comm = tg_mpi_comms_find(&model->comms, entry->public.job, entry->public.comm);
    size_t count;
    struct tg_mpi_arrival *arrivals = tg_mpi_collective_arrivals(entry, comm, &count);
    if (arrivals == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < count; i++)
        if (arrivals[i].world_rank < 0)
            arrivals[i].world_rank = world_rank_of(model, arrivals[i].process);
    struct tg_error *error = visit(context, &entry->public, arrivals, count);
    free(arrivals);
    return error;
}

struct tg_error *tg_mpi_model_visit_collectives(
    const struct tg_mpi_model *model,
    struct tg_error *(*visit)(void *context, const struct tg_mpi_collective *collective,
                              const struct tg_mpi_arrival *arrivals, size_t n_arrivals),
    void *context)
{
    struct tg_error *error = NULL;
    const struct tg_mpi_collective_entry *entry = model->collectives.entries;
    for (; error == NULL && entry != NULL; entry = entry->hh.next)
        error = visit_entry(model, entry, visit, context);
    return error;
}

struct tg_error *tg_mpi_model_visit_mismatches(
    const struct tg_mpi_model *model, bool is_misplaced,
    struct tg_error *(*visit)(void *context, const struct tg_mpi_collective *collective,
                              const struct tg_mpi_arrival *arrivals, size_t n_arrivals),
    void *context)
{
    const struct tg_mpi_collective_entry *first[TG_MPI_MAX_KEPT_COLLECTIVES];
    size_t n =
        tg_mpi_collectives_first(&model->collectives, is_misplaced, first, TG_MPI_MAX_KEPT_COLLECTIVES);
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < n; i++)
        error = visit_entry(model, first[i], visit, context);
    return error;
}

const struct tg_mpi_site *tg_mpi_model_site(const struct tg_mpi_model *model, const char *job, uint64_t comm,
                                            size_t process, const char *name, uint64_t code, bool *is_whole)
{
    const struct tg_mpi_sites *sites =
        tg_mpi_comm_sites(tg_mpi_comms_find(&model->comms, job, comm), process);
    *is_whole = sites != NULL && !sites->is_incomplete;
    return sites == NULL ? NULL : tg_mpi_sites_find(sites, name, code);
}

struct tg_mpi_comm_facts tg_mpi_model_comm(const struct tg_mpi_model *model, const char *job, uint64_t comm)
{
    const struct tg_mpi_comm *found = tg_mpi_comms_find(&model->comms, job, comm);
    if (found == NULL)
        return (struct tg_mpi_comm_facts){0};
    return (struct tg_mpi_comm_facts){
        .name = found->name, .origin = found->origin, .parent = found->parent, .size = found->size};
}

size_t tg_mpi_model_fault_count(const struct tg_mpi_model *model)
{
    return model->n_faults;
}

const struct tg_mpi_fault *tg_mpi_model_fault_at(const struct tg_mpi_model *model, size_t i)
{
    return &model->faults[i];
}

uint64_t tg_mpi_model_faults(const struct tg_mpi_model *model)
{
    return model->all_faults;
}

struct tg_error *tg_mpi_model_visit_sends(const struct tg_mpi_model *model,
                                          struct tg_error *(*visit)(void *context,
                                                                    const struct tg_mpi_message *message),
                                          void *context)
{
    return tg_mpi_messages_visit_sends(model->messages, visit, context);
}

typedef struct tg_error *visit_message(void *context, const struct tg_mpi_message *message);

/* Visits what threads wait to receive in a call of PROBES, or in others. */
static struct tg_error *visit_blocked(const struct tg_mpi_model *model, bool probes, visit_message *visit,
                                      void *context)
{
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < model->n_threads; i++) {
        const struct thread *thread = model->threads[i];
        const struct tg_mpi_call *call = &thread->public.call;
        const struct process *process = find_process(model, thread->public.process);
        if (!thread->public.in_call || process == NULL || !tg_mpi_call_waits(call->name) ||
            is_between_jobs(model, process, call->comm))
            continue;
        enum tg_mpi_role role = tg_mpi_call_role(call->name, NULL, NULL);
        bool is_wanted = probes ? role == TG_MPI_PROBE
                                : role == TG_MPI_RECEIVE || (role == TG_MPI_SEND_RECEIVE && call->receives);
        const struct tg_mpi_message message = message_of(model, process, thread, false);
        if (is_wanted && message.source > -2) /* MPI_PROC_NULL; a message that was matched before */
            error = visit(context, &message);
    }
    return error;
}

struct tg_error *tg_mpi_model_visit_receives(const struct tg_mpi_model *model,
                                             struct tg_error *(*visit)(void *context,
                                                                       const struct tg_mpi_message *message),
                                             void *context)
{
    struct tg_error *error = visit_blocked(model, false, visit, context);
    return error != NULL ? error : tg_mpi_messages_visit_requests(model->messages, visit, context);
}

struct tg_error *tg_mpi_model_visit_probes(const struct tg_mpi_model *model,
                                           struct tg_error *(*visit)(void *context,
                                                                     const struct tg_mpi_message *message),
                                           void *context)
{
    return visit_blocked(model, true, visit, context);
}

bool tg_mpi_model_request(const struct tg_mpi_model *model, size_t process, uint64_t request,
                          struct tg_mpi_message *message)
{
    const struct tg_mpi_message *found = tg_mpi_messages_request(model->messages, process, request);
    if (found != NULL)
        *message = *found;
    return found != NULL;
}

bool tg_mpi_model_has_send(const struct tg_mpi_model *model, const struct tg_mpi_message *receive)
{
    return tg_mpi_messages_has_send(model->messages, receive);
}
