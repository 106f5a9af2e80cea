/* `tollgate filter`: see docs/man/tollgate-filter.1. */
#ifndef TG_ANALYZER_FILTER_COMMAND_H
#define TG_ANALYZER_FILTER_COMMAND_H

#include "format/settings/command.h"

extern const struct tg_command tg_filter_command;

#endif
