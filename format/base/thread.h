/* Threads that take no signals. */
#ifndef TG_FORMAT_BASE_THREAD_H
#define TG_FORMAT_BASE_THREAD_H

#include "format/base/error.h"

#include <pthread.h>

/* Starts *THREAD, which calls RUN with CONTEXT, and which the caller joins or detaches. All signals are blocked in it from
 * its first instruction on, so that those of the process go to the threads that expect them; the caller's mask stays as it
 * is. ROLE completes "cannot start ..." where no thread can be had: an OS error, and *THREAD is not set. */
struct tg_error *tg_thread_start(void *(*run)(void *context), void *context, const char *role,
                                 pthread_t *thread);

#endif
