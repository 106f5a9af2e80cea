/* Processes that were attached while they ran: what they called before was not seen. */
#ifndef TG_ANALYZER_FINDING_ATTACHMENT_H
#define TG_ANALYZER_FINDING_ATTACHMENT_H

#include "analyzer/finding/finding.h"

/* Whether PROCESS is one. A rank that a recorder acquired as it began, and whose calls were recorded from then on, is none. */
bool tg_attachment_is_late(const struct tg_verdict_input *input, size_t process);

#endif
