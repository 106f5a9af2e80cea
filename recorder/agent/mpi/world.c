#include "recorder/agent/mpi/world.h"

#include "recorder/agent/mpi/library.h"
#include "recorder/agent/mpi/objects.h"
#include "recorder/agent/next.h"
#include "recorder/agent/process.h"

/* A predefined handle: itself, or what the library's FUNCTION makes of its number. */
static tg_mpi_handle predefined(const char *function, unsigned number)
{
    if (!tg_mpi.abi->pointer_handles)
        return number;
    tg_mpi_handle (*from_number)(int) = (tg_mpi_handle(*)(int))(uintptr_t)tg_agent_next(function);
    return from_number == NULL ? 0 : from_number((int)number);
}

static void introduce_world(void)
{
    struct tg_mpi_members members;
    tg_mpi_members_open(&members, tg_mpi.world, false);
    struct tg_mpi_object world = {.id = TG_MPI_WORLD_ID, .rank = members.rank, .size = members.size};
    tg_mpi_objects_add(TG_MPI_OBJECT_COMM, tg_mpi.world, &world, 0, TG_MPI_ORIGIN_WORLD, &members);
    tg_mpi_members_close(&members);

    tg_mpi_members_open(&members, tg_mpi.self, false);
    struct tg_mpi_object self = {.id = tg_mpi_mix(TG_MPI_WORLD_ID, 0, (uint64_t)tg_mpi.world_rank),
                                 .size = 1};
    tg_mpi_objects_add(TG_MPI_OBJECT_COMM, tg_mpi.self, &self, 0, TG_MPI_ORIGIN_SELF, &members);
    tg_mpi_members_close(&members);
}

static bool begin_start(unsigned from)
{
    return __atomic_compare_exchange_n(&tg_mpi.phase, &from, TG_MPI_STARTING, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_RELAXED);
}

static void find_handles(void)
{
    const struct tg_mpi_predefined *numbers = &tg_mpi.abi->predefined;
    tg_mpi.world = predefined("PMPI_Comm_f2c", numbers->world);
    tg_mpi.self = predefined("PMPI_Comm_f2c", numbers->self);
    tg_mpi.comm_null = predefined("PMPI_Comm_f2c", numbers->comm_null);
    tg_mpi.request_null = predefined("PMPI_Request_f2c", numbers->request_null);
    tg_mpi.datatype_null = predefined("PMPI_Type_f2c", numbers->datatype_null);
}

void tg_mpi_world_start(void)
{
    if (!begin_start(TG_MPI_BEFORE) && (tg_mpi.session == 0 || !begin_start(TG_MPI_RUNNING)))
        return;
    tg_mpi.session = 0;
    find_handles();
    tg_pmpi_Comm_rank(tg_mpi.world, &tg_mpi.world_rank);
    tg_pmpi_Comm_size(tg_mpi.world, &tg_mpi.world_size);
    __atomic_store_n(&tg_mpi.phase, TG_MPI_RUNNING, __ATOMIC_RELEASE);
    introduce_world();
}

void tg_mpi_world_session(tg_mpi_handle session)
{
    if (!begin_start(TG_MPI_BEFORE))
        return;
    tg_mpi.session = session;
    find_handles();
    tg_mpi_handle world = tg_mpi_world_group();
    tg_pmpi_Group_rank(world, &tg_mpi.world_rank);
    tg_pmpi_Group_size(world, &tg_mpi.world_size);
    tg_pmpi_Group_free(&world);
    __atomic_store_n(&tg_mpi.phase, TG_MPI_RUNNING, __ATOMIC_RELEASE);
}

/* Another session that is still there is not asked by: what is left is known as before, by MPI_Init or the next
 * session. */
void tg_mpi_world_session_ends(tg_mpi_handle session)
{
    if (tg_mpi.session == 0 || tg_mpi.session != session || !begin_start(TG_MPI_RUNNING))
        return;
    tg_mpi.session = 0;
    __atomic_store_n(&tg_mpi.phase, TG_MPI_BEFORE, __ATOMIC_RELEASE);
}

void tg_mpi_world_stop(void)
{
    __atomic_store_n(&tg_mpi.phase, TG_MPI_OVER, __ATOMIC_RELEASE);
}

bool tg_mpi_world_is_running(void)
{
    unsigned phase = __atomic_load_n(&tg_mpi.phase, __ATOMIC_ACQUIRE);
    if (TG_AGENT_LIKELY(phase != TG_MPI_BEFORE))
        return phase == TG_MPI_RUNNING;
    int initialized = 0, finalized = 0;
    if (tg_pmpi_Initialized(&initialized) != 0 || initialized == 0 || tg_pmpi_Finalized(&finalized) != 0 ||
        finalized != 0)
        return false;
    tg_mpi_world_start();
    return __atomic_load_n(&tg_mpi.phase, __ATOMIC_ACQUIRE) == TG_MPI_RUNNING;
}

/* MPICH's handles of datatypes: the upper two bits say how it is made (0 invalid, 1 builtin), the next four
 * what it is. What is no handle of a datatype is not asked about: its user is about to hear of that. */
static bool is_mpich_datatype(uint32_t handle)
{
    enum { KIND_SHIFT = 26, MASK = 15, DATATYPE = 3, HOW_SHIFT = 30 };
    return (handle >> KIND_SHIFT & MASK) == DATATYPE && handle >> HOW_SHIFT != 0;
}

uint64_t tg_mpi_bytes(int64_t count, tg_mpi_handle type)
{
    if (count <= 0 || !tg_mpi_world_is_running())
        return 0;
    type = tg_mpi_abi_handle(tg_mpi.abi, type);
    if (type == 0 || type == tg_mpi.datatype_null ||
        (!tg_mpi.abi->pointer_handles && !is_mpich_datatype((uint32_t)type)))
        return 0;
    long long size = 0;
    if (tg_pmpi_Type_size_x(type, &size) != 0 || size <= 0)
        return 0;
    return (uint64_t)size * (uint64_t)count;
}
