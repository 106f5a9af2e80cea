/* Calls on a window of MPI that wait for one other rank, which does nothing for them. */
#ifndef TG_ANALYZER_VERDICT_WINDOWS_H
#define TG_ANALYZER_VERDICT_WINDOWS_H

#include "analyzer/finding/draft.h"

/* Adds the waits. Only error: NO_MEMORY. */
struct tg_error *tg_verdict_collect_windows(struct tg_verdict_draft *draft);
/* Findings about those that have lasted, and are in no deadlock. Only error: NO_MEMORY. */
struct tg_error *tg_verdict_find_windows(struct tg_verdict_draft *draft);

#endif
