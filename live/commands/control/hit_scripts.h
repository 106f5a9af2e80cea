/* Scripts of breakpoints (`dbreak -e`): run by the console once a thread has come to one. */
#ifndef TG_LIVE_COMMANDS_CONTROL_HIT_SCRIPTS_H
#define TG_LIVE_COMMANDS_CONTROL_HIT_SCRIPTS_H

#include "live/console/base.h"

extern const struct tg_console_state_kind tg_hit_scripts_kind;

/* A breakpoint with a script was made: from here on it is looked for threads that have come to one. */
void tg_hit_scripts_expect(const struct tg_console *console);

#endif
