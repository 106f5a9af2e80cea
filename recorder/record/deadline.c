#include "recorder/record/deadline.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

/* The engine has SIGRTMAX (recorder/engine/wake.c). */
#define DEADLINE_SIGNAL (SIGRTMAX - 1)

/* Of the thread, not of a deadline: a signal may still come when the timer is no more. */
static _Thread_local atomic_bool passed;

static void pass(int signal)
{
    (void)signal;
    atomic_store(&passed, true);
}

/* Stays: several threads may have a deadline at a time. */
static void take_signal(void)
{
    struct sigaction action = {.sa_handler = pass}; /* no SA_RESTART */
    sigemptyset(&action.sa_mask);
    sigaction(DEADLINE_SIGNAL, &action, NULL);
}

struct tg_error *tg_deadline_begin(struct tg_deadline *deadline, uint64_t within_ns)
{
    static pthread_once_t taken = PTHREAD_ONCE_INIT;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = DEADLINE_SIGNAL};
    event._sigev_un._tid = gettid();
    within_ns += within_ns == 0; /* which would be none */
    const struct itimerspec timer = {
        .it_interval = {.tv_nsec = 500 * 1000},
        .it_value = {.tv_sec = (time_t)(within_ns / 1000000000), .tv_nsec = (long)(within_ns % 1000000000)}};
    sigset_t signal;
    pthread_once(&taken, take_signal);
    atomic_store(&passed, false);
    if (timer_create(CLOCK_MONOTONIC, &event, &deadline->timer) != 0)
        return tg_error_create_errno(errno, "cannot create a timer");
    sigemptyset(&signal);
    sigaddset(&signal, DEADLINE_SIGNAL);
    pthread_sigmask(SIG_UNBLOCK, &signal, &deadline->before);
    timer_settime(deadline->timer, 0, &timer, NULL);
    return NULL;
}

void tg_deadline_end(struct tg_deadline *deadline)
{
    timer_delete(deadline->timer);
    pthread_sigmask(SIG_SETMASK, &deadline->before, NULL);
}

const atomic_bool *tg_deadline_passed(void)
{
    return &passed;
}
