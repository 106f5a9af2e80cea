#include "analyzer/models/mpi/envelope.h"
#include "analyzer/models/mpi/model_internal.h"
#include "analyzer/models/mpi/polls.h"
#include "analyzer/models/mpi/types.h"
#include "analyzer/models/singleton.h"
#include "format/base/array.h"

#include <stdlib.h>
#include <string.h>

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
    tg_mpi_started_calls_deinit(&model->started);
    tg_mpi_partitions_deinit(&model->partitions);
    tg_mpi_comms_deinit(&model->comms);
    tg_mpi_epochs_deinit(&model->epochs);
    tg_mpi_callers_deinit(&model->callers);
    free(model->faults);
    free(model->mistyped);
    tg_mpi_messages_destroy(model->messages);
    tg_string_pool_deinit(&model->names);
    free(model);
}

/* ---- communicators */

static struct tg_error *take_comm(struct tg_mpi_model *model, const struct tg_event *event, size_t index)
{
    const struct tg_event_mpi_comm *told = &event->mpi_comm;
    struct tg_mpi_process_entry *process;
    struct tg_error *error = tg_mpi_callers_get_process(&model->callers, &model->names, index, &process);
    if (error != NULL || told->comm == 0)
        return error;
    if (told->origin == TG_MPI_COMM_FREED) {
        tg_mpi_comms_leave(&model->comms, process->public.job, told->comm, index);
        return NULL;
    }
    if (tg_singleton_is(told, process->public.rank, process->public.size)) {
        char job[TG_SINGLETON_JOB_BYTES];
        tg_singleton_name(event->pid, job);
        error = tg_string_pool_intern(&model->names, job, &process->public.job);
        if (error != NULL)
            return error;
    }
    if (told->origin == TG_MPI_COMM_WORLD) {
        process->public.rank = told->rank;
        process->public.size = told->size;
    }
    const struct tg_mpi_thread_entry *thread = tg_mpi_callers_find_thread(&model->callers, index, event->tid);
    bool was_made = thread != NULL && thread->public.calls > 0;
    model->has_joint |= told->link != 0;
    return tg_mpi_comms_take(&model->comms, process->public.job, index, process->public.rank, told,
                             was_made ? &thread->public.call : NULL, event->time_ns);
}

static struct tg_error *take_comm_name(struct tg_mpi_model *model, const struct tg_event *event, size_t index)
{
    const struct tg_mpi_process_entry *process = tg_mpi_callers_find_process(&model->callers, index);
    struct tg_mpi_comm *comm =
        process == NULL ? NULL
                        : tg_mpi_comms_find(&model->comms, process->public.job, event->mpi_comm_name.comm);
    model->has_names |= comm != NULL;
    return comm == NULL ? NULL : tg_string_pool_intern(&model->names, event->mpi_comm_name.name, &comm->name);
}

/* ---- messages */

/* SENT has arrived as RECEIVE, whose datatype may not be what was sent. */
static struct tg_error *compare_types(struct tg_mpi_model *model, const struct tg_mpi_message *sent,
                                      const struct tg_mpi_message *receive, uint64_t time_ns)
{
    if (tg_mpi_types_match(sent->type, receive->type))
        return NULL;
    for (size_t i = 0; i < model->n_mistyped; i++) {
        struct tg_mpi_mistyped *known = &model->mistyped[i];
        if (tg_mpi_site_low(known->sent.code) == tg_mpi_site_low(sent->code) &&
            tg_mpi_site_low(known->receive.code) == tg_mpi_site_low(receive->code) &&
            known->sent.type == sent->type && known->receive.type == receive->type) {
            known->count++;
            return NULL;
        }
    }
    if (model->n_mistyped >= TG_MPI_MAX_MISTYPED)
        return NULL;
    const struct tg_mpi_mistyped added = {.sent = *sent, .receive = *receive, .time_ns = time_ns, .count = 1};
    return TG_ARRAY_APPEND(model->mistyped, model->n_mistyped, model->mistyped_capacity, added);
}

/* POSTED of PROCESS has received from PEER with TAG, in a call of BY, NULL not known. Datatypes are compared where it is sure
 * which message that was. */
