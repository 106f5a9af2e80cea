/* Messages and receives that threads wait for, and that lack their other half. */
#ifndef TG_ANALYZER_VERDICT_MESSAGES_H
#define TG_ANALYZER_VERDICT_MESSAGES_H

#include "analyzer/finding/draft.h"

/* Finds what threads wait for, and adds the waits that follow from it. Only error: NO_MEMORY. */
struct tg_error *tg_verdict_collect_messages(struct tg_verdict_draft *draft);
/* Findings about those that are in no deadlock. Only error: NO_MEMORY. */
struct tg_error *tg_verdict_find_messages(struct tg_verdict_draft *draft);
/* Whether the one that HALF needs has done its part, but for another rank or with another tag, and nobody wanted that. */
bool tg_verdict_is_astray(const struct tg_verdict_draft *draft, const struct tg_verdict_half *half);
/* Says so of the first such half of PROCESS, after BEGIN ("", or " But "), and returns the process of what is meant for it;
 * nothing, and SIZE_MAX, where there is none. */
size_t tg_verdict_print_astray(struct tg_verdict_draft *draft, const char *begin, size_t process);
/* Says that what HALF lacks is there on another communicator, from and for the same ranks and with the same tag; else nothing. */
void tg_verdict_print_elsewhere(struct tg_verdict_draft *draft, const struct tg_verdict_half *half);

#endif
