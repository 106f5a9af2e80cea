/* `tollgate redact`: its row in the table of commands. */
#ifndef TG_ANALYZER_DUMP_REDACT_COMMAND_H
#define TG_ANALYZER_DUMP_REDACT_COMMAND_H

#include "format/settings/command.h"

extern const struct tg_command tg_redact_command;

#endif
