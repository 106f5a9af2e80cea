/* The time line of a job: of each thread, how much of each stretch of time it spent in each activity.
 *
 * The stretches (buckets) are equally long for all threads: as short as a microsecond at first; where that takes too much
 * memory, two and two become one, again and again. So an hour of ten thousand ranks and a millisecond of four take the same
 * memory, and one pass over the events is enough. What is closer than a bucket is read from the trace again, from the
 * nearest of a bounded number of marks on. */
#ifndef TG_ANALYZER_PAGE_TIMELINE_H
#define TG_ANALYZER_PAGE_TIMELINE_H

#include "analyzer/page/activity.h"
#include "format/base/error.h"
#include "format/event/event.h"
#include "format/trace/reader.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tg_timeline;

struct tg_timeline_options {
    uint64_t start_ns;  /* of the trace; the first bucket begins there */
    size_t max_buckets; /* in all rows; 0: 6,000,000 (of 8 bytes; there may be room for half as many more) */
    size_t max_mark_states; /* of threads at marks; 0: 4,000,000 (of 8 bytes) */
    size_t max_messages;    /* kept; 0: 500,000 (of 40 bytes); of more, some */
};

/* One thread. */
struct tg_timeline_row {
    size_t process; /* index in the process model */
    int32_t pid, tid;
    uint64_t begin_ns, end_ns; /* END_NS is 0 while it is there */
    tg_activity_state state;
    enum tg_activity last; /* while it was there */
    bool is_shown;         /* some event has shown what it does */
};

/* A message that was received. Indices of rows. */
struct tg_timeline_message {
    size_t from, to;
    uint64_t sent_ns, received_ns;
};

/* Without a row. OPTIONS are copied. Only error: NO_MEMORY. */
struct tg_error *tg_timeline_create(const struct tg_timeline_options *options, struct tg_timeline **timeline);
void tg_timeline_destroy(struct tg_timeline *timeline); /* NULL is accepted */

/* Takes one event of the process with index PROCESS, SIZE_MAX none. Events come in the order of the trace. Only error:
 * NO_MEMORY. */
struct tg_error *tg_timeline_feed(struct tg_timeline *timeline, const struct tg_event *event, size_t process);

/* TIME_NS has come, and nothing more has happened before it: what threads did last goes on. Earlier events may follow
 * nevertheless. */
void tg_timeline_reach(struct tg_timeline *timeline, uint64_t time_ns);

/* A message from thread TID of PROCESS, sent at SENT_NS, was received by thread TO_TID of TO. Threads that have no row are
 * passed over. */
struct tg_error *tg_timeline_take_message(struct tg_timeline *timeline, size_t process, int32_t tid,
                                          uint64_t sent_ns, size_t to, uint64_t received_ns);

/* A place to read on from, asked for when it is time (tg_timeline_wants_mark) after the event fed last. */
bool tg_timeline_wants_mark(const struct tg_timeline *timeline);
struct tg_error *tg_timeline_mark(struct tg_timeline *timeline, struct tg_trace_bookmark bookmark);

/* No window is read closely any more: nothing of the marks is kept. */
void tg_timeline_drop_marks(struct tg_timeline *timeline);

/* What the stretches and the states at marks take. */
size_t tg_timeline_bytes(const struct tg_timeline *timeline);

/* Rows, by indices from 0 on, in the order in which their threads came; a row stays where it is until the next event is fed. */
size_t tg_timeline_count(const struct tg_timeline *timeline);
const struct tg_timeline_row *tg_timeline_at(const struct tg_timeline *timeline, size_t i);
uint64_t tg_timeline_start_ns(const struct tg_timeline *timeline);
uint64_t tg_timeline_end_ns(const struct tg_timeline *timeline); /* of the last event, or reached */
uint64_t tg_timeline_bucket_ns(const struct tg_timeline *timeline);

/* Kept messages, in the order of their receipt; one of each *STRIDE that there were. */
size_t tg_timeline_messages(const struct tg_timeline *timeline, const struct tg_timeline_message **messages,
                            size_t *stride);

/* Time in each activity. */
struct tg_timeline_cell {
    uint64_t ns[TG_ACTIVITY_COUNT]; /* time of NONE is not counted */
};

/* Columns of equal width, from FROM_NS on: the width is a power of two and not less than a bucket. */
struct tg_timeline_columns {
    uint64_t from_ns, width_ns;
    size_t count; /* at most TG_TIMELINE_COLUMNS */
};
enum { TG_TIMELINE_COLUMNS = 4096 };

/* At most WANTED columns of which the first begins at FROM_NS or shortly before, and the last ends at TO_NS or later.
 * SHORTEST_NS is a power of two. */
struct tg_timeline_columns tg_timeline_columns(const struct tg_timeline *timeline, uint64_t from_ns,
                                               uint64_t to_ns, size_t wanted, uint64_t shortest_ns);

/* Adds row I to CELLS, one for each of COLUMNS, whose width is a multiple of the bucket's. */
void tg_timeline_add(const struct tg_timeline *timeline, size_t i, const struct tg_timeline_columns *columns,
                     struct tg_timeline_cell *cells);

/* The mark at or before TIME_NS: where to read on from (*BOOKMARK), the states of the rows then, and how many there were.
 * False: there is none. */
bool tg_timeline_mark_before(const struct tg_timeline *timeline, uint64_t time_ns,
                             struct tg_trace_bookmark *bookmark, const tg_activity_state **states,
                             size_t *n_states, uint64_t *mark_ns);
/* Events between the mark before FROM_NS and TO_NS, about. */
uint64_t tg_timeline_events_between(const struct tg_timeline *timeline, uint64_t from_ns, uint64_t to_ns);

/* The row of thread TID of process id PID at TIME_NS; SIZE_MAX none. */
size_t tg_timeline_find(const struct tg_timeline *timeline, int32_t pid, int32_t tid, uint64_t time_ns);
/* The rows of the process that row I is of, from the first one; SIZE_MAX after the last. */
size_t tg_timeline_next_of_process(const struct tg_timeline *timeline, size_t i);
size_t tg_timeline_first_of_process(const struct tg_timeline *timeline, size_t process);

#endif
