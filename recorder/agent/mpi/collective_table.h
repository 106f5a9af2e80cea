/* The collective operations: X(NAME, INAME, PARAMETERS, ARGUMENTS, ROOT, AMOUNT), where NAME blocks and INAME
 * does not. N is the type of counts, D that of displacements and strides. In the expressions for the root and
 * for the amount that this process sends (receives, where it only does that) PARAMETERS may be used and
 * `object`, the communicator's struct tg_mpi_object. Reductions have the same count on both sides. */
#ifndef TG_RECORDER_AGENT_MPI_COLLECTIVE_TABLE_H
#define TG_RECORDER_AGENT_MPI_COLLECTIVE_TABLE_H

/* clang-format off */
#define H tg_mpi_handle
#define TG_MPI_COLLECTIVES(X, N, D) \
    X(Bcast, Ibcast, (void *buffer, N count, H type, int root, H comm), \
      (buffer, count, type, root, comm), tg_mpi_root(root), \
      is_idle(root) ? 0 : tg_mpi_amount(count, type)) \
    X(Gather, Igather, \
      (const void *sent, N n_sent, H sent_type, void *received, N n_received, H received_type, int root, H comm), \
      (sent, n_sent, sent_type, received, n_received, received_type, root, comm), tg_mpi_root(root), \
      BYTES_TO_ROOT(sent, n_sent, sent_type, n_received, received_type, root)) \
    X(Gatherv, Igatherv, \
      (const void *sent, N n_sent, H sent_type, void *received, const N *n_received, const D *at, H received_type, \
       int root, H comm), \
      (sent, n_sent, sent_type, received, n_received, at, received_type, root, comm), tg_mpi_root(root), \
      BYTES_TO_ROOT(sent, n_sent, sent_type, n_received[object->rank], received_type, root)) \
    X(Scatter, Iscatter, \
      (const void *sent, N n_sent, H sent_type, void *received, N n_received, H received_type, int root, H comm), \
      (sent, n_sent, sent_type, received, n_received, received_type, root, comm), tg_mpi_root(root), \
      BYTES_FROM_ROOT((int64_t)n_sent * others(object), sent_type, received, n_received, received_type, root)) \
    X(Scatterv, Iscatterv, \
      (const void *sent, const N *n_sent, const D *at, H sent_type, void *received, N n_received, H received_type, \
       int root, H comm), \
      (sent, n_sent, at, sent_type, received, n_received, received_type, root, comm), tg_mpi_root(root), \
      BYTES_FROM_ROOT(SUM(n_sent, others(object)), sent_type, received, n_received, received_type, root)) \
    X(Allgather, Iallgather, \
      (const void *sent, N n_sent, H sent_type, void *received, N n_received, H received_type, H comm), \
      (sent, n_sent, sent_type, received, n_received, received_type, comm), TG_MPI_NOTHING, \
      BYTES_OR_IN_PLACE(sent, n_sent, sent_type, n_received, received_type)) \
    X(Allgatherv, Iallgatherv, \
      (const void *sent, N n_sent, H sent_type, void *received, const N *n_received, const D *at, H received_type, \
       H comm), \
      (sent, n_sent, sent_type, received, n_received, at, received_type, comm), TG_MPI_NOTHING, \
      BYTES_OR_IN_PLACE(sent, n_sent, sent_type, n_received[object->rank], received_type)) \
    X(Alltoall, Ialltoall, \
      (const void *sent, N n_sent, H sent_type, void *received, N n_received, H received_type, H comm), \
      (sent, n_sent, sent_type, received, n_received, received_type, comm), TG_MPI_NOTHING, \
      BYTES_OR_IN_PLACE(sent, (int64_t)n_sent * others(object), sent_type, \
                        (int64_t)n_received * others(object), received_type)) \
    X(Alltoallv, Ialltoallv, \
      (const void *sent, const N *n_sent, const D *sent_at, H sent_type, \
       void *received, const N *n_received, const D *at, H received_type, H comm), \
      (sent, n_sent, sent_at, sent_type, received, n_received, at, received_type, comm), TG_MPI_NOTHING, \
      BYTES_OR_IN_PLACE(sent, SUM(n_sent, others(object)), sent_type, \
                        SUM(n_received, others(object)), received_type)) \
    X(Alltoallw, Ialltoallw, \
      (const void *sent, const N *n_sent, const D *sent_at, const void *sent_types, \
       void *received, const N *n_received, const D *at, const void *received_types, H comm), \
      (sent, n_sent, sent_at, sent_types, received, n_received, at, received_types, comm), TG_MPI_NOTHING, \
      is_in_place(sent) ? SUM_TYPES(n_received, received_types, others(object)) \
                        : SUM_TYPES(n_sent, sent_types, others(object))) \
    X(Reduce, Ireduce, (const void *sent, void *received, N count, H type, H op, int root, H comm), \
      (sent, received, count, type, op, root, comm), tg_mpi_root(root), \
      is_idle(root) ? 0 : tg_mpi_reduced(tg_mpi_amount(count, type), op)) \
    X(Allreduce, Iallreduce, (const void *sent, void *received, N count, H type, H op, H comm), \
      (sent, received, count, type, op, comm), TG_MPI_NOTHING, tg_mpi_reduced(tg_mpi_amount(count, type), op)) \
    X(Reduce_scatter, Ireduce_scatter, \
      (const void *sent, void *received, const N *counts, H type, H op, H comm), \
      (sent, received, counts, type, op, comm), TG_MPI_NOTHING, \
      tg_mpi_reduced(tg_mpi_amount(SUM(counts, object->size), type), op)) \
    X(Reduce_scatter_block, Ireduce_scatter_block, \
      (const void *sent, void *received, N count, H type, H op, H comm), \
      (sent, received, count, type, op, comm), TG_MPI_NOTHING, \
      tg_mpi_reduced(tg_mpi_amount((int64_t)count * object->size, type), op)) \
    X(Scan, Iscan, (const void *sent, void *received, N count, H type, H op, H comm), \
      (sent, received, count, type, op, comm), TG_MPI_NOTHING, tg_mpi_reduced(tg_mpi_amount(count, type), op)) \
    X(Exscan, Iexscan, (const void *sent, void *received, N count, H type, H op, H comm), \
      (sent, received, count, type, op, comm), TG_MPI_NOTHING, tg_mpi_reduced(tg_mpi_amount(count, type), op)) \
    X(Neighbor_allgather, Ineighbor_allgather, \
      (const void *sent, N n_sent, H sent_type, void *received, N n_received, H received_type, H comm), \
      (sent, n_sent, sent_type, received, n_received, received_type, comm), TG_MPI_NOTHING, \
      tg_mpi_amount(n_sent, sent_type)) \
    X(Neighbor_allgatherv, Ineighbor_allgatherv, \
      (const void *sent, N n_sent, H sent_type, void *received, const N *n_received, const D *at, H received_type, \
       H comm), \
      (sent, n_sent, sent_type, received, n_received, at, received_type, comm), TG_MPI_NOTHING, \
      tg_mpi_amount(n_sent, sent_type)) \
    X(Neighbor_alltoall, Ineighbor_alltoall, \
      (const void *sent, N n_sent, H sent_type, void *received, N n_received, H received_type, H comm), \
      (sent, n_sent, sent_type, received, n_received, received_type, comm), TG_MPI_NOTHING, \
      tg_mpi_amount((int64_t)n_sent * tg_mpi_comm_neighbours(comm), sent_type)) \
    X(Neighbor_alltoallv, Ineighbor_alltoallv, \
      (const void *sent, const N *n_sent, const D *sent_at, H sent_type, \
       void *received, const N *n_received, const D *at, H received_type, H comm), \
      (sent, n_sent, sent_at, sent_type, received, n_received, at, received_type, comm), TG_MPI_NOTHING, \
      tg_mpi_amount(SUM(n_sent, tg_mpi_comm_neighbours(comm)), sent_type)) \
    X(Neighbor_alltoallw, Ineighbor_alltoallw, \
      (const void *sent, const N *n_sent, const void *sent_at, const void *sent_types, \
       void *received, const N *n_received, const void *at, const void *received_types, H comm), \
      (sent, n_sent, sent_at, sent_types, received, n_received, at, received_types, comm), TG_MPI_NOTHING, \
      SUM_TYPES(n_sent, sent_types, tg_mpi_comm_neighbours(comm)))
/* clang-format on */

#endif
