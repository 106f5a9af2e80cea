#include "live/interrupt.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t pending;
static void (*notify_of)(void *context);
static void *notify_context;
static struct sigaction former;

static void take_signal(int signal)
{
    (void)signal;
    pending = 1;
    if (notify_of != NULL)
        notify_of(notify_context);
}

void tg_interrupt_catch(void (*notify)(void *context), void *context)
{
    struct sigaction action = {.sa_handler = take_signal}; /* no SA_RESTART: reading a line ends */
    notify_of = notify;
    notify_context = context;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, &former);
}

void tg_interrupt_release(void)
{
    sigaction(SIGINT, &former, NULL);
    notify_of = NULL;
    pending = 0;
}

bool tg_interrupt_pending(void)
{
    return pending != 0;
}

void tg_interrupt_clear(void)
{
    pending = 0;
}
