/* Position of dlist, and the source files that were read for it. */
#ifndef TG_LIVE_COMMANDS_INSPECT_DLIST_H
#define TG_LIVE_COMMANDS_INSPECT_DLIST_H

#include "live/console/base.h"
#include "live/inspect/dwarf/source_lines.h"

struct tg_listing;

/* State: a struct tg_listing. */
extern const struct tg_console_state_kind tg_listing_kind;

/* The files, with the search path of the last dlist. */
struct tg_source_lines *tg_listing_sources(struct tg_listing *listing);

#endif
