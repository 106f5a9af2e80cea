/* Communication from process to process. */
#include "recorder/agent/mpi/comm.h"
#include "recorder/agent/mpi/frame.h"
#include "recorder/agent/mpi/request.h"
#include "recorder/agent/mpi/world.h"

/* Room for a status that the program ignores. */
struct own_status {
    uint64_t words[TG_MPI_STATUS_MAX_BYTES / sizeof(uint64_t)];
};

/* STATUS, or OWN where the program ignores it. */
static void *not_ignored(void *status, struct own_status *own)
{
    *own = (struct own_status){0};
    return tg_mpi_is_ignored(status) ? own : status;
}

#define ENTER(peer_, tag_, amount_)                                                                          \
    tg_mpi_enter_point(frame, tg_mpi_object_id(TG_MPI_OBJECT_COMM, comm), tg_mpi_peer(peer_),                \
                       tg_mpi_tag(tag_), (amount_))

/* ---- sends: N is the type of counts, c the end of the names */

#define SEND(name, N)                                                                                        \
    TG_MPI_WRAP(name,                                                                                        \
                (const void *buffer, N count, tg_mpi_handle type, int to, int tag, tg_mpi_handle comm),      \
                (buffer, count, type, to, tag, comm))                                                        \
    {                                                                                                        \
        ENTER(to, tag, tg_mpi_amount(count, type));                                                          \
        int result = next(buffer, count, type, to, tag, comm);                                               \
        tg_mpi_record_return(frame, result);                                                                 \
        return result;                                                                                       \
    }
#define START(name, N, kind)                                                                                 \
    TG_MPI_WRAP(name,                                                                                        \
                (const void *buffer, N count, tg_mpi_handle type, int peer, int tag, tg_mpi_handle comm,     \
                 void *request),                                                                             \
                (buffer, count, type, peer, tag, comm, request))                                             \
    {                                                                                                        \
        ENTER(peer, tag, tg_mpi_amount(count, type));                                                        \
        return tg_mpi_request_started(frame, kind, request,                                                  \
                                      next(buffer, count, type, peer, tag, comm, request));                  \
    }
