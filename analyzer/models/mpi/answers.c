#include "analyzer/models/mpi/envelope.h"
#include "analyzer/models/mpi/model_internal.h"

#include <stdlib.h>

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
    return model->callers.n_threads;
}

const struct tg_mpi_thread *tg_mpi_model_thread_at(const struct tg_mpi_model *model, size_t i)
{
    return &model->callers.threads[i]->public;
}

size_t tg_mpi_model_process_count(const struct tg_mpi_model *model)
{
    return model->callers.n_processes;
}

const struct tg_mpi_process *tg_mpi_model_process_at(const struct tg_mpi_model *model, size_t i)
{
    return &model->callers.processes[i]->public;
}

const struct tg_mpi_process *tg_mpi_model_process(const struct tg_mpi_model *model, size_t process)
{
    const struct tg_mpi_process_entry *found = tg_mpi_callers_find_process(&model->callers, process);
    return found == NULL ? NULL : &found->public;
}

int64_t tg_mpi_model_comm_size(const struct tg_mpi_model *model, const char *job, uint64_t comm)
{
    const struct tg_mpi_comm *known = tg_mpi_comms_find(&model->comms, job, comm);
    return known == NULL ? 0 : known->size;
}

uint64_t tg_mpi_model_comm_id(const struct tg_mpi_model *model, size_t process, uint64_t comm)
{
    const struct tg_mpi_process *caller = model->has_joint ? tg_mpi_model_process(model, process) : NULL;
    const struct tg_mpi_comm *known =
        caller == NULL ? NULL : tg_mpi_comms_find(&model->comms, caller->job, comm);
    return known == NULL ? comm : known->key.comm;
}

int64_t tg_mpi_model_peer_count(const struct tg_mpi_model *model, size_t process, const char *job,
                                uint64_t comm)
{
    const struct tg_mpi_comm *known = tg_mpi_comms_find(&model->comms, job, comm);
    const struct tg_mpi_process *caller = tg_mpi_model_process(model, process);
    if (known == NULL || caller == NULL || !known->is_inter)
        return known == NULL ? 0 : known->size;
    unsigned group = tg_mpi_comm_group_of(known, process, caller->rank);
    if (known->joint.is_joint)
        return group == 1 ? known->joint.remote_size : known->size;
    return (int64_t)(group == 1 ? known->n_other_ranks : group == 2 ? known->n_world_ranks : 0);
}

/* The rank in MPI_COMM_WORLD of those whose communicator does not say. */
static int64_t world_rank_of(const struct tg_mpi_model *model, size_t process)
{
    const struct tg_mpi_process *known = tg_mpi_model_process(model, process);
    return known == NULL ? -1 : known->rank;
}

/* The process that was RANK of COMM, and has freed it, as at its end; SIZE_MAX: not known. */
static size_t find_former(const struct tg_mpi_model *model, const struct tg_mpi_comm *comm, int64_t rank)
{
    enum { WORLD = 1 };
    const struct tg_mpi_comm *world =
        comm == NULL ? NULL : tg_mpi_comms_find(&model->comms, comm->key.job, WORLD);
    if (world == NULL || world == comm || rank < 0 || (uint64_t)rank >= comm->n_world_ranks)
        return SIZE_MAX;
    return tg_mpi_comm_process_of(world, comm->world_ranks[rank]);
}

