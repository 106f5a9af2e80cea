#include "format/base/thread.h"

#include <signal.h>

struct tg_error *tg_thread_start(void *(*run)(void *context), void *context, const char *role,
                                 pthread_t *thread)
{
    sigset_t all, before;
    pthread_t started;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int why = pthread_create(&started, NULL, run, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (why != 0)
        return tg_error_create_errno(why, "cannot start %s", role);
    *thread = started;
    return NULL;
}
