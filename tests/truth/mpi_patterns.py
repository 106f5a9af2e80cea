"""Communication patterns of correct MPI programs. $N: bytes of a message, $TAG, $COMM, $WORK: most microseconds of work,
$I: the part's number. $STEP_TAG differs from step to step: where rank 0 takes messages of any rank, it may not take one
of the next step.
"""
from program import Pattern

RING = Pattern("ring", """
    static char in[$N], out[$N];
    work($WORK);
    if (rank == 0) { //@ order kind=first
        MPI_Send(out, $N, MPI_CHAR, 1, $TAG, $COMM); //@ send by=0 to=1
        MPI_Recv(in, $N, MPI_CHAR, size - 1, $TAG, $COMM, MPI_STATUS_IGNORE); //@ recv by=0 from=n-1
    } else {
        MPI_Recv(in, $N, MPI_CHAR, (rank + size - 1) % size, $TAG, $COMM, MPI_STATUS_IGNORE); //@ recv by=range(1,n) from=r-1
        work($WORK);
        MPI_Send(out, $N, MPI_CHAR, (rank + 1) % size, $TAG, $COMM); //@ send by=range(1,n) to=(r+1)%n
    }
""")

HALO_SENDRECV = Pattern("halo_sendrecv", """
    static char in[$N], out[$N];
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    work($WORK);
    MPI_Sendrecv(out, $N, MPI_CHAR, right, $TAG, in, $N, MPI_CHAR, left, $TAG, $COMM, MPI_STATUS_IGNORE); //@ exchange to=(r+1)%n
    MPI_Sendrecv(out, $N, MPI_CHAR, left, $TAG, in, $N, MPI_CHAR, right, $TAG, $COMM, MPI_STATUS_IGNORE); //@ exchange to=(r-1)%n
""")

HALO_OPEN = Pattern("halo_open", """
    static char in[$N], out[$N];
    int right = rank + 1 < size ? rank + 1 : MPI_PROC_NULL, left = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    MPI_Sendrecv(out, $N, MPI_CHAR, right, $TAG, in, $N, MPI_CHAR, left, $TAG, $COMM, MPI_STATUS_IGNORE); //@ exchange by=range(0,n-1) to=r+1
    work($WORK);
    MPI_Sendrecv(out, $N, MPI_CHAR, left, $TAG, in, $N, MPI_CHAR, right, $TAG, $COMM, MPI_STATUS_IGNORE); //@ exchange by=range(1,n) to=r-1
""")

HALO_IRECV_SEND = Pattern("halo_irecv_send", """
    static char in[2][$N], out[$N];
    MPI_Request requests[2];
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Irecv(in[0], $N, MPI_CHAR, left, $TAG, $COMM, &requests[0]);
    MPI_Irecv(in[1], $N, MPI_CHAR, right, $TAG, $COMM, &requests[1]);
    work($WORK);
    MPI_Send(out, $N, MPI_CHAR, right, $TAG, $COMM); //@ send to=(r+1)%n
    MPI_Send(out, $N, MPI_CHAR, left, $TAG, $COMM); //@ send to=(r-1)%n
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE); //@ complete
""")

HALO_WAITALL = Pattern("halo_waitall", """
    static char in[2][$N], out[2][$N];
    MPI_Request requests[4];
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Isend(out[0], $N, MPI_CHAR, right, $TAG, $COMM, &requests[0]);
    MPI_Irecv(in[0], $N, MPI_CHAR, left, $TAG, $COMM, &requests[1]);
    MPI_Isend(out[1], $N, MPI_CHAR, left, $TAG, $COMM, &requests[2]);
    MPI_Irecv(in[1], $N, MPI_CHAR, right, $TAG, $COMM, &requests[3]); //@ irecv from=(r+1)%n
    work($WORK);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE); //@ complete
""")

SENDRECV_REPLACE = Pattern("sendrecv_replace", """
    static char buffer[$N];
    work($WORK);
    MPI_Sendrecv_replace(buffer, $N, MPI_CHAR, (rank + 1) % size, $TAG, (rank + size - 1) % size, $TAG, $COMM, MPI_STATUS_IGNORE); //@ exchange to=(r+1)%n
""")

