/* Where dlist has come to, and the source files that were read for it. */
#ifndef TG_LIVE_COMMANDS_DLIST_H
#define TG_LIVE_COMMANDS_DLIST_H

#include "format/base/error.h"
#include "live/inspect/dwarf/source_lines.h"

struct tg_listing;

struct tg_error *tg_listing_create(struct tg_listing **listing);
void tg_listing_destroy(struct tg_listing *listing); /* NULL is accepted */

/* The files, with the search path of the last dlist. */
struct tg_source_lines *tg_listing_sources(struct tg_listing *listing);

#endif
