/* One pass over a trace: where it starts, and which processes --rank means. */
#ifndef TG_ANALYZER_TRACE_PASS_H
#define TG_ANALYZER_TRACE_PASS_H

#include "analyzer/selection.h"
#include "format/error.h"
#include "format/trace_reader.h"

#include <stdint.h>

/* The moment that times are relative to: when recording started, else the first event. FIRST may be NULL (an
 * empty trace). */
uint64_t tg_trace_start_ns(const struct tg_trace_reader *reader, const struct tg_event *first);

/*
 * Where SELECTION names ranks, reads the trace at PATH once to find their processes (tg_selection_choose);
 * otherwise does nothing. USAGE error for standard input, which cannot be read twice; a trace that is damaged
 * is read as far as it goes.
 */
struct tg_error *tg_trace_resolve_ranks(const char *path, struct tg_selection *selection);

#endif
