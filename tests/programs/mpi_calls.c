/* Uses MPI in every way that is recorded, and logs into calls.RANK what it does, as a trace has it:
 *
 *     enter call=MPI_Send function=NAME comm=NAME instance=N peer=N tag=N root=N bytes=N
 *     complete peer=N tag=N bytes=N cancelled=N
 *     leave peer=N tag=N bytes=N                   (poll=1: a poll, which may have been made in vain before)
 *     comm name=NAME parent=NAME origin=WORD rank=N size=N members=N,N,...
 *     free name=NAME
 *     partitions ranges=N-N,N-N,...                (of the last enter)
 *
 * Meant for four processes. usage: mpi_calls [FAMILY...] */
#include <assert.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NONE = -3, ANY = -1, NOBODY = -2, MAX_NAMES = 64, SIZE = 4 };

static FILE *log_file;
static int rank, next_rank, previous_rank;
static MPI_Comm world;

/* ---- the log */

struct expected {
    const char *comm;
    int instance, peer, tag, root, bytes; /* at the entry */
    int from, from_tag, received;         /* at the end */
    int n_complete, is_poll;
    struct {
        int peer, tag, bytes, cancelled;
    } complete[8];
};

/* How many collective calls there were on each name. */
static struct {
    const char *name;
    int count;
} collectives[MAX_NAMES];

static int next_instance(const char *name)
{
    for (int i = 0; i < MAX_NAMES; i++) {
        if (collectives[i].name == NULL)
            collectives[i].name = name;
        if (strcmp(collectives[i].name, name) == 0)
            return ++collectives[i].count;
    }
    abort();
}

static void log_call(const char *function, const char *call, const struct expected *e)
{
    fprintf(log_file, "enter call=%.*s function=%s comm=%s instance=%d peer=%d tag=%d root=%d bytes=%d\n",
            (int)strcspn(call, "("), call, function, e->comm == NULL ? "-" : e->comm, e->instance, e->peer,
            e->tag, e->root, e->bytes);
    for (int i = 0; i < e->n_complete; i++)
        fprintf(log_file, "complete peer=%d tag=%d bytes=%d cancelled=%d\n", e->complete[i].peer,
                e->complete[i].tag, e->complete[i].bytes, e->complete[i].cancelled);
    fprintf(log_file, "leave peer=%d tag=%d bytes=%d poll=%d\n", e->from, e->from_tag, e->received,
            e->is_poll);
    fflush(log_file);
}

static void require(int result, int line)
{
    if (result != MPI_SUCCESS) {
        fprintf(stderr, "line %d: error %d\n", line, result);
        abort();
    }
}

#define LOG(call, ...)                                                                                       \
    do {                                                                                                     \
        _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Woverride-init\"")                 \
            const struct expected e_ = {                                                                     \
                .peer = NONE, .tag = NONE, .root = NONE, .from = NONE, .from_tag = NONE, __VA_ARGS__};       \
        _Pragma("GCC diagnostic pop") log_call(__func__, call, &e_);                                         \
    } while (0)
