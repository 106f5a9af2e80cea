/* The moment when the job was interrupted, or looked at for this verdict. */
#ifndef TG_ANALYZER_VERDICT_INTERRUPTION_H
#define TG_ANALYZER_VERDICT_INTERRUPTION_H

#include "analyzer/finding/finding.h"

/* Whether STACK was taken then. */
bool tg_interruption_has(const struct tg_verdict_input *input, const struct tg_last_stack *stack);

#endif