size_t tg_mpi_model_process_of(const struct tg_mpi_model *model, size_t process, const char *job,
                               uint64_t comm, int64_t rank)
{
    const struct tg_mpi_comm *known = tg_mpi_comms_find(&model->comms, job, comm);
    if (known == NULL || !known->is_inter) {
        size_t found = tg_mpi_comm_process_of(known, rank);
        return found == SIZE_MAX ? find_former(model, known, rank) : found;
    }
    unsigned group = tg_mpi_comm_group_of(known, process, world_rank_of(model, process));
    if (known->joint.is_joint)
        return group == 0 ? SIZE_MAX : tg_mpi_comm_process_of_side(known, 3 - group, rank);
    int64_t world_rank = tg_mpi_comm_peer_of_group(known, group, rank);
    for (const struct tg_mpi_comm_rank *of = known->ranks; world_rank >= 0 && of != NULL; of = of->hh.next)
        if (of->rank == rank && world_rank_of(model, of->process) == world_rank)
            return of->process;
    return SIZE_MAX;
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
    const struct tg_mpi_model *model, unsigned sought,
    struct tg_error *(*visit)(void *context, const struct tg_mpi_collective *collective,
                              const struct tg_mpi_arrival *arrivals, size_t n_arrivals),
    void *context)
{
    const struct tg_mpi_collective_entry *first[TG_MPI_MAX_KEPT_COLLECTIVES];
    size_t n = tg_mpi_collectives_first(&model->collectives, sought, first, TG_MPI_MAX_KEPT_COLLECTIVES);
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

const struct tg_mpi_site *tg_mpi_model_sites(const struct tg_mpi_model *model, const char *job, uint64_t comm,
                                             size_t process, size_t *n, bool *is_whole)
{
    const struct tg_mpi_sites *sites =
        tg_mpi_comm_sites(tg_mpi_comms_find(&model->comms, job, comm), process);
    *is_whole = sites != NULL && !sites->is_incomplete;
    *n = sites == NULL ? 0 : sites->count;
    return sites == NULL ? NULL : sites->items;
}

struct tg_mpi_comm_facts tg_mpi_model_comm(const struct tg_mpi_model *model, const char *job, uint64_t comm)
{
    const struct tg_mpi_comm *found = tg_mpi_comms_find(&model->comms, job, comm);
    if (found == NULL)
        return (struct tg_mpi_comm_facts){0};
    return (struct tg_mpi_comm_facts){.name = found->name,
                                      .origin = found->origin,
                                      .parent = found->parent,
                                      .size = found->size,
                                      .is_inter = found->is_inter,
                                      .made_by = found->made_by,
                                      .maker = found->maker,
                                      .made_in = found->made_in,
                                      .members = found->is_inter ? NULL : found->world_ranks,
                                      .n_members = found->is_inter ? 0 : found->n_world_ranks};
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

size_t tg_mpi_model_mistyped_count(const struct tg_mpi_model *model)
{
    return model->n_mistyped;
}

const struct tg_mpi_mistyped *tg_mpi_model_mistyped_at(const struct tg_mpi_model *model, size_t i)
{
    return &model->mistyped[i];
}

size_t tg_mpi_model_remarked_count(const struct tg_mpi_model *model)
{
    return model->partitions.n_remarked;
}

const struct tg_mpi_remarked *tg_mpi_model_remarked_at(const struct tg_mpi_model *model, size_t i)
{
    return &model->partitions.remarked[i];
}

size_t tg_mpi_model_epoch_count(const struct tg_mpi_model *model)
{
    return model->epochs.count;
}

const struct tg_mpi_epoch *tg_mpi_model_epoch_at(const struct tg_mpi_model *model, size_t i)
{
    return &model->epochs.items[i];
}

/* Whether MESSAGE is between jobs whose sides are not linked: its other half is not known. */
static bool is_half(const struct tg_mpi_model *model, const struct tg_mpi_message *message)
{
    return model->has_joint &&
           tg_mpi_comm_is_half(tg_mpi_comms_find(&model->comms, message->job, message->comm));
}

/* Visits messages but those whose other halves cannot be known. */
struct filter {
    const struct tg_mpi_model *model;
    struct tg_error *(*visit)(void *context, const struct tg_mpi_message *message);
    void *context;
};

static struct tg_error *visit_known(void *context, const struct tg_mpi_message *message)
{
    const struct filter *filter = context;
    return is_half(filter->model, message) ? NULL : filter->visit(filter->context, message);
}

struct tg_error *tg_mpi_model_visit_sends(const struct tg_mpi_model *model,
                                          struct tg_error *(*visit)(void *context,
                                                                    const struct tg_mpi_message *message),
                                          void *context)
{
    const struct filter filter = {.model = model, .visit = visit, .context = context};
    return tg_mpi_messages_visit_sends(model->messages, visit_known, (void *)(uintptr_t)&filter);
}

typedef struct tg_error *visit_message(void *context, const struct tg_mpi_message *message);

/* Visits what threads wait to receive in a call of PROBES, or in others. */
static struct tg_error *visit_blocked(const struct tg_mpi_model *model, bool probes, visit_message *visit,
                                      void *context)
{
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < model->callers.n_threads; i++) {
        const struct tg_mpi_thread_entry *thread = model->callers.threads[i];
        const struct tg_mpi_call *call = &thread->public.call;
        const struct tg_mpi_process_entry *process =
            tg_mpi_callers_find_process(&model->callers, thread->public.process);
        bool polls = probes && !thread->public.in_call && thread->public.polled_ns != 0;
        bool waits = thread->public.in_call && tg_mpi_call_waits(call->name);
        if ((!waits && !polls) || process == NULL ||
            tg_mpi_is_between_jobs(&model->comms, &process->public, call->comm))
            continue;
        enum tg_mpi_role role = tg_mpi_call_role(call->name, NULL, NULL);
        bool is_wanted = probes ? role == TG_MPI_PROBE
                                : role == TG_MPI_RECEIVE || (role == TG_MPI_SEND_RECEIVE && call->receives);
        const struct tg_mpi_message message =
            tg_mpi_message_of(&model->comms, &process->public, &thread->public, false);
        if (is_wanted && message.source > -2 &&
            !is_half(model, &message)) /* MPI_PROC_NULL; a message that was matched before */
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
    const struct filter filter = {.model = model, .visit = visit, .context = context};
    return error != NULL
               ? error
               : tg_mpi_messages_visit_requests(model->messages, visit_known, (void *)(uintptr_t)&filter);
}

struct tg_error *tg_mpi_model_visit_requests(const struct tg_mpi_model *model,
                                             struct tg_error *(*visit)(void *context,
                                                                       const struct tg_mpi_message *message),
                                             void *context)
{
    return tg_mpi_messages_visit_active(model->messages, visit, context);
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

const struct tg_mpi_started *tg_mpi_model_started(const struct tg_mpi_model *model, size_t process,
                                                  uint64_t request)
{
    const struct tg_mpi_started *found = tg_mpi_started_calls_find(&model->started, process, request);
    return found == NULL || !found->is_active ? NULL : found;
}

struct tg_error *tg_mpi_model_visit_started(const struct tg_mpi_model *model,
                                            struct tg_error *(*visit)(void *context,
                                                                      const struct tg_mpi_started *started),
                                            void *context)
{
    return tg_mpi_started_calls_visit(&model->started, visit, context);
}

bool tg_mpi_model_has_send(const struct tg_mpi_model *model, const struct tg_mpi_message *receive)
{
    return is_half(model, receive) || tg_mpi_messages_has_send(model->messages, receive);
}

const struct tg_mpi_partitioned *tg_mpi_model_partitioned(const struct tg_mpi_model *model, size_t process,
                                                          uint64_t request)
{
    const struct tg_mpi_partitioned *found = tg_mpi_partitions_find(&model->partitions, process, request);
    return found == NULL || !found->is_active ? NULL : found;
}

const struct tg_mpi_partitioned *tg_mpi_model_other_half(const struct tg_mpi_model *model,
                                                         const struct tg_mpi_partitioned *of, bool *was_made)
{
    return tg_mpi_partitions_other(&model->partitions, of, was_made);
}

struct tg_error *
tg_mpi_model_visit_partitioned(const struct tg_mpi_model *model,
                               struct tg_error *(*visit)(void *context, const struct tg_mpi_partitioned *of),
                               void *context)
{
    return tg_mpi_partitions_visit(&model->partitions, visit, context);
}
