/*
 * The recorder's end of the agents' rings: a thread that takes what they hold, puts it in the order of time
 * with the events of the engine, and is the one producer of the trace.
 */
#ifndef TG_RECORDER_AGENT_DRAIN_H
#define TG_RECORDER_AGENT_DRAIN_H

#include "format/error.h"
#include "format/event.h"
#include "recorder/agent_directory.h"
#include "recorder/engine.h"

#include <stdint.h>

struct tg_agent_drain;

struct tg_agent_drain_stats {
    uint64_t losses;       /* loss events among what was handed on */
    uint64_t lost_events;  /* their counts */
    uint64_t records;      /* taken from rings */
    uint64_t out_of_order; /* events that came later than the order could wait for */
    uint64_t programs;     /* in which an agent recorded something */
};

/*
 * Starts the thread, all signals blocked. DIRECTORY must outlive it. SINK runs on that thread from now on,
 * until tg_agent_drain_finish returns.
 */
struct tg_error *tg_agent_drain_create(struct tg_agent_directory *directory, const struct tg_event_sink *sink,
                                       struct tg_agent_drain **drain);

/* Hands over a copy of an event of the engine. One thread; never waits for the disk, never fails: what finds
 * no room is counted and becomes a loss event. */
void tg_agent_drain_add(struct tg_agent_drain *drain, const struct tg_event *event);

/*
 * When everything has ended: takes what the rings still hold, hands on all of it in order, ends the thread.
 * STATS may be NULL. Processes that live on are left alone from here on.
 */
void tg_agent_drain_finish(struct tg_agent_drain *drain, struct tg_agent_drain_stats *stats);

/* Without finish what was not handed on is dropped. NULL is accepted. */
void tg_agent_drain_destroy(struct tg_agent_drain *drain);

#endif