MASTER_WORKER = Pattern("master_worker", """
    enum { JOBS = 3 };
    int job = 0, left = JOBS * (size - 1);
    MPI_Status status;
    if (rank == 0) {
        for (int sent = 0; left > 0; left--) {
            MPI_Recv(&job, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, own_$I, &status);
            sent++;
            work($WORK / 10);
            MPI_Send(&sent, 1, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, own_$I);
        }
    } else {
        for (int i = 0; i < JOBS; i++) {
            MPI_Send(&i, 1, MPI_INT, 0, $TAG + rank, own_$I);
            MPI_Recv(&job, 1, MPI_INT, 0, MPI_ANY_TAG, own_$I, &status);
            work($WORK);
        }
    }
    MPI_Barrier(own_$I); /* else rank 0 might take a fast worker's job of the next step for a slow one's of this step */
""", shared="""
static MPI_Comm own_$I;
""", setup="""
    MPI_Comm_dup(MPI_COMM_WORLD, &own_$I); /* takes any tag: nothing else may be on it */
""", finish="""
    MPI_Comm_free(&own_$I);
""")

PIPELINE = Pattern("pipeline", """
    static char data[$N];
    if (rank > 0)
        MPI_Recv(data, $N, MPI_CHAR, rank - 1, $TAG, $COMM, MPI_STATUS_IGNORE); //@ recv by=range(1,n) from=r-1
    work($WORK);
    if (rank + 1 < size)
        MPI_Send(data, $N, MPI_CHAR, rank + 1, $TAG, $COMM); //@ send by=range(0,n-1) to=r+1
""")

PAIRS = Pattern("pairs", """
    static char in[$N], out[$N];
    int other = rank ^ 1;
    work($WORK);
    if (rank % 2 == 0) { //@ order kind=pair
        MPI_Send(out, $N, MPI_CHAR, other, $TAG, $COMM); //@ send by=range(0,n,2) to=r^1
        MPI_Recv(in, $N, MPI_CHAR, other, $TAG, $COMM, MPI_STATUS_IGNORE); //@ recv by=range(0,n,2) from=r^1
    } else {
        MPI_Recv(in, $N, MPI_CHAR, other, $TAG, $COMM, MPI_STATUS_IGNORE); //@ recv by=range(1,n,2) from=r^1
        MPI_Send(out, $N, MPI_CHAR, other, $TAG, $COMM); //@ send by=range(1,n,2) to=r^1
    }
""", even=True)

SYNCHRONOUS = Pattern("synchronous", """
    static char in[$N], out[$N];
    int other = rank ^ 1;
    work($WORK);
    if (rank % 2 == 0) { //@ order kind=pair
        MPI_Ssend(out, $N, MPI_CHAR, other, $TAG, $COMM); //@ send by=range(0,n,2) to=r^1
        MPI_Recv(in, $N, MPI_CHAR, other, $TAG, $COMM, MPI_STATUS_IGNORE); //@ recv by=range(0,n,2) from=r^1
    } else {
        MPI_Recv(in, $N, MPI_CHAR, other, $TAG, $COMM, MPI_STATUS_IGNORE); //@ recv by=range(1,n,2) from=r^1
        MPI_Ssend(out, $N, MPI_CHAR, other, $TAG, $COMM); //@ send by=range(1,n,2) to=r^1
    }
""", even=True)

BUFFERED = Pattern("buffered", """
    static char in[$SMALL], out[$SMALL];
    MPI_Bsend(out, $SMALL, MPI_CHAR, (rank + 1) % size, $TAG, $COMM); //@ send to=(r+1)%n
    work($WORK);
    MPI_Recv(in, $SMALL, MPI_CHAR, (rank + size - 1) % size, $TAG, $COMM, MPI_STATUS_IGNORE); //@ recv from=(r-1)%n
""", setup="""
    static char attached_$I[64 * ($SMALL + MPI_BSEND_OVERHEAD)];
    MPI_Buffer_attach(attached_$I, sizeof attached_$I);
""", finish="""
    void *detached_$I;
    int detached_size_$I;
    MPI_Buffer_detach(&detached_$I, &detached_size_$I);
""")

