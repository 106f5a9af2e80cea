/* The page's document "source": lines of a source file around one of them. */
#ifndef TG_LIVE_COMMANDS_PAGE_SOURCE_VIEW_H
#define TG_LIVE_COMMANDS_PAGE_SOURCE_VIEW_H

#include "analyzer/page/page.h"
#include "live/console/base.h"

struct tg_source_lines;

/* Writes the members of one JSON object for "name=NAME&line=N": "there", and "path", "is_newer", "first", "lines", or
 * "why" not. Only files that are called as sources are, and that a call of the job as of the moment, or one of the N_STOPPED
 * stacks STOPPED, names: names in a trace are anybody's. *LINES is made at the first question, and the caller's. */
struct tg_error *tg_page_source_write(struct tg_console *console, struct tg_source_lines **lines,
                                      const struct tg_page_stack *stopped, size_t n_stopped,
                                      const char *query, FILE *out);

#endif
