/* Puts what comes from many rings, and the events of the engine, in the order of time. Each ring is a
 * sequence of its own, taken over in blocks; what is told at what time is up to the caller. */
#ifndef TG_RECORDER_RINGS_EVENT_MERGE_H
#define TG_RECORDER_RINGS_EVENT_MERGE_H

#include "format/base/error.h"
#include "format/event/event.h"
#include "recorder/engine/event_queue.h"
#include "recorder/rings/tick_clock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tg_event_merge;
struct tg_merge_ring;

/* Records of one ring that may be told one after the other: where its teller is by now. */
struct tg_merge_run {
    void *source;            /* as the ring was added */
    const uint64_t *records; /* the next one, ... */
    size_t n_words;          /* ... and how much follows with it */
    uint64_t end_ticks;      /* none of later ticks, ... */
    uint64_t end_ns;         /* ... nor of this time or a later one, ... */
    uint64_t last_ns;        /* ... nor of an earlier one than what was told last */
    struct tg_tick_line line;
    uint64_t n_told;
    size_t n_told_words;
    bool is_refused; /* the next one is to be told by itself */

    /* the merge's */
    struct tg_event_merge *merge;
    uint64_t until_ticks, max_records; /* of all rings */
};

/* Whether the next one may be told, at *TIME_NS. */
static inline bool tg_merge_run_next(const struct tg_merge_run *run, uint64_t *time_ns)
{
    if (run->n_words == 0 || run->records[0] > run->end_ticks ||
        !tg_tick_line_has(&run->line, run->records[0]))
        return false;
    *time_ns = tg_tick_line_time(&run->line, run->records[0]);
    return *time_ns < run->end_ns && *time_ns >= run->last_ns;
}

/* The next one, of N_WORDS, was told. */
static inline void tg_merge_run_told(struct tg_merge_run *run, size_t n_words, uint64_t time_ns)
{
    run->records += n_words;
    run->n_words -= n_words;
    run->n_told_words += n_words;
    run->n_told++;
    run->last_ns = time_ns;
}

/* RUN, of which something was told, becomes the one that is next, of another ring or the same. False: there is none, or its first
 * record repeats none or was refused; RUN is empty then. */
bool tg_merge_run_turn(struct tg_merge_run *run);

/* Receiver of the records. RECORD may be changed until the call returns; SOURCE is what the ring was added
 * with. */
struct tg_merge_sink {
    void *context;
    void (*record)(void *context, void *source, uint64_t time_ns, uint64_t *record);
    /* Takes as many of RUN, whose first one repeats another, as it likes, and of those that tg_merge_run_turn goes on with; the
     * next one is told by RECORD. NULL: all are. */
    void (*run)(void *context, struct tg_merge_run *run);
    void (*event)(void *context, const struct tg_event *event);
};

struct tg_merge_stats {
    uint64_t records;      /* told */
    uint64_t events;       /* of the queue, told */
    uint64_t out_of_order; /* told after something of a later time */
    size_t held_bytes;     /* of records, not told yet */
};

/* CLOCK and QUEUE (may be NULL) must outlive it. */
struct tg_error *tg_event_merge_create(const struct tg_tick_clock *clock, struct tg_event_queue *queue,
                                       const struct tg_merge_sink *sink, struct tg_event_merge **merge);
/* With all its rings and what they hold. NULL is accepted. */
void tg_event_merge_destroy(struct tg_event_merge *merge);

struct tg_error *tg_event_merge_add_ring(struct tg_event_merge *merge, void *source,
                                         struct tg_merge_ring **ring);
/* One that holds nothing. */
void tg_event_merge_remove_ring(struct tg_event_merge *merge, struct tg_merge_ring *ring);
bool tg_merge_ring_is_empty(const struct tg_merge_ring *ring);

/* Room for records that will be added next, of *SIZE bytes. What fills more than half of it is taken over as it is. Valid
 * until then. */
uint64_t *tg_event_merge_room(struct tg_event_merge *merge, size_t *size);

/* Takes over SIZE bytes of RECORDS as tg_ring_reader_take gives them, which may be at the beginning of that room, and the latest
 * of which is of LAST_TICKS. Without memory they are not taken: an error. */
struct tg_error *tg_event_merge_add(struct tg_event_merge *merge, struct tg_merge_ring *ring,
                                    const uint64_t *records, size_t size, uint64_t last_ticks);

/* The latest time of what RING was given since it was empty, by the clock as it is now; 0 where it holds
 * nothing. Telling up to there empties it. */
uint64_t tg_event_merge_last_ns(const struct tg_event_merge *merge, const struct tg_merge_ring *ring);

/* Calls RECORD for what RING holds of times from SINCE_NS on, which stays as it is; in the order of the ring. */
void tg_event_merge_visit(const struct tg_event_merge *merge, const struct tg_merge_ring *ring,
                          uint64_t since_ns,
                          void (*record)(void *context, uint64_t time_ns, const uint64_t *record),
                          void *context);

/* Tells in order of time what is not later than UNTIL_NS, an event before records of the same time, at most
 * MAX_RECORDS records. Returns whether all of it was told. UNTIL_NS must not be beyond the clock's last pair:
 * lines between pairs do not change any more, those beyond the last one do. UINT64_MAX: everything, at the
 * end. */
bool tg_event_merge_tell(struct tg_event_merge *merge, uint64_t until_ns, uint64_t max_records);

/* The latest time that was told, 0: nothing was. */
uint64_t tg_event_merge_told_ns(const struct tg_event_merge *merge);

struct tg_merge_stats tg_event_merge_stats(const struct tg_event_merge *merge);

#endif
