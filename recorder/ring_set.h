/*
 * All rings of a directory: found, emptied, told in the order of time together with the engine's events,
 * closed and removed when nothing comes any more. What could not be read or was lost becomes loss events.
 */
#ifndef TG_RECORDER_RING_SET_H
#define TG_RECORDER_RING_SET_H

#include "format/error.h"
#include "recorder/engine.h"
#include "recorder/event_queue.h"
#include "recorder/tick_clock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tg_ring_set;

struct tg_ring_set_options {
    int directory_fd;
    const struct tg_tick_clock *clock;
    struct tg_event_queue *queue; /* of the engine's events, may be NULL */
    struct tg_event_sink sink;
    bool salvage; /* rings stay as they are, and where they are; what was taken from them before is told too,
                     as far as it is still there */
    uint64_t retire_ns; /* how long the file of a ring that was read to its end stays, at most; 0: it goes at
                           once, else at the end all that are left stay for the directory's owner */
    uint64_t after_ns;  /* salvage: what is not later needs no telling, and is no loss */
    size_t max_bytes;   /* of records held back for the order; 0: 64 MiB */
};

struct tg_ring_set_stats {
    uint64_t records;      /* told */
    uint64_t out_of_order; /* records and events told after something of a later time */
    uint64_t programs;     /* in which an agent recorded something */
    uint64_t rings;        /* read from so far */
};

/* What one round of taking found. */
struct tg_ring_round {
    uint64_t taken_bytes;
    unsigned fullest;  /* of the ring that was fullest, in 1/256 */
    uint64_t order_ns; /* rings that are not empty yet can still bring records that are as early; UINT64_MAX:
                          all are empty */
};

/* Everything in OPTIONS must outlive the set; the clock is asked for what it knows by then. */
struct tg_error *tg_ring_set_create(const struct tg_ring_set_options *options, struct tg_ring_set **set);
/* Leaves the files where they are. NULL is accepted. */
void tg_ring_set_destroy(struct tg_ring_set *set);

/* Looks for new rings. */
void tg_ring_set_scan(struct tg_ring_set *set);

/* Takes what the rings hold, as far as there is memory for it. */
struct tg_ring_round tg_ring_set_take(struct tg_ring_set *set);

/* Tells what is not later than UNTIL_NS, at most MAX_RECORDS; returns whether that was all. See
 * tg_event_merge_tell. */
bool tg_ring_set_tell(struct tg_ring_set *set, uint64_t until_ns, uint64_t max_records);

/* Closes and removes rings in which nothing comes any more, and looks which processes have gone: to be called
 * now and then, after a round. */
void tg_ring_set_reap(struct tg_ring_set *set);

/* Nothing comes any more: takes and tells everything up to the clock's last pair, closes and removes all
 * rings.
 */
void tg_ring_set_finish(struct tg_ring_set *set);

/* A loss event of TG_LOSS_RING, now; COUNT 0: not known how many. */
void tg_ring_set_tell_loss(struct tg_ring_set *set, int32_t pid, int32_t tid, uint64_t count,
                           const char *reason);

struct tg_ring_set_stats tg_ring_set_stats(const struct tg_ring_set *set);

#endif
