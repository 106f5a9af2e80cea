/* Processes and threads that a verdict blames: red in the time strip. */
#ifndef TG_ANALYZER_PAGE_CULPRITS_H
#define TG_ANALYZER_PAGE_CULPRITS_H

#include "analyzer/page/page.h"

/* Culprits that VERDICT names as a cause, the caller's to free; what follows from others blames nobody. Only error:
 * NO_MEMORY. */
struct tg_error *tg_page_culprits(const struct tg_verdict *verdict, struct tg_page_culprit **culprits,
                                  size_t *count);

/* Whether PAGE's verdict blames thread TID of PROCESS; TID 0: any of its threads, or itself. */
bool tg_page_is_culprit(const struct tg_page *page, size_t process, int32_t tid);

#endif
