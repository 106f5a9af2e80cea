#include "recorder/agent/mpi/library.h"

#include "recorder/agent/agent.h"
#include "recorder/agent/mpi/comm.h"

struct tg_mpi_library tg_mpi;

void *tg_mpi_functions[TG_MPI_CALL_COUNT][2];
static bool is_unknown; /* __atomic: it was said that the library is none of the known ones */

static const char *const names[TG_MPI_CALL_COUNT][2] = {
#define X(name) [TG_MPI_CALL_##name] = {"MPI_" #name, "PMPI_" #name},
    TG_MPI_CALLS(X)
#undef X
};

/* MPI_ERR_OTHER of Open MPI; to every implementation an error. */
static int there_is_none(void)
{
    enum { SOME_ERROR = 16 };
    return SOME_ERROR;
}

/* ---- functions of the library */

static void *look_up(const char *name, void **place)
{
    void *function = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    if (TG_AGENT_UNLIKELY(function == NULL)) {
        function = tg_agent_next(name);
        __atomic_store_n(place, function, __ATOMIC_RELEASE);
    }
    return function;
}

void *tg_mpi_find_next(enum tg_mpi_call call, enum tg_mpi_name name)
{
    void *function = look_up(names[call][name], &tg_mpi_functions[call][name]);
    return function == NULL ? (void *)(uintptr_t)&there_is_none : function;
}

/* NOLINTNEXTLINE(bugprone-macro-parentheses): a parameter list */
#define X(name, parameters, arguments)                                                                       \
    int tg_pmpi_##name parameters                                                                            \
    {                                                                                                        \
        static void *place;                                                                                  \
        int(*function) parameters = (int(*) parameters)(uintptr_t)look_up("PMPI_" #name, &place);            \
        return function == NULL ? there_is_none() : function arguments;                                      \
    }
TG_MPI_SERVICES(X)
#undef X

/* A predefined handle: itself, or what the library's FUNCTION makes of its number. */
static tg_mpi_handle predefined(const char *function, unsigned number)
{
    if (!tg_mpi.abi->pointer_handles)
        return number;
    tg_mpi_handle (*from_number)(int) = (tg_mpi_handle(*)(int))(uintptr_t)tg_agent_next(function);
    return from_number == NULL ? 0 : from_number((int)number);
}

/* ---- which library, and where it stands */

static __attribute__((noinline)) const struct tg_mpi_abi *find_abi(void)
{
    char version[TG_MPI_VERSION_MAX_BYTES + 1] = "";
    int length = 0;
    if (tg_pmpi_Get_library_version(version, &length) != 0)
        return NULL;
    version[TG_MPI_VERSION_MAX_BYTES] = '\0';
    return tg_mpi_abi_of(version);
}

bool tg_mpi_library_is_known(void)
{
    if (TG_AGENT_LIKELY(__atomic_load_n(&tg_mpi.abi, __ATOMIC_ACQUIRE) != NULL))
        return true;
    if (__atomic_load_n(&is_unknown, __ATOMIC_RELAXED))
        return false;
    const struct tg_mpi_abi *abi = find_abi();
    __atomic_store_n(&tg_mpi.abi, abi, __ATOMIC_RELEASE);
    if (abi == NULL && !__atomic_exchange_n(&is_unknown, true, __ATOMIC_RELAXED))
        tg_agent_say(TG_RECORD_ASIDE, "the MPI library is neither Open MPI nor one with MPICH's binary "
                                      "interface: MPI calls are not recorded");
    return abi != NULL;
}

static bool begin_start(void)
{
    unsigned before = TG_MPI_BEFORE;
    return __atomic_compare_exchange_n(&tg_mpi.phase, &before, TG_MPI_STARTING, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_RELAXED);
}

void tg_mpi_library_start(void)
{
    if (!begin_start())
        return;
    const struct tg_mpi_predefined *numbers = &tg_mpi.abi->predefined;
    tg_mpi.world = predefined("PMPI_Comm_f2c", numbers->world);
    tg_mpi.self = predefined("PMPI_Comm_f2c", numbers->self);
    tg_mpi.comm_null = predefined("PMPI_Comm_f2c", numbers->comm_null);
    tg_mpi.request_null = predefined("PMPI_Request_f2c", numbers->request_null);
    tg_mpi.datatype_null = predefined("PMPI_Type_f2c", numbers->datatype_null);
    tg_pmpi_Comm_rank(tg_mpi.world, &tg_mpi.world_rank);
    tg_pmpi_Comm_size(tg_mpi.world, &tg_mpi.world_size);
    __atomic_store_n(&tg_mpi.phase, TG_MPI_RUNNING, __ATOMIC_RELEASE);
    tg_mpi_comm_introduce_world();
}

void tg_mpi_library_stop(void)
{
    __atomic_store_n(&tg_mpi.phase, TG_MPI_OVER, __ATOMIC_RELEASE);
}

bool tg_mpi_library_is_running(void)
{
    unsigned phase = __atomic_load_n(&tg_mpi.phase, __ATOMIC_ACQUIRE);
    if (TG_AGENT_LIKELY(phase != TG_MPI_BEFORE))
        return phase == TG_MPI_RUNNING;
    int initialized = 0, finalized = 0;
    if (tg_pmpi_Initialized(&initialized) != 0 || initialized == 0 || tg_pmpi_Finalized(&finalized) != 0 ||
        finalized != 0)
        return false;
    tg_mpi_library_start();
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
    if (count <= 0 || !tg_mpi_library_is_running())
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
