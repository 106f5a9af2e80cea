/* What one process did to its heap lately, of which nothing is in the trace yet: what became of the blocks in the end. */
#ifndef TG_RECORDER_LEAKS_LIVE_AHEAD_H
#define TG_RECORDER_LEAKS_LIVE_AHEAD_H

#include "recorder/leaks/block_slots.h"

#include <stdbool.h>

/* Zero at first. */
struct tg_live_ahead {
    struct tg_block_slots blocks; /* each as its latest event leaves it: there, or freed */
    bool has_start;               /* of the heap: what is known from before is another program's */
    bool is_sampled, is_late, is_lost;
};

void tg_live_ahead_deinit(struct tg_live_ahead *ahead);

/* In the order of each thread; that of several threads does not matter, for times are looked at. Others than a heap's
 * events and losses are ignored. */
void tg_live_ahead_add(struct tg_live_ahead *ahead, const struct tg_event *event);

#endif
