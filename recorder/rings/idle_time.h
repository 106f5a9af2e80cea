/* Processor time that nobody else wants: a thread that the kernel runs only where a processor would be idle (SCHED_IDLE)
 * gives turns to another one. (A thread that changes its own priority down may not change it up again, and what it holds
 * meanwhile others would wait for.) */
#ifndef TG_RECORDER_RINGS_IDLE_TIME_H
#define TG_RECORDER_RINGS_IDLE_TIME_H

#include "format/base/error.h"

#include <stdbool.h>

struct tg_idle_time;

/* CALL, with CONTEXT, is called by that thread when there is a turn. Errors: OS, NO_MEMORY. */
struct tg_error *tg_idle_time_create(void (*call)(void *context), void *context, struct tg_idle_time **idle);
/* CALL is not called any more. NULL is accepted. */
void tg_idle_time_destroy(struct tg_idle_time *idle);

/* Takes the turn; where there is none yet: asks for one, and returns false. One thread. */
bool tg_idle_time_take(struct tg_idle_time *idle);

#endif
