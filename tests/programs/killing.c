/* Kills its children with SIGKILL at all moments of their lives: while they fork, vfork, create threads,
 * execute programs and exit. `killing ROUNDS SEED` prints "survived ROUNDS" when every descendant has been
 * waited for. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static uint32_t state;

static uint32_t next_random(void)
{
    state = state * 1664525 + 1013904223;
    return state >> 8;
}

/* Breakpoints are planted here. */
__attribute__((noinline)) void spend(uint32_t turns)
{
    for (volatile uint32_t i = 0; i < turns; i++)
        ;
}

static void *in_thread(void *argument)
{
    spend(10);
    return argument;
}

static void create_threads(void)
{
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        if (pthread_create(&threads[i], NULL, in_thread, NULL) != 0)
            _exit(1);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}

static void *fork_in_thread(void *argument)
{
    pid_t child = fork();
    if (child == 0) {
        spend(20);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    return argument;
}

/* Something different in each child, again and again until it is killed. */
_Noreturn static void live(uint32_t what)
{
    for (;;) {
        pid_t child;
        pthread_t thread;
        spend(5);
        switch (what % 5) {
        case 0:
            create_threads();
            break;
        case 1:
            child = fork();
            if (child == 0) {
                spend(20);
                _exit(0);
            }
            waitpid(child, NULL, 0);
            break;
        case 2:
            child = vfork();
            if (child == 0) {
                execl("/proc/self/exe", "killing", "leaf", (char *)NULL);
                _exit(1);
            }
            waitpid(child, NULL, 0);
            break;
        case 3:
            if (pthread_create(&thread, NULL, fork_in_thread, NULL) == 0)
                pthread_join(thread, NULL);
            break;
        default:
            execl("/proc/self/exe", "killing", "live", "4", (char *)NULL);
            _exit(1);
        }
    }
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "leaf") == 0)
        return 0;
    if (argc == 3 && strcmp(argv[1], "live") == 0)
        live((uint32_t)atoi(argv[2]));
    if (argc != 3)
        return 2;
    int rounds = atoi(argv[1]);
    state = (uint32_t)atoi(argv[2]);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (int round = 0; round < rounds; round++) {
        pid_t child = fork();
        if (child == 0)
            live((uint32_t)round);
        usleep(next_random() % 3000);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    while (wait(NULL) > 0 || errno == EINTR)
        ;
    printf("survived %d\n", rounds);
    return 0;
}
