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

struct tg_page_look_wish {
    const char *path; /* of the trace, which may be growing */
    const char *name; /* of the document, one of the moment */
    uint64_t at_ns;   /* the moment, after the start: waits are judged as of then */
    uint64_t
        known_ns; /* until then the trace has all that happened, where that is later than its last event */
};

/* Writes the document. Whom its verdict blames comes into *CULPRITS, the caller's, where it is the verdict. Errors: those
 * of reading; NOT_FOUND. */
struct tg_error *tg_page_look_write(struct tg_page_look *look, const struct tg_page_look_wish *wish,
                                    FILE *out, struct tg_page_culprit **culprits, size_t *n_culprits);

#endif
