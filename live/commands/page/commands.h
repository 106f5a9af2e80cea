/* The page of a session: commands that start and end it. */
#ifndef TG_LIVE_COMMANDS_PAGE_COMMANDS_H
#define TG_LIVE_COMMANDS_PAGE_COMMANDS_H

#include "live/console/command.h"

extern const struct tg_console_command tg_console_gui_start, tg_console_gui_show, tg_console_gui_control,
    tg_console_gui_quit;

#endif
