/* Corners of MPI where a wrapper could show: errors, error handlers that do not come back, statuses, threads,
 * spawned processes. Rank 0 prints what happened, which must not depend on being recorded.
 *
 * usage: mpi_corners errors|fatal|leave|threads|spawn|polls|abort */
#include <assert.h>
#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

enum { N_THREADS = 4, ROUNDS = 200 };

static int rank, size;

/* An error as text that is the same in every run: its class. */
static void say(const char *what, int error)
{
    int class;
    MPI_Error_class(error, &class);
    if (rank == 0)
        printf("%s: class %d\n", what, class);
}

static void errors(void)
{
    int small = 0, other = rank ^ 1, big[4] = {1, 2, 3, 4}, flag;
    MPI_Comm comm;
    MPI_Request requests[3];
    MPI_Status statuses[3];

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    say("no such rank", MPI_Send(big, 1, MPI_INT, size, 0, comm));
    say("no such type", MPI_Send(big, 1, MPI_DATATYPE_NULL, other, 0, comm));
    say("no such count", MPI_Send(big, -1, MPI_INT, other, 0, comm));
    say("no such root", MPI_Bcast(big, 1, MPI_INT, size + 3, comm));
    say("no communicator", MPI_Barrier(MPI_COMM_NULL));
    say("no such type in a collective", MPI_Allreduce(&small, big, 1, MPI_DATATYPE_NULL, MPI_SUM, comm));

    /* too long: with a status, without one, in arrays of them */
    for (int i = 0; i < 2; i++) {
        MPI_Sendrecv(&small, 0, MPI_INT, other, 9, NULL, 0, MPI_INT, other, 9, comm, MPI_STATUS_IGNORE);
        MPI_Isend(big, 4, MPI_INT, other, 1, comm, &requests[0]);
        memset(statuses, 0x55, sizeof statuses);
        say("truncated", MPI_Recv(&small, 1, MPI_INT, other, 1, comm, i == 0 ? statuses : MPI_STATUS_IGNORE));
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    }
    say("not recorded, behind a wait", MPI_Comm_rank(MPI_COMM_NULL, &flag));
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++)
            requests[j] = MPI_REQUEST_NULL;
        int good = -1, bad = -1;
        MPI_Irecv(&good, 1, MPI_INT, other, 2, comm, &requests[0]);
        MPI_Irecv(&bad, 1, MPI_INT, other, 3, comm, &requests[1]);
        MPI_Sendrecv(&small, 0, MPI_INT, other, 9, NULL, 0, MPI_INT, other, 9, comm, MPI_STATUS_IGNORE);
        MPI_Send(big + 2, 1, MPI_INT, other, 2, comm);
        MPI_Send(big, 4, MPI_INT, other, 3, comm);
        memset(statuses, 0x55, sizeof statuses);
        int error, n = 0, indices[3];
        if (i == 0)
            error = MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
        else if (i == 1)
            error = MPI_Waitall(3, requests, statuses);
        else
            do
                error = MPI_Waitsome(3, requests, &n, indices, statuses);
            while (error == MPI_SUCCESS && n != MPI_UNDEFINED);
        say(i == 0 ? "all, ignored" : i == 1 ? "all" : "some", error);
        if (i == 1) {
            say("the good one", statuses[0].MPI_ERROR == 0x55555555 ? 0 : statuses[0].MPI_ERROR);
            say("the bad one", statuses[1].MPI_ERROR);
        }
        for (int j = 0; j < 3; j++)
            if (requests[j] != MPI_REQUEST_NULL)
                MPI_Wait(&requests[j], MPI_STATUS_IGNORE);
    }
    /* a status keeps what the call does not write */
    memset(statuses, 0x55, sizeof statuses);
    MPI_Sendrecv(big, 2, MPI_INT, other, 4, big, 2, MPI_INT, other, 4, comm, statuses);
    assert(statuses[0].MPI_SOURCE == other && statuses[0].MPI_TAG == 4);
    if (rank == 0)
        printf("error field %x\n", (unsigned)statuses[0].MPI_ERROR);
    MPI_Testall(0, NULL, &flag, MPI_STATUSES_IGNORE);
    if (rank == 0)
        printf("all of none: %d\n", flag);
    MPI_Comm_free(&comm);
}

/* ---- an error handler that leaves by longjmp: calls afterwards are calls of the program again */

