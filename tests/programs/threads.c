/* Threads in all stages of life, one scenario a run: storm, zombie-leader, exec-from-thread, exec-storm,
 * exit-in-thread, fork-in-thread, killed. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_long total;

static void *add_one(void *argument)
{
    atomic_fetch_add(&total, 1);
    return argument;
}

static void *spawn_more(void *argument)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, add_one, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    return add_one(argument);
}

static int storm(void)
{
    for (int round = 0; round < 20; round++) {
        pthread_t threads[8];
        for (int i = 0; i < 8; i++)
            pthread_create(&threads[i], NULL, spawn_more, NULL);
        for (int i = 0; i < 8; i++)
            pthread_join(threads[i], NULL);
    }
    printf("threads: %ld\n", atomic_load(&total));
    return 5;
}

static void *outlive(void *argument)
{
    char path[64], line[256] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)getpid());
    for (;;) { /* until the leader is a zombie */
        FILE *file = fopen(path, "r");
        char *end = file != NULL && fgets(line, sizeof line, file) != NULL ? strrchr(line, ')') : NULL;
        if (file != NULL)
            fclose(file);
        if (end != NULL && end[2] == 'Z')
            break;
        usleep(200);
    }
    pid_t child = fork();
    if (child == 0)
        _exit(6);
    int status;
    waitpid(child, &status, 0);
    printf("leader is gone, child said %d\n", WEXITSTATUS(status));
    fflush(stdout);
    if (argument != NULL)
        exit(7);
    return NULL; /* the last thread: the process ends with the leader's status 0 */
}

_Noreturn static void zombie_leader(void *argument)
{
    pthread_t thread;
    pthread_create(&thread, NULL, outlive, argument);
    pthread_exit(NULL);
}

static void *spin(void *argument)
{
    for (;;)
        atomic_fetch_add(&total, 1);
    return argument;
}

static void *sleep_for_ever(void *argument)
{
    for (;;)
        pause();
    return argument;
}

static const char *self;

static void *exec_self(void *argument)
{
    const char *left = argument;
    execl(self, self, left == NULL ? "end" : "exec-storm", left, (char *)NULL);
    return NULL;
}

static void start_company(void)
{
    pthread_t thread;
    for (int i = 0; i < 3; i++)
        pthread_create(&thread, NULL, spin, NULL);
    for (int i = 0; i < 3; i++)
        pthread_create(&thread, NULL, sleep_for_ever, NULL);
    while (atomic_load(&total) == 0)
        ;
}

static int exec_from_thread(void)
{
    pthread_t thread;
    start_company();
    pthread_create(&thread, NULL, exec_self, NULL);
    pthread_join(thread, NULL);
    return 1;
}

/* Executes itself from a thread again and again; the pid stays. */
/* Breakpoints are planted here. */
__attribute__((noinline)) static void turn(int left)
{
    char text[16];
    snprintf(text, sizeof text, "%d", left - 1);
    execl(self, self, "exec-loop", text, (char *)NULL);
}

static int exec_loop(int left)
{
    if (left > 0)
        turn(left);
    return left == 0 ? 9 : 1;
}

static int exec_storm(int left)
{
    static char text[16];
    if (left == 0) {
        printf("the storm is over\n");
        return 8;
    }
    snprintf(text, sizeof text, "%d", left - 1);
    pthread_t thread;
    start_company();
    pthread_create(&thread, NULL, exec_self, text);
    for (;;)
        pause();
}

static void *exit_process(void *argument)
{
    (void)argument;
    printf("a thread ends the process\n");
    exit(9);
}

_Noreturn static void exit_in_thread(void)
{
    pthread_t thread;
    start_company();
    pthread_create(&thread, NULL, exit_process, NULL);
    for (;;)
        pause();
}

static void *fork_here(void *argument)
{
    int *statuses = argument;
    pid_t child = fork();
    if (child == 0)
        _exit(10);
    waitpid(child, statuses, 0);
    return NULL;
}

static int fork_in_threads(void)
{
    pthread_t threads[6];
    int statuses[6], sum = 0;
    start_company();
    for (int i = 0; i < 6; i++)
        pthread_create(&threads[i], NULL, fork_here, &statuses[i]);
    for (int i = 0; i < 6; i++) {
        pthread_join(threads[i], NULL);
        sum += WEXITSTATUS(statuses[i]);
    }
    printf("children of threads: %d\n", sum);
    return 10;
}

static int killed(void)
{
    start_company();
    raise(SIGKILL);
    return 1;
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    self = argv[0];
    const char *scenario = argc > 1 ? argv[1] : "";
    if (strcmp(scenario, "storm") == 0)
        return storm();
    if (strcmp(scenario, "zombie-leader") == 0)
        zombie_leader(NULL);
    if (strcmp(scenario, "zombie-leader-exit") == 0)
        zombie_leader(argv);
    if (strcmp(scenario, "exec-from-thread") == 0)
        return exec_from_thread();
    if (strcmp(scenario, "exec-loop") == 0)
        return exec_loop(argc > 2 ? atoi(argv[2]) : 10);
    if (strcmp(scenario, "exec-storm") == 0)
        return exec_storm(argc > 2 ? atoi(argv[2]) : 10);
    if (strcmp(scenario, "exit-in-thread") == 0)
        exit_in_thread();
    if (strcmp(scenario, "fork-in-threads") == 0)
        return fork_in_threads();
    if (strcmp(scenario, "killed") == 0)
        return killed();
    if (strcmp(scenario, "end") == 0) {
        printf("executed by a thread\n");
        return 11;
    }
    return 2;
}
