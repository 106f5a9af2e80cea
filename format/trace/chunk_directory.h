/* Contents of an EVENTS payload and their places: its strings, threads, kinds and columns. */
#ifndef TG_FORMAT_TRACE_CHUNK_DIRECTORY_H
#define TG_FORMAT_TRACE_CHUNK_DIRECTORY_H

#include "format/event/event.h"
#include "format/trace/meta.h"
#include "format/trace/packed_column.h"

struct tg_chunk_thread {
    int32_t pid, tid;
};

/* The columns of one field that this reader knows. */
struct tg_chunk_field {
    const struct tg_field *schema;
    struct tg_packed_column column;   /* of a list: the counts */
    struct tg_packed_column *members; /* of a list, by field of its element */
    uint64_t n_items;                 /* of all lists of the field */
};

/* One kind of the chunk. By thread: a chunk that is, and no list of the kind has an item. */
struct tg_chunk_kind_entry {
    unsigned number;
    const struct tg_record_schema *schema; /* NULL: not known here */
    uint64_t n_events;
    uint64_t n_rows; /* N_EVENTS: a row for each event in turn; fewer: INDEX says which */
    bool indexed;
    bool by_thread; /* rows or indices are in the order of threads, otherwise as recorded */
    struct tg_packed_column index;
    struct tg_packed_column stop; /* of chunks by thread: a value for every event, always in that order */
    struct tg_chunk_field
        fields[TG_EVENT_MAX_FIELDS]; /* fields of the schema; empty where the file lacks them */
};

/* Columns with a value for every event. Those of chunks by thread have no stop, and their kinds are in the
 * order of threads. */
enum { TG_COMMON_KIND, TG_COMMON_THREAD, TG_COMMON_TIME, TG_COMMON_STOP, TG_COMMON_COLUMNS };

/* Caller's storage; all zero at first. It is refilled for chunk after chunk and keeps its memory. */
struct tg_chunk_directory {
    const char **strings;   /* by id; 0 is "" */
    uint32_t *string_bytes; /* lengths of these */
    size_t n_strings, string_capacity, length_capacity;
    struct tg_chunk_thread *threads;
    size_t n_threads, thread_capacity;
    uint32_t *processes; /* of chunks by thread: by thread, index of its process */
    size_t n_processes, process_capacity;
    struct tg_chunk_kind_entry **kinds; /* the first N_KINDS are of this chunk */
    size_t n_kinds, kind_capacity;
    bool by_thread;
    struct tg_trace_units units; /* of chunks by thread */
    struct tg_packed_column common[TG_COMMON_COLUMNS];
};

void tg_chunk_directory_deinit(struct tg_chunk_directory *directory);

/* Reads the directory of a payload with N_EVENTS events; CURSOR is over all of it. Nothing is copied out of
 * the payload: strings and columns point into it. BY_THREAD: the section has TG_SECTION_BY_THREAD. INPUT
 * error where it is not well-formed. */
struct tg_error *tg_chunk_directory_read(struct tg_chunk_directory *directory, struct tg_byte_cursor *cursor,
                                         uint32_t n_events, bool by_thread);

/* INPUT error about a value of COLUMN, which is named by RECORD.FIELD.MEMBER, of which RECORD and MEMBER may
 * be "". */
struct tg_error *tg_chunk_column_error(const struct tg_packed_column *column,
                                       const struct tg_byte_source *source, const char *record,
                                       const char *field, const char *member);

#endif
