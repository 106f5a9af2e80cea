/* What flows from the engine and the agents to the file of a recording.
 *
 * Without an agent the tracer's thread writes what the engine emits. With one, all goes through the agent's
 * drain, which puts it in order and is the one to write. */
#ifndef TG_RECORDER_RECORD_RECORDING_FLOW_H
#define TG_RECORDER_RECORD_RECORDING_FLOW_H

#include "recorder/engine/engine.h"
#include "recorder/rings/agent_connection.h"

#include <stdint.h>

struct tg_recording;

/* CONTEXT is the struct tg_recording in all that follows, so that each can be a callback. */

/* To the file, and to those who want to know of what is written; as `add` of struct tg_event_sink, on the thread that writes. */
void tg_recording_add(void *context, const struct tg_event *event);
/* The same as its `add_again`: never for stacks of heaps. */
void tg_recording_add_again(void *context, const struct tg_event *event, struct tg_event_place *place);

/* What the engine emits; on the tracer's thread. When the trace is closed it is dropped: commands can still be given then. */
void tg_recording_take(void *context, const struct tg_event *event);
/* As `hold` of struct tg_engine_options. */
void tg_recording_hold(void *context, uint64_t from_ns);

/* Answers to the agent's drain about the file; valid as long as the recording. */
struct tg_ring_set_file tg_recording_file_access(struct tg_recording *recording);

/* Tells TEXT to the person who records, and to the trace; on the tracer's thread. */
void tg_recording_note(void *context, const char *text);

#endif
