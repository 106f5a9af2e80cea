/* What commands need around reading a trace once: its start time, the processes that --rank and --pid name, and a note where the
 * trace has no proper end. */
#ifndef TG_ANALYZER_OUTPUT_TRACE_PASS_H
#define TG_ANALYZER_OUTPUT_TRACE_PASS_H

#include "analyzer/output/progress.h"
#include "analyzer/output/selection.h"
#include "format/base/error.h"
#include "format/trace/reader.h"

#include <stdint.h>
#include <stdio.h>

/* The time in nanoseconds that printed times are relative to: the start of the recording, or, in a trace that does not have
 * it, the time of FIRST, its first event. FIRST is NULL for a trace without events. */
uint64_t tg_trace_start_ns(const struct tg_trace_reader *reader, const struct tg_event *first);

/* Finds the processes of the ranks and process ids in SELECTION, by reading the trace at PATH once (tg_selection_choose).
 * Does nothing if SELECTION names none. A damaged trace is read up to the damage. PROGRESS, which may be NULL, shows how
 * far the reading is. Standard input cannot be read twice: process ids are not checked there. USAGE error: ranks of
 * standard input, or a rank or process that the trace does not have. */
struct tg_error *tg_trace_resolve_processes(const char *path, struct tg_selection *selection,
                                            struct tg_progress *progress);

/* Writes to STREAM, if the trace at PATH was not closed, that it is still being recorded or was interrupted, and up to which time
 * after START_NS it was read. */
void tg_trace_write_extent(FILE *stream, const char *path, const struct tg_trace_summary *summary,
                           uint64_t start_ns);

#endif
