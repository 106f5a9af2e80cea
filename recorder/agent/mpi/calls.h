/* The MPI calls that the agent observes. "call" of the MPI records is enum tg_mpi_call, so that whatever
 * changes the order here changes TG_AGENT_PROTOCOL.
 *
 * Both sides include this. X(NAME) stands for the function MPI_NAME; the "_c" ones are MPI 4's with large
 * counts. Calls that neither communicate, wait nor make an object to communicate by are left alone. */
#ifndef TG_RECORDER_AGENT_MPI_CALLS_H
#define TG_RECORDER_AGENT_MPI_CALLS_H

/* clang-format off */
#define TG_MPI_PROCESS_CALLS(X)                                                                              \
    X(Init) X(Init_thread) X(Finalize) X(Abort) X(Session_init) X(Session_finalize)

#define TG_MPI_BARRIER_CALLS(X) X(Barrier) X(Ibarrier) X(Barrier_init)

/* Each has a form that blocks, one that does not, and a persistent one. */
#define TG_MPI_COLLECTIVE_CALLS(X)                                                                           \
    X(Bcast) X(Ibcast) X(Bcast_init)                                                                         \
    X(Gather) X(Igather) X(Gather_init)                                                                      \
    X(Gatherv) X(Igatherv) X(Gatherv_init)                                                                   \
    X(Scatter) X(Iscatter) X(Scatter_init)                                                                   \
    X(Scatterv) X(Iscatterv) X(Scatterv_init)                                                                \
    X(Allgather) X(Iallgather) X(Allgather_init)                                                             \
    X(Allgatherv) X(Iallgatherv) X(Allgatherv_init)                                                          \
    X(Alltoall) X(Ialltoall) X(Alltoall_init)                                                                \
    X(Alltoallv) X(Ialltoallv) X(Alltoallv_init)                                                             \
    X(Alltoallw) X(Ialltoallw) X(Alltoallw_init)                                                             \
    X(Reduce) X(Ireduce) X(Reduce_init)                                                                      \
    X(Allreduce) X(Iallreduce) X(Allreduce_init)                                                             \
    X(Reduce_scatter) X(Ireduce_scatter) X(Reduce_scatter_init)                                              \
    X(Reduce_scatter_block) X(Ireduce_scatter_block) X(Reduce_scatter_block_init)                            \
    X(Scan) X(Iscan) X(Scan_init)                                                                            \
    X(Exscan) X(Iexscan) X(Exscan_init)                                                                      \
    X(Neighbor_allgather) X(Ineighbor_allgather) X(Neighbor_allgather_init)                                  \
    X(Neighbor_allgatherv) X(Ineighbor_allgatherv) X(Neighbor_allgatherv_init)                               \
    X(Neighbor_alltoall) X(Ineighbor_alltoall) X(Neighbor_alltoall_init)                                     \
    X(Neighbor_alltoallv) X(Ineighbor_alltoallv) X(Neighbor_alltoallv_init)                                  \
    X(Neighbor_alltoallw) X(Ineighbor_alltoallw) X(Neighbor_alltoallw_init)

#define TG_MPI_POINT_CALLS(X)                                                                                \
    X(Send) X(Isend) X(Send_init)                                                                            \
    X(Bsend) X(Ibsend) X(Bsend_init)                                                                         \
    X(Ssend) X(Issend) X(Ssend_init)                                                                         \
    X(Rsend) X(Irsend) X(Rsend_init)                                                                         \
    X(Recv) X(Irecv) X(Recv_init)                                                                            \
    X(Sendrecv) X(Isendrecv)                                                                                 \
    X(Sendrecv_replace) X(Isendrecv_replace)                                                                 \
    X(Mrecv) X(Imrecv)

#define TG_MPI_PROBE_CALLS(X) X(Probe) X(Iprobe) X(Mprobe) X(Improbe)

#define TG_MPI_REQUEST_CALLS(X)                                                                              \
    X(Start) X(Startall)                                                                                     \
    X(Wait) X(Waitany) X(Waitall) X(Waitsome)                                                                \
    X(Test) X(Testany) X(Testall) X(Testsome)                                                                \
    X(Request_get_status) X(Request_free) X(Cancel)

