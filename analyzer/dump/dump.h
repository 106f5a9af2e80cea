/* The events of a trace one after the other, in a format of choice. */
#ifndef TG_ANALYZER_DUMP_DUMP_H
#define TG_ANALYZER_DUMP_DUMP_H

#include "analyzer/models/process.h"
#include "analyzer/output/code_names.h"
#include "analyzer/output/output_file.h"
#include "analyzer/output/progress.h"
#include "analyzer/output/selection.h"
#include "format/base/error.h"
#include "format/event/event.h"
#include "format/trace/meta.h"
#include "format/trace/reader.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Stream, options and state of a format. */
struct tg_dump {
    FILE *stream;
    const struct tg_trace_meta *meta;
    const struct tg_selection *selection;     /* started */
    struct tg_code_names *names;              /* names of code addresses; NULL: not asked for */
    const struct tg_process_model *processes; /* NULL unless the format, or the selection, needs it */
    uint64_t start_ns;                        /* times are told relative to it */
    bool with_meta;                           /* asked for what the trace says about itself */
    bool colour;
    void *state; /* the format's, from begin to end */
};

/* A format. To add one: fill the struct in analyzer/dump/NAME.c, declare it below, give analyzer/dump/command.c an
 * option for it. Callbacks may be NULL = not interested. */
struct tg_dump_format {
    const char *name;
    bool wants_processes;   /* needs the process model; otherwise ENTRY knows its pid alone. NULL: as
                             tg_process_model_feed says */
    bool knows_ranks_alone; /* of processes; it may be told of events later, on another thread */
    struct tg_error *(*begin)(struct tg_dump *dump);
    struct tg_error *(*event)(struct tg_dump *dump, const struct tg_event *event,
                              const struct tg_process_entry *entry);
    /* An event that the selection leaves out, seen because wants_processes. */
    struct tg_error *(*left_out)(struct tg_dump *dump, const struct tg_event *event,
                                 const struct tg_process_entry *entry);
    /* After the last event, also where reading failed: what was begun is closed, the state is freed. */
    struct tg_error *(*end)(struct tg_dump *dump);
};

extern const struct tg_dump_format tg_dump_text, tg_dump_json, tg_dump_chrome;

struct tg_dump_request {
    const char *path;
    struct tg_selection *selection; /* not started yet */
    const struct tg_dump_format *format;
    bool with_meta;
    bool unlimited; /* goes on where the output is out of all proportion to the trace */
    const struct tg_command_services *symbols; /* for names of code addresses; NULL: they stay numbers */
    struct tg_progress *progress;              /* NULL: none */
};

/* Writes the events of the trace that were asked for to OUTPUT, which is not committed. Stops early where
 * nobody reads any more. Where the trace is damaged, everything before the damage is written, properly
 * closed, and the error comes back in *DAMAGE (owned by the caller; NULL: none). *SUMMARY describes the trace
 * as far as it was read; moments are relative to *START_NS. */
struct tg_error *tg_dump_write(const struct tg_dump_request *request, struct tg_output *output,
                               struct tg_error **damage, struct tg_trace_summary *summary,
                               uint64_t *start_ns);

/* A trace of some kilobytes that unpacks to gigabytes is no recording: whether BYTES of output can come from TRACE_BYTES, 0 not
 * known. */
bool tg_dump_may_write(uint64_t bytes, uint64_t trace_bytes);

#endif