ALL_TO_ALL = Pattern("all_to_all", """
    static char in[8 * $SMALL], out[8 * $SMALL];
    work($WORK);
    MPI_Alltoall(out, $SMALL, MPI_CHAR, in, $SMALL, MPI_CHAR, $COMM); //@ collective
    work($WORK);
    MPI_Allgather(out, $SMALL, MPI_CHAR, in, $SMALL, MPI_CHAR, $COMM); //@ collective
""")

ALL_TO_ALL_V = Pattern("all_to_all_v", """
    static int in[64], out[64], counts[8] = {4, 4, 4, 4, 4, 4, 4, 4}, at[8] = {0, 4, 8, 12, 16, 20, 24, 28};
    work($WORK);
    MPI_Alltoallv(out, counts, at, MPI_INT, in, counts, at, MPI_INT, $COMM); //@ any_collective
""")

REDUCTIONS = Pattern("reductions", """
    static double in[$COUNT], out[$COUNT];
    work($WORK);
    MPI_Allreduce(in, out, $COUNT, MPI_DOUBLE, MPI_SUM, $COMM); //@ collective
    work($WORK);
    MPI_Reduce(in, out, $COUNT, MPI_DOUBLE, MPI_MAX, $ROOT, $COMM); //@ collective
""")

ALLREDUCE = Pattern("allreduce", """
    double residual = rank, all;
    work($WORK);
    MPI_Allreduce(&residual, &all, 1, MPI_DOUBLE, MPI_MAX, $COMM); //@ collective
""")

ROOTED = Pattern("rooted", """
    static int data[$COUNT], all[8 * $COUNT];
    int root = (step + $ROOT) % size;
    MPI_Bcast(data, $COUNT, MPI_INT, root, $COMM); //@ collective
    work($WORK);
    MPI_Gather(data, $COUNT, MPI_INT, all, $COUNT, MPI_INT, root, $COMM); //@ collective
    work($WORK);
    MPI_Scatter(all, $COUNT, MPI_INT, data, $COUNT, MPI_INT, root, $COMM); //@ collective
    MPI_Barrier($COMM); //@ collective
""")

SCAN = Pattern("scan", """
    static long in[$COUNT], out[$COUNT];
    work($WORK);
    MPI_Scan(in, out, $COUNT, MPI_LONG, MPI_SUM, $COMM); //@ any_collective
    work($WORK);
    MPI_Barrier($COMM); //@ collective
""")

NONBLOCKING = Pattern("nonblocking", """
    static double in[$COUNT], out[$COUNT];
    MPI_Request requests[2];
    int done = 0;
    MPI_Iallreduce(in, out, $COUNT, MPI_DOUBLE, MPI_SUM, $COMM, &requests[0]); //@ begun
    work($WORK);
    MPI_Ibarrier($COMM, &requests[1]); //@ begun
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE); //@ complete
    while (!done) {
        work(300);
        MPI_Test(&requests[1], &done, MPI_STATUS_IGNORE);
    }
""")

PERSISTENT = Pattern("persistent", """
    MPI_Startall(2, persistent_$I);
    work($WORK);
    MPI_Waitall(2, persistent_$I, MPI_STATUSES_IGNORE); //@ complete
""", shared="""
static MPI_Request persistent_$I[2];
static char persistent_in_$I[$N], persistent_out_$I[$N];
""", setup="""
    MPI_Send_init(persistent_out_$I, $N, MPI_CHAR, (rank + 1) % size, 40$I, $COMM, &persistent_$I[0]);
    MPI_Recv_init(persistent_in_$I, $N, MPI_CHAR, (rank + size - 1) % size, 40$I, $COMM, &persistent_$I[1]);
""", finish="""
    MPI_Request_free(&persistent_$I[0]);
    MPI_Request_free(&persistent_$I[1]);
""")

FENCED = Pattern("fenced", """
    static int value;
    work($WORK);
    MPI_Win_fence(0, window_$I); //@ any_collective
    MPI_Put(&value, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, window_$I);
    work($WORK);
    MPI_Win_fence(0, window_$I); //@ any_collective
""", shared="""
static MPI_Win window_$I;
static int exposed_$I[16];
""", setup="""
    MPI_Win_create(exposed_$I, sizeof exposed_$I, sizeof(int), MPI_INFO_NULL, $COMM, &window_$I);
    MPI_Win_fence(0, window_$I);
""", finish="""
    MPI_Win_free(&window_$I);
""")