#define DO(call, ...)                                                                                        \
    do {                                                                                                     \
        require(call, __LINE__);                                                                             \
        LOG(#call, __VA_ARGS__);                                                                             \
    } while (0)
/* A collective call on NAME. */
#define ALL(call, name, ...) DO(call, .comm = name, .instance = next_instance(name), __VA_ARGS__)
#define POLL(call, flag, ...)                                                                                \
    do {                                                                                                     \
        do                                                                                                   \
            require(call, __LINE__);                                                                         \
        while (!(flag));                                                                                     \
        LOG(#call, .is_poll = 1, __VA_ARGS__);                                                               \
    } while (0)
#define COMPLETE(...) .n_complete = 1, .complete = {{__VA_ARGS__}}
#define DONE                                                                                                 \
    {                                                                                                        \
        NONE, NONE, 0, 0                                                                                     \
    }

/* GROUP is logged by its world ranks. */
static void log_members(const char *name, const char *parent, const char *origin, MPI_Group group)
{
    MPI_Group world_group;
    int n, own;
    MPI_Comm_group(MPI_COMM_WORLD, &world_group);
    MPI_Group_size(group, &n);
    MPI_Group_rank(group, &own);
    fprintf(log_file, "comm name=%s parent=%s origin=%s rank=%d size=%d members=", name, parent, origin, own,
            n);
    for (int i = 0; i < n; i++) {
        int there;
        MPI_Group_translate_ranks(group, 1, &i, world_group, &there);
        fprintf(log_file, "%s%d", i == 0 ? "" : ",", there == MPI_UNDEFINED ? -1 : there);
    }
    fprintf(log_file, "\n");
    MPI_Group_free(&world_group);
}

static void log_comm(const char *name, const char *parent, const char *origin, MPI_Comm comm)
{
    MPI_Group group;
    if (comm == MPI_COMM_NULL)
        return;
    MPI_Comm_group(comm, &group);
    log_members(name, parent, origin, group);
    MPI_Group_free(&group);
}

static void free_comm(MPI_Comm *comm, const char *name)
{
    ALL(MPI_Comm_free(comm), name);
    fprintf(log_file, "free name=%s\n", name);
}

/* ---- families */

static void point_to_point(void)
{
    char sent[64] = "", received[64];
    char *buffer = malloc(1000 + MPI_BSEND_OVERHEAD);
    MPI_Status status;
    MPI_Request request;
    MPI_Message message;
    int flag, size, other = rank ^ 1;

    MPI_Buffer_attach(buffer, 1000 + MPI_BSEND_OVERHEAD);
    DO(MPI_Irecv(received, 64, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &request), .comm = "dup",
       .peer = ANY, .tag = ANY, .bytes = 64);
    DO(MPI_Send(sent, 3, MPI_INT, other, 10 + rank, world), .comm = "dup", .peer = other, .tag = 10 + rank,
       .bytes = 12);
    DO(MPI_Wait(&request, MPI_STATUS_IGNORE), COMPLETE(other, 10 + other, 12, 0));
    ALL(MPI_Barrier(world), "dup"); /* or a neighbour's later message would be received there */
    if (rank % 2 == 0) {
        DO(MPI_Ssend(sent, 1, MPI_DOUBLE, other, 1, world), .comm = "dup", .peer = other, .tag = 1,
           .bytes = 8);
        DO(MPI_Bsend(sent, 5, MPI_CHAR, other, 2, world), .comm = "dup", .peer = other, .tag = 2, .bytes = 5);
        DO(MPI_Recv(received, 64, MPI_BYTE, other, 3, world, MPI_STATUS_IGNORE), .comm = "dup", .peer = other,
           .tag = 3, .bytes = 64, .from = other, .from_tag = 3);
        DO(MPI_Rsend(sent, 2, MPI_INT, other, 4, world), .comm = "dup", .peer = other, .tag = 4, .bytes = 8);
        for (int i = 0; i < 3; i++)
            DO(MPI_Send(sent, i + 1, MPI_INT, other, 20 + i, world), .comm = "dup", .peer = other,
               .tag = 20 + i, .bytes = 4 * (i + 1));
        DO(MPI_Send(sent, 4, MPI_INT, other, 23, world), .comm = "dup", .peer = other, .tag = 23,
           .bytes = 16);
    } else {
        DO(MPI_Recv(received, 8, MPI_DOUBLE, MPI_ANY_SOURCE, 1, world, &status), .comm = "dup", .peer = ANY,
           .tag = 1, .bytes = 64, .from = other, .from_tag = 1, .received = 8);
        assert(status.MPI_SOURCE == other && status.MPI_TAG == 1);
        DO(MPI_Recv(received, 64, MPI_BYTE, other, MPI_ANY_TAG, world, MPI_STATUS_IGNORE), .comm = "dup",
           .peer = other, .tag = ANY, .bytes = 64, .from = other, .from_tag = 2, .received = 5);
        DO(MPI_Irecv(received, 2, MPI_INT, other, 4, world, &request), .comm = "dup", .peer = other, .tag = 4,
           .bytes = 8);
        DO(MPI_Send(sent, 0, MPI_INT, other, 3, world), .comm = "dup", .peer = other, .tag = 3);
        POLL(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), flag, COMPLETE(other, 4, 8, 0));
        DO(MPI_Probe(other, 20, world, &status), .comm = "dup", .peer = other, .tag = 20, .from = other,
           .from_tag = 20, .received = 4);
        DO(MPI_Recv(received, 1, MPI_INT, other, 20, world, &status), .comm = "dup", .peer = other, .tag = 20,
           .bytes = 4, .from = other, .from_tag = 20, .received = 4);
        POLL(MPI_Iprobe(MPI_ANY_SOURCE, 21, world, &flag, MPI_STATUS_IGNORE), flag, .comm = "dup",
             .peer = ANY, .tag = 21, .from = other, .from_tag = 21, .received = 8);
        DO(MPI_Mprobe(other, 21, world, &message, &status), .comm = "dup", .peer = other, .tag = 21,
           .from = other, .from_tag = 21, .received = 8);
        DO(MPI_Mrecv(received, 2, MPI_INT, &message, MPI_STATUS_IGNORE), .comm = "dup", .bytes = 8,
           .from = other, .from_tag = 21, .received = 8);
        POLL(MPI_Improbe(other, MPI_ANY_TAG, world, &flag, &message, &status), flag, .comm = "dup",
             .peer = other, .tag = ANY, .from = other, .from_tag = 22, .received = 12);
        DO(MPI_Imrecv(received, 3, MPI_INT, &message, &request), .comm = "dup", .bytes = 12);
        DO(MPI_Wait(&request, &status), COMPLETE(other, 22, 12, 0));
        DO(MPI_Recv(received, 16, MPI_INT, other, 23, world, MPI_STATUS_IGNORE), .comm = "dup", .peer = other,
           .tag = 23, .bytes = 64, .from = other, .from_tag = 23, .received = 16);
    }
    DO(MPI_Sendrecv(sent, 1, MPI_INT, next_rank, 5, received, 64, MPI_BYTE, previous_rank, 5, world,
                    MPI_STATUS_IGNORE),
       .comm = "dup", .peer = next_rank, .tag = 5, .bytes = 4, .from = previous_rank, .from_tag = 5,
       .received = 4);
    DO(MPI_Sendrecv_replace(sent, 6, MPI_CHAR, next_rank, 6, MPI_ANY_SOURCE, 6, world, &status),
       .comm = "dup", .peer = next_rank, .tag = 6, .bytes = 6, .from = previous_rank, .from_tag = 6,
       .received = 6);
    DO(MPI_Send(sent, 1, MPI_INT, MPI_PROC_NULL, 7, world), .comm = "dup", .peer = NOBODY, .tag = 7,
       .bytes = 4);
    DO(MPI_Recv(received, 1, MPI_INT, MPI_PROC_NULL, 7, world, &status), .comm = "dup", .peer = NOBODY,
       .tag = 7, .bytes = 4, .from = NOBODY, .from_tag = ANY);
    request = MPI_REQUEST_NULL;
    DO(MPI_Wait(&request, MPI_STATUS_IGNORE));
    DO(MPI_Ibsend(sent, 2, MPI_INT, rank, 8, world, &request), .comm = "dup", .peer = rank, .tag = 8,
       .bytes = 8);
    DO(MPI_Recv(received, 2, MPI_INT, rank, 8, world, MPI_STATUS_IGNORE), .comm = "dup", .peer = rank,
       .tag = 8, .bytes = 8, .from = rank, .from_tag = 8, .received = 8);
    DO(MPI_Wait(&request, MPI_STATUS_IGNORE), .n_complete = 1, .complete = {DONE});
    MPI_Buffer_detach(&buffer, &size);
    free(buffer);
}

static void requests(void)
{
    enum { MANY = 200 };
    static int sent[MANY], received[MANY];
    static MPI_Request all[2 * MANY];
    static MPI_Status statuses[2 * MANY];
    MPI_Request some[4], one;
    MPI_Status status;
    int index, flag, n, indices[4];

    /* one, any, some, all of them; without interest in the statuses and with */
    for (int i = 0; i < 2; i++)
        DO(MPI_Irecv(&received[i], 1, MPI_INT, previous_rank, i, world, &some[i]), .comm = "dup",
           .peer = previous_rank, .tag = i, .bytes = 4);
    DO(MPI_Issend(sent, 1, MPI_INT, next_rank, 0, world, &some[2]), .comm = "dup", .peer = next_rank,
       .tag = 0, .bytes = 4);
    DO(MPI_Isend(sent, 0, MPI_INT, next_rank, 1, world, &some[3]), .comm = "dup", .peer = next_rank,
       .tag = 1);
    DO(MPI_Waitany(1, some, &index, MPI_STATUS_IGNORE), COMPLETE(previous_rank, 0, 4, 0));
    assert(index == 0 && some[0] == MPI_REQUEST_NULL);
    DO(MPI_Waitall(4, some, MPI_STATUSES_IGNORE), .n_complete = 3,
       .complete = {{previous_rank, 1, 0, 0}, DONE, DONE});

    DO(MPI_Irecv(received, 1, MPI_INT, previous_rank, 8, world, &some[0]), .comm = "dup",
       .peer = previous_rank, .tag = 8, .bytes = 4);
    DO(MPI_Barrier(world), .comm = "dup", .instance = next_instance("dup"));
    DO(MPI_Irsend(sent, 1, MPI_INT, next_rank, 8, world, &some[1]), .comm = "dup", .peer = next_rank,
       .tag = 8, .bytes = 4);
    DO(MPI_Wait(&some[1], &status), .n_complete = 1, .complete = {DONE});
    some[1] = MPI_REQUEST_NULL;
    DO(MPI_Waitsome(2, some, &n, indices, statuses), COMPLETE(previous_rank, 8, 4, 0));
    assert(n == 1 && indices[0] == 0 && statuses[0].MPI_SOURCE == previous_rank && statuses[0].MPI_TAG == 8);
    DO(MPI_Waitsome(2, some, &n, indices, MPI_STATUSES_IGNORE));
    assert(n == MPI_UNDEFINED);

    /* polls */
    DO(MPI_Irecv(received, 1, MPI_INT, previous_rank, 9, world, &some[0]), .comm = "dup",
       .peer = previous_rank, .tag = 9, .bytes = 4);
    DO(MPI_Send(sent, 1, MPI_INT, next_rank, 9, world), .comm = "dup", .peer = next_rank, .tag = 9,
       .bytes = 4);
    POLL(MPI_Request_get_status(some[0], &flag, MPI_STATUS_IGNORE), flag);
    POLL(MPI_Testany(1, some, &index, &flag, &status), flag, COMPLETE(previous_rank, 9, 4, 0));
    DO(MPI_Irecv(received, 1, MPI_INT, previous_rank, 10, world, &some[0]), .comm = "dup",
       .peer = previous_rank, .tag = 10, .bytes = 4);
    DO(MPI_Irecv(received + 1, 1, MPI_INT, previous_rank, 11, world, &some[1]), .comm = "dup",
       .peer = previous_rank, .tag = 11, .bytes = 4);
    DO(MPI_Send(sent, 1, MPI_INT, next_rank, 10, world), .comm = "dup", .peer = next_rank, .tag = 10,
       .bytes = 4);
    DO(MPI_Send(sent, 1, MPI_INT, next_rank, 11, world), .comm = "dup", .peer = next_rank, .tag = 11,
       .bytes = 4);
    POLL(MPI_Testall(2, some, &flag, MPI_STATUSES_IGNORE), flag, .n_complete = 2,
         .complete = {{previous_rank, 10, 4, 0}, {previous_rank, 11, 4, 0}});
    DO(MPI_Irecv(received, 1, MPI_INT, previous_rank, 12, world, &some[0]), .comm = "dup",
       .peer = previous_rank, .tag = 12, .bytes = 4);
    DO(MPI_Send(sent, 1, MPI_INT, next_rank, 12, world), .comm = "dup", .peer = next_rank, .tag = 12,
       .bytes = 4);
    POLL(MPI_Testsome(1, some, &n, indices, statuses), n != 0, COMPLETE(previous_rank, 12, 4, 0));

    /* more than fit on a stack */
    for (int i = 0; i < MANY; i++)
        DO(MPI_Irecv(&received[i], 1, MPI_INT, previous_rank, 100 + i, world, &all[i]), .comm = "dup",
           .peer = previous_rank, .tag = 100 + i, .bytes = 4);
    for (int i = 0; i < MANY; i++)
        DO(MPI_Isend(&sent[i], 1, MPI_INT, next_rank, 100 + i, world, &all[MANY + i]), .comm = "dup",
           .peer = next_rank, .tag = 100 + i, .bytes = 4);
    MPI_Waitall(2 * MANY, all, MPI_STATUSES_IGNORE);
    fprintf(log_file,
            "enter call=MPI_Waitall function=requests comm=- instance=0 peer=-3 tag=-3 root=-3 bytes=0\n");
    for (int i = 0; i < MANY; i++)
        fprintf(log_file, "complete peer=%d tag=%d bytes=4 cancelled=0\n", previous_rank, 100 + i);
    for (int i = 0; i < MANY; i++)
        fprintf(log_file, "complete peer=-3 tag=-3 bytes=0 cancelled=0\n");
    fprintf(log_file, "leave peer=-3 tag=-3 bytes=0 poll=0\n");

    /* persistent */
    DO(MPI_Recv_init(received, 4, MPI_INT, previous_rank, 30, world, &some[0]), .comm = "dup",
       .peer = previous_rank, .tag = 30, .bytes = 16);
    DO(MPI_Send_init(sent, 2, MPI_INT, next_rank, 30, world, &some[1]), .comm = "dup", .peer = next_rank,
       .tag = 30, .bytes = 8);
    DO(MPI_Wait(&some[0], &status)); /* not active */
    for (int i = 0; i < 3; i++) {
        DO(MPI_Start(&some[0]));
        DO(MPI_Start(&some[1]));
        DO(MPI_Waitall(2, some, MPI_STATUSES_IGNORE), .n_complete = 2,
           .complete = {{previous_rank, 30, 8, 0}, DONE});
    }
    MPI_Startall(2, some);
    for (int i = 0; i < 2; i++)
        fprintf(log_file, "enter call=MPI_Startall function=requests comm=- instance=0 peer=-3 tag=-3 "
                          "root=-3 bytes=0\nleave peer=-3 tag=-3 bytes=0 poll=0\n");
    DO(MPI_Waitall(2, some, statuses), .n_complete = 2, .complete = {{previous_rank, 30, 8, 0}, DONE});
    DO(MPI_Request_free(&some[0]));
    DO(MPI_Request_free(&some[1]));
    DO(MPI_Ssend_init(sent, 1, MPI_INT, next_rank, 31, world, &some[0]), .comm = "dup", .peer = next_rank,
       .tag = 31, .bytes = 4);
    DO(MPI_Request_free(&some[0]));

    /* cancelled */
    DO(MPI_Irecv(received, 1, MPI_INT, previous_rank, 999, world, &one), .comm = "dup", .peer = previous_rank,
       .tag = 999, .bytes = 4);
    DO(MPI_Cancel(&one));
    DO(MPI_Wait(&one, &status), COMPLETE(NONE, NONE, 0, 1));
    MPI_Test_cancelled(&status, &flag);
    assert(flag);
}

#if MPI_VERSION >= 4
static void log_partitions(const char *ranges)
{
    fprintf(log_file, "partitions ranges=%s\n", ranges);
}

static void partitioned(void)
{
    enum { PARTS = 6, EACH = 2, TIMES = 3 };
    static int sent[EACH * PARTS], received[EACH * PARTS], last_two[] = {5, 3};
    MPI_Request both[2];
    int flag;

    DO(MPI_Psend_init(sent, PARTS, EACH, MPI_INT, next_rank, 40, world, MPI_INFO_NULL, &both[0]),
       .comm = "dup", .peer = next_rank, .tag = 40, .bytes = sizeof sent);
    log_partitions("0-5");
    DO(MPI_Precv_init(received, PARTS, EACH, MPI_INT, previous_rank, 40, world, MPI_INFO_NULL, &both[1]),
       .comm = "dup", .peer = previous_rank, .tag = 40, .bytes = sizeof received);
    log_partitions("0-5");
    for (int time = 0; time < TIMES; time++) {
        for (int i = 0; i < EACH * PARTS; i++)
            sent[i] = 100 * rank + i + time;
        DO(MPI_Start(&both[1]));
        DO(MPI_Start(&both[0]));
        DO(MPI_Pready(4, both[0]), .tag = 4);
        DO(MPI_Pready_range(0, 2, both[0]));
        log_partitions("0-2");
        DO(MPI_Pready_list(2, last_two, both[0]));
        log_partitions("5-5,3-3");
        POLL(MPI_Parrived(both[1], 1, &flag), flag, .tag = 1);
        DO(MPI_Waitall(2, both, MPI_STATUSES_IGNORE), .n_complete = 2,
           .complete = {DONE, {previous_rank, 40, sizeof received, 0}});
        assert(received[EACH * PARTS - 1] == 100 * previous_rank + EACH * PARTS - 1 + time);
    }
    DO(MPI_Request_free(&both[0]));
    DO(MPI_Request_free(&both[1]));
}
#endif

static void collective(void)
{
    static double in[64], out[64];
    int one[SIZE] = {1, 1, 1, 1}, counts[SIZE] = {1, 2, 3, 4}, at[SIZE] = {0, 1, 3, 6}, zeros[SIZE] = {0};
    MPI_Datatype types[SIZE] = {MPI_INT, MPI_INT, MPI_INT, MPI_INT}, pair;
    MPI_Type_contiguous(2, MPI_DOUBLE, &pair);
    MPI_Type_commit(&pair);

    ALL(MPI_Barrier(MPI_COMM_WORLD), "world");
    ALL(MPI_Bcast(in, 3, pair, 2, world), "dup", .root = 2, .bytes = 48);
    ALL(MPI_Gather(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, 1, world), "dup", .root = 1, .bytes = 8);
    if (rank == 1)
        ALL(MPI_Gather(MPI_IN_PLACE, -7, MPI_DATATYPE_NULL, out, 2, MPI_DOUBLE, 1, world), "dup", .root = 1,
            .bytes = 16);
    else
        ALL(MPI_Gather(in, 2, MPI_DOUBLE, NULL, -7, MPI_DATATYPE_NULL, 1, world), "dup", .root = 1,
            .bytes = 16);
    ALL(MPI_Gatherv(in, rank + 1, MPI_DOUBLE, out, counts, at, MPI_DOUBLE, 0, world), "dup", .root = 0,
        .bytes = 8 * (rank + 1));
    ALL(MPI_Scatter(in, 2, MPI_INT, out, 2, MPI_INT, 3, world), "dup", .root = 3,
        .bytes = rank == 3 ? 32 : 8);
    ALL(MPI_Scatterv(in, counts, at, MPI_INT, out, rank + 1, MPI_INT, 3, world), "dup", .root = 3,
        .bytes = rank == 3 ? 40 : 4 * (rank + 1));
    ALL(MPI_Allgather(in, 1, MPI_INT, out, 1, MPI_INT, world), "dup", .bytes = 4);
    ALL(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, 1, MPI_INT, world), "dup", .bytes = 4);
    ALL(MPI_Allgatherv(in, rank + 1, MPI_INT, out, counts, at, MPI_INT, world), "dup",
        .bytes = 4 * (rank + 1));
    ALL(MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, counts, at, MPI_INT, world), "dup",
        .bytes = 4 * (rank + 1));
    ALL(MPI_Alltoall(in, 2, MPI_INT, out, 2, MPI_INT, world), "dup", .bytes = 32);
    ALL(MPI_Alltoallv(in, one, at, MPI_INT, out, one, at, MPI_INT, world), "dup", .bytes = 16);
    ALL(MPI_Alltoallw(in, one, zeros, types, out, one, zeros, types, world), "dup", .bytes = 16);
    ALL(MPI_Reduce(in, out, 3, MPI_DOUBLE, MPI_SUM, 2, world), "dup", .root = 2, .bytes = 24);
    ALL(MPI_Allreduce(MPI_IN_PLACE, out, 3, MPI_DOUBLE, MPI_SUM, world), "dup", .bytes = 24);
    ALL(MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, world), "dup", .bytes = 40);
    ALL(MPI_Reduce_scatter_block(in, out, 2, MPI_INT, MPI_SUM, world), "dup", .bytes = 32);
    ALL(MPI_Scan(in, out, 1, MPI_DOUBLE, MPI_SUM, world), "dup", .bytes = 8);
    ALL(MPI_Exscan(in, out, 1, MPI_DOUBLE, MPI_SUM, world), "dup", .bytes = 8);
    MPI_Type_free(&pair);
}

