#include "recorder/agent/mpi/library.h"

#include "recorder/agent/next.h"
#include "recorder/agent/record.h"

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

const char *tg_mpi_call_name(enum tg_mpi_call call)
{
    return names[call][TG_MPI_NAME_MPI];
}

/* ---- which library */

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
        tg_agent_say(TG_RECORD_ASIDE, "the MPI library is neither Open MPI nor compatible with MPICH's ABI: "
                                      "MPI calls are not recorded");
    return abi != NULL;
}
