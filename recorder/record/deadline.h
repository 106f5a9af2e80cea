/* An end to the waits of a thread for its children: waitpid has none of its own. One at a time in each thread. */
#ifndef TG_RECORDER_RECORD_DEADLINE_H
#define TG_RECORDER_RECORD_DEADLINE_H

#include "format/base/error.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

struct tg_deadline {
    timer_t timer;
    sigset_t before; /* the thread's mask */
};

/* In WITHIN_NS a signal interrupts the calling thread, and again every half a millisecond: the first may come right before
 * a wait. OS errors; then there is nothing to end. */
struct tg_error *tg_deadline_begin(struct tg_deadline *deadline, uint64_t within_ns);
void tg_deadline_end(struct tg_deadline *deadline);

/* Whether the calling thread's has passed; of the thread for as long as it lives. */
const atomic_bool *tg_deadline_passed(void);

#endif
