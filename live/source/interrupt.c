#include "live/source/interrupt.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t pending;
static void (*volatile notify_of)(void *context);
static void *volatile notify_context;
static unsigned depth;
static struct sigaction former;

static void take_signal(int signal)
{
    (void)signal;
    pending = 1;
    if (notify_of != NULL)
        notify_of(notify_context);
}

void tg_interrupt_catch(void)
{
    struct sigaction action = {.sa_handler = take_signal}; /* no SA_RESTART: reading a line ends */
    if (depth++ > 0)
        return;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, &former);
}

void tg_interrupt_release(void)
{
    if (--depth > 0)
        return;
    bool came_late = pending != 0;
    pending = 0;
    sigaction(SIGINT, &former, NULL);
    if (came_late) /* nobody has made anything of it */
        raise(SIGINT);
}

void tg_interrupt_notify(void (*notify)(void *context), void *context)
{
    notify_of = NULL; /* never one's function with another's context */
    notify_context = context;
    notify_of = notify;
}

bool tg_interrupt_pending(void)
{
    return pending != 0;
}

void tg_interrupt_clear(void)
{
    pending = 0;
}