LOCKED_WINDOW = Pattern("locked_window", """
    int one = 1;
    work($WORK);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, step % size, 0, window_$I);
    MPI_Accumulate(&one, 1, MPI_INT, step % size, 0, 1, MPI_INT, MPI_SUM, window_$I);
    MPI_Win_unlock(step % size, window_$I);
    MPI_Barrier($COMM); //@ collective
""", shared="""
static MPI_Win window_$I;
static int *exposed_$I;
""", setup="""
    MPI_Win_allocate(64, sizeof(int), MPI_INFO_NULL, $COMM, &exposed_$I, &window_$I);
""", finish="""
    MPI_Win_free(&window_$I);
""")

SUBCOMMUNICATORS = Pattern("subcommunicators", """
    int value = rank, sum;
    work($WORK);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, half_$I);
    work($WORK);
    MPI_Bcast(&sum, 1, MPI_INT, 0, half_$I);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, $COMM); //@ collective
""", shared="""
static MPI_Comm half_$I;
""", setup="""
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half_$I);
""", finish="""
    MPI_Comm_free(&half_$I);
""")

PROBE = Pattern("probe", """
    static char data[$N];
    MPI_Status status;
    int n = 0, there = 0;
    work($WORK);
    if (rank == 0) {
        for (int i = 1; i < size; i++) {
            if (i % 2 == 0)
                MPI_Probe(MPI_ANY_SOURCE, $STEP_TAG, $COMM, &status);
            else
                for (there = 0; !there; work(200))
                    MPI_Iprobe(MPI_ANY_SOURCE, $STEP_TAG, $COMM, &there, &status);
            MPI_Get_count(&status, MPI_CHAR, &n);
            MPI_Recv(data, n, MPI_CHAR, status.MPI_SOURCE, $STEP_TAG, $COMM, &status);
        }
    } else {
        MPI_Send(data, $N - rank, MPI_CHAR, 0, $STEP_TAG, $COMM);
    }
""")

MATCHED_PROBE = Pattern("matched_probe", """
    static char data[$N];
    MPI_Message message;
    MPI_Status status;
    work($WORK);
    if (rank > 0)
        MPI_Send(data, $N, MPI_CHAR, 0, $STEP_TAG, $COMM);
    else
        for (int i = 1; i < size; i++) {
            MPI_Mprobe(MPI_ANY_SOURCE, $STEP_TAG, $COMM, &message, &status);
            work($WORK / 10);
            MPI_Mrecv(data, $N, MPI_CHAR, &message, &status);
        }
""")

TREE = Pattern("tree", """
    double own = rank, others;
    work($WORK);
    for (int bit = 1; bit < size; bit *= 2) {
        if (rank & bit) {
            MPI_Send(&own, 1, MPI_DOUBLE, rank - bit, $TAG, $COMM);
            break;
        }
        if (rank + bit < size) {
            MPI_Recv(&others, 1, MPI_DOUBLE, rank + bit, $TAG, $COMM, MPI_STATUS_IGNORE);
            own += others;
        }
    }
""")

BUTTERFLY = Pattern("butterfly", """
    static char in[$N], out[$N];
    for (int bit = 1; bit < size; bit *= 2) {
        work($WORK);
        if ((rank ^ bit) < size)
            MPI_Sendrecv(out, $N, MPI_CHAR, rank ^ bit, $TAG, in, $N, MPI_CHAR, rank ^ bit, $TAG, $COMM, MPI_STATUS_IGNORE);
    }
""")

