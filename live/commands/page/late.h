/* Documents for which the trace has to be read: diagram, loads, heap, and those of moments that are not the session's. They
 * are made on a thread of their own, one after the other, and kept for a while; who asks is told at once that one is on its
 * way, and told again when it is there. */
#ifndef TG_LIVE_COMMANDS_PAGE_LATE_H
#define TG_LIVE_COMMANDS_PAGE_LATE_H

#include "analyzer/page/page.h"

#include <stdio.h>

struct tg_page_late;

/* READY of CONTEXT is called by the thread when a document has come that somebody was told to wait for. NAME is of the
 * session. Errors: NO_MEMORY, OS. */
struct tg_error *tg_page_late_begin(const struct tg_command_services *services, const char *name,
                                    void (*ready)(void *context), void *context, struct tg_page_late **late);
/* READY is not called any more. NULL is accepted. */
void tg_page_late_quiet(struct tg_page_late *late);
/* The end. Waits for nobody: a document that is being made ends by itself. NULL is accepted. */
void tg_page_late_end(struct tg_page_late *late);

/* The document that is wanted, and of which trace. */
struct tg_page_wanted {
    const char *name, *query;
    const char *path;
    uint64_t start_ns;
    uint64_t at_ns;    /* after the start: a moment that is not the session's; UINT64_MAX it is */
    uint64_t known_ns; /* the trace is known to have all that happened until then; 0: its last event */
    uint64_t moment_ns, n_events; /* of the session, for its diagram */
};

/* Writes the document, or {"pending": true}, after at most WAIT_MS. The errors of making it; NO_MEMORY. */
struct tg_error *tg_page_late_write(struct tg_page_late *late, const struct tg_page_wanted *wanted,
                                    int wait_ms, FILE *out);

/* Culprits of the verdict as of AT_NS, as far as it was asked for lately: a copy, the caller's; NULL none. */
struct tg_page_culprit *tg_page_late_culprits(struct tg_page_late *late, uint64_t at_ns, size_t *count);

#endif
