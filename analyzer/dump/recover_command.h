/* `tollgate recover`: its row in the table of commands. */
#ifndef TG_ANALYZER_DUMP_RECOVER_COMMAND_H
#define TG_ANALYZER_DUMP_RECOVER_COMMAND_H

#include "format/settings/command.h"

extern const struct tg_command tg_recover_command;

#endif