static void nonblocking_collective(void)
{
    static double in[64], out[64];
    int one[SIZE] = {1, 1, 1, 1}, counts[SIZE] = {1, 2, 3, 4}, at[SIZE] = {0, 1, 3, 6}, zeros[SIZE] = {0};
    MPI_Datatype types[SIZE] = {MPI_INT, MPI_INT, MPI_INT, MPI_INT};
    MPI_Request request;
#define START(call, ...)                                                                                     \
    do {                                                                                                     \
        ALL(call, "dup", __VA_ARGS__);                                                                       \
        DO(MPI_Wait(&request, MPI_STATUS_IGNORE), .n_complete = 1, .complete = {DONE});                      \
    } while (0)
    START(MPI_Ibarrier(world, &request), .root = NONE);
    START(MPI_Ibcast(in, 6, MPI_DOUBLE, 2, world, &request), .root = 2, .bytes = 48);
    START(MPI_Igather(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, 1, world, &request), .root = 1, .bytes = 8);
    START(MPI_Igatherv(in, rank + 1, MPI_INT, out, counts, at, MPI_INT, 0, world, &request), .root = 0,
          .bytes = 4 * (rank + 1));
    START(MPI_Iscatter(in, 2, MPI_INT, out, 2, MPI_INT, 3, world, &request), .root = 3,
          .bytes = rank == 3 ? 32 : 8);
    START(MPI_Iscatterv(in, counts, at, MPI_INT, out, rank + 1, MPI_INT, 3, world, &request), .root = 3,
          .bytes = rank == 3 ? 40 : 4 * (rank + 1));
    START(MPI_Iallgather(in, 1, MPI_INT, out, 1, MPI_INT, world, &request), .bytes = 4);
    START(MPI_Iallgatherv(in, rank + 1, MPI_INT, out, counts, at, MPI_INT, world, &request),
          .bytes = 4 * (rank + 1));
    START(MPI_Ialltoall(in, 2, MPI_INT, out, 2, MPI_INT, world, &request), .bytes = 32);
    START(MPI_Ialltoallv(in, one, at, MPI_INT, out, one, at, MPI_INT, world, &request), .bytes = 16);
    START(MPI_Ialltoallw(in, one, zeros, types, out, one, zeros, types, world, &request), .bytes = 16);
    START(MPI_Ireduce(in, out, 3, MPI_DOUBLE, MPI_SUM, 2, world, &request), .root = 2, .bytes = 24);
    START(MPI_Iallreduce(in, out, 3, MPI_DOUBLE, MPI_SUM, world, &request), .bytes = 24);
    START(MPI_Ireduce_scatter(in, out, counts, MPI_INT, MPI_SUM, world, &request), .bytes = 40);
    START(MPI_Ireduce_scatter_block(in, out, 2, MPI_INT, MPI_SUM, world, &request), .bytes = 32);
    START(MPI_Iscan(in, out, 1, MPI_DOUBLE, MPI_SUM, world, &request), .bytes = 8);
    START(MPI_Iexscan(in, out, 1, MPI_DOUBLE, MPI_SUM, world, &request), .bytes = 8);
#undef START
}

