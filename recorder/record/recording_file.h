/* The trace that a recording writes: without names where that is asked for, with what is counted of it. */
#ifndef TG_RECORDER_RECORD_RECORDING_FILE_H
#define TG_RECORDER_RECORD_RECORDING_FILE_H

#include "format/base/error.h"
#include "format/trace/meta.h"
#include "recorder/record/options.h"

#include <stdbool.h>
#include <stdint.h>

struct tg_recording_file;
struct tg_event;

struct tg_recording_summary {
    uint64_t events;
    uint64_t processes;
    uint64_t written_bytes;
    uint64_t lost_events; /* as far as they were counted */
    uint64_t losses;      /* loss events in the trace */
    bool finished;        /* filled in */
    bool complete;        /* the trace was closed; otherwise PATH.incomplete is what there is */
};

struct tg_recording_file_options {
    const struct tg_record_options *record; /* outlives the file */
    void (*sealing)(void *context, uint64_t n_sealed,
                    bool with_last); /* as the trace's writer has it; NULL: nobody */
    void *context;
    bool
        has_drain; /* an agent's drain hands the events over, and calls tg_recording_file_flush in each round */
};

/* Begins it, with META or, where names are replaced, what is left of that. */
struct tg_error *tg_recording_file_create(const struct tg_recording_file_options *options,
                                          const struct tg_trace_meta *meta, struct tg_recording_file **file);

/* One thread at a time: that of the drain where there is one. What cannot be written is told once, and ends the file there. */
void tg_recording_file_add(struct tg_recording_file *file, const struct tg_event *event);
/* As tg_trace_writer_add_again, for an event of an agent. */
void tg_recording_file_add_again(struct tg_recording_file *file, const struct tg_event *event,
                                 struct tg_event_place *place);

/* As tg_trace_writer_tail; NULL where all events have to be handed over. */
struct tg_chunk_tail *const *tg_recording_file_tail(const struct tg_recording_file *file);

/* Lets out what was handed over: at once where AT_ONCE, or where it is wanted, or where it says who a process is. */
void tg_recording_file_flush(struct tg_recording_file *file, bool at_once);

/* The same at the next tg_recording_file_flush. Any thread. */
void tg_recording_file_want_flush(struct tg_recording_file *file);

bool tg_recording_file_is_behind(
    const struct tg_recording_file *file); /* what was handed over waits to be written */
uint64_t tg_recording_file_events(const struct tg_recording_file *file);
uint64_t tg_recording_file_written(const struct tg_recording_file *file); /* of these */

/* Ends it, which must be the last of it. */
void tg_recording_file_close(struct tg_recording_file *file, struct tg_recording_summary *summary);

/* NULL is accepted. An unfinished recording is worth nothing: the file goes again. */
void tg_recording_file_discard(struct tg_recording_file *file);

#endif