static jmp_buf back;

static void leave_call(MPI_Comm *comm, int *error, ...)
{
    (void)comm;
    (void)error;
    longjmp(back, 1);
}

static __attribute__((noinline)) void fail(MPI_Comm comm)
{
    MPI_Send(NULL, -1, MPI_INT, 0, 0, comm);
}

static void leave(void)
{
    MPI_Errhandler handler;
    MPI_Comm comm;
    volatile int times = 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(leave_call, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    if (setjmp(back) != 0)
        times++;
    if (times < 3)
        fail(comm);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("left %d times\n", times);
}

/* ---- threads, each with a communicator of its own */

static MPI_Comm comms[N_THREADS];

static void *talk(void *number)
{
    int i = (int)(long)number, got, sum = 0;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Request requests[2];
        MPI_Irecv(&got, 1, MPI_INT, (rank + size - 1) % size, round, comms[i], &requests[0]);
        MPI_Isend(&round, 1, MPI_INT, (rank + 1) % size, round, comms[i], &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        assert(got == round);
        if (round % 20 == 0) {
            MPI_Comm made;
            MPI_Allreduce(&round, &sum, 1, MPI_INT, MPI_SUM, comms[i]);
            MPI_Comm_dup(comms[i], &made);
            MPI_Barrier(made);
            MPI_Comm_free(&made);
        }
    }
    return NULL;
}

static void threads(void)
{
    pthread_t made[N_THREADS];
    for (int i = 0; i < N_THREADS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (long i = 0; i < N_THREADS; i++)
        pthread_create(&made[i], NULL, talk, (void *)i);
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(made[i], NULL);
    if (rank == 0)
        printf("%d threads\n", N_THREADS);
}

/* ---- */

static void spawn(const char *program)
{
    MPI_Comm parent, inter, merged;
    int sum = 0, value = 100 + rank, high;
    MPI_Comm_get_parent(&parent);
    high = parent != MPI_COMM_NULL;
    if (high) {
        inter = parent;
    } else {
        char *arguments[] = {"spawn", NULL};
        MPI_Comm_spawn(program, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
    }
    MPI_Intercomm_merge(inter, high, &merged);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, merged);
    MPI_Comm_free(&merged);
    MPI_Comm_disconnect(&inter);
    if (rank == 0)
        printf("%s: %d\n", high ? "spawned" : "spawner", sum);
}

/* Rank 0 polls in vain for half a second, by two requests at once, and then tells the other to send. */
static void polls(void)
{
    int go = 0, values[2], flag = 0;
    MPI_Request requests[2];
    if (rank > 0) {
        MPI_Recv(&go, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&go, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
        MPI_Send(&go, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
        return;
    }
    MPI_Irecv(&values[0], 1, MPI_INT, 1, 2, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&values[1], 1, MPI_INT, 1, 3, MPI_COMM_WORLD, &requests[1]);
    for (double end = MPI_Wtime() + 0.5; MPI_Wtime() < end && !flag;)
        MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
    MPI_Send(&go, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    printf("found: %d\n", flag);
}

static void fatal(void)
{
    int nothing = 0;
#ifdef MPI_ERRORS_ABORT /* MPI 4; else MPI_ERRORS_ARE_FATAL is there */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ABORT);
#endif
    MPI_Send(&nothing, 1, MPI_INT, size, 0, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    int provided, flag;
    MPI_Initialized(&flag);
    assert(!flag);
    MPI_Init_thread(&argc, &argv, strcmp(how, "threads") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                    &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(how, "errors") == 0)
        errors();
    else if (strcmp(how, "fatal") == 0 && rank == 0)
        fatal();
    else if (strcmp(how, "fatal") == 0)
        MPI_Barrier(MPI_COMM_WORLD);
    else if (strcmp(how, "leave") == 0)
        leave();
    else if (strcmp(how, "threads") == 0)
        threads();
    else if (strcmp(how, "spawn") == 0)
        spawn(argv[0]);
    else if (strcmp(how, "polls") == 0)
        polls();
    else if (strcmp(how, "abort") == 0 && rank == 1)
        MPI_Abort(MPI_COMM_WORLD, 7);
    else if (strcmp(how, "abort") == 0)
        MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    MPI_Finalized(&flag);
    assert(flag);
    return 0;
}
