/* Two threads that wait for each other, to step one of them. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_barrier_t gate;
static atomic_int turn;
static volatile int sink;

static void on_signal(int number)
{
    sink += number;
}

static void wait_turn(int n)
{
    while (turn < n)
        usleep(100);
}

static void *second(void *argument)
{
    pthread_barrier_wait(&gate);
    wait_turn(1);
    sink = 1; /* second 2 */
    turn = 2;
    wait_turn(3);
    return argument;
}

static void first(void)
{
    pthread_barrier_wait(&gate);
    turn = 1;                                                    /* first 1 */
    wait_turn(2);                                                /* first 2 */
    sink = getpid();                                             /* first 3 */
    syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGUSR1); /* first 4 */
    sink = 5;                                                    /* first 5 */
    turn = 3;                                                    /* first 6 */
} /* first end */

int main(void)
{
    pthread_t other;
    signal(SIGUSR1, on_signal);
    pthread_barrier_init(&gate, NULL, 2);
    pthread_create(&other, NULL, second, NULL);
    first();
    pthread_join(other, NULL);
    return 0;
}
