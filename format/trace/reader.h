/* Reads a trace event by event, in memory that does not depend on its length. */
#ifndef TG_FORMAT_TRACE_READER_H
#define TG_FORMAT_TRACE_READER_H

#include "format/base/error.h"
#include "format/event/event.h"
#include "format/trace/kind_set.h"
#include "format/trace/meta.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tg_trace_reader;

struct tg_trace_summary {
    bool complete;     /* closed cleanly: has an index and nothing is missing */
    bool is_recording; /* not closed, because another process was writing it when it was opened */
    int32_t recorder;  /* process id of the recorder; -1: of another host or pid namespace, 0: none */
    bool truncated;    /* ends inside a chunk; the bytes from damaged_offset on were not used */
    uint64_t damaged_offset;
    uint64_t size_bytes;     /* of the file */
    uint64_t chunks;         /* read so far, or all where the index tells */
    uint64_t events;         /* likewise; those of unknown kinds are among them */
    uint64_t unknown_events; /* of kinds newer than this reader; passed over so far */
    uint64_t lost_events;    /* events that the writer counted as lost, if the index says so */
    uint64_t first_time_ns;  /* 0 where not known yet */
    uint64_t last_time_ns;
};

/* Opens a trace, also one whose writer was killed (NAME.incomplete, or truncated at any byte): what is whole
 * is read, the summary says what is not. "-" is standard input where it is a file or a pipe (no seek then).
 * Errors name the file: NOT_FOUND/OS, INPUT (not a trace, or a byte that cannot be), UNSUPPORTED (newer major
 * version). */
struct tg_error *tg_trace_reader_open(const char *path, struct tg_trace_reader **reader);
void tg_trace_reader_close(struct tg_trace_reader *reader);

/* Valid as long as READER. */
const struct tg_trace_meta *tg_trace_reader_meta(const struct tg_trace_reader *reader);

/* The next event in file order; *EVENT is NULL at the end. The event and all it points to stay valid until
 * the next call. A damaged chunk inside the file is an INPUT error naming file, offset and field (after it
 * the events are at their end), and so is one with a kind that the index by kind does not have there, and the end of a
 * file, read from its beginning, whose index has another number of events; a truncated end is not an error. */
struct tg_error *tg_trace_reader_next(struct tg_trace_reader *reader, const struct tg_event **event);

/* The next events in file order, as many as are at hand, all of one chunk; *COUNT is 0 at the end. Otherwise as the next
 * event. */
struct tg_error *tg_trace_reader_run(struct tg_trace_reader *reader, const struct tg_event **events,
                                     size_t *count);

/* From the next chunk on, passes over the events of kinds that are not WANTED, except those with a stop: chunks that
 * have nothing else are not decoded, and not even read where the index by kind says so. At first every event is
 * wanted. The summary counts all events as before. */
void tg_trace_reader_want(struct tg_trace_reader *reader, struct tg_wanted_kinds wanted);

/* For a reader that goes through a file from front to end: from the second chunk on, N_THREADS threads decompress chunks before
 * their turn. Events, errors and the summary come as before, each in its place. From then on WANTS of the wanted kinds is
 * called from any thread, and the strings (not the lists) of an event stay valid until the chunk after the next is
 * begun. 0 threads, and standard input: as without. The threads take some 6 MB each, end with the reader, and get no signals. */
void tg_trace_reader_read_ahead(struct tg_trace_reader *reader, size_t n_threads);

/* Has WATCH called, with how many bytes of the file are through and how many it has, whenever a chunk begins, and at the end. Not
 * for what has no size. NULL: none. */
void tg_trace_reader_watch(struct tg_trace_reader *reader,
                           void (*watch)(void *context, uint64_t position, uint64_t size), void *context);

/* Continue with the first chunk in file order that can hold events at or after TIME_NS (index, or a scan of
 * chunk headers). UNSUPPORTED on a pipe. */
struct tg_error *tg_trace_reader_seek(struct tg_trace_reader *reader, uint64_t time_ns);

/* A place between two events of a trace. */
struct tg_trace_bookmark {
    uint64_t offset; /* of the chunk that the event before it is in; 0: before the first event */
    uint64_t events; /* of that chunk, how many are before it */
};

/* Position of READER: after the event that was handed out last. Cheap enough to ask at every event. */
struct tg_trace_bookmark tg_trace_reader_tell(const struct tg_trace_reader *reader);

/* Continue behind BOOKMARK, which a reader of the same file told. Decodes at most one chunk. Errors: as for
 * the next event; UNSUPPORTED on a pipe. */
struct tg_error *tg_trace_reader_return(struct tg_trace_reader *reader,
                                        const struct tg_trace_bookmark *bookmark);

/* After the last event it describes the whole trace; before that, what is known without reading on. */
struct tg_trace_summary tg_trace_reader_summary(const struct tg_trace_reader *reader);

#endif
