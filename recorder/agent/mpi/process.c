/* MPI_Init to MPI_Finalize. */
#include "recorder/agent/mpi/comm.h"
#include "recorder/agent/mpi/frame.h"
#include "recorder/agent/mpi/world.h"

enum { SINGLE = 0, MULTIPLE = 3 }; /* MPI_THREAD_*, in both families */

/* Which threads may call MPI from now on: SINGLE to MULTIPLE. */
static int64_t thread_level(void)
{
    int level = TG_MPI_NOTHING;
    return tg_pmpi_Query_thread(&level) == 0 && level >= SINGLE && level <= MULTIPLE ? level : TG_MPI_NOTHING;
}

static int initialized(const struct tg_mpi_frame *frame, int result)
{
    const struct tg_mpi_leave leave = {.peer = TG_MPI_NOTHING,
                                       .tag = result == 0 ? thread_level() : TG_MPI_NOTHING};
    tg_mpi_record_leave(frame, &leave, result);
    if (result == 0) {
        tg_mpi_world_takes_turns(leave.tag >= SINGLE && leave.tag < MULTIPLE);
        tg_mpi_world_start();
        tg_mpi_comm_find_parent();
    }
    return result;
}

TG_MPI_WRAP(Init, (int *argc, char ***argv), (argc, argv))
{
    tg_mpi_enter(frame);
    return initialized(frame, next(argc, argv));
}

TG_MPI_WRAP(Init_thread, (int *argc, char ***argv, int required, int *provided),
            (argc, argv, required, provided))
{
    tg_mpi_enter(frame);
    return initialized(frame, next(argc, argv, required, provided));
}

/* A missing rank matters here as much as at a barrier: MPI_Finalize counts as the last collective call. The
 * library is not asked for anything from here on. */
static int finalize(const struct tg_mpi_frame *frame, int (*next)(void))
{
    struct tg_mpi_object world = {0};
    if (tg_mpi_world_is_running())
        world = tg_mpi_object_of_collective(TG_MPI_OBJECT_COMM, tg_mpi.world);
    tg_mpi_enter_collective(frame, world.id, world.instance, TG_MPI_NOTHING, 0);
    tg_mpi_world_stop();
    int result = next();
    tg_mpi_record_return(frame, result);
    return result;
}

/* TG_MPI_WRAP is for functions that have parameters. */
#define FINALIZE(symbol, which)                                                                              \
    TG_AGENT_EXPORT int symbol(void);                                                                        \
    int symbol(void)                                                                                         \
    {                                                                                                        \
        int (*next)(void) = (int (*)(void))(uintptr_t)tg_mpi_next(TG_MPI_CALL_Finalize, which);              \
        struct tg_mpi_frame frame;                                                                           \
        if (!tg_mpi_frame_begin(&frame, TG_MPI_CALL_Finalize, __builtin_return_address(0),                   \
                                __builtin_frame_address(0)))                                                 \
            return next();                                                                                   \
        int result = finalize(&frame, next);                                                                 \
        tg_mpi_frame_end();                                                                                  \
        return result;                                                                                       \
    }
FINALIZE(MPI_Finalize, TG_MPI_NAME_MPI)
FINALIZE(PMPI_Finalize, TG_MPI_NAME_PMPI)

TG_MPI_WRAP(Session_init, (tg_mpi_handle info, tg_mpi_handle handler, void *session),
            (info, handler, session))
{
    tg_mpi_enter(frame);
    int result = next(info, handler, session);
    tg_mpi_record_return(frame, result);
    if (result == 0) {
        tg_mpi_world_takes_turns(false); /* a session has a level of its own */
        tg_mpi_world_session(tg_mpi_abi_handle_at(tg_mpi.abi, session, 0));
    }
    return result;
}

TG_MPI_WRAP(Session_finalize, (void *session), (session))
{
    tg_mpi_enter(frame);
    tg_mpi_world_session_ends(tg_mpi_abi_handle_at(tg_mpi.abi, session, 0));
    int result = next(session);
    tg_mpi_record_return(frame, result);
    return result;
}

TG_MPI_WRAP(Abort, (tg_mpi_handle comm, int code), (comm, code))
{
    tg_mpi_enter_point(frame, tg_mpi_object_id(TG_MPI_OBJECT_COMM, comm), TG_MPI_NOTHING, code, 0);
    int result = next(comm, code);
    tg_mpi_record_return(frame, result);
    return result;
}
