/* An MPI + OpenMP program that never ends, or ends badly. usage: hang HOW, one of the names in `ways`. Rank 1 is the culprit;
 * every rank that stays somewhere says "rank R is there" when it is. Lines with "culprit" are what a post-mortem has to name. */
#include <mpi.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank;

static void say_there(void)
{
    char line[64];
    int length = snprintf(line, sizeof line, "rank %d is there\n", rank);
    if (write(STDOUT_FILENO, line, (size_t)length) < 0)
        _exit(9);
}

static void *say_there_later(void *unused)
{
    usleep(300000); /* the thread that blocks cannot say that it does */
    say_there();
    return unused;
}

static void announce(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, say_there_later, NULL);
    pthread_detach(thread);
}

static __attribute__((noinline)) void wait_for_ever(void)
{
    for (;;)
        pause();
}

static void stay_in_critical(void)
{
#pragma omp parallel num_threads(3)
    {
        if (omp_get_thread_num() == 1) {
#pragma omp critical(stuck)
            {
                announce();
                wait_for_ever(); /* culprit */
            }
        }
#pragma omp barrier
    }
}

static void crash_in_a_thread(void)
{
#pragma omp parallel num_threads(3)
    {
#pragma omp barrier
        if (omp_get_thread_num() == 2) {
#pragma omp critical(dangerous)
            raise(SIGSEGV); /* culprit */
        }
#pragma omp barrier
    }
}

static void wait_in_vain(void)
{
    announce();
    wait_for_ever(); /* culprit of barrier */
}

static void receive_what_nobody_sends(void)
{
    int number;
    announce();
    MPI_Recv(&number, 1, MPI_INT, 2, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* culprit of receive */
}

/* Two threads take two locks in different order. */
static void lock_crosswise(void)
{
    omp_lock_t locks[2];
    omp_init_lock(&locks[0]);
    omp_init_lock(&locks[1]);
#pragma omp parallel num_threads(2)
    {
        int own = omp_get_thread_num();
        omp_set_lock(&locks[own]);
#pragma omp barrier
        if (own == 0)
            announce();
        omp_set_lock(&locks[!own]); /* culprit of deadlock */
    }
}

static volatile int tasks;

/* A task that nobody fulfils the event of. */
static void wait_for_a_task(void)
{
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        omp_event_handle_t event;
#pragma omp task detach(event)
        tasks++;
        announce();
#pragma omp taskwait /* culprit of taskwait */
    }
}

/* Messages too large to be sent before they are received. */
static void send_both(void)
{
    static char sent[4 << 20], received[4 << 20];
    if (rank > 1)
        return;
    announce();
    MPI_Send(sent, sizeof sent, MPI_CHAR, !rank, 5, MPI_COMM_WORLD); /* culprit of send */
    MPI_Recv(received, sizeof received, MPI_CHAR, !rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void call_another_collective(void)
{
    static char much[4 << 20];
    announce();
    MPI_Bcast(much, sizeof much, MPI_CHAR, 1, MPI_COMM_WORLD); /* culprit of mismatch */
    wait_for_ever();
}

static void abort_the_job(void)
{
    MPI_Abort(MPI_COMM_WORLD, 7); /* culprit of abort */
}

static void end_early(void)
{
    _exit(getenv("HANG_STATUS_0") == NULL ? 3 : 0); /* culprit of exit */
}

static void be_killed(void)
{
    raise(SIGKILL); /* as the kernel does where memory is short */
}

static const struct {
    const char *name;
    void (*of_one)(void); /* called by rank 1 */
    void (*of_all)(void); /* called by every rank */
} ways[] = {
    {"barrier", wait_in_vain, NULL},
    {"receive", receive_what_nobody_sends, NULL},
    {"critical", stay_in_critical, NULL},
    {"crash", crash_in_a_thread, NULL},
    {"deadlock", lock_crosswise, NULL},
    {"taskwait", wait_for_a_task, NULL},
    {"send", NULL, send_both},
    {"mismatch", call_another_collective, NULL},
    {"abort", abort_the_job, NULL},
    {"exit", end_early, NULL},
    {"kill", be_killed, NULL},
};

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    for (size_t i = 0; argc > 1 && i < sizeof ways / sizeof *ways; i++) {
        if (strcmp(argv[1], ways[i].name) != 0)
            continue;
        if (rank == 1 && ways[i].of_one != NULL)
            ways[i].of_one();
        if (ways[i].of_all != NULL)
            ways[i].of_all();
    }
    announce();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
