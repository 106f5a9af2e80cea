/* Differences between the binary interfaces of MPI implementations. The agent is built without any mpi.h: it
 * takes handles as words and finds everything else here, chosen when the first MPI call shows which
 * implementation is loaded.
 *
 * To add one:
 *     1. a row in recorder/agent/mpi/abi.c, with values from its mpi.h (TG_MPI_ABIS counts);
 *     2. a build of tests/programs/mpi_abi_check.c with its compiler in tests/e2e/mpi/CMakeLists.txt, which compares
 * the row with that mpi.h;
 *     3. the e2e tests with its launcher, in the same file;
 *     4. where its Fortran library does not call the MPI_ or PMPI_ functions: entry points in recorder/agent/mpi/fortran.c.
 *
 * Thread-safe: constant. */
#ifndef TG_RECORDER_AGENT_MPI_ABI_H
#define TG_RECORDER_AGENT_MPI_ABI_H

#include "recorder/agent/mpi/types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A handle as passed: a pointer, or an int whose upper half in the register is undefined. */
typedef uintptr_t tg_mpi_handle;

enum { TG_MPI_ABI_OPS = 16, TG_MPI_ABIS = 2, TG_MPI_STATUS_MAX_BYTES = 24, TG_MPI_VERSION_MAX_BYTES = 8192 };

/* Facts about a completed receive. */
struct tg_mpi_status {
    int source; /* as the implementation has it */
    int tag;
    int error;
    uint64_t bytes;
    bool cancelled;
};

/* Predefined handles: their values where handles are ints, else the numbers by which the implementation's
 * *_f2c functions know them. */
struct tg_mpi_predefined {
    unsigned world, self, comm_null, request_null, datatype_null, group_null;
};

struct tg_mpi_abi {
    const char *name;
    const char *const *versions; /* how what MPI_Get_library_version says begins; ends with NULL */
    bool pointer_handles;        /* else ints */
    struct tg_mpi_predefined predefined;
    int any_source;
    int any_tag;
    int proc_null;
    int root;
    int undefined;
    int err_in_status;
    int err_pending;
    int error_class; /* bits of an error code that tell its class */
    int combiner_named;
    unsigned char ops
        [TG_MPI_ABI_OPS]; /* enum tg_mpi_op of predefined operators, by the number that MPI_Op_c2f gives, of handles
                              that are ints by its last eight bits */
    int topology_cart;
    int topology_graph;
    int topology_dist_graph;
    uintptr_t in_place;
    uintptr_t status_ignore; /* MPI_STATUSES_IGNORE is the same */
    size_t status_bytes;     /* size of one MPI_Status, at most TG_MPI_STATUS_MAX_BYTES */
    void (*read_status)(const void *status, struct tg_mpi_status *read);
};

extern const struct tg_mpi_abi tg_mpi_abis[TG_MPI_ABIS];

/* The interface of the library that calls itself VERSION; NULL: not known. */
const struct tg_mpi_abi *tg_mpi_abi_of(const char *version);

/* HANDLE without what is undefined in it. */
static inline tg_mpi_handle tg_mpi_abi_handle(const struct tg_mpi_abi *abi, tg_mpi_handle handle)
{
    return abi->pointer_handles ? handle : (uint32_t)handle;
}

/* Element I of an array of handles. */
static inline tg_mpi_handle tg_mpi_abi_handle_at(const struct tg_mpi_abi *abi, const void *handles, size_t i)
{
    return abi->pointer_handles ? ((const uintptr_t *)handles)[i] : ((const uint32_t *)handles)[i];
}

/* Element I of an array of MPI_Status. */
static inline const void *tg_mpi_abi_status_at(const struct tg_mpi_abi *abi, const void *statuses, size_t i)
{
    return (const char *)statuses + i * abi->status_bytes;
}

#endif
