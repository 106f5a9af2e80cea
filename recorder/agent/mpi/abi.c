#include "recorder/agent/mpi/abi.h"

#include <string.h>

/* Open MPI 1.7 and later: sizes and types of MPI_Status have been the same ever since. */
struct open_mpi_status {
    int source, tag, error;
    int cancelled;
    size_t bytes;
};

static void read_open_mpi_status(const void *status, struct tg_mpi_status *read)
{
    const struct open_mpi_status *from = status;
    *read = (struct tg_mpi_status){.source = from->source,
                                   .tag = from->tag,
                                   .error = from->error,
                                   .bytes = from->bytes,
                                   .cancelled = from->cancelled != 0};
}

/* The interface that MPICH 3.1 and later, and what is made from it, have agreed upon (www.mpich.org/abi). */
struct mpich_status {
    int count_low;
    unsigned count_high_and_cancelled; /* cancelled is the lowest bit */
    int source, tag, error;
};

static void read_mpich_status(const void *status, struct tg_mpi_status *read)
{
    const struct mpich_status *from = status;
    *read = (struct tg_mpi_status){.source = from->source,
                                   .tag = from->tag,
                                   .error = from->error,
                                   .bytes = (uint64_t)(from->count_high_and_cancelled >> 1) << 32 |
                                            (uint32_t)from->count_low,
                                   .cancelled = (from->count_high_and_cancelled & 1) != 0};
}

static const char *const open_mpi_versions[] = {"Open MPI", "IBM Spectrum MPI", NULL};
static const char *const mpich_versions[] = {"MPICH",      "Intel(R) MPI", "MVAPICH",
                                             "CRAY MPICH", "ParaStation",  NULL};

const struct tg_mpi_abi tg_mpi_abis[TG_MPI_ABIS] = {
    {
        .name = "Open MPI",
        .versions = open_mpi_versions,
        .pointer_handles = true,
        .predefined = {.world = 0, .self = 1, .comm_null = 2, .request_null = 0, .datatype_null = 0},
        .any_source = -1,
        .any_tag = -1,
        .proc_null = -2,
        .root = -4,
        .undefined = -32766,
        .err_in_status = 18,
        .err_pending = 19,
        .error_class = -1,
        .combiner_named = 0,
        .ops = {0, TG_MPI_OP_MAX, TG_MPI_OP_MIN, TG_MPI_OP_SUM, TG_MPI_OP_PROD, TG_MPI_OP_LAND,
                TG_MPI_OP_BAND, TG_MPI_OP_LOR, TG_MPI_OP_BOR, TG_MPI_OP_LXOR, TG_MPI_OP_BXOR,
                TG_MPI_OP_MAXLOC, TG_MPI_OP_MINLOC, TG_MPI_OP_REPLACE, TG_MPI_OP_NO_OP, TG_MPI_OP_OWN},
        .topology_cart = 1,
        .topology_graph = 2,
        .topology_dist_graph = 3,
        .in_place = 1,
        .status_ignore = 0,
        .status_bytes = sizeof(struct open_mpi_status),
        .read_status = read_open_mpi_status,
    },
    {
        .name = "MPICH",
        .versions = mpich_versions,
        .predefined = {.world = 0x44000000,
                       .self = 0x44000001,
                       .comm_null = 0x04000000,
                       .request_null = 0x2c000000,
                       .datatype_null = 0x0c000000,
                       .group_null = 0x08000000},
        .any_source = -2,
        .any_tag = -1,
        .proc_null = -1,
        .root = -3,
        .undefined = -32766,
        .err_in_status = 17,
        .err_pending = 18,
        .error_class = 0x7f,
        .combiner_named = 1,
        .ops = {0, TG_MPI_OP_MAX, TG_MPI_OP_MIN, TG_MPI_OP_SUM, TG_MPI_OP_PROD, TG_MPI_OP_LAND,
                TG_MPI_OP_BAND, TG_MPI_OP_LOR, TG_MPI_OP_BOR, TG_MPI_OP_LXOR, TG_MPI_OP_BXOR,
                TG_MPI_OP_MINLOC, TG_MPI_OP_MAXLOC, TG_MPI_OP_REPLACE, TG_MPI_OP_NO_OP, TG_MPI_OP_OWN},
        .topology_cart = 2,
        .topology_graph = 1,
        .topology_dist_graph = 3,
        .in_place = UINTPTR_MAX,
        .status_ignore = 1,
        .status_bytes = sizeof(struct mpich_status),
        .read_status = read_mpich_status,
    },
};

const struct tg_mpi_abi *tg_mpi_abi_of(const char *version)
{
    for (size_t i = 0; i < TG_MPI_ABIS; i++)
        for (const char *const *known = tg_mpi_abis[i].versions; *known != NULL; known++)
            if (strncmp(version, *known, strlen(*known)) == 0)
                return &tg_mpi_abis[i];
    return NULL;
}
