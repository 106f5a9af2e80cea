/* Numbers, and processes with their threads, in few characters: `0-3,7` and `5:13[0-3.1-3, p1.1]`. */
#ifndef TG_ANALYZER_JOB_LIST_H
#define TG_ANALYZER_JOB_LIST_H

#include "analyzer/job/set.h"
#include "analyzer/job/view.h"
#include "format/base/error.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* NUMBERS, which are ascending, as ranges: "0-3,7"; nothing for none. */
void tg_job_list_numbers(const uint32_t *numbers, size_t count, FILE *stream);

/* The members of SET in VIEW: how many processes and threads they are, then, in brackets, processes that have
 * the same threads in the set together: ranks, or dpids behind a `p` where a process has no rank of its own,
 * '.', threads. "1:0[p2]" is a process without threads, "0:0[]" nobody. As long as what differs, not as the
 * job. Only error: NO_MEMORY. */
struct tg_error *tg_job_list_print(const struct tg_job_view *view, const struct tg_job_set *set,
                                   FILE *stream);

#endif
