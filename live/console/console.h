/* The console: a Tcl interpreter with commands that ask a source of events, and move it. What traces and
 * programs call things is data to it and never evaluated. */
#ifndef TG_LIVE_CONSOLE_CONSOLE_H
#define TG_LIVE_CONSOLE_CONSOLE_H

#include "live/console/base.h"

/* SOURCE, OPTIONS->table and OPTIONS->services must outlive the console. One thread. */
struct tg_error *tg_console_create(struct tg_source *source, const struct tg_console_options *options,
                                   struct tg_console **console);
void tg_console_destroy(struct tg_console *console); /* NULL is accepted */

/* The interrupt key was pressed while the console waited for a command: a live job's threads in focus
 * stop. */
void tg_console_interrupt(struct tg_console *console);

/* Fate of a live job as `quit` was told it. */
enum tg_console_leaving tg_console_leaving(const struct tg_console *console);

#endif
