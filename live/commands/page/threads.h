/* The page's document "threads": who there is to be chosen as the focus. */
#ifndef TG_LIVE_COMMANDS_PAGE_THREADS_H
#define TG_LIVE_COMMANDS_PAGE_THREADS_H

#include "live/console/base.h"

/* Writes one JSON object: "processes" (dpid, rank, and how many of its threads run, are stopped, and held), and "threads" of
 * the process that QUERY opens ("process=DPID"). Bounded; "left_out": how many processes are not there. */
struct tg_error *tg_page_threads_write(struct tg_console *console, const char *query, FILE *out);

#endif
