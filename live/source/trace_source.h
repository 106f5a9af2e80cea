/* A recorded trace as a source of the console. */
#ifndef TG_LIVE_SOURCE_TRACE_SOURCE_H
#define TG_LIVE_SOURCE_TRACE_SOURCE_H

#include "live/source/source.h"

struct tg_trace_source_options {
    uint64_t checkpoint_distance; /* in events; 0: chosen by measurement */
};

/* Opens the trace at PATH, which must be a file: it is read more than once. The source is before the
 * first event. OPTIONS may be NULL. Errors: as tg_trace_reader_open; UNSUPPORTED for standard input. */
struct tg_error *tg_trace_source_create(const char *path, const struct tg_trace_source_options *options,
                                        struct tg_source **source);

#endif
