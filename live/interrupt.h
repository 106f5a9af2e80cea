/* The interrupt key: a flag that long commands look at. */
#ifndef TG_LIVE_INTERRUPT_H
#define TG_LIVE_INTERRUPT_H

#include <stdbool.h>

/*
 * From here on SIGINT sets the flag, and calls NOTIFY (async-signal-safe, may be NULL) with CONTEXT, instead
 * of ending the program. For a program's only console: the flag is the process's.
 */
void tg_interrupt_catch(void (*notify)(void *context), void *context);
/* SIGINT does again what it did before. */
void tg_interrupt_release(void);

/* Whether the key was pressed since the flag was cleared. Async-signal-safe. */
bool tg_interrupt_pending(void);
void tg_interrupt_clear(void);

#endif
