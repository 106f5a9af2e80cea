/* A line on the terminal that says how far a long reading is. */
#ifndef TG_ANALYZER_OUTPUT_PROGRESS_H
#define TG_ANALYZER_OUTPUT_PROGRESS_H

#include "analyzer/output/output_file.h"
#include "format/trace/reader.h"

#include <stdbool.h>
#include <stdint.h>

/* Caller's storage; all zero shows nothing. */
struct tg_progress {
    bool is_wanted, is_shown;
    bool
        is_unsure; /* if wanted, whether there is a terminal for it: looked at when there is something to show */
    unsigned passes, pass;            /* so many in all, this one, from 0 on; UINT_MAX: none yet */
    uint64_t begin_ns, next_ns;       /* of the first look; of the next line */
    uint64_t begin_done, done, whole; /* bytes of all passes: at the first look, now, in all */
};

/* For the reading of a trace in so many PASSES for what goes to OUTPUT (NULL: a file). Wanted where somebody sees it and nothing
 * else is in the way: standard error is a terminal, and the result goes neither to a pipe nor, IS_STREAMED, line by line to a
 * terminal. */
void tg_progress_init(struct tg_progress *progress, const struct tg_output *output, bool is_streamed,
                      unsigned passes);

/* For one pass, of a console whose answers go to standard output. */
void tg_progress_init_console(struct tg_progress *progress);

/* READER does the next pass, to its end. A reading that takes less than half a second shows nothing. PROGRESS may be NULL,
 * and must stay as long as READER. */
void tg_progress_watch(struct tg_progress *progress, struct tg_trace_reader *reader);

/* The same of a pass that no reader tells of: it is so far, of a WHOLE that is not 0. */
void tg_progress_tell(struct tg_progress *progress, uint64_t done, uint64_t whole);

/* Takes the line away: before anything else is said. Again whenever there is one. NULL is accepted. */
void tg_progress_end(struct tg_progress *progress);

#endif
