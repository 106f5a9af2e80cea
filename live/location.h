/* Source locations as people write them after dbreak, dbarrier and dlist. */
#ifndef TG_LIVE_LOCATION_H
#define TG_LIVE_LOCATION_H

#include "format/error.h"

/*
 * TEXT as a breakpoint specification (format/break_spec.h), for the caller to free: N is line N of
 * DEFAULT_FILE (NULL: not known, then a USAGE error says so); FILE#N, FILE#FUNCTION#N (also with a '#' before
 * them) are FILE:N, FILE#FUNCTION and ##FUNCTION are FUNCTION; everything else stays what it is. USAGE error
 * for what is none of these.
 */
struct tg_error *tg_location_parse(const char *text, const char *default_file, char **spec);

#endif
