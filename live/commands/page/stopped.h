/* Stacks of the threads of a live job that are stopped, for the page's document "stacks". */
#ifndef TG_LIVE_COMMANDS_PAGE_STOPPED_H
#define TG_LIVE_COMMANDS_PAGE_STOPPED_H

#include "analyzer/page/page.h"
#include "live/console/base.h"

struct tg_page_stopped {
    struct tg_page_stack *stacks;
    size_t count, capacity;
    bool is_cut; /* there are more, which would take long to be read */
};

/* Reads the stacks as they are now: nobody is stopped for that, and who runs has none. Only error: NO_MEMORY. */
struct tg_error *tg_page_stopped_take(struct tg_console *console, struct tg_page_stopped *stopped);
void tg_page_stopped_deinit(struct tg_page_stopped *stopped);

#endif
