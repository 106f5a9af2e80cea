/* For tests of barriers of live control: processes with teams of threads that go through the same functions.
 *
 *   live_team PROCESSES THREADS [exec | late | lonely | headless | spawns]
 *
 * PROCESSES are this one and its children, THREADS with the first one, which begins last. All call before(),
 * work(), after(). `exec`: then the last process executes another program. `late`: the first thread starts
 * one more, which calls after(), between work() and after(). `lonely`: the last thread leaves after
 * before(). `headless`: the first thread ends before the others call anything. `spawns`: the last thread executes a program
 * in a child of vfork between before() and work(). */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int passed;
static const char *how = "";
static int last_thread;

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

static void *come_late(void *argument)
{
    after(*(int *)argument);
    return NULL;
}

static void spawn(void)
{
    pid_t child = vfork();
    if (child == 0) {
        execl("/bin/true", "true", NULL);
        _exit(1);
    }
    waitpid(child, NULL, 0);
}

static void *take_part(void *argument)
{
    int thread = *(int *)argument;
    pthread_t late;
    before(thread);
    if (strcmp(how, "lonely") == 0 && thread == last_thread)
        return NULL;
    if (strcmp(how, "spawns") == 0 && thread == last_thread)
        spawn();
    work(thread);
    int is_late = strcmp(how, "late") == 0 && thread == 0;
    if (is_late && pthread_create(&late, NULL, come_late, argument) != 0)
        abort();
    after(thread);
    if (is_late)
        pthread_join(late, NULL);
    return NULL;
}

static void be_team(int threads)
{
    pthread_t ids[64];
    static int numbers[64];
    for (int i = 1; i < threads; i++) {
        numbers[i] = i;
        if (pthread_create(&ids[i], NULL, take_part, &numbers[i]) != 0)
            abort();
    }
    if (strcmp(how, "headless") == 0)
        pthread_exit(NULL);
    numbers[0] = 0;
    take_part(&numbers[0]);
    for (int i = 1; i < threads; i++)
        pthread_join(ids[i], NULL);
}

int main(int argc, char **argv)
{
    int processes = argc > 1 ? atoi(argv[1]) : 1, threads = argc > 2 ? atoi(argv[2]) : 1;
    int number = 0;
    how = argc > 3 ? argv[3] : "";
    if (processes < 1 || processes > 64 || threads < 1 || threads > 64)
        return 2;
    last_thread = threads - 1;
    for (int i = 1; i < processes && number == 0; i++)
        if (fork() == 0)
            number = i;
    be_team(threads);
    if (strcmp(how, "exec") == 0 && processes > 1 && number == processes - 1)
        execv("/bin/true", (char *[]){"true", NULL});
    while (number == 0 && wait(NULL) > 0)
        continue;
    return 0;
}
