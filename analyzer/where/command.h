/* `tollgate where` */
#ifndef TG_ANALYZER_WHERE_COMMAND_H
#define TG_ANALYZER_WHERE_COMMAND_H

#include "format/settings/command.h"

extern const struct tg_command tg_where_command;

#endif
