/* Libraries that are never unloaded, however often they are closed. */
#ifndef TG_RECORDER_AGENT_DEEP_PINNED_H
#define TG_RECORDER_AGENT_DEEP_PINNED_H

#include <link.h>
#include <stdbool.h>

/* Whether MAP, which is loaded, says so of itself (-z nodelete), or has defined a variable of which the process has one alone
 * (STB_GNU_UNIQUE, of C++'s templates and inline functions) and refers to it. */
bool tg_deep_pinned_is(const struct link_map *map);

#endif
