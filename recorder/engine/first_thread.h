/* Signals that natively are the first thread's: the kernel gives a process's signal to its first thread, unless that has blocked
 * it, but to another one while the first is in a stop of ours. A handler that runs there interrupts no call of the first
 * thread. */
#ifndef TG_RECORDER_ENGINE_FIRST_THREAD_H
#define TG_RECORDER_ENGINE_FIRST_THREAD_H

#include "recorder/engine/tracee.h"

#include <signal.h>

/* Sends the signal of INFO, which TRACEE is about to get, to the first thread instead, if it is that one's. Returns whether:
 * TRACEE then gets none. */
bool tg_first_thread_gets(struct tg_tracee *tracee, const siginfo_t *info);

/* TRACEE is about to get the signal of INFO: where it was sent on as above, INFO becomes what it was at first, also for the
 * program. */
void tg_first_thread_has_got(struct tg_tracee *tracee, siginfo_t *info);

#endif
