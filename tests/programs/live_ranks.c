/* For tests of live control: an MPI job, whose ranks have a team of four threads each, which all call
 * before(), work() and after(), ROUNDS times.
 *
 *   live_ranks [ROUNDS [ends | grows | spawns | loads LIBRARY...]]
 *
 * `ends`: between before() and work() the first thread of rank 3 leaves the job, and that of rank 1 executes
 * another program. `grows`: there rank 1 begins a thread and a process, which call after(). `spawns`: rank 0
 * spawns a process that runs this program, the others call meet(), and so do both in the end. `loads`: ranks
 * load each LIBRARY and call its function plug(). */
#include <dlfcn.h>
#include <mpi.h>
#include <omp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int passed;
static const char *how = "";
static int rank, round_number;

__attribute__((noinline)) static void before(int thread)
{
    passed += thread; /* line of before */
}

__attribute__((noinline)) static void work(int thread)
{
    passed += thread; /* line of work */
}

__attribute__((noinline)) static void after(int thread)
{
    passed += thread; /* line of after */
}

__attribute__((noinline)) static void meet(int number)
{
    passed += number; /* line of meet */
}

__attribute__((noinline)) static void loaded(int number)
{
    passed += number; /* line of loaded */
}

static void *come_late(void *argument)
{
    after(*(int *)argument);
    return NULL;
}

__attribute__((noinline)) static void come_anew(int number)
{
    after(number);
}

/* Work of the first thread of a rank alone. */
static void be_special(void)
{
    static int number = 4;
    pthread_t thread;
    if (strcmp(how, "ends") == 0 && rank == 3)
        _exit(0);
    if (strcmp(how, "ends") == 0 && rank == 1)
        execv("/bin/true", (char *[]){"true", NULL});
    if (strcmp(how, "grows") != 0 || rank != 1)
        return;
    if (pthread_create(&thread, NULL, come_late, &number) != 0)
        abort();
    pid_t child = fork();
    if (child == 0) {
        come_anew(5);
        _exit(0);
    }
    after(0);
    pthread_join(thread, NULL);
    waitpid(child, NULL, 0);
}

static void be_team(void)
{
#pragma omp parallel num_threads(4)
    {
        before(omp_get_thread_num());
        if (omp_get_thread_num() == 0)
            be_special();
        work(omp_get_thread_num());
        after(omp_get_thread_num());
    }
}

static void load(const char *library)
{
    void *handle = dlopen(library, RTLD_NOW);
    if (handle == NULL)
        abort();
    int (*plug)(int) = (int (*)(int))dlsym(handle, "plug");
    loaded(rank);
    passed += plug(rank);
}

static void spawn(char *program)
{
    MPI_Comm parent, children;
    MPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL && rank == 0)
        MPI_Comm_spawn(program, (char *[]){"1", "spawns", NULL}, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF,
                       &children, MPI_ERRCODES_IGNORE);
    meet(rank);
}

int main(int argc, char **argv)
{
    int provided, rounds = argc > 1 ? atoi(argv[1]) : 1;
    how = argc > 2 ? argv[2] : "";
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (strcmp(how, "spawns") == 0)
        spawn(argv[0]);
    for (int i = 3; strcmp(how, "loads") == 0 && i < argc; i++)
        load(argv[i]);
    for (round_number = 0; round_number < rounds; round_number++)
        be_team();
    MPI_Finalize();
    return 0;
}
