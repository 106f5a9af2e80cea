/* One-sided communication. A window has an id as a communicator does; collective calls are counted on it. */
#include "recorder/agent/mpi/comm.h"
#include "recorder/agent/mpi/frame.h"
#include "recorder/agent/mpi/request.h"
#include "recorder/agent/mpi/world.h"

#define H tg_mpi_handle

static uint64_t id_of(tg_mpi_handle window)
{
    return tg_mpi_object_id(TG_MPI_OBJECT_WINDOW, window);
}

/* ---- windows come and go */

#define MAKES(name, parameters, arguments, room)                                                             \
    TG_MPI_WRAP(name, parameters, arguments)                                                                 \
    {                                                                                                        \
        struct tg_mpi_object parent = tg_mpi_object_of_collective(TG_MPI_OBJECT_COMM, comm);                 \
        tg_mpi_enter_collective(frame, parent.id, parent.instance, TG_MPI_NOTHING, (uint64_t)(room));        \
        struct tg_mpi_birth birth = tg_mpi_birth_begin(comm, TG_MPI_ORIGIN_WINDOW);                          \
        int result = next arguments;                                                                         \
        tg_mpi_record_return(frame, result);                                                                 \
        if (result == 0)                                                                                     \
            tg_mpi_object_born(TG_MPI_OBJECT_WINDOW, tg_mpi_handle_in(window, 0), comm, &birth);             \
        return result;                                                                                       \
    }
#define MAKES_WITH_ROOM(c, N)                                                                                \
    MAKES(Win_create##c, (void *base, long size, N unit, H info, H comm, void *window),                      \
          (base, size, unit, info, comm, window), size)                                                      \
    MAKES(Win_allocate##c, (long size, N unit, H info, H comm, void *base, void *window),                    \
          (size, unit, info, comm, base, window), size)                                                      \
    MAKES(Win_allocate_shared##c, (long size, N unit, H info, H comm, void *base, void *window),             \
          (size, unit, info, comm, base, window), size)
MAKES_WITH_ROOM(, int)
MAKES_WITH_ROOM(_c, long)
MAKES(Win_create_dynamic, (H info, H comm, void *window), (info, comm, window), 0)

TG_MPI_WRAP(Win_free, (void *window), (window))
{
    H handle = tg_mpi_handle_in(window, 0);
    struct tg_mpi_object object = tg_mpi_object_of_collective(TG_MPI_OBJECT_WINDOW, handle);
    tg_mpi_enter_collective(frame, object.id, object.instance, TG_MPI_NOTHING, 0);
    struct tg_mpi_death death = tg_mpi_death_begin(TG_MPI_OBJECT_WINDOW, handle);
    int result = next(window);
    tg_mpi_record_return(frame, result);
    tg_mpi_death_end(&death, result == 0);
    return result;
}

/* ---- epochs */

#define EPOCH(name, parameters, arguments, peer)                                                             \
    TG_MPI_WRAP(name, parameters, arguments)                                                                 \
    {                                                                                                        \
        tg_mpi_enter_point(frame, id_of(window), peer, TG_MPI_NOTHING, 0);                                   \
        int result = next arguments;                                                                         \
        tg_mpi_record_return(frame, result);                                                                 \
        return result;                                                                                       \
    }
/* Of one that is for the processes of GROUP. */
#define EPOCH_OF_GROUP(name)                                                                                 \
    TG_MPI_WRAP(name, (H group, int assertion, H window), (group, assertion, window))                        \
    {                                                                                                        \
        tg_mpi_enter_point(frame, id_of(window), TG_MPI_NOTHING, TG_MPI_NOTHING, 0);                         \
        tg_mpi_group_tell(group, window);                                                                    \
        int result = next(group, assertion, window);                                                         \
        tg_mpi_record_return(frame, result);                                                                 \
        return result;                                                                                       \
    }
EPOCH_OF_GROUP(Win_start)
EPOCH_OF_GROUP(Win_post)
EPOCH(Win_complete, (H window), (window), TG_MPI_NOTHING)
EPOCH(Win_wait, (H window), (window), TG_MPI_NOTHING)
EPOCH(Win_lock, (int type, int rank, int assertion, H window), (type, rank, assertion, window),
      tg_mpi_peer(rank))