#define TG_MPI_PARTITIONED_CALLS(X)                                                                          \
    X(Psend_init) X(Precv_init) X(Pready) X(Pready_range) X(Pready_list) X(Parrived)

#define TG_MPI_COMMUNICATOR_CALLS(X)                                                                         \
    X(Comm_dup) X(Comm_dup_with_info) X(Comm_idup) X(Comm_idup_with_info)                                    \
    X(Comm_split) X(Comm_split_type) X(Comm_create) X(Comm_create_group)                                     \
    X(Cart_create) X(Cart_sub) X(Graph_create) X(Dist_graph_create) X(Dist_graph_create_adjacent)            \
    X(Comm_create_from_group) X(Intercomm_create_from_groups)                                                \
    X(Intercomm_create) X(Intercomm_merge)                                                                   \
    X(Comm_spawn) X(Comm_spawn_multiple) X(Comm_get_parent)                                                  \
    X(Comm_connect) X(Comm_accept) X(Comm_join)                                                              \
    X(Comm_disconnect) X(Comm_free)                                                                          \
    X(Comm_set_name) /* gives no MPI_ENTER: names are recorded, not calls for them */

#define TG_MPI_WINDOW_CALLS(X)                                                                               \
    X(Win_create) X(Win_allocate) X(Win_allocate_shared) X(Win_create_dynamic) X(Win_free)                   \
    X(Win_fence) X(Win_start) X(Win_complete) X(Win_post) X(Win_wait) X(Win_test)                            \
    X(Win_lock) X(Win_unlock) X(Win_lock_all) X(Win_unlock_all)                                              \
    X(Win_flush) X(Win_flush_all) X(Win_flush_local) X(Win_flush_local_all)                                  \
    X(Put) X(Get) X(Accumulate) X(Get_accumulate)                                                            \
    X(Rput) X(Rget) X(Raccumulate) X(Rget_accumulate)                                                        \
    X(Fetch_and_op) X(Compare_and_swap)

#define TG_MPI_FILE_CALLS(X)                                                                                 \
    X(File_open) X(File_close) X(File_set_view) X(File_set_size) X(File_preallocate) X(File_sync)            \
    X(File_read) X(File_read_all) X(File_read_at) X(File_read_at_all)                                        \
    X(File_read_shared) X(File_read_ordered)                                                                 \
    X(File_write) X(File_write_all) X(File_write_at) X(File_write_at_all)                                    \
    X(File_write_shared) X(File_write_ordered)                                                               \
    X(File_iread) X(File_iread_all) X(File_iread_at) X(File_iread_at_all) X(File_iread_shared)               \
    X(File_iwrite) X(File_iwrite_all) X(File_iwrite_at) X(File_iwrite_at_all) X(File_iwrite_shared)          \
    X(File_read_all_begin) X(File_read_all_end)                                                              \
    X(File_read_at_all_begin) X(File_read_at_all_end)                                                        \
    X(File_read_ordered_begin) X(File_read_ordered_end)                                                      \
    X(File_write_all_begin) X(File_write_all_end)                                                            \
    X(File_write_at_all_begin) X(File_write_at_all_end)                                                      \
    X(File_write_ordered_begin) X(File_write_ordered_end)

