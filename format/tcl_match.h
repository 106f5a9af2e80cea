/* Tcl's `string match`. */
#ifndef TG_FORMAT_TCL_MATCH_H
#define TG_FORMAT_TCL_MATCH_H

#include <stdbool.h>

/*
 * Whether TEXT matches the glob PATTERN by the rules of Tcl 8.6's Tcl_StringMatch (case-sensitive, `*`
 * crosses '/', characters are UTF-8, malformed bytes count as one character each as in Tcl). No allocation,
 * no recursion, time O(len(TEXT) * len(PATTERN)) at worst. Async-signal-safe.
 */
bool tg_tcl_match(const char *pattern, const char *text);

#endif
