/* `dheap -guard -check`: the guards of all live blocks of the processes in focus, looked at now. */
#ifndef TG_LIVE_COMMANDS_INFO_HEAP_GUARDS_H
#define TG_LIVE_COMMANDS_INFO_HEAP_GUARDS_H

#include "analyzer/heap/reading.h"
#include "live/console/console.h"

struct tg_heap_guards;

/* Looks at them, as far as the processes are stopped, and says which are not. *GUARDS is NULL on error. Errors: UNSUPPORTED, this
 * is a trace, or blocks are not checked; NO_MEMORY. */
struct tg_error *tg_heap_guards_check(struct tg_console *console, FILE *out, struct tg_heap_guards **guards);

/* Writes what was found, with places that READING names. */
void tg_heap_guards_write(const struct tg_heap_guards *guards, const struct tg_heap_reading *reading,
                          FILE *out);

/* NULL is accepted. */
void tg_heap_guards_destroy(struct tg_heap_guards *guards);

#endif
