#include "analyzer/models/mpi/envelope.h"

int64_t tg_mpi_own_rank(const struct tg_mpi_comms *comms, const struct tg_mpi_process *process, uint64_t comm)
{
    return tg_mpi_comm_rank_of(tg_mpi_comms_find(comms, process->job, comm), process->process);
}

/* The group of PROCESS in COMM, 1 or 2; 0: COMM has but one, or it is not known (NULL). */
static unsigned group_in(const struct tg_mpi_comm *comm, const struct tg_mpi_process *process)
{
    return comm == NULL || !comm->is_inter ? 0 : tg_mpi_comm_group_of(comm, process->process, process->rank);
}

bool tg_mpi_is_between_jobs(const struct tg_mpi_comms *comms, const struct tg_mpi_process *process,
                            uint64_t comm)
{
    const struct tg_mpi_comm *found = tg_mpi_comms_find(comms, process->job, comm);
    return found != NULL && found->is_inter &&
           (group_in(found, process) == 0 || (found->joint.is_unlikely && !found->joint.is_linked));
}

struct tg_mpi_message tg_mpi_message_of(const struct tg_mpi_comms *comms,
                                        const struct tg_mpi_process *process,
                                        const struct tg_mpi_thread *thread, bool is_send)
{
    enum tg_mpi_role role = is_send ? TG_MPI_SEND : tg_mpi_call_role(thread->call.name, NULL, NULL);
    return tg_mpi_message_by_role(comms, process, thread, is_send, role);
}

struct tg_mpi_message tg_mpi_message_by_role(const struct tg_mpi_comms *comms,
                                             const struct tg_mpi_process *process,
                                             const struct tg_mpi_thread *thread, bool is_send,
                                             enum tg_mpi_role role)
{
    enum { NOT_KNOWN = -3 };
    const struct tg_mpi_call *call = &thread->call;
    const struct tg_mpi_comm *comm = tg_mpi_comms_find(comms, process->job, call->comm);
    int64_t own = tg_mpi_comm_rank_of(comm, process->process), source = call->peer, tag = call->tag;
    const char *type = call->type;
    unsigned group = group_in(comm, process);
    if (!is_send && role == TG_MPI_SEND_RECEIVE) {
        source = call->receives ? call->from : NOT_KNOWN;
        tag = call->receives ? call->from_tag : -1;
        type = call->from_type;
    }
    return (struct tg_mpi_message){
        .job = comm == NULL ? process->job : comm->key.job, /* both sides' of a joint one */
        .comm = comm == NULL ? call->comm : comm->key.comm,
        .group = group == 0 || is_send ? group : 3 - group,
        .source = is_send ? own : source,
        .destination = is_send ? call->peer : own,
        .tag = is_send ? call->tag : tag,
        .bytes = call->bytes,
        .type = type,
        .process = process->process,
        .tid = thread->tid,
        .name = call->name,
        .code = call->code,
        .since_ns = call->since_ns,
    };
}
