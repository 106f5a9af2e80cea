/* A process that leaves a core file. usage: cores HOW
 * crash: a thread writes to nowhere, while the first one waits for it
 * mutex: two threads wait for each other's mutex; somebody else ends the process by SIGABRT */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_barrier_t both;
static int *volatile nowhere;

static __attribute__((noinline)) void write_to(int *volatile *place, int value)
{
    **place = value; /* culprit of crash */
}

static void *crash(void *unused)
{
    pthread_barrier_wait(&both);
    write_to(&nowhere, 7);
    return unused;
}

static void *lock_both(void *first)
{
    size_t i = first != NULL;
    pthread_mutex_lock(&locks[i]);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&locks[1 - i]); /* culprit of mutex */
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    pthread_barrier_init(&both, NULL, 2);
    int is_crash = argc == 2 && strcmp(argv[1], "crash") == 0;
    pthread_create(&thread, NULL, is_crash ? crash : lock_both, locks);
    printf("ready\n");
    fflush(stdout);
    if (is_crash)
        pthread_barrier_wait(&both);
    else
        lock_both(NULL);
    pthread_join(thread, NULL); /* waits for crash */
    return 0;
}