static void communicators(void)
{
    MPI_Comm dup, info_dup, idup, half, node, pair, group_comm, inter, inter_dup, merged, outer;
    MPI_Group world_group, odd, both;
    MPI_Request request;
    int members[SIZE] = {1, 3}, low[2] = {0, 1};
    const char *half_name = rank % 2 == 0 ? "even" : "odd";

    ALL(MPI_Comm_dup(MPI_COMM_WORLD, &dup), "world");
    log_comm("dup2", "world", "dup", dup);
    ALL(MPI_Comm_dup_with_info(dup, MPI_INFO_NULL, &info_dup), "dup2");
    log_comm("info_dup", "dup2", "dup", info_dup);
    ALL(MPI_Comm_idup(dup, &idup, &request), "dup2");
    DO(MPI_Wait(&request, MPI_STATUS_IGNORE), .n_complete = 1, .complete = {DONE});
    log_comm("idup", "dup2", "dup", idup);
    ALL(MPI_Barrier(idup), "idup");
    ALL(MPI_Comm_split(dup, rank % 2, -rank, &half), "dup2");
    log_comm(half_name, "dup2", "split", half);
    ALL(MPI_Barrier(half), half_name);
    ALL(MPI_Comm_split(dup, rank < 3 ? 0 : MPI_UNDEFINED, rank, &outer), "dup2");
    log_comm("three", "dup2", "split", outer);
    if (rank < 3)
        free_comm(&outer, "three");
    ALL(MPI_Comm_split_type(dup, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node), "dup2");
    log_comm("node", "dup2", "split", node);

    MPI_Comm_group(MPI_COMM_WORLD, &world_group);
    MPI_Group_incl(world_group, 2, members, &odd);
    MPI_Group_incl(world_group, 2, low, &both);
    ALL(MPI_Comm_create(dup, odd, &pair), "dup2");
    log_comm("pair", "dup2", "create", pair);
    if (rank < 2) { /* the others know nothing of it, and make communicators from the same one afterwards */
        DO(MPI_Comm_create_group(dup, both, 77, &group_comm), .comm = "dup2", .tag = 77);
        log_comm("group", "dup2", "create", group_comm);
        ALL(MPI_Barrier(group_comm), "group");
        free_comm(&group_comm, "group");
        DO(MPI_Comm_create_group(dup, both, 77, &group_comm), .comm = "dup2", .tag = 77);
        log_comm("group2", "dup2", "create", group_comm);
        free_comm(&group_comm, "group2");
    }

    ALL(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank % 2 == 0 ? 3 : 2, 55, &inter), half_name,
        .root = 0);
    log_comm("inter", half_name, "intercomm", inter);
    ALL(MPI_Barrier(inter), "inter");
    {
        int value = rank, got = -1, root = rank % 2 == 1 ? 0 : rank == 2 ? MPI_ROOT : MPI_PROC_NULL;
        ALL(MPI_Bcast(&value, 1, MPI_INT, root, inter), "inter",
            .root = rank % 2 == 1 ? 0
                    : rank == 2   ? -4
                                  : NOBODY,
            .bytes = rank == 0 ? 0 : 4);
        ALL(MPI_Alltoall(&(int[2]){1, 2}, 1, MPI_INT, &(int[2]){0}, 1, MPI_INT, inter), "inter", .bytes = 8);
        ALL(MPI_Allreduce(&value, &got, 1, MPI_INT, MPI_SUM, inter), "inter", .bytes = 4);
    }
    ALL(MPI_Comm_dup(inter, &inter_dup), "inter");
    log_comm("inter_dup", "inter", "dup", inter_dup);
    ALL(MPI_Intercomm_merge(inter, rank % 2, &merged), "inter");
    log_comm("merged", "inter", "merge", merged);
    ALL(MPI_Barrier(merged), "merged");
    free_comm(&inter_dup, "inter_dup");
    free_comm(&inter, "inter");
    ALL(MPI_Comm_disconnect(&merged), "merged");
    fprintf(log_file, "free name=merged\n");
    if (pair != MPI_COMM_NULL)
        free_comm(&pair, "pair");
    free_comm(&half, half_name);
    free_comm(&node, "node");
    free_comm(&idup, "idup");
    free_comm(&info_dup, "info_dup");
    free_comm(&dup, "dup2");
    MPI_Group_free(&odd);
    MPI_Group_free(&both);
    MPI_Group_free(&world_group);
}

