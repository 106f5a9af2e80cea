/* A job of random rounds, the same on all ranks, that goes on for ever; or one rank leaves it and the job hangs.
 * usage: where_random SEED [WAY RANK ROUND]; WAY, what RANK does in ROUND for ever: pause, spin, lock, receive, poll, probe,
 * join, clock, reduce (in an operator of its own), yield, finalize. Says "hung" when it does. No rank of a job that goes on is in
 * one call for longer than some 100 ms. */
#define _GNU_SOURCE
#include <mpi.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;
static unsigned seed;
static MPI_Comm half;
static MPI_Op slow_sum;
static volatile double sink;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile int hangs_in_operator;

static unsigned draw(unsigned below)
{
    seed = seed * 1103515245 + 12345;
    return (seed >> 16) % below;
}

/* ---- what ranks do between calls */

static __attribute__((noinline)) void compute(unsigned ms)
{
    double end = MPI_Wtime() + ms / 1000.0, x = 1;
    while (MPI_Wtime() < end)
        for (int i = 0; i < 20000; i++)
            x = x * 1.0000001 + 1e-9;
    sink = x;
}

static __attribute__((noinline)) void compute_in_team(unsigned ms)
{
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 1) {
        double end = omp_get_wtime() + ms / 1000.0, x = 1;
        while (omp_get_wtime() < end)
            for (int i = 0; i < 20000; i++)
                x = x * 1.0000001 + 1e-9;
        sink = x;
    }
}

/* Each rank has a delay of its own. */
static void delay(void)
{
    unsigned how = draw(5), of = draw((unsigned)size), ms = draw(80);
    if ((int)of != rank && how != 4)
        return;
    if (how == 0)
        usleep(ms * 1000);
    else if (how == 1)
        compute(ms);
    else if (how == 2)
        compute_in_team(ms);
    else if (how == 3)
        for (unsigned i = 0; i < ms; i++)
            usleep(1000);
}

static void add(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *length; i++)
        ((double *)inout)[i] += ((double *)in)[i];
    while (hangs_in_operator)
        continue;
    compute(3);
}

/* ---- what they do together */

static void exchange(int with_tests)
{
    static double out[2000], in[2000];
    MPI_Request requests[2];
    int done = 0, to = (rank + 1) % size, from = (rank + size - 1) % size;
    MPI_Irecv(in, 2000, MPI_DOUBLE, from, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, 2000, MPI_DOUBLE, to, 1, MPI_COMM_WORLD, &requests[1]);
    if (!with_tests)
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    while (with_tests && !done) {
        MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE);
        if (with_tests == 2)
            usleep(200);
    }
}

static void serve(void)
{
    int word = rank, flag = 0;
    MPI_Status status;
    if (rank != 0) {
        MPI_Ssend(&word, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
        return;
    }
    for (int n = 1; n < size; n++, flag = 0) {
        while (!flag)
            MPI_Iprobe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &flag, &status);
        MPI_Recv(&word, 1, MPI_INT, status.MPI_SOURCE, 2, MPI_COMM_WORLD, &status);
    }
}

static void pingpong(void)
{
    int ball = 0, other = rank ^ 1;
    for (int i = 0; i < 50 && other < size; i++)
        if (rank < other) {
            MPI_Send(&ball, 1, MPI_INT, other, 3, MPI_COMM_WORLD);
            MPI_Recv(&ball, 1, MPI_INT, other, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(&ball, 1, MPI_INT, other, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(&ball, 1, MPI_INT, other, 3, MPI_COMM_WORLD);
        }
}

static void pass_round(void)
{
    double out = rank, in;
    MPI_Sendrecv(&out, 1, MPI_DOUBLE, (rank + 1) % size, 4, &in, 1, MPI_DOUBLE, (rank + size - 1) % size, 4,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void go_round(void)
{
    double mine = rank, sum[64];
    delay();
    switch (draw(12)) {
    case 0:
        MPI_Barrier(MPI_COMM_WORLD);
        break;
    case 1:
        MPI_Allreduce(&mine, sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        break;
    case 2:
        MPI_Bcast(&mine, 1, MPI_DOUBLE, (int)draw((unsigned)size), MPI_COMM_WORLD);
        break;
    case 3:
        MPI_Allgather(&mine, 1, MPI_DOUBLE, sum, 1, MPI_DOUBLE, MPI_COMM_WORLD);
        break;
    case 4:
        exchange(0);
        break;
    case 5:
        exchange(1);
        break;
    case 6:
        exchange(2);
        break;
    case 7:
        serve();
        break;
    case 8:
        pingpong();
        break;
    case 9:
        pass_round();
        break;
    case 10:
        MPI_Barrier(half);
        break;
    default:
        MPI_Allreduce(&mine, sum, 1, MPI_DOUBLE, slow_sum, MPI_COMM_WORLD);
    }
}

/* ---- how a rank hangs */

static void *lock_and_pause(void *unused)
{
    pthread_mutex_lock(&mutex);
    pause();
    return unused;
}

static void poll_for_ever(void)
{
    int word, flag = 0;
    MPI_Request request;
    MPI_Irecv(&word, 1, MPI_INT, (rank + 1) % size, 77, MPI_COMM_WORLD, &request);
    while (!flag)
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
}

static void hang(const char *way)
{
    int word, flag = 0;
    double mine = 1, sum;
    pthread_t thread;
    if (strcmp(way, "spin") == 0)
        for (;;)
            sink = sink + 1;
    if (strcmp(way, "lock") == 0 || strcmp(way, "join") == 0) {
        pthread_create(&thread, NULL, lock_and_pause, NULL);
        usleep(100000);
        if (strcmp(way, "join") == 0)
            pthread_join(thread, NULL);
        pthread_mutex_lock(&mutex);
    }
    if (strcmp(way, "receive") == 0)
        MPI_Recv(&word, 1, MPI_INT, (rank + 1) % size, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (strcmp(way, "poll") == 0)
        poll_for_ever();
    if (strcmp(way, "probe") == 0)
        while (!flag)
            MPI_Iprobe(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    if (strcmp(way, "clock") == 0)
        while (MPI_Wtime() > 0)
            continue;
    if (strcmp(way, "yield") == 0)
        for (;;)
            sched_yield();
    if (strcmp(way, "finalize") == 0)
        MPI_Finalize();
    if (strcmp(way, "reduce") == 0) {
        hangs_in_operator = 1;
        MPI_Reduce_local(&mine, &sum, 1, MPI_DOUBLE, slow_sum);
    }
    for (;;)
        pause();
}

int main(int argc, char **argv)
{
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    seed = (unsigned)atoi(argv[1]);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Op_create(add, 1, &slow_sum);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int n = 0;; n++) {
        if (n == 20 && rank == 0 && argc == 2 && write(STDOUT_FILENO, "goes on\n", 8) < 0)
            return 9;
        if (argc == 5 && rank == atoi(argv[3]) && n == atoi(argv[4])) {
            if (write(STDOUT_FILENO, "hung\n", 5) < 0)
                return 9;
            hang(argv[2]);
        }
        go_round();
    }
}
