#include "format/base/signal_name.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

char *tg_signal_name(int64_t number, char *buffer, size_t size)
{
    /* The kernel's real-time signals; the two below glibc's SIGRTMIN belong to its threads. */
    enum { FIRST_REALTIME = 34, LAST_REALTIME = 64 };
    const char *name = number > 0 && number < FIRST_REALTIME ? sigabbrev_np((int)number) : NULL;
    if (name != NULL)
        snprintf(buffer, size, "SIG%s", name);
    else if (number >= FIRST_REALTIME && number <= LAST_REALTIME)
        snprintf(buffer, size, number == FIRST_REALTIME ? "SIGRTMIN" : "SIGRTMIN+%d",
                 (int)(number - FIRST_REALTIME));
    else
        snprintf(buffer, size, "signal %" PRId64, number);
    return buffer;
}