#define SENDS(name, iname, c, N)                                                                             \
    SEND(name##c, N)                                                                                         \
    START(iname##c, N, TG_MPI_REQUEST_SEND)                                                                  \
    START(name##_init##c, N, TG_MPI_REQUEST_SEND | TG_MPI_REQUEST_PERSISTENT)

/* ---- receives */

#define RECEIVES(c, N)                                                                                       \
    TG_MPI_WRAP(                                                                                             \
        Recv##c,                                                                                             \
        (void *buffer, N count, tg_mpi_handle type, int from, int tag, tg_mpi_handle comm, void *status),    \
        (buffer, count, type, from, tag, comm, status))                                                      \
    {                                                                                                        \
        struct own_status own;                                                                               \
        status = not_ignored(status, &own);                                                                  \
        ENTER(from, tag, tg_mpi_amount(count, type));                                                        \
        int result = next(buffer, count, type, from, tag, comm, status);                                     \
        struct tg_mpi_leave leave = tg_mpi_leave_of_status(status, result);                                  \
        tg_mpi_record_leave(frame, &leave, result);                                                          \
        return result;                                                                                       \
    }                                                                                                        \
    START(Irecv##c, N, TG_MPI_REQUEST_RECEIVE)                                                               \
    START(Recv_init##c, N, TG_MPI_REQUEST_RECEIVE | TG_MPI_REQUEST_PERSISTENT)                               \
    TG_MPI_WRAP(Mrecv##c, (void *buffer, N count, tg_mpi_handle type, void *message, void *status),          \
                (buffer, count, type, message, status))                                                      \
    {                                                                                                        \
        struct own_status own;                                                                               \
        status = not_ignored(status, &own);                                                                  \
        tg_mpi_enter_point(frame, tg_mpi_message_comm(tg_mpi_handle_in(message, 0)), TG_MPI_NOTHING,         \
                           TG_MPI_NOTHING, tg_mpi_amount(count, type));                                      \
        int result = next(buffer, count, type, message, status);                                             \
        struct tg_mpi_leave leave = tg_mpi_leave_of_status(status, result);                                  \
        tg_mpi_record_leave(frame, &leave, result);                                                          \
        return result;                                                                                       \
    }                                                                                                        \
    TG_MPI_WRAP(Imrecv##c, (void *buffer, N count, tg_mpi_handle type, void *message, void *request),        \
                (buffer, count, type, message, request))                                                     \
    {                                                                                                        \
        tg_mpi_enter_point(frame, tg_mpi_message_comm(tg_mpi_handle_in(message, 0)), TG_MPI_NOTHING,         \
                           TG_MPI_NOTHING, tg_mpi_amount(count, type));                                      \
        return tg_mpi_request_started(frame, TG_MPI_REQUEST_RECEIVE, request,                                \
                                      next(buffer, count, type, message, request));                          \
    }

/* ---- both at once: the entry tells of both, the end of the receive */

#define ENTER_BOTH(to_, sent_tag_, amount_, from_, tag_, from_amount_)                                       \
    tg_mpi_enter_both(frame,                                                                                 \
                      &(const struct tg_mpi_enter){.comm = tg_mpi_object_id(TG_MPI_OBJECT_COMM, comm),       \
                                                   .peer = tg_mpi_peer(to_),                                 \
                                                   .tag = tg_mpi_tag(sent_tag_),                             \
                                                   .root = TG_MPI_NOTHING,                                   \
                                                   .amount = (amount_),                                      \
                                                   .receives = true,                                         \
                                                   .from = tg_mpi_peer(from_),                               \
                                                   .from_tag = tg_mpi_tag(tag_),                             \
                                                   .from_amount = (from_amount_)})

#define SEND_RECEIVES(c, N)                                                                                  \
    TG_MPI_WRAP(Sendrecv##c,                                                                                 \
                (const void *sent, N n_sent, tg_mpi_handle sent_type, int to, int sent_tag, void *received,  \
                 N n_received, tg_mpi_handle received_type, int from, int tag, tg_mpi_handle comm,           \
                 void *status),                                                                              \
                (sent, n_sent, sent_type, to, sent_tag, received, n_received, received_type, from, tag,      \
                 comm, status))                                                                              \
    {                                                                                                        \
        struct own_status own;                                                                               \
        status = not_ignored(status, &own);                                                                  \
        ENTER_BOTH(to, sent_tag, tg_mpi_amount(n_sent, sent_type), from, tag,                                \
                   tg_mpi_amount(n_received, received_type));                                                \
        int result = next(sent, n_sent, sent_type, to, sent_tag, received, n_received, received_type, from,  \
                          tag, comm, status);                                                                \
        struct tg_mpi_leave leave = tg_mpi_leave_of_status(status, result);                                  \
        tg_mpi_record_leave(frame, &leave, result);                                                          \
        return result;                                                                                       \
    }                                                                                                        \
    TG_MPI_WRAP(Sendrecv_replace##c,                                                                         \
                (void *buffer, N count, tg_mpi_handle type, int to, int sent_tag, int from, int tag,         \
                 tg_mpi_handle comm, void *status),                                                          \
                (buffer, count, type, to, sent_tag, from, tag, comm, status))                                \
    {                                                                                                        \
        struct own_status own;                                                                               \
        status = not_ignored(status, &own);                                                                  \
        ENTER_BOTH(to, sent_tag, tg_mpi_amount(count, type), from, tag, tg_mpi_amount(count, type));         \
        int result = next(buffer, count, type, to, sent_tag, from, tag, comm, status);                       \
        struct tg_mpi_leave leave = tg_mpi_leave_of_status(status, result);                                  \
        tg_mpi_record_leave(frame, &leave, result);                                                          \
        return result;                                                                                       \
    }                                                                                                        \
    TG_MPI_WRAP(Isendrecv##c,                                                                                \
                (const void *sent, N n_sent, tg_mpi_handle sent_type, int to, int sent_tag, void *received,  \
                 N n_received, tg_mpi_handle received_type, int from, int tag, tg_mpi_handle comm,           \
                 void *request),                                                                             \
                (sent, n_sent, sent_type, to, sent_tag, received, n_received, received_type, from, tag,      \
                 comm, request))                                                                             \
    {                                                                                                        \
        ENTER_BOTH(to, sent_tag, tg_mpi_amount(n_sent, sent_type), from, tag,                                \
                   tg_mpi_amount(n_received, received_type));                                                \
        return tg_mpi_request_started(frame, TG_MPI_REQUEST_RECEIVE, request,                                \
                                      next(sent, n_sent, sent_type, to, sent_tag, received, n_received,      \
                                           received_type, from, tag, comm, request));                        \
    }                                                                                                        \
    TG_MPI_WRAP(Isendrecv_replace##c,                                                                        \
                (void *buffer, N count, tg_mpi_handle type, int to, int sent_tag, int from, int tag,         \
                 tg_mpi_handle comm, void *request),                                                         \
                (buffer, count, type, to, sent_tag, from, tag, comm, request))                               \
    {                                                                                                        \
        ENTER_BOTH(to, sent_tag, tg_mpi_amount(count, type), from, tag, tg_mpi_amount(count, type));         \
        return tg_mpi_request_started(frame, TG_MPI_REQUEST_RECEIVE, request,                                \
                                      next(buffer, count, type, to, sent_tag, from, tag, comm, request));    \
    }

#define ALL(c, N)                                                                                            \
    SENDS(Send, Isend, c, N)                                                                                 \
    SENDS(Bsend, Ibsend, c, N)                                                                               \
    SENDS(Ssend, Issend, c, N)                                                                               \
    SENDS(Rsend, Irsend, c, N)                                                                               \
    RECEIVES(c, N)                                                                                           \
    SEND_RECEIVES(c, N)
ALL(, int)
ALL(_c, long long)

/* ---- probes */

TG_MPI_WRAP(Probe, (int from, int tag, tg_mpi_handle comm, void *status), (from, tag, comm, status))
{
    struct own_status own;
    status = not_ignored(status, &own);
    ENTER(from, tag, 0);
    int result = next(from, tag, comm, status);
    struct tg_mpi_leave leave = tg_mpi_leave_of_status(status, result);
    tg_mpi_record_leave(frame, &leave, result);
    return result;
}

TG_MPI_WRAP(Mprobe, (int from, int tag, tg_mpi_handle comm, void *message, void *status),
            (from, tag, comm, message, status))
{
    struct own_status own;
    status = not_ignored(status, &own);
    ENTER(from, tag, 0);
    int result = next(from, tag, comm, message, status);
    struct tg_mpi_leave leave = tg_mpi_leave_of_status(status, result);
    tg_mpi_record_leave(frame, &leave, result);
    if (result == 0)
        tg_mpi_message_matched(tg_mpi_handle_in(message, 0), tg_mpi_object_id(TG_MPI_OBJECT_COMM, comm));
    return result;
}

static const struct tg_mpi_enter *poll_of(struct tg_mpi_enter *enter, int from, int tag, tg_mpi_handle comm)
{
    *enter = (struct tg_mpi_enter){.comm = tg_mpi_object_id(TG_MPI_OBJECT_COMM, comm),
                                   .peer = tg_mpi_peer(from),
                                   .tag = tg_mpi_tag(tag),
                                   .root = TG_MPI_NOTHING};
    return enter;
}

TG_MPI_WRAP(Iprobe, (int from, int tag, tg_mpi_handle comm, int *flag, void *status),
            (from, tag, comm, flag, status))
{
    struct own_status own;
    struct tg_mpi_enter enter;
    status = not_ignored(status, &own);
    tg_mpi_poll_begin(frame, poll_of(&enter, from, tag, comm));
    int result = next(from, tag, comm, flag, status);
    if (tg_mpi_poll_end(frame, &enter, result == 0 && *flag != 0, result)) {
        struct tg_mpi_leave leave = tg_mpi_leave_of_status(status, result);
        tg_mpi_record_leave(frame, &leave, result);
    }
    return result;
}

TG_MPI_WRAP(Improbe, (int from, int tag, tg_mpi_handle comm, int *flag, void *message, void *status),
            (from, tag, comm, flag, message, status))
{
    struct own_status own;
    struct tg_mpi_enter enter;
    status = not_ignored(status, &own);
    tg_mpi_poll_begin(frame, poll_of(&enter, from, tag, comm));
    int result = next(from, tag, comm, flag, message, status);
    bool has_found = result == 0 && *flag != 0;
    if (tg_mpi_poll_end(frame, &enter, has_found, result)) {
        struct tg_mpi_leave leave = tg_mpi_leave_of_status(status, result);
        tg_mpi_record_leave(frame, &leave, result);
    }
    if (has_found)
        tg_mpi_message_matched(tg_mpi_handle_in(message, 0), enter.comm);
    return result;
}
