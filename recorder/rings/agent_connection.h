/* All of the agent that one recording has: where its libraries are, the directory of the rings, the clock,
 * and the thread that takes what the rings hold. */
#ifndef TG_RECORDER_RINGS_AGENT_CONNECTION_H
#define TG_RECORDER_RINGS_AGENT_CONNECTION_H

#include "format/base/error.h"
#include "format/trace/meta.h"
#include "recorder/engine/engine.h"
#include "recorder/inject/files.h"
#include "recorder/rings/drain.h"

#include <stdbool.h>
#include <stdint.h>

struct tg_agent_session;

struct tg_agent_session_options {
    uint32_t flags; /* enum tg_agent_flag */
    struct tg_agent_heap heap;
    uint64_t ring_bytes; /* as tg_agent_directory_options */
    const char *trace;   /* as there */
    bool is_redacted;    /* no name may be in any file */
    bool may_be_late;    /* nobody waits for its events: tg_agent_drain_options.growth_bytes */
};

/* Makes the directory; from now on agents may start. Errors say why there can be no agent. */
struct tg_error *tg_agent_session_create(const struct tg_agent_session_options *options,
                                         struct tg_agent_session **session);

/* Adds what a trace says of it: agent.directory, clock.source and clock.ticks_per_second. */
struct tg_error *tg_agent_session_describe(const struct tg_agent_session *session,
                                           struct tg_trace_meta *meta);

/* Begins to hand events to SINK, on a thread of its own; FILE as tg_agent_drain_options. GATES_CALLED is called with
 * SINK's context, on another thread, when workers wait at gates that enough have come to (recorder/agent/contract.h),
 * though what they have recorded may not be told yet; NULL: nobody wants to know. */
struct tg_error *tg_agent_session_start(struct tg_agent_session *session, const struct tg_event_sink *sink,
                                        const struct tg_ring_set_file *file,
                                        void (*gates_called)(void *context));

/* As tg_agent_drain_seal; before the start nothing happens. */
void tg_agent_session_seal(struct tg_agent_session *session, uint64_t n_events, bool with_last);

/* After the start, on one thread: an event of the recorder's own, to be put in order with those of the
 * rings. */
void tg_agent_session_add(struct tg_agent_session *session, const struct tg_event *event);

/* As tg_agent_drain_hold; before the start nothing happens. */
void tg_agent_session_hold(struct tg_agent_session *session, uint64_t from_ns);

/* As tg_agent_drain_settle and tg_agent_drain_foresee, after the start. */
bool tg_agent_session_settle(struct tg_agent_session *session, uint64_t up_to_ns, uint64_t within_ns);
bool tg_agent_session_foresee(struct tg_agent_session *session, struct tg_ring_foresight *foresight,
                              uint64_t within_ns);

/* Hands on everything that the rings still hold. STATS may be NULL. */
void tg_agent_session_finish(struct tg_agent_session *session, struct tg_agent_drain_stats *stats);

/* Removes the directory. NULL is accepted. */
void tg_agent_session_destroy(struct tg_agent_session *session);

/* Valid as long as SESSION. */
const struct tg_agent_files *tg_agent_session_files(const struct tg_agent_session *session);
const struct tg_agent_directory *tg_agent_session_directory(const struct tg_agent_session *session);

#endif
