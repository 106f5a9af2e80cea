/* All rings of a directory: found, emptied, told in the order of time together with the engine's events,
 * closed and removed when nothing comes any more. What could not be read or was lost becomes loss events. */
#ifndef TG_RECORDER_RINGS_RING_SET_H
#define TG_RECORDER_RINGS_RING_SET_H

#include "format/base/error.h"
#include "recorder/engine/engine.h"
#include "recorder/engine/event_queue.h"
#include "recorder/rings/tick_clock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tg_ring_set;

/* The file that a sink's events go to: see format/trace/writer.h. */
struct tg_ring_set_file {
    void *context;
    uint64_t (*n_events)(void *context);  /* kept so far */
    uint64_t (*n_written)(void *context); /* of them in the file */
    void (*flush)(void *context, bool at_once);
    bool (*has_backlog)(void *context); /* chunks wait to be written: the end waits for them */
    bool (*is_behind)(void *context);   /* likewise, or who else is told is: nothing is taken meanwhile */
};

struct tg_ring_set_options {
    int directory_fd;
    const struct tg_tick_clock *clock;
    struct tg_event_queue *queue; /* of the engine's events, may be NULL */
    struct tg_event_sink sink;
    bool salvage; /* rings stay as they are, and where they are; what was taken from them before is told too,
                     as far as it is still there */
    /* The file that SINK's events go to; NULL: rings go as soon as they were read to their end, otherwise
     * when what they held is in the file, and at the end all that are left stay for the directory's owner. */
    const struct tg_ring_set_file *file;
    /* Salvage: what is in the file already is not told again. So many events are, UINT64_MAX: not known;
     * rings for which that does not say where to begin are told from behind AFTER_NS on. */
    uint64_t n_in_file;
    uint64_t after_ns;
    size_t max_bytes;      /* of records held back for the order; 0: 64 MiB */
    uint64_t growth_bytes; /* by so many at most the rings may grow, all of them together */
};

struct tg_ring_set_stats {
    uint64_t records;      /* told */
    uint64_t out_of_order; /* records and events told after something of a later time */
    uint64_t programs;     /* in which an agent recorded something */
    uint64_t rings;        /* read from so far */
    uint64_t unknown;      /* times that something is missing, and not known how much */
    uint64_t living;       /* salvage: rings of processes that go on, and may write to them */
};

/* Result of one round of taking. */
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

/* Takes a piece of each ring of which nothing is held, so that the order gets on by a little. */
struct tg_ring_round tg_ring_set_take_little(struct tg_ring_set *set);

/* FULLEST: how full the fullest ring is, in 1/256; 256 also where too many are left that nobody writes to any more. */
struct tg_ring_set_fill {
    uint64_t bytes; /* in all rings, and taken and not told */
    unsigned fullest;
    /* Of a ring that has something nothing is told yet. Its process may be looked at only then, and should be alive. */
    bool is_new;
};

/* Takes nothing. Rings that fill are let grow, as far as they may. */
struct tg_ring_set_fill tg_ring_set_look(struct tg_ring_set *set);

/* Tells what is not later than UNTIL_NS, at most MAX_RECORDS; returns whether that was all. See
 * tg_event_merge_tell. */
bool tg_ring_set_tell(struct tg_ring_set *set, uint64_t until_ns, uint64_t max_records);

/* What process PID did to its heap since SINCE_NS and is not told yet. */
struct tg_ring_foresight {
    int32_t pid;
    uint64_t since_ns;
    struct tg_event_sink
        sink; /* of the heap's events and of losses: each ring's in its order, one ring after the other */
    uint64_t told_ns; /* the answer: everything up to then was told before */
};

/* After a take, of a process whose threads record nothing any more. False: its rings are not empty yet. */
bool tg_ring_set_foresee(struct tg_ring_set *set, struct tg_ring_foresight *foresight);

/* Closes and removes rings in which nothing comes any more, and looks which processes have gone: to be called
 * now and then, after a round. */
void tg_ring_set_reap(struct tg_ring_set *set);

/* A chunk of N_EVENTS events in all is about to get into the file: struct tg_trace_writer_options. To be
 * called in the sink, or between calls of the set. */
void tg_ring_set_seal(struct tg_ring_set *set, uint64_t n_events, bool with_last);

/* Nothing comes any more: takes and tells everything up to the clock's last pair, closes and removes all
 * rings. */
void tg_ring_set_finish(struct tg_ring_set *set);

/* A loss event of TG_LOSS_RING, now; COUNT 0: not known how many. */
void tg_ring_set_tell_loss(struct tg_ring_set *set, int32_t pid, int32_t tid, uint64_t count,
                           const char *reason);

/* Whether it knows of no ring, retired ones included. */
bool tg_ring_set_is_empty(const struct tg_ring_set *set);

struct tg_ring_set_stats tg_ring_set_stats(const struct tg_ring_set *set);

#endif
