/* `tollgate live` */
#ifndef TG_LIVE_COMMANDS_LIVE_COMMAND_H
#define TG_LIVE_COMMANDS_LIVE_COMMAND_H

#include "format/settings/command.h"

extern const struct tg_command tg_live_command;

#endif
