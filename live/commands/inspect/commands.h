/* Commands that look into stopped threads. */
#ifndef TG_LIVE_COMMANDS_INSPECT_COMMANDS_H
#define TG_LIVE_COMMANDS_INSPECT_COMMANDS_H

#include "live/console/command.h"

extern const struct tg_console_command tg_console_dassign, tg_console_ddown, tg_console_dexamine,
    tg_console_dlist, tg_console_dprint, tg_console_dup, tg_console_dwhere;

#endif
