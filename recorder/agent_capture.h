/*
 * What a recording with agents has beside the engine: the directory of their rings, their clock, and the
 * thread that reads them. Made before the trace file (whose meta it describes), started when the file is
 * there, ended before the file is closed.
 */
#ifndef TG_RECORDER_AGENT_CAPTURE_H
#define TG_RECORDER_AGENT_CAPTURE_H

#include "format/error.h"
#include "format/event.h"
#include "format/trace_meta.h"
#include "recorder/agent_drain.h"
#include "recorder/engine.h"

#include <stdbool.h>
#include <stdint.h>

struct tg_agent_capture;

/* FLAGS are of enum tg_agent_flag, RING_BYTES and TRACE as in struct tg_agent_directory_options. */
struct tg_error *tg_agent_capture_create(uint32_t flags, uint64_t ring_bytes, const char *trace,
                                         struct tg_agent_capture **capture);

/* What TG_AGENT_VARIABLE has to say; valid as long as CAPTURE. */
const char *tg_agent_capture_directory(const struct tg_agent_capture *capture);

/* Adds agent.directory, clock.source and clock.ticks_per_second. */
struct tg_error *tg_agent_capture_describe(const struct tg_agent_capture *capture,
                                           struct tg_trace_meta *meta);

/* From now on SINK is called by a thread of the capture's, and by nobody else. IS_BEHIND as in struct
 * tg_agent_drain_options, with SINK's context. */
struct tg_error *tg_agent_capture_start(struct tg_agent_capture *capture, const struct tg_event_sink *sink,
                                        bool (*is_behind)(void *context));

/* Where the engine's events go (struct tg_engine_options.sink): copied, and told in order with the agents'.
 * Only between the start and the finish. Its context is CAPTURE. */
struct tg_event_sink tg_agent_capture_sink(struct tg_agent_capture *capture);

/* When nothing is traced any more: hands on what is left. STATS may be NULL. */
void tg_agent_capture_finish(struct tg_agent_capture *capture, struct tg_agent_drain_stats *stats);

/* Removes the directory. NULL is accepted. */
void tg_agent_capture_destroy(struct tg_agent_capture *capture);

#endif