static void topologies(void)
{
    MPI_Comm cart, row, graph, adjacent, old;
    MPI_Request request;
    int dimensions[2] = {2, 2}, periods[2] = {1, 1}, remain[2] = {0, 1}, index[SIZE] = {2, 4, 6, 8};
    int edges[2 * SIZE], in[16] = {0}, out[16], counts[4] = {1, 2, 1, 2}, at[4] = {0, 1, 3, 4};
    MPI_Aint far[4] = {0, 4, 12, 16};
    MPI_Datatype types[4] = {MPI_INT, MPI_INT, MPI_INT, MPI_INT};
    const char *row_name = rank < 2 ? "row0" : "row1";

    ALL(MPI_Cart_create(world, 2, dimensions, periods, 0, &cart), "dup");
    log_comm("cart", "dup", "create", cart);
    ALL(MPI_Cart_sub(cart, remain, &row), "cart");
    log_comm(row_name, "cart", "create", row);
    ALL(MPI_Neighbor_allgather(in, 1, MPI_INT, out, 1, MPI_INT, cart), "cart", .bytes = 4);
    ALL(MPI_Neighbor_alltoall(in, 1, MPI_INT, out, 1, MPI_INT, cart), "cart", .bytes = 16);
    ALL(MPI_Neighbor_allgatherv(in, 1, MPI_INT, out, (int[]){1, 1, 1, 1}, at, MPI_INT, cart), "cart",
        .bytes = 4);
    ALL(MPI_Ineighbor_alltoall(in, 1, MPI_INT, out, 1, MPI_INT, cart, &request), "cart", .bytes = 16);
    DO(MPI_Wait(&request, MPI_STATUS_IGNORE), .n_complete = 1, .complete = {DONE});
    for (int i = 0; i < SIZE; i++) {
        edges[2 * i] = (i + 1) % SIZE;
        edges[2 * i + 1] = (i + SIZE - 1) % SIZE;
    }
    ALL(MPI_Graph_create(world, SIZE, index, edges, 0, &old), "dup");
    log_comm("old_graph", "dup", "create", old);
    ALL(MPI_Neighbor_alltoall(in, 2, MPI_INT, out, 2, MPI_INT, old), "old_graph", .bytes = 16);
    /* everybody sends to both neighbours */
    ALL(MPI_Dist_graph_create(world, 1, &rank, (int[]){2}, (int[]){next_rank, previous_rank}, MPI_UNWEIGHTED,
                              MPI_INFO_NULL, 0, &graph),
        "dup");
    log_comm("graph", "dup", "create", graph);
    ALL(MPI_Neighbor_alltoallv(in, (int[]){2, 2}, at, MPI_INT, out, (int[]){2, 2}, at, MPI_INT, graph),
        "graph", .bytes = 16);
    ALL(MPI_Dist_graph_create_adjacent(world, 1, &previous_rank, MPI_UNWEIGHTED, 1, &next_rank,
                                       MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &adjacent),
        "dup");
    log_comm("adjacent", "dup", "create", adjacent);
    ALL(MPI_Neighbor_alltoallw(in, counts + 1, far, types, out, counts + 1, far, types, adjacent), "adjacent",
        .bytes = 8);
    free_comm(&adjacent, "adjacent");
    free_comm(&graph, "graph");
    free_comm(&old, "old_graph");
    free_comm(&row, row_name);
    free_comm(&cart, "cart");
}

