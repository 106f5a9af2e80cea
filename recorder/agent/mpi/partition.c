/* Partitioned communication: messages whose parts become ready one by one, marked by any thread. */
#include "recorder/agent/mpi/comm.h"
#include "recorder/agent/mpi/frame.h"
#include "recorder/agent/mpi/request.h"
#include "recorder/agent/mpi/world.h"

#include <limits.h>

#define H tg_mpi_handle

/* ---- which partitions a call is about */

enum { RANGE_WORDS = 2 };

/* Begins a record of N ranges; NULL: there is no room, or nothing to tell. */
static uint64_t *begin_ranges(size_t n)
{
    uint64_t *arguments = n == 0 || n > TG_AGENT_MAX_PARTITION_RANGES
                              ? NULL
                              : tg_agent_begin(TG_RECORD_MPI_PARTITIONS, 1 + n * RANGE_WORDS);
    if (arguments != NULL)
        arguments[0] = n;
    return arguments;
}

static void tell_range(int first, int last)
{
    uint64_t *arguments = begin_ranges(first >= 0 && last >= first);
    if (arguments == NULL)
        return;
    arguments[1] = (uint64_t)first;
    arguments[2] = (uint64_t)last;
    tg_agent_commit();
}

/* Whether partition I of a list begins a range: it does not follow the one before. */
static bool begins_range(const int *partitions, int i)
{
    return i == 0 || partitions[i - 1] == INT_MAX || partitions[i] != partitions[i - 1] + 1;
}

/* Of COUNT PARTITIONS. Nothing where they are too many ranges, or one is no partition. */
static void tell_list(int count, const int *partitions)
{
    size_t n = 0, at = 0;
    for (int i = 0; i < count; i++) {
        if (partitions[i] < 0)
            return;
        n += begins_range(partitions, i);
    }
    uint64_t *arguments = begin_ranges(n);
    if (arguments == NULL)
        return;
    for (int i = 0; i < count; i++) {
        if (begins_range(partitions, i)) {
            arguments[1 + RANGE_WORDS * at] = (uint64_t)partitions[i];
            at++;
        }
        arguments[RANGE_WORDS * at] = (uint64_t)partitions[i];
    }
    tg_agent_commit();
}

/* ---- messages in partitions; COUNT is that of one */

#define MAKES(name, kind)                                                                                    \
    TG_MPI_WRAP(name,                                                                                        \
                (void *buffer, int partitions, long long count, H type, int peer, int tag, H comm, H info,   \
                 void *request),                                                                             \
                (buffer, partitions, count, type, peer, tag, comm, info, request))                           \
    {                                                                                                        \
        int64_t all = 0;                                                                                     \
        if (__builtin_mul_overflow((int64_t)partitions, (int64_t)count, &all))                               \
            all = 0;                                                                                         \
        tg_mpi_enter_point(frame, tg_mpi_object_id(TG_MPI_OBJECT_COMM, comm), tg_mpi_peer(peer),             \
                           tg_mpi_tag(tag), tg_mpi_amount(all, type));                                       \
        tell_range(0, partitions - 1);                                                                       \
        return tg_mpi_request_started(                                                                       \
            frame, kind | TG_MPI_REQUEST_PERSISTENT, request,                                                \
            next(buffer, partitions, count, type, peer, tag, comm, info, request));                          \
    }
MAKES(Psend_init, TG_MPI_REQUEST_SEND)
MAKES(Precv_init, TG_MPI_REQUEST_RECEIVE)

/* ---- partitions that can be sent, or have come */

TG_MPI_WRAP(Pready, (int partition, H request), (partition, request))
{
    tg_mpi_enter_partition(frame, tg_mpi_abi_handle(tg_mpi.abi, request), partition);
    int result = next(partition, request);
    tg_mpi_record_return(frame, result);
    return result;
}

TG_MPI_WRAP(Pready_range, (int first, int last, H request), (first, last, request))
{
    tg_mpi_enter_partition(frame, tg_mpi_abi_handle(tg_mpi.abi, request), TG_MPI_NOTHING);
    tell_range(first, last);
    int result = next(first, last, request);
    tg_mpi_record_return(frame, result);
    return result;
}

TG_MPI_WRAP(Pready_list, (int count, const int *partitions, H request), (count, partitions, request))
{
    tg_mpi_enter_partition(frame, tg_mpi_abi_handle(tg_mpi.abi, request), TG_MPI_NOTHING);
    tell_list(count, partitions);
    int result = next(count, partitions, request);
    tg_mpi_record_return(frame, result);
    return result;
}

TG_MPI_WRAP(Parrived, (H request, int partition, int *flag), (request, partition, flag))
{
    const struct tg_mpi_leave leave = {
        .request = tg_mpi_abi_handle(tg_mpi.abi, request), .peer = TG_MPI_NOTHING, .tag = TG_MPI_NOTHING};
    const struct tg_mpi_enter enter = {
        .peer = TG_MPI_NOTHING, .tag = partition, .root = TG_MPI_NOTHING, .request = leave.request};
    tg_mpi_poll_begin(frame, &enter);
    int result = next(request, partition, flag);
    if (tg_mpi_poll_end(frame, &enter, result == 0 && *flag != 0, result))
        tg_mpi_record_leave(frame, &leave, result);
    return result;
}
