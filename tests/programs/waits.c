/* Waits in many ways, each of which a tracer can disturb, and says how often one ended before its time.
 * usage: waits SECONDS */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

static atomic_int disturbed;
static int ended; /* eventfd that becomes readable at the end */
static sem_t semaphore;

static void *wait_by_epoll(void *unused)
{
    struct epoll_event event = {.events = EPOLLIN};
    int fd = epoll_create1(0);
    epoll_ctl(fd, EPOLL_CTL_ADD, ended, &event);
    disturbed += epoll_wait(fd, &event, 1, -1) != 1;
    return unused;
}

static void *wait_by_poll(void *unused)
{
    struct pollfd fd = {.fd = ended, .events = POLLIN};
    disturbed += poll(&fd, 1, -1) != 1;
    return unused;
}

static void *wait_by_semaphore(void *unused)
{
    disturbed += sem_wait(&semaphore) != 0;
    return unused;
}

static void *wait_by_signal(void *unused)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    disturbed += sigwaitinfo(&set, NULL) != SIGUSR1;
    return unused;
}

static void *sleep_for(void *seconds)
{
    const struct timespec time = {.tv_sec = *(const int *)seconds};
    disturbed += nanosleep(&time, NULL) != 0;
    return NULL;
}

int main(int argc, char **argv)
{
    int seconds = argc > 1 ? atoi(argv[1]) : 1;
    void *(*const ways[])(void *) = {wait_by_epoll, wait_by_poll, wait_by_semaphore, wait_by_signal,
                                     sleep_for};
    pthread_t threads[5];
    sigset_t set;
    uint64_t one = 1;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    ended = eventfd(0, 0);
    sem_init(&semaphore, 0, 0);
    for (int i = 0; i < 5; i++)
        pthread_create(&threads[i], NULL, ways[i], &seconds);
    puts("ready");
    fflush(stdout);
    pthread_join(threads[4], NULL);
    if (write(ended, &one, sizeof one) != sizeof one)
        return 1;
    sem_post(&semaphore);
    pthread_kill(threads[3], SIGUSR1);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    printf("disturbed %d\n", (int)disturbed);
    return 0;
}
