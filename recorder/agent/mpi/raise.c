/* Where libraries raise errors, whatever the error handler is, which may end the program: Open MPI in
 * ompi_errhandler_invoke, MPICH (and what is made from it) in MPIR_Err_return_comm and _win. The agent is in front of
 * these as before MPI_ functions. Where a library binds them within itself, what is left are Open MPI's own error handlers
 * (recorder/agent/mpi/handlers.c), and the result of a call that returns (recorder/agent/mpi/frame.c). */
#include "recorder/agent/mpi/raise.h"

#include "recorder/agent/mpi/error.h"
#include "recorder/agent/mpi/frame.h"
#include "recorder/agent/next.h"

#include <stdio.h>
#include <string.h>

/* "MPI_Comm_rank" of what the libraries say: "internal_Comm_rank" in MPICH 4, "MPI_Allreduce: the reduction ..." now
 * and then in Open MPI. */
static void name_call(const char *said, char *name, size_t size)
{
    static const char internal[] = "internal_", letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                                            "abcdefghijklmnopqrstuvwxyz0123456789_";
    const char *function = said == NULL ? "" : said;
    bool is_internal = strncmp(function, internal, sizeof internal - 1) == 0;
    if (is_internal)
        function += sizeof internal - 1;
    else if (strncmp(function, "PMPI_", 5) == 0)
        function++;
    snprintf(name, size, "%s%.*s", is_internal ? "MPI_" : "", (int)strspn(function, letters), function);
}

void tg_mpi_raised(int code, const char *function)
{
    char name[64];
    bool is_in_call = tg_mpi_frame_is_within_call(__builtin_frame_address(0));
    if (code == 0 || (is_in_call && tg_mpi_failure.is_told) || tg_mpi_failure.is_telling ||
        !tg_agent_observes(TG_AGENT_MPI) || !tg_mpi_library_is_known())
        return;
    if (!is_in_call)
        tg_mpi_failure.waiting = NULL; /* of a call that is over, and its memory with it */
    name_call(function, name, sizeof name);
    tg_mpi_error_tell(code, name);
}

static void *find(const char *name, void **place)
{
    void *function = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    if (function == NULL) {
        function = tg_agent_next(name);
        __atomic_store_n(place, function, __ATOMIC_RELEASE);
    }
    return function;
}

TG_AGENT_EXPORT int ompi_errhandler_invoke(void *handler, void *object, int type, int code,
                                           const char *message);
int ompi_errhandler_invoke(void *handler, void *object, int type, int code, const char *message)
{
    static void *place;
    int (*next)(void *, void *, int, int, const char *) =
        (int (*)(void *, void *, int, int, const char *))(uintptr_t)find("ompi_errhandler_invoke", &place);
    tg_mpi_raised(code, message);
    if (next == NULL)
        return code;
    tg_mpi_failure.is_handed_on = true;
    int result = next(handler, object, type, code, message);
    tg_mpi_failure.is_handed_on = false;
    return result;
}

#define MPICH_RAISES(symbol)                                                                                 \
    TG_AGENT_EXPORT int symbol(void *object, const char *function, int code);                                \
    int symbol(void *object, const char *function, int code)                                                 \
    {                                                                                                        \
        static void *place;                                                                                  \
        int (*next)(void *, const char *, int) =                                                             \
            (int (*)(void *, const char *, int))(uintptr_t)find(#symbol, &place);                            \
        tg_mpi_raised(code, function);                                                                       \
        return next == NULL ? code : next(object, function, code);                                           \
    }
MPICH_RAISES(MPIR_Err_return_comm)
MPICH_RAISES(MPIR_Err_return_win)
