#include "analyzer/where/mpi_names.h"

#include "analyzer/models/mpi/call.h"

#include <string.h>

/* ---- kinds of calls */

static bool is_one_of(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

#define IS_ONE_OF(name, names) is_one_of(name, names, sizeof(names) / sizeof *(names))

bool tg_mpi_name_is_collective(const char *name)
{
    static const char *const names[] = {
        "MPI_Init",          "MPI_Init_thread",         "MPI_Finalize",        "MPI_Comm_split",
        "MPI_Comm_dup",      "MPI_Comm_dup_with_info",  "MPI_Comm_create",     "MPI_Comm_free",
        "MPI_Comm_spawn",    "MPI_Comm_spawn_multiple", "MPI_Comm_split_type", "MPI_Comm_disconnect",
        "MPI_Cart_create",   "MPI_Dist_graph_create",   "MPI_Graph_create",    "MPI_Intercomm_create",
        "MPI_Cart_sub",      "MPI_Intercomm_merge",     "MPI_Win_create",      "MPI_Win_create_dynamic",
        "MPI_Win_fence",     "MPI_Win_allocate",        "MPI_Win_free",        "MPI_Win_allocate_shared",
        "MPI_File_open",     "MPI_File_close",          "MPI_File_read_all",   "MPI_File_read_at_all",
        "MPI_File_sync",     "MPI_File_set_size",       "MPI_File_write_all",  "MPI_File_write_at_all",
        "MPI_File_set_view", "MPI_Comm_create_group",   "MPI_Comm_accept",     "MPI_Comm_connect",
    };
    static const char *const of_files[] = {"MPI_File_read_ordered", "MPI_File_write_ordered",
                                           "MPI_File_preallocate", "MPI_File_set_atomicity",
                                           "MPI_File_seek_shared"};
    return (tg_mpi_call_role(name, NULL, NULL) == TG_MPI_COLLECTIVE && tg_mpi_call_waits(name)) ||
           IS_ONE_OF(name, names) || IS_ONE_OF(name, of_files);
}

bool tg_mpi_name_ends_early(const char *name)
{
    static const char *const names[] = {"MPI_Bcast",   "MPI_Reduce",   "MPI_Gather", "MPI_Gatherv",
                                        "MPI_Scatter", "MPI_Scatterv", "MPI_Scan",   "MPI_Exscan"};
    return IS_ONE_OF(name, names);
}

bool tg_mpi_name_needs_all(const char *name)
{
    /* in MPI_Finalize a rank sends nothing any more */
    static const char *const names[] = {"MPI_Barrier",     "MPI_Comm_split", "MPI_Comm_dup",
                                        "MPI_Comm_create", "MPI_Win_fence",  "MPI_Finalize"};
    return IS_ONE_OF(name, names);
}

bool tg_mpi_name_exchanges_with_all(const char *name)
{
    static const char *const names[] = {"MPI_Allreduce", "MPI_Allgather", "MPI_Alltoall",
                                        "MPI_Reduce_scatter_block"};
    return IS_ONE_OF(name, names);
}

bool tg_mpi_name_moves_nothing(const char *name)
{
    static const char *const names[] = {"MPI_Barrier",     "MPI_Finalize",  "MPI_Comm_dup", "MPI_Comm_split",
                                        "MPI_Comm_create", "MPI_Comm_free", "MPI_Win_fence"};
    return IS_ONE_OF(name, names);
}

bool tg_mpi_name_waits(const char *name)
{
    static const char *const names[] = {"MPI_Win_wait", "MPI_Win_start", "MPI_Win_complete"};
    return tg_mpi_call_waits(name) || tg_mpi_name_is_collective(name) || IS_ONE_OF(name, names);
}

bool tg_mpi_name_asks(const char *name)
{
    static const char *const names[] = {
        "MPI_Wtime",
        "MPI_Wtick",
        "MPI_Comm_rank",
        "MPI_Comm_size",
        "MPI_Initialized",
        "MPI_Finalized",
        "MPI_Get_count",
        "MPI_Get_elements",
        "MPI_Query_thread",
        "MPI_Is_thread_main",
        "MPI_Iprobe",
        "MPI_Comm_test_inter",
        "MPI_Request_get_status",
    };
    return tg_mpi_call_polls(name) || IS_ONE_OF(name, names);
}

bool tg_mpi_name_receives(const char *name)
{
    static const char *const names[] = {"MPI_Recv", "MPI_Probe", "MPI_Mprobe"};
    return IS_ONE_OF(name, names);
}

bool tg_mpi_name_sends(const char *name)
{
    static const char *const names[] = {"MPI_Send", "MPI_Ssend"};
    return IS_ONE_OF(name, names);
}

bool tg_mpi_name_exchanges(const char *name)
{
    static const char *const names[] = {"MPI_Sendrecv", "MPI_Sendrecv_replace"};
    return IS_ONE_OF(name, names);
}

bool tg_mpi_name_completes(const char *name)
{
    return tg_mpi_call_role(name, NULL, NULL) == TG_MPI_COMPLETION && tg_mpi_call_waits(name);
}
