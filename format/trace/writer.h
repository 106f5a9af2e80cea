/* Writes a trace: events are encoded where they occur, compressed and written by a thread of the writer's
 * own. */
#ifndef TG_FORMAT_TRACE_WRITER_H
#define TG_FORMAT_TRACE_WRITER_H

#include "format/base/error.h"
#include "format/event/event.h"
#include "format/trace/meta.h"

#include <stdbool.h>

struct tg_chunk_tail;
struct tg_trace_writer;

struct tg_trace_writer_options {
    bool overwrite; /* replace an existing PATH at close; otherwise an existing PATH is TG_ERROR_EXISTS at
                       create */
    int compression_level;      /* zstd level; 0: the default, chosen by measurement (docs/performance.md) */
    uint64_t flush_interval_ms; /* longest time an event stays in memory; 0: 1000 */
    uint64_t max_queue_bytes;   /* bound on memory for encoded events not yet written; 0: 64 MiB */
    /* Observer of the events that are in the file: called in the producer's thread before a chunk can
     * get into the file; N_EVENTS are in the file when it is. WITH_LAST: the event that is being added is the
     * last one of them, otherwise it is none of them. The producer then looks after the flush interval:
     * tg_trace_writer_flush. Must call nothing of the writer. NULL: nobody. */
    void (*sealing)(void *context, uint64_t n_events, bool with_last);
    void *context;
};

struct tg_trace_writer_stats {
    uint64_t events;        /* added and kept, the writer's own loss events among them */
    uint64_t lost_events;   /* added and not kept; a loss event says so in the trace where it still can */
    uint64_t written_bytes; /* file size so far */
};

/* Creates PATH.incomplete (mode 0600 & ~umask) with META in its first section; it becomes PATH at a clean
 * close. Blocks all signals in its thread. Times are rounded as META's time.resolution_ns and
 * stop.resolution_ns say. Errors: OS (cannot create), EXISTS, USAGE (these keys). */
struct tg_error *tg_trace_writer_create(const char *path, const struct tg_trace_writer_options *options,
                                        const struct tg_trace_meta *meta, struct tg_trace_writer **writer);

/* Appends a copy of EVENT. One producer thread. Never fails, blocks on disk or compression, or grows without
 * bound: what cannot be kept is counted. NULL strings are stored as "". Times need not be in order. */
void tg_trace_writer_add(struct tg_trace_writer *writer, const struct tg_event *event);

/* The same for one who adds EVENT again and again, of one thread and kind and without a stop: with the PLACE of the time before,
 * nowhere at first, and says in `changed` what of its payload is other than when PLACE was last given. */
void tg_trace_writer_add_again(struct tg_trace_writer *writer, const struct tg_event *event,
                               struct tg_event_place *place);

/* The tail, format/trace/chunk_tail.h, that such an event may be appended to as well by the producer's thread, as the place of
 * the time before says; NULL: to none at present. Valid as long as WRITER is. */
struct tg_chunk_tail *const *tg_trace_writer_tail(const struct tg_trace_writer *writer);

/* With `sealing`, by the producer's thread: hands what was added to the thread that writes, AT_ONCE
 * or if the flush interval is over. */
void tg_trace_writer_flush(struct tg_trace_writer *writer, bool at_once);

/* How many of the events added and kept so far are in the file. Any thread. */
uint64_t tg_trace_writer_written(struct tg_trace_writer *writer);

/* Whether the thread has fallen behind: more than an eighth of the queue, or 8 chunks, wait for it. What can
 * be held back is better held back then. The producer's thread. */
bool tg_trace_writer_is_behind(struct tg_trace_writer *writer);

/* The error that stopped writing (disk full, I/O), once, else NULL; the caller owns it. Any later call gives
 * NULL. */
struct tg_error *tg_trace_writer_take_error(struct tg_trace_writer *writer);

struct tg_trace_writer_stats tg_trace_writer_stats(struct tg_trace_writer *writer);

/* Flushes, writes the index, renames to PATH. Where writing failed before, the .incomplete file stays,
 * readable up to the last whole chunk, and the error (if not taken yet) comes back. STATS (may be NULL) is
 * filled and WRITER is gone in either case. */
struct tg_error *tg_trace_writer_close(struct tg_trace_writer *writer, struct tg_trace_writer_stats *stats);

/* Without closing: writes what was added, ends the thread, leaves the .incomplete file without an index. NULL
 * is accepted. */
void tg_trace_writer_destroy(struct tg_trace_writer *writer);

#endif
