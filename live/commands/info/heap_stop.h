/* The action point where threads stop that misuse the heap, or free a tagged block: a function of the heap library's. */
#ifndef TG_LIVE_COMMANDS_INFO_HEAP_STOP_H
#define TG_LIVE_COMMANDS_INFO_HEAP_STOP_H

#include "live/console/base.h"

extern const struct tg_console_state_kind tg_heap_stop_kind;

/* Of a job with --heap=check that begins: in all its processes. Returns the number of the action point, 0: there is none. */
uint32_t tg_heap_stop_at_errors(struct tg_console *console);

/* In the processes that there are now, which have N_TAGS tags: nothing where mistakes stop in any case. Takes the point away
 * where N_TAGS is 0. */
struct tg_error *tg_heap_stop_at_tags(struct tg_console *console, size_t n_tags);

#endif
