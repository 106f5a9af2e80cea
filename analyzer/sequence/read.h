/* A sequence diagram of a trace: which process and which part of it matter, and reading that. */
#ifndef TG_ANALYZER_SEQUENCE_READ_H
#define TG_ANALYZER_SEQUENCE_READ_H

#include "analyzer/models/process.h"
#include "analyzer/output/progress.h"
#include "analyzer/output/selection.h"
#include "analyzer/sequence/rows.h"
#include "analyzer/sequence/sequence.h"
#include "format/settings/command.h"
#include "format/trace/reader.h"

enum tg_sequence_by { TG_SEQUENCE_BY_WHAT_MATTERS, TG_SEQUENCE_BY_WORKER, TG_SEQUENCE_BY_RANK };

struct tg_sequence_request {
    const char *path;
    const char *name;               /* of the trace, where PATH is not for people; NULL: it is */
    struct tg_selection *selection; /* not started yet; to_ns is the moment that the state is of */
    enum tg_sequence_by by;
    bool all;
    uint64_t team;                              /* 0: any */
    const struct tg_command_services *services; /* for names of addresses; NULL: they stay numbers */
    uint64_t n_events; /* the state is that behind so many events of the trace; 0: not limited so */
    bool (*is_interrupted)(void); /* NULL: nothing interrupts; else USAGE error "interrupted" */
    struct tg_progress *progress; /* of two passes; NULL: none */
};

/* The diagram with the words for it. */
struct tg_sequence_reading {
    struct tg_sequence *sequence;
    struct tg_sequence_rows rows;
    char *title, *note;              /* printable */
    struct tg_error *damage;         /* why reading stopped early, NULL */
    uint64_t start_ns;               /* moments are relative to it */
    struct tg_trace_summary summary; /* the trace, as far as it was read */
};

/* Reads the trace, twice. Caller's storage. USAGE where what was asked for cannot be; NOT_FOUND where nothing
 * of OpenMP or MPI is there. */
struct tg_error *tg_sequence_read(const struct tg_sequence_request *request,
                                  struct tg_sequence_reading *reading);
void tg_sequence_reading_deinit(struct tg_sequence_reading *reading);

#endif
