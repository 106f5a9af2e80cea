/* The page's document "board": barriers, collectives, debugger barriers and holds that have somebody. */
#ifndef TG_LIVE_COMMANDS_PAGE_BOARD_H
#define TG_LIVE_COMMANDS_PAGE_BOARD_H

#include "live/console/base.h"

/* Writes one JSON object: "teams" (barriers of OpenMP, equal ones of many ranks as one), "collectives", "points" (of
 * dbarrier), "holds" (whom dhold keeps), and how many were left out of each. Bounded. */
struct tg_error *tg_page_board_write(struct tg_console *console, FILE *out);

#endif
