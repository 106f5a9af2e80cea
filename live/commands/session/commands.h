/* The session's commands: what others are about, settings, help, the end. */
#ifndef TG_LIVE_COMMANDS_SESSION_COMMANDS_H
#define TG_LIVE_COMMANDS_SESSION_COMMANDS_H

#include "live/console/command.h"

extern const struct tg_console_command tg_console_focus, tg_console_dfocus, tg_console_dset,
    tg_console_dunset, tg_console_alias, tg_console_help, tg_console_quit, tg_console_exit;

#endif
