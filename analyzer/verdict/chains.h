/* Chains of waits: from one process to the next. */
#ifndef TG_ANALYZER_VERDICT_CHAINS_H
#define TG_ANALYZER_VERDICT_CHAINS_H

#include "analyzer/finding/draft.h"

/* Whether PROCESS waits, directly or by way of others, for A or B, and for nobody who may go on without these or is gone. The
 * waits of DRAFT must be sorted. */
bool tg_verdict_chain_leads(const struct tg_verdict_draft *draft, size_t process, size_t a, size_t b);

#endif