static struct tg_error *finish_receive(struct tg_mpi_model *model, const struct tg_mpi_process_entry *process,
                                       const struct tg_mpi_thread_entry *by,
                                       const struct tg_mpi_message *posted, int64_t peer, int64_t tag,
                                       uint64_t time_ns)
{
    struct tg_mpi_message receive = *posted, sent;
    receive.destination = tg_mpi_own_rank(&model->comms, &process->public, posted->comm);
    bool is_own;
    if (peer < 0 || !tg_mpi_messages_take_send(model->messages, &receive, peer, tag, &sent, &is_own))
        return NULL;
    struct tg_error *error =
        !is_own || process->public.gave_up_receives ? NULL : compare_types(model, &sent, posted, time_ns);
    if (error == NULL && model->options.received != NULL)
        error = model->options.received(model->options.context, &sent, process->public.process, time_ns);
    if (error != NULL || model->options.delivered == NULL || by == NULL)
        return error;
    const struct tg_mpi_delivery delivery = {.sent = &sent, .by = &by->public, .time_ns = time_ns};
    return model->options.delivered(model->options.context, &delivery);
}

static struct tg_error *post(struct tg_mpi_model *model, const struct tg_mpi_process_entry *process,
                             struct tg_mpi_thread_entry *thread)
{
    enum tg_mpi_role role = thread->traits.role;
    if (thread->public.call.peer < 0 || thread->traits.is_persistent ||
        (role != TG_MPI_SEND && role != TG_MPI_SEND_RECEIVE) ||
        tg_mpi_is_between_jobs(&model->comms, &process->public, thread->public.call.comm))
        return NULL;
    struct tg_mpi_message message = tg_mpi_message_of(&model->comms, &process->public, &thread->public, true);
    struct tg_error *error = tg_mpi_messages_add_send(model->messages, &message);
    thread->public.sent_id = message.id;
    return error;
}

/* ---- calls that fail */

