/* The interrupt key: a flag that long commands look at. */
#ifndef TG_LIVE_SOURCE_INTERRUPT_H
#define TG_LIVE_SOURCE_INTERRUPT_H

#include <stdbool.h>

/* Until the release that belongs to it SIGINT sets the flag instead of ending the program. May be nested. The
 * flag is the process's: one thread uses these. */
void tg_interrupt_catch(void);
void tg_interrupt_release(void);

/* Callback of the signal while it is caught: NOTIFY (async-signal-safe, NULL: nothing) with
 * CONTEXT. */
void tg_interrupt_notify(void (*notify)(void *context), void *context);

/* Whether the key was pressed since the flag was cleared. Async-signal-safe. */
bool tg_interrupt_pending(void);
void tg_interrupt_clear(void);

#endif
