/* The recorder's end of the agents' rings: a thread that takes what they hold, puts it in the order of time
 * with the events of the engine, and is the one producer of the trace. */
#ifndef TG_RECORDER_RINGS_DRAIN_H
#define TG_RECORDER_RINGS_DRAIN_H

#include "format/base/error.h"
#include "format/event/event.h"
#include "recorder/engine/engine.h"
#include "recorder/rings/directory.h"
#include "recorder/rings/ring_set.h"
#include "recorder/rings/tick_clock.h"

#include <stdbool.h>
#include <stdint.h>

struct tg_agent_drain;

struct tg_agent_drain_options {
    struct tg_agent_directory *directory;
    struct tg_tick_clock *clock; /* with its first pair, taken before any agent started */
    struct tg_event_sink sink;   /* runs on the drain's thread, until tg_agent_drain_finish returns */
    /* File of SINK's events, NULL: none. While that is behind nothing is taken, rings fill, and
     * their threads wait (or lose, with TG_AGENT_LOSSY). */
    const struct tg_ring_set_file *file;
    /* Nobody waits for the events: while the job needs all processors, rings grow, by as many bytes as this in all, and what is
     * in them is told when a processor is idle, when they fill, or at the end. 0: everything is told as soon as possible. */
    uint64_t growth_bytes;
};

struct tg_agent_drain_stats {
    uint64_t records;      /* of rings */
    uint64_t rings;        /* rings read */
    uint64_t programs;     /* in which an agent recorded something */
    uint64_t out_of_order; /* records and events that came later than the order could wait for */
};

/* How long an event may come after its time and still be put in order. */
extern const uint64_t tg_agent_drain_hold_ns;

/* Starts the thread, all signals but those of faults blocked. What OPTIONS names must outlive it. */
struct tg_error *tg_agent_drain_create(const struct tg_agent_drain_options *options,
                                       struct tg_agent_drain **drain);

/* Hands over a copy of an event of the engine. One thread; never waits for the disk, never fails: what finds
 * no room is counted and becomes a loss event. */
void tg_agent_drain_add(struct tg_agent_drain *drain, const struct tg_event *event);

/* As tg_ring_set_seal; on the thread of the sink, or after tg_agent_drain_finish. */
void tg_agent_drain_seal(struct tg_agent_drain *drain, uint64_t n_events, bool with_last);

/* From now on events of times from TIME_NS on may still be added, however late it is: a stop is being worked
 * on. UINT64_MAX: none. Any thread. */
void tg_agent_drain_hold(struct tg_agent_drain *drain, uint64_t time_ns);

/* Waits, WITHIN_NS at most, until everything that came before UP_TO_NS, now at the latest, is told, or no more of it can be;
 * of times from the one on that tg_agent_drain_hold said nothing is. Returns whether it was. One thread, not that of the
 * sink. */
bool tg_agent_drain_settle(struct tg_agent_drain *drain, uint64_t up_to_ns, uint64_t within_ns);

/* The same for the heap of one process whose threads have all stopped for good: FORESIGHT's sink runs on the drain's thread
 * before this returns, and nothing has to wait for other processes. */
bool tg_agent_drain_foresee(struct tg_agent_drain *drain, struct tg_ring_foresight *foresight,
                            uint64_t within_ns);

/* When everything has ended: takes what the rings still hold, hands on all of it in order, ends the thread.
 * STATS may be NULL. Processes that live on are left alone from here on. */
void tg_agent_drain_finish(struct tg_agent_drain *drain, struct tg_agent_drain_stats *stats);

/* Without finish what was not handed on is dropped. NULL is accepted. */
void tg_agent_drain_destroy(struct tg_agent_drain *drain);

#endif