static void log_object(const char *name, const char *parent, const char *origin)
{
    MPI_Group group;
    MPI_Comm_group(world, &group);
    log_members(name, parent, origin, group);
    MPI_Group_free(&group);
}

static void windows(void)
{
    static int memory[16], value[16];
    MPI_Win window, own;
    MPI_Request request;
    void *base;

    ALL(MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, world, &window), "dup",
        .bytes = sizeof memory);
    log_object("window", "dup", "window");
    ALL(MPI_Win_fence(0, window), "window");
    DO(MPI_Put(value, 2, MPI_INT, next_rank, 0, 2, MPI_INT, window), .comm = "window", .peer = next_rank,
       .bytes = 8);
    DO(MPI_Get(value + 4, 1, MPI_INT, previous_rank, 4, 1, MPI_INT, window), .comm = "window",
       .peer = previous_rank, .bytes = 4);
    DO(MPI_Accumulate(value, 1, MPI_INT, next_rank, 8, 1, MPI_INT, MPI_SUM, window), .comm = "window",
       .peer = next_rank, .bytes = 4);
    ALL(MPI_Win_fence(0, window), "window");
    DO(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next_rank, 0, window), .comm = "window", .peer = next_rank);
    DO(MPI_Fetch_and_op(value, value + 1, MPI_INT, next_rank, 0, MPI_SUM, window), .comm = "window",
       .peer = next_rank, .bytes = 4);
    DO(MPI_Win_unlock(next_rank, window), .comm = "window", .peer = next_rank);
    DO(MPI_Win_lock_all(0, window), .comm = "window");
    DO(MPI_Rput(value, 1, MPI_INT, next_rank, 3, 1, MPI_INT, window, &request), .comm = "window",
       .peer = next_rank, .bytes = 4);
    DO(MPI_Wait(&request, MPI_STATUS_IGNORE), .n_complete = 1, .complete = {DONE});
    DO(MPI_Win_flush(next_rank, window), .comm = "window", .peer = next_rank);
    DO(MPI_Win_unlock_all(window), .comm = "window");
    ALL(MPI_Win_free(&window), "window");
    fprintf(log_file, "free name=window\n");

    ALL(MPI_Win_allocate(64, 1, MPI_INFO_NULL, world, &base, &own), "dup", .bytes = 64);
    log_object("own_window", "dup", "window");
    ALL(MPI_Win_free(&own), "own_window");
    fprintf(log_file, "free name=own_window\n");
}

