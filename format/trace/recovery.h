/* Makes a clean trace of one that was interrupted or damaged. */
#ifndef TG_FORMAT_TRACE_RECOVERY_H
#define TG_FORMAT_TRACE_RECOVERY_H

#include "format/base/error.h"
#include "format/event/event.h"
#include "format/trace/meta.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the file that nothing could be made of, or sections that are not there. */
struct tg_recovery_gap {
    uint64_t offset;
    uint64_t size_bytes; /* 0: nothing but missing sections */
    uint64_t sections;   /* sections that were in it, by the numbers of those around it; 0 not known */
    uint64_t events;     /* events that were in it, as far as headers told; 0 not known */
    bool has_after_ns, has_before_ns;
    uint64_t after_ns;  /* last time of the chunk before */
    uint64_t before_ns; /* first time of the chunk behind; without: up to the end of the recording */
    bool at_end;        /* nothing whole comes behind it */
};

enum { TG_RECOVERY_MAX_GAPS = 1000 };

/* What is known after a rest was told. */
enum tg_recovery_extent {
    TG_RECOVERY_UNKNOWN, /* nothing, or not all that there was */
    TG_RECOVERY_SO_FAR, /* all that agents recorded until now, or how much of that is lost; their programs run on */
    TG_RECOVERY_ALL, /* all that agents recorded, or how much of that is lost */
};

/* Free with tg_recovery_deinit. */
struct tg_recovery {
    bool was_whole; /* closed cleanly and nothing damaged: recovery was not needed */
    bool has_index; /* the recording was closed cleanly */
    int32_t
        recorder; /* process that still records the file (then only looked at); -1: on another host; 0 none */
    bool meta_lost;          /* the trace's metadata was damaged */
    uint64_t chunks, events; /* kept */
    uint64_t skipped_bytes;
    uint64_t size_bytes;                  /* of the damaged file */
    uint64_t rest_events;                 /* events that were not in the file: struct tg_recovery_rest */
    uint64_t lost_events;                 /* lost as the writer counted, by the index or the loss events */
    uint64_t start_ns;                    /* when the recording began, or the first event */
    uint64_t first_time_ns, last_time_ns; /* of the events kept */
    uint64_t file_last_ns;                /* of those that were in the file */
    enum tg_recovery_extent extent;       /* of the rest */
    size_t n_gaps;                        /* all of them */
    struct tg_recovery_gap *gaps;         /* in file order, the first TG_RECOVERY_MAX_GAPS */
};

void tg_recovery_deinit(struct tg_recovery *recovery);

/* How far the file of an interrupted recording goes. */
struct tg_recovery_place {
    uint64_t n_events; /* as many were written; UINT64_MAX: not known, something is missing in between */
    uint64_t after_ns; /* the latest time of them; 0 without any */
};

/* Source of events of an interrupted recording that are not in its file. */
struct tg_recovery_rest {
    void *context;
    /* Hands the events behind PLACE, which the file does not have, to ADD in the order of time. Called once,
     * at the end of a file that was not closed. An error ends the recovery; what is no reason for that (there
     * is nothing more) is none. *EXTENT is UNKNOWN before. */
    struct tg_error *(*tell)(void *context, const struct tg_trace_meta *meta, struct tg_recovery_place place,
                             void (*add)(void *add_context, const struct tg_event *event), void *add_context,
                             enum tg_recovery_extent *extent);
};

/* Reads PATH (a file) and writes every whole chunk, with a new index, to OUT_PATH; a loss event stands for
 * each gap and for an interrupted end. REST has events that the file lacks; NULL: nothing. Nothing of PATH is
 * changed. OUT_PATH NULL: only looks. OVERWRITE: OUT_PATH may exist, and may be PATH. Errors: as
 * tg_trace_reader_open and tg_trace_writer_create; INPUT where PATH holds no whole section of a trace,
 * UNSUPPORTED where it needs a newer version. RECOVERY must be all zero. */
struct tg_error *tg_trace_recover(const char *path, const char *out_path, bool overwrite,
                                  const struct tg_recovery_rest *rest, struct tg_recovery *recovery);

#endif
