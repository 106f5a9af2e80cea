/* Moments of a trace that are kept, so that going back does not read from the start: some at even distances,
 * ever larger ones the longer the trace is, and a few close to where one last went. Memory is bounded. */
#ifndef TG_LIVE_SOURCE_CHECKPOINTS_H
#define TG_LIVE_SOURCE_CHECKPOINTS_H

#include "format/base/error.h"
#include "format/trace/reader.h"
#include "live/source/moment.h"

#include <stdint.h>

struct tg_checkpoint {
    uint64_t number;                       /* of the event that it is behind, from 1 */
    uint64_t latest_ns;                    /* greatest time of the events up to it */
    struct tg_trace_bookmark before_event; /* start of that event */
    struct tg_moment *moment;
    uint64_t size_bytes; /* of the moment, about */
};

struct tg_checkpoints;

/* DISTANCE: events between the first even ones, 0: as many as measured to be worth it. */
struct tg_error *tg_checkpoints_create(uint64_t distance, struct tg_checkpoints **checkpoints);
void tg_checkpoints_destroy(struct tg_checkpoints *checkpoints); /* NULL is accepted */

/* One is going from NOW to the event TARGET: places shortly before it are worth keeping. */
void tg_checkpoints_aim(struct tg_checkpoints *checkpoints, uint64_t now, uint64_t target);

/* The number of the next event, at or after NOW, that is worth a checkpoint. */
uint64_t tg_checkpoints_next(const struct tg_checkpoints *checkpoints, uint64_t now);

/* Keeps a copy of CHECKPOINT's moment where NUMBER is wanted; what is too large is not kept. Only error:
 * NO_MEMORY, which leaves what was kept. */
struct tg_error *tg_checkpoints_add(struct tg_checkpoints *checkpoints,
                                    const struct tg_checkpoint *checkpoint);

/* The last one that is not behind event NUMBER; NULL where there is none. Valid until the next add. */
const struct tg_checkpoint *tg_checkpoints_by_event(const struct tg_checkpoints *checkpoints,
                                                    uint64_t number);
/* The last one before which nothing is later than TIME_NS. */
const struct tg_checkpoint *tg_checkpoints_by_time(const struct tg_checkpoints *checkpoints,
                                                   uint64_t time_ns);

#endif
