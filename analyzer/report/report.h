/* The report on a trace: the models fed with all of it, and what it says as text and as JSON. */
#ifndef TG_ANALYZER_REPORT_REPORT_H
#define TG_ANALYZER_REPORT_REPORT_H

#include "analyzer/finding/end_tally.h"
#include "analyzer/job/session_review.h"
#include "analyzer/models/addresses.h"
#include "analyzer/models/heap/model.h"
#include "analyzer/models/library.h"
#include "analyzer/models/load_calls.h"
#include "analyzer/models/mpi/late_sends.h"
#include "analyzer/models/mpi/model.h"
#include "analyzer/models/mpi/places.h"
#include "analyzer/models/mpir.h"
#include "analyzer/models/openmp/statistics.h"
#include "analyzer/models/process.h"
#include "analyzer/models/stacks.h"
#include "analyzer/models/totals.h"
#include "analyzer/output/code_names.h"
#include "analyzer/output/feeder.h"
#include "analyzer/output/progress.h"
#include "analyzer/output/selection.h"
#include "analyzer/verdict/verdict.h"
#include "format/base/error.h"
#include "format/trace/reader.h"

#include <stdbool.h>
#include <stdio.h>

struct tg_report {
    const char *path;
    const struct tg_selection *selection;
    struct tg_trace_reader *reader;
    const struct tg_trace_meta *meta;
    struct tg_trace_summary summary;
    struct tg_error *damage; /* why reading ended before the end of the trace, NULL: it did not */
    uint64_t start_ns;       /* start of the trace: moments are relative to it */
    uint64_t end_ns;         /* time of the last event within the window */
    struct tg_process_model *processes;
    struct tg_library_model *libraries;
    struct tg_load_calls *load_calls;
    struct tg_addresses *addresses; /* while reading */
    struct tg_totals *session;
    struct tg_openmp_statistics *openmp;
    struct tg_mpi_model *mpi;
    struct tg_mpi_places *mpi_places;         /* with strings of the model */
    struct tg_mpi_late_sends *mpi_late_sends; /* likewise */
    struct tg_mpir_model *mpir;
    struct tg_stack_model *stacks;
    struct tg_heap_model *heap;
    struct tg_session_review *control;            /* all processes */
    struct tg_feeder *openmp_feeder, *mpi_feeder; /* while reading, where there are processors for them */
    struct tg_verdict verdict;                    /* empty where all went well */
    struct tg_code_names *names;                  /* NULL: addresses stay numbers */
    struct tg_code_namer namer;                   /* NULL inside: addresses stay numbers */
};

/* A report without events. SELECTION (must outlive it, as PATH must) is started by the caller, who also sets
 * META and the summary. SYMBOLS name code addresses; NULL: they stay numbers. Only error: NO_MEMORY. */
struct tg_error *tg_report_create(const char *path, const struct tg_selection *selection,
                                  const struct tg_command_services *symbols, struct tg_report **report);
/* Takes one event. *ENTRY is its process as for tg_process_model_feed; NULL behind the selection's end. Only
 * error: NO_MEMORY. */
struct tg_error *tg_report_feed(struct tg_report *report, const struct tg_event *event,
                                struct tg_process_entry **entry);
/* The models, for verdicts and for words. */
struct tg_verdict_input tg_report_words(const struct tg_report *report);
/* After the last event: totals and verdict. Only error: NO_MEMORY. */
struct tg_error *tg_report_finish(struct tg_report *report);

/* Reads the trace at PATH. SELECTION (not started yet; must outlive the report, as PATH must): the process
 * model sees everything up to its end, so that it holds the state at that moment; libraries and totals count
 * what it admits; losses and notes always count. A damaged trace is reported as far as it reads. --rank needs
 * a file that can be read twice. SYMBOLS name code addresses; NULL: they stay numbers. PROGRESS may be NULL. Errors: those of
 * the reader's open, NO_MEMORY. */
struct tg_error *tg_report_read(const char *path, struct tg_selection *selection,
                                const struct tg_command_services *symbols, struct tg_progress *progress,
                                struct tg_report **report);
void tg_report_destroy(struct tg_report *report);

/* Nothing was lost: closed cleanly, all of it read and understood, and no loss in it. */
bool tg_report_nothing_lost(const struct tg_report *report);

/* Sentences on what limits the verdict, or which moment it is about, in TEXT; "" where nothing does. Returns TEXT. */
enum { TG_REPORT_RESERVATION = 400 };
const char *tg_report_reservation(const struct tg_report *report, char *text);

/* What is known of the ends of the selected processes. */
struct tg_end_tally tg_report_end_tally(const struct tg_report *report);
/* Whether ENTRY is a selected one, and its end is a bad one. */
bool tg_report_is_abnormal(const struct tg_report *report, const struct tg_process_entry *entry);

struct tg_report_text_options {
    bool all;     /* every process on its own line, every library */
    bool summary; /* one screen instead */
    bool colour;
    size_t columns; /* width that lines fit where that is possible; 0: no limit */
    size_t lines;   /* height of the screen */
};

/* Equal traces give equal bytes. Only error: NO_MEMORY. */
struct tg_error *tg_report_write_text(const struct tg_report *report,
                                      const struct tg_report_text_options *options, FILE *stream);

/* Names and meaning as in tollgate-report(1). Only error: NO_MEMORY. */
struct tg_error *tg_report_write_json(const struct tg_report *report, FILE *stream);

/* How a process ended, in a few words: "exit 0", "SIGSEGV, core dumped". Printable; SIZE at least
 * 64. Returns BUFFER. */
char *tg_report_end(const struct tg_process_entry *entry, char *buffer, size_t size);

#endif