/* Large counts. */
#define TG_MPI_LARGE_CALLS(X)                                                                                \
    X(Bcast_c) X(Ibcast_c) X(Bcast_init_c)                                                                   \
    X(Gather_c) X(Igather_c) X(Gather_init_c)                                                                \
    X(Gatherv_c) X(Igatherv_c) X(Gatherv_init_c)                                                             \
    X(Scatter_c) X(Iscatter_c) X(Scatter_init_c)                                                             \
    X(Scatterv_c) X(Iscatterv_c) X(Scatterv_init_c)                                                          \
    X(Allgather_c) X(Iallgather_c) X(Allgather_init_c)                                                       \
    X(Allgatherv_c) X(Iallgatherv_c) X(Allgatherv_init_c)                                                    \
    X(Alltoall_c) X(Ialltoall_c) X(Alltoall_init_c)                                                          \
    X(Alltoallv_c) X(Ialltoallv_c) X(Alltoallv_init_c)                                                       \
    X(Alltoallw_c) X(Ialltoallw_c) X(Alltoallw_init_c)                                                       \
    X(Reduce_c) X(Ireduce_c) X(Reduce_init_c)                                                                \
    X(Allreduce_c) X(Iallreduce_c) X(Allreduce_init_c)                                                       \
    X(Reduce_scatter_c) X(Ireduce_scatter_c) X(Reduce_scatter_init_c)                                        \
    X(Reduce_scatter_block_c) X(Ireduce_scatter_block_c) X(Reduce_scatter_block_init_c)                      \
    X(Scan_c) X(Iscan_c) X(Scan_init_c)                                                                      \
    X(Exscan_c) X(Iexscan_c) X(Exscan_init_c)                                                                \
    X(Neighbor_allgather_c) X(Ineighbor_allgather_c) X(Neighbor_allgather_init_c)                            \
    X(Neighbor_allgatherv_c) X(Ineighbor_allgatherv_c) X(Neighbor_allgatherv_init_c)                         \
    X(Neighbor_alltoall_c) X(Ineighbor_alltoall_c) X(Neighbor_alltoall_init_c)                               \
    X(Neighbor_alltoallv_c) X(Ineighbor_alltoallv_c) X(Neighbor_alltoallv_init_c)                            \
    X(Neighbor_alltoallw_c) X(Ineighbor_alltoallw_c) X(Neighbor_alltoallw_init_c)                            \
    X(Send_c) X(Isend_c) X(Send_init_c)                                                                      \
    X(Bsend_c) X(Ibsend_c) X(Bsend_init_c)                                                                   \
    X(Ssend_c) X(Issend_c) X(Ssend_init_c)                                                                   \
    X(Rsend_c) X(Irsend_c) X(Rsend_init_c)                                                                   \
    X(Recv_c) X(Irecv_c) X(Recv_init_c)                                                                      \
    X(Sendrecv_c) X(Isendrecv_c)                                                                             \
    X(Sendrecv_replace_c) X(Isendrecv_replace_c)                                                             \
    X(Mrecv_c) X(Imrecv_c)                                                                                   \
    X(Win_create_c) X(Win_allocate_c) X(Win_allocate_shared_c)                                               \
    X(Put_c) X(Get_c) X(Accumulate_c) X(Get_accumulate_c)                                                    \
    X(Rput_c) X(Rget_c) X(Raccumulate_c) X(Rget_accumulate_c)                                                \
    X(File_read_c) X(File_read_all_c) X(File_read_at_c) X(File_read_at_all_c)                                \
    X(File_read_shared_c) X(File_read_ordered_c)                                                             \
    X(File_write_c) X(File_write_all_c) X(File_write_at_c) X(File_write_at_all_c)                            \
    X(File_write_shared_c) X(File_write_ordered_c)                                                           \
    X(File_iread_c) X(File_iread_all_c) X(File_iread_at_c) X(File_iread_at_all_c) X(File_iread_shared_c)     \
    X(File_iwrite_c) X(File_iwrite_all_c) X(File_iwrite_at_c) X(File_iwrite_at_all_c)                        \
    X(File_iwrite_shared_c)                                                                                  \
    X(File_read_all_begin_c) X(File_read_at_all_begin_c) X(File_read_ordered_begin_c)                        \
    X(File_write_all_begin_c) X(File_write_at_all_begin_c) X(File_write_ordered_begin_c)

#define TG_MPI_CALLS(X)                                                                                      \
    TG_MPI_PROCESS_CALLS(X)                                                                                  \
    TG_MPI_BARRIER_CALLS(X)                                                                                  \
    TG_MPI_COLLECTIVE_CALLS(X)                                                                               \
    TG_MPI_POINT_CALLS(X)                                                                                    \
    TG_MPI_PROBE_CALLS(X)                                                                                    \
    TG_MPI_REQUEST_CALLS(X)                                                                                  \
    TG_MPI_PARTITIONED_CALLS(X)                                                                              \
    TG_MPI_COMMUNICATOR_CALLS(X)                                                                             \
    TG_MPI_WINDOW_CALLS(X)                                                                                   \
    TG_MPI_FILE_CALLS(X)                                                                                     \
    TG_MPI_LARGE_CALLS(X)
/* clang-format on */

enum tg_mpi_call { /* from 0, without holes */
#define X(name) TG_MPI_CALL_##name,
                   TG_MPI_CALLS(X)
#undef X
                       TG_MPI_CALL_COUNT,
};

#endif