WAIT_SOME = Pattern("wait_some", """
    static char in[8][$SMALL], out[$SMALL];
    MPI_Request in_requests[8], out_requests[8];
    int n = 0, at, count, which[8];
    for (int other = 0; other < size; other++) {
        if (other == rank)
            continue;
        MPI_Irecv(in[n], $SMALL, MPI_CHAR, other, $TAG, $COMM, &in_requests[n]);
        MPI_Isend(out, $SMALL, MPI_CHAR, other, $TAG, $COMM, &out_requests[n]);
        n++;
    }
    work($WORK);
    for (int i = 0; i < n; i++)
        MPI_Waitany(n, in_requests, &at, MPI_STATUS_IGNORE);
    for (int left = n; left > 0; left -= count) {
        MPI_Testsome(n, out_requests, &count, which, MPI_STATUSES_IGNORE);
        count = count == MPI_UNDEFINED ? left : count;
    }
""")

NEIGHBOURS = Pattern("neighbours", """
    int out[2] = {rank, rank}, in[2];
    work($WORK);
    MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, grid_$I);
    work($WORK);
    MPI_Neighbor_allgather(out, 1, MPI_INT, in, 1, MPI_INT, grid_$I);
""", shared="""
static MPI_Comm grid_$I;
""", setup="""
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, (int[]){1}, 0, &grid_$I);
""", finish="""
    MPI_Comm_free(&grid_$I);
""")

THREADED = Pattern("threaded", """
#pragma omp parallel num_threads(2)
    {
        char in[64], out[64] = "";
        int tag = $TAG + 10 * omp_get_thread_num();
        work($WORK);
        MPI_Sendrecv(out, 64, MPI_CHAR, (rank + 1) % size, tag, in, 64, MPI_CHAR, (rank + size - 1) % size, tag, $COMM, MPI_STATUS_IGNORE);
    }
""", multiple=True)

FLOOD = Pattern("flood", """
    static char data[$SMALL];
    if (rank == size - 1)
        for (int i = 0; i < 20; i++)
            MPI_Send(data, $SMALL, MPI_CHAR, 0, $TAG, $COMM);
    else if (rank == 0)
        for (int i = 0; i < 20; i++) {
            work($WORK / 10);
            MPI_Recv(data, $SMALL, MPI_CHAR, size - 1, $TAG, $COMM, MPI_STATUS_IGNORE);
        }
""")

PARTITIONED = Pattern("partitioned", """
    int there = 0;
    MPI_Startall(2, partitioned_$I);
#pragma omp parallel for num_threads($T) schedule($SCHEDULE)
    for (int i = 0; i < PARTS_$I; i++) {
        work($WORK);
        MPI_Pready(i, partitioned_$I[0]); //@ ready
    }
    while (step % 2 == 0 && !there)
        MPI_Parrived(partitioned_$I[1], step % PARTS_$I, &there);
    work($WORK);
    MPI_Waitall(2, partitioned_$I, MPI_STATUSES_IGNORE); //@ complete
""", shared="""
enum { PARTS_$I = 7 };
static MPI_Request partitioned_$I[2];
static char parts_in_$I[PARTS_$I * $SMALL], parts_out_$I[PARTS_$I * $SMALL];
""", setup="""
    MPI_Psend_init(parts_out_$I, PARTS_$I, $SMALL, MPI_CHAR, (rank + 1) % size, 50$I, $COMM, MPI_INFO_NULL, &partitioned_$I[0]);
    MPI_Precv_init(parts_in_$I, PARTS_$I, $SMALL, MPI_CHAR, (rank + size - 1) % size, 50$I, $COMM, MPI_INFO_NULL, &partitioned_$I[1]);
""", finish="""
    MPI_Request_free(&partitioned_$I[0]);
    MPI_Request_free(&partitioned_$I[1]);
""", multiple=True, needs="MPI_Psend_init")

PATTERNS = [RING, HALO_SENDRECV, HALO_OPEN, HALO_IRECV_SEND, HALO_WAITALL, SENDRECV_REPLACE, MASTER_WORKER, PIPELINE, PAIRS,
            SYNCHRONOUS, BUFFERED, ALL_TO_ALL, ALL_TO_ALL_V, REDUCTIONS, ALLREDUCE, ROOTED, SCAN, NONBLOCKING, PERSISTENT,
            FENCED, LOCKED_WINDOW, SUBCOMMUNICATORS, PROBE, MATCHED_PROBE, TREE, BUTTERFLY, WAIT_SOME, NEIGHBOURS, THREADED, FLOOD,
            PARTITIONED]
