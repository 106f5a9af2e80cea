/* MPI programs with one mistake each, of four ranks. Where others would wait for ever a timer ends the job.
 *
 * usage: mpi_mistakes WAY [returned]: errors are returned, not fatal */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { ROUNDS = 8, BAD = 2, AT = 5, TAG = 5 };

static int rank, buffer[64];
static double in[16], out[16];

static void reduce(int count)
{
    MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /* the usual call */
}

static void truncate_message(int waits)
{
    MPI_Request request;
    if (rank == 1)
        MPI_Send(buffer, 20, MPI_INT, 0, TAG, MPI_COMM_WORLD); /* the long message */
    if (rank == 0 && waits)
        MPI_Irecv(buffer, 10, MPI_INT, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &request); /* the short request */
    if (rank == 0 && waits)
        MPI_Wait(&request, MPI_STATUS_IGNORE); /* the wait */
    if (rank == 0 && !waits)
        MPI_Recv(buffer, 10, MPI_INT, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* the short receive */
}

/* Anew in each round: a second of processor time, which who waits for a message uses up where processors are idle. Beside
 * other programs Open MPI's ranks leave them nearly all of it, and the second takes minutes: so also some seconds that pass,
 * which no rank is late by; of rank 0 alone, as Open MPI's launcher may stay where several ranks are killed at once. */
static void limit_time(void)
{
    const struct itimerval used = {.it_value.tv_sec = 1}, passed = {.it_value.tv_sec = 5};
    setitimer(ITIMER_PROF, &used, NULL);
    if (rank == 0)
        setitimer(ITIMER_REAL, &passed, NULL);
}

static void one_round(const char *way, int is_odd)
{
    limit_time();
    if (strcmp(way, "bytes") == 0)
        reduce(is_odd ? 9 : 2);
    if (strcmp(way, "bytes") == 0)
        return;
    if (strcmp(way, "skip") != 0 || !is_odd)
        reduce(2);
    if (strcmp(way, "skip") == 0)
        MPI_Allreduce(in, out, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /* the other call */
    if (strcmp(way, "extra") == 0 && is_odd)
        MPI_Bcast(in, 2, MPI_DOUBLE, BAD, MPI_COMM_WORLD); /* the extra call */
}

/* Nothing fails, and the results are wrong, or something is left. */
static void confuse(const char *way)
{
    MPI_Request request;
    if (strcmp(way, "datatypes") == 0)
        MPI_Bcast(in, rank == BAD ? 2 : 4, rank == BAD ? MPI_DOUBLE : MPI_INT, 0,
                  MPI_COMM_WORLD); /* the types */
    if (strcmp(way, "operators") == 0)
        MPI_Allreduce(in, out, 2, MPI_DOUBLE, rank == BAD ? MPI_MAX : MPI_SUM,
                      MPI_COMM_WORLD); /* the operators */
    if (strcmp(way, "retyped") == 0 && rank == 1)
        MPI_Send(buffer, 4, MPI_INT, 0, TAG, MPI_COMM_WORLD);
    if (strcmp(way, "retyped") == 0 && rank == 0)
        MPI_Recv(in, 4, MPI_DOUBLE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* the other type */
    if (strcmp(way, "left") == 0 && rank == 1)
        MPI_Send(buffer, 4, MPI_INT, 0, TAG, MPI_COMM_WORLD); /* the lost message */
    if (strcmp(way, "begun") == 0 && rank == 0)
        MPI_Irecv(buffer, 4, MPI_INT, 1, TAG, MPI_COMM_WORLD, &request); /* the lost request */
    if (strcmp(way, "signal") == 0 && rank == 1)
        raise(SIGUSR2); /* the signal; MPICH has a handler for SIGUSR1 */
}

/* One partition is marked twice, and another one never. */
static void mark_twice(void)
{
#if MPI_VERSION >= 4
    enum { PARTITIONS = 4 };
    MPI_Request request = MPI_REQUEST_NULL;
    if (rank == 0)
        MPI_Psend_init(buffer, PARTITIONS, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    if (rank == 1)
        MPI_Precv_init(buffer, PARTITIONS, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    if (rank > 1)
        return;
    MPI_Start(&request);
    for (int i = 0; i < PARTITIONS && rank == 0; i++)
        MPI_Pready(i == 2 ? 1 : i, request); /* the partition */
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
#endif
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
    MPI_Comm named;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &named);
    MPI_Comm_set_name(named, "rows\tof\033[31m");
    if (argc > 2)
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
    limit_time();
    if (strcmp(way, "receive") == 0)
        truncate_message(0);
    else if (strcmp(way, "wait") == 0)
        truncate_message(1);
    else if (strcmp(way, "rank") == 0 && rank == 0)
        MPI_Send(buffer, 1, MPI_INT, 9, TAG, MPI_COMM_WORLD); /* to nobody */
    else if (strcmp(way, "named") == 0)
        MPI_Bcast(buffer, 1, MPI_INT, rank == BAD ? 1 : 0, named); /* the roots */
    else if (strcmp(way, "marked") == 0)
        mark_twice();
    else if (strchr("dorlbs", way[0]) != NULL && strcmp(way, "bytes") != 0 && strcmp(way, "skip") != 0 &&
             strcmp(way, "rank") != 0)
        confuse(way);
    else if (strcmp(way, "rank") != 0)
        for (int i = 0; i < ROUNDS; i++)
            one_round(way, rank == BAD && i == AT);
    MPI_Finalize();
    return 0;
}
