/* `tollgate web`: a recorded job in a browser. */
#ifndef TG_LIVE_COMMANDS_WEB_COMMAND_H
#define TG_LIVE_COMMANDS_WEB_COMMAND_H

#include "format/settings/command.h"

extern const struct tg_command tg_web_command;

#endif
