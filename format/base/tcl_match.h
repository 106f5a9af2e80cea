/* Tcl's `string match`. */
#ifndef TG_FORMAT_BASE_TCL_MATCH_H
#define TG_FORMAT_BASE_TCL_MATCH_H

#include <stdbool.h>

/* Whether TEXT matches the glob PATTERN by the rules of Tcl 8.6's Tcl_StringMatch (case-sensitive, `*`
 * crosses '/', characters are UTF-8, a malformed byte counts as one character as in Tcl). No allocation, no
 * recursion, time O(len(TEXT) * len(PATTERN)) for every pattern without a range that ends in `]` (`[a-]]`),
 * and at worst TG_TCL_MATCH_MAX_STARS times that. Uses about 4 KiB of stack. Async-signal-safe. */
bool tg_tcl_match(const char *pattern, const char *text);

enum { TG_TCL_MATCH_MAX_STARS = 256 };

/* False for a PATTERN that has more than TG_TCL_MATCH_MAX_STARS runs of `*` after a "-]": tg_tcl_match may
 * then say no where Tcl says yes. Whoever takes patterns from outside refuses such a one.
 * Async-signal-safe. */
bool tg_tcl_match_accepts(const char *pattern);

#endif
