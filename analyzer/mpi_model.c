#include "analyzer/mpi_model.h"

#include "analyzer/mpi_messages.h"
#include "analyzer/string_pool.h"

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
    UT_hash_handle hh; /* among the live ones */
};

struct process {
    struct tg_mpi_process public;
    UT_hash_handle hh;
};

/* A communicator of a job. JOB is interned: the pointer tells jobs apart. */
struct comm_key {
    const char *job;
    uint64_t comm;
};

/* Which process is which rank of a communicator. */
struct comm_rank {
    size_t process;
    int64_t rank;
    UT_hash_handle hh; /* by process */
};

struct comm {
    struct comm_key key;
    int64_t size;
    int64_t *world_ranks; /* by rank, NULL unknown */
    size_t n_world_ranks;
    struct comm_rank *ranks;
    UT_hash_handle hh;
};

struct collective_key {
    const char *job;
    uint64_t comm;
    uint64_t instance;
};

struct arrival {
    size_t process;
    uint64_t entered_ns, left_ns;
    uint64_t code;
};

struct collective {
    struct collective_key key;
    struct tg_mpi_collective public;
    struct arrival *arrivals;
    size_t capacity;
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
    struct comm *comms;
    struct collective *collectives;
    struct tg_mpi_messages *messages;
    uint64_t impossible;
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

static void drop_collective(struct tg_mpi_model *model, struct collective *collective)
{
    HASH_DEL(model->collectives, collective);
    free(collective->arrivals);
    free(collective);
}

static void drop_comm(struct tg_mpi_model *model, struct comm *comm)
{
    struct comm_rank *rank, *next;
    HASH_DEL(model->comms, comm);
    HASH_ITER (hh, comm->ranks, rank, next) {
        HASH_DEL(comm->ranks, rank);
        free(rank);
    }
    free(comm->world_ranks);
    free(comm);
}

void tg_mpi_model_destroy(struct tg_mpi_model *model)
{
    if (model == NULL)
        return;
    struct collective *collective, *next_collective;
    HASH_ITER (hh, model->collectives, collective, next_collective)
        drop_collective(model, collective);
    struct comm *comm, *next_comm;
    HASH_ITER (hh, model->comms, comm, next_comm)
        drop_comm(model, comm);
    HASH_CLEAR(hh, model->live);
    HASH_CLEAR(hh, model->by_process);
    for (size_t i = 0; i < model->n_threads; i++)
        free(model->threads[i]);
    for (size_t i = 0; i < model->n_processes; i++)
        free(model->processes[i]);
    free(model->threads);
    free(model->processes);
    tg_mpi_messages_destroy(model->messages);
    tg_string_pool_deinit(&model->names);
    free(model);
}

/* ---- processes and threads */

/* ITEMS, an array of pointers, with room for one more than COUNT; NULL without memory. */
static void *with_room(void *items, size_t count, size_t *capacity)
{
    if (count < *capacity)
        return items;
    size_t larger = *capacity == 0 ? 16 : 2 * *capacity;
    void *grown = reallocarray(items, larger, sizeof(void *));
    if (grown != NULL)
        *capacity = larger;
    return grown;
}

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
        struct process **processes =
            with_room(model->processes, model->n_processes, &model->process_capacity);
        if (processes == NULL)
            return tg_error_no_memory();
        model->processes = processes;
        found = calloc(1, sizeof *found);
        if (found == NULL)
            return tg_error_no_memory();
        found->public = (struct tg_mpi_process){.process = index, .rank = -1, .alive = true};
        struct tg_error *error = tg_string_pool_intern(&model->names, "", &found->public.job);
        if (error == NULL) {
            HASH_ADD(hh, model->by_process, public.process, sizeof index, found);
            if (find_process(model, index) != found)
                error = tg_error_no_memory();
        }
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
        struct thread **threads = with_room(model->threads, model->n_threads, &model->thread_capacity);
        if (threads == NULL)
            return tg_error_no_memory();
        model->threads = threads;
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

static struct comm *find_comm(const struct tg_mpi_model *model, const char *job, uint64_t id)
{
    struct comm_key key;
    struct comm *found;
    memset(&key, 0, sizeof key);
    key.job = job;
    key.comm = id;
    HASH_FIND(hh, model->comms, &key, sizeof key, found);
    return found;
}

static struct tg_error *get_comm(struct tg_mpi_model *model, const char *job, uint64_t id, struct comm **comm)
{
    struct comm *found = find_comm(model, job, id);
    if (found == NULL) {
        found = calloc(1, sizeof *found);
        if (found == NULL)
            return tg_error_no_memory();
        found->key.job = job;
        found->key.comm = id;
        HASH_ADD(hh, model->comms, key, sizeof found->key, found);
        if (find_comm(model, job, id) != found) {
            free(found);
            return tg_error_no_memory();
        }
    }
    *comm = found;
    return NULL;
}

static struct comm_rank *find_rank(const struct comm *comm, size_t process)
{
    struct comm_rank *found = NULL;
    if (comm != NULL)
        HASH_FIND(hh, comm->ranks, &process, sizeof process, found);
    return found;
}

static struct tg_error *set_rank(struct comm *comm, size_t process, int64_t rank)
{
    struct comm_rank *found = find_rank(comm, process);
    if (found == NULL) {
        found = calloc(1, sizeof *found);
        if (found == NULL)
            return tg_error_no_memory();
        found->process = process;
        HASH_ADD(hh, comm->ranks, process, sizeof process, found);
        if (find_rank(comm, process) != found) {
            free(found);
            return tg_error_no_memory();
        }
    }
    found->rank = rank;
    return NULL;
}

/* The process that is RANK of COMM; SIZE_MAX: none that is known. */
static size_t process_of_rank(const struct comm *comm, int64_t rank)
{
    for (const struct comm_rank *of = comm == NULL ? NULL : comm->ranks; of != NULL; of = of->hh.next)
        if (of->rank == rank)
            return of->process;
    return SIZE_MAX;
}

static struct tg_error *take_members(struct comm *comm, const struct tg_list *members)
{
    const struct tg_mpi_member *items = members->items;
    if (members->count == 0 || comm->world_ranks != NULL)
        return NULL;
    comm->world_ranks = calloc(members->count, sizeof *comm->world_ranks);
    if (comm->world_ranks == NULL)
        return tg_error_no_memory();
    for (uint64_t i = 0; i < members->count; i++)
        comm->world_ranks[i] = items[i].world_rank;
    comm->n_world_ranks = members->count;
    return NULL;
}

static struct tg_error *take_comm(struct tg_mpi_model *model, const struct tg_event *event, size_t index)
{
    const struct tg_event_mpi_comm *told = &event->mpi_comm;
    struct process *process;
    struct comm *comm;
    struct tg_error *error = get_process(model, index, &process);
    if (error != NULL || told->comm == 0)
        return error;
    if (told->origin == TG_MPI_COMM_FREED) {
        comm = find_comm(model, process->public.job, told->comm);
        struct comm_rank *rank = find_rank(comm, index);
        if (rank != NULL) {
            HASH_DEL(comm->ranks, rank);
            free(rank);
            if (comm->ranks == NULL)
                drop_comm(model, comm);
        }
        return NULL;
    }
    if (told->origin == TG_MPI_COMM_WORLD) {
        process->public.rank = told->rank;
        process->public.size = told->size;
    }
    error = get_comm(model, process->public.job, told->comm, &comm);
    if (error == NULL && told->size > 0)
        comm->size = told->size;
    if (error == NULL && told->rank >= 0)
        error = set_rank(comm, index, told->rank);
    return error != NULL ? error : take_members(comm, &told->members);
}

/* ---- collectives */

static struct collective *find_collective(const struct tg_mpi_model *model, const struct collective_key *key)
{
    struct collective *found;
    HASH_FIND(hh, model->collectives, key, sizeof *key, found);
    return found;
}

static struct tg_error *get_collective(struct tg_mpi_model *model, const struct process *process,
                                       const struct tg_mpi_call *call, struct collective **collective)
{
    struct collective_key key;
    memset(&key, 0, sizeof key);
    key.job = process->public.job;
    key.comm = call->comm;
    key.instance = call->instance;
    struct collective *found = find_collective(model, &key);
    if (found == NULL) {
        found = calloc(1, sizeof *found);
        if (found == NULL)
            return tg_error_no_memory();
        const struct comm *comm = find_comm(model, key.job, key.comm);
        found->key = key;
        found->public = (struct tg_mpi_collective){.job = key.job,
                                                   .name = call->name,
                                                   .comm = call->comm,
                                                   .instance = call->instance,
                                                   .root = call->root,
                                                   .first_ns = call->since_ns,
                                                   .size = comm == NULL ? 0 : comm->size};
        HASH_ADD(hh, model->collectives, key, sizeof key, found);
        if (find_collective(model, &key) != found) {
            free(found);
            return tg_error_no_memory();
        }
    }
    *collective = found;
    return NULL;
}

static struct arrival *find_arrival(const struct collective *collective, size_t process)
{
    for (uint64_t i = 0; i < collective->public.n_entered; i++)
        if (collective->arrivals[i].process == process)
            return &collective->arrivals[i];
    return NULL;
}

static struct tg_error *enter_collective(struct tg_mpi_model *model, const struct process *process,
                                         const struct tg_mpi_call *call)
{
    struct collective *collective;
    struct tg_error *error = get_collective(model, process, call, &collective);
    if (error != NULL)
        return error;
    if (find_arrival(collective, process->public.process) != NULL) {
        model->impossible++;
        return NULL;
    }
    size_t count = (size_t)collective->public.n_entered;
    if (count == collective->capacity) {
        size_t capacity = count == 0 ? 4 : 2 * count;
        struct arrival *arrivals = reallocarray(collective->arrivals, capacity, sizeof *arrivals);
        if (arrivals == NULL)
            return tg_error_no_memory();
        collective->arrivals = arrivals;
        collective->capacity = capacity;
    }
    collective->arrivals[count] = (struct arrival){
        .process = process->public.process, .entered_ns = call->since_ns, .code = call->code};
    collective->public.n_entered++;
    collective->public.last_ns = call->since_ns;
    collective->public.differs |= strcmp(collective->public.name, call->name) != 0;
    return NULL;
}

/* One that all have left is over; of a communicator of unknown size, one that all who came have left. */
static void leave_collective(struct tg_mpi_model *model, const struct process *process,
                             const struct tg_mpi_call *call, uint64_t time_ns)
{
    struct collective_key key;
    memset(&key, 0, sizeof key);
    key.job = process->public.job;
    key.comm = call->comm;
    key.instance = call->instance;
    struct collective *collective = find_collective(model, &key);
    struct arrival *arrival = collective == NULL ? NULL : find_arrival(collective, process->public.process);
    if (arrival == NULL || arrival->left_ns != 0)
        return;
    arrival->left_ns = time_ns;
    collective->public.n_left++;
    uint64_t all =
        collective->public.size > 0 ? (uint64_t)collective->public.size : collective->public.n_entered;
    if (collective->public.n_left >= all)
        drop_collective(model, collective);
}

/* ---- messages */

/* Rank of PROCESS in the communicator of CALL, -1 unknown. */
static int64_t own_rank(const struct tg_mpi_model *model, const struct process *process, uint64_t comm)
{
    const struct comm_rank *rank =
        find_rank(find_comm(model, process->public.job, comm), process->public.process);
    return rank == NULL ? -1 : rank->rank;
}

static struct tg_mpi_message message_of(const struct tg_mpi_model *model, const struct process *process,
                                        const struct thread *thread, bool is_send)
{
    const struct tg_mpi_call *call = &thread->public.call;
    int64_t own = own_rank(model, process, call->comm);
    return (struct tg_mpi_message){
        .job = process->public.job,
        .comm = call->comm,
        .source = is_send ? own : call->peer,
        .destination = is_send ? call->peer : own,
        .tag = call->tag,
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

static struct tg_error *post(struct tg_mpi_model *model, const struct process *process,
                             const struct thread *thread)
{
    bool persistent;
    enum tg_mpi_role role = tg_mpi_call_role(thread->public.call.name, NULL, &persistent);
    if (thread->public.call.peer < 0 || persistent || (role != TG_MPI_SEND && role != TG_MPI_SEND_RECEIVE))
        return NULL;
    const struct tg_mpi_message message = message_of(model, process, thread, true);
    return tg_mpi_messages_add_send(model->messages, &message);
}

/* ---- events */

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
    };
    thread->public.in_call = true;
    thread->public.calls++;
    if (strcmp(name, "MPI_Abort") == 0)
        process->public.aborted_ns = event->time_ns;
    if (enter->instance != 0)
        return enter_collective(model, process, &thread->public.call);
    return post(model, process, thread);
}

static struct tg_error *finish(struct tg_mpi_model *model, struct process *process, struct thread *thread,
                               const struct tg_event *event)
{
    const struct tg_event_mpi_leave *leave = &event->mpi_leave;
    const struct tg_mpi_call *call = &thread->public.call;
    bool nonblocking, persistent;
    enum tg_mpi_role role = tg_mpi_call_role(call->name, &nonblocking, &persistent);
    if (call->instance != 0)
        leave_collective(model, process, call, event->time_ns);
    if (strcmp(call->name, "MPI_Finalize") == 0)
        process->public.finalized = true;
    if (strcmp(call->name, "MPI_Request_free") == 0) {
        tg_mpi_messages_drop_request(model->messages, process->public.process, leave->request);
        return NULL;
    }
    if (role != TG_MPI_RECEIVE && role != TG_MPI_SEND_RECEIVE)
        return NULL;
    if (!nonblocking && !persistent)
        return receive(model, process, call->comm, leave->peer, leave->tag, event->time_ns);
    if (leave->request == 0 || call->peer == -2)
        return NULL;
    const struct tg_mpi_message posted = message_of(model, process, thread, false);
    return tg_mpi_messages_add_request(model->messages, &posted, leave->request, persistent);
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
    if (event->time_ns > thread->public.call.since_ns)
        thread->public.call_ns += event->time_ns - thread->public.call.since_ns;
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
    case TG_EVENT_MPI_ENTER:
        return take_enter(model, event, process);
    case TG_EVENT_MPI_LEAVE:
        return take_leave(model, event, process);
    case TG_EVENT_MPI_COMPLETE:
        return take_complete(model, event, process);
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
    struct tg_error *error = NULL;
    copy->threads = calloc(model->n_threads + 1, sizeof(struct thread *));
    if (copy->threads == NULL)
        return tg_error_no_memory();
    copy->thread_capacity = model->n_threads + 1;
    for (size_t i = 0; i < model->n_threads; i++) {
        struct thread *thread = calloc(1, sizeof *thread);
        if (thread == NULL)
            return tg_error_no_memory();
        thread->public = model->threads[i]->public;
        thread->key = model->threads[i]->key;
        copy->threads[copy->n_threads++] = thread;
        if (!thread->public.alive)
            continue;
        HASH_ADD(hh, copy->live, key, sizeof thread->key, thread);
        if (thread->hh.tbl == NULL)
            error = tg_error_no_memory();
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

static struct tg_error *copy_comm(struct tg_mpi_model *copy, const struct comm *from)
{
    struct comm *comm;
    struct tg_error *error = get_comm(copy, from->key.job, from->key.comm, &comm);
    for (const struct comm_rank *rank = from->ranks; error == NULL && rank != NULL; rank = rank->hh.next)
        error = set_rank(comm, rank->process, rank->rank);
    if (error != NULL)
        return error;
    comm->size = from->size;
    if (from->world_ranks == NULL)
        return NULL;
    comm->world_ranks = malloc(from->n_world_ranks * sizeof *comm->world_ranks);
    if (comm->world_ranks == NULL)
        return tg_error_no_memory();
    memcpy(comm->world_ranks, from->world_ranks, from->n_world_ranks * sizeof *comm->world_ranks);
    comm->n_world_ranks = from->n_world_ranks;
    return NULL;
}

static struct tg_error *copy_collective(struct tg_mpi_model *copy, const struct collective *from)
{
    size_t count = (size_t)from->public.n_entered;
    struct collective *collective = calloc(1, sizeof *collective);
    struct arrival *arrivals = calloc(count + 1, sizeof *arrivals);
    if (collective != NULL && arrivals != NULL) {
        if (count > 0)
            memcpy(arrivals, from->arrivals, count * sizeof *arrivals);
        collective->key = from->key;
        collective->public = from->public;
        collective->arrivals = arrivals;
        collective->capacity = count; /* enter_collective grows what is full */
        HASH_ADD(hh, copy->collectives, key, sizeof collective->key, collective);
        if (collective->hh.tbl != NULL)
            return NULL;
    }
    free(collective);
    free(arrivals);
    return tg_error_no_memory();
}

struct tg_error *tg_mpi_model_copy(const struct tg_mpi_model *model, struct tg_mpi_model **copy)
{
    struct tg_mpi_model *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    tg_string_pool_share(&model->names, &made->names);
    made->impossible = model->impossible;
    struct tg_error *error = tg_mpi_messages_copy(model->messages, &made->messages);
    if (error == NULL)
        error = copy_threads(model, made);
    if (error == NULL)
        error = copy_processes(model, made);
    for (const struct comm *comm = model->comms; error == NULL && comm != NULL; comm = comm->hh.next)
        error = copy_comm(made, comm);
    for (const struct collective *collective = model->collectives; error == NULL && collective != NULL;
         collective = collective->hh.next)
        error = copy_collective(made, collective);
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

static int64_t world_rank_of(const struct tg_mpi_model *model, const struct comm *comm, int64_t rank,
                             size_t process)
{
    if (comm != NULL && rank >= 0 && (uint64_t)rank < comm->n_world_ranks)
        return comm->world_ranks[rank];
    const struct tg_mpi_process *known = tg_mpi_model_process(model, process);
    return known == NULL ? -1 : known->rank;
}

static struct tg_mpi_arrival arrival_of(const struct tg_mpi_model *model, const struct collective *collective,
                                        const struct comm *comm, int64_t rank, size_t process)
{
    const struct arrival *arrival = process == SIZE_MAX ? NULL : find_arrival(collective, process);
    return (struct tg_mpi_arrival){
        .standing = arrival == NULL         ? TG_MPI_MISSING
                    : arrival->left_ns == 0 ? TG_MPI_WAITING
                                            : TG_MPI_PASSED,
        .comm_rank = rank,
        .world_rank = world_rank_of(model, comm, rank, process),
        .process = process,
        .entered_ns = arrival == NULL ? 0 : arrival->entered_ns,
        .left_ns = arrival == NULL ? 0 : arrival->left_ns,
        .code = arrival == NULL ? 0 : arrival->code,
    };
}

/* The arrivals of COLLECTIVE, *COUNT of them; NULL without memory. */
static struct tg_mpi_arrival *list_arrivals(const struct tg_mpi_model *model,
                                            const struct collective *collective, size_t *count)
{
    enum { MAX_RANKS = 1 << 20 };
    const struct comm *comm = find_comm(model, collective->key.job, collective->key.comm);
    bool by_rank = comm != NULL && comm->size > 0 && comm->size <= MAX_RANKS &&
                   (uint64_t)comm->size >= collective->public.n_entered;
    size_t n = by_rank ? (size_t)comm->size : (size_t)collective->public.n_entered;
    struct tg_mpi_arrival *arrivals = calloc(n + 1, sizeof *arrivals);
    for (size_t i = 0; arrivals != NULL && i < n; i++) {
        size_t process = by_rank ? process_of_rank(comm, (int64_t)i) : collective->arrivals[i].process;
        const struct comm_rank *rank = by_rank ? NULL : find_rank(comm, process);
        arrivals[i] = arrival_of(model, collective, comm,
                                 by_rank        ? (int64_t)i
                                 : rank == NULL ? -1
                                                : rank->rank,
                                 process);
    }
    *count = n;
    return arrivals;
}

struct tg_error *tg_mpi_model_visit_collectives(
    const struct tg_mpi_model *model,
    struct tg_error *(*visit)(void *context, const struct tg_mpi_collective *collective,
                              const struct tg_mpi_arrival *arrivals, size_t n_arrivals),
    void *context)
{
    struct tg_error *error = NULL;
    for (const struct collective *of = model->collectives; error == NULL && of != NULL; of = of->hh.next) {
        size_t count;
        struct tg_mpi_arrival *arrivals = list_arrivals(model, of, &count);
        if (arrivals == NULL)
            return tg_error_no_memory();
        error = visit(context, &of->public, arrivals, count);
        free(arrivals);
    }
    return error;
}

struct tg_error *tg_mpi_model_visit_sends(const struct tg_mpi_model *model,
                                          struct tg_error *(*visit)(void *context,
                                                                    const struct tg_mpi_message *message),
                                          void *context)
{
    return tg_mpi_messages_visit_sends(model->messages, visit, context);
}

static struct tg_error *
visit_blocked(const struct tg_mpi_model *model,
              struct tg_error *(*visit)(void *context, const struct tg_mpi_message *message), void *context)
{
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < model->n_threads; i++) {
        const struct thread *thread = model->threads[i];
        const struct process *process = find_process(model, thread->public.process);
        bool nonblocking, persistent;
        if (!thread->public.in_call || process == NULL ||
            tg_mpi_call_role(thread->public.call.name, &nonblocking, &persistent) != TG_MPI_RECEIVE ||
            nonblocking || persistent)
            continue;
        const struct tg_mpi_message message = message_of(model, process, thread, false);
        error = visit(context, &message);
    }
    return error;
}

struct tg_error *tg_mpi_model_visit_receives(const struct tg_mpi_model *model,
                                             struct tg_error *(*visit)(void *context,
                                                                       const struct tg_mpi_message *message),
                                             void *context)
{
    struct tg_error *error = visit_blocked(model, visit, context);
    return error != NULL ? error : tg_mpi_messages_visit_requests(model->messages, visit, context);
}

bool tg_mpi_model_has_send(const struct tg_mpi_model *model, const struct tg_mpi_message *receive)
{
    return tg_mpi_messages_has_send(model->messages, receive);
}