EPOCH(Win_unlock, (int rank, H window), (rank, window), tg_mpi_peer(rank))
EPOCH(Win_lock_all, (int assertion, H window), (assertion, window), TG_MPI_NOTHING)
EPOCH(Win_unlock_all, (H window), (window), TG_MPI_NOTHING)
EPOCH(Win_flush, (int rank, H window), (rank, window), tg_mpi_peer(rank))
EPOCH(Win_flush_all, (H window), (window), TG_MPI_NOTHING)
EPOCH(Win_flush_local, (int rank, H window), (rank, window), tg_mpi_peer(rank))
EPOCH(Win_flush_local_all, (H window), (window), TG_MPI_NOTHING)

TG_MPI_WRAP(Win_fence, (int assertion, H window), (assertion, window))
{
    struct tg_mpi_object object = tg_mpi_object_of_collective(TG_MPI_OBJECT_WINDOW, window);
    tg_mpi_enter_collective(frame, object.id, object.instance, TG_MPI_NOTHING, 0);
    int result = next(assertion, window);
    tg_mpi_record_return(frame, result);
    return result;
}

TG_MPI_WRAP(Win_test, (H window, int *flag), (window, flag))
{
    const struct tg_mpi_enter enter = {
        .comm = id_of(window), .peer = TG_MPI_NOTHING, .tag = TG_MPI_NOTHING, .root = TG_MPI_NOTHING};
    tg_mpi_poll_begin(frame, &enter);
    int result = next(window, flag);
    if (tg_mpi_poll_end(frame, &enter, result == 0 && *flag != 0, result))
        tg_mpi_record_return(frame, result);
    return result;
}

/* ---- access: amounts are those that go to the target, or come from it where nothing goes there */

#define ACCESS(name, parameters, arguments, amount_)                                                         \
    TG_MPI_WRAP(name, parameters, arguments)                                                                 \
    {                                                                                                        \
        tg_mpi_enter_point(frame, id_of(window), tg_mpi_peer(target), TG_MPI_NOTHING, amount_);              \
        int result = next arguments;                                                                         \
        tg_mpi_record_return(frame, result);                                                                 \
        return result;                                                                                       \
    }
#define STARTS_ACCESS(name, parameters, arguments, amount_)                                                  \
    TG_MPI_WRAP(name, parameters, arguments)                                                                 \
    {                                                                                                        \
        tg_mpi_enter_point(frame, id_of(window), tg_mpi_peer(target), TG_MPI_NOTHING, amount_);              \
        return tg_mpi_request_started(frame, TG_MPI_REQUEST_COLLECTIVE, request, next arguments);            \
    }
/* With a request or without one. */
#define BOTH(name, rname, c, parameters, arguments, amount_)                                                 \
    ACCESS(name##c, parameters, arguments, amount_)                                                          \
    STARTS_ACCESS(rname##c, (TG_MPI_UNPACK parameters, void *request), (TG_MPI_UNPACK arguments, request),   \
                  amount_)
#define ACCESSES(c, N)                                                                                       \
    BOTH(Put, Rput, c,                                                                                       \
         (const void *own, N n, H type, int target, long at, N n_there, H type_there, H window),             \
         (own, n, type, target, at, n_there, type_there, window), tg_mpi_amount(n, type))                    \
    BOTH(Get, Rget, c, (void *own, N n, H type, int target, long at, N n_there, H type_there, H window),     \
         (own, n, type, target, at, n_there, type_there, window), tg_mpi_amount(n, type))                    \
    BOTH(Accumulate, Raccumulate, c,                                                                         \
         (const void *own, N n, H type, int target, long at, N n_there, H type_there, H op, H window),       \
         (own, n, type, target, at, n_there, type_there, op, window), tg_mpi_amount(n, type))                \
    BOTH(Get_accumulate, Rget_accumulate, c,                                                                 \
         (const void *own, N n, H type, void *got, N n_got, H type_got, int target, long at, N n_there,      \
          H type_there, H op, H window),                                                                     \
         (own, n, type, got, n_got, type_got, target, at, n_there, type_there, op, window),                  \
         tg_mpi_amount(n_there, type_there))
ACCESSES(, int)
ACCESSES(_c, long long)
ACCESS(Fetch_and_op, (const void *own, void *got, H type, int target, long at, H op, H window),
       (own, got, type, target, at, op, window), tg_mpi_amount(1, type))
ACCESS(Compare_and_swap,
       (const void *own, const void *expected, void *got, H type, int target, long at, H window),
       (own, expected, got, type, target, at, window), tg_mpi_amount(1, type))
