#include "recorder/look/telling.h"

#include "recorder/engine/engine.h"

void tg_look_tell(const struct tg_look_sink *sink, pid_t pid, pid_t tid, struct tg_event event)
{
    event.time_ns = tg_engine_now_ns();
    event.pid = pid;
    event.tid = tid;
    sink->add(sink->context, &event);
}

void tg_look_tell_values(const struct tg_look_sink *sink, pid_t pid, pid_t tid,
                         const struct tg_mpi_values *values)
{
    struct tg_call_value told[TG_MPI_MAX_VALUES];
    if (values->count > 0)
        tg_look_tell(sink, pid, tid, tg_mpi_values_event(values, told));
}

void tg_look_tell_requests(const struct tg_look_sink *sink, pid_t pid, pid_t tid,
                           const struct tg_mpi_requests *requests)
{
    struct tg_look_requests told = {.pid = pid,
                                    .tid = tid,
                                    .needs_all = requests->needs_all,
                                    .count = requests->count,
                                    .n_pending = requests->n_pending,
                                    .n_messages = requests->n_messages,
                                    .n_collective = requests->n_collective,
                                    .is_of_world = requests->is_of_world,
                                    .mark = requests->mark};
    _Static_assert((int)TG_MPI_MAX_MESSAGES <= (int)TG_LOOK_MAX_MESSAGES, "room for all");
    for (size_t i = 0; i < requests->n_messages; i++) {
        const struct tg_mpi_message_request *message = &requests->messages[i];
        told.messages[i] = (struct tg_look_message){.sends = message->sends,
                                                    .is_world = message->is_world,
                                                    .is_other = message->is_other,
                                                    .is_small = message->is_small,
                                                    .peer = message->peer,
                                                    .rank = message->rank,
                                                    .tag = message->tag};
    }
    if (requests->count > 0 && sink->add_requests != NULL)
        sink->add_requests(sink->context, &told);
}

void tg_look_tell_members(const struct tg_look_sink *sink, pid_t pid, pid_t tid,
                          const struct tg_mpi_members *members)
{
    const struct tg_look_members told = {.pid = pid,
                                         .tid = tid,
                                         .size = members->size,
                                         .number = members->number,
                                         .ranks = members->ranks,
                                         .remote_size = members->remote_size,
                                         .remote_ranks = members->remote_ranks};
    if (members->size > 0 && sink->add_members != NULL)
        sink->add_members(sink->context, &told);
}

void tg_look_tell_world(const struct tg_look_sink *sink, pid_t pid, const struct tg_mpi_members *world)
{
    enum { WORLD = 1 }; /* as in events */
    if (world->size > 0)
        tg_look_tell(sink, pid, pid,
                     (struct tg_event){.kind = TG_EVENT_MPI_COMM,
                                       .mpi_comm = {.comm = WORLD,
                                                    .origin = TG_MPI_COMM_WORLD,
                                                    .rank = world->rank,
                                                    .size = world->size}});
}

static void emit(void *context, pid_t pid, pid_t tid, const struct tg_event *event)
{
    tg_look_tell(context, pid, tid, *event);
}

void tg_look_tell_waits(const struct tg_look_sink *sink, const struct tg_wait *waits, size_t count,
                        const pid_t *pids, size_t n_pids)
{
    for (size_t i = 0; i < count; i++)
        tg_wait_tell(&waits[i], pids, n_pids, emit, (void *)sink);
}