/* The receive, of THREAD's call or of a request that it waits for, that a longer message has come for. */
static void find_truncated(const struct tg_mpi_model *model, const struct tg_mpi_thread_entry *thread,
                           uint64_t request, struct tg_mpi_fault *fault)
{
    const struct tg_mpi_process_entry *process =
        tg_mpi_callers_find_process(&model->callers, thread->public.process);
    enum tg_mpi_role role = tg_mpi_call_role(fault->call.name, NULL, NULL);
    if (process == NULL)
        return;
    if (role == TG_MPI_RECEIVE) {
        fault->receive = tg_mpi_message_of(&model->comms, &process->public, &thread->public, false);
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
    const struct tg_mpi_thread_entry *thread = tg_mpi_callers_find_thread(&model->callers, index, event->tid);
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
static void end_fault(struct tg_mpi_model *model, const struct tg_mpi_thread_entry *thread, uint64_t time_ns)
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

/* The job that collectives of COMM (NULL unknown) are counted in, for PROCESS: of a joint one that of its first side. */
static const char *job_of(const struct tg_mpi_process_entry *process, const struct tg_mpi_comm *comm)
{
    return comm == NULL ? process->public.job : comm->key.job;
}

static struct tg_error *enter_collective(struct tg_mpi_model *model,
                                         const struct tg_mpi_process_entry *process,
                                         const struct tg_mpi_thread_entry *thread)
{
    const struct tg_mpi_call *call = &thread->public.call;
    struct tg_mpi_comm *comm = tg_mpi_comms_find(&model->comms, process->public.job, call->comm);
    bool again;
    struct tg_error *error =
        tg_mpi_collectives_enter(&model->collectives, job_of(process, comm), comm, process->public.process,
                                 call, thread->public.calls, &again);
    if (error == NULL && again)
        model->impossible++;
    return error;
}

static void leave_collective(struct tg_mpi_model *model, const struct tg_mpi_process_entry *process,
                             uint64_t comm, uint64_t instance, uint64_t time_ns)
{
    struct tg_mpi_comm *found = tg_mpi_comms_find(&model->comms, process->public.job, comm);
    const struct tg_mpi_call call = {.comm = found == NULL ? comm : found->key.comm, .instance = instance};
    tg_mpi_collectives_leave(&model->collectives, job_of(process, found), found, process->public.process,
                             &call, time_ns);
}

/* PROCESS's REQUEST, if it is of a collective, is complete or given up. */
static void end_started(struct tg_mpi_model *model, const struct tg_mpi_process_entry *process,
                        uint64_t request, uint64_t time_ns)
{
    struct tg_mpi_started started;
    if (tg_mpi_started_calls_take(&model->started, process->public.process, request, &started))
        leave_collective(model, process, started.comm, started.instance, time_ns);
}

/* THREAD's call, which is no message, has made REQUEST: a collective that is under way, a persistent one, or another. */
static struct tg_error *add_started(struct tg_mpi_model *model, const struct tg_mpi_process_entry *process,
                                    const struct tg_mpi_thread_entry *thread, bool is_persistent,
                                    uint64_t request, uint64_t time_ns)
{
    const struct tg_mpi_call *call = &thread->public.call;
    end_started(model, process, request, time_ns); /* a handle whose completion went unseen is used again */
    tg_mpi_started_calls_forget(&model->started, process->public.process, request);
    bool is_collective = tg_mpi_call_role(call->name, NULL, NULL) == TG_MPI_COLLECTIVE;
    const struct tg_mpi_started started = {.process = process->public.process,
                                           .tid = thread->public.tid,
                                           .request = request,
                                           .comm = call->comm,
                                           .instance = is_persistent || !is_collective ? 0 : call->instance,
                                           .made = is_persistent ? call->instance : 0,
                                           .root = call->root,
                                           .job = process->public.job,
                                           .name = call->name,
                                           .code = call->code,
                                           .since_ns = call->since_ns,
                                           .is_persistent = is_persistent,
                                           .is_active = !is_persistent};
    return tg_mpi_started_calls_add(&model->started, &started);
}

/* The collective call of THREAD returned: it has left the collective, or begun it. */
static struct tg_error *return_from_collective(struct tg_mpi_model *model,
                                               const struct tg_mpi_process_entry *process,
                                               const struct tg_mpi_thread_entry *thread, bool nonblocking,
                                               bool persistent, uint64_t request, uint64_t time_ns)
{
    const struct tg_mpi_call *call = &thread->public.call;
    if (!nonblocking || request == 0)
        leave_collective(model, process, call->comm, call->instance, time_ns);
    return request == 0 || (!nonblocking && !persistent)
               ? NULL
               : add_started(model, process, thread, persistent, request, time_ns);
}

/* ---- partitioned messages */

/* THREAD's call has made REQUEST; the partitions were told when it was entered. */
static struct tg_error *add_partitioned(struct tg_mpi_model *model,
                                        const struct tg_mpi_process_entry *process,
                                        const struct tg_mpi_thread_entry *thread, uint64_t request)
{
    const struct tg_mpi_call *call = &thread->public.call;
    bool sends = tg_mpi_call_partitions(call->name) == TG_MPI_SEND;
    if (call->peer < 0 || tg_mpi_is_between_jobs(&model->comms, &process->public, call->comm))
        return NULL;
    const struct tg_mpi_message message =
        tg_mpi_message_of(&model->comms, &process->public, &thread->public, sends);
    const struct tg_mpi_partitioned made = {.process = process->public.process,
                                            .tid = thread->public.tid,
                                            .request = request,
                                            .sends = sends,
                                            .job = message.job,
                                            .comm = message.comm,
                                            .group = message.group,
                                            .source = message.source,
                                            .destination = message.destination,
                                            .tag = message.tag,
                                            .bytes = message.bytes,
                                            .name = call->name,
                                            .code = call->code,
                                            .since_ns = call->since_ns,
                                            .count = thread->public.n_partitions};
    return tg_mpi_partitions_add(&model->partitions, &made);
}

/* Takes the partitions that THREAD's current call is about. */
static struct tg_error *take_partitions(struct tg_mpi_model *model, const struct tg_event *event,
                                        size_t index)
{
    struct tg_mpi_thread_entry *thread = tg_mpi_callers_find_thread(&model->callers, index, event->tid);
    const struct tg_list *list = &event->mpi_partitions.ranges;
    const struct tg_mpi_partition_range *items = list->items;
    if (thread == NULL || !thread->public.in_call) {
        model->impossible++;
        return NULL;
    }
    struct tg_error *error = NULL;
    for (uint64_t i = 0; error == NULL && i < list->count; i++) {
        if (items[i].last >= thread->public.n_partitions && items[i].last < UINT64_MAX)
            thread->public.n_partitions = items[i].last + 1;
        if (thread->public.call.request != 0)
            error =
                tg_mpi_partitions_mark(&model->partitions, &thread->public, items[i].first, items[i].last);
    }
    return error;
}

/* ---- requests that are started again and again */

/* A persistent REQUEST is started in THREAD's call: a message, or a collective of which all have to start theirs. */
static struct tg_error *start_request(struct tg_mpi_model *model, const struct tg_mpi_process_entry *process,
                                      const struct tg_mpi_thread_entry *thread, uint64_t request,
                                      uint64_t time_ns)
{
    struct tg_mpi_partitioned *partitioned =
        tg_mpi_partitions_find(&model->partitions, process->public.process, request);
    if (partitioned != NULL) {
        tg_mpi_partitions_start(partitioned, thread->public.tid, thread->public.call.code, time_ns);
        return NULL;
    }
    struct tg_mpi_started *started =
        tg_mpi_started_calls_find(&model->started, process->public.process, request);
    if (started == NULL || !started->is_persistent)
        return tg_mpi_messages_start(model->messages, process->public.process, request, time_ns);
    if (started->is_active || started->made == 0)
        return NULL;
    started->is_active = true;
    started->instance = tg_mpi_start_instance(started->made, ++started->starts);
    started->tid = thread->public.tid;
    started->code = thread->public.call.code;
    started->since_ns = time_ns;
    const struct tg_mpi_call call = {.name = started->name,
                                     .comm = started->comm,
                                     .instance = started->instance,
                                     .peer = -3,
                                     .tag = -3,
                                     .root = started->root,
                                     .code = started->code,
                                     .since_ns = time_ns};
    bool again;
    struct tg_mpi_comm *comm = tg_mpi_comms_find(&model->comms, process->public.job, started->comm);
    return tg_mpi_collectives_enter(&model->collectives, job_of(process, comm), comm, process->public.process,
                                    &call, 0, &again);
}

/* Takes the requests that THREAD's current call is about. */
static struct tg_error *take_requests(struct tg_mpi_model *model, const struct tg_event *event, size_t index)
{
    struct tg_mpi_thread_entry *thread = tg_mpi_callers_find_thread(&model->callers, index, event->tid);
    const struct tg_list *list = &event->mpi_requests.requests;
    struct tg_error *error = NULL;
    if (thread == NULL || (!thread->public.in_call && thread->public.polled_ns == 0)) {
        model->impossible++;
        return NULL;
    }
    bool starts = strcmp(thread->public.call.name, "MPI_Startall") == 0;
    const struct tg_mpi_request_item *items = list->items;
    const struct tg_mpi_process_entry *process = tg_mpi_callers_find_process(&model->callers, index);
    for (uint64_t i = 0; starts && process != NULL && error == NULL && i < list->count; i++) {
        tg_mpi_partitions_complete(&model->partitions, index,
                                   items[i].request); /* a completion that went unseen */
        error = start_request(model, process, thread, items[i].request, event->time_ns);
    }
    /* an item is nothing but its handle */
    return starts ? error : tg_mpi_thread_set_requests(thread, &items->request, (size_t)list->count);
}

/* NULL for "", which most calls have. */
static struct tg_error *intern_known(struct tg_mpi_model *model, const char *text, const char **name)
{
    const struct tg_mpi_known_name *known = NULL;
    struct tg_error *error = text == NULL || *text == '\0'
                                 ? NULL
                                 : tg_mpi_known_names_get(&model->known, &model->names, text, &known);
    *name = error != NULL || known == NULL ? NULL : known->name;
    return error;
}

/* The name of the communicator of CALL by PROCESS (NULL unknown), and the one id that it has in all jobs. */
static void note_comm(struct tg_mpi_model *model, const struct tg_mpi_process_entry *process,
                      struct tg_mpi_call *call)
{
    if (process != NULL && (model->has_names || model->has_joint))
        tg_mpi_comms_note_call(&model->comms, process->public.job, call);
}

/* A thread goes on polling, from the place and for what EVENT says. */
static struct tg_error *take_poll(struct tg_mpi_model *model, const struct tg_event *event, size_t index)
{
    const struct tg_event_mpi_poll *told = &event->mpi_poll;
    struct tg_mpi_thread_entry *thread = tg_mpi_callers_find_thread(&model->callers, index, event->tid);
    if (thread == NULL || thread->public.in_call) {
        model->impossible++;
        return NULL;
    }
    const char *name;
    struct tg_error *error = tg_string_pool_intern(&model->names, told->call, &name);
    if (error != NULL)
        return error;
    tg_mpi_poll_repeat(&thread->public, told, name, event->time_ns);
    note_comm(model, tg_mpi_callers_find_process(&model->callers, index), &thread->public.call);
    return told->request == 0 ? NULL : tg_mpi_thread_set_requests(thread, &told->request, 1);
}

/* Polls of a thread that have no events of their own. */
static struct tg_error *take_poll_sum(struct tg_mpi_model *model, const struct tg_event *event, size_t index)
{
    const struct tg_event_mpi_poll_sum *sum = &event->mpi_poll_sum;
    struct tg_mpi_thread_entry *thread = tg_mpi_callers_find_thread(&model->callers, index, event->tid);
    const char *name;
    if (thread == NULL) {
        model->impossible++;
        return NULL;
    }
    thread->public.repeated_polls += sum->polls;
    thread->public.call_ns += sum->inside_ns;
    if (model->options.polled == NULL)
        return NULL;
    struct tg_error *error = tg_string_pool_intern(&model->names, sum->call, &name);
    return error != NULL ? error : model->options.polled(model->options.context, index, name, sum);
}

/* THREAD is in the call from now on. */
static struct tg_error *begin_call(struct tg_mpi_model *model, const struct tg_event *event,
                                   struct tg_mpi_thread_entry *thread)
{
    const struct tg_event_mpi_enter *enter = &event->mpi_enter;
    const struct tg_mpi_known_name *known;
    const char *name, *type, *from_type, *op;
    struct tg_error *error = tg_mpi_known_names_get(&model->known, &model->names, enter->call, &known);
    if (error != NULL)
        return error;
    name = known->name; /* the place may be taken for one of the others */
    thread->traits = known->traits;
    error = intern_known(model, enter->type, &type);
    if (error == NULL)
        error = intern_known(model, enter->from_type, &from_type);
    if (error == NULL)
        error = intern_known(model, enter->op, &op);
    if (error != NULL)
        return error;
    tg_mpi_poll_enter(&thread->public, thread->traits.polls, enter->code, event->time_ns);
    struct tg_mpi_call *call =
        &thread->public.call; /* member by member: a struct made elsewhere and copied takes longer */
    call->name = name;
    call->type = type;
    call->from_type = from_type;
    call->op = op;
    call->comm = enter->comm;
    call->comm_name = NULL;
    call->instance = enter->instance;
    call->peer = enter->peer;
    call->tag = enter->tag;
    call->root = enter->root;
    call->bytes = enter->bytes;
    call->code = enter->code;
    call->since_ns = event->time_ns;
    call->request = enter->request;
    call->receives = enter->receives != 0;
    call->from = enter->from;
    call->from_tag = enter->from_tag;
    thread->public.in_call = true;
    thread->public.n_requests = 0;
    thread->public.n_partitions = 0;
    thread->public.sent_id = 0;
    thread->public.calls++;
    return NULL;
}

static struct tg_error *take_enter(struct tg_mpi_model *model, const struct tg_event *event, size_t index)
{
    const struct tg_event_mpi_enter *enter = &event->mpi_enter;
    struct tg_mpi_process_entry *process;
    struct tg_mpi_thread_entry *thread;
    struct tg_error *error = tg_mpi_callers_get_process(&model->callers, &model->names, index, &process);
    if (error == NULL)
        error = tg_mpi_callers_get_thread(&model->callers, index, event->tid, &thread);
    if (error != NULL)
        return error;
    if (thread->public.in_call)
        model->impossible++;
    error = begin_call(model, event, thread);
    if (error != NULL)
        return error;
    note_comm(model, process, &thread->public.call);
    const char *name = thread->public.call.name;
    bool is_special = thread->traits.is_special;
    if (is_special && strcmp(name, "MPI_Abort") == 0)
        process->public.aborted_ns = event->time_ns;
    if (is_special && enter->request != 0 && strcmp(name, "MPI_Start") == 0) {
        tg_mpi_partitions_complete(&model->partitions, index, enter->request); /* as for MPI_Startall */
        return start_request(model, process, thread, enter->request, event->time_ns);
    }
    if (is_special && enter->request != 0 && enter->tag >= 0 && strcmp(name, "MPI_Pready") == 0)
        error = tg_mpi_partitions_mark(&model->partitions, &thread->public, (uint64_t)enter->tag,
                                       (uint64_t)enter->tag);
    if (error != NULL)
        return error;
    if (enter->request != 0)
        return tg_mpi_thread_set_requests(thread, &enter->request, 1);
    if (enter->instance != 0)
        return enter_collective(model, process, thread);
    return post(model, process, thread);
}

/* What comes by a receive that was freed while it was under way is not seen. */
static void give_up_request(struct tg_mpi_model *model, struct tg_mpi_process_entry *process,
                            uint64_t request)
{
    const struct tg_mpi_message *posted =
        tg_mpi_messages_request(model->messages, process->public.process, request);
    process->public.gave_up_receives |= posted != NULL && posted->id == 0;
    tg_mpi_messages_drop_request(model->messages, process->public.process, request);
}

static bool is_start(const char *name)
{
    return strcmp(name, "MPI_Init") == 0 || strcmp(name, "MPI_Init_thread") == 0;
}

/* The level that TAG of their return says. */
static enum tg_mpi_thread_level thread_level(int64_t tag)
{
    return tag < 0 || tag > TG_MPI_THREAD_MULTIPLE - TG_MPI_THREAD_SINGLE
               ? TG_MPI_THREAD_UNKNOWN
               : (enum tg_mpi_thread_level)(TG_MPI_THREAD_SINGLE + tag);
}

/* A call that is known by its name, and sends and receives nothing. */
static struct tg_error *finish_special(struct tg_mpi_model *model, struct tg_mpi_process_entry *process,
                                       struct tg_mpi_thread_entry *thread, const struct tg_event *event)
{
    const struct tg_event_mpi_leave *leave = &event->mpi_leave;
    const struct tg_mpi_call *call = &thread->public.call;
    if (strcmp(call->name, "MPI_Finalize") == 0)
        process->public.finalized = true;
    if (is_start(call->name) && leave->result == 0)
        process->public.thread_level = thread_level(leave->tag);
    if (strcmp(call->name, "MPI_Request_free") == 0) {
        end_started(model, process, leave->request, event->time_ns);
        tg_mpi_started_calls_forget(&model->started, process->public.process, leave->request);
        tg_mpi_partitions_forget(&model->partitions, process->public.process, leave->request);
        give_up_request(model, process, leave->request);
        return NULL;
    }
    if (strcmp(call->name, "MPI_Pready_list") == 0 || strcmp(call->name, "MPI_Pready_range") == 0)
        tg_mpi_partitions_mark_unknown(&model->partitions, &thread->public);
    if (leave->request != 0 && tg_mpi_call_partitions(call->name) != TG_MPI_OTHER)
        return add_partitioned(model, process, thread, leave->request);
    if (strcmp(call->name, "MPI_Start") == 0 || strcmp(call->name, "MPI_Startall") == 0)
        return start_request(model, process, thread, leave->request, event->time_ns);
    return NULL;
}

static struct tg_error *finish(struct tg_mpi_model *model, struct tg_mpi_process_entry *process,
                               struct tg_mpi_thread_entry *thread, const struct tg_event *event)
{
    const struct tg_event_mpi_leave *leave = &event->mpi_leave;
    const struct tg_mpi_call *call = &thread->public.call;
    bool nonblocking = thread->traits.is_started, persistent = thread->traits.is_persistent;
    enum tg_mpi_role role = thread->traits.role;
    struct tg_error *error = NULL;
    thread->public.found_nothing = role == TG_MPI_PROBE && thread->traits.polls && leave->peer == -3;
    if (call->instance != 0)
        error = return_from_collective(model, process, thread, nonblocking && role == TG_MPI_COLLECTIVE,
                                       persistent, leave->request, event->time_ns);
    if (error != NULL)
        return error;
    if (leave->request != 0 && thread->traits.makes_request)
        return add_started(model, process, thread, false, leave->request, event->time_ns);
    if (thread->traits.is_special)
        return finish_special(model, process, thread, event);
    bool receives = role == TG_MPI_RECEIVE || role == TG_MPI_SEND_RECEIVE;
    if (receives && !nonblocking && !persistent) {
        const struct tg_mpi_message received =
            tg_mpi_message_by_role(&model->comms, &process->public, &thread->public, false, role);
        return finish_receive(model, process, thread, &received, leave->peer, leave->tag, event->time_ns);
    }
    if ((!receives && role != TG_MPI_SEND) || leave->request == 0 || (!nonblocking && !persistent) ||
        (call->peer == -2 && !call->receives) ||
        tg_mpi_is_between_jobs(&model->comms, &process->public, call->comm))
        return NULL;
    struct tg_mpi_message posted =
        tg_mpi_message_of(&model->comms, &process->public, &thread->public, !receives);
    posted.request = leave->request;
    posted.id = receives ? 0 : thread->public.sent_id;
    return tg_mpi_messages_add_request(model->messages, &posted,
                                       receives ? TG_MPI_REQUEST_RECEIVES : TG_MPI_REQUEST_SENDS, persistent);
}

static struct tg_error *take_leave(struct tg_mpi_model *model, const struct tg_event *event, size_t index)
{
    struct tg_mpi_process_entry *process = tg_mpi_callers_find_process(&model->callers, index);
    struct tg_mpi_thread_entry *thread = tg_mpi_callers_find_thread(&model->callers, index, event->tid);
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
    if (thread->traits.waits)
        tg_wait_times_add(&model->waits, thread->public.call.since_ns, event->time_ns);
    if (thread->traits.polls)
        tg_mpi_poll_leave(&thread->public, &event->mpi_leave, event->time_ns, &model->waits);
    struct tg_error *error = finish(model, process, thread, event);
    if (error == NULL && thread->traits.is_special && event->mpi_leave.result == 0)
        error = tg_mpi_epochs_leave(&model->epochs, process->public.job, index, &thread->public.call,
                                    event->time_ns);
    if (error == NULL && model->options.left != NULL)
        error = model->options.left(model->options.context, &thread->public, &thread->public.call,
                                    &event->mpi_leave, event->time_ns);
    if (thread->public.polled_ns != 0) /* told each one: what it is in is the row still */
        thread->public.call.since_ns = thread->public.polls_since_ns;
    return error;
}

/* For whom the call is, that begins an epoch of a window. */
static struct tg_error *take_group(struct tg_mpi_model *model, const struct tg_event *event, size_t index)
{
    const struct tg_mpi_process_entry *process = tg_mpi_callers_find_process(&model->callers, index);
    const struct tg_mpi_thread_entry *thread = tg_mpi_callers_find_thread(&model->callers, index, event->tid);
    const struct tg_list *members = &event->mpi_group.members;
    if (process == NULL || thread == NULL || !thread->public.in_call) {
        model->impossible++;
        return NULL;
    }
    int64_t rank = tg_mpi_own_rank(&model->comms, &process->public, thread->public.call.comm);
    return tg_mpi_epochs_group(&model->epochs, process->public.job, index, rank, &thread->public.call,
                               members->items, (size_t)members->count);
}

static struct tg_error *take_complete(struct tg_mpi_model *model, const struct tg_event *event, size_t index)
{
    const struct tg_event_mpi_complete *complete = &event->mpi_complete;
    struct tg_mpi_process_entry *process = tg_mpi_callers_find_process(&model->callers, index);
    struct tg_mpi_message posted;
    struct tg_mpi_thread_entry *thread = tg_mpi_callers_find_thread(&model->callers, index, event->tid);
    if (thread != NULL)
        thread->public.poll_found = true;
    if (process != NULL)
        end_started(model, process, complete->request, event->time_ns);
    if (process == NULL || tg_mpi_partitions_complete(&model->partitions, index, complete->request) ||
        !tg_mpi_messages_complete(model->messages, index, complete->request, &posted))
        return NULL; /* one that was posted before the trace began */
    if (posted.id != 0 && complete->cancelled)
        tg_mpi_messages_cancel_send(model->messages, &posted);
    if (posted.id != 0 || complete->cancelled)
        return NULL;
    return finish_receive(model, process, thread != NULL && thread->public.in_call ? thread : NULL, &posted,
                          complete->peer, complete->tag, event->time_ns);
}

static void end_process(struct tg_mpi_model *model, size_t index, bool replaced, uint64_t time_ns)
{
    struct tg_mpi_process_entry *process = tg_mpi_callers_find_process(&model->callers, index);
    tg_mpi_callers_kill_threads(&model->callers, index, time_ns);
    if (process != NULL)
        process->public.alive = replaced;
}

struct tg_error *tg_mpi_model_feed(struct tg_mpi_model *model, const struct tg_event *event, size_t process)
{
    struct tg_mpi_process_entry *known;
    struct tg_mpi_thread_entry *thread;
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
    case TG_EVENT_MPI_POLL:
        return take_poll(model, event, process);
    case TG_EVENT_MPI_POLL_SUM:
        return take_poll_sum(model, event, process);
    case TG_EVENT_MPI_PARTITIONS:
        return take_partitions(model, event, process);
    case TG_EVENT_MPI_GROUP:
        return take_group(model, event, process);
    case TG_EVENT_IDENTITY:
        if (event->identity.rank < 0)
            return NULL;
        struct tg_error *error = tg_mpi_callers_get_process(&model->callers, &model->names, process, &known);
        if (error != NULL)
            return error;
        known->public.rank = event->identity.rank;
        known->public.size = event->identity.size;
        return tg_string_pool_intern(&model->names, event->identity.job, &known->public.job);
    case TG_EVENT_THREAD_EXIT:
        thread = tg_mpi_callers_find_thread(&model->callers, process, event->tid);
        if (thread != NULL)
            tg_mpi_callers_kill_thread(&model->callers, thread, event->time_ns);
        return NULL;
    case TG_EVENT_PROCESS_EXIT:
    case TG_EVENT_EXEC:
        end_process(model, process, event->kind == TG_EVENT_EXEC, event->time_ns);
        return NULL;
    default:
        return NULL;
    }
}

/* ---- copies */

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
    made->has_joint = model->has_joint;
    struct tg_error *error =
        TG_ARRAY_COPY(made->faults, made->n_faults, made->fault_capacity, model->faults, model->n_faults);
    if (error == NULL)
        error = TG_ARRAY_COPY(made->mistyped, made->n_mistyped, made->mistyped_capacity, model->mistyped,
                              model->n_mistyped);
    if (error == NULL)
        error = tg_mpi_messages_copy(model->messages, &made->messages);
    if (error == NULL)
        error = tg_mpi_callers_copy(&model->callers, &made->names, &made->callers);
    if (error == NULL)
        error = tg_mpi_comms_copy(&model->comms, &made->comms);
    if (error == NULL)
        error = tg_mpi_collectives_copy(&model->collectives, &made->collectives);
    if (error == NULL)
        error = tg_mpi_epochs_copy(&model->epochs, &made->epochs);
    if (error == NULL)
        error = tg_mpi_started_calls_copy(&model->started, &made->started);
    if (error == NULL)
        error = tg_mpi_partitions_copy(&model->partitions, &made->partitions);
    if (error != NULL) {
        tg_mpi_model_destroy(made);
        return error;
    }
    *copy = made;
    return NULL;
}
