/* Files. What several processes opened together has an id as a communicator does; collective calls are
 * counted on it. */
#include "recorder/agent/mpi/comm.h"
#include "recorder/agent/mpi/frame.h"
#include "recorder/agent/mpi/request.h"
#include "recorder/agent/mpi/world.h"

#define H tg_mpi_handle

enum participants {
    ALONE,
    TOGETHER, /* a collective call */
};

static void enter(const struct tg_mpi_frame *frame, tg_mpi_handle file, enum participants who,
                  tg_mpi_amount_t amount)
{
    struct tg_mpi_object object = who == TOGETHER ? tg_mpi_object_of_collective(TG_MPI_OBJECT_FILE, file)
                                                  : tg_mpi_object(TG_MPI_OBJECT_FILE, file);
    tg_mpi_enter_collective(frame, object.id, object.instance, TG_MPI_NOTHING, amount);
}

/* ---- open and close */

TG_MPI_WRAP(File_open, (H comm, const char *path, int mode, H info, void *file),
            (comm, path, mode, info, file))
{
    struct tg_mpi_object parent = tg_mpi_object_of_collective(TG_MPI_OBJECT_COMM, comm);
    tg_mpi_enter_collective(frame, parent.id, parent.instance, TG_MPI_NOTHING, 0);
    struct tg_mpi_birth birth = tg_mpi_birth_begin(comm, TG_MPI_ORIGIN_FILE);
    int result = next(comm, path, mode, info, file);
    tg_mpi_record_return(frame, result);
    if (result == 0)
        tg_mpi_object_born(TG_MPI_OBJECT_FILE, *(const uintptr_t *)file, comm, &birth);
    return result;
}

TG_MPI_WRAP(File_close, (void *file), (file))
{
    H handle = *(const uintptr_t *)file;
    enter(frame, handle, TOGETHER, 0);
    struct tg_mpi_death death = tg_mpi_death_begin(TG_MPI_OBJECT_FILE, handle);
    int result = next(file);
    tg_mpi_record_return(frame, result);
    tg_mpi_death_end(&death, result == 0);
    return result;
}

#define SIMPLE(name, parameters, arguments)                                                                  \
    TG_MPI_WRAP(name, parameters, arguments)                                                                 \
    {                                                                                                        \
        enter(frame, file, TOGETHER, 0);                                                                     \
        int result = next arguments;                                                                         \
        tg_mpi_record_return(frame, result);                                                                 \
        return result;                                                                                       \
    }
SIMPLE(File_set_view, (H file, long long at, H element, H type, const char *representation, H info),
       (file, at, element, type, representation, info))
SIMPLE(File_set_size, (H file, long long size), (file, size))
SIMPLE(File_preallocate, (H file, long long size), (file, size))
SIMPLE(File_sync, (H file), (file))

/* ---- reading and writing: a status tells only how much */

static struct tg_mpi_leave leave_of(const void *status, int result)
{
    struct tg_mpi_leave leave = tg_mpi_leave_of_status(status, result);
    return (struct tg_mpi_leave){.peer = TG_MPI_NOTHING, .tag = TG_MPI_NOTHING, .bytes = leave.bytes};
}

#define TRANSFER(name, who, parameters, arguments, amount)                                                   \
    TG_MPI_WRAP(name, parameters, arguments)                                                                 \
    {                                                                                                        \
        uint64_t own[TG_MPI_STATUS_MAX_BYTES / sizeof(uint64_t)] = {0};                                      \
        if (tg_mpi_is_ignored(status))                                                                       \
            status = own;                                                                                    \
        enter(frame, file, who, amount);                                                                     \
        int result = next arguments;                                                                         \
        struct tg_mpi_leave leave = leave_of(status, result);                                                \
        tg_mpi_record_leave(frame, &leave, result);                                                          \
        return result;                                                                                       \
    }
#define STARTED(name, who, parameters, arguments)                                                            \
    TG_MPI_WRAP(name, parameters, arguments)                                                                 \
    {                                                                                                        \
        enter(frame, file, who, tg_mpi_amount(count, type));                                                 \
        return tg_mpi_request_started(frame, TG_MPI_REQUEST_FILE, request, next arguments);                  \
    }
#define BEGUN(name, parameters, arguments)                                                                   \
    TG_MPI_WRAP(name, parameters, arguments)                                                                 \
    {                                                                                                        \
        enter(frame, file, TOGETHER, tg_mpi_amount(count, type));                                            \
        int result = next arguments;                                                                         \
        tg_mpi_record_return(frame, result);                                                                 \
        return result;                                                                                       \
    }

#define AT_POINTER(name, c, N, who)                                                                          \
    TRANSFER(name##c, who, (H file, void *buffer, N count, H type, void *status),                            \
             (file, buffer, count, type, status), tg_mpi_amount(count, type))
#define AT_OFFSET(name, c, N, who)                                                                           \
    TRANSFER(name##c, who, (H file, long long at, void *buffer, N count, H type, void *status),              \
             (file, at, buffer, count, type, status), tg_mpi_amount(count, type))
#define STARTED_AT_POINTER(name, c, N, who)                                                                  \
    STARTED(name##c, who, (H file, void *buffer, N count, H type, void *request),                            \
            (file, buffer, count, type, request))
#define STARTED_AT_OFFSET(name, c, N, who)                                                                   \
    STARTED(name##c, who, (H file, long long at, void *buffer, N count, H type, void *request),              \
            (file, at, buffer, count, type, request))
#define BEGUN_AT_POINTER(name, c, N)                                                                         \
    BEGUN(name##c, (H file, void *buffer, N count, H type), (file, buffer, count, type))
#define BEGUN_AT_OFFSET(name, c, N)                                                                          \
    BEGUN(name##c, (H file, long long at, void *buffer, N count, H type), (file, at, buffer, count, type))

#define DIRECTION(transfer, itransfer, c, N)                                                                 \
    AT_POINTER(transfer, c, N, ALONE)                                                                        \
    AT_POINTER(transfer##_all, c, N, TOGETHER)                                                               \
    AT_OFFSET(transfer##_at, c, N, ALONE)                                                                    \
    AT_OFFSET(transfer##_at_all, c, N, TOGETHER)                                                             \
    AT_POINTER(transfer##_shared, c, N, ALONE)                                                               \
    AT_POINTER(transfer##_ordered, c, N, TOGETHER)                                                           \
    STARTED_AT_POINTER(itransfer, c, N, ALONE)                                                               \
    STARTED_AT_POINTER(itransfer##_all, c, N, TOGETHER)                                                      \
    STARTED_AT_OFFSET(itransfer##_at, c, N, ALONE)                                                           \
    STARTED_AT_OFFSET(itransfer##_at_all, c, N, TOGETHER)                                                    \
    STARTED_AT_POINTER(itransfer##_shared, c, N, ALONE)                                                      \
    BEGUN_AT_POINTER(transfer##_all_begin, c, N)                                                             \
    BEGUN_AT_OFFSET(transfer##_at_all_begin, c, N)                                                           \
    BEGUN_AT_POINTER(transfer##_ordered_begin, c, N)
DIRECTION(File_read, File_iread, , int)
DIRECTION(File_write, File_iwrite, , int)
DIRECTION(File_read, File_iread, _c, long long)
DIRECTION(File_write, File_iwrite, _c, long long)

#define END(name) TRANSFER(name, TOGETHER, (H file, void *buffer, void *status), (file, buffer, status), 0)
END(File_read_all_end)
END(File_read_at_all_end)
END(File_read_ordered_end)
END(File_write_all_end)
END(File_write_at_all_end)
END(File_write_ordered_end)
