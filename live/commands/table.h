/* Every command of the console. */
#ifndef TG_LIVE_COMMANDS_TABLE_H
#define TG_LIVE_COMMANDS_TABLE_H

#include "live/console/command.h"

extern const struct tg_console_table tg_command_table;

#endif
