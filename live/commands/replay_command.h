/* `tollgate replay` */
#ifndef TG_LIVE_COMMANDS_REPLAY_COMMAND_H
#define TG_LIVE_COMMANDS_REPLAY_COMMAND_H

#include "format/settings/command.h"

extern const struct tg_command tg_replay_command;

#endif
