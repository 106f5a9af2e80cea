/* One pass over a trace: where it starts, and which processes --rank and --pid mean. */
#ifndef TG_ANALYZER_OUTPUT_TRACE_PASS_H
#define TG_ANALYZER_OUTPUT_TRACE_PASS_H

#include "analyzer/output/progress.h"
#include "analyzer/output/selection.h"
#include "format/base/error.h"
#include "format/trace/reader.h"

#include <stdint.h>
#include <stdio.h>

/* The moment that times are relative to: when recording started, else the first event. FIRST may be NULL (an
 * empty trace). */
uint64_t tg_trace_start_ns(const struct tg_trace_reader *reader, const struct tg_event *first);

/* If SELECTION names ranks or processes, reads the trace at PATH once to find them (tg_selection_choose);
 * otherwise does nothing. USAGE error for ranks of standard input, which cannot be read twice (process ids go
 * unchecked there), and where there is no such process; a trace that is damaged is read as far as it goes. PROGRESS may be NULL. */
struct tg_error *tg_trace_resolve_processes(const char *path, struct tg_selection *selection,
                                            struct tg_progress *progress);

/* For commands: says on STREAM that the trace at PATH is still being recorded, or that its recording was
 * interrupted, and how far it was read. Nothing of a trace that was closed. */
void tg_trace_write_extent(FILE *stream, const char *path, const struct tg_trace_summary *summary,
                           uint64_t start_ns);

#endif
