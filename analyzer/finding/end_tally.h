/* How the processes of a job ended, in numbers, for a verdict without findings. */
#ifndef TG_ANALYZER_FINDING_END_TALLY_H
#define TG_ANALYZER_FINDING_END_TALLY_H

#include "analyzer/models/process.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tg_end_tally {
    bool is_over; /* the trace goes to the end of the job */
    bool
        is_untraced; /* made without ptrace: the end of a process that the recorder did not start itself is not seen */
    uint64_t n_bad;      /* ended badly, or have no end where they should */
    uint64_t n_running;  /* the latter of these */
    uint64_t n_not_seen; /* of an untraced job: ended, none knows how */
};

/* Whether ENTRY, in a job like TALLY's, was killed, exited with an error as a rank or first process, or has no end when it
 * should have one. */
bool tg_end_tally_is_bad(const struct tg_end_tally *tally, const struct tg_process_entry *entry);
void tg_end_tally_add(struct tg_end_tally *tally, const struct tg_process_entry *entry);

/* The sentence in place of findings. A bad end alone is no fault of the program: the recorder may have been killed, or its
 * disk full. */
void tg_end_tally_print(const struct tg_end_tally *tally, char *text, size_t size);

#endif
