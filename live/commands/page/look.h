/* A look at another moment than the session's: the trace's file once more, with models of its own, so that who only looks on
 * moves nobody. For one thread at a time, which need not be the console's. */
#ifndef TG_LIVE_COMMANDS_PAGE_LOOK_H
#define TG_LIVE_COMMANDS_PAGE_LOOK_H

#include "analyzer/page/page.h"

#include <stdio.h>

struct tg_page_look;

/* NAME is of the session. NULL: no memory. */
struct tg_page_look *tg_page_look_create(const struct tg_command_services *services, const char *name);
void tg_page_look_destroy(struct tg_page_look *look); /* NULL is accepted */

/* Writes document NAME, one of the moment, as of AT_NS after the start, by the trace at PATH, which may be growing. Whom its
 * verdict blames comes into *CULPRITS, the caller's, where NAME is the verdict. Errors: those of reading; NOT_FOUND. */
struct tg_error *tg_page_look_write(struct tg_page_look *look, const char *path, uint64_t at_ns,
                                    const char *name, FILE *out, struct tg_page_culprit **culprits,
                                    size_t *n_culprits);

#endif
