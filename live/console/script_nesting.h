/* How deep brackets are nested in a script. Tcl parses them by recursion, and dies where its stack ends. */
#ifndef TG_LIVE_CONSOLE_SCRIPT_NESTING_H
#define TG_LIVE_CONSOLE_SCRIPT_NESTING_H

#include <stdbool.h>
#include <stddef.h>

/* Whether SIZE bytes of SCRIPT may hold more open brackets within each other than Tcl can be given: 1,000. Of
 * those in braces and behind backslashes as well, which may count one day. */
bool tg_script_nests_too_deep(const char *script, size_t size);

/* Message for such a script. */
#define TG_SCRIPT_NESTS_TOO_DEEP "brackets are nested more than 1000 deep"

#endif
