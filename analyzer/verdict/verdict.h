/* The verdict on a job that hung or died: what went wrong, by the models as they are at the last event
 * that was fed. */
#ifndef TG_ANALYZER_VERDICT_VERDICT_H
#define TG_ANALYZER_VERDICT_VERDICT_H

#include "analyzer/finding/finding.h"

/* Caller's storage. Only error: NO_MEMORY. */
struct tg_error *tg_verdict_make(const struct tg_verdict_input *input, struct tg_verdict *result);
void tg_verdict_deinit(struct tg_verdict *result);

#endif
