/* The MPI library that the program uses: which one it is, and the functions behind the agent's own.
 *
 * Of one process one MPI library is observed, the first one that a call is made to. */
#ifndef TG_RECORDER_AGENT_MPI_LIBRARY_H
#define TG_RECORDER_AGENT_MPI_LIBRARY_H

#include "recorder/agent/mpi/abi.h"
#include "recorder/agent/mpi/calls.h"

enum tg_mpi_phase {
    TG_MPI_BEFORE,   /* not initialised, or not that the agent knew */
    TG_MPI_STARTING, /* a thread is finding out what `running` promises */
    TG_MPI_RUNNING,  /* handles may be asked about */
    TG_MPI_OVER,     /* MPI_Finalize was called */
};

struct tg_mpi_library {
    const struct tg_mpi_abi *abi; /* __atomic; NULL: not known yet, or none that is known */
    unsigned phase;               /* __atomic, enum tg_mpi_phase */
    /* while running */
    tg_mpi_handle world, self, comm_null, request_null, datatype_null, group_null;
    int world_rank;
    int world_size;
    bool
        takes_turns; /* __atomic; the program has not been promised that several threads may call MPI at once */
    tg_mpi_handle
        session; /* initialised by this one, without MPI_Init; then WORLD is no communicator. 0: by MPI_Init */
};
extern struct tg_mpi_library tg_mpi;

enum tg_mpi_name { TG_MPI_NAME_MPI, TG_MPI_NAME_PMPI };

/* The definition of MPI_ or PMPI_ CALL behind the agent's: the library's, or that of a tool that is linked in
 * front of it. Where there is none, a function that returns an error: only a program gets there that was
 * linked without MPI, takes a weak reference's address for a sign of it, and has no auditor that hides the
 * agent's names (recorder/agent/audit/entries.h). */
void *tg_mpi_find_next(enum tg_mpi_call call, enum tg_mpi_name name);
extern void *tg_mpi_functions[TG_MPI_CALL_COUNT][2]; /* __atomic; NULL: not looked for yet */

static inline void *tg_mpi_next(enum tg_mpi_call call, enum tg_mpi_name name)
{
    void *function = __atomic_load_n(&tg_mpi_functions[call][name], __ATOMIC_RELAXED);
    return function != NULL ? function : tg_mpi_find_next(call, name);
}

/* "MPI_Send" */
const char *tg_mpi_call_name(enum tg_mpi_call call);

/* Finds out which library it is; false where it is none that the agent knows (which the trace is told). */
bool tg_mpi_library_is_known(void);

/* Functions of the library that are called on the program's behalf, PMPI_NAME as tg_pmpi_NAME. To be called
 * with arguments that cannot be wrong, for MPI would call an error handler of the program. Handles that come
 * back are words: zero them before. */
#define TG_MPI_SERVICES(X)                                                                                   \
    X(Initialized, (int *flag), (flag))                                                                      \
    X(Finalized, (int *flag), (flag))                                                                        \
    X(Query_thread, (int *provided), (provided))                                                             \
    X(Error_class, (int code, int *error_class), (code, error_class))                                        \
    X(Error_string, (int code, char *text, int *length), (code, text, length))                               \
    X(Get_library_version, (char *version, int *length), (version, length))                                  \
    X(Type_size_x, (tg_mpi_handle type, long long *size), (type, size))                                      \
    X(Type_get_name, (tg_mpi_handle type, char *name, int *length), (type, name, length))                    \
    X(Type_get_envelope,                                                                                     \
      (tg_mpi_handle type, int *n_integers, int *n_addresses, int *n_types, int *combiner),                  \
      (type, n_integers, n_addresses, n_types, combiner))                                                    \
    X(Op_c2f, (tg_mpi_handle op), (op))                                                                      \
    X(Comm_rank, (tg_mpi_handle comm, int *rank), (comm, rank))                                              \
    X(Comm_size, (tg_mpi_handle comm, int *size), (comm, size))                                              \
    X(Comm_remote_size, (tg_mpi_handle comm, int *size), (comm, size))                                       \
    X(Comm_test_inter, (tg_mpi_handle comm, int *flag), (comm, flag))                                        \
    X(Comm_get_parent, (tg_mpi_handle * parent), (parent))                                                   \
    X(Win_get_group, (tg_mpi_handle window, tg_mpi_handle * group), (window, group))                         \
    X(Comm_group, (tg_mpi_handle comm, tg_mpi_handle * group), (comm, group))                                \
    X(Comm_remote_group, (tg_mpi_handle comm, tg_mpi_handle * group), (comm, group))                         \
    X(Group_size, (tg_mpi_handle group, int *size), (group, size))                                           \
    X(Group_rank, (tg_mpi_handle group, int *rank), (group, rank))                                           \
    X(Group_translate_ranks,                                                                                 \
      (tg_mpi_handle from, int count, const int *ranks, tg_mpi_handle to, int *translated),                  \
      (from, count, ranks, to, translated))                                                                  \
    X(Group_from_session_pset, (tg_mpi_handle session, const char *name, tg_mpi_handle *group),              \
      (session, name, group))                                                                                \
    X(Group_free, (tg_mpi_handle * group), (group))                                                          \
    X(Topo_test, (tg_mpi_handle comm, int *topology), (comm, topology))                                      \
    X(Cartdim_get, (tg_mpi_handle comm, int *dimensions), (comm, dimensions))                                \
    X(Graph_neighbors_count, (tg_mpi_handle comm, int rank, int *count), (comm, rank, count))                \
    X(Dist_graph_neighbors_count, (tg_mpi_handle comm, int *in, int *out, int *weighted),                    \
      (comm, in, out, weighted))

#define X(name, parameters, arguments) int tg_pmpi_##name parameters;
TG_MPI_SERVICES(X)
#undef X

#endif