static void files(void)
{
    MPI_File file;
    MPI_Status status;
    MPI_Request request;
    int data[4] = {rank, rank, rank, rank};

    ALL(MPI_File_open(world, "shared.data", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                      MPI_INFO_NULL, &file),
        "dup");
    log_object("file", "dup", "file");
    DO(MPI_File_write_at(file, 16 * rank, data, 4, MPI_INT, &status), .comm = "file", .bytes = 16,
       .received = 16);
    ALL(MPI_File_sync(file), "file");
    DO(MPI_Barrier(world), .comm = "dup", .instance = next_instance("dup"));
    ALL(MPI_File_read_at_all(file, 16 * next_rank, data, 4, MPI_INT, MPI_STATUS_IGNORE), "file", .bytes = 16,
        .received = 16);
    assert(data[0] == next_rank);
    ALL(MPI_File_set_view(file, 16 * rank, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), "file");
    ALL(MPI_File_write_all(file, data, 4, MPI_INT, MPI_STATUS_IGNORE), "file", .bytes = 16, .received = 16);
    DO(MPI_File_iread_at(file, 0, data, 2, MPI_INT, &request), .comm = "file", .bytes = 8);
    DO(MPI_Wait(&request, MPI_STATUS_IGNORE), COMPLETE(NONE, NONE, 8, 0));
    ALL(MPI_File_close(&file), "file");
    fprintf(log_file, "free name=file\n");
}

