/* A PMPI tool: counts calls and bytes, and says so in MPI_Finalize, in the order of the ranks. Linked into
 * the program, in front of the MPI library, or preloaded. */
#include <mpi.h>
#include <stdio.h>

static int sends, receives, barriers, allreduces;
static long bytes;

int MPI_Send(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    int size;
    PMPI_Type_size(type, &size);
    sends++;
    bytes += (long)size * count;
    return PMPI_Send(buffer, count, type, to, tag, comm);
}

/* A tool may ask what the program did not: here for the status that the program ignores. */
int MPI_Recv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status)
{
    MPI_Status own;
    int n,
        result = PMPI_Recv(buffer, count, type, from, tag, comm, status == MPI_STATUS_IGNORE ? &own : status);
    PMPI_Get_count(status == MPI_STATUS_IGNORE ? &own : status, MPI_BYTE, &n);
    receives++;
    bytes += n;
    return result;
}

/* As two calls: one thing to the program, another to the library. */
int MPI_Barrier(MPI_Comm comm)
{
    int one = 1, all = 0;
    barriers++;
    PMPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, comm);
    return PMPI_Barrier(comm);
}

int MPI_Allreduce(const void *sent, void *received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    allreduces++;
    return PMPI_Allreduce(sent, received, count, type, op, comm);
}

int MPI_Finalize(void)
{
    int rank, size;
    long own[5] = {sends, receives, barriers, allreduces, bytes}, all[5 * 64];
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    PMPI_Gather(own, 5, MPI_LONG, all, 5, MPI_LONG, 0, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < size; i++)
        printf("rank %d: %ld sends, %ld receives, %ld barriers, %ld allreduces, %ld bytes\n", i, all[5 * i],
               all[5 * i + 1], all[5 * i + 2], all[5 * i + 3], all[5 * i + 4]);
    fflush(stdout);
    return PMPI_Finalize();
}
