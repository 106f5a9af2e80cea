/* What a wait that lasts tells: who still runs, who is stopped, and what barriers wait for. */
#ifndef TG_LIVE_COMMANDS_INFO_WAIT_WORDS_H
#define TG_LIVE_COMMANDS_INFO_WAIT_WORDS_H

#include "live/console/command.h"

/* A command has waited for the console's focus, or for everything (DEFAULTS NULL), for SECONDS: notes as news,
 * a line each. See struct tg_console_table. */
void tg_wait_words_tell(struct tg_console *console, const struct tg_ptset_defaults *defaults, double seconds);

/* A note while a command waits; TEXT is printable. */
void tg_wait_words_note(struct tg_console *console, const char *text);

#endif
