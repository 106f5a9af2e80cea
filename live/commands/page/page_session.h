/* The page of a console: whether there is one, what it is asked, and what it is told. */
#ifndef TG_LIVE_COMMANDS_PAGE_PAGE_SESSION_H
#define TG_LIVE_COMMANDS_PAGE_PAGE_SESSION_H

#include "live/console/base.h"

extern const struct tg_console_state_kind tg_page_session_kind;

struct tg_page_start {
    const char *host; /* NULL: the loopback address */
    uint16_t port;    /* 0: one that is free */
    bool view_only, open;
};

/* Starts the page of CONSOLE. Errors: EXISTS, it has one; of tg_web_session_start. */
struct tg_error *tg_page_session_start(struct tg_console *console, const struct tg_page_start *start);
/* Ends it, where there is one; where the page itself asked for that, when it has its answer. Whether there was one. */
bool tg_page_session_end(struct tg_console *console);

/* NULL: CONSOLE has no page, or none that lives. */
struct tg_web_session *tg_page_session_web(const struct tg_console *console);

/* Shows the page in a browser of this machine; says on OUT why not where there is no display. */
struct tg_error *tg_page_session_open(struct tg_console *console, FILE *out);

#endif
