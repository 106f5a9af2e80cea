/* Appends single events to a trace file, in chunks. */
#ifndef TG_FORMAT_TRACE_EVENT_APPENDER_H
#define TG_FORMAT_TRACE_EVENT_APPENDER_H

#include "format/base/error.h"
#include "format/event/event.h"
#include "format/trace/file.h"
#include "format/trace/meta.h"

#include <stdint.h>

struct tg_event_appender;

/* FILE must outlive the appender; NULL: events are only counted. UNITS are those of the file's META. */
struct tg_error *tg_event_appender_create(struct tg_trace_file *file, struct tg_trace_units units,
                                          struct tg_event_appender **appender);
/* Events that were not flushed are dropped. NULL is accepted. */
void tg_event_appender_destroy(struct tg_event_appender *appender);

/* Adds a copy of EVENT. After an error nothing more is added; flush tells it. An event that no chunk can hold
 * is left out and counted. */
void tg_event_appender_add(struct tg_event_appender *appender, const struct tg_event *event);

/* Writes what is still in memory. The first error of all. */
struct tg_error *tg_event_appender_flush(struct tg_event_appender *appender);

struct tg_event_appender_stats {
    uint64_t events; /* added */
    uint64_t left_out;
    uint64_t first_time_ns, last_time_ns; /* the least and the greatest; 0 without any */
};
struct tg_event_appender_stats tg_event_appender_stats(const struct tg_event_appender *appender);

#endif