/* ---- */

static const struct {
    const char *name;
    void (*run)(void);
} families[] = {
    {"point", point_to_point},
    {"requests", requests},
    {"collective", collective},
    {"nonblocking", nonblocking_collective},
    {"communicators", communicators},
    {"topologies", topologies},
    {"windows", windows},
    {"files", files},
#if MPI_VERSION >= 4
    {"partitioned", partitioned},
#endif
};

extern const char __executable_start[];

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    next_rank = (rank + 1) % SIZE;
    previous_rank = (rank + SIZE - 1) % SIZE;
    char path[32];
    snprintf(path, sizeof path, "calls.%d", rank);
    log_file = fopen(path, "w");
    fprintf(log_file, "process pid=%d base=%p\n", getpid(), (const void *)__executable_start);
    LOG("MPI_Init_thread(", .peer = NONE, .from_tag = provided);
    log_comm("world", "-", "world", MPI_COMM_WORLD);
    log_comm("self", "-", "self", MPI_COMM_SELF);
    ALL(MPI_Comm_dup(MPI_COMM_WORLD, &world), "world");
    log_comm("dup", "world", "dup", world);
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
        for (int a = 1; a < argc; a++)
            if (strcmp(argv[a], families[i].name) == 0)
                families[i].run();
    free_comm(&world, "dup");
    ALL(MPI_Finalize(), "world");
    fclose(log_file);
    return 0;
}
